"""A case beside its slide: the claims of its report with their verdicts and places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from histoeval.pathgls.policy.policy import Policy
from histoeval.pathgls.results import Claim, Grounding, GroundingVerdict, Spot
from histoeval.run.trust.patch_scores import PatchScores
from histoeval.run.trust.rows import TrustRow
from histoeval.view.figures.evidence import COLOURS, MIN_PATCHES
from histoeval.view.highlight import HighlightSpan, html
from histoeval.view.image_evidence import (
    ClaimEvidence,
    claims_seen,
    grounding_of,
    organ_words,
    verdict_words,
)
from histoeval.view.trust_words import missing_words, plain_why, worded_reasons

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_CHARS = 20_000
"""Characters of a report that are shown."""

KINDS: Mapping[GroundingVerdict | None, str] = {
    "supported": "supported",
    "contradicted": "refuted",
}
"""The CSS class of a claim by its verdict; all others are unknown."""

SIGNS = {"supported": "✓", "refuted": "✕", "unknown": "?"}
"""Beside the words of a verdict."""

NO_SCORES = (
    "This run has kept no scores of single tiles. Runs that are made now keep them: run "
    "`histoeval trust` again for a heatmap."
)
FEW_PATCHES = "The image is too small for a heatmap: it has only {} tiles with tissue."


def slide_case(
    row: TrustRow,
    report: str | None,
    scores: PatchScores | None,
    policy: Policy | None,
) -> dict[str, Any]:
    """What the page of a slide shows of a case; a run that is not finished has no policy yet."""
    grounding = grounding_of(row.evidence)
    claims = [] if grounding is None else claims_seen(grounding)
    return {
        "id": row.id,
        "route": row.route,
        "reasons": [] if policy is None else [each.words for each in worded_reasons(row, policy)],
        "image": None if grounding is None else _whole(grounding),
        "missing": [each.words for each in missing_words(row, "grounding")],
        "claims": [_claim(number, seen, scores) for number, seen in enumerate(claims, start=1)],
        "denied": [] if grounding is None else [claim.phrase for claim in grounding.denied],
        "text": None if report is None else _text(report, claims, grounding),
        "heat_problem": _heat_problem(scores),
        "colours": ";".join(",".join(map(str, colour)) for _, colour in COLOURS),
    }


def _whole(grounding: Grounding) -> dict[str, str]:
    """What the image says of the report as a whole."""
    kind = KINDS.get(grounding.verdict, "unknown")
    return {
        "verdict": verdict_words(grounding),
        "kind": kind,
        "sign": SIGNS[kind],
        "why": plain_why(grounding.why),
        "organ": organ_words(grounding.organ),
    }


def _claim(number: int, seen: ClaimEvidence, scores: PatchScores | None) -> dict[str, Any]:
    support = seen.support
    kind = "unknown" if support.unknown is not None else KINDS.get(support.verdict, "unknown")
    return {
        "number": number,
        "phrase": support.claim.phrase,
        "verdict": seen.verdict,
        "kind": kind,
        "sign": SIGNS[kind],
        "why": plain_why(seen.why),
        "agreeing": seen.agreeing,
        "spot": _numbers(support.spot),
        "against": _numbers(seen.against),
        "has_heat": _heat_problem(scores) is None
        and scores is not None
        and scores.shares(number - 1) is not None,
    }


def _heat_problem(scores: PatchScores | None) -> str | None:
    """Why there is no heatmap."""
    if scores is None or not scores.encoder:
        return NO_SCORES
    patches = len(scores.spots)
    return FEW_PATCHES.format(patches) if patches < MIN_PATCHES else None


def _numbers(spot: Spot | None) -> str | None:
    return None if spot is None else f"{spot.x},{spot.y},{spot.width},{spot.height}"


def _text(report: str, claims: list[ClaimEvidence], grounding: Grounding | None) -> Markup:
    """The report with a link behind each claim to its line in the list."""
    from markupsafe import Markup

    spans = [
        _span(seen.support.claim, KINDS.get(seen.support.verdict, "unknown"), str(number))
        for number, seen in enumerate(claims, start=1)
    ]
    spans += [_span(claim, "denied") for claim in (grounding.denied if grounding else ())]
    cut = len(report) - MAX_CHARS
    rest = Markup("<i> … {:,} more characters</i>").format(cut) if cut > 0 else ""
    return html(report[:MAX_CHARS], spans, "claim") + rest


def _span(claim: Claim, kind: str, label: str = "") -> HighlightSpan:
    return HighlightSpan(claim.span.start, claim.span.end, label=label, kind=kind)
