"""All scores of a written grounding model on the tiles of a split, with chance level.

The model is asked as it is shipped, picture by picture. Tiles that it calls unknown are counted,
and scores are given with them and without.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from histoeval.errors import InputError
from histoeval.evaluate.grounding_scores import ScoredTiles, apart, figures, replaced_figures
from histoeval.evaluate.tile_labels import (
    HE,
    INDEX,
    LabelledTile,
    Pixels,
    TileConcept,
    all_entries,
    read_pixels,
    read_tiles,
)
from histoeval.pathgls.grounding.builtin import BuiltinEncoder
from histoeval.pathgls.grounding.encoder import Vectors
from histoeval.progress import ignore
from histoeval.resources import resource_text

_AT_ONCE = 32


def tiles_of(folder: Path, split: str) -> list[LabelledTile]:
    """The tiles of a split."""
    found = [tile for tile in read_tiles(folder / INDEX) if tile.split == split]
    if not found:
        raise InputError(f"{folder / INDEX} has no tile of the split {split}")
    return found


def embedded(
    encoder: BuiltinEncoder, pixels: Pixels, report: Callable[[int], object] = ignore
) -> Vectors:
    """The vectors of pictures."""
    parts = []
    for first in range(0, len(pixels), _AT_ONCE):
        parts.append(encoder.images(list(pixels[first : first + _AT_ONCE])))
        report(first + len(parts[-1]))
    return np.concatenate(parts)


def entries_known(encoder: BuiltinEncoder) -> list[TileConcept]:
    """The entries of the bank that the model has learned of, in the order of its folder."""
    table = {(entry.group, entry.name): entry for entry in all_entries()}
    known = encoder.known
    return [
        table.get((group, name), TileConcept(group, name, (name,)))
        for group, name in zip(known.groups, known.entries, strict=True)
    ]


def evaluate_grounding(
    encoder: BuiltinEncoder,
    folder: Path,
    split: str,
    report: Callable[[int], object] = ignore,
) -> dict[str, Any]:
    """Every score for the tiles of a split."""
    tiles = tiles_of(folder, split)
    vectors = embedded(encoder, read_pixels(folder, tiles), report)
    return figures_of(encoder, tiles, vectors)


def figures_of(
    encoder: BuiltinEncoder, tiles: Sequence[LabelledTile], vectors: Vectors
) -> dict[str, Any]:
    """Every score, from the vectors of the tiles."""
    entries = entries_known(encoder)
    organs = [entry.name for entry in entries if entry.group == "organ"]
    known = np.array([scope.known for scope in encoder.image_scope(vectors)])
    stained = np.array([tile.stain_kind == HE for tile in tiles])
    cosines = vectors.astype(np.float64) @ encoder.known.vectors.T.astype(np.float64)
    curves = encoder.manifest.calibrations
    results: dict[str, Any] = {"scope": _scope(tiles, known)}
    for name, kept in (("all tiles", stained), ("known tiles", stained & known)):
        places = np.flatnonzero(kept).tolist()
        if not places:
            continue
        found = ScoredTiles([tiles[i] for i in places], entries, cosines[places])
        results[name] = {
            **figures(found, organs),
            "replaced, tiles": replaced_figures(found, curves),
            "replaced, slides": replaced_figures(found.slides(np.max), curves),
        }
    return results


def phrases_told(encoder: BuiltinEncoder) -> dict[str, Any]:
    """Whether other wordings of what was learned are known, and other diagnoses are not.

    The list was written by language models, and none of its phrases is in the bank.
    """
    rows = list(probes())
    scopes = encoder.phrase_scope([phrase for _, phrase in rows])
    known = np.array([truth for truth, _ in rows])
    likeness = np.array([scope.likeness for scope in scopes])
    results = apart(likeness[known], likeness[~known], encoder.manifest.scope.phrases.threshold)
    wrong = [p for (t, p), scope in zip(rows, scopes, strict=True) if t != scope.known]
    return {**results, "count": len(rows), "wrong": wrong}


def probes() -> Iterator[tuple[bool, str]]:
    """Phrases, and whether what they say was learned."""
    text = resource_text("evaluate/data/grounding_probes.tsv")
    for row in csv.DictReader(text.splitlines(), delimiter="\t"):
        yield row["known"] == "yes", row["phrase"]


def _scope(tiles: Sequence[LabelledTile], known: Any) -> dict[str, dict[str, float]]:
    """How many tiles are called unknown, by kind of stain."""
    kinds = np.array([tile.stain_kind for tile in tiles])
    return {
        kind: {
            "count": int((kinds == kind).sum()),
            "unknown": float(1 - known[kinds == kind].mean()),
        }
        for kind in sorted(set(kinds))
    }
