"""`--no-texts`: no word of a report in any file of the results."""

import json
import re
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest
from pydantic import BaseModel
from typer.testing import CliRunner, Result

import histoeval
from histoeval.cli.main import app
from histoeval.errors import OutputError
from histoeval.io.finished_run import TRUST_NAMES
from histoeval.pathgls.results import Grounding
from histoeval.run.trust.rows import TrustRow
from tests.support.trust_runs import TORN, TRUE, WAVERING, judged, painted_folder, quick_instruments

__all__ = ["painted_folder", "quick_instruments"]


REFERENCE = (
    "A. Left breast: invasive ductal carcinoma, grade 2, oestrogen receptor positive.\n"
    "B. Lymph nodes: metastasis in 2 of 12."
)
CANDIDATE = "A. Right breast: ductal carcinoma, nuclear pleomorphism. B. Lymph nodes: sclerosis."


def words_of(*texts: str) -> set[str]:
    """Words that only a report can have brought into a file."""
    ours = "diagnosis grade nodes positive carcinoma breast lymph present right invasion there"
    return {word for text in texts for word in re.findall(r"[a-z]{5,}", text.lower())} - {
        *ours.split()
    }


def leaks(folder: Path, words: set[str]) -> dict[str, set[str]]:
    found = {}
    for file in folder.rglob("*"):
        content = file.read_bytes().decode("utf-8", "replace").lower() if file.is_file() else ""
        if there := {word for word in words if word in content}:
            found[file.name] = there
    return found


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    pairs = [
        {"id": "one", "reference": REFERENCE, "candidate": CANDIDATE},
        {"id": "two", "reference": REFERENCE, "candidate": ""},
    ]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, pairs)), "utf-8")
    return file


METRICS = "concordance,hare,rubric_offline,bleu"


def test_scores_have_no_word_of_a_report(table: Path, tmp_path: Path) -> None:
    words = words_of(REFERENCE, CANDIDATE)
    out = tmp_path / "out"
    done = run("score", table, "--metrics", METRICS, "--output", out, "--no-texts")
    assert done.exit_code == 1, done.output
    for to in ("html", "csv", "json", "md"):
        assert run("report", out, "--to", to).exit_code == 0
    assert leaks(out, words) == {}
    kept = tmp_path / "kept"
    run("score", table, "--metrics", METRICS, "--output", kept)
    assert leaks(kept, words), "the words are those that would be there"
    for to in ("html", "csv", "json", "md", "xlsx"):
        page = tmp_path / "pages" / f"page.{to}"
        assert run("report", kept, "--to", to, "--no-texts", "--output", page).exit_code == 0
    assert leaks(tmp_path / "pages", words) == {}


def test_what_remains_are_scores_places_and_types(table: Path) -> None:
    (with_texts, _), (without, failed) = (
        histoeval.score(table, metrics="concordance", texts=texts).rows for texts in (True, False)
    )
    before, after = (each.scores["concordance"] for each in (with_texts, without))
    assert (after.value, after.parts) == (before.value, before.parts)
    for one, other in zip(before.evidence["errors"], after.evidence["errors"], strict=True):
        assert one["severity"] == other["severity"]
        assert other["message"] == one["kind"].replace("_", " ")
        for side in ("reference", "candidate"):
            if one[side] is not None:
                assert [one[side][key] for key in ("start", "end", "type")] == [
                    other[side][key] for key in ("start", "end", "type")
                ]
                assert set(other[side]["text"]) == {"*"}
    assert failed.errors[0].code == "empty_text"


def test_a_run_resumes_as_it_was_begun(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = histoeval.score(table, metrics="bleu", output=out, texts=False)
    again = histoeval.score(table, metrics="bleu", output=out, texts=False)
    assert first.summary == again.summary
    assert first.summary["texts"] is False
    with pytest.raises(OutputError, match="texts"):
        histoeval.score(table, metrics="bleu", output=out)


def test_readings_keep_places_and_no_words(tmp_path: Path) -> None:
    table = tmp_path / "reports.jsonl"
    table.write_text(json.dumps({"id": "one", "report": REFERENCE}), "utf-8")
    (tmp_path / "out").mkdir()
    file = tmp_path / "out" / "read.jsonl"
    for _ in range(2):  # the second time it is resumed
        assert run("extract", table, "--output", file, "--no-texts").exit_code == 0
    assert leaks(tmp_path / "out", words_of(REFERENCE)) == {}
    (row,) = histoeval.extract([REFERENCE], texts=False).reports
    (read,) = histoeval.extract([REFERENCE]).reports
    assert row is not None
    assert read is not None
    assert [(e.start, e.type) for e in row.entities] == [(e.start, e.type) for e in read.entities]


@pytest.mark.usefixtures("quick")
def test_a_page_of_verdicts_and_one_of_readings_can_be_had_without_texts(folder: Path) -> None:
    words = words_of(TRUE, TORN, WAVERING)
    judged(folder)
    histoeval.extract([TRUE, TORN], output=folder / "read.jsonl.gz")
    for number, place in enumerate(("out", "read.jsonl.gz")):
        page = folder / "pages" / f"{number}.html"
        done = run("report", folder / place, "--no-texts", "--output", page)
        assert done.exit_code == 0, done.output
    assert leaks(folder / "pages", words) == {}


@pytest.mark.usefixtures("quick")
def test_verdicts_have_no_word_of_a_report(folder: Path) -> None:
    done = judged(folder, "--no-texts")
    assert done.exit_code == 0, done.output
    words = words_of(TRUE, TORN, WAVERING)
    assert leaks(folder / "out", words) == {}
    assert not (folder / "out" / "evidence").exists()
    assert not (folder / "out" / "report.html").exists()


def test_what_a_row_of_trust_can_only_be_one_of_is_kept() -> None:
    """A value out of a fixed list is no word of a report, and the row cannot be read without it."""

    models: list[type[BaseModel]] = [TrustRow, Grounding]
    named = set()
    for model in models:
        for name, field in model.model_fields.items():
            within = [field.annotation, *get_args(field.annotation)]
            if any(get_origin(each) is Literal for each in within):
                named.add(name)
            models += [
                each
                for each in within
                if isinstance(each, type) and issubclass(each, BaseModel) and each not in models
            ]
    assert {"route", "cancer_check", "verdict", "stated"} <= named
    assert named <= TRUST_NAMES
