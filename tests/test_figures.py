"""Every figure that a page publishes has the command that makes it, and the command exists.

A section (what is below a heading, or from a paragraph that begins in bold) with a measured figure
says where it is from: a command, a test, the page that has the command, "measured by others", "the
published table", or that no command repeats it. A number in code font is a setting or an example,
not a figure. docs/measured.md says the same to readers.
"""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.__main__ import KNOWN
from histoeval.cli.main import VERBS, load_verb
from tests.support.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$|(?<=\n\n)\*\*([^*]+)\*\*(?=[^\n])", re.MULTILINE)

FIGURE = re.compile(
    r"(?<![\w.+/=])-?0\.\d{2,4}\b(?! ?(?:µm|mm|cm|px|mg))"  # a share or a coefficient
    r"|(?<![\w.])(?!95 ?%)\d+(?:\.\d+)? ?%"  # a share in percent; 95 % is the level of intervals
    r"|(?<![\w.])[\d,.]+ (?:ms|s|MB)\b"  # time and memory
    r"|\b[\d,.]+ times (?:faster|the)\b"
)
SOURCE = re.compile(
    r"^(?:\$ )?(?:\w+=\S+ )*"
    r"(?:histoeval|python -m (?:benchmarks(?:\.\w+)?|histoeval)|pytest|make) \S"
    r"|^tests/(?!data/)\S+$",
    re.MULTILINE,
)
EVIDENCE = {"measured.md", "benchmarks.md", "results.json"}
UNREPEATED = re.compile(r"no\s+command\s+repeats", re.IGNORECASE)
ELSEWHERE = re.compile(
    rf"measured\s+by\s+others|published\s+table|{UNREPEATED.pattern}", re.IGNORECASE
)


class Section(NamedTuple):
    title: str
    text: str


def sections(text: str) -> Iterator[Section]:
    """The parts of a page between its headings; what looks like one in a code block is none."""
    hidden = FENCE.sub(lambda found: "x" * len(found[0]), text)
    starts = [(found.start(), found[1] or found[2]) for found in HEADING.finditer(hidden)]
    ends = [start for start, _ in starts[1:]] + [len(text)]
    for (start, title), end in zip(starts, ends, strict=True):
        yield Section(title, text[start:end])


def figures(text: str) -> list[str]:
    """The measured figures in the prose and tables of a section."""
    plain = CODE.sub("", LINK.sub("", FENCE.sub("", text)))
    return [found[0] for found in FIGURE.finditer(plain)]


def commands(text: str) -> Iterator[str]:
    """What can be typed into a shell: lines of code blocks, whole ones, and code font."""
    for language, block in FENCE.findall(text):
        if language in {"", "console"}:
            yield from re.sub(r"\\\n\s*", "", block).splitlines()
    yield from (re.sub(r"\s+", " ", found) for found in CODE.findall(FENCE.sub("", text)))


def has_source(text: str) -> bool:
    if any(SOURCE.search(command) for command in commands(text)):
        return True
    targets = {Path(target.partition("#")[0]).name for target in LINK.findall(text)}
    return bool(targets & EVIDENCE or ELSEWHERE.search(text))


@cache
def verb(name: str) -> Any:
    return load_verb(name)


def wrong_command(command: str) -> str | None:
    """What a command names that is not there: a verb, an option, a benchmark, a test."""
    line = re.sub(r"^(?:\$ )?(?:\w+=\S+ )*", "", command)
    line = re.sub(r"^python -m histoeval\b", "histoeval", line)
    if line.startswith("python -m benchmarks"):
        return _wrong_benchmark(line.split()[2:])
    try:
        words = shlex.split(line, comments=True)
    except ValueError:  # an apostrophe: prose in a block, no command
        return None
    if words[:1] == ["make"]:
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        return next((f"no target {word}" for word in words[1:] if word not in targets), None)
    if words[:1] == ["histoeval"]:
        return _wrong_verb(words[1:])
    if words[:1] == ["pytest"] or (line.startswith("tests/") and len(words) == 1):
        paths = [word for word in words if word.startswith("tests/")]
        return next((f"no {path}" for path in paths if not _exists(path)), None)
    return None


def _exists(path: str) -> bool:
    return any(ROOT.glob(path.partition("::")[0].rstrip("/")))


def _wrong_benchmark(words: list[str]) -> str | None:
    """`benchmarks PART [OPTIONS]`, or `benchmarks.MODULE`."""
    module, *rest = (word.strip("[]") for word in words)
    if module != "benchmarks":
        return None if (ROOT / f"{module.replace('.', '/')}.py").exists() else f"no {module}"
    if not any(word.startswith("-") for word in rest):
        return next((f"no benchmark {name}" for name in rest if name not in KNOWN), None)
    sources = (ROOT / "benchmarks").glob(f"{rest[0].replace('-', '_')}*.py")
    code = "".join(source.read_text(encoding="utf-8") for source in sources)
    options = [word for word in rest if word.startswith("--")]
    return next((f"no option {name}" for name in options if f'"{name}"' not in code), None)


def _wrong_verb(words: list[str]) -> str | None:
    if not words or words[0].startswith("-") or words[0] == "VERB":
        return None
    if words[0] not in VERBS:
        return f"no verb {words[0]}"
    command = verb(words[0])
    for word in words[1:]:
        inner = getattr(command, "commands", {})
        if word in inner:
            command = inner[word]
        elif word.startswith("--") and word != "--help":
            reached = [command, inner["file"]] if "file" in inner else [command]  # judge FILE
            parameters = [one for each in reached for one in each.params]
            known = [name for one in parameters for name in (*one.opts, *one.secondary_opts)]
            if word.partition("=")[0] not in known:
                return f"{' '.join(words[:2])} has no option {word}"
    return None


every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@every_page
def test_every_figure_has_its_source(page: Path) -> None:
    for section in sections(page.read_text(encoding="utf-8")):
        found = figures(section.text)
        assert not found or has_source(section.text), (
            f"{section.title!r} has {', '.join(found[:5])}, and nothing says what makes them"
        )


def test_figures_that_no_command_repeats_do_not_become_more() -> None:
    said = [len(UNREPEATED.findall(page.read_text(encoding="utf-8"))) for page in PAGES]
    assert sum(said) <= 8, "give the new figure a command, or delete an old one"


@every_page
def test_commands_of_the_pages_exist(page: Path) -> None:
    for command in commands(page.read_text(encoding="utf-8")):
        assert (wrong := wrong_command(command)) is None, f"{wrong}: {command}"


@pytest.mark.parametrize(
    "text",
    [
        "## Speed\n\nIt takes 2.8 s.\n",
        "## Results\n\n| metric | Spearman |\n|---|---|\n| ours | 0.85 |\n",
        "## Results\n\nIt finds 93 % of them, more than `histoeval` did before.\n",
        "## One\n\n`histoeval evaluate probes`: 0.93.\n\n**Two.** And 0.94 elsewhere.\n",
    ],
)
def test_a_figure_without_a_source_is_found(text: str) -> None:
    assert any(figures(part.text) and not has_source(part.text) for part in sections(text))


@pytest.mark.parametrize(
    "text",
    [
        "## Speed\n\n`python -m benchmarks judge`: 2.8 s.\n",
        "## Results\n\n0.85 on their half, measured by others.\n",
        "## Results\n\n```console\n$ histoeval evaluate probes\n```\n\n0.93\n",
        "## Results\n\n0.93 ([how](measured.md#concordance)).\n",
        "## Settings\n\nThe threshold is `0.75`, with 95 % intervals.\n",
    ],
)
def test_a_figure_with_a_source_and_a_setting_are_left_alone(text: str) -> None:
    assert all(not figures(part.text) or has_source(part.text) for part in sections(text))


@pytest.mark.parametrize(
    "command",
    [
        "$ histoeval scores pairs.csv",
        "histoeval evaluate probes --metric bleu",
        "histoeval experiment sensitivity set.jsonl --outputs out",
        "histoeval judge pairs.csv --endpont http://localhost:8000/v1",
        "python -m benchmarks sensibility",
        "python -m benchmarks sensitivity --parts tiles",
        "python -m benchmarks.gpu_checks",
        "make benches",
        "pytest tests/agreements",
        "tests/parity/test_no_such_thing.py",
    ],
)
def test_a_command_that_is_not_there_is_found(command: str) -> None:
    assert wrong_command(command)
