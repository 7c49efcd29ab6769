"""Every command and every Python block of the pages is run here, or says why not.

`<!-- not run: REASON -->` above a block keeps it from being run. What a page shows as printed
(lines of a console block without `$`, or a text block after Python) must be printed; numbers may
differ by two in their second digit, since int8 models round differently by processor.
"""

import contextlib
import io
import re
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

import histoeval
from histoeval.cli.main import main
from tests.support import docs_inputs
from tests.support.command import LOUD
from tests.support.paths import ROOT
from tests.test_docs import PAGES

REASONS = {
    "a cluster",
    "a server",
    "another package",
    "changes this checkout",
    "data that is not in the repository",
    "installs",
    "long",
    "long training",
    "published weights",
    "your own data",
}
BLOCK = re.compile(
    r"(?:^ *<!-- not run: (?P<reason>[^>]*?) -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^ *```"
    r"(?=\n\n```text\n(?P<printed>.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)
RUN = {"bash", "console", "pycon", "python", "sh", "shell"}
NUMBER = re.compile(r"\d+\.\d+")
SHOWN_FILE = re.compile(r"`([\w-]+\.\w+)`:\n\n```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""A file whose content a page shows below its name."""
OUTPUT = re.compile(r"--output[= ](\S+)")


class Block(NamedTuple):
    """A block of code on a page."""

    page: Path
    line: int
    language: str
    code: str
    reason: str | None
    printed: str | None

    @property
    def is_run(self) -> bool:
        return self.language in RUN and self.reason is None


def picture() -> Any:
    with Image.open(ROOT / "examples" / "trust" / "liver.jpg") as opened:
        return np.asarray(opened.convert("RGB"))[:224, :224]


GIVEN: dict[str, dict[str, Any]] = {
    "grounding": {"text": "Liver: hepatocellular carcinoma."},
    "grounding-model": {"tile": picture()},
    "integrations": {"candidates": [docs_inputs.SAME], "references": [docs_inputs.REFERENCE]},
    "slides": {"tiles": [picture()], "pixels": picture()},
}
"""Names that a page speaks of before the block that uses them."""

LONG = {"agreement", "scale", "trust"}
"""Pages whose blocks take ten seconds and more."""


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("indent")) + 1
        code = re.sub(rf"^{found['indent']}", "", found["code"], flags=re.MULTILINE)
        yield Block(page, line, found["language"], code, found["reason"], found["printed"])


EVERY = [block for page in PAGES for block in blocks(page)]
RUN_ON = {page: [block for block in blocks(page) if block.is_run] for page in PAGES}


def test_every_block_that_is_not_run_says_a_known_reason() -> None:
    for block in EVERY:
        reason = (block.reason or "long").partition(";")[0]  # a remark may follow
        assert reason in REASONS, f"{block.page}:{block.line}: {reason}"


def test_no_command_hides_in_a_block_without_a_language() -> None:
    for block in EVERY:
        hidden = re.search(r"^(\$ |histoeval \w|pip install|python -m )", block.code, re.MULTILINE)
        assert block.language in RUN or not hidden, f"{block.page}:{block.line}: name it console"


def test_most_blocks_are_run() -> None:
    counted = Counter(block.is_run for block in EVERY if block.language in RUN)
    assert counted[True] > counted[False]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    docs_inputs.write_inputs(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=str(page.relative_to(ROOT)),
            marks=pytest.mark.release if page.stem in LONG else (),
        )
        for page in PAGES
        if RUN_ON[page]
    ],
)
def test_what_a_page_shows_can_be_run(
    page: Path, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = tmp_path / "desk"
    shutil.copytree(inputs, desk)
    if (own := inputs / "pages" / page.stem).is_dir():
        shutil.copytree(own, desk, dirs_exist_ok=True)
    for name, content in SHOWN_FILE.findall(page.read_text(encoding="utf-8")):
        (desk / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(desk)
    monkeypatch.setenv("HISTOEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    for name in set(LOUD) - {"COLUMNS"}:
        monkeypatch.delenv(name, raising=False)
    names: dict[str, Any] = {"histoeval": histoeval} | GIVEN.get(page.stem, {})
    for block in RUN_ON[page]:
        at = f"{page.name}:{block.line}"
        if block.language == "python":
            shown = printed_by_python(block.code, names)
            check_printed(at, block.printed or "", shown)
        else:
            check_console(at, block.code)


def printed_by_python(code: str, names: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "docs", "exec"), names)
    return out.getvalue()


def check_console(at: str, code: str) -> None:
    """Run each command; the lines below it must be among what it prints."""
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, expected = re.sub(r"\\\n\s*", "", part).partition("\n")
        words = shlex.split(command, comments=True)
        if words[:2] == ["pip", "install"]:
            continue
        assert words[0] == "histoeval", f"{at}: {command}"
        check_printed(at, expected, printed_by_command(at, words[1:]))


def printed_by_command(at: str, words: list[str]) -> str:
    for target in OUTPUT.findall(" ".join(words)):
        if target not in words[: words.index("--output")]:
            shutil.rmtree(target, ignore_errors=True)
            if Path(target).is_file():
                Path(target).unlink()
    out = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        patch.setattr(sys, "argv", ["histoeval", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
    assert stopped.value.code in {0, 1}, f"{at}: {' '.join(words)}\n{out.getvalue()}"
    return out.getvalue()


def check_printed(at: str, expected: str, shown: str, within: float = 0.02) -> None:
    """Each expected line is printed, in this order, but for spaces and the last digits."""
    lines = iter(shown.splitlines())
    for line in filter(str.strip, expected.splitlines()):
        assert any(alike(line, other, within) for other in lines), (
            f"{at}: {line!r} is not in\n{shown}"
        )


def alike(one: str, other: str, within: float) -> bool:
    if one.endswith("…"):
        return other.startswith(one[:-1])
    if NUMBER.sub("0", one).split() != NUMBER.sub("0", other).split():
        return False
    numbers = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= within * max(1, abs(float(a))) for a, b in numbers)


@pytest.mark.parametrize(
    ("expected", "shown", "right"),
    [
        ("value 0.41", "columns\nvalue  0.42\n", True),
        ("value 0.41", "value 0.47", False),
        ("deploy", "review", False),
        ("b\na", "a\nb", False),
    ],
)
def test_what_is_shown_must_be_printed(expected: str, shown: str, right: bool) -> None:
    with contextlib.nullcontext() if right else pytest.raises(AssertionError):
        check_printed("here", expected, shown)
