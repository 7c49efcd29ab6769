"""Content of tiles, as phrases: the bank of entries that a grounding model is trained against.

An entry is an organ, a concept (a diagnosis), a family of concepts, a behaviour, one in an organ,
or a stain, each with several wordings. For each tile it is true, false or not known: what the index
does not say is never false, and of tiles in another stain than H&E only the stain is learned.
"""

import csv
import io
import json
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from histoeval.errors import InputError, MissingDependency
from histoeval.pathgls.grounding.decisions import BehaviourSide
from histoeval.pathgls.grounding.verdicts import behaviour_wordings
from histoeval.resources import resource_text

TRUE, FALSE, UNKNOWN = 1, 0, -1
HE = "H&E"
_SIDES: tuple[BehaviourSide, ...] = ("benign", "malignant")
_ORGAN_WORDINGS = ("{}", "{} tissue", "tissue of the {}")


@dataclass(frozen=True, slots=True)
class LabelledTile:
    key: str
    organ: str | None
    concept: str | None
    behaviour: str | None
    stain: str
    slide: str
    case: str
    split: str
    laboratory: str = ""  # who cut, stained and scanned it; empty where the index does not say

    @property
    def stain_kind(self) -> str:
        return stain_kind(self.stain)


@dataclass(frozen=True, slots=True)
class TileConcept:
    group: str
    name: str
    phrases: tuple[str, ...]


Targets = npt.NDArray[np.int8]


@cache
def _table(name: str) -> tuple[dict[str, str], ...]:
    text = resource_text(f"evaluate/data/{name}")
    return tuple(csv.DictReader(text.splitlines(), delimiter="\t"))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";") if part.strip())


@cache
def organs() -> Mapping[str, tuple[str, ...]]:
    return {row["organ"]: _listed(row["within"]) for row in _table("tile_organs.tsv")}


@cache
def _organ_of() -> Mapping[str, str]:
    rows = _table("tile_organs.tsv")
    return {name: row["organ"] for row in rows for name in _listed(row["named in the index"])}


@cache
def families() -> Mapping[str, tuple[str, ...]]:
    return {row["concept"]: _listed(row["families"]) for row in _table("tile_concepts.tsv")}


@cache
def _concept_of() -> Mapping[str, str]:
    rows = _table("tile_concepts.tsv")
    aliases = {name: row["concept"] for row in rows for name in _listed(row["other names"])}
    return aliases | {row["concept"]: row["concept"] for row in rows}


_IMAGES_OF_A_CASE = 20


def _corrected(tile: LabelledTile) -> LabelledTile:
    """A tile whose index contradicts its own name, corrected by that name.

    LungHist700 names images by class, differentiation, magnification and number. Where an index was
    joined by the number alone, diagnosis and patient are another image's; images of one class whose
    numbers are near then stand for a case.
    """
    for row in _table("tile_corrections.tsv"):
        if tile.key.startswith(row["key begins with"]):
            stem, _, number = tile.key.rpartition("__")[0].rpartition("_")
            kind = stem.rpartition("_")[0]
            case = f"{kind} {int(number) // _IMAGES_OF_A_CASE}"
            labels = {"concept": row["concept"], "behaviour": row["behaviour"]}
            return replace(tile, slide=case, case=case, **labels)
    return tile


def stain_kind(stain: str) -> str:
    """H&E, immunohistochemistry, cytology or special stain."""
    if stain == HE:
        return HE
    if "cytology" in stain.lower():
        return "cytology"
    if stain.startswith("IHC"):
        return "immunohistochemistry"
    return "special stain"


def read_tiles(path: Path) -> list[LabelledTile]:
    tiles = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                organ, behaviour = row["organ"], row["benign_or_malignant"]
                source = row.get("source_repo") or ""
                # A source that is not listed is a laboratory by itself.
                laboratories = (
                    entry["laboratory"]
                    for entry in _table("tile_laboratories.tsv")
                    if source.startswith(entry["source begins with"])
                )
                tile = LabelledTile(
                    key=row["key"],
                    organ=_organ_of().get(organ, organ if organ in organs() else None),
                    concept=_concept_of().get(row["concept"], row["concept"]) or None,
                    behaviour=behaviour if behaviour in _SIDES else None,
                    stain=row["stain"],
                    slide=row["slide_or_patient"],
                    case=row["case_group"],
                    split=row["split"],
                    laboratory=row.get("laboratory") or next(laboratories, source),
                )
                tiles.append(_corrected(tile))
            except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
                raise InputError(f"{path}, line {number}: not a row of tiles: {error}") from error
    return tiles


def entries_of(tiles: Iterable[LabelledTile]) -> list[TileConcept]:
    labelled = list(tiles)
    names_by_group = {
        "organ": {
            o for tile in labelled if tile.organ for o in (tile.organ, *organs()[tile.organ])
        },
        "concept": {tile.concept for tile in labelled if tile.concept},
        "behaviour": {tile.behaviour for tile in labelled if tile.behaviour},
        "family": {f for tile in labelled for f in families().get(tile.concept or "", ())},
        "site": {f"{t.behaviour} {t.organ}" for t in labelled if t.organ and t.behaviour},
        "stain": {tile.stain_kind for tile in labelled},
    }
    return [entry for entry in all_entries() if entry.name in names_by_group[entry.group]]


@cache
def all_entries() -> tuple[TileConcept, ...]:
    entries = []
    for row in _table("tile_organs.tsv"):
        own = tuple(wording.format(row["organ"]) for wording in _ORGAN_WORDINGS)
        wordings = tuple(dict.fromkeys((*own, *_listed(row["other names"]))))
        entries.append(TileConcept("organ", row["organ"], wordings))
    for row in _table("tile_concepts.tsv"):
        wordings = (row["concept"], *_listed(row["other names"]))
        entries.append(TileConcept("concept", row["concept"], wordings))
    for side in _SIDES:
        entries.append(TileConcept("behaviour", side, behaviour_wordings(side)))
    for row in _table("tile_kinds.tsv"):
        entries.append(TileConcept(row["group"], row["kind"], _listed(row["names"])))
    for organ in organs():
        for side in _SIDES:
            wordings = behaviour_wordings(side, organ)
            entries.append(TileConcept("site", f"{side} {organ}", wordings))
    return tuple(entries)


def targets_of(tiles: Sequence[LabelledTile], entries: Sequence[TileConcept]) -> Targets:
    kinds: dict[LabelledTile, tuple[object, ...]] = {}
    rows: dict[tuple[object, ...], list[int]] = {}
    for tile in tiles:
        kind = kinds[tile] = (tile.organ, tile.concept, tile.behaviour, tile.stain_kind)
        if kind not in rows:
            rows[kind] = [_target(tile, entry) for entry in entries]
    return np.array([rows[kinds[tile]] for tile in tiles], np.int8)


def _target(tile: LabelledTile, entry: TileConcept) -> int:
    if tile.stain_kind != HE and entry.group != "stain":
        return UNKNOWN
    if entry.group == "organ":
        return _organ_target(tile.organ, entry.name)
    if entry.group == "site":
        behaviour, _, organ = entry.name.partition(" ")
        parts = (_organ_target(tile.organ, organ), _same(tile.behaviour, behaviour))
        return FALSE if FALSE in parts else min(parts)
    if entry.group == "family":
        tile_families = families().get(tile.concept or "")
        return UNKNOWN if tile_families is None else int(entry.name in tile_families)
    value = {"concept": tile.concept, "behaviour": tile.behaviour, "stain": tile.stain_kind}
    return _same(value[entry.group], entry.name)


def _organ_target(organ: str | None, entry: str) -> int:
    if organ is None:
        return UNKNOWN
    if entry == organ or entry in organs()[organ]:
        return TRUE
    return UNKNOWN if organ in organs()[entry] else FALSE


def _same(value: str | None, expected: str) -> int:
    return UNKNOWN if value is None else int(value == expected)


INDEX = "index.jsonl"
SIDE = 224  # pixels of a side of a tile

Pixels = npt.NDArray[np.uint8]


def read_pixels(folder: Path, tiles: Sequence[LabelledTile]) -> Pixels:
    """The pictures of these tiles, in their order: rows, columns, and red, green, blue."""
    rows_by_key = {tile.key: row for row, tile in enumerate(tiles)}
    pixels = np.zeros((len(tiles), SIDE, SIDE, 3), np.uint8)
    for key, content in _members(folder):
        if key in rows_by_key:
            pixels[rows_by_key.pop(key)] = _picture(content, key)
    if rows_by_key:
        raise InputError(
            f"{folder} has no picture for {len(rows_by_key)} tiles, as {min(rows_by_key)}"
        )
    return pixels


def _members(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.glob("*.tar")):
        try:
            with tarfile.open(path) as shard:
                for member in shard:
                    file = shard.extractfile(member)
                    if file is not None:
                        yield Path(member.name).stem, file.read()
        except (OSError, tarfile.TarError) as error:
            raise InputError(f"{path} cannot be read: {error}") from error


def _picture(content: bytes, key: str) -> Pixels:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependency(
            "Pillow is not installed: tiles need it; run: pip install pillow"
        ) from error
    try:
        with Image.open(io.BytesIO(content)) as picture:
            pixels = np.asarray(picture.convert("RGB"), np.uint8)
    except OSError as error:
        raise InputError(f"the tile {key} is no picture: {error}") from error
    if pixels.shape != (SIDE, SIDE, 3):
        raise InputError(f"the tile {key} has {pixels.shape[:2]} pixels and not {SIDE} x {SIDE}")
    return pixels
