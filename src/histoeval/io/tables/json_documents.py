"""One JSON document that holds many rows, read without holding it in memory.

Python's own decoder takes one row at a time from a window that moves over the text. (A streaming
parser such as yajl puts a question mark where half a character was escaped; here such a row must
be refused, not scored.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

from histoeval.errors import InputError
from histoeval.io.tables.encoding import CHUNK
from histoeval.io.tables.formats import Record, RecordTable, columns_of
from histoeval.io.tables.jsonlines import bad_byte, open_json_lines
from histoeval.io.tables.lines import open_text
from histoeval.io.tables.row_faults import RECORD_LIMIT, Fault, kind_of, place

LONGEST_TOKEN = 16
"""More characters than any word or escape of JSON that a window may cut in two."""

_SPACE = re.compile(r"[ \t\r\n]*")


class BrokenDocumentError(Exception):
    """From here on the text is not JSON."""


class DocumentShape(NamedTuple):
    """Where the rows are: in a list, in the list that is one member, or the members themselves."""

    kind: Literal["list", "member", "mapping", "lines"]
    member: str = ""


class Walk:
    """A way through one JSON text, forwards only, value by value."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._window = ""
        self._at = 0
        self._dropped = 0
        self._ended = False
        self._decode = json.JSONDecoder().raw_decode

    def peek(self) -> str:
        """The next character that is not a space; none at the end."""
        while True:
            space = _SPACE.match(self._window, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._window) or self._ended:
                return self._window[self._at : self._at + 1]
            self._more()

    def take(self, character: str) -> None:
        """Step over one character, which must be this."""
        if self.peek() != character:
            raise self._broken(f"Expecting {character!r}", self._at)
        self._at += 1

    def value(self) -> tuple[object, str]:
        """The next value, and the text it was read from."""
        self.peek()
        while True:
            try:
                value, end = self._decode(self._window, self._at)
            except json.JSONDecodeError as error:
                if self._ended or self._is_certain(error):
                    raise self._broken(error.msg, error.pos) from error
            except (ValueError, RecursionError) as error:
                raise self._broken(str(error), self._at) from error
            else:
                if end < len(self._window) or self._ended:
                    raw, self._at = self._window[self._at : end], end
                    return value, raw
            self._more()

    def elements(self) -> Iterator[tuple[object, str]]:
        """The values of the list that comes next."""
        self.take("[")
        while self.peek() != "]":
            yield self.value()
            if self.peek() != "]":
                self.take(",")
        self.take("]")

    def members(self) -> Iterator[str]:
        """The keys of the object that comes next; whoever asks must read the value of each."""
        self.take("{")
        while self.peek() != "}":
            key, _ = self.value()
            self.take(":")
            yield str(key)
            if self.peek() != "}":
                self.take(",")
        self.take("}")

    def pass_over(self) -> object:
        """Step over the next value, and say what it was; of a list, what came first in it."""
        if self.peek() != "[":
            return self.value()[0]
        elements = self.elements()
        first = next(elements, (None, ""))[0]
        for _ in elements:
            pass
        return first

    def end(self) -> None:
        """Nothing may come any more."""
        if self.peek():
            raise self._broken("Extra data", self._at)

    def _more(self) -> None:
        rest = self._window[self._at :]
        if len(rest) > RECORD_LIMIT:
            raise self._broken(f"a value is longer than {RECORD_LIMIT // 2**20} MiB", self._at)
        chunk = self._text.read(max(CHUNK, len(rest)))
        self._dropped += self._at
        self._window, self._at, self._ended = rest + chunk, 0, not chunk

    def _is_certain(self, error: json.JSONDecodeError) -> bool:
        """Whether more text could not mend it."""
        if error.msg.startswith("Unterminated string"):
            return False
        return error.pos < len(self._window) - LONGEST_TOKEN

    def _broken(self, reason: str, at: int) -> BrokenDocumentError:
        return BrokenDocumentError(f"{reason} at character {self._dropped + at + 1}")


def open_json(path: Path, encoding: str) -> RecordTable:
    """A table from a list of objects, a list inside an object, or objects by their ids."""
    with open_text(path, encoding) as (text, _):
        shape = _shape(Walk(text), path)
    if shape.kind == "lines":
        return open_json_lines(path, encoding)
    read = partial(_read, path, encoding, shape)
    return RecordTable(columns_of(read(()), str(path)), read, keyed=shape.kind == "mapping")


def _shape(walk: Walk, path: Path) -> DocumentShape:
    """Where in the document the rows are. A list says so at once, an object only at its end."""
    start = walk.peek()
    if start == "[":
        return DocumentShape("list")
    if start != "{":
        raise InputError(f"{path} holds neither a list of objects nor an object that holds one")
    lists: list[str] = []
    objects = 0
    try:
        for key in walk.members():
            bracket = walk.peek()
            first = walk.pass_over()
            if bracket == "[" and isinstance(first, dict):
                lists.append(key)
            objects += bracket == "{"
        if walk.peek() == "{":
            return DocumentShape("lines")
    except BrokenDocumentError:
        if not (lists or objects):
            raise InputError(f"{path} is not JSON, and nothing in it can be read") from None
    if len(lists) > 1:
        raise InputError(f"{path} holds several lists of objects: {', '.join(lists)}; keep one")
    if not lists and not objects:
        raise InputError(f"{path} holds no list of objects; write [{{...}}, {{...}}]")
    return DocumentShape("member", lists[0]) if lists else DocumentShape("mapping")


def _read(
    path: Path, encoding: str, shape: DocumentShape, _needed: Sequence[str]
) -> Iterator[Record]:
    with open_text(path, encoding) as (text, position):
        number = 0
        try:
            for number, (key, value, raw) in enumerate(_rows(Walk(text), shape), start=1):
                yield _record(number, key, value, raw, position())
        except BrokenDocumentError as error:
            number += 1
            trouble = Fault("broken_document", {"reason": str(error)}).problem(place(number))
            yield Record(number, None, trouble, position=position())


def _rows(walk: Walk, shape: DocumentShape) -> Iterator[tuple[str | None, object, str]]:
    if shape.kind == "list":
        yield from ((None, value, raw) for value, raw in walk.elements())
    else:
        for key in walk.members():
            if shape.kind == "mapping":
                yield (key, *walk.value())
            elif key == shape.member and walk.peek() == "[":
                yield from ((None, value, raw) for value, raw in walk.elements())
            else:
                walk.pass_over()
    walk.end()


def _record(number: int, key: str | None, value: object, raw: str, position: int) -> Record:
    fault = bad_byte(raw)
    if fault is None and isinstance(value, dict):
        return Record(number, value, position=position, key=key)
    fault = fault or Fault("not_an_object", {"kind": kind_of(value)})
    return Record(number, None, fault.problem(place(number)), position=position, key=key)
