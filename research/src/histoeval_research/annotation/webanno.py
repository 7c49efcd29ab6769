"""WebAnno TSV 3, as INCEpTION and WebAnno export it: a document per file.

The text is that of the sentences, with the gaps between them filled as INCEpTION itself does it.
Offsets are in units of UTF-16. A relation stands in the row of its target (the dependent) and
names its source (the governor): source is head, target is tail.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from histoeval.io.tables.records import RECORD_LIMIT
from histoeval_research.annotation.passage import (
    DraftSpan,
    Link,
    PassageDraft,
    RefusedPassage,
    Utf16,
    holds_entities,
    names_and_assertion,
)

FORMAT = "#FORMAT=WebAnno TSV 3."
SPAN, RELATION = "#T_SP", "#T_RL"

_STACKED = re.compile(r"(?:\\.|[^\\|])+", re.DOTALL)  # result[4]|measurement[5]
_VALUE = re.compile(r"((?:\\.|[^\\\[])*)(?:\[(\d+)(?:_(\d+))?\])?", re.DOTALL)  # 2-1.1[0_4]
_ESCAPED = re.compile(r"\\(->|.)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "b": "\b"}


class Layer(NamedTuple):
    """A layer of annotations, and the columns of its features; one without any has a column too."""

    kind: str
    name: str
    features: tuple[str, ...]
    column: int

    @property
    def width(self) -> int:
        return max(1, len(self.features))


class WebAnnoRow(NamedTuple):
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
class _Stretch:
    layer: Layer
    values: list[str | None]
    start: int
    end: int


def read_document(draft: PassageDraft, content: str) -> None:
    lines = [line.removesuffix("\r") for line in content.removeprefix("\ufeff").split("\n")]
    if not lines[0].startswith(FORMAT):
        raise RefusedPassage("wrong_format", f"it does not begin with {FORMAT}x")
    layers: list[Layer] = []
    for line in lines[1:]:
        mark, _, declared = line.partition("=")
        if not mark.startswith("#T_"):
            break
        name, *features = [part for part in declared.split("|") if part] or [""]
        if not name:
            raise RefusedPassage("wrong_format", f"the line {line!r} declares no layer")
        column = sum(layer.width for layer in layers)
        layers.append(Layer(mark, name, tuple(features), column))
    draft.text, rows = _body(lines, sum(layer.width for layer in layers))
    places = Utf16(draft.text)
    for row in rows:
        written = draft.text[places.character(row.start) : places.character(row.end)]
        if written != row.token:
            raise RefusedPassage(
                "broken_offsets",
                f"token {row.number} is {row.token!r}, and {written!r} stands at its place",
            )
    for key, stretch in _stretches(rows, layers).items():
        values = dict(zip(stretch.layer.features, stretch.values, strict=False))
        span = (places.character(stretch.start), places.character(stretch.end))
        draft.spans[key] = DraftSpan(*span, *names_and_assertion(stretch.layer.name, values))
    draft.links = [link for layer in layers for link in _links(rows, layer)]


def _body(lines: Sequence[str], width: int) -> tuple[str, list[WebAnnoRow]]:
    whole, length, sentence = "", 0, ""
    rows: list[WebAnnoRow] = []
    for number, line in enumerate(lines, start=1):
        if line.startswith("#Text="):
            sentence += _unescaped(line.removeprefix("#Text=")) + "\n"
        elif line and not line.startswith("#"):
            parts = line.split("\t")
            place = re.fullmatch(r"(\d+)-(\d+)", parts[1]) if len(parts) >= 3 + width else None
            if place is None:
                reason = f"line {number} is not a token with {width} columns"
                raise RefusedPassage("broken_text", reason)
            start, end = int(place[1]), int(place[2])
            rows.append(
                WebAnnoRow(parts[0], start, end, _unescaped(parts[2]), parts[3 : 3 + width])
            )
            if sentence:
                whole = _padded(whole, length, start) + sentence
                length, sentence = start + Utf16(sentence).unit(len(sentence)), ""
    return whole.removesuffix("\n"), rows


def _padded(whole: str, length: int, start: int) -> str:
    if length - start == 1 and whole.endswith("\n"):
        return whole[:-1]
    if start < length:
        reason = f"a sentence begins at {start}, where another one still is"
        raise RefusedPassage("broken_text", reason)
    if start > RECORD_LIMIT:
        reason = f"a sentence begins at {start}, further on than any report is long"
        raise RefusedPassage("broken_text", reason)
    return whole + " " * (start - length)


def _stretches(
    rows: Sequence[WebAnnoRow], layers: Sequence[Layer]
) -> dict[tuple[str, str], _Stretch]:
    """Every annotation of a span, by its layer and its number, or else by its only row."""
    stretches: dict[tuple[str, str], _Stretch] = {}
    spans = [layer for layer in layers if layer.kind == SPAN and holds_entities(layer.name)]
    for row, layer in product(rows, spans):
        columns = row.cells[layer.column : layer.column + layer.width]
        for stacked in zip(*map(_cells, columns), strict=False):
            key = (layer.name, _key(stacked[0].number, row.number))
            values = [cell.value for cell in stacked]
            stretch = stretches.setdefault(key, _Stretch(layer, values, row.start, row.end))
            stretch.start, stretch.end = min(stretch.start, row.start), max(stretch.end, row.end)
    return stretches


def _links(rows: Sequence[WebAnnoRow], layer: Layer) -> Iterator[Link]:
    base = next((f[3:] for f in layer.features if f.startswith("BT_")), "")
    if layer.kind == RELATION and base and holds_entities(base):
        for row in rows:
            for source in _cells(row.cells[layer.column + layer.width - 1]):
                head = _key(source.number, source.value or "")
                yield Link((base, head), (base, _key(source.second, row.number)))


def _key(number: str | None, row: str) -> str:
    """The number in brackets, and where it says nothing (0, or none) the row."""
    return f"[{number}]" if number and number != "0" else row


def _cells(cell: str) -> list[StackedValue]:
    """The values stacked in a cell: `_` is nothing, `*` an annotation without a value."""
    values = []
    for part in [] if cell == "_" else _STACKED.findall(cell):
        match = _VALUE.fullmatch(part)
        if match is None:
            raise RefusedPassage("broken_text", f"the cell {part!r} is not well formed")
        value = None if match[1] == "*" else _unescaped(match[1])
        values.append(StackedValue(value, match[2], match[3]))
    return values


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda sign: _CONTROLS.get(sign[1], sign[1]), text)
