"""Tiles, pictures made of them, and slides, as a grounding model sees them: what is decided on.

A picture is up to 6 x 6 tiles of one slide that show the same, drawn by a seed; where slides have a
single tile, of slides of one laboratory that show the same. A slide is all of its tiles. Patches of
both are the tiles, so that every tile is encoded once.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from histoeval.evaluate.grounding_scores import Array, ScoredTiles, distances_of
from histoeval.evaluate.tile_labels import Targets
from histoeval.pathgls.grounding.behaviour import malignancy
from histoeval.pathgls.grounding.decisions import FEW, alike, organ_margins, top_mean

PICTURE_TILES = 36
"""In rows and columns of six."""


@dataclass(frozen=True, slots=True)
class JudgedImages:
    """Images against all entries of the bank, by models that had not learned them."""

    means: ScoredTiles
    """One row for each image: the mean over its patches."""
    heights: ScoredTiles
    """The same over the tenth of the patches that speak for an entry most."""
    tiles: ScoredTiles
    rows: Sequence[Sequence[int]]
    """For each image its patches among the tiles."""

    @classmethod
    def of_tiles(cls, found: ScoredTiles) -> "JudgedImages":
        """Each tile by itself."""
        return cls(found, found, found, [[n] for n in range(len(found.tiles))])

    @classmethod
    def of_pictures(
        cls, found: ScoredTiles, seed: int = 0, least: int = 2
    ) -> "JudgedImages | None":
        """A picture of each slide, of so many tiles at least; nothing where there is none."""
        rows = picture_rows(found, seed)
        return cls._joined(found, [some for some in rows if len(some) >= least])

    @classmethod
    def of_slides(cls, found: ScoredTiles) -> "JudgedImages | None":
        """All tiles of a slide together, where there are some; nothing where there are nowhere."""
        return cls._joined(found, slide_rows(found))

    @classmethod
    def _joined(cls, found: ScoredTiles, rows: Sequence[Sequence[int]]) -> "JudgedImages | None":
        if not rows:
            return None
        return cls(found.joined(rows), found.joined(rows, _top_of_tiles), found, rows)

    @property
    def patches(self) -> npt.NDArray[np.int64]:
        """How many each image has."""
        return np.array([len(some) for some in self.rows], np.int64)

    @property
    def targets(self) -> Targets:
        """What is true of each image."""
        return self.means.targets()

    def organ_margins(
        self, organs: Sequence[str], handicaps: Mapping[str, float] = MappingProxyType({})
    ) -> Array:
        """For each image and organ how far it stands above all unlike ones; -inf: not learned."""
        names = {e.name: n for n, e in enumerate(self.means.entries) if e.group == "organ"}
        places = [names[organ] for organ in organs]
        rows = self.means.cosines[:, places]
        if self.means.taught is not None:
            rows = np.where(self.means.taught[:, places], rows, -np.inf)
        margins = np.full(rows.shape, -np.inf)
        for place, organ in enumerate(organs):
            rivals = [n for n, other in enumerate(organs) if not alike(organ, other)]
            if not rivals:
                continue
            learned = np.isfinite(rows[:, place]) & np.isfinite(rows[:, rivals].max(axis=1))
            margins[learned, place] = organ_margins(
                rows[learned], tuple(organs), frozenset({organ}), handicaps
            )
        return margins

    def malignancy(self, organ: str) -> Array:
        """How malignant each image looks as tissue of an organ; NaN: that was not learned."""
        by_tile = tile_malignancy(self.tiles, organ)
        return np.array([malignancy(by_tile[list(some)]) for some in self.rows])

    def standings(self) -> Array:
        """For each image and entry how far it stands above decoys of its group."""
        return distances_of(self.heights, self.targets)


def tile_malignancy(found: ScoredTiles, organ: str) -> Array:
    """How much more malignant than benign each tile looks, by words for both in an organ."""
    total = np.zeros(len(found.tiles))
    places = {(entry.group, entry.name): n for n, entry in enumerate(found.entries)}
    for sign, side in ((1, "malignant"), (-1, "benign")):
        for entry in (("behaviour", side), ("site", f"{side} {organ}")):
            if (place := places.get(entry)) is None:
                return np.full(len(found.tiles), np.nan)
            total += sign * found.cosines[:, place]
            if found.taught is not None:
                total[~found.taught[:, place]] = np.nan
    return total


def picture_rows(found: ScoredTiles, seed: int = 0) -> list[list[int]]:
    """The tiles of a picture of each slide, as many as there are.

    Where tiles of a slide show different things, each of these has a picture of its own. Slides of
    a single tile are put together where they show the same.
    """
    draws = np.random.default_rng(seed)
    by_slide = _rows(found, lambda n: (found.tiles[n].slide, *_shown(found, n)))
    drawn = [draws.permutation(some)[:PICTURE_TILES] for some in by_slide.values()]
    single = [int(some[0]) for some in drawn if len(some) == 1]
    alike_tiles = _rows(found, lambda n: (found.tiles[n].laboratory, *_shown(found, n)), single)
    for some in map(draws.permutation, alike_tiles.values()):
        drawn += np.split(some, range(PICTURE_TILES, len(some), PICTURE_TILES))
    return [sorted(some.tolist()) for some in drawn if len(some) > 1]


def slide_rows(found: ScoredTiles) -> list[list[int]]:
    """The tiles of each slide that has some."""
    rows = _rows(found, lambda n: (found.tiles[n].slide,))
    return [some for some in rows.values() if len(some) >= FEW]


def judged_images(found: ScoredTiles) -> Mapping[str, JudgedImages]:
    """Tiles, pictures and slides, as far as there are any."""
    images = {
        "tiles": JudgedImages.of_tiles(found),
        "pictures": JudgedImages.of_pictures(found),
        "slides": JudgedImages.of_slides(found),
    }
    return {name: some for name, some in images.items() if some is not None}


def _rows(
    found: ScoredTiles,
    key: Callable[[int], tuple[object, ...]],
    some: Iterable[int] | None = None,
) -> Mapping[tuple[object, ...], list[int]]:
    """The tiles, or some of them, that have the same key, in their order."""
    rows: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for place in range(len(found.tiles)) if some is None else some:
        rows[key(place)].append(place)
    return rows


def _shown(found: ScoredTiles, place: int) -> tuple[object, ...]:
    """What a tile shows."""
    tile = found.tiles[place]
    return tile.organ, tile.concept, tile.behaviour


def _top_of_tiles(cosines: Array, axis: int) -> Array:
    """For each entry the mean over the tiles that speak for it most."""
    return top_mean(np.moveaxis(cosines, axis, -1))
