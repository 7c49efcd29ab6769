"""Benign or malignant: what a report states of its tissue, and what the image says of that.

A patch looks malignant by how much nearer it lies to words for malignant tissue than to those for
benign, anywhere and in the organ of the report. A carcinoma has benign tissue beside it, so that of
many patches the tenth that looks most malignant decides: it must look malignant where a report says
so, and benign where a report says that.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from histoeval.pathgls.grounding.claims import Claims, visual
from histoeval.pathgls.grounding.decisions import (
    FEW,
    BehaviourLimits,
    BehaviourSide,
    Judgement,
    top_mean,
)
from histoeval.pathgls.grounding.decoys import calibrated
from histoeval.pathgls.grounding.encoder import ImageTextEncoder, Vectors
from histoeval.pathgls.results import (
    CancerCheck,
    CancerVerdict,
    Claim,
    GroundingVerdict,
    StatedBehaviour,
)
from histoeval.report import EntityType
from histoeval.resources import load_toml
from histoeval.terms.assertion import without_denial
from histoeval.terms.catalogue import HARMLESS, Behaviour, diagnosis_tree
from histoeval.terms.naming import main_concept

DENIED_IN_VAIN = "the tissue looks malignant, the report says that there is no malignancy"
_DYSPLASIA = "dysplasia"


def behaviour_wordings(side: BehaviourSide) -> tuple[str, ...]:
    """What tissue of a side is called, wherever it is."""
    return tuple(_wordings(side)["anywhere"])


def behaviour_wordings_of(side: BehaviourSide, organ: str) -> tuple[str, ...]:
    """What tissue of a side is called in an organ."""
    return tuple(each.format(organ) for each in _wordings(side)["of_organ"])


def _wordings(side: BehaviourSide) -> dict[str, Any]:
    found: dict[str, Any] = load_toml("pathgls/grounding/data/phrases.toml")["behaviour"][side]
    return found


def malignancy(patches: NDArray[np.float64]) -> float:
    """How malignant an image looks, from how malignant each of its patches does."""
    if len(patches) < FEW:
        return float(patches.mean())
    return float(top_mean(patches[None])[0])


def malignancy_of_patches(
    vectors: Vectors, encoder: ImageTextEncoder, organ: str
) -> NDArray[np.float64]:
    """How much more malignant than benign each patch looks, for tissue of an organ."""
    direction = _direction(encoder, organ)
    return np.asarray(np.round(vectors.astype(np.float64) @ direction, 8), np.float64)


def _direction(encoder: ImageTextEncoder, organ: str) -> NDArray[np.float64]:
    def place(side: BehaviourSide) -> NDArray[np.float64]:
        total = np.zeros(())
        for wordings in (behaviour_wordings(side), behaviour_wordings_of(side, organ)):
            mean = encoder.texts(wordings).astype(np.float64).mean(axis=0)
            total = total + mean / np.linalg.norm(mean)
        return total

    return place("malignant") - place("benign")


# --- what a report states -------------------------------------------------------------------------


@lru_cache(maxsize=1 << 12)
def side_of(phrase: str) -> BehaviourSide | None:
    """The side that a diagnosis is on; None where it leaves that open.

    Dysplasia stands between both, as does what is borderline or of uncertain behaviour.
    """
    concept = main_concept(phrase)
    if concept is None:
        return None
    if concept.behaviour in HARMLESS:
        return "benign"
    malignant = concept.behaviour in (Behaviour.MALIGNANT, Behaviour.IN_SITU)
    if malignant and not diagnosis_tree().is_a(concept.id, _DYSPLASIA):
        return "malignant"
    return None


def denies_malignancy(claims: Claims) -> bool:
    """Whether a report says that there is no malignancy, and speaks of none otherwise.

    That something is no small cell carcinoma does not make it benign.
    """
    spoken = (*claims.asserted, *claims.uncertain)
    return _denies_any(claims) and all(side_of(claim.phrase) != "malignant" for claim in spoken)


def _denies_any(claims: Claims) -> bool:
    concepts = (main_concept(visual(without_denial(c.span.text)[0])) for c in claims.denied)
    return any(c and c.generic and c.behaviour is Behaviour.MALIGNANT for c in concepts)


def stated_behaviour(claims: Claims) -> StatedBehaviour:
    """The behaviour that a report gives its tissue: one that names no malignancy says benign.

    One that names a malignancy and also says that there is none leaves it open.
    """
    named = [side_of(claim.phrase) for claim in claims.asserted if _is_diagnosis(claim)]
    if "malignant" in named:
        return "open" if _denies_any(claims) else "malignant"
    suspected = [side_of(claim.phrase) for claim in claims.uncertain if _is_diagnosis(claim)]
    if None in named or any(side != "benign" for side in suspected):
        return "open"
    return "benign" if named or any(map(_is_diagnosis, claims.denied)) else "nothing"


def _is_diagnosis(claim: Claim) -> bool:
    """Findings count where the catalogue has them as diagnoses, as chronic inflammation."""
    return claim.type is EntityType.DIAGNOSIS or (
        claim.type is EntityType.FINDING and main_concept(claim.phrase) is not None
    )


class SpecimenBehaviour(NamedTuple):
    """What the image says of the behaviour that a report states."""

    scores: Mapping[str, float]
    """How malignant the image looks, for each organ of the report that has limits."""
    limits: Mapping[str, BehaviourLimits]
    sides: frozenset[BehaviourSide]
    """Those that diagnoses of the report are on."""
    denied: bool
    """The report says that there is no malignancy."""
    stated: StatedBehaviour

    @classmethod
    def of(
        cls,
        vectors: Vectors,
        encoder: ImageTextEncoder,
        limits: Mapping[str, BehaviourLimits],
        organs: Iterable[str],
        claims: Claims,
    ) -> Self:
        """Decide over all patches of an image."""
        scores = {
            organ: malignancy(malignancy_of_patches(vectors, encoder, organ))
            for organ in sorted(organs)
            if organ in limits
        }
        stated = (side_of(c.phrase) for c in claims.asserted if c.type is EntityType.DIAGNOSIS)
        sides = frozenset(side for side in stated if side is not None)
        return cls(scores, limits, sides, denies_malignancy(claims), stated_behaviour(claims))

    def cancer_check(self, places: Collection[frozenset[str]]) -> CancerCheck:
        """Whether the image agrees in every place that the report names."""
        verdict, why = self._agreement(places)
        return CancerCheck(stated=self.stated, verdict=verdict, why=why)

    def _agreement(self, places: Collection[frozenset[str]]) -> tuple[CancerVerdict, str]:
        organs = sorted(frozenset().union(*places))
        unchecked = [organ for organ in organs if organ not in self.scores]
        if unchecked or not organs or not all(places):
            where = " and ".join(unchecked) or "the tissue that the report names"
            return "not_checked", f"the encoder cannot tell benign from malignant in {where}"
        if self.stated == "nothing":
            return "undecided", "the report states no diagnosis"
        if self.stated == "open":
            return "undecided", "the report leaves open whether the tissue is malignant"
        judged = [judge_behaviour(self.scores[o], self.stated, self.limits[o]) for o in organs]
        verdicts = {each.verdict for each in judged}
        if verdicts == {"supported"}:
            return "agrees", f"the tissue looks {self.stated}, as the report says"
        if "contradicted" in verdicts:
            return "disagrees", f"the tissue does not look {self.stated}, as the report says"
        return (
            "undecided",
            f"the report says {self.stated}, and the tissue does not clearly look it",
        )

    def of_claim(self, claim: Claim, organs: Iterable[str]) -> Judgement | None:
        """What the image says of the behaviour of a diagnosis in some organs.

        Beside a malignant diagnosis a benign one may well be there, and the image may be of either.
        """
        side = side_of(claim.phrase) if claim.type is EntityType.DIAGNOSIS else None
        if side is None or (side == "benign" and "malignant" in self.sides):
            return None
        found = self._judged(side, organs)
        if found is not None and found.verdict == "contradicted" and len(self.sides) > 1:
            return Judgement(found.value, "not_known")
        return found

    def of_denial(self) -> Judgement | None:
        """What the image says of a report's word that there is no malignancy."""
        return self._judged("benign", self.scores) if self.denied else None

    def _judged(self, side: BehaviourSide, organs: Iterable[str]) -> Judgement | None:
        """Of several organs the one that speaks for the claim most."""
        found = [
            judge_behaviour(self.scores[organ], side, self.limits[organ])
            for organ in sorted(organs)
            if organ in self.scores
        ]
        return max(found, key=lambda each: each.value, default=None)


def judge_behaviour(score: float, side: BehaviourSide, limits: BehaviourLimits) -> Judgement:
    """A behaviour that is claimed of an image that looks so malignant."""
    own = limits.malignant if side == "malignant" else limits.benign
    towards = score if side == "malignant" else -score
    return Judgement(calibrated(towards, own), own.verdict(towards))


def behaviour_reason(claim: Claim, verdict: GroundingVerdict) -> str:
    """Why a diagnosis is not supported by an image that looks too little like its behaviour."""
    side = side_of(claim.phrase)
    other = "benign" if side == "malignant" else "malignant"
    if verdict == "contradicted":
        return f"the tissue looks {other}, the report says {claim.phrase}"
    return f"the tissue looks {other} rather than {side}, but not clearly enough to say so"
