"""Opens images and slides of every format."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from histoeval.errors import InputError, SettingError
from histoeval.io.folder_kinds import wrong_folder
from histoeval.io.images import check_image, is_file, is_folder
from histoeval.slides.isolated import IsolatedSlide
from histoeval.slides.slide import (
    COARSEST,
    FINEST,
    KINDS,
    Resolution,
    Slide,
    checked_type,
    file_type,
    is_plausible,
    named_type,
    unreadable,
)

PICTURES = frozenset(kind for kind, row in KINDS.items() if "plain" in row)
MIN_SIDE = 16  # pixels; anything smaller shows no tissue


def open_slide(path: Path | str, *, mpp: float | None = None) -> Slide:
    """Open a picture, a slide, or a folder that is one slide.

    The microns per pixel come from `mpp` or else from the file. If neither gives them, `resolution`
    is None; it is never guessed. Whatever is wrong with the file is an `InputError`.
    """
    path = Path(path)
    check_image(path)
    if mpp is not None and not is_plausible(mpp):
        raise SettingError(
            f"{mpp:g} microns per pixel is not the resolution of a slide; it must be between "
            f"{FINEST:g} and {COARSEST:g}"
        )
    picture: Slide | None = None
    try:
        if not is_folder(path) and checked_type(path) in PICTURES:
            from histoeval.slides.formats.picture_files import PlainPicture

            picture = PlainPicture(path)
    except OSError as error:
        raise unreadable(path, error) from error
    slide = picture or IsolatedSlide(path)
    if min(slide.width, slide.height) < MIN_SIDE:
        slide.close()
        raise InputError(
            f"{path} has {slide.width} x {slide.height} px; each side needs at least {MIN_SIDE} px"
        )
    if mpp is not None:
        if slide.resolution is not None:
            stated = f"the file says {slide.resolution.mean:.4g} microns per pixel"
            slide.notes = (*slide.notes, stated)
        slide.resolution = Resolution(mpp, mpp, "given")
    return slide


def find_slides(folder: Path) -> Iterator[Path]:
    """All images and slides in a folder and its subfolders, by their file names.

    DeepZoom blocks and the folders of MIRAX slides are skipped as parts of slides, and of the DICOM
    files of one slide only the first is listed. Every folder is searched once, however many links
    lead to it. A subfolder that cannot be read is listed itself, and is refused when opened.
    """
    check_image(folder)
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        raise unreadable(folder, error) from error
    home = folder.resolve()
    yield from _slides_in(inside, home, {home})


def _slides_in(inside: list[Path], home: Path, searched: set[Path]) -> Iterator[Path]:
    dicom_paths = [path for path in inside if named_type(path) == "dicom" and is_file(path)]
    skipped: set[Path] = set()
    if dicom_paths:
        from histoeval.slides.formats.dicom_files import first_files

        skipped = {*dicom_paths} - {*first_files(dicom_paths)}
    for path in inside:
        if not is_folder(path):
            if named_type(path) is not None and path not in skipped:
                yield path
        elif not _is_part_of_slide(path):
            real = path.resolve()
            if real in searched or (path.is_symlink() and real.is_relative_to(home)):
                continue  # searched already, or will be by its own name
            searched.add(real)
            try:
                content = sorted(path.iterdir())
            except OSError:
                yield path
            else:
                yield from _slides_in(content, home, searched)


def _is_part_of_slide(folder: Path) -> bool:
    name = folder.name.removesuffix("_files")
    return (
        folder.name.startswith(".")
        or is_file(folder.with_name(f"{folder.name}.mrxs"))
        or (name != folder.name and is_file(folder.with_name(f"{name}.dzi")))
    )


def open_here(path: Path) -> Slide:
    """Open a slide in this very process, which a damaged file can end; for `worker.py`."""
    try:
        if is_folder(path):
            return _open_file(*_slide_in(path))
        return _open_file(path, checked_type(path))
    except OSError as error:
        raise unreadable(path, error) from error


def _slide_in(folder: Path) -> tuple[Path, str]:
    files = sorted(file for file in folder.iterdir() if is_file(file))
    zoomed = [file for file in files if file.suffix.lower() == ".dzi"]
    if len(zoomed) > 1:
        raise InputError(
            f"{folder} contains {len(zoomed)} DeepZoom slides; name one of the .dzi files"
        )
    if zoomed:
        return zoomed[0], checked_type(zoomed[0])
    if any(file_type(file) == "dicom" for file in files):
        return folder, "dicom"
    if images := sum(named_type(file) is not None for file in files):
        raise InputError(f"{folder} is a folder of {images} images or slides; name one of them")
    raise wrong_folder(folder, "is a folder without a slide in it")


def _open_file(path: Path, content: str) -> Slide:
    if reader := KINDS.get(content, {}).get("reader"):
        module, _, name = reader.partition(":")
        slide: Slide = getattr(import_module(f"histoeval.slides.formats.{module}"), name)(path)
        return slide
    from histoeval.slides.formats.tiff_files import OpenslideSlide, recognises

    if recognises(path) is None:
        raise InputError(f"{path} is not an image or slide in a supported format")
    return OpenslideSlide(path)
