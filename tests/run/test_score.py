"""A run asks every metric about every pair, and no failure of one costs another its score."""

import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval import Metric, SettingError, Signature
from histoeval.errors import TRACEBACK, Problem
from histoeval.io.pairs import PairRow, PairSource, source_of_records
from histoeval.io.results import ResultFolder, ResultRow
from histoeval.metric import Score
from histoeval.metrics.base import MetricBase
from histoeval.report import Pair, PairWithReferences
from histoeval.run import score
from histoeval.run.engines.engine import Block
from histoeval.run.pipeline import answers
from histoeval.run.score import (
    Prefetching,
    ScoreJob,
    ScoreTask,
    read_ahead,
    score_source,
    single_pairs,
    with_references,
)

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
    found = {id_: row.scores.get(metric) for id_, row in rows.items()}
    return {id_: score.value if score else None for id_, score in found.items()}


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


def test_a_run_that_is_interrupted_keeps_what_it_had_and_goes_on_from_there(tmp_path: Path) -> None:
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


PAIR = PairWithReferences(id="a", reference="x", candidate="xy", more_references=("xyz", "xy"))


class Length(MetricBase):
    """By how many letters a reference is longer; it can be asked in advance."""

    name = "length"
    higher_is_better = False
    ahead = 3

    def __init__(self) -> None:
        self.asked: list[str] = []

    def prefetch(self, pairs: Sequence[Pair]) -> None:
        self.asked += [pair.reference for pair in pairs]

    def stop_prefetch(self) -> None:
        self.asked.clear()

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        return [self._answer(pair) for pair in pairs]

    def _answer(self, pair: Pair) -> Score | Problem:
        if not pair.reference.isalpha():
            return Problem("metric_failed", "no letters", metric=self.name)
        value = float(abs(len(pair.reference) - len(pair.candidate)))
        parts = {"first": 1.0, f"of_{pair.reference}": value}
        return Score(value=value, parts=parts, counts=(value, 2.0), signature=self.signature)


def answer(mode: str, pair: Pair) -> Score | Problem:
    (metric,) = with_references([Length()], mode)  # type: ignore[arg-type]
    (found,) = metric.score([pair])
    return found


def test_the_best_brings_its_own_parts_and_counts() -> None:
    best = answer("best", PAIR)
    assert isinstance(best, Score)
    assert (best.value, best.counts) == (0, (0, 2))
    assert dict(best.parts) == {
        "first": 1,
        "of_xy": 0,
        "references_best": 0,
        "references_mean": pytest.approx(2 / 3),
    }
    assert best.evidence["references"]["best"] == 3
    assert [each["value"] for each in best.evidence["references"]["scores"]] == [1, 1, 0]


def test_the_mean_is_over_references_and_parts_over_those_that_have_them() -> None:
    mean = answer("mean", PAIR)
    assert isinstance(mean, Score)
    assert mean.value == mean.counts[0] == pytest.approx(2 / 3)
    assert {name: mean.parts[name] for name in ("first", "of_x", "of_xyz")} == {
        "first": 1,
        "of_x": 1,
        "of_xyz": 1,
    }


def test_one_reference_is_its_own_best_and_mean() -> None:
    pair = Pair(id="a", reference="x", candidate="xy")
    assert single_pairs(pair) == [pair]
    for mode in ("best", "mean"):
        found = answer(mode, pair)
        assert isinstance(found, Score)
        assert (found.value, found.parts["references_best"]) == (1, 1)


def test_a_reference_without_a_score_leaves_the_pair_without_one() -> None:
    pair = PairWithReferences(id="a", reference="x", candidate="xy", more_references=("1",))
    assert isinstance(answer("best", pair), Problem)


def test_metrics_that_prefetch_are_asked_about_every_reference() -> None:
    inner = Length()
    (metric,) = with_references([inner], "best")
    assert isinstance(metric, Prefetching)
    metric.prefetch([PAIR])
    assert inner.asked == ["x", "xyz", "xy"]
    metric.stop_prefetch()
    assert not inner.asked
    assert metric.ahead == 3


def test_it_survives_a_trip_to_another_process_and_signs_its_mode() -> None:
    (metric,) = with_references([Length()], "mean")
    copy = pickle.loads(pickle.dumps(metric))
    assert copy.score([PAIR]) == metric.score([PAIR])
    assert str(copy.signature).startswith("length|references:mean|")
    assert list(with_references([metric], None)) == [metric]


@dataclass
class Waiting:
    """A metric that notes what it was shown."""

    ahead: int
    name: str = "waiting"
    seen: list[str] = field(default_factory=list)
    stopped: bool = False

    def prefetch(self, pairs: Sequence[Pair]) -> None:
        self.seen += [pair.id for pair in pairs]

    def stop_prefetch(self) -> None:
        self.stopped = True


def row(number: int, text: str = "a") -> PairRow:
    pair = Pair(id=str(number), reference=text, candidate=text)
    return PairRow(
        number=number, id=str(number), system="s", pair=pair, problems=(), position=number
    )


def sizes(total: int, each: int) -> Iterator[Block[PairRow]]:
    for first in range(0, total, each):
        yield Block(first, [row(number) for number in range(first, min(total, first + each))])


@given(st.integers(0, 60), st.integers(1, 7), st.integers(1, 30))
def test_blocks_are_shown_before_they_come(total: int, each: int, ahead: int) -> None:
    metric = Waiting(ahead)
    come = 0
    for block in read_ahead(sizes(total, each), [metric]):
        assert [one.number for one in block.rows] == list(range(come, come + len(block.rows)))
        come += len(block.rows)
        assert come <= len(metric.seen) <= come + ahead + each
    assert come == len(metric.seen) == total


def test_where_nobody_waits_nothing_is_held_back() -> None:
    read: list[int] = []

    def blocks() -> Iterator[Block[PairRow]]:
        for number in range(5):
            read.append(number)
            yield Block(number, [row(number)])

    coming = read_ahead(blocks(), [])
    next(coming)
    assert read == [0]


def test_long_texts_are_not_held_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "AHEAD_CHARACTERS", 1000)
    metric = Waiting(500)
    blocks = (Block(n, [row(n, "x" * 300)]) for n in range(50))
    for come, _ in enumerate(read_ahead(blocks, [metric])):
        assert len(metric.seen) <= come + 3


def test_whatever_happens_the_prefetching_is_stopped() -> None:
    metric = Waiting(10)
    task = ScoreTask([cast("Any", metric)], {})

    def interrupted() -> None:
        with task.ahead(sizes(6, 2)) as blocks:
            next(iter(blocks))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(metric.seen) == 6
    assert metric.stopped


def failed(message: str) -> Problem:
    return Problem("metric_failed", message)


def doubled(numbers: Sequence[int]) -> list[int]:
    if 2 in numbers:
        raise MemoryError
    return [2 * number for number in numbers]


def test_a_text_that_takes_too_much_memory_says_so_and_costs_no_other() -> None:
    first, second, third = answers(doubled, [1, 2, 3], failed)
    assert (first, third) == (2, 6)
    assert isinstance(second, Problem)
    assert "not enough memory for this text" in second.message


def test_a_metric_that_wants_to_end_the_process_costs_its_pair_and_no_other() -> None:
    def exits(numbers: Sequence[int]) -> list[int]:
        return doubled(numbers) if 2 not in numbers else sys.exit("no GPU")

    first, second = answers(exits, [1, 2], failed)
    assert (first, second) == (2, failed("SystemExit: no GPU"))


def test_a_failure_is_raised_for_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRACEBACK, "1")
    with pytest.raises(MemoryError):
        answers(doubled, [1, 2, 3], failed)
