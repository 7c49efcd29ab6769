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
    found = [tile for tile in tiles if tile.split == split]
    if not found:
        others = ", ".join(sorted({tile.split for tile in tiles})) or "none"
        raise InputError(f"{folder / INDEX} has no tile of the split {split}; it has {others}")
    return found


def embedded(
    encoder: ImageTextEncoder, pixels: Pixels, report: Callable[[int], object] = ignore
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
    curves, decisions = encoder.manifest.calibrations, encoder.decisions
    results: dict[str, Any] = {"scope": _scope(tiles, known)}
    for name, kept in (("all tiles", stained), (KNOWN_TILES, stained & known)):
        places = np.flatnonzero(kept).tolist()
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
    kept = [tiles[n] for n in known]
    entries = entries_of(kept)
    found = scored(kept, entries, vectors[known], entry_vectors(encoder, entries))
    learned = told_organs(kept)
    if isinstance(encoder, BuiltinEncoder):
        bank = zip(encoder.known.groups, encoder.known.entries, strict=True)
        learned = tuple(name for group, name in bank if group == "organ")
    organs = tuple(o for o in told_organs(kept) if o in learned)
    decisions = fit_decisions(
        [found],
        organs,
        weights_of(encoder.identity),
        f"{len(found.tiles)} tiles of {len({t.case for t in found.tiles})} cases "
        f"({', '.join(splits)})",
    )
    if (shipped := decisions_of(encoder)) is not None:
        kept_limits = {
            "tile": {**shipped.tile, **decisions.tile},
            "slide": {**shipped.slide, **decisions.slide},
            "tile_behaviour": {**shipped.tile_behaviour, **decisions.tile_behaviour},
            "slide_behaviour": {**shipped.slide_behaviour, **decisions.slide_behaviour},
        }
        decisions = decisions.model_copy(update=kept_limits)
    usual = [n for n in known if tiles[n].stain_kind == HE]
    worded = worded_figures(found, vectors[usual], encoder, decisions)
    unsafe = unsafe_figures(found, vectors[usual], encoder, decisions)
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
