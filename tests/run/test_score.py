"""A run asks every metric about every pair, and no failure of one costs another its score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from histoeval import Metric, Pair, Problem, Score, SettingError, Signature
from histoeval.io.pairs import PairSource, source_of_records
from histoeval.io.results import ResultFolder, ResultRow
from histoeval.metrics.base import MetricBase
from histoeval.run.score import ScoreJob, score_source

Answer = Callable[[Pair], Any]


def length(pair: Pair) -> Score:
    return Score(value=len(pair.candidate), signature=Signature(metric="told"))


@dataclass
class Told(MetricBase):
    """A metric that answers as it is told, and remembers what it was asked."""

    answer: Answer = length
    name: str = "told"
    reason: str | None = None
    asked: list[list[str]] = field(default_factory=list)
    range: tuple[float, float] = (0.0, 1e9)

    def unavailable_reason(self) -> str | None:
        return self.reason

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        self.asked.append([pair.id for pair in pairs])
        return [self.answer(pair) for pair in pairs]


def source(*candidates: str | None) -> PairSource:
    """Pairs with ids from 0; None is a row that cannot be scored."""
    return source_of_records(
        [{"id": n, "reference": "a", "candidate": text} for n, text in enumerate(candidates)]
    )


def run(
    pairs: PairSource, *metrics: Told, **options: Any
) -> tuple[dict[str, Any], dict[str, ResultRow]]:
    found = score_source(pairs, cast(list[Metric], list(metrics)), **options)
    return found.summary, {row.id: row for row in found}


def values(rows: dict[str, ResultRow], metric: str = "told") -> dict[str, float | None]:
    return {
        id_: row.scores[metric].value if metric in row.scores else None for id_, row in rows.items()
    }


def test_an_exception_in_a_metric_is_the_problem_of_that_pair_only() -> None:
    def stumble(pair: Pair) -> Score:
        if pair.candidate == "bad":
            raise ZeroDivisionError("there is nothing to divide by")
        return length(pair)

    summary, rows = run(source("a", "bb", "bad", "dddd"), Told(stumble))
    assert values(rows) == {"0": 1, "1": 2, "2": None, "3": 4}
    message = "ZeroDivisionError: there is nothing to divide by"
    assert rows["2"].errors == (Problem(code="metric_failed", message=message, metric="told"),)
    assert not any(rows[id_].errors for id_ in "013")
    assert summary["metrics"]["told"]["systems"]["candidate"]["coverage"] == 0.75
    assert summary["errors"]["metric_failed"] == {"count": 1, "example": message}


def test_a_metric_that_stumbles_costs_another_metric_nothing() -> None:
    def never(pair: Pair) -> Score:
        raise MemoryError

    _, rows = run(source("a", "bb"), Told(never, "never"), Told())
    assert values(rows) == {"0": 1, "1": 2}
    assert values(rows, "never") == {"0": None, "1": None}


@pytest.mark.parametrize("wrong", [0.5, None, "good"])
def test_an_answer_that_is_no_score_is_a_problem_and_not_silence(wrong: object) -> None:
    _, rows = run(source("a", "b"), Told(lambda pair: wrong if pair.id == "0" else length(pair)))
    assert values(rows) == {"0": None, "1": 1}
    assert [error.code for error in rows["0"].errors] == ["metric_failed"]


def test_a_metric_that_forgets_a_pair_does_not_shift_the_scores_of_others() -> None:
    @dataclass
    class Forgetful(Told):
        def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
            return [length(pair) for pair in pairs if pair.candidate != "forgotten"]

    _, rows = run(source("a", "forgotten", "ccc"), Forgetful())
    assert values(rows) == {"0": 1, "1": None, "2": 3}
    assert rows["1"].errors[0].code == "metric_failed"


def test_a_score_that_is_no_number_is_a_problem() -> None:
    def not_a_number(pair: Pair) -> Score:
        return Score(value=float("nan"), signature=Signature(metric="told"))

    _, rows = run(source("a"), Told(not_a_number))
    assert not rows["0"].scores
    assert rows["0"].errors[0].code == "metric_failed"


def test_a_problem_that_a_metric_reports_is_kept_as_it_is() -> None:
    problem = Problem(code="no_entities", message="nothing was found", metric="told")
    _, rows = run(source("a"), Told(lambda pair: problem))
    assert rows["0"].errors == (problem,)


def test_rows_that_cannot_be_read_keep_their_place_and_are_not_asked_about() -> None:
    metric = Told()
    summary, rows = run(source(None, "bb", None, "dddd", None), metric, batch_size=3)
    assert list(rows) == ["0", "1", "2", "3", "4"]
    assert metric.asked == [["1"], ["3"]]
    assert [row.row for row in rows.values()] == [1, 2, 3, 4, 5]
    assert (summary["rows"], summary["rows_with_errors"], summary["scores"]) == (5, 3, 2)


def test_no_more_pairs_are_handled_together_than_was_said() -> None:
    metric = Told()
    run(source(*"abcdefg"), metric, batch_size=3)
    assert [len(asked) for asked in metric.asked] == [3, 3, 1]


def test_long_texts_are_handled_fewer_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScoreJob, "block_characters", 100)
    metric = Told()
    run(source("x" * 150, "x" * 60, "x" * 60, "x"), metric)
    assert metric.asked == [["0"], ["1", "2"], ["3"]]


def test_a_metric_that_cannot_run_has_coverage_0_beside_one_that_can() -> None:
    blocked = Told(name="blocked", reason="needs a licence")
    summary, rows = run(source("a", "bb"), blocked, Told())
    assert not blocked.asked
    assert values(rows) == {"0": 1, "1": 2}
    assert [error.code for error in rows["0"].errors] == ["metric_unavailable"]
    assert summary["unavailable"] == {"blocked": "needs a licence"}
    found = summary["metrics"]["blocked"]["systems"]["candidate"]
    assert (found["coverage"], found["mean"]) == (0.0, None)


def test_nothing_is_begun_when_no_metric_can_run(tmp_path: Path) -> None:
    folder = ResultFolder(tmp_path / "results")
    with pytest.raises(SettingError, match="told needs a licence"):
        run(source("a"), Told(reason="needs a licence"), store=folder)
    assert not folder.home.exists()


def test_whoever_watches_is_told_how_far_it_has_come() -> None:
    told: list[tuple[int, int, int]] = []
    run(source("a", None, "c"), Told(), batch_size=2, watch=lambda *news: told.append(news))
    assert [(rows, errors) for rows, errors, _ in told] == [(2, 1), (3, 1)]


def test_a_run_that_is_interrupted_keeps_what_it_had_and_goes_on_from_there(
    tmp_path: Path,
) -> None:
    def interrupt(pair: Pair) -> Score:
        if pair.id == "4":
            raise KeyboardInterrupt
        return length(pair)

    folder = ResultFolder(tmp_path)
    pairs = source("a", "bb", "ccc", "dddd", "eeeee", "ffffff")
    with pytest.raises(KeyboardInterrupt):
        run(pairs, Told(interrupt), store=folder, batch_size=2)
    assert [row.id for row in folder] == ["0", "1", "2", "3"]
    assert not folder.summary.exists()
    metric = Told()
    summary, rows = run(pairs, metric, store=folder, batch_size=2)
    assert metric.asked == [["4", "5"]]
    assert values(rows) == {"0": 1, "1": 2, "2": 3, "3": 4, "4": 5, "5": 6}
    assert summary["metrics"]["told"]["systems"]["candidate"]["mean"] == 3.5


def test_the_summary_of_a_run_in_a_folder_is_that_of_one_in_memory(tmp_path: Path) -> None:
    pairs = source("a", None, "ccc")
    in_memory, rows = run(pairs, Told())
    in_folder, same_rows = run(pairs, Told(), store=ResultFolder(tmp_path))
    assert in_folder == in_memory
    assert same_rows == rows == {row.id: row for row in ResultFolder(tmp_path)}
