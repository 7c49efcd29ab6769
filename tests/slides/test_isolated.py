"""Files that end or hang the libraries for slides cost their own slide, and never the process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from histoeval.errors import InputError
from histoeval.slides import isolated
from histoeval.slides.open import open_slide
from histoeval.slides.tissue import describe, find_tissue
from tests.support.painted_slides import forge, glass, spoil, stained, write_pyramid


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return write_pyramid(tmp_path / "good.tif", stained(300, 300))


def test_a_forged_tile_size_costs_its_slide_and_not_the_process(tmp_path: Path, good: Path) -> None:
    """It makes openslide end the process, which no `except` can stop."""
    forged = write_pyramid(tmp_path / "forged.tif", stained(300, 300))
    forge(forged, TileWidth=1 << 30, TileLength=1 << 30)
    with pytest.raises(InputError, match=r"forged\.tif"), open_slide(forged) as slide:
        slide.region(0, 0, 0, 10, 10)
    with open_slide(good) as slide:
        assert slide.region(0, 0, 0, 300, 300).mean() > 0


def test_a_size_that_the_tiles_cannot_fill_is_refused_at_once(tmp_path: Path) -> None:
    path = write_pyramid(tmp_path / "long.tif", glass(600, 512))
    forge(path, ImageLength=8_323_584)
    start = time.perf_counter()
    with pytest.raises(InputError, match="512 x 8,323,584 px need 65,028 tiles, and it has 6"):
        open_slide(path)
    assert time.perf_counter() - start < 20


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no such signal here")
@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (signal.SIGABRT, "it is damaged, and reading it ended with SIGABRT"),
        (getattr(signal, "SIGSTOP", 0), "no answer within 0.3 s"),
        (getattr(signal, "SIGKILL", 0), "was killed; is there enough memory"),
        (getattr(signal, "SIGRTMIN", 0) + 1, "reading it ended with (signal|SIGHUP)"),
    ],
)
def test_a_library_that_ends_or_hangs_is_an_error_of_the_slide(
    good: Path, monkeypatch: pytest.MonkeyPatch, sent: int, reason: str
) -> None:
    monkeypatch.setattr(isolated, "SECONDS", 0.3)
    with open_slide(good) as slide:
        child = next(each for each in isolated._idle if each.slide == slide._number)  # type: ignore[attr-defined]
        monkeypatch.setattr(child.process, "poll", lambda: None)
        os.kill(child.process.pid, sent)
        with pytest.raises(InputError, match=f"good.tif cannot be read: .*{reason}"):
            slide.region(0, 0, 0, 10, 10)
        monkeypatch.undo()
        assert slide.region(0, 0, 0, 10, 10).shape == (10, 10, 3)


def test_paths_are_those_of_the_caller(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(good.parent)
    with open_slide(good.name) as slide:
        monkeypatch.chdir("/")
        assert slide.region(0, 0, 0, 10, 10).shape == (10, 10, 3)
        assert str(slide.path) == good.name


def test_children_end_with_their_parent(good: Path) -> None:
    program = (
        "import sys; from histoeval.slides import isolated; "
        "from histoeval.slides.open import open_slide; open_slide(sys.argv[1]); "
        "print(*isolated.process_ids())"
    )
    told = subprocess.check_output([sys.executable, "-c", program, good], text=True)
    (pid,) = map(int, told.split())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_damage_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_pyramid(tmp_path / "a.tif", glass(600, 600), levels=1)
    for number in range(9):
        spoil(path, 0, number)
    monkeypatch.setattr("histoeval.slides.overview.MAX_DAMAGE", 3)
    with open_slide(path) as slide, pytest.raises(InputError, match="more than 3 places"):
        describe(slide, find_tissue(slide))


def test_with_many_slides_open_the_oldest_process_has_to_open_another(
    good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolated._end_all()
    monkeypatch.setattr(isolated, "KEPT", 2)
    slides = [open_slide(good) for _ in range(3)]
    assert len(isolated.process_ids()) == 2
    assert [child.slide for child in isolated._idle] == [s._number for s in slides[1:]]  # type: ignore[attr-defined]
    assert slides[0].region(0, 0, 0, 10, 10).shape == (10, 10, 3)
    for slide in slides:
        slide.close()
    assert [child.slide for child in isolated._idle] == [0, 0]
