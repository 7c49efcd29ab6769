"""JSON as a table: one object per line, or one document with many rows.

A document is a list, a list inside an object, or objects or texts by their ids. It is read whole,
and Python's own decoder takes one row of it at a time, so that the rows before a break are
delivered, a key that comes twice is seen, and half a character that was escaped stays half.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from histoeval.errors import InputError
from histoeval.io.tables.columns import Columns, recognised
from histoeval.io.tables.encoding import open_lines, read_start
from histoeval.io.tables.records import (
    RECORD_LIMIT,
    Fault,
    Record,
    RecordTable,
    RepeatedKeys,
    columns_of,
    half_character,
    kind_of,
    place,
)

# Characters of a document, which is in memory as a whole; more must come as JSON lines.
LARGEST = 2**30

_SPACE = re.compile(r"[ \t\r\n]*")


def open_json_lines(path: Path, encoding: str) -> RecordTable:
    reader = partial(read_json_lines, path, encoding)
    return RecordTable(columns_of(reader(()), str(path)), reader)


def read_json_lines(path: Path, encoding: str, _needed: Sequence[str] = ()) -> Iterator[Record]:
    with open_lines(path, encoding) as lines:
        for number, line in enumerate((line for line in lines if not line.isspace()), start=1):
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
    """Return the fault of the first byte that could not be decoded, if any."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return half_character(text, error.start)._replace(kind="unreadable_line")
    return None


def _demand_object(value: object) -> dict[str, object] | Fault:
    return value if isinstance(value, dict) else Fault("not_an_object", {"kind": kind_of(value)})


def _reason(message: str, position: int) -> str:
    """Format Python's complaint about broken JSON, with the position counted from 1."""
    return f"{message.removesuffix(' at')} at character {position + 1}"


class BrokenDocumentError(Exception):
    """The rest of the text is not JSON."""


class DocumentShape(NamedTuple):
    """Location of the rows: a list, a list in one member, or the members themselves.

    The members are objects (`mapping`) or mostly reports (`texts`).
    """

    kind: Literal["list", "member", "mapping", "texts", "lines"]
    member: str = ""


class Walk:
    """Forward reader of one JSON text, value by value; `raw` is the text of the last value."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.raw = text, 0, ""
        self.repeated = RepeatedKeys()
        self._decode = json.JSONDecoder(object_pairs_hook=self.repeated).raw_decode

    def peek(self) -> str:
        """Return the next character that is not a space; empty at the end."""
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        return self.text[self.at : self.at + 1]

    def take(self, character: str) -> None:
        """Step over this character; an empty one stands for the end of the text."""
        if self.peek() != character:
            expected = f"Expecting {character!r}" if character else "Extra data"
            raise BrokenDocumentError(_reason(expected, self.at))
        self.at += 1

    def value(self) -> object:
        self.peek()
        try:
            value, end = self._decode(self.text, self.at)
        except json.JSONDecodeError as error:
            raise BrokenDocumentError(_reason(error.msg, error.pos)) from error
        except (ValueError, RecursionError) as error:
            raise BrokenDocumentError(_reason(str(error), self.at)) from error
        self.raw, self.at = self.text[self.at : end], end
        return value

    def inside(self, brackets: str) -> Iterator[str]:
        """Yield the keys of an object, or an empty key for each value of a list.

        The caller must read the value after each key.
        """
        self.take(brackets[0])
        while self.peek() != brackets[1]:
            key = ""
            if brackets == "{}":
                key = str(self.value())
                self.take(":")
            yield key
            if self.peek() != brackets[1]:
                self.take(",")
        self.take(brackets[1])


def open_json(path: Path, encoding: str) -> RecordTable:
    """Open a list of objects, a list inside an object, or objects by their ids as a table."""
    shape = _shape(Walk(_whole(path, encoding)), path)
    if shape.kind == "lines":
        return open_json_lines(path, encoding)
    reader = partial(_read, path, encoding, shape)
    is_keyed = shape.kind in ("mapping", "texts")
    return RecordTable(columns_of(reader(()), str(path)), reader, keyed=is_keyed)


def _whole(path: Path, encoding: str) -> str:
    text, _ = read_start(path, encoding, LARGEST + 1)
    if len(text) > LARGEST:
        raise InputError(
            f"{path} has more than {LARGEST:,} characters in one document: give it as JSON lines, "
            "one object per line, with the ending .jsonl"
        )
    return text


def _shape(walk: Walk, path: Path) -> DocumentShape:
    """Locate the rows in a document: a list at once, an object only at its end."""
    first_character = walk.peek()
    if first_character == "[":
        return DocumentShape("list")
    if first_character != "{":
        raise InputError(f"{path} holds neither a list of objects nor an object that holds one")
    lists: list[str] = []
    keys: list[str] = []
    objects = texts = other_count = 0
    is_whole = True
    try:
        for key in walk.inside("{}"):
            keys.append(key)
            value = walk.value()
            if isinstance(value, list):
                lists += [key] if value and isinstance(value[0], dict) else []
                value = value[0] if value and not isinstance(value[0], dict) else None
            objects += isinstance(value, dict)
            texts += isinstance(value, str)
            other_count += not isinstance(value, dict | str | None)
        if walk.peek() == "{":
            return DocumentShape("lines")
    except BrokenDocumentError:
        is_whole = False
    if len(lists) > 1:
        raise InputError(f"{path} holds several lists of objects: {', '.join(lists)}; keep one")
    if not lists and not objects:
        if texts > other_count and not recognised(keys, Columns()):
            return DocumentShape("texts")
        problem = "holds no list of objects and no reports by id; write [{...}, {...}]"
        raise InputError(
            f"{path} {problem if is_whole else 'is not JSON, and nothing in it can be read'}"
        )
    return DocumentShape("member", lists[0]) if lists else DocumentShape("mapping")


def _read(
    path: Path, encoding: str, shape: DocumentShape, _needed: Sequence[str]
) -> Iterator[Record]:
    walk = Walk(_whole(path, encoding))
    size = path.stat().st_size
    number = 0
    try:
        for number, (key, value) in enumerate(_rows(walk, shape), start=1):
            content = {"text": value} if shape.kind == "texts" else value
            too_long = Fault("record_too_long") if len(walk.raw) > RECORD_LIMIT else None
            fault = walk.repeated.take() or too_long or bad_byte(walk.raw)
            outcome = fault or _demand_object(content)
            position = size * walk.at // len(walk.text)
            if isinstance(outcome, Fault):
                yield Record(number, None, outcome.problem(place(number)), None, position, key)
            else:
                yield Record(number, outcome, None, None, position, key)
    except BrokenDocumentError as error:
        problem = Fault("broken_document", {"reason": str(error)}).problem(place(number + 1))
        yield Record(number + 1, None, problem, position=size)


def _rows(walk: Walk, shape: DocumentShape) -> Iterator[tuple[str | None, object]]:
    if shape.kind == "list":
        yield from ((None, walk.value()) for _ in walk.inside("[]"))
    else:
        for key in walk.inside("{}"):
            if shape.kind in ("mapping", "texts"):
                yield key, walk.value()
            elif key == shape.member and walk.peek() == "[":
                yield from ((None, walk.value()) for _ in walk.inside("[]"))
            else:
                walk.value()
    walk.take("")
