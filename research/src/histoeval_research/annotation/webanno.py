"""WebAnno TSV 3, as INCEpTION and WebAnno export it: a document per file.

The text is that of the sentences, with the gaps between them filled as INCEpTION itself does it.
Offsets are in units of UTF-16. A relation stands in the row of its target (the dependent) and
names its source (the governor): source is head, target is tail.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from histoeval.io.tables.row_faults import RECORD_LIMIT
from histoeval_research.annotation.passage import (
    AnnotatedPassage,
    DraftSpan,
    Link,
    PassageDraft,
    RefusedPassage,
    Utf16,
    Vocabulary,
    holds_entities,
    names_and_assertion,
)

FORMAT = "#FORMAT=WebAnno TSV 3."
_KINDS: dict[str, Literal["span", "relation"]] = {"#T_SP": "span", "#T_RL": "relation"}

_STACKED = re.compile(r"(?:\\.|[^\\|])+", re.DOTALL)
_VALUE = re.compile(r"((?:\\.|[^\\\[])*)(?:\[(\d+)(?:_(\d+))?\])?", re.DOTALL)
_ESCAPED = re.compile(r"\\(->|.)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "b": "\b"}


class Layer(NamedTuple):
    """A layer of annotations, and the columns of its features."""

    kind: Literal["span", "relation", "other"]
    name: str
    features: tuple[str, ...]
    column: int


class WebAnnoRow(NamedTuple):
    """A token or a part of one: its number, its place in units of UTF-16, and its cells."""

    number: str
    start: int
    end: int
    token: str
    cells: Sequence[str]


class StackedValue(NamedTuple):
    """One of the values stacked in a cell, and the numbers that identify it."""

    value: str | None
    number: str | None
    second: str | None


@dataclass
class _Found:
    """The stretch that an annotation has covered so far."""

    start: int
    end: int
    layer: Layer
    values: list[str | None] = field(default_factory=list)


def read_document(
    text: str, name: str, report_id: str, source: str, vocabulary: Vocabulary
) -> AnnotatedPassage:
    """The passage of a document."""
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    if not lines[0].startswith(FORMAT):
        raise RefusedPassage("wrong_format", f"it does not begin with {FORMAT}x")
    layers = list(_layers(lines))
    width = sum(max(1, len(layer.features)) for layer in layers)
    whole, rows = _body(lines, width)
    places = Utf16(whole)
    draft = PassageDraft(name, source, report_id, whole)
    for key, found in _annotations(rows, layers).items():
        names, assertion = names_and_assertion(
            found.layer.name, dict(zip(found.layer.features, found.values, strict=False))
        )
        span = (places.character(found.start), places.character(found.end))
        draft.spans[key] = DraftSpan(*span, names, assertion)
    draft.links = list(_links(rows, layers))
    return draft.finish(vocabulary)


def _layers(lines: Sequence[str]) -> Iterator[Layer]:
    """The layers that the head of the file declares; one without features has a column too."""
    column = 0
    for line in lines[1:]:
        mark, _, declared = line.partition("=")
        if not mark.startswith("#T_"):
            return
        name, *features = [part for part in declared.split("|") if part] or [""]
        if not name:
            raise RefusedPassage("wrong_format", f"the line {line!r} declares no layer")
        yield Layer(_KINDS.get(mark, "other"), name, tuple(features), column)
        column += max(1, len(features))


def _body(lines: Sequence[str], width: int) -> tuple[str, list[WebAnnoRow]]:
    """The text, and the rows below it."""
    whole, length, sentence = "", 0, ""
    rows: list[WebAnnoRow] = []
    for number, line in enumerate(lines, start=1):
        if line.startswith("#Text="):
            sentence += _unescaped(line.removeprefix("#Text=")) + "\n"
        elif line and not line.startswith("#"):
            row = _row(line, number, width)
            if sentence:
                whole = _padded(whole, length, row.start) + sentence
                length, sentence = row.start + _units(sentence), ""
            rows.append(row)
    whole = whole.removesuffix("\n")
    _check(whole, rows)
    return whole, rows


def _padded(whole: str, length: int, start: int) -> str:
    """The text so far, as long as the beginning of the next sentence needs it."""
    if length - start == 1 and whole.endswith("\n"):
        return whole[:-1]
    if start < length:
        raise RefusedPassage(
            "broken_text", f"a sentence begins at {start}, where another one still is"
        )
    if start > RECORD_LIMIT:
        raise RefusedPassage(
            "broken_text", f"a sentence begins at {start}, further on than any report is long"
        )
    return whole + " " * (start - length)


def _row(line: str, number: int, width: int) -> WebAnnoRow:
    parts = line.split("\t")
    place = re.fullmatch(r"(\d+)-(\d+)", parts[1]) if len(parts) >= 3 + width else None
    if place is None:
        raise RefusedPassage("broken_text", f"line {number} is not a token with {width} columns")
    start, end = int(place[1]), int(place[2])
    return WebAnnoRow(parts[0], start, end, _unescaped(parts[2]), parts[3 : 3 + width])


def _check(whole: str, rows: Sequence[WebAnnoRow]) -> None:
    places = Utf16(whole)
    for row in rows:
        there = whole[places.character(row.start) : places.character(row.end)]
        if there != row.token:
            raise RefusedPassage(
                "broken_offsets",
                f"token {row.number} is {row.token!r}, and {there!r} stands at its place",
            )


def _annotations(
    rows: Sequence[WebAnnoRow], layers: Sequence[Layer]
) -> dict[tuple[str, str], _Found]:
    """Every annotation of a span, by its layer and its number, or else by its only row."""
    found: dict[tuple[str, str], _Found] = {}
    spans = [layer for layer in layers if layer.kind == "span" and holds_entities(layer.name)]
    for row in rows:
        for layer in spans:
            columns = row.cells[layer.column : layer.column + max(1, len(layer.features))]
            for stacked in zip(*map(_cells, columns), strict=False):
                key = (layer.name, _key(stacked[0].number, row.number))
                there = found.setdefault(key, _Found(row.start, row.end, layer))
                there.start, there.end = min(there.start, row.start), max(there.end, row.end)
                there.values = there.values or [cell.value for cell in stacked]
    return found


def _links(rows: Sequence[WebAnnoRow], layers: Sequence[Layer]) -> Iterator[Link]:
    """Every relation between annotations that can be entities."""
    for layer in layers:
        base = next((f[3:] for f in layer.features if f.startswith("BT_")), "")
        if layer.kind != "relation" or not base or not holds_entities(base):
            continue
        column = layer.column + len(layer.features) - 1
        for row in rows:
            for source in _cells(row.cells[column]):
                head = _key(source.number, source.value or "")
                tail = _key(source.second, row.number)
                yield Link((base, head), (base, tail))


def _key(number: str | None, row: str) -> str:
    """The number in brackets, and where it says nothing (0, or none) the row."""
    return f"[{number}]" if number and number != "0" else row


def _cells(cell: str) -> list[StackedValue]:
    """What is stacked in a cell: `_` is nothing, `*` an annotation without a value."""
    if cell == "_":
        return []
    return [_cell(part) for part in _STACKED.findall(cell)]


def _cell(part: str) -> StackedValue:
    match = _VALUE.fullmatch(part)
    if match is None:
        raise RefusedPassage("broken_text", f"the cell {part!r} is not well formed")
    value = None if match[1] == "*" else _unescaped(match[1])
    return StackedValue(value, match[2], match[3])


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda sign: _CONTROLS.get(sign[1], sign[1]), text)


def _units(text: str) -> int:
    return Utf16(text).unit(len(text))
