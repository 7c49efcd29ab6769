"""Verdicts on claims and on a report, from the organ of the specimen and from limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from histoeval.pathgls.grounding.behaviour import (
    DENIED_IN_VAIN,
    SpecimenBehaviour,
    behaviour_reason,
)
from histoeval.pathgls.grounding.claims import Claims
from histoeval.pathgls.grounding.decisions import (
    ClaimLimits,
    Decisions,
    Judgement,
    Limits,
    OrganMargin,
    OrganScores,
    alike,
    organ_scores,
    organs_named,
)
from histoeval.pathgls.grounding.decoys import calibrated
from histoeval.pathgls.grounding.encoder import ImageTextEncoder, Vectors
from histoeval.pathgls.results import CancerCheck, Claim, GroundingVerdict, OrganSeen, Support
from histoeval.report import EntityType
from histoeval.terms.sites import find_places

UNSUPPORTED = 0.49
"""What a lesion without an organ, or a report that is not supported, is worth at most."""
_HALF = 0.5


def gated(value: float, organ: float) -> float:
    """The value of a claim: its own where its organ is supported, else no more than that has."""
    return value if organ >= _HALF else min(value, organ)


def judge_organ(margin: OrganMargin, limits: Limits) -> Judgement:
    """An organ that stands so far above all that are unlike it."""
    own = limits[EntityType.SITE]
    verdict = own.verdict(margin.plain)
    if verdict == "supported":
        verdict = own.verdict(margin.less)
        verdict = "not_known" if verdict == "contradicted" else verdict
    return Judgement(calibrated(margin.less, own), verdict)


def weighed(value: float, behaviour: float) -> float:
    """The value of a claim: its own where its behaviour is likely, else less in proportion."""
    return value * min(1.0, behaviour / _HALF)


def judge_lesion(
    stands: float,
    limits: ClaimLimits,
    organs: Sequence[Judgement],
    behaviour: Judgement | None = None,
) -> Judgement:
    """A diagnosis or finding that stands so far above decoys, in a report that names some organs.

    It is worth no more than the least likely of these. Without any it may be of anybody: nothing
    supports it, and it is worth less than one half. Nor is it supported where the image looks too
    little like the behaviour that it has, if that was judged.
    """
    value, verdict = calibrated(stands, limits), limits.verdict(stands)
    if not organs:
        return Judgement(
            min(value, UNSUPPORTED), "not_known" if verdict == "supported" else verdict
        )
    organ = min(organs, key=lambda each: each.value)
    value = gated(value, organ.value)
    verdict = verdict if organ.verdict == "supported" else organ.verdict
    if behaviour is None:
        return Judgement(value, verdict)
    value = weighed(value, behaviour.value)
    if behaviour.verdict == "contradicted":
        return Judgement(value, "contradicted")
    return Judgement(value, "not_known" if verdict == "supported" and value < _HALF else verdict)


def judge_report(
    sites: Sequence[Judgement],
    lesions: Sequence[Judgement | None],
    whole: Judgement | None,
    specimens: Sequence[Judgement],
    *,
    is_confirmed: bool,
) -> GroundingVerdict:
    """A report, by its claims, by all organs that it names together, and by each of them.

    A lesion that the encoder does not know is None. The organ alone supports no report: one of the
    lesions must be supported, and a report that names no malignancy must be confirmed as benign.
    """
    claims = [*sites, *(each for each in lesions if each is not None)]
    verdicts = [each.verdict for each in claims]
    if "contradicted" in verdicts or (whole is not None and whole.verdict == "contradicted"):
        return "contradicted"
    if whole is None or not is_confirmed or any(each.verdict != "supported" for each in specimens):
        return "not_known"
    value = sum(each.value for each in claims) / max(1, len(claims))
    decisive = [each and each.verdict for each in lesions]
    return "supported" if value >= _HALF and "supported" in decisive else "not_known"


UNVALIDATED = (
    "the encoder was never validated: measure it on labelled tiles with "
    "`histoeval evaluate grounding --calibration FILE`"
)
NO_ORGAN = "the report names no organ that would tie it to this tissue"


def unknown_support(claim: Claim, reason: str, limits: Decisions | None) -> Support:
    """A claim of which an encoder can say nothing."""
    verdict: GroundingVerdict | None = None if limits is None else "not_known"
    return Support(claim=claim, unknown=reason, verdict=verdict, why=reason)


class NamedPlace(NamedTuple):
    """A place that a report names, and the organs there that an encoder can tell."""

    phrase: str
    organs: frozenset[str]


@dataclass(frozen=True, slots=True)
class SpecimenOrgan:
    """What the organ of the specimen means for the claims of a report."""

    scores: OrganScores
    limits: Limits
    specimens: tuple[NamedPlace, ...]
    behaviour: SpecimenBehaviour

    @classmethod
    def of(
        cls, vectors: Vectors, encoder: ImageTextEncoder, decisions: Decisions, claims: Claims
    ) -> Self:
        """Decide over all patches of an image."""
        specimens = tuple(_specimens(claims, decisions.organs))
        return cls(
            organ_scores(vectors, encoder, decisions.organs, decisions.handicaps),
            decisions.limits(len(vectors)),
            specimens,
            SpecimenBehaviour.of(
                vectors,
                encoder,
                decisions.behaviour_limits(len(vectors)),
                {organ for each in specimens for organ in each.organs},
                claims,
            ),
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
        place = self._place(claim)
        if place is None and claim.type is EntityType.SITE:
            return f"{claim.phrase} is no organ that could be recognised"
        if place is None and self.specimens and not self.claimed:
            place = self.specimens[0]
        if place is not None and not place.organs:
            return f"the encoder has not been shown to tell the place of {place.phrase} from others"
        if claim.type not in self.limits:
            return f"claims of this kind ({claim.type.value}) were never validated"
        return None

    def _place(self, claim: Claim) -> NamedPlace | None:
        """The place of the report that a claim names."""
        return next((each for each in self.specimens if each.phrase == claim.phrase), None)

    def judged(self, claim: Claim, stands: float, support: Support) -> dict[str, Any]:
        """The value and the verdict of a known claim that stands so far above decoys."""
        place = self._place(claim)
        own = frozenset() if place is None else place.organs
        if claim.type is EntityType.SITE:
            return self._decided_by(own, self._of(own))
        limits = self.limits[claim.type]
        places = {some: self._of(some) for some in (self.claimed, own) if some}
        stated = self.behaviour.of_claim(claim, own or self.claimed)
        found = judge_lesion(stands, limits, [*places.values()], stated)
        if not places and limits.verdict(stands) == "supported":
            return {**found._asdict(), "why": NO_ORGAN, "agreeing": None}
        if places:
            organ = min(places, key=lambda each: places[each].value)
            if _against(stated) and places[organ].verdict != "contradicted":
                return {**found._asdict(), "why": behaviour_reason(claim, "contradicted")}
            if places[organ].verdict != "supported":
                return self._decided_by(organ, found)
        if found.verdict == "not_known" and limits.verdict(stands) == "supported":
            return {**found._asdict(), "why": behaviour_reason(claim, "not_known")}
        why = (
            "stands out from claims of other organs and diseases"
            if found.verdict == "supported"
            else f"the image shows {support.decoy} rather than this"
            if found.verdict == "contradicted"
            else f"stands out too little from other claims, such as {support.decoy}"
        )
        return {**found._asdict(), "why": why}

    def _decided_by(self, organ: frozenset[str], found: Judgement) -> dict[str, Any]:
        """What is said of a claim where its organ decides, with the patches that look like that."""
        agreeing = self.scores.agreeing(organ, self.limits[EntityType.SITE].supported)
        why = self._of_organ(organ, self._of(organ))
        return {**found._asdict(), "why": why, "agreeing": agreeing}

    def of_report(self, supports: Sequence[Support]) -> tuple[GroundingVerdict, str]:
        """What the image says of the whole report."""
        whole = self._of(self.claimed) if self.claimed else None
        places = {some: self._of(some) for each in self.specimens if (some := self._alike(each))}
        sites = [_judgement(each) for each in supports if each.claim.type is EntityType.SITE]
        lesions = [_judgement(each) for each in supports if each.claim.type is not EntityType.SITE]
        known = [each for each in sites if each is not None]
        denial = self.behaviour.of_denial()
        lesions += [] if denial is None else [denial]
        cancer = self.cancer_check()
        is_confirmed = cancer.stated == "malignant" or cancer.verdict == "agrees"
        verdict = judge_report(known, lesions, whole, [*places.values()], is_confirmed=is_confirmed)
        if verdict == "contradicted":
            return verdict, self._against_report(supports, whole, denial)
        if whole is None:
            return verdict, NO_ORGAN
        for organs, found in places.items():
            if found.verdict != "supported":
                return verdict, self._of_organ(organs, found)
        if not is_confirmed:
            return verdict, cancer.why
        if verdict != "supported":
            return (
                verdict,
                "the image shows the organ, but supports too little of what is said of it",
            )
        return verdict, "the image shows the organ and supports what the report claims"

    def _against_report(
        self, supports: Sequence[Support], whole: Judgement | None, denial: Judgement | None
    ) -> str:
        """Why a report is contradicted: by its organ, by what it denies, or by a claim."""
        if whole is not None and _against(whole):
            return self._of_organ(self.claimed, whole)
        if _against(denial):
            return DENIED_IN_VAIN
        against = next(each for each in supports if each.verdict == "contradicted")
        return f"{against.claim.phrase}: {against.why}"

    def cancer_check(self) -> CancerCheck:
        """Whether the image agrees with what the report says, or leaves unsaid, of malignancy."""
        return self.behaviour.cancer_check([each.organs for each in self.specimens])

    def _alike(self, place: NamedPlace) -> frozenset[str]:
        """The organs of the report that are hard to part from those of a place."""
        return frozenset(o for o in self.claimed if any(alike(o, each) for each in place.organs))

    def _of(self, organs: frozenset[str]) -> Judgement:
        """Some organs of the report; an image of another one of them does not contradict these."""
        found = judge_organ(self.scores.margin(organs), self.limits)
        if found.verdict == "contradicted" and organs < self.claimed:
            whole = judge_organ(self.scores.margin(self.claimed), self.limits)
            if whole.verdict == "supported":
                return Judgement(found.value, "not_known")
        return found

    def _of_organ(self, own: frozenset[str], found: Judgement) -> str:
        """The reason for what is said of the organ that is claimed."""
        seen, claimed = self.seen(), " or ".join(sorted(own))
        if found.verdict == "supported":
            return f"the tissue looks like {claimed}"
        if found.verdict == "contradicted":
            return (
                f"the tissue looks like {seen.likeliest} ({seen.share:.0%} of patches), "
                f"not like {claimed}"
            )
        if seen.likeliest in own:
            return f"the tissue looks most like {claimed}, but not clearly enough to say so"
        if seen.likeliest in self.claimed:
            return (
                f"the tissue looks like {seen.likeliest}, which the report names beside {claimed}"
            )
        return (
            f"the tissue does not look enough like {claimed} to say so; "
            f"likeliest is {seen.likeliest} ({seen.share:.0%} of patches)"
        )


def _against(found: Judgement | None) -> bool:
    return found is not None and found.verdict == "contradicted"


def _judgement(support: Support) -> Judgement | None:
    """What was said of a claim that is known."""
    if support.value is None or support.verdict is None:
        return None
    return Judgement(support.value, support.verdict)


def _specimens(claims: Claims, organs: tuple[str, ...]) -> list[NamedPlace]:
    """The places that a report is of, in its order.

    Where diagnoses and specimens are counts more than where a finding is (invasion in the colon),
    and what is named more than where a disease arises: squamous cell carcinoma arises in the lung,
    and a report of the skin is not of the lung for that.
    """
    named = [
        (claim.type, NamedPlace(claim.phrase, some))
        for claim in claims.asserted
        if (some := organs_named(claim.phrase, organs)) is not None
    ]
    said = [(kind, place) for kind, place in named if find_places(place.phrase)]
    held = [(kind, place) for kind, place in said if kind is not EntityType.FINDING]
    return [place for _, place in held or said or named]
