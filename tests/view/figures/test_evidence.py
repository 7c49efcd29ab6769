"""Pictures of grounding: colours where the patches lie, the same bytes every time."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("openslide")

from histoeval.errors import OutputError, SettingError
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage
from histoeval.pathgls.grounding.encoder import Pixels
from histoeval.pathgls.results import Spot
from histoeval.view.figures.evidence import COLOURS, colours_of, heatmap, support_picture
from tests.support.painted_slides import stained, write_pyramid

BLUE, RED = COLOURS[0][1], COLOURS[-1][1]


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pixels = np.tile(stained(448, 448), (1, 5, 1))
    return write_pyramid(tmp_path_factory.mktemp("slides") / "s.tif", pixels, 0.5)


def opened(path: Path) -> Pixels:
    with Image.open(path) as picture:
        return np.asarray(picture)


def bag() -> EmbeddedImage:
    spots = tuple(Spot(x=448 * n, y=0, width=448, height=448) for n in range(4))
    vectors = np.array([[1, 0], [0.6, 0.8], [0, 1], [1, 0]], np.float32)
    return EmbeddedImage(vectors, spots, (), (None, None, None, "not known"))


def test_colours_run_from_the_lowest_to_the_highest() -> None:
    assert colours_of(np.array([0.2, 0.4, 0.3])) == [BLUE, RED, COLOURS[1][1]]
    assert colours_of(np.array([0.3, 0.3])) == [COLOURS[1][1]] * 2
    assert colours_of(np.array([])) == []


def test_best_and_worst_patch_are_framed_and_unknown_ones_not(slide: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "map.png"
    heatmap(slide, bag(), np.array([0.0, 1.0]), out)
    picture = opened(out).astype(int)
    assert picture.shape[1] == 1024
    side = 1024 / 5
    middle = [picture[:, round((n + 0.4) * side) : round((n + 0.6) * side)] for n in range(5)]
    redness = [float((part[:, :, 0] - part[:, :, 2]).mean()) for part in middle]
    assert max(redness) == redness[2]
    assert min(redness) == redness[0]
    assert redness[3] == pytest.approx(redness[4], abs=3)
    assert (picture[1, round(2.5 * side)] == 0).all()
    assert (picture[1, round(0.5 * side)] == 255).all()


def test_the_same_map_has_the_same_bytes(slide: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "1.png", tmp_path / "2.png"
    for out in (one, other):
        heatmap(slide, bag(), np.array([0.0, 1.0]), out)
    assert one.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.png", "2.png"]


def test_the_crop_is_the_place_that_is_named(slide: Path, tmp_path: Path) -> None:
    support_picture(slide, Spot(x=30, y=40, width=224, height=224), tmp_path / "crop.png")
    crop = opened(tmp_path / "crop.png")
    assert (crop == np.tile(stained(448, 448), (1, 5, 1))[40:264, 30:254]).all()
    support_picture(slide, Spot(x=0, y=0, width=2000, height=400), tmp_path / "wide.png")
    assert opened(tmp_path / "wide.png").shape == (90, 448, 3)


def test_a_phrase_of_another_encoder_does_not_fit(slide: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="does not fit"):
        heatmap(slide, bag(), np.ones(3), tmp_path / "map.png")


def test_a_folder_that_cannot_be_written_is_said_for_people(slide: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot use"):
        support_picture(slide, Spot(x=0, y=0, width=9, height=9), tmp_path / "file" / "x.png")
