"""Images to be reported on: those of a folder, a single one, or those that a table names.

A table has a column `image`, mostly an `id`, perhaps a `reference`, and whatever else is known of a
specimen (organ, procedure, history), of which a model can be given more or less.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from histoeval.errors import InputError, Problem, SettingError, did_you_mean
from histoeval.io.files import ENDINGS, RowNaming, TableSource, demand_rows, open_table
from histoeval.io.folder_kinds import wrong_folder
from histoeval.io.images import check_image
from histoeval.io.tables.columns import (
    TableLayout,
    columns_by_name,
    columns_found,
    normalised,
)
from histoeval.io.tables.formats import Record
from histoeval.io.tables.row_faults import Fault, name_of, text_of
from histoeval.pathgls.grounding.embedded_image import PICTURE
from histoeval.pathgls.stability.examine import Examination

IMAGE_NAMES = ("image", "image_path", "slide", "file", "path", "filename")
REFERENCE = "reference"
NOTHING = "none"
"""The level of specimen information at which a model is given nothing."""


class ImageCase(NamedTuple):
    """One image to be reported on, or the problems that stand in its way."""

    id: str
    image: str
    """As results name it: relative to the folder, or as the table has it."""
    path: Path
    about: Mapping[str, str]
    """What is known of the specimen, by column."""
    reference: str | None = None
    problems: tuple[Problem, ...] = ()


class Cases(NamedTuple):
    """What was opened, and the cases in it."""

    name: str
    sha256: str
    """Of the table; of a folder, of the names of its images."""
    columns: tuple[str, ...]
    cases: tuple[ImageCase, ...]


class ContextLevel(NamedTuple):
    """How much of a specimen a model is given: these columns of the table."""

    name: str
    columns: tuple[str, ...]

    def specimen(self, case: ImageCase) -> str | Problem:
        """What is given of a case, in lines; or what the table lacks of it."""
        if lacking := [name for name in self.columns if not case.about.get(name)]:
            return Problem(
                "missing_value",
                f"the table has no {lacking[0]} for {case.id}, which the level {self.name} needs",
                column=lacking[0],
            )
        return "\n".join(f"- {name}: {case.about[name]}" for name in self.columns)


def open_cases(path: Path, images: Path | None = None, encoding: str | None = None) -> Cases:
    """The images of a folder, one image, or those of a table; relative to `images`, or to it."""
    check_image(path)
    ending = (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()
    if path.is_file() and ending in ENDINGS and ending != ".txt":
        return _of_table(path, images or path.parent, encoding)
    if images is not None:
        raise SettingError("--images goes with a table that names the images")
    return _of_folder(path) if path.is_dir() else _of_files(path.name, path.parent, [path])


def levels_of(specs: Sequence[str], columns: Sequence[str]) -> list[ContextLevel]:
    """Levels as they are named, `none` or columns joined by +, each column one of the table."""
    known = {normalised(name): name for name in columns}
    levels = []
    for spec in dict.fromkeys(spec.strip() for spec in specs):
        named = [] if spec == NOTHING else [normalised(part) for part in spec.split("+")]
        if unknown := [part for part in named if part not in known]:
            found = f"; columns: {', '.join(columns)}" if columns else ""
            guess = did_you_mean(unknown[0], columns)
            raise SettingError(
                f"--specimen {spec}: there is no column {unknown[0]!r}{guess}{found}"
            )
        levels.append(ContextLevel(spec, tuple(known[part] for part in named)))
    return levels


class RequestCount(NamedTuple):
    """How many images there are, and how many requests they would take."""

    pictures: int
    slides: int
    unusable: int
    requests: int


def counted(cases: Cases, levels: Sequence[ContextLevel], examination: Examination) -> RequestCount:
    """How many pictures, slides and requests there are at most; none is sent.

    A slide whose tissue is small has fewer tiles than are counted here.
    """
    from histoeval.slides.open import open_slide

    sizes: Counter[str] = Counter()
    for case in cases.cases:
        try:
            if case.problems:
                raise InputError("the row cannot be read")
            with open_slide(case.path, mpp=examination.mpp) as slide:
                one = max(slide.width, slide.height) <= PICTURE or examination.look == "overview"
                sizes["pictures" if one else "slides"] += 1
        except InputError:
            sizes["unusable"] += 1
    merges = int(examination.merge is not None and examination.tiles > 1)
    each = sizes["pictures"] + sizes["slides"] * (examination.tiles + merges)
    return RequestCount(sizes["pictures"], sizes["slides"], sizes["unusable"], each * len(levels))


def _of_folder(folder: Path) -> Cases:
    from histoeval.slides.open import find_slides

    found = list(find_slides(folder))
    if not found:
        raise wrong_folder(folder, "holds no images or slides")
    return _of_files(folder.resolve().name, folder, found)


def _of_files(name: str, folder: Path, paths: Sequence[Path]) -> Cases:
    """Files by their names without endings, where that tells them apart."""
    names = [path.relative_to(folder) for path in paths]
    short = [each.with_suffix("").as_posix() for each in names]
    times = Counter(short)
    digest = hashlib.sha256()
    for each in names:
        digest.update(f"{each.as_posix()}\0".encode("utf-8", "surrogateescape"))
    cases = [
        ImageCase(brief if times[brief] == 1 else each.as_posix(), each.as_posix(), path, {})
        for brief, each, path in zip(short, names, paths, strict=True)
    ]
    return Cases(name, digest.hexdigest(), (), tuple(cases))


def _of_table(path: Path, images: Path, encoding: str | None) -> Cases:
    opened = open_table(path, encoding=encoding)
    columns = opened.table.columns
    found = columns_by_name(columns)
    image = next((found[name] for name in IMAGE_NAMES if name in found), None)
    if image is None:
        raise InputError(f"{path} has no column 'image'{columns_found(columns)}")
    demand_rows(opened.table, columns, path)
    id_, reference = found.get("id"), found.get(REFERENCE)
    about = tuple(name for name in columns if name not in (image, id_, reference))
    layout = _ImageLayout(id=id_, image=image, reference=reference, about=about)
    cases = tuple(_ImageSource(**vars(opened), layout=layout, folder=images).rows())
    return Cases(path.name, opened.sha256, about, cases)


class _ImageLayout(TableLayout):
    image: str
    reference: str | None
    about: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _ImageSource(TableSource[_ImageLayout, ImageCase]):
    folder: Path

    def _unreadable(self, _: Record, label: str, problems: tuple[Problem, ...]) -> ImageCase:
        return ImageCase(label, "", self.folder, {}, None, problems)

    def _readable(
        self, record: Record, values: Mapping[str, object], naming: RowNaming
    ) -> list[ImageCase]:
        layout = self.layout
        label, id_fault = naming.name(record, values)
        image = name_of(values.get(layout.image), Fault("missing_value"))
        cells = [(layout.id or "id", id_fault), (layout.image, image)]
        problems = self.problems_in(record, cells)
        texts = {name: text_of(values.get(name)) for name in layout.columns}
        known = {name: text for name, text in texts.items() if isinstance(text, str)}
        reference = known.get(layout.reference or "")
        about = {name: known[name] for name in layout.about if name in known}
        name = image if isinstance(image, str) else ""
        return [ImageCase(label, name, self.folder / name, about, reference, problems)]
