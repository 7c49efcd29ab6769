"""Tiles as files: `tiles/*.png`, a row for each in `tiles.jsonl`, and a summary in `slide.json`.

A row is written after its image. The same command resumes an interrupted run and leaves the same
files, byte for byte, as an uninterrupted one.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from histoeval.errors import OutputError, Problem
from histoeval.io.images import image_hash
from histoeval.io.store import RowStore
from histoeval.io.writing import make_folder, write_whole, writing_to
from histoeval.runtime.threads import WORKERS, in_order
from histoeval.slides.slide import Pixels, Slide
from histoeval.slides.tiles import TilePlace, TilePlan, read_tile
from histoeval.version import __version__

Watch = Callable[[int], None]
"""Called with the number of tiles that are done."""


def _no_progress(done: int) -> None:
    pass


class TileRow(NamedTuple):
    """One tile as it is written."""

    content: dict[str, Any]

    @property
    def id(self) -> str:
        """The place of the tile in the grid."""
        name: str = self.content["id"]
        return name

    def line(self) -> bytes:
        """The row as one line of JSON."""
        return json.dumps(self.content).encode() + b"\n"

    @classmethod
    def of_line(cls, line: bytes) -> TileRow:
        """The row that was written so."""
        content = json.loads(line)
        if not isinstance(content, dict) or not {"id", "file", "error"} <= content.keys():
            raise ValueError("not the row of a tile")
        return cls(content)


class TileFolder(RowStore[TileRow]):
    """A folder that tiles are written to, and in which a run can be resumed."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, TileRow.of_line, folder="tiles.jsonl")
        self.meta = self.summary = path / "slide.json"
        self.wrapped = True
        self.pictures = path / "tiles"

    def _make_place(self) -> None:
        super()._make_place()
        make_folder(self.pictures)

    def _written(self) -> Iterable[Path]:
        return (self.path, self.meta, *self.pictures.glob("r*_c*.png"))

    def save(self, place: TilePlace, png: bytes) -> None:
        """Write an image atomically."""
        with writing_to(self.home):
            write_whole(self.pictures / f"{place.id}.png", png)


def write_tiles(
    slide: Slide,
    plan: TilePlan,
    folder: TileFolder,
    *,
    overwrite: bool = False,
    workers: int = WORKERS,
    watch: Watch = _no_progress,
) -> dict[str, Any]:
    """Cut and write the tiles of a plan, except those already written, and summarise them."""
    with folder.opened(_run(slide, plan), overwrite=overwrite):
        rows = list(folder)
        _check_rows(folder, rows, plan)
        for place in _lost(folder, rows, plan):
            _cut(slide, plan, folder, place)
        left = plan.places[len(rows) :]
        for row in in_order(lambda place: _cut(slide, plan, folder, place), left, workers):
            folder.write([row])
            rows.append(row)
            watch(len(rows))
        problems = Counter(row.content["error"]["code"] for row in rows if row.content["error"])
        summary = _summary(plan, problems)
        folder.finish(summary)
    return summary


def png_bytes(pixels: Pixels) -> bytes:
    """An image as PNG, the same bytes for the same pixels."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG", compress_level=1)
    return stream.getvalue()


def _cut(slide: Slide, plan: TilePlan, folder: TileFolder, place: TilePlace) -> TileRow:
    """Read a tile, save its image and make its row."""
    tile = read_tile(slide, plan, place)
    if tile.pixels is not None:
        folder.save(place, png_bytes(tile.pixels))
    return _row(plan, place, tile.problem)


def _row(plan: TilePlan, place: TilePlace, problem: Problem | None) -> TileRow:
    error = None if problem is None else {"code": problem.code, "message": problem.message}
    content = {
        "id": place.id,
        "file": None if problem else f"tiles/{place.id}.png",
        **asdict(place),
        "edge": place.inside < 1,
        "level": plan.magnification.level,
        "mpp": plan.mpp,
        "error": error,
    }
    return TileRow(content)


def _check_rows(folder: TileFolder, rows: list[TileRow], plan: TilePlan) -> None:
    """Rows that are already there must be the first ones of this plan."""
    wanted = [place.id for place in plan.places[: len(rows)]]
    if [row.id for row in rows] != wanted:
        raise OutputError(
            f"the rows of {folder.path} are not the tiles of this slide; "
            "give another --output, or --overwrite to replace them"
        )


def _lost(folder: TileFolder, rows: list[TileRow], plan: TilePlan) -> list[TilePlace]:
    """Places that have a row but whose image was deleted."""
    there = {file.name for file in folder.pictures.iterdir()}
    pairs = zip(rows, plan.places, strict=False)
    return [place for row, place in pairs if row.content["file"] and f"{place.id}.png" not in there]


def _summary(plan: TilePlan, problems: Counter[str]) -> dict[str, Any]:
    return {
        "grid": [plan.columns, plan.rows],
        "with_tissue": plan.with_tissue,
        "wanted": len(plan.places),
        "written": len(plan.places) - problems.total(),
        "at_the_edge": sum(place.inside < 1 for place in plan.places),
        "problems": dict(sorted(problems.items())),
        "mpp": plan.mpp,
        "notes": list(plan.notes),
    }


def _run(slide: Slide, plan: TilePlan) -> dict[str, Any]:
    """What identifies a run: the slide and all settings."""
    known = slide.resolution
    return {
        "histoeval": __version__,
        "slide": slide.path.name,
        "format": slide.format,
        "size": [slide.width, slide.height],
        "resolution": None if known is None else asdict(known),
        "fingerprint": image_hash(slide.path),
        "request": asdict(plan.request),
    }
