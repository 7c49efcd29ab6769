"""Tiles as files: `tiles/*.png`, a row for each in `tiles.jsonl`, and a summary in `slide.json`.

A row is written after its image. The same command resumes an interrupted run and leaves the same
files, byte for byte, as an uninterrupted one.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PIL import Image

from histoeval.errors import OutputError, Problem
from histoeval.io.results import (
    drop_half_line,
    files_of,
    read_json,
    read_lines,
    refuse_another,
    unknown_maker,
    write_json,
)
from histoeval.runtime.threads import WORKERS, in_order
from histoeval.slides.slide import Pixels, Slide
from histoeval.slides.tiles import TilePlace, TilePlan, read_tile
from histoeval.version import __version__

PROBE_BYTES = 1 << 20
"""Hashed of the start and of the end of a slide, to identify it."""

Watch = Callable[[int], None]
"""Called with the number of tiles that are done."""


def _no_progress(done: int) -> None:
    pass


class TileFolder:
    """A folder that tiles are written to, and in which a run can be resumed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pictures = path / "tiles"
        self.rows = path / "tiles.jsonl"
        self.about = path / "slide.json"

    def prepare(self, run: Mapping[str, Any], *, overwrite: bool = False) -> None:
        """Prepare the folder for a new run, or to resume the same one."""
        with files_of(self.path):
            if self.path.is_file():
                raise OutputError(f"{self.path} is a file; tiles need a folder")
            self.pictures.mkdir(parents=True, exist_ok=True)
            if overwrite:
                self._empty()
            if self.about.exists():
                refuse_another(self.path, read_json(self.about, self.path).get("run", {}), run)
            elif self.rows.exists():
                raise unknown_maker(self.path)
            write_json(self.about, {"run": run, "finished": False})
            if self.rows.exists():
                drop_half_line(self.rows)

    def _empty(self) -> None:
        """Delete only what a run writes."""
        for file in (self.rows, self.about, *self.pictures.glob("r*_c*.png")):
            file.unlink(missing_ok=True)

    def finished(self) -> list[dict[str, Any]]:
        """Rows of tiles that are already written."""
        if not self.rows.exists():
            return []
        with files_of(self.path):
            rows: list[dict[str, Any]] = list(read_lines(self.rows, json.loads))
        return rows

    def save(self, place: TilePlace, png: bytes) -> None:
        """Write an image atomically."""
        draft = self.pictures / f"{place.id}.part"
        draft.write_bytes(png)
        draft.replace(self.pictures / f"{place.id}.png")


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
    run = _run(slide, plan)
    folder.prepare(run, overwrite=overwrite)
    before = folder.finished()
    _check_rows(folder, before, plan)
    for place in _lost(folder, before, plan):
        _cut(slide, plan, folder, place)
    problems = Counter(row["error"]["code"] for row in before if row["error"])
    with files_of(folder.path), folder.rows.open("ab") as rows:
        left = plan.places[len(before) :]
        for done, row in enumerate(
            in_order(lambda place: _cut(slide, plan, folder, place), left, workers),
            start=len(before) + 1,
        ):
            rows.write(json.dumps(row).encode() + b"\n")
            rows.flush()
            problems.update([row["error"]["code"]] if row["error"] else [])
            watch(done)
    summary = _summary(plan, problems)
    with files_of(folder.path):
        write_json(folder.about, {"run": run, "finished": True, "summary": summary})
    return summary


def png_bytes(pixels: Pixels) -> bytes:
    """An image as PNG, the same bytes for the same pixels."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG", compress_level=1)
    return stream.getvalue()


def _cut(slide: Slide, plan: TilePlan, folder: TileFolder, place: TilePlace) -> dict[str, Any]:
    """Read a tile, save its image and make its row."""
    tile = read_tile(slide, plan, place)
    if tile.pixels is not None:
        with files_of(folder.path):
            folder.save(place, png_bytes(tile.pixels))
    return _row(plan, place, tile.problem)


def _row(plan: TilePlan, place: TilePlace, problem: Problem | None) -> dict[str, Any]:
    error = None if problem is None else {"code": problem.code, "message": problem.message}
    return {
        "id": place.id,
        "file": None if problem else f"tiles/{place.id}.png",
        **asdict(place),
        "edge": place.inside < 1,
        "level": plan.magnification.level,
        "mpp": plan.mpp,
        "error": error,
    }


def _check_rows(folder: TileFolder, rows: list[dict[str, Any]], plan: TilePlan) -> None:
    """Rows that are already there must be the first ones of this plan."""
    wanted = [place.id for place in plan.places[: len(rows)]]
    if [row.get("id") for row in rows] != wanted:
        raise OutputError(
            f"the rows of {folder.rows} are not the tiles of this slide; "
            "give another --output, or --overwrite to replace them"
        )


def _lost(folder: TileFolder, rows: list[dict[str, Any]], plan: TilePlan) -> list[TilePlace]:
    """Places that have a row but whose image was deleted."""
    there = {file.name for file in folder.pictures.iterdir()}
    pairs = zip(rows, plan.places, strict=False)
    return [place for row, place in pairs if row["file"] and f"{place.id}.png" not in there]


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
        "fingerprint": fingerprint(slide.path),
        "request": asdict(plan.request),
    }


def fingerprint(path: Path) -> str:
    """A hash of the size, start and end of a slide; hashing gigabytes would take too long."""
    if path.is_dir():
        parts = [f"{each.name} {fingerprint(each)}" for each in sorted(path.iterdir())]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
    size = path.stat().st_size
    with path.open("rb") as file:
        digest = hashlib.sha256(str(size).encode() + file.read(PROBE_BYTES))
        file.seek(max(0, size - PROBE_BYTES))
        digest.update(file.read(PROBE_BYTES))
    return digest.hexdigest()
