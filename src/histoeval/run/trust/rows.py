"""Files of trust: one line per report, written as it is finished.

`DIR/trust.jsonl` has a row for each report, in the order of the input, with `trust.jsonl.meta.json`
beside it, which says what made them; `DIR/summary.json` sums up all rows, and
`DIR/evidence` holds pictures and what each patch says of each claim. The same command resumes a
stopped run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from histoeval.errors import OutputError, Problem
from histoeval.io.store import RowStore
from histoeval.io.writing import remove, write_json, writing_to
from histoeval.pathgls.fusion import (
    Reason,
    Route,
    RoutedReport,
    found_beside,
    reasons_to_reject,
    reasons_to_review,
)
from histoeval.pathgls.policy.policy import DIMENSIONS, Policy
from histoeval.pathgls.results import CancerVerdict, Grounding, Logic, Share
from histoeval.report import Noun

if TYPE_CHECKING:
    from histoeval.pathgls.grounding.embedded_image import EmbeddedImage

ROWS, SUMMARY, EVIDENCE, PAGE = "trust.jsonl", "summary.json", "evidence", "report.html"


class MissingReason(Noun):
    """Why a dimension, or all of a row, is missing."""

    dimension: str | None = None
    code: str
    message: str
    column: str | None = None

    @classmethod
    def of(cls, problem: Problem, dimension: str | None = None) -> MissingReason:
        """A problem, with the dimension that it takes away."""
        return cls(
            dimension=dimension,
            code=problem.code,
            message=problem.message,
            column=problem.column,
        )


class TrustRow(Noun):
    """One report with its dimensions, trust and verdict, and the reasons for what is missing."""

    id: str
    row: int
    grounding: Share | None = None
    logic: Share | None = None
    stability: Share | None = None
    trust: Share | None = None
    route: Route
    cancer_check: CancerVerdict = "not_checked"
    """Whether the image agrees with the report on malignancy; nothing else is deployed."""
    evidence: dict[str, Any] = Field(default_factory=dict)
    errors: tuple[MissingReason, ...] = ()

    def line(self) -> bytes:
        """The row as one line of JSON."""
        content = self.model_dump(mode="json", exclude={"errors"})
        content["errors"] = [
            {"dimension": error.dimension} | error.model_dump(exclude_none=True)
            for error in self.errors
        ]
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


class Verdict(NamedTuple):
    """A row, and what pictures of its evidence can be drawn from."""

    row: TrustRow
    image: Path | None = None
    embedded: EmbeddedImage | None = None
    """As the first encoder sees it."""
    grounding: Grounding | None = None


class TrustFolder(RowStore[TrustRow]):
    """A folder of trust: rows with what made them, summary, pictures of evidence, and a page."""

    def __init__(self, folder: Path) -> None:
        if folder.is_file():
            raise OutputError(f"{folder} is a file; results need a folder")
        super().__init__(folder / ROWS, TrustRow.model_validate_json, verb="trust")
        self.folder = folder
        self.evidence = folder / EVIDENCE
        self.summary = folder / SUMMARY
        self.page = folder / PAGE

    def _prepare(self, request: Mapping[str, Any], *, overwrite: bool) -> None:
        super()._prepare(request, overwrite=overwrite)
        remove(self.summary)
        remove(self.page)

    def _written(self) -> Iterable[Path]:
        kept = [*self.evidence.glob("[0-9]*_*.png"), *self.evidence.glob("[0-9]*_patches.npz")]
        return [*super()._written(), *kept]

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write what all rows come to."""
        super().finish({"rows": summary["rows"]})
        with writing_to(self.folder):
            write_json(self.summary, summary)


def policy_of(summary: Mapping[str, Any]) -> Policy:
    """The policy that a run followed, as its summary holds it."""
    content = {key: value for key, value in summary["policy"].items() if key != "hash"}
    return Policy.model_validate(content)


def reasons_of(row: TrustRow, policy: Policy) -> Iterator[Reason]:
    """What kept a report from being deployed, the gravest first; nothing of a deployed one."""
    if row.route == "deploy":
        return
    evidence = row.evidence
    seen, logic = evidence.get("grounding"), evidence.get("logic")
    report = RoutedReport.of(
        {name: getattr(row, name) for name in DIMENSIONS},
        policy,
        **found_beside(
            None if seen is None else Grounding.model_validate(seen),
            None if logic is None else Logic.model_validate(logic),
        ),
    )
    ask = reasons_to_reject if row.route == "reject" else reasons_to_review
    yield from ask(report, policy)
