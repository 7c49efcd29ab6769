"""Images to be reported on: those of a folder, a single one, or those that a table names.

A table has a column `image`, mostly an `id`, perhaps a `reference`, and whatever else is known of a
specimen (organ, procedure, history), of which a model can be told more or less.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from histoeval.errors import InputError, Problem, SettingError
from histoeval.io.files import ENDINGS, check_there, demand_rows, open_table
from histoeval.io.source import RowNaming, problems_in
from histoeval.io.tables.cell_checks import name_of, text_of
from histoeval.io.tables.columns import normalised
from histoeval.io.tables.formats import Record, RecordTable
from histoeval.io.tables.row_faults import Fault
from histoeval.trust.grounding.embedded_image import PICTURE
from histoeval.trust.stability.examine import Examination

IMAGE_NAMES = ("image", "image_path", "slide", "file", "path", "filename")
REFERENCE = "reference"
NOTHING = "none"
"""The level of specimen information at which a model is told nothing."""


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
    """Of the table; of a folder, of the names and sizes of its images."""
    columns: tuple[str, ...]
    cases: tuple[ImageCase, ...]


class ContextLevel(NamedTuple):
    """How much of a specimen a model is told: these columns of the table."""

    name: str
    columns: tuple[str, ...]

    def specimen(self, case: ImageCase) -> str | Problem:
        """What is told of a case, in lines; or what the table does not say of it."""
        if lacking := [name for name in self.columns if not case.about.get(name)]:
            return Problem(
                "missing_value",
                f"the table does not say the {lacking[0]} of {case.id}, which the level "
                f"{self.name} tells",
                column=lacking[0],
            )
        return "\n".join(f"- {name}: {case.about[name]}" for name in self.columns)


def open_cases(path: Path, images: Path | None = None, encoding: str | None = None) -> Cases:
    """The images of a folder, one image, or those of a table; relative to `images`, or to it."""
    check_there(path)
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
            told = f"; columns: {', '.join(columns)}" if columns else ""
            raise SettingError(
                f"--specimen {spec}: there is no column {unknown[0]!r} to tell it from{told}"
            )
        levels.append(ContextLevel(spec, tuple(known[part] for part in named)))
    return levels


class RequestCount(NamedTuple):
    """What would be asked."""

    pictures: int
    slides: int
    unusable: int
    requests: int


def counted(cases: Cases, levels: Sequence[ContextLevel], examination: Examination) -> RequestCount:
    """How many pictures, slides and requests there are at most; nothing is asked.

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
        raise InputError(f"{folder} holds no images or slides")
    return _of_files(folder.resolve().name, folder, found)


def _of_files(name: str, folder: Path, paths: Sequence[Path]) -> Cases:
    """Files by their names without endings, where that tells them apart."""
    names = [path.relative_to(folder) for path in paths]
    short = [each.with_suffix("").as_posix() for each in names]
    times = Counter(short)
    digest = hashlib.sha256()
    for each, path in zip(names, paths, strict=True):
        size = path.stat().st_size
        digest.update(f"{each.as_posix()}\0{size}\0".encode("utf-8", "surrogateescape"))
    cases = [
        ImageCase(brief if times[brief] == 1 else each.as_posix(), each.as_posix(), path, {})
        for brief, each, path in zip(short, names, paths, strict=True)
    ]
    return Cases(name, digest.hexdigest(), (), tuple(cases))


def _of_table(path: Path, images: Path, encoding: str | None) -> Cases:
    opened = open_table(path, encoding=encoding)
    table = opened.table
    found = {normalised(name): name for name in table.columns}
    image = next((found[name] for name in IMAGE_NAMES if name in found), None)
    if image is None:
        raise InputError(f"{path} has no column 'image'. Columns found: {', '.join(table.columns)}")
    demand_rows(table, table.columns, path)
    roles = _Roles(image, found.get("id"), found.get(REFERENCE))
    about = tuple(name for name in table.columns if name not in roles)
    cases = tuple(_rows(table, roles, about, images))
    return Cases(path.name, opened.sha256, about, cases)


class _Roles(NamedTuple):
    """Columns that are not about the specimen."""

    image: str
    id: str | None
    reference: str | None


def _rows(
    table: RecordTable, roles: _Roles, about: Sequence[str], images: Path
) -> Iterator[ImageCase]:
    naming = RowNaming(roles.id)
    for record in table.read(table.columns):
        if record.values is None:
            assert record.problem is not None, "a record has values or a problem"
            yield ImageCase(naming.label(record), "", images, {}, None, (record.problem,))
        else:
            yield _row(table, record, record.values, roles, about, images, naming)


def _row(
    table: RecordTable,
    record: Record,
    values: Mapping[str, object],
    roles: _Roles,
    about: Sequence[str],
    images: Path,
    naming: RowNaming,
) -> ImageCase:
    label, id_fault = naming.name(record, values)
    image = name_of(values.get(roles.image), Fault("missing_value"))
    cells = [(roles.id or "id", id_fault), (roles.image, image)]
    problems = problems_in(table, record, cells)
    told = {name: text for name in about if isinstance(text := text_of(values.get(name)), str)}
    reference = text_of(values.get(roles.reference)) if roles.reference else None
    name = image if isinstance(image, str) else ""
    kept = reference if isinstance(reference, str) else None
    return ImageCase(label, name, images / name, told, kept, problems)
