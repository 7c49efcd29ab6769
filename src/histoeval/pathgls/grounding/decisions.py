"""The verdict of an image on a claim: supported, contradicted, or not known; with known error.

The organ of the specimen is decided first, over all patches together: the organ that a report names
must be likelier than every other that the encoder can tell. What the report says of its tissue is
worth no more than that. At a value of 0.5 a claim of another organ passes in one of twenty cases,
as counted on laboratories and cases that the encoder had not learned from.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, FiniteFloat, ValidationError, model_validator

from histoeval.errors import InputError
from histoeval.pathgls.grounding.decoys import home_of
from histoeval.pathgls.grounding.encoder import ClaimCalibration, ImageTextEncoder, Vectors
from histoeval.pathgls.results import GroundingVerdict, OrganSeen
from histoeval.report import EntityType, Noun
from histoeval.terms.sites import find_sites, site_closeness, site_tree

ALLOWED = 0.05  # the share of claims of another organ that may be supported

# The share of malignant images that may pass for benign, and of benign ones for malignant
ALLOWED_BEHAVIOUR = 0.02

# The share of true claims that may be contradicted: a report states several
ALLOWED_AGAINST = ALLOWED / 2


class ClaimLimits(ClaimCalibration):
    slope: Annotated[FiniteFloat, Field(gt=0)]
    midpoint: FiniteFloat  # the score at which the value is 0.5
    supported: FiniteFloat  # from this score on a claim is supported: a foreign one in 5 % of cases
    contradicted: FiniteFloat  # up to this score it is contradicted: a true one in 2.5 % of cases

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.contradicted > self.supported:
            raise ValueError("what is contradicted lies above what is supported")
        return self

    def verdict(self, score: float) -> GroundingVerdict:
        if score >= self.supported:
            return "supported"
        return "contradicted" if score <= self.contradicted else "not_known"


Limits = Mapping[EntityType, ClaimLimits]
BehaviourSide = Literal["benign", "malignant"]


class BehaviourLimits(Noun):
    malignant: ClaimLimits  # of how malignant an image looks
    benign: ClaimLimits  # of the same with its sign turned


class Judgement(NamedTuple):
    value: float
    verdict: GroundingVerdict


FEW = 5  # with fewer patches than this an image is judged as a single tile
TOP_SHARE = 0.1  # the share of patches that must speak for a claim: one among hundreds is chance

_SAME_PLACE = 0.5
_ROUNDING = 1e-9


class Decisions(Noun):
    """Limits from which an encoder's answers count, measured on cases it had not learned."""

    encoder: str = ""  # the encoder by its weights; the calibration of another one is refused
    # Those that it was shown to tell from each other
    organs: Annotated[tuple[str, ...], Field(min_length=2)]
    tile: dict[EntityType, ClaimLimits]  # for single tiles and pictures of a few
    slide: dict[EntityType, ClaimLimits]  # for slides, and pictures of many tiles
    # How far an organ must stand above all others before it counts as likelier than these. Images
    # of other organs of some laboratory reach it in 5 % of cases. None where it is missing
    handicaps: dict[str, Annotated[FiniteFloat, Field(ge=0)]] = Field(default_factory=dict)
    # By organ, where benign and malignant tissue was shown to be told apart; none elsewhere
    tile_behaviour: dict[str, BehaviourLimits] = Field(default_factory=dict)
    slide_behaviour: dict[str, BehaviourLimits] = Field(default_factory=dict)
    measured_on: str = ""
    kind: Literal["grounding_calibration"] = "grounding_calibration"

    @model_validator(mode="after")
    def _organs_first(self) -> Self:
        if any(EntityType.SITE not in limits for limits in (self.tile, self.slide)):
            raise ValueError("limits for organs are missing, and nothing is decided before these")
        return self

    @property
    def identity(self) -> str:
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]

    def limits(self, patches: int) -> Limits:
        return self.tile if patches < FEW else self.slide

    def behaviour_limits(self, patches: int) -> Mapping[str, BehaviourLimits]:
        return self.tile_behaviour if patches < FEW else self.slide_behaviour


def decisions_of(encoder: ImageTextEncoder) -> Decisions | None:
    decisions: Decisions | None = getattr(encoder, "decisions", None)
    return decisions


def read_calibration(path: Path) -> Decisions:
    try:
        return Decisions.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        raise InputError(
            f"{path} is no calibration of grounding ({error.error_count()} faults): write one with "
            "`histoeval evaluate grounding --calibration FILE`"
        ) from error


def top_mean(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each claim (rows) the mean over the tenth of all patches that speak for it most."""
    count = max(1, round(TOP_SHARE * cosines.shape[1]))
    return np.asarray(np.sort(cosines, axis=1)[:, -count:].mean(axis=1), np.float64)


class OrganMargin(NamedTuple):
    plain: float  # what it may be contradicted by
    less: float  # what it is supported by: less its handicap


class OrganScores(NamedTuple):
    organs: tuple[str, ...]
    cosines: NDArray[np.float64]  # patches by organs
    # What is taken from an organ when it is claimed
    handicaps: Mapping[str, float] = MappingProxyType({})

    @property
    def means(self) -> NDArray[np.float64]:
        return np.asarray(self.cosines.mean(axis=0), np.float64)

    def margin(self, claimed: Iterable[str]) -> OrganMargin:
        own, means = frozenset(claimed), self.means[None]
        plain = organ_margins(means, self.organs, own)
        handicapped = organ_margins(means, self.organs, own, self.handicaps)
        return OrganMargin(float(plain[0]), float(handicapped[0]))

    def agreeing(self, claimed: Iterable[str], margin: float) -> int:
        own, rivals = _sides(self.organs, frozenset(claimed))
        if not rivals:
            return 0
        reductions, means = _handicaps(self.organs, self.handicaps), self.means
        best = max(own, key=lambda n: float(means[n] - reductions[n]))
        rival = max(rivals, key=means.__getitem__)
        lead = self.cosines[:, best] - reductions[best] - self.cosines[:, rival]
        return int((lead >= margin - _ROUNDING).sum())

    def seen(self, claimed: Iterable[str]) -> OrganSeen:
        best = int(self.means.argmax())
        return OrganSeen(
            likeliest=self.organs[best],
            share=float((self.cosines.argmax(axis=1) == best).mean()),
            margin=self.margin([self.organs[best]]).plain,
            claimed=tuple(sorted(claimed)),
        )


def organ_margins(
    means: NDArray[np.float64],
    organs: tuple[str, ...],
    claimed: frozenset[str],
    handicaps: Mapping[str, float] = MappingProxyType({}),
) -> NDArray[np.float64]:
    """Margin of claimed organs, less handicaps, over unlike ones, for each image (rows)."""
    own, rivals = _sides(organs, claimed)
    if not rivals:
        return np.zeros(len(means))
    claims = means[:, own] - _handicaps(organs, handicaps)[own]
    return np.asarray(claims.max(axis=1) - means[:, rivals].max(axis=1), np.float64)


def _handicaps(organs: Sequence[str], handicaps: Mapping[str, float]) -> NDArray[np.float64]:
    return np.array([handicaps.get(organ, 0.0) for organ in organs])


@lru_cache(maxsize=1 << 12)
def _sides(organs: tuple[str, ...], claimed: frozenset[str]) -> tuple[list[int], list[int]]:
    own = [n for n, organ in enumerate(organs) if organ in claimed]
    rivals = [
        n for n, organ in enumerate(organs) if not any(alike(organ, claim) for claim in claimed)
    ]
    return own, rivals


def organ_vectors(encoder: ImageTextEncoder, organs: Sequence[str]) -> Vectors:
    """The vector of each organ: as the encoder has learned it, or by words for its tissue."""
    learned: Callable[[Sequence[str]], Vectors] | None = getattr(encoder, "organ_vectors", None)
    return learned(organs) if learned else encoder.texts([f"{organ} tissue" for organ in organs])


def organ_scores(
    vectors: Vectors,
    encoder: ImageTextEncoder,
    organs: Sequence[str],
    handicaps: Mapping[str, float] = MappingProxyType({}),
) -> OrganScores:
    phrases = organ_vectors(encoder, organs).astype(np.float64)
    cosines = np.round(vectors.astype(np.float64) @ phrases.T, 8)
    return OrganScores(tuple(organs), cosines, handicaps)


@lru_cache(maxsize=1 << 12)
def organs_named(phrase: str, organs: tuple[str, ...]) -> frozenset[str] | None:
    """The organs of the list that a phrase names or a disease arises in; None: it names no place.

    Empty: it names a place that is not in the list, and nothing near it is.
    """
    sites = home_of(phrase)
    if not sites:
        return None
    return frozenset(organ for site in sites for organ in _nearest(site, organs))


def _nearest(target: str, organs: tuple[str, ...]) -> Iterator[str]:
    """The organs that are a place, or hold it most closely; else its parts and neighbours."""

    def nearness(site: str) -> tuple[float, int]:
        depth = site_tree().depth(site) if site_tree().is_a(target, site) else 0
        return site_closeness(target, site), depth

    closeness = {organ: max(map(nearness, _sites_of(organ)), default=(0.0, 0)) for organ in organs}
    best = max(closeness.values(), default=(0.0, 0))
    yield from (organ for organ in organs if closeness[organ] == best and best[0] >= _SAME_PLACE)


@lru_cache(maxsize=1 << 12)
def alike(organ: str, rival: str) -> bool:
    """True if two organs are the same, one a part of the other, or hard to part."""
    return organ == rival or any(
        site_closeness(a, b) >= _SAME_PLACE for a in _sites_of(organ) for b in _sites_of(rival)
    )


@lru_cache(maxsize=1 << 10)
def _sites_of(organ: str) -> frozenset[str]:
    return frozenset(match.id for match in find_sites(organ))
