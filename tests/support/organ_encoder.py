"""An encoder whose space has an axis for each word: what a patch shows is what it was given."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from histoeval.pathgls.grounding.decisions import ClaimLimits, Decisions
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage
from histoeval.pathgls.grounding.encoder import Pixels, Vectors
from histoeval.pathgls.results import Spot
from histoeval.report import EntityType

AXES = ("colon", "liver", "lung", "carcinoma", "necrosis", "benign", "malignan", "other")
TOLD = ("colon", "liver", "lung")


class OrganEncoder:
    """Phrases lie on the axes of the words they hold; unlisted words on a few by their letters."""

    identity = "organs@made-up"
    size = 224

    def images(self, patches: Sequence[Pixels]) -> Vectors:
        raise AssertionError("patches are given as vectors")

    def texts(self, phrases: Sequence[str]) -> Vectors:
        return np.stack([_vector(phrase) for phrase in phrases])


def _vector(phrase: str) -> Vectors:
    shown = [word for word in AXES if word in phrase.lower()]
    if shown:
        return patch(dict.fromkeys(shown, 1.0))
    weights = hashlib.sha256(phrase.encode()).digest()
    return patch({"other": 1.0, "necrosis": weights[0] / 512, "carcinoma": weights[1] / 512})


def patch(shown: Mapping[str, float]) -> Vectors:
    """A unit vector that shows these words so much."""
    row = np.array([shown.get(word, 0.0) for word in AXES], np.float32)
    return np.asarray(row / np.linalg.norm(row), np.float32)


def slide_of(*patches: Vectors) -> EmbeddedImage:
    spots = tuple(Spot(x=224 * n, y=0, width=224, height=224) for n in range(len(patches)))
    return EmbeddedImage(np.stack(patches), spots, (), (None,) * len(patches))


def limits_of(supported: float = 1.0, contradicted: float = -1.0) -> ClaimLimits:
    """Limits with the middle of the curve where support begins."""
    return ClaimLimits(
        slope=4.0, midpoint=supported, supported=supported, contradicted=contradicted
    )


def decisions_for(organs: Sequence[str] = TOLD, **others: object) -> Decisions:
    """Limits for all kinds of claims, of tiles and slides alike."""
    kinds = {
        EntityType.SITE: limits_of(0.1, -0.1),
        EntityType.DIAGNOSIS: limits_of(),
        EntityType.FINDING: limits_of(),
    }
    given: dict[str, object] = {
        "encoder": "made-up",
        "organs": tuple(organs),
        "tile": kinds,
        "slide": kinds,
        "measured_on": "made-up cosines",
    }
    return Decisions.model_validate(given | others)
