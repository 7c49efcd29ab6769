"""Verdicts on claims and on a report, from the organ of the specimen and from limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from histoeval.pathgls.grounding.claims import Claims
from histoeval.pathgls.grounding.decisions import (
    Decisions,
    Limits,
    OrganScores,
    organ_scores,
    organs_named,
)
from histoeval.pathgls.grounding.decoys import calibrated
from histoeval.pathgls.grounding.encoder import ImageTextEncoder, Vectors
from histoeval.pathgls.results import Claim, GroundingVerdict, OrganSeen, Support
from histoeval.report import EntityType
from histoeval.terms.sites import find_sites

UNVALIDATED = (
    "the encoder was never validated: measure it on labelled tiles with "
    "`histoeval evaluate grounding --calibration FILE`"
)
_HALF = 0.5


def unknown_support(claim: Claim, reason: str, limits: Decisions | None) -> Support:
    """A claim of which an encoder can say nothing."""
    verdict: GroundingVerdict | None = None if limits is None else "not_known"
    return Support(claim=claim, unknown=reason, verdict=verdict, why=reason)


def gated(value: float, organ: float) -> float:
    """The value of a claim: its own where its organ is supported, else no more than that has."""
    return value if organ >= _HALF else min(value, organ)


@dataclass(frozen=True, slots=True)
class SpecimenOrgan:
    """What the organ of the specimen means for the claims of a report."""

    scores: OrganScores
    limits: Limits
    patches: int
    specimens: tuple["_Specimen", ...]

    @classmethod
    def of(
        cls, vectors: Vectors, encoder: ImageTextEncoder, decisions: Decisions, claims: Claims
    ) -> Self:
        """Decide over all patches of an image."""
        return cls(
            organ_scores(vectors, encoder, decisions.organs),
            decisions.limits(len(vectors)),
            len(vectors),
            tuple(_specimens(claims, decisions.organs)),
        )

    @property
    def claimed(self) -> frozenset[str]:
        """The organs that the report names, as far as the encoder can tell them."""
        return frozenset(organ for each in self.specimens for organ in each.organs)

    def seen(self) -> OrganSeen:
        """The organ that the image looks like."""
        return self.scores.seen(self.claimed)

    def unknown(self, claim: Claim) -> str | None:
        """Why the place of a claim cannot be told; None where it can, or where none is named."""
        named = organs_named(claim.phrase, self.scores.organs)
        if named is None and claim.type is EntityType.SITE:
            return f"{claim.phrase} is no organ that could be recognised"
        if named is not None and not named:
            return f"the encoder has not been shown to tell the place of {claim.phrase} from others"
        if self.specimens and not self.claimed:
            place = self.specimens[0].phrase
            return f"the encoder has not been shown to tell the place of {place} from others"
        if claim.type not in self.limits:
            return f"claims of this kind ({claim.type.value}) were never validated"
        return None

    def judged(self, claim: Claim, stands: float, support: Support) -> dict[str, Any]:
        """The value and the verdict of a known claim that stands so far above decoys."""
        own = organs_named(claim.phrase, self.scores.organs) or frozenset()
        limits = self.limits[claim.type]
        if claim.type is EntityType.SITE:
            value, verdict, why = self._of_organ(own)
            agreeing = sum(
                round(share * self.patches)
                for organ, share in zip(self.scores.organs, self.scores.shares, strict=True)
                if organ in own
            )
            return {"value": value, "verdict": verdict, "why": why, "agreeing": agreeing}
        value, verdict = calibrated(stands, limits.curve), limits.verdict(stands)
        why = (
            "stands out from claims of other organs and diseases"
            if verdict == "supported"
            else f"the image shows {support.decoy} rather than this"
            if verdict == "contradicted"
            else f"stands out too little from other claims, such as {support.decoy}"
        )
        places = [self._of_organ(some) for some in (self.claimed, own) if some]
        if places:
            organ_value, organ_verdict, organ_why = min(places, key=lambda place: place[0])
            value = gated(value, organ_value)
            if organ_verdict != "supported":
                verdict, why = organ_verdict, organ_why
        return {"value": value, "verdict": verdict, "why": why}

    def of_report(self, value: float, supports: Sequence[Support]) -> tuple[GroundingVerdict, str]:
        """What the image says of the whole report."""
        against = [each for each in supports if each.verdict == "contradicted"]
        if self.claimed:
            _, organ, why = self._of_organ(self.claimed)
            if organ == "contradicted":
                return organ, why
        if against:
            return "contradicted", f"{against[0].claim.phrase}: {against[0].why}"
        if not self.claimed:
            return "not_known", "the report names no organ that would tie it to this tissue"
        for each in self.specimens:
            if each.organs:
                _, organ, why = self._of_organ(each.organs)
                if organ != "supported":
                    return "not_known", why
        if value < _HALF or not any(each.verdict == "supported" for each in supports):
            return "not_known", "the image supports too little of what the report claims"
        return "supported", "the image shows the organ and supports what the report claims"

    def _of_organ(self, own: frozenset[str]) -> tuple[float, GroundingVerdict, str]:
        """Value, verdict and reason of the organ that is claimed."""
        margin, limits = self.scores.margin(own), self.limits[EntityType.SITE]
        verdict, seen = limits.verdict(margin), self.seen()
        claimed = " or ".join(sorted(own))
        why = (
            f"the tissue looks like {claimed}"
            if verdict == "supported"
            else f"the tissue looks like {seen.likeliest} ({seen.share:.0%} of patches), "
            f"not like {claimed}"
            if verdict == "contradicted"
            else f"the tissue does not look enough like {claimed} to say so; "
            f"likeliest is {seen.likeliest} ({seen.share:.0%} of patches)"
        )
        return calibrated(margin, limits.curve), verdict, why


class _Specimen(NamedTuple):
    """The place that a claim of a report names, and the organs there that an encoder can tell."""

    phrase: str
    organs: frozenset[str]


def _specimens(claims: Claims, organs: tuple[str, ...]) -> list[_Specimen]:
    """The places that a report is of, in its order.

    What it names counts more than where a disease arises: squamous cell carcinoma arises in the
    lung, and a report of the skin is not of the lung for that.
    """
    named = [
        _Specimen(claim.phrase, some)
        for claim in claims.asserted
        if (some := organs_named(claim.phrase, organs)) is not None
    ]
    return [each for each in named if find_sites(each.phrase)] or named
