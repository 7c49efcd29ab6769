"""The command line, from input file to result file, as docs/results.md describes it."""

import csv
import hashlib
import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import sacrebleu

from histoeval import __version__
from histoeval.cli import main
from histoeval.metrics.registry import METRICS
from tests.support.command import PROGRAM, Command, Outcome, environment, histoeval

COLUMNS = ("id", "reference", "candidate")
TABLE = [
    ("case-1", "Invasive ductal carcinoma, grade 2.", "Invasive carcinoma, grade 2."),
    ("case-2", "Tubular adenoma, naïve resection.", "Tubular adenoma, low grade."),
    ("case-3", 'Basal cell carcinoma, "nodular", clear.', "Seborrhoeic keratosis."),
]
RECORDS = [dict(zip(COLUMNS, row, strict=True)) for row in TABLE]
BLEU = [sacrebleu.sentence_bleu(row[2], [row[1]]).score for row in TABLE]


def write_delimited(path: Path, delimiter: str) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([COLUMNS, *TABLE])


def read_rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "scores.jsonl").read_bytes().splitlines()]


def values(folder: Path, metric: str = "bleu") -> list[float]:
    return [row["scores"][metric]["value"] for row in read_rows(folder)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("place")
    good = [*RECORDS, {"id": "case-4", "reference": "A text.", "candidate": ""}]
    lines = "".join(f"{json.dumps(record)}\n" for record in good)
    (folder / "mixed.jsonl").write_text(lines + '{"id": "case-5", "refe\n', "utf-8")
    write_delimited(folder / "good.csv", ",")
    return folder


@pytest.fixture(scope="module")
def mixed(place: Path) -> Outcome:
    """Three good rows, one without a candidate, one cut off; and a metric that cannot run."""
    arguments = ("mixed.jsonl", "--metrics", "bleu,bertscore,chrf", "--output", "results")
    return histoeval("score", *arguments, cwd=place)


@pytest.fixture(scope="module")
def rows(place: Path, mixed: Outcome) -> list[dict[str, Any]]:
    return read_rows(place / "results")


@pytest.fixture(scope="module")
def summary(place: Path, mixed: Outcome) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((place / "results/summary.json").read_bytes())
    return read


def test_a_run_with_failed_rows_exits_with_1_and_says_so(mixed: Outcome) -> None:
    assert (mixed.code, mixed.err) == (1, "")
    assert "5 of 5 rows have an error" in mixed.out
    assert re.search(rf"bleu\b.* {sum(BLEU) / 3:.2f} .*0 to 100 .*3 of 5", mixed.out)
    assert re.search(r"bertscore\b.*none.*0 of 5", mixed.out)
    for code in ("metric_unavailable", "empty_text", "broken_json"):
        assert code in mixed.out
    assert "Written: results/scores.jsonl, results/summary.json" in mixed.out


def test_rows_are_as_documented(rows: list[dict[str, Any]]) -> None:
    assert [row["id"] for row in rows[:4]] == ["case-1", "case-2", "case-3", "case-4"]
    assert [row["row"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["system"] for row in rows] == ["candidate"] * 4 + [None]
    for row in rows:
        assert list(row) == ["id", "system", "row", "scores", "errors"]
        for score in row["scores"].values():
            assert list(score) == ["value", "parts", "evidence", "counts"]
        for error in row["errors"]:
            assert list(error) == ["code", "message", "column", "metric"]
    assert [list(row["scores"]) for row in rows] == [["bleu", "chrf"]] * 3 + [[], []]
    assert rows[0]["scores"]["bleu"]["value"] == pytest.approx(BLEU[0])
    assert rows[0]["scores"]["bleu"]["parts"]["precision_1"] == 100.0


def test_the_summary_is_as_documented(summary: dict[str, Any], place: Path) -> None:
    assert list(summary["metrics"]) == ["bleu", "bertscore", "chrf"]
    bleu = summary["metrics"]["bleu"]
    assert bleu["signature"].startswith("bleu|order:4|")
    assert bleu["signature"].endswith(f"|histoeval:{__version__}")
    assert (bleu["range"], bleu["higher_is_better"]) == ([0.0, 100.0], True)
    system = bleu["systems"]["candidate"]
    assert (system["scored"], system["pairs"], system["coverage"]) == (3, 5, 0.6)
    assert system["mean"] == pytest.approx(sum(BLEU) / 3)
    references, candidates = [row[1] for row in TABLE], [row[2] for row in TABLE]
    expected = sacrebleu.corpus_bleu(candidates, [references]).score
    assert system["corpus"] == pytest.approx(expected)
    none = summary["metrics"]["bertscore"]["systems"]["candidate"]
    assert (none["coverage"], none["mean"], none["corpus"]) == (0.0, None, None)
    assert list(summary["unavailable"]) == ["bertscore"]
    assert summary["input"] == {
        "name": "mixed.jsonl",
        "format": "jsonl",
        "encoding": "utf-8",
        "sha256": hashlib.sha256((place / "mixed.jsonl").read_bytes()).hexdigest(),
        "notes": ["columns used: 'id' as id, 'reference' as reference, 'candidate' as candidate"],
    }
    assert summary["versions"]["sacrebleu"] == version("sacrebleu")
    counts = {code: error["count"] for code, error in summary["errors"].items()}
    assert counts == {"broken_json": 1, "empty_text": 1, "metric_unavailable": 3}


def test_results_hold_no_path(mixed: Outcome, place: Path) -> None:
    for path in (place / "results").iterdir():
        assert str(place) not in path.read_text("utf-8")


def without_seconds(text: str) -> str:
    return re.sub(r"\d+\.\d s$", "", text, flags=re.MULTILINE)


def test_two_runs_leave_the_same_bytes(mixed: Outcome, place: Path) -> None:
    arguments = ("mixed.jsonl", "--metrics", "bleu,bertscore,chrf", "--output", "again")
    again = histoeval("score", *arguments, cwd=place, PYTHONHASHSEED="7")
    renamed = mixed.out.replace("results/", "again/").replace("report results", "report again")
    assert without_seconds(again.out) == without_seconds(renamed)
    names = ["run.json", "scores.jsonl", "summary.json", "texts.jsonl"]
    assert sorted(path.name for path in (place / "again").iterdir()) == names
    for name in names:
        assert (place / "again" / name).read_bytes() == (place / "results" / name).read_bytes()


def test_hare_signs_its_reader_and_aligner(command: Command, tmp_path: Path) -> None:
    write_delimited(tmp_path / "good.csv", ",")
    outcome = command("score", "good.csv", "--output", "plain")
    assert (outcome.code, outcome.err) == (0, "")
    scores = values(tmp_path / "plain", "hare")
    assert scores[0] > scores[2]
    summary = json.loads((tmp_path / "plain/summary.json").read_bytes())
    assert next(iter(summary["metrics"])) == "concordance"
    signature = summary["metrics"]["hare"]["signature"]
    assert re.search(r"\|reader:[\w-]+@[0-9a-f]{12}/onnxruntime", signature)
    assert re.search(r"\|aligner:histoeval-aligner@[0-9a-f]{12}/onnxruntime.*/channel\d", signature)


def test_a_run_without_output_writes_nothing(command: Command, tmp_path: Path) -> None:
    write_delimited(tmp_path / "pairs.csv", ",")
    outcome = command("score", str(tmp_path / "pairs.csv"), "--metrics", "bleu")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Written" not in outcome.out
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.csv"]


def test_a_file_without_a_good_row_exits_with_2(command: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("reference,candidate\na,\n,b\n", "utf-8")
    outcome = command("score", "bad.csv", "--metrics", "bleu")
    assert outcome.code == 2
    assert "empty_text" in outcome.out


def one_screen(text: str) -> bool:
    lines = text.splitlines()
    return len(lines) <= 32 and all(len(line) <= 80 for line in lines)


def test_metrics_lists_every_metric_on_one_screen(command: Command) -> None:
    outcome = command("metrics")
    assert (outcome.code, outcome.err) == (0, "")
    for name in METRICS:
        shown = re.sub(r"^bleu_[1-4]$", "bleu_1", re.sub(r"^statement_.*", "statement_f1", name))
        assert re.search(rf"^{shown}\b", outcome.out, re.MULTILINE), name
    assert re.search(r"hare\b.* ready ", outcome.out)
    assert re.search(r"bertscore\b.* needs an encoder", outcome.out)
    assert re.search(rf"^\d+ of {len(METRICS)} metrics are ready\.", outcome.out, re.MULTILINE)
    assert one_screen(outcome.out)


def test_one_metric_is_shown_in_full_with_why_it_cannot_run(command: Command) -> None:
    out = command("metrics", "bertscore", "bleu_4").out
    assert "It needs models: name --encoder" in out
    assert re.search(r"bleu_4 +0 to 100, higher is better.\s+bleu_4\|order:4\|", out)


def test_doctor_shows_on_one_screen_what_is_ready_and_what_is_missing(command: Command) -> None:
    outcome = command("doctor")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"histoeval {__version__}, Python ")
    assert f" of {len(METRICS)} metrics are ready" in outcome.out
    assert one_screen(outcome.out)
    details = command("doctor", "--all").out
    assert re.search(rf"sacrebleu +{re.escape(version('sacrebleu'))} +every run", details)


def test_an_unexpected_error_is_one_sentence_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fall_over() -> None:
        raise RuntimeError("the roof came down")

    monkeypatch.setattr(main, "app", fall_over)
    with pytest.raises(SystemExit, match="2"):
        main.main()
    out, err = capsys.readouterr()
    assert out == ""
    assert "unexpected error: RuntimeError: the roof came down. Set HISTOEVAL_TRACEBACK=1" in err
    assert err.count("\n") == 1
    monkeypatch.setenv("HISTOEVAL_TRACEBACK", "1")
    with pytest.raises(SystemExit, match="2"):
        main.main()
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_names_like_markup_are_printed_as_they_are(command: Command, tmp_path: Path) -> None:
    write_delimited(tmp_path / "[red]pairs[bold].csv", ",")
    outcome = command("score", "[red]pairs[bold].csv", "--metrics", "bleu", "--output", "[blue]")
    assert outcome.code == 0
    assert "[red]pairs[bold].csv: mean" in outcome.out
    assert "Written: [blue]/scores.jsonl" in outcome.out


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals there")
def test_who_watches_sees_progress_and_finds_nothing_of_it_in_the_results(tmp_path: Path) -> None:
    write_delimited(tmp_path / "[red]pairs.csv", ",")
    ours, theirs = os.openpty()
    ran = subprocess.run(
        [*PROGRAM, "score", "[red]pairs.csv", "--metrics", "bleu"],
        cwd=tmp_path,
        env=environment(TERM="xterm"),
        stdout=subprocess.PIPE,
        stderr=theirs,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    os.close(theirs)
    shown = os.read(ours, 1_000_000).decode()
    os.close(ours)
    assert "scoring [red]pairs.csv" in shown
    assert "\x1b" not in ran.stdout
    assert "scoring" not in ran.stdout


@pytest.mark.skipif(os.name == "nt", reason="names of files are Unicode there")
def test_a_file_whose_name_is_not_unicode_is_scored(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    try:
        write_delimited(tmp_path / name, ",")
    except OSError:
        pytest.skip("this file system takes Unicode names only")
    given = ("score", name, "--metrics", "bleu", "--output", "results")
    outcome = histoeval(*given, cwd=tmp_path, PYTHONIOENCODING="utf-8")
    assert outcome.code == 0
    summary = json.loads((tmp_path / "results/summary.json").read_bytes())
    assert summary["input"]["name"] == name


def test_python_m_histoeval_is_histoeval() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "histoeval", "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.split()[0].lower() == "histoeval"
