"""Labelled tiles as cases: each with a short report that a template writes from its labels."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from histoeval.errors import InputError, MissingDependency
from histoeval.evaluate.tile_labels import HE, INDEX, LabelledTile, read_pixels, read_tiles
from histoeval.io.writing import make_folder, writing_to
from histoeval_research.experiments.pathgls.sampling import drawn


def template_report(organ: str, diagnosis: str, behaviour: str) -> str:
    """A short report of a tile with these labels."""
    return (
        f"Biopsy of the {organ}. Sections show {diagnosis}. The lesion is {behaviour}. "
        f"The diagnosis is {diagnosis}."
    )


def splits_of(folder: Path) -> set[str]:
    """The splits of a folder of tiles."""
    return {tile.split for tile in _tiles(folder)}


def sample_tiles(folder: Path, split: str, most: int, seed: int = 0) -> list[LabelledTile]:
    """Tiles of a split in H&E whose labels are all known, drawn by seed."""
    own = [tile for tile in _tiles(folder) if tile.split == split and _labelled(tile)]
    if not own:
        raise InputError(f"{folder / INDEX} has no labelled H&E tile of the split {split}")
    return drawn(own, [tile.key for tile in own], most, seed)


def _tiles(folder: Path) -> list[LabelledTile]:
    if not (folder / INDEX).is_file():
        raise InputError(f"{folder} is no folder of tiles: it has no {INDEX}")
    return read_tiles(folder / INDEX)


def _labelled(tile: LabelledTile) -> bool:
    return bool(tile.stain == HE and tile.organ and tile.concept and tile.behaviour)


def tile_reports(tiles: Sequence[LabelledTile]) -> Iterator[dict[str, str]]:
    """Each tile as a row with id, patient, image and report."""
    for tile in tiles:
        report = template_report(tile.organ or "", tile.concept or "", tile.behaviour or "")
        yield {
            "id": tile.key,
            "patient": tile.case,
            "image": f"{tile.key}.png",
            "report": report,
        }


def unpack_tiles(folder: Path, tiles: Sequence[LabelledTile], images: Path) -> None:
    """Write the pictures of these tiles, unless they are there."""
    wanted = [tile for tile in tiles if not (images / f"{tile.key}.png").exists()]
    if not wanted:
        return
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependency(
            "Pillow is not installed: tiles need it; run: pip install pillow"
        ) from error
    with writing_to(images):
        make_folder(images)
        for tile, pixels in zip(wanted, read_pixels(folder, wanted), strict=True):
            Image.fromarray(pixels).save(images / f"{tile.key}.png")
