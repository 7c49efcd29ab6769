"""JSON as a table: one object per line, or one document with many rows.

A document is a list, a list inside an object, or objects or texts by their ids. Python's own
decoder takes one row of it at a time, from a part of the text that moves along, so that memory
stays flat, the rows before a break are delivered, a key that comes twice is seen, and half a
character that was escaped stays half.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from histoeval.errors import InputError
from histoeval.io.tables.columns import Columns, recognised
from histoeval.io.tables.encoding import CHUNK, open_lines, open_text
from histoeval.io.tables.formats import Record, RecordTable, columns_of
from histoeval.io.tables.row_faults import (
    RECORD_LIMIT,
    Fault,
    RepeatedKeys,
    half_character,
    kind_of,
    place,
)

VALUE_LIMIT = 128 * 2**20
"""The most characters that one value may have, such as a row, since it is in memory."""

TAIL = 4
"""Characters that must follow a value, so that a number such as 1.5e-7 is not cut in two."""

_SPACE = re.compile(r"[ \t\r\n]*")


def open_json_lines(path: Path, encoding: str) -> RecordTable:
    """A table with one JSON object per line; blank lines are passed over."""
    read = partial(read_json_lines, path, encoding)
    return RecordTable(columns_of(read(()), str(path)), read)


def read_json_lines(path: Path, encoding: str, _needed: Sequence[str] = ()) -> Iterator[Record]:
    """A record for each line that is not blank."""
    with open_lines(path, encoding) as lines:
        number = 0
        for line in lines:
            if line.isspace():
                continue
            number += 1
            content = _object(line)
            if isinstance(content, Fault):
                problem = content.problem(place(number, lines.number))
                yield Record(number, None, problem, lines.number, lines.position())
            else:
                yield Record(number, content, None, lines.number, lines.position())


def _object(line: str) -> dict[str, object] | Fault:
    if len(line) > RECORD_LIMIT:
        return Fault("record_too_long")
    if fault := bad_byte(line):
        return fault
    repeated = RepeatedKeys()
    try:
        value = json.loads(line, object_pairs_hook=repeated)
    except json.JSONDecodeError as error:
        return Fault("broken_json", {"reason": _reason(error.msg, error.pos)})
    except (ValueError, RecursionError) as error:
        return Fault("broken_json", {"reason": str(error)})
    return repeated.take() or _demand_object(value)


def bad_byte(text: str) -> Fault | None:
    """The first byte of a piece of JSON that could not be decoded."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return half_character(text, error.start)._replace(kind="unreadable_line")
    return None


def _demand_object(value: object) -> dict[str, object] | Fault:
    return value if isinstance(value, dict) else Fault("not_an_object", {"kind": kind_of(value)})


def _reason(message: str, position: int) -> str:
    """What Python says of broken JSON, with the place counted from 1."""
    return f"{message.removesuffix(' at')} at character {position + 1}"


class BrokenDocumentError(Exception):
    """From here on the text is not JSON."""


class DocumentShape(NamedTuple):
    """Where the rows are: in a list, in the list that is one member, or the members themselves.

    The members are objects (`mapping`) or mostly reports (`texts`).
    """

    kind: Literal["list", "member", "mapping", "texts", "lines"]
    member: str = ""


class Walk:
    """A way through one JSON text, forwards only, value by value; `read` gives more of the text."""

    def __init__(self, read: Callable[[int], str]) -> None:
        self._read = read
        self._text = ""
        self._at = 0
        self._before = 0
        self._is_all = False
        self.repeated = RepeatedKeys()
        self._decode = json.JSONDecoder(object_pairs_hook=self.repeated).raw_decode

    def _more(self) -> None:
        """Have more of the text, as much again as is not yet read, and forget what is."""
        left = self._text[self._at :]
        part = self._read(max(CHUNK, len(left)))
        self._before += self._at
        self._text, self._at, self._is_all = left + part, 0, not part

    def peek(self) -> str:
        """The next character that is not a space; none at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text) or self._is_all:
                return self._text[self._at : self._at + 1]
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
                value, end = self._decode(self._text, self._at)
                if self._is_all or end + TAIL <= len(self._text):
                    break
            except json.JSONDecodeError as error:
                if self._is_all or len(self._text) - self._at > VALUE_LIMIT:
                    raise self._broken(error.msg, error.pos) from error
            except (ValueError, RecursionError) as error:
                raise self._broken(str(error), self._at) from error
            self._more()
        start, self._at = self._at, end
        return value, self._text[start:end]

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

    def end(self) -> None:
        """Nothing may come any more."""
        if self.peek():
            raise self._broken("Extra data", self._at)

    def _broken(self, message: str, at: int) -> BrokenDocumentError:
        return BrokenDocumentError(_reason(message, self._before + at))


def open_json(path: Path, encoding: str) -> RecordTable:
    """A table from a list of objects, a list inside an object, or objects by their ids."""
    with open_text(path, encoding) as (stream, _):
        shape = _shape(Walk(stream.read), path)
    if shape.kind == "lines":
        return open_json_lines(path, encoding)
    read = partial(_read, path, encoding, shape)
    keyed = shape.kind in ("mapping", "texts")
    return RecordTable(columns_of(read(()), str(path)), read, keyed=keyed)


def _shape(walk: Walk, path: Path) -> DocumentShape:
    """Where in the document the rows are. A list says so at once, an object only at its end."""
    start = walk.peek()
    if start == "[":
        return DocumentShape("list")
    if start != "{":
        raise InputError(f"{path} holds neither a list of objects nor an object that holds one")
    lists: list[str] = []
    keys: list[str] = []
    objects = texts = others = 0
    is_whole = True
    try:
        for key in walk.members():
            keys.append(key)
            is_list = walk.peek() == "["
            value = _first(walk.elements()) if is_list else walk.value()[0]
            if isinstance(value, dict):
                lists += [key] if is_list else []
                objects += not is_list
            elif value is not None:
                texts += isinstance(value, str)
                others += not isinstance(value, str)
        if walk.peek() == "{":
            return DocumentShape("lines")
    except BrokenDocumentError:
        is_whole = False
    if len(lists) > 1:
        raise InputError(f"{path} holds several lists of objects: {', '.join(lists)}; keep one")
    if not lists and not objects:
        if texts > others and not recognised(keys, Columns()):
            return DocumentShape("texts")
        no = "holds no list of objects and no reports by id; write [{...}, {...}]"
        raise InputError(
            f"{path} {no if is_whole else 'is not JSON, and nothing in it can be read'}"
        )
    return DocumentShape("member", lists[0]) if lists else DocumentShape("mapping")


def _first(elements: Iterator[tuple[object, str]]) -> object:
    """The first value of a list, which is read to its end."""
    first, _ = next(elements, (None, ""))
    for _ in elements:
        pass
    return first


def _read(
    path: Path, encoding: str, shape: DocumentShape, _needed: Sequence[str]
) -> Iterator[Record]:
    number = 0
    with open_text(path, encoding) as (stream, position):
        walk = Walk(stream.read)
        try:
            for number, (key, found, raw) in enumerate(_rows(walk, shape), start=1):
                content = {"text": found} if shape.kind == "texts" else found
                too_long = Fault("record_too_long") if len(raw) > RECORD_LIMIT else None
                outcome = (
                    walk.repeated.take() or too_long or bad_byte(raw) or _demand_object(content)
                )
                if isinstance(outcome, Fault):
                    problem = outcome.problem(place(number))
                    yield Record(number, None, problem, position=position(), key=key)
                else:
                    yield Record(number, outcome, position=position(), key=key)
        except BrokenDocumentError as error:
            number += 1
            trouble = Fault("broken_document", {"reason": str(error)}).problem(place(number))
            yield Record(number, None, trouble, position=path.stat().st_size)


def _rows(walk: Walk, shape: DocumentShape) -> Iterator[tuple[str | None, object, str]]:
    if shape.kind == "list":
        yield from ((None, value, raw) for value, raw in walk.elements())
    else:
        for key in walk.members():
            if shape.kind in ("mapping", "texts"):
                yield (key, *walk.value())
            elif key == shape.member and walk.peek() == "[":
                yield from ((None, value, raw) for value, raw in walk.elements())
            else:
                walk.value()
    walk.end()
