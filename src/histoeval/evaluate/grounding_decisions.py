"""Limits for grounding, fitted to labelled tiles that the encoder had not learned from.

A claim of each kind gets a score, as it does when a report is grounded: an organ by how far it
stands above all unlike organs, over all patches; a diagnosis or finding by how far it stands above
decoys in the tenth of the patches that speak for it most; benign or malignant, within an organ, by
words for both. Foreign claims set the limit from which a claim is supported, true ones the limit up
to which it is contradicted.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from histoeval.errors import InputError
from histoeval.evaluate.grounding_scores import KINDS, Array, JudgedImages, ScoredTiles, auroc
from histoeval.evaluate.tile_labels import FALSE, HE, TRUE, LabelledTile
from histoeval.pathgls.grounding.decisions import (
    ALLOWED,
    ALLOWED_AGAINST,
    ALLOWED_BEHAVIOUR,
    FEW,
    BehaviourLimits,
    ClaimLimits,
    Decisions,
    alike,
)
from histoeval.pathgls.grounding.decoys import FEWEST
from histoeval.report import EntityType
from histoeval.statistics.regression import fit_logistic


class KindScores(NamedTuple):
    """The scores of claims of one kind."""

    true: Array
    foreign: Array
    plain: Array
    """The true ones without a handicap: what contradicts a claim."""

    @property
    def enough(self) -> bool:
        """Whether limits can be fitted to them."""
        return min(len(self.true), len(self.foreign)) >= _LEAST_SCORES


Scores = Mapping[EntityType, KindScores]

LEAST_CASES = 3
"""An organ that was seen in fewer cases cannot be told from what is particular to these."""

LEAST_CASES_OF_A_SIDE = 5
"""Of fewer benign or malignant cases of an organ nobody knows how much cases differ."""

LEAST_AUROC = 0.7
"""Where benign and malignant tissue is told apart less well, most true claims would be doubted."""

NEVER = -4.0
"""Behaviour is a sum of four cosines, and lies no lower."""

_CALM = 1e-6
_LEAST_SCORES = 20
_HALF = 0.5


def told_organs(tiles: Sequence[LabelledTile], least: int = LEAST_CASES) -> tuple[str, ...]:
    """The organs of which enough cases were seen in H&E."""
    cases: dict[str, set[str]] = defaultdict(set)
    for tile in tiles:
        if tile.organ and tile.stain_kind == HE:
            cases[tile.organ].add(tile.case)
    return tuple(sorted(organ for organ, some in cases.items() if len(some) >= least))


def organ_handicaps(trials: Sequence[ScoredTiles], organs: Sequence[str]) -> dict[str, float]:
    """How far each organ stands above others in images of none of them, at the laboratory's worst.

    Colours go with laboratories: one that was left out may look like a certain organ all over, and
    a limit over all organs together would not show it.
    """
    found = dict.fromkeys(organs, 0.0)
    for trial in trials:
        margins = JudgedImages.of_tiles(trial).organ_margins(organs)
        told = np.isfinite(margins).sum(axis=1) > len(organs) / 2
        laboratories = np.array([tile.laboratory for tile in trial.tiles])
        for place, organ in enumerate(organs):
            unlike = [t.organ is not None and not alike(organ, t.organ) for t in trial.tiles]
            foreign = told & np.isfinite(margins[:, place]) & np.array(unlike)
            for laboratory in sorted(set(laboratories)):
                some = margins[foreign & (laboratories == laboratory), place]
                if len(some) >= _LEAST_SCORES:
                    found[organ] = max(found[organ], float(np.quantile(some, 1 - ALLOWED)))
    return found


def claim_scores(
    images: JudgedImages, organs: Sequence[str], handicaps: Mapping[str, float]
) -> Scores:
    """The scores of all claims of the bank whose truth is known."""
    plain, margins = (images.organ_margins(organs, some) for some in ({}, handicaps))
    # A model that has learned hardly any of the organs says nothing on telling them apart.
    usable = np.isfinite(margins).sum(axis=1) > len(organs) / 2
    own = np.array([[t.organ == organ for organ in organs] for t in images.means.tiles])
    unlike = np.array(
        [
            [t.organ is not None and not alike(organ, t.organ) for organ in organs]
            for t in images.means.tiles
        ]
    )
    told = usable[:, None] & np.isfinite(margins)
    found = {
        EntityType.SITE: KindScores(margins[told & own], margins[told & unlike], plain[told & own])
    }
    targets, stands = images.targets, images.standings()
    groups = Counter(entry.group for entry in images.means.entries)
    for kind in (EntityType.DIAGNOSIS, EntityType.FINDING):
        # Among a few decoys no claim can stand out as far as among those of a report.
        columns = [
            KINDS.get(e.group) == kind.value and e.group != "organ" and groups[e.group] > FEWEST
            for e in images.means.entries
        ]
        true, false = (stands[:, columns][targets[:, columns] == t] for t in (TRUE, FALSE))
        found[kind] = KindScores(true, false, true)
    return found


def fit_decisions(
    trials: Sequence[ScoredTiles], organs: Sequence[str], encoder: str, measured_on: str
) -> Decisions:
    """Limits that hold in every one of some trials; curves are those of the first.

    Give tiles of held-out cases first and of held-out laboratories next: the stricter of both
    counts.
    """
    if len(organs) < 2:
        raise InputError(
            f"{len(organs)} organs have tiles of {LEAST_CASES} cases or more, and two are needed "
            "to tell one from another; add cases"
        )
    handicaps = organ_handicaps(trials, organs)
    tiles = [JudgedImages.of_tiles(trial) for trial in trials]
    scores = [claim_scores(images, organs, handicaps) for images in tiles]
    tile = _limits(scores)
    if EntityType.SITE not in tile:
        raise InputError(_without_organs(scores))
    slides, pictures = (
        [images for trial in trials if (images := make(trial)) is not None]
        for make in (JudgedImages.of_slides, partial(JudgedImages.of_pictures, least=FEW))
    )
    slide = _limits([claim_scores(images, organs, handicaps) for images in (*slides, *pictures)])
    return Decisions(
        encoder=encoder,
        organs=tuple(organs),
        tile=tile,
        slide={kind: slide.get(kind, limits) for kind, limits in tile.items()},
        handicaps=handicaps,
        tile_behaviour=fit_behaviour(tiles, organs),
        slide_behaviour=fit_behaviour(slides, organs),
        measured_on=measured_on,
    )


def _without_organs(trials: Sequence[Scores]) -> str:
    """Why there are no limits for organs, and what to do."""
    most = max(min(map(len, trial[EntityType.SITE])) for trial in trials)
    if most < _LEAST_SCORES:
        return (
            f"too few labelled tiles: {_LEAST_SCORES} true and as many foreign claims of organs "
            f"are needed, and there are {most}; add tiles of H&E of two organs or more"
        )
    return (
        "the encoder does not tell the organs of these tiles from each other, so that no report "
        "could be supported by it: check the labels, or take another encoder"
    )


def _limits(trials: Sequence[Scores]) -> dict[EntityType, ClaimLimits]:
    """For each kind of claim that enough is known of."""
    found: dict[EntityType, ClaimLimits] = {}
    for kind in (EntityType.SITE, EntityType.DIAGNOSIS, EntityType.FINDING):
        # However far apart organs lie, the one that is claimed must be the likeliest.
        least = _CALM if kind is EntityType.SITE else -np.inf
        parts = [trial[kind] for trial in trials]
        foreign = [part.foreign for part in parts if len(part.foreign) >= _LEAST_SCORES]
        limits = _limits_of([part for part in parts if part.enough], foreign, least)
        if limits is not None and kind is EntityType.SITE:
            limits = limits.model_copy(update={"midpoint": limits.supported})
        if limits is not None:
            found[kind] = limits
    return found


def _limits_of(
    enough: Sequence[KindScores],
    foreign: Sequence[Array],
    least: float = -np.inf,
    allowed: float = ALLOWED,
) -> ClaimLimits | None:
    """The limits for claims of one kind, if enough is known of it; support begins at `least`."""
    if not enough:
        return None
    # A score at the quantile would be one too many, since limits hold from their value on.
    highest = max(float(np.nextafter(_reached(some, allowed), np.inf)) for some in foreign)
    supported = max(highest, least)
    contradicted = min(-_reached(-part.plain, ALLOWED_AGAINST) for part in enough)
    slope, middle = _curve(enough[0].true, enough[0].foreign)
    if slope <= 0:
        return None
    return ClaimLimits(
        slope=slope,
        midpoint=middle,
        supported=supported,
        contradicted=min(contradicted, supported),
    )


def _reached(scores: Array, share: float) -> float:
    """What this share of scores lies above.

    Where there are too few to say, it is what scores of a normal distribution would reach, and no
    less than the highest.
    """
    if len(scores) * share >= 1:
        return float(np.quantile(scores, 1 - share))
    wide = float(np.std(scores, ddof=1)) * math.sqrt(1 + 1 / len(scores))
    usual = float(scores.mean()) + NormalDist().inv_cdf(1 - share) * wide
    return max(usual, float(scores.max()))


def fit_behaviour(
    trials: Sequence[JudgedImages], organs: Sequence[str]
) -> dict[str, BehaviourLimits]:
    """Limits for benign and malignant in each organ where both are told apart.

    Enough cases of either must have been held out, and every trial must tell them apart. Where some
    trial could not count them, as when no other laboratory has both, nothing is contradicted and no
    benign tissue is confirmed: how it looks differs between laboratories, and carcinomas of another
    laboratory were taken for it (35 % of the lung tiles of `external`).
    """
    found: dict[str, BehaviourLimits] = {}
    for organ in organs:
        sides = [
            [behaviour_scores_of(images, organ, side) for side in ("malignant", "benign")]
            for images in trials
        ]
        told = [pair for pair in sides if all(part.enough for part in pair)]
        pairs = [(pair[0].scores, pair[1].scores) for pair in told]
        if not told or not all(_tells_apart(*pair) for pair in told):
            continue
        malignant, benign = (
            _limits_of(
                [KindScores(true, foreign, true) for true, foreign in side],
                [foreign for _, foreign in side],
                allowed=ALLOWED_BEHAVIOUR,
            )
            for side in (pairs, [(-b, -m) for m, b in pairs])
        )
        if malignant is None or benign is None:
            continue
        if len(told) < len(trials):
            malignant = malignant.model_copy(update={"contradicted": NEVER})
            benign = benign.model_copy(update={"contradicted": NEVER, "supported": -NEVER})
        found[organ] = BehaviourLimits(malignant=malignant, benign=benign)
    return found


class SideScores(NamedTuple):
    """How malignant images of an organ look that are benign, or that are malignant."""

    scores: Array
    cases: int

    @property
    def enough(self) -> bool:
        """Whether limits can be fitted to them."""
        return self.cases >= LEAST_CASES_OF_A_SIDE


def behaviour_scores_of(images: JudgedImages, organ: str, side: str) -> SideScores:
    """Of the images by models that had learned both sides in this organ."""
    scores, tiles = images.malignancy(organ), images.means.tiles
    rows = [
        n
        for n, tile in enumerate(tiles)
        if tile.organ == organ and tile.behaviour == side and np.isfinite(scores[n])
    ]
    return SideScores(scores[rows], len({tiles[n].case for n in rows}))


def _tells_apart(malignant: SideScores, benign: SideScores) -> bool:
    scores = np.concatenate([malignant.scores, benign.scores])
    truth = [True] * len(malignant.scores) + [False] * len(benign.scores)
    return (auroc(scores, truth) or 0.0) >= LEAST_AUROC


def _curve(true: Array, foreign: Array) -> tuple[float, float]:
    """The slope and the middle of the logistic curve between true and foreign claims."""
    weights = [np.full(len(some), _HALF / len(some)) for some in (true, foreign)]
    truth = np.concatenate([np.ones(len(true)), np.zeros(len(foreign))])
    scores = np.concatenate([true, foreign])
    slope, offset = fit_logistic(scores, truth, np.concatenate(weights), ridge=_CALM)
    return slope, -offset / slope
