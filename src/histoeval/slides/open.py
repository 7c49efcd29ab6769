"""Opens images and slides of every format."""

from collections.abc import Iterator
from pathlib import Path

from histoeval.errors import InputError
from histoeval.io.files import check_there
from histoeval.slides import resolution
from histoeval.slides.file_type import checked_type, file_type, named_type
from histoeval.slides.slide import Slide, TruncatedSlide

PICTURES = frozenset({"png", "jpeg", "bmp", "webp"})
MIN_SIDE = 16
"""Pixels; anything smaller shows no tissue."""


def open_slide(path: Path | str, *, mpp: float | None = None) -> Slide:
    """Open a picture, a slide, or a folder that is one slide.

    The microns per pixel come from `mpp` or else from the file. If neither gives them, `resolution`
    is None; it is never guessed.
    """
    path = Path(path)
    check_there(path)
    given = None if mpp is None else resolution.given(mpp)
    slide = _open_folder(path) if path.is_dir() else _open_file(path)
    if min(slide.width, slide.height) < MIN_SIDE:
        slide.close()
        raise InputError(
            f"{path} has {slide.width} x {slide.height} px; each side needs at least {MIN_SIDE} px"
        )
    if given is not None:
        if slide.resolution is not None:
            stated = f"the file says {slide.resolution.mean:.4g} microns per pixel"
            slide.notes = (*slide.notes, stated)
        slide.resolution = given
    return slide


def find_slides(folder: Path) -> Iterator[Path]:
    """All images and slides in a folder and its subfolders, by their file names.

    DeepZoom blocks and the folders of MIRAX slides are skipped as parts of slides, and of the DICOM
    files of one slide only the first is listed.
    """
    check_there(folder)
    inside = sorted(folder.iterdir())
    dicom = [path for path in inside if named_type(path) == "dicom" and path.is_file()]
    skipped = {*dicom} - {*_first_files(dicom)}
    for path in inside:
        if path.is_dir():
            if not _is_part_of_slide(path):
                yield from find_slides(path)
        elif named_type(path) is not None and path not in skipped:
            yield path


def _first_files(dicom: list[Path]) -> list[Path]:
    if not dicom:
        return []
    from histoeval.slides.formats.dicom_files import first_files

    return first_files(dicom)


def _is_part_of_slide(folder: Path) -> bool:
    """Whether a folder contains the parts of a slide that lies beside it."""
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
        raise InputError(
            f"{path} contains {len(zoomed)} DeepZoom slides; name one of the .dzi files"
        )
    if zoomed:
        return _open_file(zoomed[0])
    if any(file_type(each) == "dicom" for each in inside):
        from histoeval.slides.formats.dicom_files import DicomSlide

        return DicomSlide(path)
    others = sum(1 for each in inside if named_type(each) is not None)
    if others:
        raise InputError(f"{path} is a folder of {others} images or slides; name one of them")
    raise InputError(f"{path} is a folder without a slide in it")


def _open_file(path: Path) -> Slide:
    content = checked_type(path)
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
    """By openslide if it knows the format, else, or if openslide fails, by tifffile.

    Openslide reads OME-TIFF as plain TIFF, without its levels and its resolution.
    """
    from histoeval.slides.formats.openslide_files import OpenslideSlide, recognises
    from histoeval.slides.formats.tiff_files import TiffSlide, check_whole

    known = recognises(path)
    try:
        kind = check_whole(path)
    except TruncatedSlide:
        raise
    except InputError:
        if known is None:
            raise
        kind = known  # openslide may still read what tifffile cannot
    if known is None or kind == "OME-TIFF":
        return TiffSlide(path)
    try:
        return OpenslideSlide(path)
    except InputError as refusal:
        try:
            return TiffSlide(path)
        except InputError as second:
            raise InputError(f"{refusal}; tifffile: {second}") from second


def _open_other(path: Path) -> Slide:
    from histoeval.slides.formats.openslide_files import OpenslideSlide, recognises

    if recognises(path) is None:
        raise InputError(f"{path} is not an image or slide in a supported format")
    return OpenslideSlide(path)
