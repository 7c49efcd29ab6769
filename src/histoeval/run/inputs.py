"""Inputs of any kind: files, folders, data frames, records, lists of texts, or single texts.

Every verb takes its input through one of these functions.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from histoeval.errors import SettingError
from histoeval.io.files import GUESS
from histoeval.io.pairs import (
    AS_WRITTEN,
    Joining,
    PairSource,
    open_source,
    source_of_records,
    source_of_systems,
)
from histoeval.io.reports import CaseSource, TextSource, open_cases, open_reports
from histoeval.io.submissions import system_names
from histoeval.io.tables.columns import Columns
from histoeval.io.tables.remote import local_input

Texts = str | Sequence[str]  # one text, or several


def pair_source(
    data: Any = None,
    *,
    references: Texts | None = None,
    candidates: Texts | Mapping[str, Texts] | None = None,
    columns: Columns = GUESS,
    encoding: str | None = None,
    truth: Any = None,
    joining: Joining = AS_WRITTEN,
) -> PairSource:
    """Open the pairs of a table, of parallel files or folders, of records, or of texts.

    `data` beside `candidates` is a reference, or a list of them; beside a `truth` it is what the
    systems wrote, joined by id.
    """
    if truth is not None:
        if references is not None or candidates is not None:
            raise SettingError("give data and truth, or references and candidates, not both")
        return _joined_source(data, truth, columns, encoding, joining)
    if data is not None and candidates is not None and references is None:
        if is_path(data) and is_path(candidates):
            data, candidates = [data, candidates], None
        else:
            data, references = None, data
    if data is None:
        if columns != GUESS:
            raise SettingError("texts have no columns to name")
        text_columns = Columns(
            reference="reference", candidates=("candidate",), id="id", system="system"
        )
        return source_of_records(_parallel(references, candidates), text_columns, joining)
    if references is not None or candidates is not None:
        raise SettingError("give data, or references and candidates, not both")
    if isinstance(data, str | Path):
        return open_source([local_input(data)], columns, encoding, joining=joining)
    items = _items(
        data,
        "a file, a list of files or folders, a polars or pandas frame, or a list of records such "
        "as {'id': ..., 'reference': ..., 'candidate': ...}",
    )
    if items and all(isinstance(item, str | Path) for item in items):
        paths = [local_input(item) for item in items]
        return open_source(paths, columns, encoding, joining=joining)
    return source_of_records(items, columns, joining)


def _joined_source(
    data: Any, truth: Any, columns: Columns, encoding: str | None, joining: Joining
) -> PairSource:
    files = [data] if isinstance(data, str | Path) else data
    if isinstance(truth, str | Path) and _are_paths(files):
        paths = [local_input(file) for file in files]
        return open_source(paths, columns, encoding, truth=local_input(truth), joining=joining)
    if _are_paths(files):
        data = dict(zip(system_names(paths := [*map(local_input, files)]), paths, strict=True))
    else:
        is_mapping = isinstance(data, Mapping)
        is_by_id = is_mapping and all(
            isinstance(text, str) and not is_path(text) for text in data.values()
        )
        if not is_mapping or is_by_id:
            data = {"candidate": data}
    has_several = joining.references is not None
    candidate = next(iter(columns.candidates), None)
    references = _by_id(truth, columns.reference, columns.id, encoding, several=has_several)
    systems = {
        str(name): _by_id(reports, candidate, columns.id, encoding)
        for name, reports in data.items()
    }
    return source_of_systems(references, systems, joining)


def _are_paths(items: Any) -> bool:
    return isinstance(items, list | tuple) and all(isinstance(item, str | Path) for item in items)


def _by_id(
    data: Any, text: str | None, id_: str | None, encoding: str | None, *, several: bool = False
) -> TextSource:
    if isinstance(data, str | Path):
        data = local_input(data)
    elif isinstance(data, Mapping):
        data = [{"id": name, "text": report} for name, report in data.items()]
        text, id_ = "text", "id"
    else:
        data = _items(data, "a file or folder, a frame, records, or a mapping from ids to texts")
    return open_reports(data, text=text, id_=id_, encoding=encoding, several=several)


def text_source(
    data: Any, *, text: str | None = None, id_: str | None = None, encoding: str | None = None
) -> TextSource:
    if isinstance(data, str) and not is_path(data):
        has_ending = Path(data).suffix.lstrip(".").isalnum()
        if len(data.split()) > 1 and not has_ending:  # a report, and not the name of a file
            data = [data]
    if isinstance(data, str | Path):
        return open_reports(local_input(data), text=text, id_=id_, encoding=encoding)
    items = _items(
        data,
        "a list of texts, a file or folder, a polars or pandas frame, or a list of records such as "
        "{'id': ..., 'text': ...}",
    )
    if text is None and id_ is None and not any(isinstance(item, Mapping) for item in items):
        items = [{"text": item} for item in items]
    return open_reports(items, text=text, id_=id_)


def case_source(
    data: Any,
    *,
    text: str | None = None,
    image: str | None = None,
    id_: str | None = None,
    images: str | Path | None = None,
    encoding: str | None = None,
) -> CaseSource:
    if isinstance(data, str | Path):
        cases: Any = local_input(data)
    else:
        cases = _items(
            data,
            "a file, a polars or pandas frame, a list of records such as {'id': ..., 'image': "
            "..., 'report': ...}, or a list of reports",
        )
        if cases and all(isinstance(case, str) for case in cases):
            cases = [{"report": case} for case in cases]
    image_folder = None if images is None else Path(images)
    return open_cases(
        cases, text=text, image=image, id_=id_, images=image_folder, encoding=encoding
    )


def _items(data: Any, accepted: str) -> list[Any]:
    """List the rows of a data frame, or the items of a list; mappings and models as dicts."""
    if hasattr(data, "collect"):  # a lazy polars frame
        data = data.collect()
    if hasattr(data, "iter_rows"):
        return list(data.iter_rows(named=True))
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        records: list[Any] = data.astype(object).where(data.notna(), None).to_dict(orient="records")
        return records
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        raise SettingError(f"data is of type {type(data).__name__}; it must be {accepted}")
    # A mapping as a dict has a hash of its own content; a `Pair` counts by its fields.
    items = [dict(item) if isinstance(item, Mapping) else item for item in data]
    return [item.model_dump() if hasattr(item, "model_dump") else item for item in items]


def _parallel(
    references: Texts | None, candidates: Texts | Mapping[str, Texts] | None
) -> list[dict[str, Any]]:
    if references is None or candidates is None:
        raise SettingError("give data, or both references and candidates")
    systems = candidates if isinstance(candidates, Mapping) else {"candidate": candidates}
    for name, texts in ({"references": references} | dict(systems)).items():
        if hasattr(texts, "columns") or isinstance(texts, Mapping):
            raise SettingError(
                f"{name} is of type {type(texts).__name__}; give a text or a list of texts, such "
                "as one column of a frame, or the whole frame alone as data"
            )
    is_single = isinstance(references, str)
    if any(isinstance(texts, str) != is_single for texts in systems.values()):
        raise SettingError(
            "references and candidates must both be texts, or both be lists of texts"
        )
    reference_list = _listed(references)
    for name, texts in systems.items():
        if len(_listed(texts)) != len(reference_list):
            raise SettingError(
                f"{name} has {len(texts)} texts for {len(reference_list)} references; "
                "there must be one for each"
            )
    return [
        {"id": str(position), "system": name, "reference": reference, "candidate": text}
        for name, texts in systems.items()
        for position, (reference, text) in enumerate(
            zip(reference_list, _listed(texts), strict=True)
        )
    ]


def _listed(texts: Texts) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def is_path(name: object) -> bool:
    """True if this names an existing file or folder, and is not a text."""
    if not isinstance(name, str | Path):
        return False
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long, or with characters that no name can have
        return False
