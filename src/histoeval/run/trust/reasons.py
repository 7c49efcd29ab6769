"""Why a report of a finished run was not deployed: every reason, by the policy of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from histoeval.pathgls.fusion import (
    Reason,
    RoutedReport,
    reasons_to_reject,
    reasons_to_review,
)
from histoeval.pathgls.policy.policy import DIMENSIONS, Policy
from histoeval.pathgls.results import Grounding, Logic
from histoeval.run.trust.rows import TrustRow


def policy_of(summary: Mapping[str, Any]) -> Policy:
    """The policy that a run followed, as its summary holds it."""
    content = {key: value for key, value in summary["policy"].items() if key != "hash"}
    return Policy.model_validate(content)


def reasons_of(row: TrustRow, policy: Policy) -> Iterator[Reason]:
    """What kept a report from being deployed, the gravest first; nothing of a deployed one."""
    if row.route == "deploy":
        return
    ask = reasons_to_reject if row.route == "reject" else reasons_to_review
    yield from ask(_routed(row), policy)


def _routed(row: TrustRow) -> RoutedReport:
    """All that the verdict depended on, from what the row keeps."""
    evidence = row.evidence
    seen, logic = evidence.get("grounding"), evidence.get("logic")
    grounding = None if seen is None else Grounding.model_validate(seen)
    return RoutedReport(
        {name: getattr(row, name) for name in DIMENSIONS},
        tuple(name for name in DIMENSIONS if name in evidence["trust"]["missing"]),
        evidence["trust"]["low"],
        evidence["trust"]["high"],
        claims_known=None if grounding is None else grounding.claims_known,
        contradictions=() if logic is None else Logic.model_validate(logic).contradictions,
        image_verdict=None if grounding is None else grounding.verdict,
        cancer=None if grounding is None else grounding.cancer,
    )
