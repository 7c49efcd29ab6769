"""Images and slides of every kind are opened the same way, and show the same pixels."""

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageFilter

from benchmarks.painted_slide import paint, write_slide
from histoeval.errors import InputError, MissingDependency, SettingError
from histoeval.runtime.threads import in_order
from histoeval.slides.formats.tiff_files import TiffSlide
from histoeval.slides.open import find_slides, open_slide
from histoeval.slides.slide import DamagedRegion, Slide
from tests.support.dicom_files import write_dicom
from tests.support.painted_slides import (
    Pixels,
    block,
    spoil,
    stained,
    write_deep_zoom,
    write_pyramid,
)
from tests.support.paths import SHARED

REAL = SHARED / "data" / "slides"
PIXELS: Pixels = np.array(
    Image.fromarray(stained(600, 900)).filter(ImageFilter.GaussianBlur(3)), dtype=np.uint8
)
LOSSY = 4  # mean difference that JPEG may make


def write_ome(path: Path, *, planes: bool = False, size: object = 0.25, unit: str = "µm") -> Path:
    """An OME-TIFF with a level of a half in it; colours in one page, or in three."""
    half = np.asarray(Image.fromarray(PIXELS).reduce(2))
    about = {"axes": "CYX" if planes else "YXS"}
    if size is not None:
        about |= {f"PhysicalSize{axis}": size for axis in "XY"}  # type: ignore[misc]
        about |= {f"PhysicalSize{axis}Unit": unit for axis in "XY"}
    kind = "minisblack" if planes else "rgb"
    with tifffile.TiffWriter(path, ome=True) as tiff:
        for level, pixels in enumerate((PIXELS, half)):
            data = np.moveaxis(pixels, 2, 0) if planes else pixels
            tiff.write(
                data,
                tile=(128, 128),
                photometric=kind,
                compression="zlib",
                metadata=None if level else about,
                subifds=None if level else 1,
                subfiletype=level,
            )
    return path


def made(kind: str, folder: Path) -> Path:
    """The same pixels as a file of some kind."""
    picture, path = Image.fromarray(PIXELS), folder / kind
    match kind:
        case "a.png" | "a.bmp" | "a.jpg":
            picture.save(path, quality=95, compress_level=1)
        case "pyramid.tif" | "pyramid.svs":
            write_pyramid(path, PIXELS, 0.25)
        case "strips.tif":
            tifffile.imwrite(path, PIXELS, rowsperstrip=37, photometric="rgb")
        case "separate.tif":
            data = np.moveaxis(PIXELS, 2, 0)
            tifffile.imwrite(path, data, tile=(64, 64), photometric="rgb", planarconfig="separate")
        case "one.ome.tif":
            write_ome(path)
        case "planes.ome.tif":
            write_ome(path, planes=True)
        case "zoom.dzi":
            write_deep_zoom(path, PIXELS)
        case "dicom":
            write_dicom(path, PIXELS, 0.25)
    return path


KINDS = [
    *("a.png", "a.bmp", "a.jpg", "pyramid.tif", "pyramid.svs", "strips.tif", "separate.tif"),
    *("one.ome.tif", "planes.ome.tif", "zoom.dzi", "dicom"),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of every kind, not to be changed."""
    folder = tmp_path_factory.mktemp("whole")
    return {kind: made(kind, folder) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_shows_the_same_pixels_in_any_region_and_white_beyond(
    whole: dict[str, Path], kind: str
) -> None:
    page = np.pad(PIXELS, ((0, 99), (99, 99), (0, 0)), constant_values=255)
    loss = LOSSY if kind in {"a.jpg", "dicom"} else 0
    regions = [(0, 0, 900, 600), (250, 130, 300, 257), (880, 590, 20, 10), (-10, 590, 50, 50)]
    with open_slide(whole[kind]) as slide:
        assert (slide.width, slide.height) == (900, 600)
        for x, y, width, height in regions:
            region = slide.region(0, x, y, width, height).astype(int)
            wanted = page[y : y + height, x + 99 : x + 99 + width]
            assert region.shape == wanted.shape
            assert np.abs(region - wanted).mean() <= loss
        assert (region[:, :10] == 255).all()
        assert (region[10:] == 255).all()
        assert (slide.region(0, 2000, 0, 5, 5) == 255).all()


@pytest.mark.parametrize(
    "kind", ["pyramid.tif", "one.ome.tif", "planes.ome.tif", "zoom.dzi", "dicom"]
)
def test_a_coarser_level_shows_the_same_place(whole: dict[str, Path], kind: str) -> None:
    with open_slide(whole[kind]) as slide:
        assert slide.levels[1] == (450, 300, 2.0)
        half = np.asarray(Image.fromarray(PIXELS).reduce(2)).astype(int)
        found = slide.region(1, 100, 120, 200, 150)
        assert np.abs(found - half[120:270, 100:300]).mean() <= LOSSY


@pytest.mark.parametrize(
    ("kind", "mpp"),
    [
        *(("pyramid.tif", 0.25), ("one.ome.tif", 0.25), ("planes.ome.tif", 0.25), ("dicom", 0.25)),
        *(("a.png", None), ("a.jpg", None), ("strips.tif", None), ("zoom.dzi", None)),
    ],
)
def test_microns_per_pixel_are_known_or_missing_and_never_guessed(
    whole: dict[str, Path], kind: str, mpp: float | None
) -> None:
    with open_slide(whole[kind]) as slide:
        if mpp is None:
            assert slide.resolution is None
        else:
            assert slide.resolution is not None
            assert slide.resolution.x == pytest.approx(mpp, rel=1e-3)
            assert slide.resolution.source == "file"


def test_what_a_person_says_goes_before_what_the_file_says(whole: dict[str, Path]) -> None:
    with open_slide(whole["pyramid.tif"], mpp=0.5) as slide:
        assert slide.resolution is not None
        assert (slide.resolution.mean, slide.resolution.source) == (0.5, "given")
        assert any("0.25 microns per pixel" in note for note in slide.notes)


@pytest.mark.parametrize("mpp", [0.0, -1.0, 353.0, math.nan, math.inf])
def test_microns_that_no_microscope_has_are_refused(whole: dict[str, Path], mpp: float) -> None:
    with pytest.raises(SettingError, match="not the resolution of a slide"):
        open_slide(whole["a.png"], mpp=mpp)


def test_dots_per_inch_are_not_microns(tmp_path: Path) -> None:
    Image.fromarray(PIXELS).save(tmp_path / "print.jpg", dpi=(300, 300))
    tifffile.imwrite(tmp_path / "print.tif", PIXELS, resolution=(72, 72), resolutionunit="INCH")
    for name in ("print.jpg", "print.tif"):
        with open_slide(tmp_path / name) as slide:
            assert slide.resolution is None


@pytest.mark.parametrize(
    ("size", "unit", "mpp"), [(500, "nm", 0.5), (0.0005, "mm", 0.5), (7, "parsec", None)]
)
def test_ome_units_are_read(tmp_path: Path, size: float, unit: str, mpp: float | None) -> None:
    with open_slide(write_ome(tmp_path / "a.ome.tif", size=size, unit=unit)) as slide:
        found = None if slide.resolution is None else slide.resolution.mean
        assert found == (None if mpp is None else pytest.approx(mpp))


def test_transparent_parts_of_a_picture_are_white(tmp_path: Path) -> None:
    picture = Image.fromarray(PIXELS).convert("RGBA")
    picture.putalpha(0)
    picture.save(tmp_path / "clear.png", compress_level=1)
    with open_slide(tmp_path / "clear.png") as slide:
        assert (slide.region(0, 0, 0, 900, 600) == 255).all()


def test_tifffile_and_openslide_agree(whole: dict[str, Path]) -> None:
    path = whole["pyramid.tif"]
    with open_slide(path) as one, TiffSlide(path) as other:
        assert one.format == "generic-tiff"
        assert one.levels == other.levels
        for level in (0, 1):
            first, second = (each.region(level, 77, 33, 300, 200) for each in (one, other))
            assert np.array_equal(first, second)


@pytest.mark.parametrize("kind", KINDS)
def test_several_threads_read_the_same_as_one(whole: dict[str, Path], kind: str) -> None:
    corners = [(x, y) for y in range(0, 600, 100) for x in range(0, 900, 150)]
    with open_slide(whole[kind]) as slide:

        def read(corner: tuple[int, int]) -> bytes:
            return slide.region(0, *corner, 160, 120).tobytes()

        assert list(in_order(read, corners, 4)) == [read(corner) for corner in corners]


@pytest.mark.skipif(not REAL.is_dir(), reason="no real slides here")
def test_real_slides_open_with_what_their_makers_say() -> None:
    with open_slide(REAL / "CMU-1-Small-Region.svs") as slide:
        assert (slide.format, slide.width, slide.height) == ("aperio", 2220, 2967)
        assert slide.resolution is not None
        assert slide.resolution.mean == pytest.approx(0.499)
        with TiffSlide(slide.path) as other:
            assert other.resolution == slide.resolution


# --- what is broken ---------------------------------------------------------------------------


def test_a_truncated_slide_is_refused_with_the_bytes_that_lack(tmp_path: Path) -> None:
    path = made("pyramid.svs", tmp_path)
    intact = path.read_bytes()
    for length in (8, 9, 100, len(intact) // 2, len(intact) - 100, len(intact) - 1):
        path.write_bytes(intact[:length])
        with pytest.raises(InputError, match=r"truncated|damaged"):
            open_slide(path)


def test_a_damaged_block_costs_its_region_and_no_other(tmp_path: Path) -> None:
    for opened, name in ((open_slide, "a.tif"), (TiffSlide, "b.tif")):
        path = write_pyramid(tmp_path / name, PIXELS)
        spoil(path, 0, 1)
        with opened(path) as slide:
            for _ in range(2):
                with pytest.raises(DamagedRegion, match="cannot be read"):
                    slide.region(0, 300, 10, 20, 20)
                assert np.array_equal(slide.region(0, 0, 0, 256, 256), PIXELS[:256, :256])


@pytest.mark.parametrize("opened", [open_slide, TiffSlide])
def test_half_a_jpeg_block_is_damaged_and_not_filled_up(
    tmp_path: Path, opened: Callable[[Path], Slide]
) -> None:
    path = tmp_path / "jpeg.tif"
    write_slide(path, 1024, 1024, 0.5, paint(1024))
    offset, count = block(path, 0, 1)
    with path.open("rb+") as file:
        file.seek(offset + count // 2)
        file.write(bytes(count - count // 2))
    with opened(path) as slide:
        slide.region(0, 0, 0, 512, 512)
        with pytest.raises(DamagedRegion):
            slide.region(0, 600, 0, 100, 100)


def test_a_lost_block_of_a_deep_zoom_slide_costs_its_region_and_no_other(tmp_path: Path) -> None:
    path = made("zoom.dzi", tmp_path)
    (tmp_path / "zoom_files" / "10" / "0_0.png").unlink()
    with open_slide(path) as slide:
        with pytest.raises(DamagedRegion, match="0_0"):
            slide.region(0, 5, 5, 10, 10)
        assert np.array_equal(slide.region(0, 300, 300, 50, 50), PIXELS[300:350, 300:350])


@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.99])
def test_a_truncated_dicom_slide_is_an_error_and_never_pixels(tmp_path: Path, share: float) -> None:
    path = made("dicom", tmp_path) / "level0.dcm"
    intact = path.read_bytes()
    path.write_bytes(intact[: int(share * len(intact))])
    with pytest.raises(InputError):  # noqa: PT012 - either may find it
        slide = open_slide(path)
        slide.region(0, 0, 0, slide.width, slide.height)


def broken(kind: str, folder: Path) -> Path:
    """Something that must not be opened."""
    path = folder / kind
    match kind:
        case "one.png":
            Image.new("RGB", (1, 1)).save(path)
        case "png.svs":
            made("a.png", folder).rename(path)
        case "text.svs" | "text.png" | "notes.txt" | "text.dzi" | "text.mrxs":
            path.write_text("Dear colleague, the slide is on its way.")
        case "cut.png":
            path.write_bytes(made("a.png", folder).read_bytes()[:5000])
        case "empty.tif":
            path.write_bytes(b"")
        case "head.tif":
            path.write_bytes(b"II*\0\x08\0\0\0")
        case "deep.tif":
            tifffile.imwrite(path, np.zeros((64, 64, 3), np.uint16), photometric="rgb")
        case "channels.ome.tif":
            tifffile.imwrite(path, np.zeros((5, 64, 64), np.uint8), ome=True)
        case "lonely.dzi":
            made("zoom.dzi", folder).rename(path)
        case "nothing":
            path.mkdir()
            (path / "readme.txt").write_text("no slides yet")
        case "several":
            path.mkdir()
            made("a.png", path)
            made("a.jpg", path)
        case "plain.dcm":
            path.write_bytes(b"\0" * 128 + b"DICM" + b"\0" * 20)
    return path


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("one.png", "1 x 1 px"),
        ("png.svs", "ends in .svs but contains PNG"),
        ("text.svs", "is not an image, although its name says so"),
        ("text.png", "is not an image, although its name says so"),
        ("notes.txt", "not an image or slide in a supported format"),
        ("text.dzi", "not the XML of a DeepZoom slide"),
        ("text.mrxs", "not an image or slide in a supported format"),
        ("cut.png", "is a damaged"),
        ("empty.tif", "is empty"),
        ("head.tif", "truncated"),
        ("deep.tif", "uint16"),
        ("channels.ome.tif", "not a bright-field image"),
        ("lonely.dzi", "no folder lonely_files"),
        ("nothing", "without a slide in it"),
        ("several", "folder of 2 images or slides"),
        ("plain.dcm", "DICOM"),
        ("absent.svs", "does not exist"),
    ],
)
def test_what_cannot_be_opened_says_why(tmp_path: Path, kind: str, reason: str) -> None:
    path = broken(kind, tmp_path)
    with pytest.raises(InputError) as caught:
        open_slide(path)
    assert reason in str(caught.value)
    assert path.stem in str(caught.value)


def test_slides_of_a_folder_are_found_and_their_parts_are_not(tmp_path: Path) -> None:
    made("zoom.dzi", tmp_path)
    made("a.png", tmp_path)
    (tmp_path / "deep").mkdir()
    made("pyramid.svs", tmp_path / "deep")
    made("dicom", tmp_path / "deep")
    broken("plain.dcm", tmp_path / "deep" / "dicom")
    (tmp_path / "case.mrxs").write_text("")
    (tmp_path / "case").mkdir()
    made("a.jpg", tmp_path / "case")
    (tmp_path / "notes.txt").write_text("")
    found = [str(path.relative_to(tmp_path)) for path in find_slides(tmp_path)]
    wanted = ["a.png", "case.mrxs", "deep/dicom/level0.dcm", "deep/dicom/plain.dcm"]
    wanted += ["deep/pyramid.svs", "zoom.dzi"]
    assert found == wanted


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from histoeval import slides as extra

    monkeypatch.setattr(extra, "find_spec", lambda name: None if name == "openslide" else object())
    with pytest.raises(
        MissingDependency, match=r"openslide-python not installed.*histoeval\[slide\]"
    ):
        extra.require("PIL", "openslide")


def test_importing_histoeval_brings_in_no_slides() -> None:
    program = (
        "import sys, histoeval, histoeval.cli.main; "
        "print([m for m in ('PIL', 'openslide', 'tifffile', 'wsidicom', 'scipy', "
        "'histoeval.slides')"
        " if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"
