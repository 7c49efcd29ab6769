"""Scoring in one line of Python, and results of every verb: rows by id, frames, a notebook."""

import csv
import sys
from collections import ChainMap
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars
import pytest
import sacrebleu

import histoeval
from histoeval import InputError, SettingError
from histoeval.api import score
from histoeval.errors import MissingDependency, Problem
from histoeval.io.results import MetricResult, ReadRow, ResultRow
from histoeval.metric import Score
from histoeval.metrics.base import as_metric
from histoeval.report import Pair, Report
from histoeval.run.agree import Agreement, agree
from histoeval.run.compare.compare import compare
from histoeval.run.results import Readings, Results, Scores, Verdicts
from histoeval.run.trust.rows import MissingReason, TrustRow

BROKEN = Problem("empty_text", "<b>candidate</b> is empty")


def scores() -> Scores:
    result = MetricResult(value=0.5, parts={"recall": 0.25})
    rows = [
        ResultRow(id="a", system="one", row=1, scores={"bleu": result}),
        ResultRow(id="a", system="two", row=1, errors=(BROKEN,)),
        ResultRow(id="b", system="one", row=2, scores={"bleu": result}),
    ]
    totals = {"mean": 0.5, "parts": {"recall": 0.25}}
    summary = {"rows": 3, "metrics": {"bleu": {"systems": {"one": totals}}}}
    return Scores(summary, rows)


def readings() -> Readings:
    broken = ReadRow(id="b", row=2, errors=(BROKEN,))
    rows = [ReadRow(id="a", report=Report(text="No tumour.")), broken]
    return Readings({"rows": 2, "entities": {}, "rows_with_errors": 1}, rows)


def verdicts() -> Verdicts:
    missing = MissingReason(dimension="grounding", code="no_image", message="no image")
    rows = [TrustRow(id="a", row=1, logic=0.5, route="review", errors=(missing,))]
    return Verdicts({"rows": 1, "routes": {"review": 1}}, rows)


@pytest.mark.parametrize("results", [scores(), readings(), verdicts()], ids=lambda r: repr(r)[:9])
def test_every_kind_can_be_counted_gone_through_and_laid_out(results: Results[ReadRow]) -> None:
    assert len(results) == len(list(results)) == len(list(results.rows))
    records = results.to_dicts()
    assert [record["id"] for record in records] == [row.id for row in results]
    assert results.to_polars().to_dicts() == records
    assert repr(results).startswith(f"<{type(results).__name__} o")
    assert "<td>a</td>" in results._repr_html_()


def test_a_row_is_found_by_its_id_and_where_that_is_not_enough_by_its_system() -> None:
    results = scores()
    assert results["b"].row == 2
    assert results["a", "two"].errors == (BROKEN,)
    with pytest.raises(KeyError, match=r"2 rows have the id 'a'.*as in \['a', 'one'\].*'two'"):
        results["a"]
    with pytest.raises(KeyError, match="no row has the id 'c'"):
        results["c"]
    with pytest.raises(KeyError, match="no row has the id 'b' of the system 'two'"):
        results["b", "two"]


@pytest.mark.parametrize("on_disk", [False, True])
def test_rows_are_a_sequence(on_disk: bool, tmp_path: Path) -> None:
    records = [{"id": name, "reference": "a b", "candidate": "a b"} for name in "wxyz"]
    results = score(records, metrics="bleu", output=tmp_path if on_disk else None)
    rows = results.rows
    assert isinstance(rows, Sequence)
    assert (len(rows), rows[0].id, rows[-1].id) == (4, "w", "z")
    assert [row.id for row in rows[::-2]] == ["z", "x"]
    assert [row.id for row in rows] == [*"wxyz"]
    assert results["y"].row == 3
    with pytest.raises(IndexError):
        rows[4]


def test_a_metric_that_fails_is_named_in_the_summary_line() -> None:
    class Broken:
        name = "broken"

        def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
            raise ZeroDivisionError("no words")

    results = score(["a b", "c"], ["a b", "c"], metrics=["rouge_l", as_metric(Broken())])
    assert repr(results).endswith("; broken failed on 2: ZeroDivisionError: no words>")
    assert "broken failed on 2" in results._repr_html_()


def test_errors_and_signatures_can_be_had_without_the_summary() -> None:
    found = scores()
    totals = found.summary["metrics"]["bleu"]["systems"]["one"]
    assert found.report_errors() == []
    totals["report_errors"] = {
        "count": 2,
        "pairs": 1,
        "by_severity": {"critical": 2},
        "by_kind": {"omission": 2},
    }
    assert found.report_errors() == [
        {"metric": "bleu", "system": "one", "errors": 2, "pairs": 1, "critical": 2, "omission": 2}
    ]
    found.summary["metrics"]["bleu"]["signature"] = "bleu|histoeval:0.1.0"
    assert found.signatures == {"bleu": "bleu|histoeval:0.1.0"}


def test_a_notebook_shows_the_first_rows_escaped_and_shortened() -> None:
    shown = scores()._repr_html_()
    assert "&lt;b&gt;candidate&lt;/b&gt; is empty" in shown
    assert "<b>" not in shown
    assert "Scores of 3 rows; means: bleu one: 0.5000" in shown
    many = Readings(
        {"rows": 99, "entities": {}, "rows_with_errors": 0},
        [ReadRow(id=str(n), report=Report(text="tumour " * 99)) for n in range(99)],
    )
    assert many._repr_html_().count("<tr>") == 11
    assert "tumour " * 12 not in many._repr_html_()


def test_a_missing_pandas_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependency, match="pip install pandas"):
        readings().to_pandas()


@pytest.fixture(scope="module")
def agreement(tmp_path_factory: pytest.TempPathFactory) -> Agreement:
    sheet = tmp_path_factory.mktemp("sheet") / "sheet.csv"
    rows = [("a b c d", 5), ("a b c x", 3), ("a x y z", 1), ("x y z w", 0)]
    lines = [f"{n},a b c d,{text},{rating}" for n, (text, rating) in enumerate(rows)]
    sheet.write_text("\n".join(["id,reference,candidate,rating", *lines]), "utf-8")
    return agree(sheet, metrics="rouge_l,chrf", resamples=20, permutations=20)


def test_an_agreement_has_a_row_for_each_metric(agreement: Agreement) -> None:
    assert [row.metric for row in agreement] == ["rouge_l", "chrf"]
    assert len(agreement) == 2
    assert agreement["chrf"].n == 4
    frame = agreement.to_polars()
    assert frame["metric"].to_list() == ["rouge_l", "chrf"]
    assert frame.schema["pearson"] == polars.Float64
    assert repr(agreement).startswith("<Agreement with rating on 4 pairs of sheet.csv; spearman: ")
    assert "<td>rouge_l</td>" in agreement._repr_html_()
    assert agreement.summary == agreement.to_dict()


def test_a_comparison_has_a_row_for_each_system(tmp_path: Path) -> None:
    records = [{"id": n, "reference": "a b c", "good": "a b c", "bad": "a x y"} for n in range(4)]
    score(records, metrics="rouge_l", candidate=("good", "bad"), output=tmp_path)
    found = compare([tmp_path], resamples=20, permutations=20)
    assert [row.system for row in found] == ["good", "bad"]
    assert found["good"].mean.value == 1.0
    assert found.to_dicts()[0] == {
        "system": "good",
        "rank": 1,
        "mean": 1.0,
        "mean.low": 1.0,
        "mean.high": 1.0,
        "left_out": 0,
    }
    assert repr(found).startswith("<Comparison by rouge_l on 4 pairs: 1. good, ")
    assert found.summary["metric"] == "rouge_l"


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
def test_refusals(arguments: dict[str, Any], error: type[Exception], says: str) -> None:
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
