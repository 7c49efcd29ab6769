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
from histoeval.evaluate.grounding_decisions import fit_decisions, told_organs
from histoeval.evaluate.grounding_scores import (
    JudgedImages,
    ScoredTiles,
    apart,
    behaviour_figures,
    figures,
    judged_images,
    organ_figures,
    replaced_figures,
    scored,
)
from histoeval.evaluate.grounding_verdicts import decided_figures, unsafe_figures, worded_figures
from histoeval.evaluate.tile_labels import (
    HE,
    INDEX,
    LabelledTile,
    Pixels,
    TileConcept,
    all_entries,
    entries_of,
    read_pixels,
    read_tiles,
)
from histoeval.pathgls.grounding.builtin import BuiltinEncoder
from histoeval.pathgls.grounding.decisions import Decisions, decisions_of, organ_vectors
from histoeval.pathgls.grounding.encoder import (
    ImageTextEncoder,
    Vectors,
    unknown_images,
    weights_of,
)
from histoeval.progress import ignore
from histoeval.resources import resource_text

_AT_ONCE = 32
KNOWN_TILES = "known tiles"


def tiles_of(folder: Path, split: str) -> list[LabelledTile]:
    """The tiles of a split."""
    tiles = read_tiles(folder / INDEX)
    if not (chosen := [tile for tile in tiles if tile.split == split]):
        splits = ", ".join(sorted({tile.split for tile in tiles})) or "none"
        raise InputError(f"{folder / INDEX} has no tile of the split {split}; it has {splits}")
    return chosen


def embedded(
    encoder: ImageTextEncoder, pixels: Pixels, report: Callable[[int], object] = ignore
) -> Vectors:
    """The vectors of pictures."""
    parts = []
    for first in range(0, len(pixels), _AT_ONCE):
        parts.append(encoder.images(list(pixels[first : first + _AT_ONCE])))
        report(first + len(parts[-1]))
    return np.concatenate(parts)


def evaluate_grounding(
    encoder: BuiltinEncoder,
    folder: Path,
    split: str,
    report: Callable[[int], object] = ignore,
) -> dict[str, Any]:
    """Every score for the tiles of a split."""
    tiles = tiles_of(folder, split)
    vectors = embedded(encoder, read_pixels(folder, tiles), report)
    table = {(entry.group, entry.name): entry for entry in all_entries()}
    bank = zip(encoder.known.groups, encoder.known.entries, strict=True)
    # The entries that the model has learned of, in the order of its folder.
    entries = [table.get(key, TileConcept(*key, (key[1],))) for key in bank]
    organs = [entry.name for entry in entries if entry.group == "organ"]
    known = np.array([scope.known for scope in encoder.image_scope(vectors)])
    cosines = vectors.astype(np.float64) @ encoder.known.vectors.T.astype(np.float64)
    curves, decisions = encoder.manifest.calibrations, encoder.decisions
    kinds = np.array([tile.stain_kind for tile in tiles])
    scope = {
        kind: {
            "count": int((kinds == kind).sum()),
            "unknown": float(1 - known[kinds == kind].mean()),
        }
        for kind in sorted(set(kinds))
    }
    results: dict[str, Any] = {"scope": scope}
    for name, chosen in (("all tiles", kinds == HE), (KNOWN_TILES, known & (kinds == HE))):
        places = np.flatnonzero(chosen).tolist()
        if not places:
            continue
        found = ScoredTiles([tiles[i] for i in places], entries, cosines[places])
        results[name] = {
            **figures(found, organs),
            "replaced, tiles": replaced_figures(found, curves),
            "replaced, slides": replaced_figures(found.slides(np.max), curves),
        }
        if (pictures := JudgedImages.of_pictures(found)) is not None:
            results[name] |= {
                "organ, pictures": organ_figures(pictures.means, organs),
                "behaviour, pictures": behaviour_figures(pictures.means, organs),
                "replaced, pictures": replaced_figures(pictures.heights, curves),
            }
        if decisions is not None:
            results[name] |= decided(found, decisions)
            if name == KNOWN_TILES:
                results[name] |= worded_figures(found, vectors[places], encoder, decisions)
                results[name] |= unsafe_figures(found, vectors[places], encoder, decisions)
    return results


def decided(found: ScoredTiles, decisions: Decisions) -> dict[str, Any]:
    """What is said of true and of wrong reports, for tiles, for pictures of them and for slides."""
    return {
        f"decided, {name}": decided_figures(images, decisions)
        for name, images in judged_images(found).items()
    }


def calibrate(
    encoder: ImageTextEncoder,
    folder: Path,
    splits: Sequence[str],
    report: Callable[[int], object] = ignore,
) -> tuple[Decisions, dict[str, Any]]:
    """Limits for an encoder from labelled tiles of one's own, and what they give on these.

    The tiles must be of cases that the encoder has not learned from. Where they show too few
    diagnoses or findings for limits of these, those that come with the encoder stay.
    """
    tiles = [tile for split in splits for tile in tiles_of(folder, split)]
    vectors = embedded(encoder, read_pixels(folder, tiles), report)
    known = [n for n, reason in enumerate(unknown_images(encoder, vectors)) if reason is None]
    if not known:
        raise InputError(f"{folder}: no tile of {', '.join(splits)} is known to the encoder")
    tiles, vectors = [tiles[n] for n in known], vectors[known]
    entries = entries_of(tiles)
    found = scored(tiles, entries, vectors, entry_vectors(encoder, entries))
    organs = told_organs(tiles)
    if isinstance(encoder, BuiltinEncoder):
        bank = set(zip(encoder.known.groups, encoder.known.entries, strict=True))
        organs = tuple(organ for organ in organs if ("organ", organ) in bank)
    decisions = fit_decisions(
        [found],
        organs,
        weights_of(encoder.identity),
        f"{len(found.tiles)} tiles of {len({t.case for t in found.tiles})} cases "
        f"({', '.join(splits)})",
    )
    if (shipped := decisions_of(encoder)) is not None:
        limits = ("tile", "slide", "tile_behaviour", "slide_behaviour")
        both = {name: {**getattr(shipped, name), **getattr(decisions, name)} for name in limits}
        decisions = decisions.model_copy(update=both)
    stained = vectors[[tile.stain_kind == HE for tile in tiles]]
    worded = worded_figures(found, stained, encoder, decisions)
    unsafe = unsafe_figures(found, stained, encoder, decisions)
    return decisions, {**decided(found, decisions), **worded, **unsafe}


def entry_vectors(encoder: ImageTextEncoder, entries: Sequence[TileConcept]) -> Vectors:
    """Where an encoder puts each entry, over its wordings; organs as grounding asks for them."""
    organs = [entry.name for entry in entries if entry.group == "organ"]
    placed = dict(zip(organs, organ_vectors(encoder, organs), strict=True)) if organs else {}
    rows = [
        placed[entry.name] if entry.group == "organ" else encoder.texts(entry.phrases).mean(axis=0)
        for entry in entries
    ]
    table = np.stack(rows)
    return np.asarray(table / np.linalg.norm(table, axis=1, keepdims=True), np.float32)


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
