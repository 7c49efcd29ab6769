"""The judge's reasons beside the offline rubric, pair by pair, the largest differences first."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from histoeval.concordance.rubric import CRITERIA
from histoeval.io.finished_run import has_texts, read_texts
from histoeval.io.results import MetricResult, ResultRow, read_rows
from histoeval.run.history import StoredRun
from histoeval.web.pages import page, page_number
from histoeval.web.run_index import RunIndex
from histoeval.web.score import Scorer

RUBRIC = "rubric_offline"
A_PAGE = 10


class JudgedPair(NamedTuple):
    row: ResultRow
    place: int  # of the row in the run, from 1
    judge: MetricResult
    rubric: MetricResult | None

    @property
    def gap(self) -> float:
        """The distance of judge and rubric; 0 if unknown."""
        return 0.0 if self.rubric is None else abs(self.judge.value - self.rubric.value)

    @property
    def reasons(self) -> list[tuple[str, str]]:
        """The reasons of each judge; repeated answers are numbered."""
        evidence, reasons = self.judge.evidence, []
        for answer in evidence.get("answers") or [{"reasoning": evidence.get("reasoning", "")}]:
            name = str(answer.get("judge", "")).rpartition("@")[0]
            again = f", repeat {answer['repeat'] + 1}" if answer.get("repeat") else ""
            swapped = ", candidate shown first" if answer.get("order", "usual") != "usual" else ""
            reasons.append((f"{name}{again}{swapped}", str(answer.get("reasoning", ""))))
        return reasons


def routes(run_index: RunIndex, scorer: Scorer) -> list[BaseRoute]:
    def reasons(request: Request) -> Response:
        run = run_index.run(request.path_params["run"], "judge")
        metric, pairs = run_index.results.once(("judged", run.stamp), lambda: judged_pairs(run))
        number, pages = page_number(request, len(pairs), A_PAGE)
        shown = pairs[(number - 1) * A_PAGE : number * A_PAGE]
        return page(
            request,
            "serve/reasons.html",
            title=f"The judge's reasons: {run.name}",
            run=run,
            metric=metric,
            pairs=list(_with_rubric(run, shown, run_index, scorer)),
            most=CRITERIA,
            total=len(pairs),
            number=number,
            pages=pages,
        )

    return [Route("/runs/{run}/reasons", reasons)]


def judged_pairs(run: StoredRun) -> tuple[str, list[JudgedPair]]:
    metric, pairs = "", []
    for position, row in enumerate(read_rows(run.place), start=1):
        if names := [name for name in row.scores if name.startswith("judge")]:
            metric = names[-1]  # the panel comes after its judges
            pairs.append(JudgedPair(row, position, row.scores[metric], row.scores.get(RUBRIC)))
    return metric, sorted(pairs, key=lambda pair: (-pair.gap, pair.judge.value, pair.place))


def _with_rubric(
    run: StoredRun, pairs: Sequence[JudgedPair], run_index: RunIndex, scorer: Scorer
) -> Iterator[JudgedPair]:
    """Compute the rubric where the run has none, from its texts."""
    missing = {pair.place for pair in pairs if pair.rubric is None}
    texts: dict[int, Mapping[str, Any]] = {}
    if missing and has_texts(run.place):
        texts = {
            n: texts_of_row
            for n, texts_of_row in enumerate(read_texts(run.place), 1)
            if n in missing
        }

    def rubric(reference: str, candidate: str) -> MetricResult | None:
        result = scorer.score(reference, candidate)["scores"].get(RUBRIC)
        return None if result is None else MetricResult(**result)

    for pair in pairs:
        both = texts.get(pair.place, {})
        reference, candidate = both.get("reference"), both.get("candidate")
        if reference and candidate:
            make = partial(rubric, reference, candidate)
            result = run_index.results.once(("rubric", run.stamp, pair.place), make)
            yield pair._replace(rubric=result)
        else:
            yield pair
