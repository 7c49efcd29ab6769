"""Figures of a grounding model, from vectors of tiles and of the entries of the bank.

Cosines of tiles with entries are all that is looked at. Tiles of one slide stand together for the
slide by their mean. Only tiles in H&E count, since nothing else is learned of other stains.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from histoeval.evaluate.tile_labels import (
    FALSE,
    HE,
    TRUE,
    UNKNOWN,
    LabelledTile,
    Targets,
    TileConcept,
    organs,
    targets_of,
)
from histoeval.pathgls.grounding.decisions import FEW, alike, organ_margins, top_mean
from histoeval.pathgls.grounding.encoder import ClaimCalibration
from histoeval.pathgls.grounding.verdicts import malignancy
from histoeval.statistics.regression import logistic

Array = npt.NDArray[np.float64]

CLAIMED = ("organ", "concept", "family", "site")  # the groups that claims are drawn from

# What a report calls a claim of each group; each kind has a curve of its own
KINDS = {"organ": "site", "concept": "diagnosis", "site": "diagnosis", "family": "finding"}

_SIDES = ("malignant", "benign")

SAME_ORGAN = "diagnosis, same organ"  # the diagnosis of an image, and others of its organ

_TOLD = {group: (group,) for group in CLAIMED} | {
    "organ or diagnosis": ("organ", "concept", "site"),
    "all": CLAIMED,
}


def auroc(
    scores: Sequence[float] | Array, positive: Sequence[bool] | npt.NDArray[np.bool_]
) -> float | None:
    """Share of pairs whose positive stands above its negative, ties by half; None without both."""
    values, truth = np.asarray(scores, np.float64), np.asarray(positive, bool)
    positives, negatives = values[truth], np.sort(values[~truth])
    if not len(positives) or not len(negatives):
        return None
    ranks = np.searchsorted(negatives, positives, "left") + np.searchsorted(
        negatives, positives, "right"
    )
    return float(ranks.mean() / 2 / len(negatives))


@dataclass(frozen=True, slots=True)
class ScoredTiles:
    tiles: Sequence[LabelledTile]
    entries: Sequence[TileConcept]
    cosines: Array
    # For each cosine whether the model had learned of the entry; all of them when omitted
    taught: npt.NDArray[np.bool_] | None = None

    @property
    def places(self) -> dict[tuple[str, str], int]:
        return {(entry.group, entry.name): n for n, entry in enumerate(self.entries)}

    def slides(self, together: Callable[..., Array] = np.mean) -> ScoredTiles:
        rows = _rows(self, lambda n: (self.tiles[n].slide,))
        return self.joined([*rows.values()], together)

    def joined(
        self, rows: Sequence[Sequence[int]], together: Callable[..., Array] = np.mean
    ) -> ScoredTiles:
        cosines = np.stack([together(self.cosines[list(group)], axis=0) for group in rows])
        firsts = [group[0] for group in rows]
        taught = None if self.taught is None else self.taught[firsts]
        return ScoredTiles([self.tiles[i] for i in firsts], self.entries, cosines, taught)

    def targets(self) -> Targets:
        """Truth of each entry for each row; open where the model had not learned of it."""
        targets = targets_of(self.tiles, self.entries)
        return targets if self.taught is None else np.where(self.taught, targets, UNKNOWN)


def score_tiles(
    tiles: Sequence[LabelledTile],
    entries: Sequence[TileConcept],
    vectors: npt.NDArray[np.float32],
    entry_vectors: npt.NDArray[np.float32],
) -> ScoredTiles:
    stained = [position for position, tile in enumerate(tiles) if tile.stain_kind == HE]
    cosines = vectors[stained].astype(np.float64) @ entry_vectors.T.astype(np.float64)
    return ScoredTiles([tiles[position] for position in stained], entries, cosines)


def organ_figures(scored: ScoredTiles, seen: Sequence[str]) -> dict[str, object]:
    """Accuracy of the likeliest organ; organs that hold the right one are not offered."""
    names = {
        name: column
        for (group, name), column in scored.places.items()
        if group == "organ" and name in seen
    }
    right: dict[str, list[bool]] = defaultdict(list)
    for row, tile in zip(scored.cosines, scored.tiles, strict=True):
        if tile.organ is None or tile.organ not in names:
            continue
        offered = [name for name in names if name not in organs()[tile.organ]]
        best = max(offered, key=lambda name: row[names[name]])
        right[tile.organ].append(best == tile.organ)
    outcomes = [value for values in right.values() for value in values]
    if not outcomes:
        return {"count": 0}
    return {
        "count": len(outcomes),
        "organs": len(names),
        "chance": 1 / len(names),
        "commonest": max(map(len, right.values())) / len(outcomes),
        "top1": float(np.mean(outcomes)),
        "mean_of_organs": float(np.mean([np.mean(values) for values in right.values()])),
        "by_organ": {name: float(np.mean(values)) for name, values in sorted(right.items())},
    }


def behaviour_scores(scored: ScoredTiles) -> Array:
    columns = scored.places
    sides = [columns.get(("behaviour", side)) for side in ("malignant", "benign")]
    if None in sides:
        return np.zeros(len(scored.tiles))
    total = scored.cosines[:, sides[0]] - scored.cosines[:, sides[1]]
    for row, tile in enumerate(scored.tiles):
        malignant, benign = (columns.get(("site", f"{b} {tile.organ}")) for b in _SIDES)
        if malignant is not None and benign is not None:
            total[row] += scored.cosines[row, malignant] - scored.cosines[row, benign]
    return np.asarray(total, np.float64)


def behaviour_figures(scored: ScoredTiles, seen: Sequence[str]) -> dict[str, object]:
    """AUROC of malignant over benign within organs: each, and pooled by the number of pairs."""
    scores = behaviour_scores(scored)
    truth = np.array([tile.behaviour == "malignant" for tile in scored.tiles])
    rows: dict[str, list[int]] = defaultdict(list)
    for row, tile in enumerate(scored.tiles):
        if tile.organ in seen and tile.behaviour is not None:
            rows[str(tile.organ)].append(row)
    by_organ: dict[str, float] = {}
    pairs: dict[str, int] = {}
    for organ, own in sorted(rows.items()):
        if (value := auroc(scores[own], truth[own])) is not None:
            by_organ[organ] = value
            pairs[organ] = int(truth[own].sum() * (~truth[own]).sum())
    if not by_organ:
        return {"organs": 0}
    weights = np.array([*pairs.values()], np.float64)
    values = np.array([*by_organ.values()])
    pooled = [row for own in rows.values() for row in own]
    return {
        "within_organ": float((values * weights).sum() / weights.sum()),
        "mean_of_organs": float(values.mean()),
        "all_together": auroc(scores[pooled], truth[pooled]),
        "by_organ": by_organ,
        "pairs": pairs,
    }


def figures(scored: ScoredTiles, seen: Sequence[str]) -> dict[str, Mapping[str, object]]:
    slides = scored.slides()
    return {
        "organ, tiles": organ_figures(scored, seen),
        "organ, slides": organ_figures(slides, seen),
        "behaviour, tiles": behaviour_figures(scored, seen),
        "behaviour, slides": behaviour_figures(slides, seen),
    }


def apart(known: Array, unknown: Array, limit: float) -> dict[str, float | None]:
    truth = [True] * len(known) + [False] * len(unknown)
    return {
        "auroc": auroc(np.concatenate([known, unknown]), truth),
        "known called known": float((known >= limit).mean()),
        "unknown called unknown": float((unknown < limit).mean()),
    }


@dataclass(frozen=True, slots=True)
class ScoredClaims:
    distances: Array
    true: npt.NDArray[np.bool_]
    groups: npt.NDArray[np.str_]


def distances_of(scored: ScoredTiles, targets: Targets) -> Array:
    """Each cosine in standard deviations above the mean of decoys of the same group."""
    distances = np.zeros_like(scored.cosines)
    for group in CLAIMED:
        columns = [i for i, entry in enumerate(scored.entries) if entry.group == group]
        if not columns:
            continue
        cosines, decoys = scored.cosines[:, columns], targets[:, columns] == FALSE
        count = np.maximum(decoys.sum(axis=1, keepdims=True), 1)
        mean = (cosines * decoys).sum(axis=1, keepdims=True) / count
        spread = np.sqrt((((cosines - mean) * decoys) ** 2).sum(axis=1, keepdims=True) / count)
        distances[:, columns] = (cosines - mean) / np.maximum(spread, 1e-6)
    return distances


def diagnoses_by_organ(scored: ScoredTiles) -> Mapping[str, tuple[str, ...]]:
    held = {entry.name for entry in scored.entries if entry.group == "concept"}
    rows: dict[str, dict[str, None]] = defaultdict(dict)
    for tile in scored.tiles:
        if tile.organ and tile.concept in held and tile.stain_kind == HE:
            rows[tile.organ][str(tile.concept)] = None
    return {organ: tuple(concepts) for organ, concepts in rows.items()}


def claims_within_organs(scored: ScoredTiles) -> ScoredClaims:
    targets, diagnoses, columns = scored.targets(), diagnoses_by_organ(scored), scored.places
    is_within = np.zeros(targets.shape, bool)
    for row, tile in enumerate(scored.tiles):
        own = [columns["concept", name] for name in diagnoses.get(tile.organ or "", ())]
        is_within[row, own] = {TRUE, FALSE} <= set(targets[row, own].tolist())
    return _claims(scored, targets, is_within)


def claims_of(scored: ScoredTiles, groups: Sequence[str] = CLAIMED) -> ScoredClaims:
    targets = scored.targets()
    columns = np.array([entry.group in groups for entry in scored.entries])
    return _claims(scored, targets, np.broadcast_to(columns, targets.shape))


def _claims(scored: ScoredTiles, targets: Targets, chosen: npt.NDArray[np.bool_]) -> ScoredClaims:
    rows, columns = np.nonzero(chosen & (targets != UNKNOWN))
    groups = np.array([entry.group for entry in scored.entries])[columns]
    distances = distances_of(scored, targets)[rows, columns]
    return ScoredClaims(distances, targets[rows, columns] == TRUE, groups)


def replaced_figures(
    scored: ScoredTiles, curves: Mapping[str, ClaimCalibration]
) -> dict[str, dict[str, float]]:
    """The calibrated value of true claims, of decoys, and the drop between, by group."""
    claims = {
        name: claims_of(scored, [group for group in groups if KINDS[group] in curves])
        for name, groups in _TOLD.items()
    }
    if KINDS["concept"] in curves:
        claims[SAME_ORGAN] = claims_within_organs(scored)
    return {
        name: _replaced(group_claims, curves)
        for name, group_claims in claims.items()
        if group_claims.true.any() and not group_claims.true.all()
    }


def _replaced(claims: ScoredClaims, curves: Mapping[str, ClaimCalibration]) -> dict[str, float]:
    values = np.zeros_like(claims.distances)
    for group in sorted(set(claims.groups.tolist())):
        own, curve = claims.groups == group, curves[KINDS[group]]
        values[own] = logistic(curve.slope * (claims.distances[own] - curve.midpoint))
    true, foreign = float(values[claims.true].mean()), float(values[~claims.true].mean())
    return {
        "true": true,
        "foreign": foreign,
        "drop": 1 - foreign / true,
        "auroc": auroc(values, list(claims.true)) or 0.0,
    }


PICTURE_TILES = 36  # in rows and columns of six


@dataclass(frozen=True, slots=True)
class JudgedImages:
    """Images against all entries of the bank, by models that had not learned them."""

    means: ScoredTiles  # one row for each image: the mean over its patches
    heights: ScoredTiles  # the same over the tenth of the patches that speak for an entry most
    tiles: ScoredTiles
    rows: Sequence[Sequence[int]]  # for each image its patches among the tiles

    @classmethod
    def of_tiles(cls, scored: ScoredTiles) -> JudgedImages:
        return cls(scored, scored, scored, [[n] for n in range(len(scored.tiles))])

    @classmethod
    def of_pictures(cls, scored: ScoredTiles, seed: int = 0, least: int = 2) -> JudgedImages | None:
        rows = picture_rows(scored, seed)
        return cls._joined(scored, [group for group in rows if len(group) >= least])

    @classmethod
    def of_slides(cls, scored: ScoredTiles) -> JudgedImages | None:
        rows = _rows(scored, lambda n: (scored.tiles[n].slide,))
        return cls._joined(scored, [group for group in rows.values() if len(group) >= FEW])

    @classmethod
    def _joined(cls, scored: ScoredTiles, rows: Sequence[Sequence[int]]) -> JudgedImages | None:
        if not rows:
            return None

        def top_of_tiles(cosines: Array, axis: int) -> Array:
            return top_mean(np.moveaxis(cosines, axis, -1))

        return cls(scored.joined(rows), scored.joined(rows, top_of_tiles), scored, rows)

    @property
    def patches(self) -> npt.NDArray[np.int64]:
        return np.array([len(group) for group in self.rows], np.int64)

    def organ_margins(
        self, organs: Sequence[str], handicaps: Mapping[str, float] = MappingProxyType({})
    ) -> Array:
        """For each image and organ the margin over all unlike organs; -inf: not learned."""
        columns = [self.means.places["organ", organ] for organ in organs]
        rows = self.means.cosines[:, columns]
        if self.means.taught is not None:
            rows = np.where(self.means.taught[:, columns], rows, -np.inf)
        margins = np.full(rows.shape, -np.inf)
        for index, organ in enumerate(organs):
            rivals = [n for n, rival in enumerate(organs) if not alike(organ, rival)]
            if not rivals:
                continue
            learned = np.isfinite(rows[:, index]) & np.isfinite(rows[:, rivals].max(axis=1))
            margins[learned, index] = organ_margins(
                rows[learned], tuple(organs), frozenset({organ}), handicaps
            )
        return margins

    def malignancy(self, organ: str) -> Array:
        by_tile = tile_malignancy(self.tiles, organ)
        return np.array([malignancy(by_tile[list(group)]) for group in self.rows])

    def standings(self) -> Array:
        return distances_of(self.heights, self.means.targets())


def tile_malignancy(scored: ScoredTiles, organ: str) -> Array:
    """Malignancy of each tile, by words for both sides in an organ; NaN where not learned."""
    total, columns = np.zeros(len(scored.tiles)), scored.places
    for sign, side in ((1, "malignant"), (-1, "benign")):
        for entry in (("behaviour", side), ("site", f"{side} {organ}")):
            if (column := columns.get(entry)) is None:
                return np.full(len(scored.tiles), np.nan)
            total += sign * scored.cosines[:, column]
            if scored.taught is not None:
                total[~scored.taught[:, column]] = np.nan
    return total


def picture_rows(scored: ScoredTiles, seed: int = 0) -> list[list[int]]:
    """The tiles of a picture of each slide and content; single tiles of one content together."""

    def content(n: int) -> tuple[object, ...]:
        tile = scored.tiles[n]
        return tile.organ, tile.concept, tile.behaviour

    draws = np.random.default_rng(seed)
    by_slide = _rows(scored, lambda n: (scored.tiles[n].slide, *content(n)))
    drawn = [draws.permutation(group)[:PICTURE_TILES] for group in by_slide.values()]
    single = [int(group[0]) for group in drawn if len(group) == 1]
    alike_tiles = _rows(scored, lambda n: (scored.tiles[n].laboratory, *content(n)), single)
    for group in map(draws.permutation, alike_tiles.values()):
        drawn += np.split(group, range(PICTURE_TILES, len(group), PICTURE_TILES))
    return [sorted(group.tolist()) for group in drawn if len(group) > 1]


def judged_images(scored: ScoredTiles) -> Mapping[str, JudgedImages]:
    images = {
        "tiles": JudgedImages.of_tiles(scored),
        "pictures": JudgedImages.of_pictures(scored),
        "slides": JudgedImages.of_slides(scored),
    }
    return {name: judged for name, judged in images.items() if judged is not None}


def _rows(
    scored: ScoredTiles,
    key: Callable[[int], tuple[object, ...]],
    positions: Iterable[int] | None = None,
) -> Mapping[tuple[object, ...], list[int]]:
    rows: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for position in range(len(scored.tiles)) if positions is None else positions:
        rows[key(position)].append(position)
    return rows
