"""Tiles on the disk: the same files whatever happened on the way."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from histoeval.errors import OutputError
from histoeval.run.engines.engine import INLINE
from histoeval.run.engines.local import LocalEngine
from histoeval.run.tiles import TileFolder, write_tiles
from histoeval.slides.open import open_slide
from histoeval.slides.tiles import TileRequest, plan_tiles
from histoeval.slides.tissue import find_tissue
from tests.support.painted_slides import spoil, stained, write_pyramid


@pytest.fixture(scope="module")
def slide_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six tiles of 256 px at 1 micron, one of them damaged and two over the edge."""
    path = tmp_path_factory.mktemp("slide") / "case.tif"
    write_pyramid(path, stained(1024, 1400), levels=4)
    spoil(path, 1, 2)
    return path


def write(path: Path, output: Path, **asked: Any) -> dict[str, Any]:
    known = ("overwrite", "engine", "batch_size", "watch")
    settings = {name: asked.pop(name) for name in known if name in asked}
    with open_slide(path) as slide:
        request = TileRequest(size=256, mpp=1.0, **asked)
        plan = plan_tiles(slide, find_tissue(slide), request)
        return write_tiles(slide, plan, TileFolder(output), **settings)


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "tiles.jsonl").read_text().splitlines()]


def test_rows_and_pictures_of_tiles(slide_file: Path, tmp_path: Path) -> None:
    summary = write(slide_file, tmp_path / "out")
    found = rows(tmp_path / "out")
    assert [row["id"] for row in found] == [f"r{n // 3:04}_c{n % 3:04}" for n in range(6)]
    assert [row["error"] is None for row in found] == [True, True, False, True, True, True]
    assert [row["edge"] for row in found] == [False, False, True] * 2
    assert found[2]["error"]["code"] == "damaged_tile"
    assert found[2]["file"] is None
    assert summary["written"] == 5
    assert summary["problems"] == {"damaged_tile": 1}
    assert summary["at_the_edge"] == 2
    half = np.asarray(Image.fromarray(stained(1024, 1400)).reduce(2))
    for row in found:
        if row["file"]:
            x, y = row["x"] // 2, row["y"] // 2
            wanted = half[y : y + 256, x : x + 256]
            picture = np.asarray(Image.open(tmp_path / "out" / row["file"]))
            assert picture.shape == (256, 256, 3)
            assert np.array_equal(picture[: wanted.shape[0], : wanted.shape[1]], wanted)


def test_workers_change_no_byte(slide_file: Path, tmp_path: Path) -> None:
    engines = {"one": INLINE, "two": LocalEngine(1), "four": LocalEngine(3)}
    for name, engine in engines.items():
        write(slide_file, tmp_path / name, engine=engine, batch_size=2)
    once = contents(tmp_path / "one")
    assert len(once) == 5 + 2
    assert contents(tmp_path / "two") == once
    assert contents(tmp_path / "four") == once


def test_a_stopped_run_continues_to_the_same_bytes(slide_file: Path, tmp_path: Path) -> None:
    write(slide_file, tmp_path / "whole")

    class StopError(Exception):
        pass

    def stop(done: int, *_: int) -> None:
        if done == 3:
            raise StopError

    with pytest.raises(StopError):
        write(slide_file, tmp_path / "parts", watch=stop, batch_size=1)
    assert len(rows(tmp_path / "parts")) == 3
    with (tmp_path / "parts" / "tiles.jsonl").open("ab") as file:
        file.write(b'{"id": "r0001')
    seen: list[int] = []
    write(slide_file, tmp_path / "parts", watch=lambda done, *_: seen.append(done), batch_size=1)
    assert seen == [4, 5, 6]
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_a_picture_that_was_taken_away_is_cut_again(slide_file: Path, tmp_path: Path) -> None:
    write(slide_file, tmp_path / "out")
    before = contents(tmp_path / "out")
    (tmp_path / "out" / "tiles" / "r0000_c0000.png").unlink()
    write(slide_file, tmp_path / "out")
    assert contents(tmp_path / "out") == before


def test_another_request_does_not_mix_with_what_is_there(slide_file: Path, tmp_path: Path) -> None:
    write(slide_file, tmp_path / "out")
    with pytest.raises(OutputError, match="different: request"):
        write(slide_file, tmp_path / "out", sample=2)
    other = write_pyramid(tmp_path / "case.tif", stained(1024, 1400, seed=5), levels=4)
    with pytest.raises(OutputError, match="different: fingerprint"):
        write(other, tmp_path / "out")
    write(slide_file, tmp_path / "out", sample=2, overwrite=True)
    assert len(rows(tmp_path / "out")) == 2
    assert len(list((tmp_path / "out" / "tiles").iterdir())) <= 2


def test_rows_of_others_are_left_alone(slide_file: Path, tmp_path: Path) -> None:
    (tmp_path / "tiles.jsonl").write_text('{"id": "mine"}\n')
    with pytest.raises(OutputError, match="do not say what made them"):
        write(slide_file, tmp_path)
    assert (tmp_path / "tiles.jsonl").read_text() == '{"id": "mine"}\n'
    (tmp_path / "taken").write_text("")
    with pytest.raises(OutputError):
        write(slide_file, tmp_path / "taken")
