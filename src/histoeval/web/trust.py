"""Reports of trust runs for people to decide on: a queue, the worst first, and one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from histoeval.errors import HistoEvalError
from histoeval.io.store import read_json
from histoeval.pathgls.fusion import ROUTES
from histoeval.pathgls.policy.policy import Policy
from histoeval.run.history.shelf import StoredRun
from histoeval.run.trust.reasons import policy_of
from histoeval.run.trust.rows import TrustFolder, TrustRow
from histoeval.view.html.trust import kept_texts
from histoeval.view.html.trust_card import Gallery, card, technical_part
from histoeval.view.trust_words import (
    check_meanings,
    verdict_meanings,
    worded_reasons,
    worst_first,
)
from histoeval.web.kept import Kept
from histoeval.web.pages import number_in, page, page_number, without_paths
from histoeval.web.reviews import (
    DECISIONS,
    MAX_COMMENT,
    Decision,
    Review,
    add_review,
    read_reviews,
)
from histoeval.web.security import form_of
from histoeval.web.shelf import Shelf

A_PAGE = 100
"""Reports of the queue on one page."""

WORDS = {"accept": "accepted", "send_back": "sent back", "reopen": "opened again"}


class QueuedReport(NamedTuple):
    """A report of a trust run, and what was decided on it."""

    run: StoredRun
    row: TrustRow
    policy: Policy
    reviews: tuple[Review, ...]

    @property
    def is_open(self) -> bool:
        """Somebody should look at it: not to be deployed, and not decided, or opened again."""
        return self.state == "open"

    @property
    def state(self) -> str:
        """The last decision; without one, or after it was taken back, what the policy left."""
        if self.reviews and self.reviews[-1].decision != "reopen":
            return self.reviews[-1].decision
        return "deploy" if self.row.route == "deploy" else "open"

    @property
    def address(self) -> str:
        """Where it is looked at."""
        return f"/review/{self.run.id}/{self.row.row}"


def routes(shelf: Shelf, kept: Kept) -> list[BaseRoute]:
    """The queue, a report of it, and a decision."""

    def queue(request: Request) -> Response:
        runs = _trust_runs(shelf)
        asked = request.query_params.get("run", "")
        chosen = [run for run in runs if run.id == asked] or runs
        state = request.query_params.get("state", "open")
        found, damaged = _readable(chosen, kept)
        reports = in_order(found)
        in_state = [each for each in reports if state in ("all", each.state)]
        verdict = request.query_params.get("verdict", "")
        listed = [each for each in in_state if verdict in ("", each.row.route)]
        number, pages = page_number(request, len(listed), A_PAGE)
        return page(
            request,
            "serve/queue.html",
            title="Review",
            runs=runs,
            damaged=damaged,
            asked=asked,
            state=state,
            counts=_counts(reports),
            verdict=verdict,
            verdicts=_verdicts(in_state),
            reports=[_line(each) for each in listed[(number - 1) * A_PAGE : number * A_PAGE]],
            number=number,
            pages=pages,
        )

    return [Route("/review", queue), *_report_routes(shelf, kept)]


def _report_routes(shelf: Shelf, kept: Kept) -> list[BaseRoute]:
    def one(request: Request) -> Response:
        run, report = _found(request, shelf, kept)
        reports = in_order(reports_of(run, kept))
        place = reports.index(report)
        just = request.query_params.get("decided")
        text = kept.once(("trust texts", run.stamp), lambda: trust_texts(run))[report.row.row]
        return page(
            request,
            "serve/review.html",
            title=f"Review {report.row.id}",
            scripts=["review.js"],
            styles=["trust.css"],
            run=run,
            report=card(report.row, text, report.policy, Gallery(run.place)),
            technical=technical_part(report.row),
            meaning=verdict_meanings(report.policy)[report.row.route],
            checks=check_meanings(),
            row=report.row,
            reviews=[_said(each) for each in report.reviews],
            decided=next((_line(each) for each in reports if str(each.row.row) == just), None),
            before=reports[place - 1].address if place else None,
            after=reports[place + 1].address if place + 1 < len(reports) else None,
            left=sum(each.is_open for each in reports),
            most=MAX_COMMENT,
        )

    async def decide(request: Request) -> Response:
        names = ("decision", "comment", "reviewer", "confirmed")
        async with form_of(request) as given:
            decision, comment, reviewer, confirmed = (
                str(given.get(name, "")).strip() for name in names
            )
        run, report = await run_in_threadpool(_found, request, shelf, kept)
        if decision not in DECISIONS:
            raise HTTPException(400, "Choose to accept the report or to send it back.")
        if len(comment) > MAX_COMMENT or len(reviewer) > 100:
            raise HTTPException(400, f"A comment has {MAX_COMMENT:,} characters at most.")
        if not reviewer:
            raise HTTPException(400, "Give your name: a decision is somebody's.")
        row = report.row
        if (decision, row.route) == ("accept", "reject") and not (comment and confirmed):
            raise HTTPException(
                400,
                "This report was rejected by the checks. To accept it, say why in the comment and "
                "confirm it below the comment.",
            )
        await run_in_threadpool(
            add_review, run.folder, row.row, row.id, cast(Decision, decision), reviewer, comment
        )
        reports = in_order(reports_of(run, kept))
        following = next((each.address for each in reports if each.is_open), None)
        if following is None or decision == "reopen":
            return RedirectResponse(report.address, 303)
        return RedirectResponse(f"{following}?decided={row.row}", 303)

    return [
        Route("/review/{run}/{row}", one),
        Route("/review/{run}/{row}", decide, methods=["POST"]),
    ]


def reports_of(run: StoredRun, kept: Kept) -> list[QueuedReport]:
    """The reports of a run with what was decided on each."""
    rows = kept.once(("trust rows", run.stamp), lambda: list(TrustFolder(run.place)))
    policy = kept.once(("trust policy", run.stamp), lambda: _policy(run))
    reviews = read_reviews(run.folder)
    return [QueuedReport(run, row, policy, tuple(reviews.get(row.row, ()))) for row in rows]


def _readable(
    runs: Iterable[StoredRun], kept: Kept
) -> tuple[list[QueuedReport], list[tuple[str, str]]]:
    """The reports of all runs that can be read, and what is wrong with the others."""
    found: list[QueuedReport] = []
    damaged = []
    for run in runs:
        try:
            found += reports_of(run, kept)
        except HistoEvalError as error:
            damaged.append((run.name, without_paths(str(error), run.folder)))
    return found, damaged


def _policy(run: StoredRun) -> Policy:
    folder = TrustFolder(run.place)
    return policy_of(read_json(folder.summary, run.place))


def in_order(reports: Iterable[QueuedReport]) -> list[QueuedReport]:
    """The worst first, whatever run they are of."""
    return sorted(reports, key=lambda each: (*worst_first(each.row), each.run.id))


def trust_texts(run: StoredRun) -> dict[int, str | None]:
    """The report of each row; None where the run has not kept them."""
    return {
        row.row: text
        for row, text in zip(TrustFolder(run.place), kept_texts(run.place), strict=False)
    }


def _trust_runs(shelf: Shelf) -> list[StoredRun]:
    return [run for run in shelf.runs() if run.kind == "trust" and run.finished]


def _found(request: Request, shelf: Shelf, kept: Kept) -> tuple[StoredRun, QueuedReport]:
    run = shelf.run(request.path_params["run"], "trust")
    number = number_in(request, "row")
    for each in reports_of(run, kept):
        if each.row.row == number:
            return run, each
    raise HTTPException(404, "There is no such report in this run.")


def _counts(reports: Sequence[QueuedReport]) -> dict[str, int]:
    states = [each.state for each in reports]
    return {name: states.count(name) for name in ("open", "accept", "send_back", "deploy")}


def _verdicts(reports: Sequence[QueuedReport]) -> list[tuple[str, str, int]]:
    """What the queue can be narrowed to: in an address, in words, and how many there are."""
    routes = [each.row.route for each in reports]
    some = [(name, name, routes.count(name)) for name in reversed(ROUTES) if name in routes]
    return [("", "all", len(routes)), *some]


def _line(report: QueuedReport) -> dict[str, Any]:
    row = report.row
    return {
        "address": report.address,
        "id": row.id,
        "run": report.run.name,
        "route": row.route,
        "cancer_checked": row.cancer_check != "not_checked",
        "reasons": [each.words for each in worded_reasons(row, report.policy)],
        "review": _said(report.reviews[-1]) if report.reviews else None,
    }


def _said(review: Review) -> dict[str, Any]:
    when = review.time[:16].replace("T", " ")
    return {**review.model_dump(), "words": WORDS[review.decision], "when": f"{when} UTC"}
