"""Decoys: claims of other organs and diseases, to calibrate a report's own claims.

A cosine means nothing by itself: one encoder gives 0.2 to what is plainly there, another 0.8 to
what is not. So the same image is compared with decoys, and a claim's cosine counts by its standing
among theirs.
"""

import hashlib
import math
from collections.abc import Iterable, Sequence
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.pathgls.grounding.claims import CLAIMED
from histoeval.pathgls.grounding.encoder import ClaimCalibration
from histoeval.pathgls.results import Claim
from histoeval.report import EntityType
from histoeval.resources import load_toml
from histoeval.terms.assertion import has_wording
from histoeval.terms.catalogue import closeness, concepts, diagnosis_tree
from histoeval.terms.findings import find_findings, is_kind_of
from histoeval.terms.naming import main_concept
from histoeval.terms.plain import words_of
from histoeval.terms.sites import find_places, find_sites, site_closeness

FEWEST = 12  # fewer decoys cannot calibrate a claim

# For encoders without a measurement: as if true claims lay 1.5 standard deviations above decoys,
# both spread alike. Then the odds of a claim at z are exp(1.5 (z - 0.75))
UNMEASURED = ClaimCalibration(slope=1.5, midpoint=0.75)

_SAME_PLACE = 0.5
_ALIKE = 0.5


class PhraseMeaning(NamedTuple):
    diagnosis: str | None
    findings: frozenset[str]
    sites: frozenset[str]  # all that are named
    places: frozenset[str]  # those where it is: not what it looks like, nor where it came from
    words: frozenset[str]


class Decoy(NamedTuple):
    phrase: str
    type: EntityType
    family: str


class Decoys:
    def __init__(self, phrases: Iterable[Decoy]) -> None:
        self.phrases = tuple(phrases)

    @cached_property
    def identity(self) -> str:
        content = "\n".join(f"{decoy.type} {decoy.phrase}" for decoy in self.phrases)
        return f"foreign@{hashlib.sha256(content.encode()).hexdigest()[:12]}"

    def to(self, claims: Sequence[Claim], kind: EntityType | None = None) -> tuple[str, ...]:
        """Phrases of a kind, or of all, that share nothing with any claim of whatever assertion."""
        meanings = [meaning_of(claim.phrase) for claim in claims]
        return tuple(
            decoy.phrase
            for decoy in self.phrases
            if kind in (None, decoy.type)
            and not any(
                are_kin(decoy.type, meaning_of(decoy.phrase), meaning) for meaning in meanings
            )
        )


@cache
def builtin_decoys() -> Decoys:
    content = load_toml("pathgls/grounding/data/decoys.toml")
    return Decoys(
        Decoy(phrase, kind, row["name"])
        for row in content["family"]
        for kind in CLAIMED
        for phrase in row.get(kind.value, ())
    )


@lru_cache(maxsize=1 << 13)
def meaning_of(phrase: str) -> PhraseMeaning:
    concept = main_concept(phrase)
    return PhraseMeaning(
        None if concept is None else concept.id,
        frozenset(match.id for match in find_findings(phrase)),
        frozenset(match.id for match in find_sites(phrase)),
        frozenset(match.id for match in find_places(phrase)),
        frozenset(word.plain for word in words_of(phrase)),
    )


@lru_cache(maxsize=1 << 16)
def are_kin(kind: EntityType, decoy: PhraseMeaning, claim: PhraseMeaning) -> bool:
    """True if a decoy of this kind shares a disease, finding or place with a claim.

    Two diseases of one organ are not kin: one can be claimed for the other.
    """
    if decoy.words == claim.words:
        return True
    if kind == EntityType.SITE:
        return _are_near(_home(decoy) | decoy.sites, _home(claim) | claim.sites)
    if decoy.diagnosis and claim.diagnosis:
        concept, claimed = concepts()[decoy.diagnosis], concepts()[claim.diagnosis]
        are_related = diagnosis_tree().are_kin(concept.id, claimed.id)
        if are_related or closeness(concept, claimed) >= _ALIKE:
            return True
    pairs = [(a, b) for a in decoy.findings for b in claim.findings]
    if any(is_kind_of(a, b) or is_kind_of(b, a) for a, b in pairs):
        return True
    return kind == EntityType.FINDING and _are_near(decoy.sites, claim.sites)


def _are_near(sites: frozenset[str], other_sites: frozenset[str]) -> bool:
    return any(site_closeness(a, b) >= _SAME_PLACE for a in sites for b in other_sites)


def home_of(phrase: str) -> frozenset[str]:
    """The sites that something is in, or where its disease arises, unless it is metastatic."""
    meaning = meaning_of(phrase)
    return meaning.places if has_wording("metastatic", phrase) else _home(meaning)


def _home(meaning: PhraseMeaning) -> frozenset[str]:
    if meaning.places or meaning.diagnosis is None:
        return meaning.places
    return concepts()[meaning.diagnosis].organs


def standing(cosine: float, decoys: NDArray[np.floating]) -> float | None:
    """Standard deviations by which a cosine lies above decoys; None where these are equal."""
    spread = float(np.std(decoys.astype(np.float64)))
    if not spread > 1e-6:
        return None
    return (cosine - float(np.mean(decoys.astype(np.float64)))) / spread


def calibrated(standing: float, calibration: ClaimCalibration = UNMEASURED) -> float:
    """Probability that a claim is true and no decoy, were both as frequent; 0.5 means nothing."""
    odds = calibration.slope * (standing - calibration.midpoint)
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, odds))))
