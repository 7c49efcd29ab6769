"""Labelled reports for tuning: their dimensions, and what people found of them, from tables."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from histoeval.errors import InputError, SettingError
from histoeval.io.files import open_table
from histoeval.io.tables.columns import normalised
from histoeval.io.tables.formats import RecordTable
from histoeval.pathgls.policy.policy import DIMENSIONS, Dimension
from histoeval.pathgls.policy.tuning import LabelledReports
from histoeval.report import Noun

Direction = Literal["better", "worse"]

RIGHT, WRONG = ("correct", "right"), ("wrong", "incorrect")
"""Words that labels may be."""

LABELS: dict[str, Direction | None] = {
    "label": None,
    "error_level": "worse",
    "level": "worse",
    "severity": "worse",
    "human_score": "better",
    "expert_score": "better",
    "score": "better",
    "rating": "better",
}
"""Columns that labels are looked for in, and whether more of a number is better there."""

CASES = ("case", "case_id", "patient", "patient_id")


class LabelRequest(Noun):
    """What a person says of the labels; the rest is guessed."""

    label: str | None = None
    case: str | None = None
    more_is: Direction | None = None
    wrong_from: float | None = None
    """The error level from which on a report is wrong."""
    right_from: float | None = None
    """The human score from which on a report is right."""
    without: tuple[Dimension, ...] = ()


class LabelledFile(NamedTuple):
    """Labelled reports, and what there is to say of where they come from."""

    labelled: LabelledReports
    about: dict[str, Any]


class _Row(NamedTuple):
    dimensions: tuple[float, ...]
    label: str | float
    case: str


class _LeftOut(NamedTuple):
    reason: str


def read_labelled(path: Path, labels: Path | None, request: LabelRequest) -> LabelledFile:
    """The labelled reports of one table, or of the rows of `trust` and a table of labels by id."""
    opened = open_table(path)
    table = opened.table
    others: dict[str, Mapping[str, object]] = {}
    columns: Sequence[str] = table.columns
    if labels is not None:
        others, columns = _by_id(labels)
    label, case = _label(columns, request, labels or path), _case(columns, request, labels or path)
    found = [
        _row(number, values, others if labels is not None else None, label, case, request)
        for number, values in enumerate(_values(table), start=1)
    ]
    rows = [row for row in found if isinstance(row, _Row)]
    gone = Counter(row.reason for row in found if isinstance(row, _LeftOut))
    if not rows:
        reasons = "; ".join(f"{count} times {reason}" for reason, count in gone.items())
        raise InputError(f"{path} has no labelled report with all dimensions: {reasons or 'empty'}")
    goodness, wrong, meaning = _goodness([row.label for row in rows], label, request)
    names = {name: at for at, name in enumerate(dict.fromkeys(row.case for row in rows))}
    labelled = LabelledReports(
        np.array([row.dimensions for row in rows]),
        goodness,
        wrong,
        np.array([names[row.case] for row in rows], dtype=np.intp),
    )
    about = {
        "name": path.name,
        "sha256": opened.sha256,
        **({} if labels is None else {"labels": labels.name}),
        "case": case,
        "label": f"{label} ({meaning})",
        "rows": len(found),
        "used": len(rows),
        "cases": len(names),
        "left_out": dict(sorted(gone.items())),
    }
    return LabelledFile(labelled, about)


def _values(table: RecordTable) -> Iterator[Mapping[str, object]]:
    """Every row; one that cannot be read holds nothing, and is then counted as lacking all."""
    for record in table.read(table.columns):
        yield record.values or {}


def _by_id(path: Path) -> tuple[dict[str, Mapping[str, object]], Sequence[str]]:
    table = open_table(path).table
    if "id" not in table.columns:
        raise InputError(f"{path} has no column 'id' to find its labels by")
    found: dict[str, Mapping[str, object]] = {}
    for values in _values(table):
        name = str(values.get("id", ""))
        if name in found:
            raise InputError(f"{path} has more than one label for {name!r}")
        found[name] = values
    return found, table.columns


def _label(columns: Sequence[str], request: LabelRequest, path: Path) -> str:
    if request.label is not None:
        if request.label not in columns:
            raise InputError(f"{path} has no column {request.label!r}; it has {', '.join(columns)}")
        return request.label
    for known in LABELS:
        for name in columns:
            if normalised(name) == known:
                return name
    raise InputError(
        f"{path} has no column of labels; name it: --label NAME. It has {', '.join(columns)}"
    )


def _case(columns: Sequence[str], request: LabelRequest, path: Path) -> str | None:
    if request.case is not None and request.case not in columns:
        raise InputError(f"{path} has no column {request.case!r}; it has {', '.join(columns)}")
    guessed = next((n for known in CASES for n in columns if normalised(n) == known), None)
    return request.case or guessed


def _row(
    place: int,
    values: Mapping[str, object],
    others: Mapping[str, Mapping[str, object]] | None,
    label: str,
    case: str | None,
    request: LabelRequest,
) -> _Row | _LeftOut:
    """A report with its dimensions and label, or why it cannot be used."""
    name = str(values.get("id", ""))
    labelled = values if others is None else others.get(name, {})
    found = _label_of(labelled.get(label))
    if found is None:
        return _LeftOut("no label")
    dimensions = []
    for dimension in DIMENSIONS:
        number = math.nan if dimension in request.without else _number(values.get(dimension))
        if number is None or number < 0 or number > 1:
            return _LeftOut(f"no {dimension}")
        dimensions.append(number)
    of_case = labelled.get(case) if case is not None else None
    alone = of_case is None or of_case == ""
    return _Row(tuple(dimensions), found, f"row {place}" if alone else f"case {of_case}")


def _number(value: object) -> float | None:
    """The number in a cell, if it is one."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _label_of(value: object) -> str | float | None:
    if isinstance(value, str) and value.strip().lower() in (*RIGHT, *WRONG):
        return value.strip().lower()
    return _number(value)


def _goodness(
    labels: Sequence[str | float], column: str, request: LabelRequest
) -> tuple[Any, Any, str]:
    """Labels as numbers of which more is better, which of them are wrong, and what they mean."""
    words = [label for label in labels if isinstance(label, str)]
    if words and len(words) < len(labels):
        raise InputError(f"the column {column!r} holds words and numbers; it must be one of them")
    if words:
        if request.wrong_from is not None or request.right_from is not None:
            raise SettingError(
                f"the column {column!r} says in words what is wrong: --wrong-from and --right-from "
                "are for numbers"
            )
        good = np.array([label in RIGHT for label in labels])
        return good.astype(float), ~good, "correct or wrong"
    more_is = request.more_is or LABELS.get(normalised(column))
    if more_is is None:
        raise SettingError(
            f"the column {column!r} holds numbers: say whether more of them is better, as a "
            "score, or worse, as a level of error: --more-is better, or --more-is worse"
        )
    numbers = np.array(labels, dtype=np.float64)
    if more_is == "worse":
        if request.right_from is not None:
            raise SettingError("with levels of error, --wrong-from says which reports are wrong")
        wrong = None if request.wrong_from is None else numbers >= request.wrong_from
        return (
            -numbers,
            wrong,
            _meaning("error level, more is worse", "wrong from", request.wrong_from),
        )
    if request.wrong_from is not None:
        raise SettingError("with scores, --right-from says which reports are right")
    wrong = None if request.right_from is None else numbers < request.right_from
    return numbers, wrong, _meaning("score, more is better", "right from", request.right_from)


def _meaning(kind: str, word: str, at: float | None) -> str:
    return kind if at is None else f"{kind}, {word} {at:g}"
