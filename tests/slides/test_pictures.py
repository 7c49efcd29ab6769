"""Plain pictures of every mode are opened or refused in words, with little memory."""

import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from histoeval.errors import InputError
from histoeval.io.images import check_image
from histoeval.slides.open import open_slide
from histoeval.slides.slide import damaged, unreadable
from tests.support.painted_slides import stained

PICTURE = Image.fromarray(stained(600, 40))


def png_of(width: int, height: int) -> bytes:
    """A PNG that states a size, and has next to no data."""
    parts = [b"\x89PNG\r\n\x1a\n"]
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(100))), (b"IEND", b"")):
        parts += [struct.pack(">I", len(data)), kind, data]
        parts.append(struct.pack(">I", zlib.crc32(kind + data)))
    return b"".join(parts)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "1"])
def test_every_mode_shows_what_it_shows_as_a_whole(tmp_path: Path, mode: str) -> None:
    """Pictures are converted strip by strip."""
    picture = PICTURE.convert(mode)
    if mode in {"RGBA", "LA"}:
        picture.putalpha(Image.linear_gradient("L").resize(picture.size))
    picture.save(tmp_path / "a.png")
    page = Image.new("RGBA", picture.size, (255,) * 4)
    wanted = Image.alpha_composite(page, picture.convert("RGBA")).convert("RGB")
    with open_slide(tmp_path / "a.png") as slide:
        assert np.array_equal(slide.region(0, 0, 0, 40, 600), np.asarray(wanted))


def test_cmyk_orientation_and_animation_are_read(tmp_path: Path) -> None:
    PICTURE.convert("CMYK").save(tmp_path / "cmyk.jpg")
    turned = Image.Exif()
    turned[0x0112] = 6
    PICTURE.save(tmp_path / "turned.jpg", exif=turned)
    for name in ("moving.png", "moving.webp"):
        PICTURE.save(tmp_path / name, save_all=True, append_images=[PICTURE.rotate(180)])
    sizes = {path.name: open_slide(path).levels[0][:2] for path in sorted(tmp_path.iterdir())}
    upright = dict.fromkeys(("cmyk.jpg", "moving.png", "moving.webp"), (40, 600))
    assert sizes == upright | {"turned.jpg": (600, 40)}


@pytest.mark.parametrize(
    ("width", "height", "reason"),
    [
        (0, 0, "damaged"),
        (100_000, 100_000, "more than 150 million pixels"),
        ((1 << 31) - 1, (1 << 31) - 1, "more than 150 million pixels"),
        (64, 64, "damaged"),
    ],
)
def test_sizes_that_the_data_do_not_have_are_refused(
    tmp_path: Path, width: int, height: int, reason: str
) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(png_of(width, height))
    with pytest.raises(InputError, match=reason):
        open_slide(path)


def test_16_bits_are_refused(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((64, 64), np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(InputError, match="8 bits per colour"):
        open_slide(tmp_path / "deep.png")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no such counter here")
def test_a_large_picture_takes_little_more_memory_than_its_pixels(tmp_path: Path) -> None:
    """Eight bytes per pixel: four that Pillow decodes to, three that are kept; 14 with copies."""
    Image.new("RGB", (8000, 5000), (200, 100, 150)).save(tmp_path / "a.png", compress_level=1)
    program = (
        "import sys; from pathlib import Path; from histoeval.slides.open import open_slide\n"
        "def peak():\n"
        "    lines = Path('/proc/self/status').read_text().splitlines()\n"
        "    return next(int(line.split()[1]) for line in lines if line.startswith('VmHWM'))\n"
        "open_slide(sys.argv[1]).close()\n"
        "before = peak(); open_slide(sys.argv[2]).close(); print(peak() - before)"
    )
    Image.new("RGB", (64, 64)).save(tmp_path / "small.png")
    paths = [str(tmp_path / name) for name in ("small.png", "a.png")]
    command = [sys.executable, "-c", program, *paths]
    kilobytes = int(subprocess.check_output(command, text=True))
    assert kilobytes * 1024 / (8000 * 5000) < 8.5


def test_a_deep_zoom_slide_of_a_billion_pixels_a_side_is_refused(tmp_path: Path) -> None:
    from histoeval.slides.tissue import find_tissue

    (tmp_path / "a_files" / "30").mkdir(parents=True)
    (tmp_path / "a.dzi").write_text(
        '<Image TileSize="254" Overlap="1" Format="png"><Size Width="1000000000" '
        'Height="1000000000"/></Image>'
    )
    with (
        open_slide(tmp_path / "a.dzi") as slide,
        pytest.raises(InputError, match="without a smaller level"),
    ):
        find_tissue(slide)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (MemoryError(), "needs more memory than there is"),
        (ImportError("no libwebp"), "a codec that is not installed: no libwebp"),
        (ValueError("X requires the 'imagecodecs' package"), "a codec that is not installed"),
        (PermissionError(13, "Permission denied"), "cannot be read: Permission denied"),
        (ValueError("odd bytes"), "is a damaged picture: odd bytes"),
    ],
)
def test_the_cause_that_is_named_is_the_true_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, cause: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    PICTURE.save(tmp_path / "a.png")
    monkeypatch.setattr(Image, "open", fail)
    with pytest.raises(InputError, match=cause):
        open_slide(tmp_path / "a.png")


STUMBLES = [
    AttributeError("'_thread._local' object has no attribute 'handle'"),
    KeyError("pages"),
    TypeError("'NoneType' object is not subscriptable"),
    struct.error("unpack requires a buffer of 8 bytes"),
    IndexError("list index out of range"),
    AssertionError(),
]


@pytest.mark.parametrize("error", STUMBLES)
@pytest.mark.parametrize("is_there", [True, False])
def test_no_message_says_what_python_says(tmp_path: Path, error: Exception, is_there: bool) -> None:
    path = tmp_path / "a.tif"
    if is_there:
        PICTURE.save(path)
    for told in (str(unreadable(path, error)), str(damaged(path, 0, 0, error))):
        assert not str(error) or str(error) not in told
        assert ("as its format prescribes" in told) == is_there
        assert ("went away while it was read" in told) == (not is_there)


@pytest.mark.parametrize("name", ["a.png", "a.tif"])
def test_an_image_that_goes_away_while_it_is_read_is_said_to_be_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    PICTURE.save(path)

    def vanish(checked: Path) -> None:
        check_image(checked)
        path.unlink()

    monkeypatch.setattr("histoeval.slides.open.check_image", vanish)
    with pytest.raises(InputError, match="went away while it was read"):
        open_slide(path)
