"""Reports of trust runs for people to decide on: a queue, the worst first, and one at a time.

`DIR/reviews.jsonl` has a line for each decision; the last one on a report counts, and those before
it stay.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple, cast, get_args

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from histoeval.errors import HistoEvalError
from histoeval.io.row_files import drop_half_line
from histoeval.io.store import read_json
from histoeval.io.writing import writing_to
from histoeval.pathgls.fusion import ROUTES
from histoeval.pathgls.policy.policy import Policy
from histoeval.report import Noun
from histoeval.run.history import StoredRun
from histoeval.run.trust.rows import TrustFolder, TrustRow, policy_of
from histoeval.table import html_table
from histoeval.view.html.trust import Gallery, card, kept_texts, technical_tables
from histoeval.view.trust_words import check_meanings, verdict_meanings, worded_reasons, worst_first
from histoeval.web.append_only import append_durably, read_json_lines
from histoeval.web.pages import number_in, page, page_number, without_paths
from histoeval.web.run_index import RunIndex
from histoeval.web.security import form_of

REVIEWS = "reviews.jsonl"
MAX_COMMENT = 4_000

Decision = Literal["accept", "send_back", "reopen"]
DECISIONS: tuple[str, ...] = get_args(Decision)

_lock = Lock()

A_PAGE = 100  # reports of the queue on one page


class Review(Noun):
    row: int
    id: str
    decision: Decision
    comment: str = ""
    reviewer: str = ""
    time: str

    @property
    def words(self) -> str:
        return {"accept": "accepted", "send_back": "sent back", "reopen": "opened again"}[
            self.decision
        ]

    @property
    def when(self) -> str:
        return f"{self.time[:16].replace('T', ' ')} UTC"


def add_review(
    folder: Path, row: int, name: str, decision: Decision, reviewer: str, comment: str = ""
) -> Review:
    """Write a decision; when this returns, it is on the disk."""
    review = Review(
        row=row,
        id=name,
        decision=decision,
        comment=comment,
        reviewer=reviewer,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    line = json.dumps(review.model_dump(mode="json"), ensure_ascii=False)
    path = folder / REVIEWS
    with _lock, writing_to(folder):
        if path.exists():
            drop_half_line(path)
        append_durably(path, f"{line}\n".encode("utf-8", "backslashreplace"))
    return review


def read_reviews(folder: Path) -> dict[int, list[Review]]:
    """Read all decisions by row, the last one last; half a line at the end is ignored."""
    reviews: dict[int, list[Review]] = {}
    damage = "is no review; mend it or move the file away"
    for review in read_json_lines(folder / REVIEWS, Review, damage):
        reviews.setdefault(review.row, []).append(review)
    return reviews


class QueuedReport(NamedTuple):
    run: StoredRun
    row: TrustRow
    policy: Policy
    reviews: tuple[Review, ...]

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @property
    def state(self) -> str:
        """The last decision; without one, or after it was taken back, the state by policy."""
        if self.reviews and self.reviews[-1].decision != "reopen":
            return self.reviews[-1].decision
        return "deploy" if self.row.route == "deploy" else "open"

    @property
    def address(self) -> str:
        return f"/review/{self.run.id}/{self.row.row}"

    @property
    def reasons(self) -> list[str]:
        return [reason.words for reason in worded_reasons(self.row, self.policy)]


def routes(run_index: RunIndex) -> list[BaseRoute]:
    def queue(request: Request) -> Response:
        runs = [run for run in run_index.runs() if run.kind == "trust" and run.finished]
        query = request.query_params
        run_id, state, verdict = (
            query.get("run", ""),
            query.get("state", "open"),
            query.get("verdict", ""),
        )
        readable: list[QueuedReport] = []
        damaged = []
        for run in [run for run in runs if run.id == run_id] or runs:
            try:
                readable += reports_of(run, run_index)
            except HistoEvalError as error:
                damaged.append((run.name, without_paths(str(error), run.folder)))
        reports = in_order(readable)
        states = [report.state for report in reports]
        in_state = [report for report in reports if state in ("all", report.state)]
        routes = [report.row.route for report in in_state]
        listed = [report for report in in_state if verdict in ("", report.row.route)]
        number, pages = page_number(request, len(listed), A_PAGE)
        return page(
            request,
            "serve/queue.html",
            title="Review",
            runs=runs,
            damaged=damaged,
            asked=run_id,
            state=state,
            counts={name: states.count(name) for name in ("open", "accept", "send_back", "deploy")},
            verdict=verdict,
            verdicts=[
                ("", "all", len(routes)),
                *((name, name, routes.count(name)) for name in reversed(ROUTES) if name in routes),
            ],
            reports=listed[(number - 1) * A_PAGE : number * A_PAGE],
            number=number,
            pages=pages,
        )

    def report_page(request: Request) -> Response:
        run, report = _asked_for(request, run_index)
        reports = in_order(reports_of(run, run_index))
        position = reports.index(report)
        just = request.query_params.get("decided")
        texts: dict[int, str | None] = run_index.results.once(
            ("trust texts", run.stamp),
            lambda: {
                row.row: text
                for row, text in zip(TrustFolder(run.place), kept_texts(run.place), strict=False)
            },
        )
        return page(
            request,
            "serve/review.html",
            title=f"Review {report.row.id}",
            scripts=["review.js"],
            styles=["trust.css"],
            run=run,
            report=card(report.row, texts[report.row.row], report.policy, Gallery(run.place)),
            technical=[*map(html_table, technical_tables([report.row]))],
            meaning=verdict_meanings(report.policy)[report.row.route],
            checks=check_meanings(),
            row=report.row,
            reviews=report.reviews,
            decided=next((queued for queued in reports if str(queued.row.row) == just), None),
            before=reports[position - 1].address if position else None,
            after=reports[position + 1].address if position + 1 < len(reports) else None,
            left=sum(queued.is_open for queued in reports),
            most=MAX_COMMENT,
        )

    async def decide(request: Request) -> Response:
        names = ("decision", "comment", "reviewer", "confirmed")
        async with form_of(request) as form:
            decision, comment, reviewer, confirmed = (
                str(form.get(name, "")).strip() for name in names
            )
        run, report = await run_in_threadpool(_asked_for, request, run_index)
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
        reports = in_order(reports_of(run, run_index))
        following = next((queued.address for queued in reports if queued.is_open), None)
        if following is None or decision == "reopen":
            return RedirectResponse(report.address, 303)
        return RedirectResponse(f"{following}?decided={row.row}", 303)

    return [
        Route("/review", queue),
        Route("/review/{run}/{row}", report_page),
        Route("/review/{run}/{row}", decide, methods=["POST"]),
    ]


def reports_of(run: StoredRun, run_index: RunIndex) -> list[QueuedReport]:
    folder = TrustFolder(run.place)
    rows = run_index.results.once(("trust rows", run.stamp), lambda: list(folder))
    policy = run_index.results.once(
        ("trust policy", run.stamp), lambda: policy_of(read_json(folder.summary, run.place))
    )
    reviews = read_reviews(run.folder)
    return [QueuedReport(run, row, policy, tuple(reviews.get(row.row, ()))) for row in rows]


def in_order(reports: Iterable[QueuedReport]) -> list[QueuedReport]:
    return sorted(reports, key=lambda queued: (*worst_first(queued.row), queued.run.id))


def _asked_for(request: Request, run_index: RunIndex) -> tuple[StoredRun, QueuedReport]:
    run = run_index.run(request.path_params["run"], "trust")
    number = number_in(request, "row")
    for report in reports_of(run, run_index):
        if report.row.row == number:
            return run, report
    raise HTTPException(404, "There is no such report in this run.")
