"""All scores of a grounding model on labelled tiles, and limits fitted to tiles of one's own.

Limits are fitted to tiles that the encoder had not learned from. A claim gets a score as it does
when a report is grounded: an organ by how far it stands above unlike organs, over all patches; a
diagnosis or finding by how far it stands above decoys in the tenth of the patches that speak for it
most; benign or malignant, within an organ, by words for both. Foreign claims set the limit from
which a claim is supported, true ones the limit up to which it is contradicted.
"""

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from histoeval.errors import InputError
from histoeval.evaluate.grounding_scores import (
    KINDS,
    Array,
    JudgedImages,
    ScoredTiles,
    apart,
    auroc,
    behaviour_figures,
    figures,
    judged_images,
    organ_figures,
    replaced_figures,
    score_tiles,
)
from histoeval.evaluate.grounding_verdicts import decided_figures, unsafe_figures, worded_figures
from histoeval.evaluate.tile_labels import (
    FALSE,
    HE,
    INDEX,
    TRUE,
    LabelledTile,
    Pixels,
    TileConcept,
    all_entries,
    entries_of,
    read_pixels,
    read_tiles,
)
from histoeval.pathgls.grounding.builtin import BuiltinEncoder
from histoeval.pathgls.grounding.decisions import (
    ALLOWED,
    ALLOWED_AGAINST,
    ALLOWED_BEHAVIOUR,
    FEW,
    BehaviourLimits,
    ClaimLimits,
    Decisions,
    alike,
    decisions_of,
    organ_vectors,
)
from histoeval.pathgls.grounding.decoys import FEWEST
from histoeval.pathgls.grounding.encoder import ImageTextEncoder, Vectors, weights_of, why_unknown
from histoeval.progress import ignore
from histoeval.report import EntityType
from histoeval.resources import resource_text
from histoeval.statistics.regression import fit_logistic

_AT_ONCE = 32
KNOWN_TILES = "known tiles"


def tiles_of(folder: Path, split: str) -> list[LabelledTile]:
    tiles = read_tiles(folder / INDEX)
    if not (chosen := [tile for tile in tiles if tile.split == split]):
        splits = ", ".join(sorted({tile.split for tile in tiles})) or "none"
        raise InputError(f"{folder / INDEX} has no tile of the split {split}; it has {splits}")
    return chosen


def embedded(
    encoder: ImageTextEncoder, pixels: Pixels, report: Callable[[int], object] = ignore
) -> Vectors:
    parts = []
    for first in range(0, len(pixels), _AT_ONCE):
        parts.append(encoder.images(list(pixels[first : first + _AT_ONCE])))
        report(first + len(parts[-1]))
    return np.concatenate(parts)


def evaluate_grounding(
    encoder: BuiltinEncoder, folder: Path, split: str, report: Callable[[int], object] = ignore
) -> dict[str, Any]:
    tiles = tiles_of(folder, split)
    return figures_of(encoder, tiles, embedded(encoder, read_pixels(folder, tiles), report))


def figures_of(
    encoder: BuiltinEncoder, tiles: Sequence[LabelledTile], vectors: Vectors
) -> dict[str, Any]:
    table = {(entry.group, entry.name): entry for entry in all_entries()}
    bank = zip(encoder.known.groups, encoder.known.entries, strict=True)
    # The entries that the model has learned of, in the order of its folder.
    entries = [table.get(key, TileConcept(*key, (key[1],))) for key in bank]
    organs = [entry.name for entry in entries if entry.group == "organ"]
    is_in_scope = np.array([scope.known for scope in encoder.image_scope(vectors)])
    cosines = vectors.astype(np.float64) @ encoder.known.vectors.T.astype(np.float64)
    curves, decisions = encoder.manifest.calibrations, encoder.decisions
    kinds = np.array([tile.stain_kind for tile in tiles])
    scope = {}
    for kind in sorted(set(kinds)):
        own = is_in_scope[kinds == kind]
        scope[kind] = {"count": len(own), "unknown": float(1 - own.mean())}
    results: dict[str, Any] = {"scope": scope}
    for name, chosen in (("all tiles", kinds == HE), (KNOWN_TILES, is_in_scope & (kinds == HE))):
        positions = np.flatnonzero(chosen).tolist()
        if not positions:
            continue
        scored = ScoredTiles([tiles[i] for i in positions], entries, cosines[positions])
        results[name] = {
            **figures(scored, organs),
            "replaced, tiles": replaced_figures(scored, curves),
            "replaced, slides": replaced_figures(scored.slides(np.max), curves),
        }
        if (pictures := JudgedImages.of_pictures(scored)) is not None:
            results[name] |= {
                "organ, pictures": organ_figures(pictures.means, organs),
                "behaviour, pictures": behaviour_figures(pictures.means, organs),
                "replaced, pictures": replaced_figures(pictures.heights, curves),
            }
        if decisions is not None:
            results[name] |= decided(scored, decisions)
            if name == KNOWN_TILES:
                results[name] |= worded_figures(scored, vectors[positions], encoder, decisions)
                results[name] |= unsafe_figures(scored, vectors[positions], encoder, decisions)
    return results


def decided(scored: ScoredTiles, decisions: Decisions) -> dict[str, Any]:
    return {
        f"decided, {name}": decided_figures(images, decisions)
        for name, images in judged_images(scored).items()
    }


def calibrate(
    encoder: ImageTextEncoder,
    folder: Path,
    splits: Sequence[str],
    report: Callable[[int], object] = ignore,
) -> tuple[Decisions, dict[str, Any]]:
    """Fit limits for an encoder on one's own labelled tiles, and measure them on these.

    The tiles must be of cases that the encoder has not learned from. Limits that cannot be fitted
    stay those that come with the encoder.
    """
    tiles = [tile for split in splits for tile in tiles_of(folder, split)]
    vectors = embedded(encoder, read_pixels(folder, tiles), report)
    reasons = why_unknown(encoder, "images", vectors)
    known_positions = [n for n, reason in enumerate(reasons) if reason is None]
    if not known_positions:
        raise InputError(f"{folder}: no tile of {', '.join(splits)} is known to the encoder")
    tiles, vectors = [tiles[n] for n in known_positions], vectors[known_positions]
    entries = entries_of(tiles)
    scored = score_tiles(tiles, entries, vectors, entry_vectors(encoder, entries))
    organs = told_organs(tiles)
    if isinstance(encoder, BuiltinEncoder):
        bank = set(zip(encoder.known.groups, encoder.known.entries, strict=True))
        organs = tuple(organ for organ in organs if ("organ", organ) in bank)
    decisions = fit_decisions(
        [scored],
        organs,
        weights_of(encoder.identity),
        f"{len(scored.tiles)} tiles of {len({t.case for t in scored.tiles})} cases "
        f"({', '.join(splits)})",
    )
    if (shipped := decisions_of(encoder)) is not None:
        limits = ("tile", "slide", "tile_behaviour", "slide_behaviour")
        merged = {name: {**getattr(shipped, name), **getattr(decisions, name)} for name in limits}
        decisions = decisions.model_copy(update=merged)
    stained = vectors[[tile.stain_kind == HE for tile in tiles]]
    worded = worded_figures(scored, stained, encoder, decisions)
    unsafe = unsafe_figures(scored, stained, encoder, decisions)
    return decisions, {**decided(scored, decisions), **worded, **unsafe}


def entry_vectors(encoder: ImageTextEncoder, entries: Sequence[TileConcept]) -> Vectors:
    """The vector of each entry, over its wordings; organs as grounding asks for them."""
    organs = [entry.name for entry in entries if entry.group == "organ"]
    placed = dict(zip(organs, organ_vectors(encoder, organs), strict=True)) if organs else {}
    rows = [
        placed[entry.name] if entry.group == "organ" else encoder.texts(entry.phrases).mean(axis=0)
        for entry in entries
    ]
    table = np.stack(rows)
    return np.asarray(table / np.linalg.norm(table, axis=1, keepdims=True), np.float32)


def phrases_told(encoder: BuiltinEncoder) -> dict[str, Any]:
    """Measure if other wordings of what was learned are known, and other diagnoses are not."""
    rows = list(probes())
    scopes = encoder.phrase_scope([phrase for _, phrase in rows])
    is_true = np.array([truth for truth, _ in rows])
    likeness = np.array([scope.likeness for scope in scopes])
    results = apart(likeness[is_true], likeness[~is_true], encoder.manifest.scope.phrases.threshold)
    mistakes = [p for (t, p), scope in zip(rows, scopes, strict=True) if t != scope.known]
    return {**results, "count": len(rows), "wrong": mistakes}


def probes() -> Iterator[tuple[bool, str]]:
    text = resource_text("evaluate/data/grounding_probes.tsv")
    for row in csv.DictReader(text.splitlines(), delimiter="\t"):
        yield row["known"] == "yes", row["phrase"]


# --- limits ---------------------------------------------------------------------------------------


class KindScores(NamedTuple):
    true: Array
    foreign: Array
    plain: Array  # the true ones without a handicap: what contradicts a claim


Scores = Mapping[EntityType, KindScores]
Flags = npt.NDArray[np.bool_]

# An organ that was seen in fewer cases cannot be told from what is particular to these
LEAST_CASES = 3

# Of fewer benign or malignant cases of an organ nobody knows how much cases differ
LEAST_CASES_OF_A_SIDE = 5

# Where benign and malignant tissue is told apart less well, most true claims would be doubted
LEAST_AUROC = 0.7

NEVER = -4.0  # behaviour is a sum of four cosines, and lies no lower

_CALM = 1e-6
_LEAST_SCORES = 20
_HALF = 0.5


def told_organs(tiles: Sequence[LabelledTile], least: int = LEAST_CASES) -> tuple[str, ...]:
    cases: dict[str, set[str]] = defaultdict(set)
    for tile in tiles:
        if tile.organ and tile.stain_kind == HE:
            cases[tile.organ].add(tile.case)
    return tuple(sorted(organ for organ, organ_cases in cases.items() if len(organ_cases) >= least))


def organ_handicaps(trials: Sequence[ScoredTiles], organs: Sequence[str]) -> dict[str, float]:
    """Margin of each organ over others in images without it, at the worst of the laboratories.

    Colours go with laboratories: one that was left out may look like a certain organ all over.
    """
    handicaps = dict.fromkeys(organs, 0.0)
    for trial in trials:
        margins = JudgedImages.of_tiles(trial).organ_margins(organs)
        foreign = _foreign(trial, organs) & _told(margins)
        laboratories = np.array([tile.laboratory for tile in trial.tiles])
        for column, organ in enumerate(organs):
            for laboratory in sorted(set(laboratories)):
                scores = margins[foreign[:, column] & (laboratories == laboratory), column]
                if len(scores) >= _LEAST_SCORES:
                    worst = float(np.quantile(scores, 1 - ALLOWED))
                    handicaps[organ] = max(handicaps[organ], worst)
    return handicaps


def _foreign(scored: ScoredTiles, organs: Sequence[str]) -> Flags:
    rows = [[t.organ is not None and not alike(o, t.organ) for o in organs] for t in scored.tiles]
    return np.array(rows)


def _told(margins: Array) -> Flags:
    """True for known margins, of images whose model had learned over half of the organs."""
    is_known = np.isfinite(margins)
    return np.asarray(is_known & (is_known.sum(axis=1, keepdims=True) > margins.shape[1] / 2))


def claim_scores(
    images: JudgedImages, organs: Sequence[str], handicaps: Mapping[str, float]
) -> Scores:
    plain, margins = (images.organ_margins(organs, offsets) for offsets in ({}, handicaps))
    is_told = _told(margins)
    own = is_told & np.array([[t.organ == organ for organ in organs] for t in images.means.tiles])
    foreign = is_told & _foreign(images.means, organs)
    scores = {EntityType.SITE: KindScores(margins[own], margins[foreign], plain[own])}
    targets, stands = images.means.targets(), images.standings()
    groups = Counter(entry.group for entry in images.means.entries)
    for kind in (EntityType.DIAGNOSIS, EntityType.FINDING):
        # Among a few decoys no claim can stand out as far as among those of a report.
        columns = [
            KINDS.get(e.group) == kind.value and e.group != "organ" and groups[e.group] > FEWEST
            for e in images.means.entries
        ]
        true, false = (stands[:, columns][targets[:, columns] == t] for t in (TRUE, FALSE))
        scores[kind] = KindScores(true, false, true)
    return scores


def fit_decisions(
    trials: Sequence[ScoredTiles], organs: Sequence[str], encoder: str, measured_on: str
) -> Decisions:
    """Limits that hold in every trial; curves are those of the first."""
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
        fewest = max(min(map(len, trial[EntityType.SITE])) for trial in scores)
        raise InputError(
            f"too few labelled tiles: {_LEAST_SCORES} true and as many foreign claims of organs "
            f"are needed, and there are {fewest}; add tiles of H&E of two organs or more"
            if fewest < _LEAST_SCORES
            else "the encoder does not tell the organs of these tiles from each other, so that no "
            "report could be supported by it: check the labels, or take another encoder"
        )
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


def _limits(trials: Sequence[Scores]) -> dict[EntityType, ClaimLimits]:
    limits: dict[EntityType, ClaimLimits] = {}
    for kind in (EntityType.SITE, EntityType.DIAGNOSIS, EntityType.FINDING):
        # However far apart organs lie, the one that is claimed must be the likeliest.
        least = _CALM if kind is EntityType.SITE else -np.inf
        parts = [trial[kind] for trial in trials]
        foreign = [part.foreign for part in parts if len(part.foreign) >= _LEAST_SCORES]
        enough = [part for part in parts if min(len(part.true), len(part.foreign)) >= _LEAST_SCORES]
        if (fitted := _limits_of(enough, foreign, least)) is not None:
            midpoint = fitted.supported if kind is EntityType.SITE else fitted.midpoint
            limits[kind] = fitted.model_copy(update={"midpoint": midpoint})
    return limits


def _limits_of(
    enough: Sequence[KindScores],
    foreign: Sequence[Array],
    least: float = -np.inf,
    allowed: float = ALLOWED,
) -> ClaimLimits | None:
    if not enough:
        return None
    # A score at the quantile would be one too many, since limits hold from their value on.
    highest = max(float(np.nextafter(_reached(scores, allowed), np.inf)) for scores in foreign)
    supported = max(highest, least)
    contradicted = min(-_reached(-part.plain, ALLOWED_AGAINST) for part in enough)
    # The logistic curve between true and foreign claims, which weigh the same.
    true, false = enough[0].true, enough[0].foreign
    weights = np.concatenate(
        [np.full(len(scores), _HALF / len(scores)) for scores in (true, false)]
    )
    truth = np.concatenate([np.ones(len(true)), np.zeros(len(false))])
    slope, offset = fit_logistic(np.concatenate([true, false]), truth, weights, ridge=_CALM)
    if slope <= 0:
        return None
    return ClaimLimits(
        slope=slope,
        midpoint=-offset / slope,
        supported=supported,
        contradicted=min(contradicted, supported),
    )


def _reached(scores: Array, share: float) -> float:
    """The value that this share of scores lies above; of few, as in a normal distribution."""
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
    limits: dict[str, BehaviourLimits] = {}
    for organ in organs:
        sides = [_malignancy_by_side(images, organ) for images in trials]
        pairs = [pair for pair in sides if pair is not None]
        aurocs = [
            auroc(np.concatenate(pair), [True] * len(pair[0]) + [False] * len(pair[1]))
            for pair in pairs
        ]
        if not pairs or any((value or 0.0) < LEAST_AUROC for value in aurocs):
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
        if len(pairs) < len(trials):
            malignant = malignant.model_copy(update={"contradicted": NEVER})
            benign = benign.model_copy(update={"contradicted": NEVER, "supported": -NEVER})
        limits[organ] = BehaviourLimits(malignant=malignant, benign=benign)
    return limits


def _malignancy_by_side(images: JudgedImages, organ: str) -> tuple[Array, Array] | None:
    """Malignancy of malignant and of benign images; None where either is of too few cases."""
    scores, tiles = images.malignancy(organ), images.means.tiles
    rows: dict[str | None, list[int]] = defaultdict(list)
    for row, tile in enumerate(tiles):
        if tile.organ == organ and np.isfinite(scores[row]):
            rows[tile.behaviour].append(row)
    sides = rows["malignant"], rows["benign"]
    if any(len({tiles[row].case for row in side}) < LEAST_CASES_OF_A_SIDE for side in sides):
        return None
    return scores[sides[0]], scores[sides[1]]
