"""Scoring in one line of Python: whatever holds the pairs, the same numbers come out."""

from __future__ import annotations

import csv
from collections import ChainMap
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars
import pytest
import sacrebleu

import histoeval
from histoeval import InputError, Pair, SettingError
from histoeval.run.results import Scores

IDS = ["breast-1", "colon-1", "skin-1"]
REFERENCES = [
    "Invasive ductal carcinoma of the left breast, grade 2.",
    "Tubular adenoma with low grade dysplasia.",
    "Basal cell carcinoma, nodular, margins clear.",
]
CANDIDATES = [
    "Invasive lobular carcinoma of the left breast, grade 2.",
    "Tubular adenoma.",
    "Seborrhoeic keratosis; margins clear.",
]
RECORDS = [
    {"id": id_, "reference": reference, "candidate": candidate}
    for id_, reference, candidate in zip(IDS, REFERENCES, CANDIDATES, strict=True)
]
BLEU = {
    record["id"]: sacrebleu.sentence_bleu(record["candidate"], [record["reference"]]).score
    for record in RECORDS
}


def bleu(results: Scores) -> dict[str, float]:
    return {row.id: row.scores["bleu"].value for row in results.rows}


def write_csv(path: Path, records: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, records[0])
        writer.writeheader()
        writer.writerows(records)
    return path


SOURCES: dict[str, Any] = {
    "path": lambda folder: write_csv(folder / "pairs.csv", RECORDS),
    "name": lambda folder: str(write_csv(folder / "pairs.csv", RECORDS)),
    "mappings": lambda _: [MappingProxyType(record) for record in RECORDS],
    "chained": lambda _: [ChainMap(record, {}) for record in RECORDS],
    "one by one": lambda _: (record for record in RECORDS),
    "pairs": lambda _: [Pair(**record) for record in RECORDS],
    "polars": lambda _: polars.DataFrame(RECORDS),
    "pandas": lambda _: pytest.importorskip("pandas").DataFrame(RECORDS),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_pairs_of_any_kind_have_the_same_scores(kind: str, tmp_path: Path) -> None:
    results = histoeval.score(SOURCES[kind](tmp_path), metrics="bleu")
    assert bleu(results) == pytest.approx(BLEU, abs=1e-9)


@pytest.mark.parametrize("dtype", ["polars", "object", "string", "str"])
def test_what_is_missing_in_a_frame_is_missing(dtype: str) -> None:
    texts = {"reference": ["a b", "c d"], "candidate": ["a b", None]}
    if dtype == "polars":
        frame: Any = polars.DataFrame(texts)
    else:
        frame = pytest.importorskip("pandas").DataFrame(texts).astype(dtype)
    results = histoeval.score(frame, metrics="bleu")
    assert [[error.code for error in row.errors] for row in results.rows] == [[], ["missing_value"]]


def test_lists_of_texts() -> None:
    results = histoeval.score(references=REFERENCES, candidates=CANDIDATES)
    assert list(bleu(results).values()) == pytest.approx(list(BLEU.values()))
    assert list(bleu(results)) == ["0", "1", "2"]


def test_lists_of_texts_for_several_systems() -> None:
    systems = {"copy": REFERENCES, "ours": CANDIDATES}
    results = histoeval.score(references=REFERENCES, candidates=systems, metrics="bleu,rouge_l")
    for name, metric in results.summary["metrics"].items():
        assert list(metric["systems"]) == ["copy", "ours"], name
    means = {k: v["mean"] for k, v in results.summary["metrics"]["bleu"]["systems"].items()}
    assert means == pytest.approx({"copy": 100.0, "ours": sum(BLEU.values()) / 3})
    assert [(row.id, row.system) for row in results.rows] == [
        (str(n), name) for name in systems for n in range(3)
    ]


def test_columns_can_be_named() -> None:
    records = [
        {"case": r["id"], "wahr": r["reference"], "x": r["candidate"], "y": r["reference"]}
        for r in RECORDS
    ]
    named = histoeval.score(records, reference="wahr", candidate="x", id="case")
    assert bleu(named) == pytest.approx(BLEU)
    both = histoeval.score(records, reference="wahr", candidate=["x", "y"], id="case")
    assert [row.system for row in both.rows] == ["x", "y"] * 3


def test_metrics_come_as_a_list_or_as_one_text_and_each_once() -> None:
    one = histoeval.score(RECORDS, metrics=" rouge_l , bleu:order=2,rouge_l,")
    other = histoeval.score(RECORDS, metrics=["rouge_l", "bleu:order=2"])
    assert list(one.summary["metrics"]) == ["rouge_l", "bleu:order=2"]
    assert one.to_dicts() == other.to_dicts()


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({}, SettingError, "give data, or both"),
        ({"references": REFERENCES}, SettingError, "give data, or both"),
        ({"data": RECORDS, "references": REFERENCES}, SettingError, "not both"),
        ({"references": REFERENCES, "candidates": CANDIDATES[:2]}, SettingError, "2 texts for 3"),
        ({"references": "a text", "candidates": ["b"]}, SettingError, "lists of texts"),
        ({"references": ["a"], "candidates": {"ours": "b"}}, SettingError, "lists of texts"),
        ({"references": [], "candidates": []}, InputError, "no rows"),
        ({"data": []}, InputError, "no rows"),
        ({"data": [1, 2]}, InputError, "no row of"),
        ({"data": "nowhere.csv"}, InputError, "does not exist"),
        ({"data": [{"a": "b"}]}, InputError, "no column for the reference"),
        ({"data": RECORDS, "candidate": "cand"}, InputError, "did you mean 'candidate'"),
        ({"data": RECORDS, "metrics": "blue"}, SettingError, "no metric 'blue'"),
        ({"data": RECORDS, "metrics": []}, SettingError, "no metric was named"),
        ({"data": RECORDS, "metrics": "bleu:order"}, SettingError, "form name=value"),
        ({"data": RECORDS, "metrics": "bleu:order=many"}, SettingError, "order"),
        ({"data": RECORDS, "metrics": "bleu:name=mine"}, SettingError, "'name' cannot be set"),
        ({"data": RECORDS, "metrics": "hare:reader=x"}, SettingError, "'reader' cannot be set"),
        ({"data": RECORDS, "metrics": "bertscore"}, SettingError, "bertscore needs"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        histoeval.score(**arguments)


def with_a_broken_row() -> Scores:
    return histoeval.score(
        [*RECORDS[:2], {"id": "broken", "reference": "a", "candidate": " "}],
        metrics="bleu,bertscore,rouge_l",
    )


def test_flat_records_have_a_column_for_every_metric_and_part() -> None:
    first, second, broken = with_a_broken_row().to_dicts()
    assert list(first) == list(second) == list(broken)
    assert [name for name in first if "." not in name] == [
        "id",
        "system",
        "bleu",
        "bertscore",
        "rouge_l",
        "problems",
    ]
    assert first["bleu"] == pytest.approx(BLEU["breast-1"])
    assert (first["bleu.brevity_penalty"], first["bertscore"]) == (1.0, None)
    assert first["problems"].startswith("metric_unavailable: bertscore ")
    assert (broken["id"], broken["bleu"], broken["rouge_l.recall"]) == ("broken", None, None)
    assert broken["problems"].startswith("empty_text: candidate is empty")


def test_a_score_that_first_appears_far_down_has_a_column_of_numbers() -> None:
    blank = [{"reference": "a", "candidate": ""}] * 300
    frame = histoeval.score([*blank, {"reference": "a", "candidate": "a"}]).to_polars()
    assert frame.schema["rouge_l"] == polars.Float64
    assert frame["rouge_l"].drop_nulls().to_list() == [1.0]


def test_results_as_a_pandas_frame() -> None:
    pytest.importorskip("pandas")
    results = with_a_broken_row()
    frame = results.to_pandas()
    assert list(frame.columns) == list(results.to_dicts()[0])
    assert frame["bleu"].mean() == pytest.approx((BLEU["breast-1"] + BLEU["colon-1"]) / 2)
    assert frame["bleu"].isna().tolist() == [False, False, True]


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with_a_broken_row()
    assert capfd.readouterr() == ("", "")
