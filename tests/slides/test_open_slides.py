"""Slides of a viewer: few are open, each by one process, and memory has a limit."""

import time
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("openslide")

from histoeval.errors import InputError
from histoeval.slides import isolated
from histoeval.slides.open_slides import OpenSlides, TileCache, file_state
from tests.support.painted_slides import stained, write_pyramid


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    return [
        write_pyramid(tmp_path / f"{n}.tif", stained(300, 300, seed=n), levels=1) for n in range(3)
    ]


def decoded(content: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    with Image.open(BytesIO(content)) as picture:
        assert picture.format == "JPEG"
        return np.asarray(picture)


def test_a_tile_is_a_jpeg_of_the_slide(paths: list[Path]) -> None:
    slides = OpenSlides()
    tile = decoded(slides.jpeg(paths[0], 9, 1, 1))
    assert tile.shape == (44, 44, 3)
    wanted = stained(300, 300, seed=0)[256:, 256:]
    assert abs(float(tile.mean()) - float(wanted.mean())) < 3
    slides.close()
    assert len(slides) == 0


def test_the_oldest_slide_is_closed_when_there_are_too_many(paths: list[Path]) -> None:
    slides = OpenSlides(most=2)
    for path in paths:
        slides.jpeg(path, 9, 0, 0)
    assert len(slides) == 2
    slides.close()


def test_slides_that_nobody_looks_at_are_closed(paths: list[Path]) -> None:
    now = 100.0
    slides = OpenSlides(idle_seconds=60, clock=lambda: now)
    slides.jpeg(paths[0], 9, 0, 0)
    now += 50
    slides.jpeg(paths[1], 9, 0, 0)
    now += 20
    slides.close_idle()
    assert len(slides) == 1
    now += 60
    slides.close_idle()
    assert len(slides) == 0
    slides.close()


def test_two_slides_in_turn_keep_a_process_each(paths: list[Path]) -> None:
    isolated._end_all()
    slides = OpenSlides()
    for number in range(6):
        slides.jpeg(paths[number % 2], 9, number // 2 % 2, number // 4)
    open_now = [child.slide for child in isolated._idle if child.slide]
    assert len(open_now) == 2
    slides.close()
    assert not any(child.slide for child in isolated._idle)


def test_many_threads_read_one_slide_by_one_process(paths: list[Path]) -> None:
    slides, before = OpenSlides(), len(isolated.process_ids())
    with ThreadPoolExecutor(8) as threads:
        tiles = list(threads.map(lambda n: slides.jpeg(paths[0], 9, n % 2, n // 2 % 2), range(40)))
    shapes = {decoded(tile).shape[:2] for tile in tiles}
    assert shapes == {*product((256, 44), repeat=2)}
    assert len(isolated.process_ids()) <= max(1, before)
    slides.close()


def test_a_file_that_has_changed_is_read_again(paths: list[Path]) -> None:
    slides = OpenSlides()
    before = slides.jpeg(paths[0], 9, 0, 0)
    assert slides.jpeg(paths[0], 9, 0, 0) is before
    write_pyramid(paths[0], stained(300, 300, seed=9, strength=0.3), levels=1)
    assert slides.jpeg(paths[0], 9, 0, 0) != before
    slides.close()


def test_a_slide_that_is_gone_is_said_for_people(tmp_path: Path) -> None:
    slides = OpenSlides()
    with pytest.raises(InputError, match="does not exist"):
        slides.jpeg(tmp_path / "gone.svs", 9, 0, 0)
    (tmp_path / "text.svs").write_text("no slide")
    for _ in range(2):
        with pytest.raises(InputError, match=r"text\.svs"):
            slides.jpeg(tmp_path / "text.svs", 9, 0, 0)
    slides.close()


def test_kept_tiles_have_a_limit_in_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    state = file_state(tmp_path / "a")
    cache = TileCache(most=1000)
    for number in range(20):
        cache.put((state, 1, number, 0), bytes(300))
        cache.get((state, 1, 0, 0))
    assert cache.bytes == 900
    assert cache.get((state, 1, 0, 0)) is not None
    assert cache.get((state, 1, 1, 0)) is None
    cache.put((state, 1, 19, 0), bytes(100))
    assert cache.bytes == 700


def test_a_process_waits_for_the_first_slide() -> None:
    isolated._end_all()
    slides = OpenSlides()
    slides.prepare()
    slides.prepare()
    deadline = time.monotonic() + 60
    while not isolated.process_ids() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [child.slide for child in isolated._idle] == [0]
