"""Broken rows cost nobody else a score, and bad input gets a sentence and an exit code."""

import csv
import gzip
import io
import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Outcome, histoeval, run_in
from tests.support.report_words import make_report

ACCENTS = "Sjögren, café-au-lait, naïve"
Breaker = Callable[[int], bytes]


def as_csv(*cells: str) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerow(cells)
    return out.getvalue().encode("utf-8", "surrogateescape")


def as_json(**cells: Any) -> bytes:
    return json.dumps(cells).encode() + b"\n"


def changed_json(change: Mapping[str, Any], number: int) -> bytes:
    return as_json(**{"id": number, "reference": "a", "candidate": "b", **change})


CSV_BREAKERS: dict[str, tuple[str, Breaker]] = {
    "no id": ("missing_id", lambda n: as_csv("", "a", "b")),
    "the id of another row": ("duplicate_id", lambda n: as_csv("good-0", "a", "b")),
    "no reference": ("empty_text", lambda n: as_csv(f"x{n}", "", "b")),
    "a blank candidate": ("empty_text", lambda n: as_csv(f"x{n}", "a", " \n ")),
    "a byte of another encoding": ("not_utf8", lambda n: as_csv(f"x{n}", "caf\udce9", "b")),
    "a NUL": ("binary_text", lambda n: as_csv(f"x{n}", "a\0b", "b")),
    "control characters": ("binary_text", lambda n: as_csv(f"x{n}", "a", "\1\2\3\4")),
    "a no-break space": ("empty_text", lambda n: as_csv(f"x{n}", "\u00a0", "b")),
    "a column too many": ("wrong_column_count", lambda n: as_csv(f"x{n}", "a", "b", "c")),
    "a column too few": ("wrong_column_count", lambda n: as_csv(f"x{n}", "a")),
    "a quote left open": ("broken_quotes", lambda n: f'x{n},"a text,b\r\n'.encode()),
    "text after a quote": ("broken_quotes", lambda n: f'x{n},"a" text,b\r\n'.encode()),
}
JSON_CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "no id": ("missing_id", {"id": None}),
    "the id of another row": ("duplicate_id", {"id": "good-0"}),
    "null": ("missing_value", {"reference": None}),
    "an empty text": ("empty_text", {"reference": ""}),
    "a list": ("not_text", {"reference": ["a"]}),
    "a number": ("not_text", {"candidate": 3.5}),
    "half a character": ("lone_surrogate", {"candidate": "b \ud83d"}),
    "control characters": ("binary_text", {"reference": "\1\2\3\4"}),
}
JSON_BREAKERS: dict[str, tuple[str, Breaker]] = {
    name: (code, partial(changed_json, change)) for name, (code, change) in JSON_CHANGES.items()
} | {
    "no candidate": ("missing_value", lambda n: as_json(id=n, reference="a")),
    "a byte of another encoding": (
        "not_utf8",
        lambda n: changed_json({"reference": "caf_"}, n).replace(b"_", b"\xe9"),
    ),
    "a line cut off": ("broken_json", lambda n: changed_json({}, n)[:-9] + b"\n"),
    "no object": ("not_an_object", lambda n: b'["a", "b"]\n'),
}


def good_texts(count: int) -> Iterator[tuple[str, str]]:
    """Reports with all that makes a table hard to read: quotes, commas, line breaks, accents."""
    source = random.Random(17)
    for number in range(count):
        reference = make_report(source, 20)
        if number % 7 == 0:
            reference = f'"Quoted", said the report;\nand:\r\n{reference}'
        if number % 11 == 0:
            reference += f" {ACCENTS} 🔬"
        yield reference, make_report(source, 12)


class Spoilt:
    """A file of 300 rows of which 60 are broken in twelve ways, and what is made of it."""

    def __init__(self, folder: Path, ending: str, breakers: dict[str, tuple[str, Breaker]]) -> None:
        assert len(breakers) == 12
        wanted = [(code, make) for code, make in breakers.values() for _ in range(5)]
        self.codes = Counter(code for code, _ in wanted)
        broken = [make(9000 + n) for n, (_, make) in enumerate(wanted)]
        good = [
            as_csv(f"good-{n}", *texts)
            if ending == "csv"
            else json.dumps(  # not in ASCII, so that the file is UTF-8 beyond doubt
                {"id": f"good-{n}", "reference": texts[0], "candidate": texts[1]},
                ensure_ascii=False,
            ).encode()
            + b"\n"
            for n, texts in enumerate(good_texts(240))
        ]
        lines = [*good[1:], *broken]
        random.Random(2).shuffle(lines)
        header = b"id,reference,candidate\r\n" if ending == "csv" else b""
        (folder / f"spoilt.{ending}").write_bytes(header + good[0] + b"".join(lines))
        arguments = (f"spoilt.{ending}", "--metrics", "rouge_l,bleu", "--output", "results")
        self.outcome = histoeval("score", *arguments, cwd=folder)
        self.rows: list[dict[str, Any]] = [
            json.loads(line) for line in (folder / "results/scores.jsonl").read_bytes().splitlines()
        ]
        self.summary: dict[str, Any] = json.loads((folder / "results/summary.json").read_bytes())


@pytest.fixture(scope="module", params=["csv", "jsonl"])
def spoilt(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Spoilt:
    breakers = CSV_BREAKERS if request.param == "csv" else JSON_BREAKERS
    return Spoilt(tmp_path_factory.mktemp("spoilt"), request.param, breakers)


def test_240_of_300_rows_are_scored_and_the_exit_code_is_1(spoilt: Spoilt) -> None:
    assert spoilt.outcome.code == 1
    assert "60 of 300 rows have an error" in spoilt.outcome.out
    assert all(code in spoilt.outcome.out for code in spoilt.codes)
    assert len(spoilt.rows) == 300
    scored = {row["id"] for row in spoilt.rows if set(row["scores"]) == {"rouge_l", "bleu"}}
    assert scored == {f"good-{n}" for n in range(240)}
    assert sum(bool(row["scores"]) for row in spoilt.rows) == 240


def test_60_rows_have_named_errors_in_place_of_scores(spoilt: Spoilt) -> None:
    broken = [row for row in spoilt.rows if row["errors"]]
    assert len(broken) == 60
    assert not any(row["scores"] for row in broken)
    assert Counter(row["errors"][0]["code"] for row in broken) == spoilt.codes
    assert all(len(row["errors"]) == 1 for row in broken)
    assert all(f"row {row['row']}" in row["errors"][0]["message"] for row in broken)


def test_the_summary_counts_them_and_coverage_hides_none(spoilt: Spoilt) -> None:
    assert (spoilt.summary["rows"], spoilt.summary["rows_with_errors"]) == (300, 60)
    assert {code: e["count"] for code, e in spoilt.summary["errors"].items()} == spoilt.codes
    for metric in spoilt.summary["metrics"].values():
        system = metric["systems"]["candidate"]
        assert (system["scored"], system["pairs"], system["coverage"]) == (240, 300, 0.8)


Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return partial(run_in, tmp_path, "score")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.csv", b"", "empty.csv is empty"),
        ("empty.jsonl", b"", "empty.jsonl is empty"),
        ("blank.csv", b"\n \n", "blank lines"),
        ("blank.jsonl", b"\n\n", "has no rows"),
        ("header.csv", b"reference,candidate\n", "has columns and no rows"),
        ("list.json", b"[]", "has no rows"),
        ("half.json", b'{"reference": "a"', "is not JSON"),
        ("other.csv", b"name,age\nx,3\n", "has no column for the reference"),
        ("lonely.csv", b"reference\nx\n", "has no column for the candidate"),
        ("twice.csv", b"reference,reference,candidate\na,b,c\n", "more than one column"),
        ("book.csv", b"PK\x03\x04 and so on", "Excel workbook"),
        ("wide.csv", "reference,candidate\na,b\n".encode("utf-16-le"), "UTF-16 without the mark"),
        ("no.parquet", b"PAR1 not really", "is not a Parquet file"),
        ("no.csv.gz", b"not packed", "is not a whole gzip file"),
        (
            "cut.csv.gz",
            gzip.compress(b"reference,candidate\na,b\n" * 9, mtime=0)[:-12],
            "whole gzip",
        ),
        ("report.odt", b"whatever", "ending that is not known"),
        ("reports.xlsx", b"PK", "save the sheet as CSV"),
        ("reports.zip", b"PK", "unpack it first"),
    ],
)
def test_a_file_that_cannot_be_used_is_said(
    run: Run, tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(content)
    outcome = run(name, "--output", "never")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"histoeval: {name}") or name in outcome.err
    assert says in outcome.err
    assert not (tmp_path / "never").exists()


def test_a_folder_in_the_place_of_a_file_is_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    outcome = run("folder.csv")
    assert outcome.code == 2
    assert "What can be read: one table" in outcome.err


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text("reference,candidate\none two,one\n", "utf-8")
    return path


@pytest.mark.parametrize("extra", [(), ("--overwrite",)])
def test_a_file_in_the_place_of_the_output_is_said_and_kept(
    run: Run, pairs: Path, extra: tuple[str, ...]
) -> None:
    before = pairs.read_bytes()
    for output in ("pairs.csv", "pairs.csv/below"):
        outcome = run("pairs.csv", "--output", output, *extra)
        assert (outcome.code, outcome.out) == (2, "")
        assert "pairs.csv" in outcome.err
    assert pairs.read_bytes() == before


def test_an_output_that_cannot_be_written_is_said(run: Run, pairs: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o500)
    if os.access(locked, os.W_OK):  # nothing is locked for root, but for what is no real folder
        locked = Path("/proc")
    outcome = run("pairs.csv", "--output", str(locked / "results"))
    assert (outcome.code, outcome.out) == (2, "")
    assert f"cannot use {locked / 'results'} for results: " in outcome.err
    outcome = run("pairs.csv", "--output", "x" * 300)
    assert outcome.code == 2
    assert "File name too long" in outcome.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk always full")
def test_a_disk_that_is_full_is_said_and_room_lets_the_run_go_on(
    run: Run, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def full(path: Any, *rest: Any) -> int:
        is_summary = str(path).endswith("summary.json.part")
        return opened("/dev/full", os.O_WRONLY) if is_summary else opened(path, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", full)
        outcome = run("pairs.csv", "--output", "results", "--metrics", "bleu")
    assert (outcome.code, outcome.out) == (2, "")
    assert "cannot use results for results: No space left on device" in outcome.err
    assert run("pairs.csv", "--output", "results", "--metrics", "bleu").code == 0
    assert len(read_rows(tmp_path / "results")) == 1


def test_results_that_somebody_edited_are_said(run: Run, pairs: Path, tmp_path: Path) -> None:
    assert run("pairs.csv", "--output", "results", "--metrics", "bleu").code == 0
    (tmp_path / "results/scores.jsonl").write_text("my notes\n", "utf-8")
    outcome = run("pairs.csv", "--output", "results", "--metrics", "bleu")
    assert outcome.code == 2
    assert "line 1 of results/scores.jsonl is not a row of results" in outcome.err


def read_rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "scores.jsonl").read_bytes().splitlines()]


@pytest.mark.parametrize("text", ["🔬", "🔬🧫", "—", "?!", "É", "x" * 5000, "\u200b", "a\u0301"])
def test_any_text_that_is_not_blank_gets_scores(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "pairs.jsonl").write_bytes(
        as_json(reference=text, candidate=text)
        + as_json(reference="A report.", candidate=text)
        + as_json(reference=text, candidate="A report.")
    )
    metrics = "bleu,rouge_1,rouge_2,rouge_l,chrf,chrf:word_order=2,meteor:matchers=exact+stem"
    outcome = run("pairs.jsonl", "--metrics", metrics, "--output", "results")
    assert outcome.code == 0, outcome
    for row in read_rows(tmp_path / "results"):
        assert len(row["scores"]) == 7
        assert all(0 <= score["value"] <= 100.0001 for score in row["scores"].values())


def test_a_report_of_a_megabyte_is_scored_in_less_than_a_minute(run: Run, tmp_path: Path) -> None:
    source = random.Random(1)
    reference, candidate = make_report(source, 60_000), make_report(source, 170_000)
    assert len(candidate) > 1_000_000
    (tmp_path / "pairs.jsonl").write_bytes(
        as_json(reference="a b", candidate="a")
        + as_json(reference=reference, candidate=candidate)
        + as_json(reference="a b", candidate="b")
    )
    metrics = "bleu,rouge_l,chrf,meteor:matchers=exact+stem"
    start = time.perf_counter()
    outcome = run("pairs.jsonl", "--metrics", metrics, "--output", "results")
    assert time.perf_counter() - start < 60
    assert outcome.code == 0
    assert [len(row["scores"]) for row in read_rows(tmp_path / "results")] == [4, 4, 4]
