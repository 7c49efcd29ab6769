"""One way to open images and slides of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from histoeval.errors import InputError
from histoeval.io.files import check_there
from histoeval.slides import resolution
from histoeval.slides.file_type import checked_content, content_of, promised
from histoeval.slides.slide import Slide, TruncatedSlide

PICTURES = frozenset({"png", "jpeg", "bmp", "webp"})
SMALLEST = 16
"""Pixels along a side; less is not a picture of tissue."""


def open_slide(path: Path | str, *, mpp: float | None = None) -> Slide:
    """Open a picture, a slide, or a folder that is one slide.

    What the file says of its microns per pixel is taken, unless `mpp` says otherwise. Where neither
    does, `resolution` is missing; it is never guessed.
    """
    path = Path(path)
    check_there(path)
    given = None if mpp is None else resolution.given(mpp)
    slide = _open_folder(path) if path.is_dir() else _open_file(path)
    if min(slide.width, slide.height) < SMALLEST:
        slide.close()
        raise InputError(
            f"{path} has {slide.width} x {slide.height} px; less than {SMALLEST} px along a side "
            "shows nothing"
        )
    if given is not None:
        if slide.resolution is not None:
            stated = f"the file says {slide.resolution.mean:.4g} microns per pixel"
            slide.notes = (*slide.notes, stated)
        slide.resolution = given
    return slide


def find_slides(folder: Path) -> Iterator[Path]:
    """Everything in a folder, and in folders in it, that is an image or a slide by its name.

    DeepZoom blocks and the insides of MIRAX slides are parts of slides, and of the DICOM files of a
    slide the first one stands for all.
    """
    check_there(folder)
    inside = sorted(folder.iterdir())
    dicom = [path for path in inside if promised(path) == "dicom" and path.is_file()]
    left_out = {*dicom} - {*_first_files(dicom)}
    for path in inside:
        if path.is_dir():
            if not _is_inside(path):
                yield from find_slides(path)
        elif promised(path) is not None and path not in left_out:
            yield path


def _first_files(dicom: list[Path]) -> list[Path]:
    if not dicom:
        return []
    from histoeval.slides.formats.dicom_files import first_files

    return first_files(dicom)


def _is_inside(folder: Path) -> bool:
    """Whether a folder holds the parts of a slide that lies beside it."""
    name = folder.name.removesuffix("_files")
    return (
        folder.name.startswith(".")
        or folder.with_name(f"{folder.name}.mrxs").exists()
        or (name != folder.name and folder.with_name(f"{name}.dzi").exists())
    )


def _open_folder(path: Path) -> Slide:
    inside = sorted(each for each in path.iterdir() if each.is_file())
    zoomed = [each for each in inside if each.suffix.lower() == ".dzi"]
    if len(zoomed) > 1:
        raise InputError(f"{path} holds {len(zoomed)} DeepZoom slides; name one of the .dzi files")
    if zoomed:
        return _open_file(zoomed[0])
    if any(content_of(each) == "dicom" for each in inside):
        from histoeval.slides.formats.dicom_files import DicomSlide

        return DicomSlide(path)
    others = sum(1 for each in inside if promised(each) is not None)
    if others:
        raise InputError(f"{path} is a folder of {others} images or slides; name one of them")
    raise InputError(f"{path} is a folder without a slide in it")


def _open_file(path: Path) -> Slide:
    content = checked_content(path)
    if content in PICTURES:
        from histoeval.slides.formats.picture_files import PlainPicture

        return PlainPicture(path)
    if content == "deepzoom":
        from histoeval.slides.formats.deepzoom_files import DeepZoomSlide

        return DeepZoomSlide(path)
    if content == "dicom":
        from histoeval.slides.formats.dicom_files import DicomSlide

        return DicomSlide(path)
    if content == "tiff":
        return _open_tiff(path)
    return _open_other(path)


def _open_tiff(path: Path) -> Slide:
    """By openslide where it knows the format, by tifffile where it does not or cannot.

    Openslide takes OME-TIFF for a plain one, and sees neither its levels nor its resolution.
    """
    from histoeval.slides.formats.openslide_files import OpenslideSlide, recognises
    from histoeval.slides.formats.tiff_files import TiffSlide
    from histoeval.slides.truncation import check_whole

    known = recognises(path)
    try:
        kind = check_whole(path)
    except TruncatedSlide:
        raise
    except InputError:
        if known is None:
            raise
        kind = known  # what tifffile stumbles over, openslide may still read
    if known is None or kind == "OME-TIFF":
        return TiffSlide(path)
    try:
        return OpenslideSlide(path)
    except InputError as refusal:
        try:
            return TiffSlide(path)
        except InputError as second:
            raise InputError(f"{refusal}; tifffile says: {second}") from second


def _open_other(path: Path) -> Slide:
    from histoeval.slides.formats.openslide_files import OpenslideSlide, recognises

    if recognises(path) is None:
        raise InputError(f"{path} is neither an image nor a slide that is known here")
    return OpenslideSlide(path)
