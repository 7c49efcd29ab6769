"""Benign or malignant: what a report states of its tissue, and how malignant an image looks.

A patch looks malignant by how much nearer it lies to words for malignant tissue than to those for
benign, anywhere and in the organ of the report. A carcinoma has benign tissue beside it, so that of
many patches the tenth that looks most malignant decides: it must look malignant where a report says
so, and benign where a report says that.
"""

from functools import lru_cache

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
from histoeval.pathgls.results import Claim, GroundingVerdict, StatedBehaviour
from histoeval.report import EntityType
from histoeval.resources import load_toml
from histoeval.terms.assertion import without_denial
from histoeval.terms.catalogue import HARMLESS, Behaviour, diagnosis_tree
from histoeval.terms.naming import main_concept

DENIED_IN_VAIN = "the tissue looks malignant, the report says that there is no malignancy"
_DYSPLASIA = "dysplasia"


def behaviour_wordings(side: BehaviourSide, organ: str | None = None) -> tuple[str, ...]:
    """What tissue of a side is called in an organ, or wherever it is."""
    wordings = load_toml("pathgls/grounding/data/phrases.toml")["behaviour"][side]
    if organ is None:
        return tuple(wordings["anywhere"])
    return tuple(wording.format(organ) for wording in wordings["of_organ"])


def malignancy(patches: NDArray[np.float64]) -> float:
    """How malignant an image looks, from how malignant each of its patches does."""
    if len(patches) < FEW:
        return float(patches.mean())
    return float(top_mean(patches[None])[0])


def malignancy_of_patches(
    vectors: Vectors, encoder: ImageTextEncoder, organ: str
) -> NDArray[np.float64]:
    """How much more malignant than benign each patch looks, for tissue of an organ."""

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
    """The side that a diagnosis is on; None where it leaves that open.

    Dysplasia stands between both, as does what is borderline or of uncertain behaviour.
    """
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
    asserted, denied, uncertain = (
        [side_of(claim.phrase) for claim in part if _is_diagnosis(claim)] for part in claims
    )
    if "malignant" in asserted:
        return "open" if _denies_any(claims) else "malignant"
    if None in asserted or any(side != "benign" for side in uncertain):
        return "open"
    return "benign" if asserted or denied else "nothing"


def _is_diagnosis(claim: Claim) -> bool:
    """Findings count where the catalogue has them as diagnoses, as chronic inflammation."""
    return claim.type is EntityType.DIAGNOSIS or (
        claim.type is EntityType.FINDING and main_concept(claim.phrase) is not None
    )


def judge_behaviour(score: float, side: BehaviourSide, limits: BehaviourLimits) -> Judgement:
    """A behaviour that is claimed of an image that looks so malignant."""
    own = limits.malignant if side == "malignant" else limits.benign
    towards = score if side == "malignant" else -score
    return Judgement(calibrated(towards, own), own.verdict(towards))


def behaviour_reason(claim: Claim, verdict: GroundingVerdict) -> str:
    """Why a diagnosis is not supported by an image that looks too little like its behaviour."""
    side = side_of(claim.phrase)
    opposite = "benign" if side == "malignant" else "malignant"
    if verdict == "contradicted":
        return f"the tissue looks {opposite}, the report says {claim.phrase}"
    return f"the tissue looks {opposite} rather than {side}, but not clearly enough to say so"
