"""Tiles, pictures made of them, and slides, as a grounding model sees them: what is decided on.

A picture is up to 6 x 6 tiles of one slide that show the same, drawn by a seed; a slide is all of
its tiles. The patches of both are the tiles, so that every tile is encoded once.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from histoeval.evaluate.grounding_scores import Array, ScoredTiles, distances_of
from histoeval.evaluate.tile_labels import Targets
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
    patches: npt.NDArray[np.int64]

    @classmethod
    def of_tiles(cls, found: ScoredTiles) -> "JudgedImages":
        """Each tile by itself."""
        return cls(found, found, np.ones(len(found.tiles), np.int64))

    @classmethod
    def of_pictures(cls, found: ScoredTiles, seed: int = 0) -> "JudgedImages | None":
        """A picture of each slide, of as many tiles as there are; nothing without two tiles.

        Where tiles of a slide show different things, each of these has a picture of its own.
        """
        draws = np.random.default_rng(seed)
        rows = _rows(found, lambda n: _shown(found, n))
        drawn = [
            sorted(draws.permutation(some)[:PICTURE_TILES].tolist())
            for some in rows.values()
            if len(some) > 1
        ]
        return cls._joined(found, drawn)

    @classmethod
    def of_slides(cls, found: ScoredTiles) -> "JudgedImages | None":
        """All tiles of a slide together, where there are some; nothing where there are nowhere."""
        rows = _rows(found, lambda n: (found.tiles[n].slide,))
        return cls._joined(found, [some for some in rows.values() if len(some) >= FEW])

    @classmethod
    def _joined(cls, found: ScoredTiles, rows: Sequence[Sequence[int]]) -> "JudgedImages | None":
        if not rows:
            return None
        means, heights = found.joined(rows), found.joined(rows, _top_of_tiles)
        return cls(means, heights, np.array([len(some) for some in rows], np.int64))

    @property
    def targets(self) -> Targets:
        """What is true of each image."""
        return self.means.targets()

    def organ_margins(self, organs: Sequence[str]) -> Array:
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
                rows[learned], tuple(organs), frozenset({organ})
            )
        return margins

    def standings(self) -> Array:
        """For each image and entry how far it stands above decoys of its group."""
        return distances_of(self.heights, self.targets)


def judged_images(found: ScoredTiles) -> Mapping[str, JudgedImages]:
    """Tiles, pictures and slides, as far as there are any."""
    images = {
        "tiles": JudgedImages.of_tiles(found),
        "pictures": JudgedImages.of_pictures(found),
        "slides": JudgedImages.of_slides(found),
    }
    return {name: some for name, some in images.items() if some is not None}


def _rows(
    found: ScoredTiles, key: Callable[[int], tuple[object, ...]]
) -> Mapping[tuple[object, ...], list[int]]:
    """The tiles that have the same key, in their order."""
    rows: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for place in range(len(found.tiles)):
        rows[key(place)].append(place)
    return rows


def _shown(found: ScoredTiles, place: int) -> tuple[object, ...]:
    """The slide of a tile and what it shows."""
    tile = found.tiles[place]
    return tile.slide, tile.organ, tile.concept, tile.behaviour


def _top_of_tiles(cosines: Array, axis: int) -> Array:
    """For each entry the mean over the tiles that speak for it most."""
    return top_mean(np.moveaxis(cosines, axis, -1))
