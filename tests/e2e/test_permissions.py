"""Whatever a command writes, only its owner can read it, whatever the umask."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from histoeval.run.engines.engine import BlockSpool
from tests.support.command import invoked
from tests.support.score_runs import make_score_run


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def too_open(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): oct(path.lstat().st_mode & 0o777)
        for path in folder.rglob("*")
        if path.lstat().st_mode & 0o077 and not path.is_symlink()
    }


def run(*arguments: object) -> None:
    done = invoked(*arguments)
    assert done.exit_code in (0, 1, 3), done.output


def test_results_pages_exports_and_logs_are_their_owners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir(0o700)
    monkeypatch.setenv("HISTOEVAL_CACHE", str(out / "cache"))
    one, other = make_score_run(out / "one"), make_score_run(out / "other")
    table = tmp_path / "pairs.csv"
    table.write_text("id,reference,candidate\n1,a b,a b\n", "utf-8")
    for form in ("jsonl", "jsonl.gz", "parquet"):
        run("score", table, "--metrics", "bleu", "--output", out / form, "--format", form)
    run("score", table, "--metrics", "bleu", "--output", out / "textless", "--no-texts")
    for ending in ("jsonl", "jsonl.gz", "parquet"):
        run("extract", table, "--text", "reference", "--output", out / f"read.{ending}")
    for to in ("html", "csv", "xlsx", "md", "json"):
        run("report", one, "--to", to)
    run("report", one, "--no-texts", "--output", out / "pages" / "page.html")
    gate = ("--fail-if", "errors > 5", "--junit", out / "gate.xml", "--markdown", out / "gate.md")
    fast = ("--resamples", 50, "--permutations", 50, "--metric", "bleu", "--output", out / "cmp")
    run("compare", "--baseline", one, other, *gate, *fast)
    run("report", out / "cmp")
    assert (out / "cache" / "commands.jsonl").exists()
    assert too_open(out) == {}


class _Row:
    id = "one"

    def line(self) -> bytes:
        return b"{}\n"


def test_drafts_blocks_and_locks_are_their_owners(tmp_path: Path) -> None:
    """What exists only for a moment: seen by a thread that looks all the time."""
    (tmp_path / "out").mkdir(0o700)
    seen: dict[str, str] = {}
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            try:
                seen.update(too_open(tmp_path / "out"))
            except FileNotFoundError:
                continue

    looking = threading.Thread(target=look)
    looking.start()
    BlockSpool(tmp_path / "out" / "scores.jsonl", {}).put(0, [_Row()])
    for number in range(3):
        make_score_run(tmp_path / "out" / f"run{number}", "bleu")
    done.set()
    looking.join()
    assert seen == {}
