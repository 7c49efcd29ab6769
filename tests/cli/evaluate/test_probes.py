"""`histoeval evaluate probes`, as people run it."""

import json
from functools import partial
from pathlib import Path

import pytest

from histoeval.errors import InputError, OutputError, SettingError
from histoeval.metric import Score
from histoeval.metrics import wordnet
from histoeval.metrics.bleu import Bleu
from histoeval.metrics.rouge import Rouge
from tests.support.command import invoked

REFERENCE = "Skin, back: benign intradermal naevus, margins clear."
EDITS = [
    {"kind": kind, "effect": effect, "severity": severity, "text": text}
    for kind, effect, severity, text in (
        ("word_order", "harmless", 0, "Skin, back: intradermal naevus, benign, margins clear."),
        ("flip", "harmful", 4, "Skin, back: malignant melanoma, margins clear."),
    )
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [{"id": f"skin-{n}", "reference": REFERENCE, "edits": EDITS} for n in range(4)]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


run = partial(invoked, "evaluate", "probes")


def test_figures_are_told_and_written(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    told = ("--metrics", "rouge_1,bleu", "--output", out, "--resamples", 20, "--seed", 7)
    result = run(file, *told)
    assert result.exit_code == 0, result.output
    assert "8 edits of 4 references" in result.output
    assert "word order" in result.output
    found = json.loads(out.read_text("utf-8"))
    assert (found["probes"], found["resamples"], found["seed"]) == ("mine.jsonl", 20, 7)
    rouge, bleu = found["metrics"]
    assert (rouge["metric"], bleu["metric"]) == ("rouge_1", "bleu")
    assert rouge["signature"].startswith("rouge_1|")
    assert rouge["kinds"]["word_order"]["cost"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert rouge["below"] == {"pairs": 4, "share": {"value": 1.0, "low": 1.0, "high": 1.0}}
    assert rouge["in_order"] == {"pairs": 0, "share": None}


def test_tables_come_as_markdown_for_documents(file: Path) -> None:
    result = run(file, "--metrics", "rouge_1", "--format", "markdown")
    assert "| word order | 0.0 | 4 | 0.000 |" in result.output.splitlines()
    assert "| rouge_1 | 1.000 (1.000-1.000) |" in result.output


def test_costs_do_not_depend_on_how_many_pairs_are_scored_together(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outs = [tmp_path / "one.json", tmp_path / "two.json"]
    for out, most in zip(outs, (1, 128), strict=True):
        monkeypatch.setattr("histoeval.cli.evaluate.PAIR_BATCH", most)
        assert run(file, "--metrics", "bleu,rouge_l", "--output", out).exit_code == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_broken_edits_count(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored = Rouge.score_pair

    def breaks(self: Rouge, reference: str, candidate: str) -> Score:
        if "melanoma" in candidate:
            raise ZeroDivisionError("an unexpected value")
        return scored(self, reference, candidate)

    monkeypatch.setattr(Rouge, "score_pair", breaks)
    out = tmp_path / "figures.json"
    result = run(file, "--metrics", "rouge_1", "--output", out)
    assert result.exit_code == 1
    assert "4 of 8 edits have no score" in result.output
    assert "an unexpected value" in result.output
    rouge = json.loads(out.read_text("utf-8"))["metrics"][0]
    assert (rouge["missing"], rouge["kinds"]["word_order"]["scored"]) == (4, 4)
    assert rouge["kinds"]["flip"]["cost"] is None


def test_a_metric_that_cannot_run_here_is_told_beside_the_others(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wordnet, "find", lambda: None)
    out = tmp_path / "figures.json"
    result = run(file, "--metrics", "meteor,bleu", "--output", out)
    assert result.exit_code == 1
    assert "WordNet" in result.output
    found = json.loads(out.read_text("utf-8"))
    assert [each["metric"] for each in found["metrics"]] == ["bleu"]
    assert list(found["unavailable"]) == ["meteor"]
    alone = run(file, "--metrics", "meteor")
    assert isinstance(alone.exception, SettingError)


def test_what_cannot_be_done_is_told_before_anything_is_scored(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bleu, "score_pair", None)
    nowhere = tmp_path / "none"
    for words, error in (
        ((nowhere, "--metrics", "bleu"), InputError),
        ((file, "--metrics", "blue"), SettingError),
        ((file, "--metrics", "bleu", "--output", nowhere / "figures.json"), OutputError),
    ):
        assert isinstance(run(*words).exception, error)
