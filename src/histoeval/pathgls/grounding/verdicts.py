"""Verdicts on claims and on a report, from the organ of the specimen and from limits.

The organ is decided first, over all patches; then each lesion; then whether the tissue looks as
benign or malignant as the report says. A patch looks malignant by how much nearer it lies to words
for malignant tissue than to those for benign, anywhere and in the organ of the report. A carcinoma
has benign tissue beside it, so that of many patches the tenth that looks most malignant decides: it
must look malignant where a report says so, and benign where a report says that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from histoeval.pathgls.grounding.claims import Claims, visual
from histoeval.pathgls.grounding.decisions import (
    FEW,
    BehaviourLimits,
    BehaviourSide,
    ClaimLimits,
    Decisions,
    Judgement,
    Limits,
    OrganMargin,
    OrganScores,
    alike,
    organ_scores,
    organs_named,
    top_mean,
)
from histoeval.pathgls.grounding.decoys import calibrated
from histoeval.pathgls.grounding.encoder import ImageTextEncoder, Vectors
from histoeval.pathgls.results import (
    CancerCheck,
    CancerVerdict,
    Claim,
    GroundingVerdict,
    OrganSeen,
    StatedBehaviour,
    Support,
)
from histoeval.report import EntityType
from histoeval.resources import load_toml
from histoeval.terms.assertion import without_denial
from histoeval.terms.catalogue import HARMLESS, Behaviour, diagnosis_tree
from histoeval.terms.naming import main_concept
from histoeval.terms.sites import find_places

# What a lesion without an organ, or a report that is not supported, is worth at most
UNSUPPORTED = 0.49
UNVALIDATED = (
    "the encoder was never validated: measure it on labelled tiles with "
    "`histoeval evaluate grounding --calibration FILE`"
)
NO_ORGAN = "the report names no organ that would tie it to this tissue"
_HALF = 0.5


def judge_organ(margin: OrganMargin, limits: Limits) -> Judgement:
    own = limits[EntityType.SITE]
    verdict = own.verdict(margin.plain)
    if verdict == "supported" and own.verdict(margin.less) != "supported":
        verdict = "not_known"
    return Judgement(calibrated(margin.less, own), verdict)


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
        verdict = "not_known" if verdict == "supported" else verdict
        return Judgement(min(value, UNSUPPORTED), verdict)
    organ = min(organs, key=lambda judgement: judgement.value)
    value = value if organ.value >= _HALF else min(value, organ.value)
    verdict = verdict if organ.verdict == "supported" else organ.verdict
    if behaviour is None:
        return Judgement(value, verdict)
    value *= min(1.0, behaviour.value / _HALF)
    if behaviour.verdict == "contradicted":
        return Judgement(value, "contradicted")
    return Judgement(value, "not_known" if verdict == "supported" and value < _HALF else verdict)


def judge_report(
    sites: Sequence[Judgement],
    lesions: Sequence[Judgement | None],
    whole: Judgement | None,
    specimens: Iterable[Judgement],
    *,
    is_confirmed: bool,
) -> GroundingVerdict:
    """A report, by its claims, by all organs that it names together, and by each of them.

    A lesion that the encoder does not know is None. The organ alone supports no report: one of the
    lesions must be supported, and a report that names no malignancy must be confirmed as benign.
    """
    claims = [*sites, *filter(None, lesions)]
    if any(map(_contradicts, [*claims, whole])):
        return "contradicted"
    if (
        whole is None
        or not is_confirmed
        or any(specimen.verdict != "supported" for specimen in specimens)
    ):
        return "not_known"
    value = sum(claim.value for claim in claims) / max(1, len(claims))
    is_decided = any(lesion and lesion.verdict == "supported" for lesion in lesions)
    return "supported" if value >= _HALF and is_decided else "not_known"


def _contradicts(judgement: Judgement | None) -> bool:
    return judgement is not None and judgement.verdict == "contradicted"


class NamedPlace(NamedTuple):
    phrase: str
    organs: frozenset[str]


@dataclass(frozen=True, slots=True)
class SpecimenVerdicts:
    """Judge the claims of a report by an image, over all of its patches."""

    organs: OrganScores
    limits: Limits
    places: tuple[NamedPlace, ...]  # those that the report is of
    claims: Claims
    # How malignant the image looks, for each organ of the report that has limits for that
    malignancy: Mapping[str, float]
    behaviour_limits: Mapping[str, BehaviourLimits]

    @classmethod
    def of(
        cls, vectors: Vectors, encoder: ImageTextEncoder, decisions: Decisions, claims: Claims
    ) -> Self:
        places = tuple(_places(claims, decisions.organs))
        limits = decisions.behaviour_limits(len(vectors))
        named = {organ for place in places for organ in place.organs}
        return cls(
            organ_scores(vectors, encoder, decisions.organs, decisions.handicaps),
            decisions.limits(len(vectors)),
            places,
            claims,
            {
                organ: malignancy(malignancy_of_patches(vectors, encoder, organ))
                for organ in sorted(named & limits.keys())
            },
            limits,
        )

    @property
    def claimed(self) -> frozenset[str]:
        return frozenset(organ for place in self.places for organ in place.organs)

    def seen(self) -> OrganSeen:
        return self.organs.seen(self.claimed)

    def unknown(self, claim: Claim) -> str | None:
        """Reason why the place of a claim cannot be told; None if it can, or if none is named."""
        place = self._place(claim)
        if place is None and claim.type is EntityType.SITE:
            return f"{claim.phrase} is no organ that could be recognised"
        if place is None and self.places and not self.claimed:
            place = self.places[0]
        if place is not None and not place.organs:
            return f"the encoder has not been shown to tell the place of {place.phrase} from others"
        if claim.type not in self.limits:
            return f"claims of this kind ({claim.type.value}) were never validated"
        return None

    def judged(self, support: Support, stands: float) -> Support:
        claim, place = support.claim, self._place(support.claim)
        own = frozenset() if place is None else place.organs
        if claim.type is EntityType.SITE:
            return self._decided_by_organ(support, self._organ(own), own)
        limits = self.limits[claim.type]
        judgements = {organs: self._organ(organs) for organs in (self.claimed, own) if organs}
        behaviour = self._behaviour_of(claim, own or self.claimed)
        judgement = judge_lesion(stands, limits, [*judgements.values()], behaviour)
        stands_out = limits.verdict(stands) == "supported"
        weakest = min(judgements, key=lambda organs: judgements[organs].value, default=None)
        organ = "supported" if weakest is None else judgements[weakest].verdict
        if weakest is None and stands_out:
            update = {**judgement._asdict(), "why": NO_ORGAN, "agreeing": None}
            return support.model_copy(update=update)
        if weakest is not None and _contradicts(behaviour) and organ != "contradicted":
            reason = behaviour_reason(claim, "contradicted")
        elif weakest is not None and organ != "supported":
            return self._decided_by_organ(support, judgement, weakest)
        elif judgement.verdict == "not_known" and stands_out:
            reason = behaviour_reason(claim, "not_known")
        elif judgement.verdict == "supported":
            reason = "stands out from claims of other organs and diseases"
        elif judgement.verdict == "contradicted":
            reason = f"the image shows {support.decoy} rather than this"
        else:
            reason = f"stands out too little from other claims, such as {support.decoy}"
        return support.model_copy(update={**judgement._asdict(), "why": reason})

    def denial(self) -> Judgement | None:
        """Judge a statement that there is no malignancy; None where the report makes none."""
        is_denied = denies_malignancy(self.claims)
        return self._behaviour("benign", self.malignancy) if is_denied else None

    def cancer_check(self) -> CancerCheck:
        """Agreement of image and report on malignancy, in every place that the report names."""
        stated, organs = stated_behaviour(self.claims), sorted(self.claimed)

        def check(verdict: CancerVerdict, reason: str) -> CancerCheck:
            return CancerCheck(stated=stated, verdict=verdict, why=reason)

        unchecked = [organ for organ in organs if organ not in self.malignancy]
        if unchecked or not organs or not all(place.organs for place in self.places):
            tissue = " and ".join(unchecked) or "the tissue that the report names"
            reason = f"the encoder cannot tell benign from malignant in {tissue}"
            return check("not_checked", reason)
        if stated == "nothing":
            return check("undecided", "the report states no diagnosis")
        if stated == "open":
            return check("undecided", "the report leaves open whether the tissue is malignant")
        malignancy, limits = self.malignancy, self.behaviour_limits
        judged = [judge_behaviour(malignancy[organ], stated, limits[organ]) for organ in organs]
        verdicts = {judgement.verdict for judgement in judged}
        if verdicts == {"supported"}:
            return check("agrees", f"the tissue looks {stated}, as the report says")
        if "contradicted" in verdicts:
            return check("disagrees", f"the tissue does not look {stated}, as the report says")
        reason = f"the report says {stated}, and the tissue does not clearly look it"
        return check("undecided", reason)

    def of_report(self, supports: Sequence[Support]) -> tuple[GroundingVerdict, str]:
        report_judgement = self._organ(self.claimed) if self.claimed else None
        # Organs that are hard to part are judged together: the colon is seen with its appendix.
        organ_groups = (
            frozenset(
                o
                for o in self.claimed
                if any(alike(o, named_organ) for named_organ in place.organs)
            )
            for place in self.places
        )
        judgements = {organs: self._organ(organs) for organs in organ_groups if organs}
        sites = [
            _judgement(support) for support in supports if support.claim.type is EntityType.SITE
        ]
        lesions = [
            _judgement(support) for support in supports if support.claim.type is not EntityType.SITE
        ]
        if (denial := self.denial()) is not None:
            lesions.append(denial)
        cancer = self.cancer_check()
        is_confirmed = cancer.stated == "malignant" or cancer.verdict == "agrees"
        known_sites = [judgement for judgement in sites if judgement is not None]
        verdict = judge_report(
            known_sites, lesions, report_judgement, judgements.values(), is_confirmed=is_confirmed
        )
        if verdict == "contradicted":
            if report_judgement is not None and _contradicts(report_judgement):
                return verdict, self._organ_reason(self.claimed, report_judgement)
            if _contradicts(denial):
                return verdict, DENIED_IN_VAIN
            opposed = next(support for support in supports if support.verdict == "contradicted")
            return verdict, f"{opposed.claim.phrase}: {opposed.why}"
        if report_judgement is None:
            return verdict, NO_ORGAN
        for organs, judgement in judgements.items():
            if judgement.verdict != "supported":
                return verdict, self._organ_reason(organs, judgement)
        if not is_confirmed:
            return verdict, cancer.why
        if verdict != "supported":
            reason = "the image shows the organ, but supports too little of what is said of it"
            return verdict, reason
        return verdict, "the image shows the organ and supports what the report claims"

    def _place(self, claim: Claim) -> NamedPlace | None:
        return next((place for place in self.places if place.phrase == claim.phrase), None)

    def _organ(self, organs: frozenset[str]) -> Judgement:
        """Some organs of the report; an image of another one of them does not contradict these."""
        judgement = judge_organ(self.organs.margin(organs), self.limits)
        if judgement.verdict == "contradicted" and organs < self.claimed:
            whole = judge_organ(self.organs.margin(self.claimed), self.limits)
            if whole.verdict == "supported":
                return Judgement(judgement.value, "not_known")
        return judgement

    def _decided_by_organ(
        self, support: Support, judgement: Judgement, organs: frozenset[str]
    ) -> Support:
        agreeing = self.organs.agreeing(organs, self.limits[EntityType.SITE].supported)
        reason = self._organ_reason(organs, self._organ(organs))
        update = {**judgement._asdict(), "why": reason, "agreeing": agreeing}
        return support.model_copy(update=update)

    def _organ_reason(self, organs: frozenset[str], judgement: Judgement) -> str:
        organ, claimed = self.seen(), " or ".join(sorted(organs))
        if judgement.verdict == "supported":
            return f"the tissue looks like {claimed}"
        if judgement.verdict == "contradicted":
            return (
                f"the tissue looks like {organ.likeliest} ({organ.share:.0%} of patches), "
                f"not like {claimed}"
            )
        if organ.likeliest in organs:
            return f"the tissue looks most like {claimed}, but not clearly enough to say so"
        if organ.likeliest in self.claimed:
            return (
                f"the tissue looks like {organ.likeliest}, which the report names beside {claimed}"
            )
        return (
            f"the tissue does not look enough like {claimed} to say so; "
            f"likeliest is {organ.likeliest} ({organ.share:.0%} of patches)"
        )

    def _behaviour_of(self, claim: Claim, organs: Iterable[str]) -> Judgement | None:
        """Judge the behaviour of a diagnosis by the image, in some organs.

        Beside a malignant diagnosis a benign one may well be there, and the image may be of either.
        """
        if claim.type is not EntityType.DIAGNOSIS or (side := side_of(claim.phrase)) is None:
            return None
        diagnoses = [
            asserted for asserted in self.claims.asserted if asserted.type is EntityType.DIAGNOSIS
        ]
        sides = {side_of(diagnosis.phrase) for diagnosis in diagnoses} - {None}
        if side == "benign" and "malignant" in sides:
            return None
        judgement = self._behaviour(side, organs)
        if judgement is not None and _contradicts(judgement) and len(sides) > 1:
            return Judgement(judgement.value, "not_known")
        return judgement

    def _behaviour(self, side: BehaviourSide, organs: Iterable[str]) -> Judgement | None:
        """Of several organs the one that speaks for the claim most."""
        judgements = [
            judge_behaviour(self.malignancy[organ], side, self.behaviour_limits[organ])
            for organ in sorted(organs)
            if organ in self.malignancy
        ]
        return max(judgements, key=lambda judgement: judgement.value, default=None)


def _judgement(support: Support) -> Judgement | None:
    if support.value is None or support.verdict is None:
        return None
    return Judgement(support.value, support.verdict)


def _places(claims: Claims, organs: tuple[str, ...]) -> list[NamedPlace]:
    """The places that a report is of, in its order.

    Where diagnoses and specimens are counts more than where a finding is (invasion in the colon),
    and what is named more than where a disease arises: squamous cell carcinoma arises in the lung,
    and a report of the skin is not of the lung for that.
    """
    arising = [
        (claim.type, NamedPlace(claim.phrase, organs_near))
        for claim in claims.asserted
        if (organs_near := organs_named(claim.phrase, organs)) is not None
    ]
    named = [(kind, place) for kind, place in arising if find_places(place.phrase)]
    held = [(kind, place) for kind, place in named if kind is not EntityType.FINDING]
    return [place for _, place in held or named or arising]


# --- benign or malignant --------------------------------------------------------------------------

DENIED_IN_VAIN = "the tissue looks malignant, the report says that there is no malignancy"
_DYSPLASIA = "dysplasia"


def behaviour_wordings(side: BehaviourSide, organ: str | None = None) -> tuple[str, ...]:
    wordings = load_toml("pathgls/grounding/data/phrases.toml")["behaviour"][side]
    if organ is None:
        return tuple(wordings["anywhere"])
    return tuple(wording.format(organ) for wording in wordings["of_organ"])


def malignancy(patches: NDArray[np.float64]) -> float:
    """The malignancy of an image from that of its patches."""
    return float(patches.mean() if len(patches) < FEW else top_mean(patches[None])[0])


def malignancy_of_patches(
    vectors: Vectors, encoder: ImageTextEncoder, organ: str
) -> NDArray[np.float64]:
    def direction(side: BehaviourSide) -> NDArray[np.float64]:
        total = np.zeros(())
        for wordings in (behaviour_wordings(side), behaviour_wordings(side, organ)):
            mean = encoder.texts(wordings).astype(np.float64).mean(axis=0)
            total = total + mean / np.linalg.norm(mean)
        return total

    cosines = vectors.astype(np.float64) @ (direction("malignant") - direction("benign"))
    return np.asarray(np.round(cosines, 8), np.float64)


@lru_cache(maxsize=1 << 12)
def side_of(phrase: str) -> BehaviourSide | None:
    """The side that a diagnosis is on; None where it leaves that open, as dysplasia does."""
    concept = main_concept(phrase)
    if concept is None:
        return None
    if concept.behaviour in HARMLESS:
        return "benign"
    is_malignant = concept.behaviour in (Behaviour.MALIGNANT, Behaviour.IN_SITU)
    if is_malignant and not diagnosis_tree().is_a(concept.id, _DYSPLASIA):
        return "malignant"
    return None


def denies_malignancy(claims: Claims) -> bool:
    """True if a report says that there is no malignancy, and speaks of none otherwise."""
    spoken = (*claims.asserted, *claims.uncertain)
    return _denies_any(claims) and all(side_of(claim.phrase) != "malignant" for claim in spoken)


def _denies_any(claims: Claims) -> bool:
    concepts = (main_concept(visual(without_denial(c.span.text)[0])) for c in claims.denied)
    return any(c and c.generic and c.behaviour is Behaviour.MALIGNANT for c in concepts)


def stated_behaviour(claims: Claims) -> StatedBehaviour:
    """The behaviour that a report gives its tissue: one that names no malignancy says benign."""
    # Findings count where the catalogue has them as diagnoses, as chronic inflammation.
    asserted, denied, uncertain = (
        [
            side_of(claim.phrase)
            for claim in part
            if claim.type is EntityType.DIAGNOSIS
            or (claim.type is EntityType.FINDING and main_concept(claim.phrase) is not None)
        ]
        for part in claims
    )
    if "malignant" in asserted:
        return "open" if _denies_any(claims) else "malignant"
    if None in asserted or any(side != "benign" for side in uncertain):
        return "open"
    return "benign" if asserted or denied else "nothing"


def judge_behaviour(score: float, side: BehaviourSide, limits: BehaviourLimits) -> Judgement:
    own = limits.malignant if side == "malignant" else limits.benign
    towards = score if side == "malignant" else -score
    return Judgement(calibrated(towards, own), own.verdict(towards))


def behaviour_reason(claim: Claim, verdict: GroundingVerdict) -> str:
    side = side_of(claim.phrase)
    opposite = "benign" if side == "malignant" else "malignant"
    if verdict == "contradicted":
        return f"the tissue looks {opposite}, the report says {claim.phrase}"
    return f"the tissue looks {opposite} rather than {side}, but not clearly enough to say so"
