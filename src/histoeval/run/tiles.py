"""Tiles as files: `tiles/*.png`, a row for each in `tiles.jsonl`, and a summary in `slide.json`.

A row is written after its image. The same command resumes an interrupted run and leaves the same
files, byte for byte, as an uninterrupted one.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from PIL import Image

from histoeval.errors import Problem
from histoeval.io.images import image_hash
from histoeval.io.store import RowStore
from histoeval.io.writing import make_folder, write_whole, writing_to
from histoeval.run.engines.engine import Task
from histoeval.run.pipeline import Job, RunOptions
from histoeval.runtime.threads import cores, in_order
from histoeval.slides.open import open_slide
from histoeval.slides.slide import Slide
from histoeval.slides.tiles import TilePlace, TilePlan, read_tile


class TileRow(NamedTuple):
    content: dict[str, Any]

    @property
    def id(self) -> str:
        name: str = self.content["id"]
        return name

    def line(self) -> bytes:
        return json.dumps(self.content).encode() + b"\n"

    @classmethod
    def of_line(cls, line: bytes) -> TileRow:
        content = json.loads(line)
        if not isinstance(content, dict) or not {"id", "file", "error"} <= content.keys():
            raise ValueError("not the row of a tile")
        return cls(content)


class TileFolder(RowStore[TileRow]):
    def __init__(self, path: Path) -> None:
        super().__init__(path, TileRow.of_line, folder="tiles.jsonl")
        self.meta = self.summary = path / "slide.json"
        self.is_wrapped = True
        self.pictures = path / "tiles"

    def _make_place(self) -> None:
        super()._make_place()
        make_folder(self.pictures)

    def _written(self) -> Iterable[Path]:
        return (self.path, self.meta, *self.pictures.glob("r*_c*.png"))


def write_tiles(
    slide: Slide,
    plan: TilePlan,
    folder: TileFolder,
    *,
    batch_size: int | None = None,
    **options: Unpack[RunOptions],
) -> dict[str, Any]:
    return TileJob(slide, plan, folder, batch_size).run(folder, **options).summary


class TileTask(Task[TilePlace, TileRow]):
    """Reads tiles and saves their images; in another process it opens the slide again."""

    name = "cut tiles"
    small = 16

    def __init__(self, slide: Slide, plan: TilePlan, pictures: Path) -> None:
        self._slide: Slide | None = slide
        self._path = slide.path
        self._plan = plan
        self._pictures = pictures

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_slide": None}

    def work(self, rows: Sequence[TilePlace]) -> list[TileRow]:
        return list(in_order(self.cut, rows, cores()))

    def failed(self, row: TilePlace, problem: Problem) -> TileRow:
        return _row(self._plan, row, problem)

    def cut(self, place: TilePlace) -> TileRow:
        if self._slide is None:
            self._slide = open_slide(self._path)
        tile = read_tile(self._slide, self._plan, place)
        if tile.pixels is not None:
            with writing_to(self._pictures.parent):
                stream = io.BytesIO()  # PNG: the same bytes for the same pixels
                Image.fromarray(tile.pixels).save(stream, "PNG", compress_level=1)
                write_whole(self._pictures / f"{place.id}.png", stream.getvalue())
        return _row(self._plan, place, tile.problem)


class _Places(NamedTuple):
    slide: Slide
    plan: TilePlan

    def __reduce__(self) -> tuple[Any, ...]:
        return _Places, (None, self.plan)

    def rows(self) -> Iterator[TilePlace]:
        return iter(self.plan.places)

    def identity(self) -> dict[str, Any]:
        slide, resolution = self.slide, self.slide.resolution
        return {
            "slide": slide.path.name,
            "format": slide.format,
            "size": [slide.width, slide.height],
            "resolution": None if resolution is None else asdict(resolution),
            "fingerprint": image_hash(slide.path),
            "request": asdict(self.plan.request),
        }

    def description(self) -> str:
        return self.slide.path.name


class TileJob(Job[TilePlace, TileRow]):
    block_rows = 16
    task: TileTask

    def __init__(
        self, slide: Slide, plan: TilePlan, folder: TileFolder, batch_size: int | None = None
    ) -> None:
        super().__init__(_Places(slide, plan), batch_size)
        self.plan = plan
        self.folder = folder
        self.task = TileTask(slide, plan, folder.pictures)
        self.problems: Counter[str] = Counter()

    def summary(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "grid": [plan.columns, plan.rows],
            "with_tissue": plan.with_tissue,
            "wanted": len(plan.places),
            "written": len(plan.places) - self.problems.total(),
            "at_the_edge": sum(place.inside < 1 for place in plan.places),
            "problems": dict(sorted(self.problems.items())),
            "mpp": plan.mpp,
            "notes": list(plan.notes),
        }

    def _is_result(self, row: TileRow, place: TilePlace) -> bool:
        """True if the row is that of the place; an image that was deleted is cut again."""
        if row.id != place.id:
            return False
        if row.content["file"] and not (self.folder.home / row.content["file"]).is_file():
            self.task.cut(place)
        return True

    def _add(self, row: TileRow) -> None:
        error = row.content["error"]
        self.tally.count([] if error is None else [Problem(error["code"], error["message"])])
        self.problems.update([] if error is None else [error["code"]])


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
