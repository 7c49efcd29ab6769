"""One JSON document with many rows: a list, a list inside an object, objects or texts by their ids.

Python's own decoder takes one row at a time, so that the rows before a break are delivered, a key
that comes twice is seen, and half a character that was escaped stays half.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from histoeval.errors import InputError
from histoeval.io.tables.columns import Columns, recognised
from histoeval.io.tables.encoding import CHUNK
from histoeval.io.tables.formats import Record, RecordTable, columns_of
from histoeval.io.tables.jsonlines import bad_byte, open_json_lines
from histoeval.io.tables.lines import open_text
from histoeval.io.tables.row_faults import (
    RECORD_LIMIT,
    Fault,
    RepeatedKeys,
    kind_of,
    place,
    where_json_breaks,
)

DOCUMENT_LIMIT = 512 * 2**20
"""The most characters a document may have, since it is held in memory."""

_SPACE = re.compile(r"[ \t\r\n]*")


class BrokenDocumentError(Exception):
    """From here on the text is not JSON."""


class DocumentShape(NamedTuple):
    """Where the rows are: in a list, in the list that is one member, or the members themselves.

    The members are objects (`mapping`) or reports (`texts`).
    """

    kind: Literal["list", "member", "mapping", "texts", "lines"]
    member: str = ""


class Walk:
    """A way through one JSON text, forwards only, value by value."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.repeated = RepeatedKeys()
        self._decode = json.JSONDecoder(object_pairs_hook=self.repeated).raw_decode

    @property
    def share(self) -> float:
        """How much of the text has been read."""
        return self._at / len(self._text)

    def peek(self) -> str:
        """The next character that is not a space; none at the end."""
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._text[self._at : self._at + 1]

    def take(self, character: str) -> None:
        """Step over one character, which must be this."""
        if self.peek() != character:
            raise self._broken(f"Expecting {character!r}", self._at)
        self._at += 1

    def value(self) -> tuple[object, str]:
        """The next value, and the text it was read from."""
        self.peek()
        start = self._at
        try:
            value, self._at = self._decode(self._text, start)
        except json.JSONDecodeError as error:
            raise self._broken(error.msg, error.pos) from error
        except (ValueError, RecursionError) as error:
            raise self._broken(str(error), start) from error
        return value, self._text[start : self._at]

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

    def _broken(self, reason: str, at: int) -> BrokenDocumentError:
        return BrokenDocumentError(where_json_breaks(reason, at))


def open_json(path: Path, encoding: str) -> RecordTable:
    """A table from a list of objects, a list inside an object, or objects by their ids."""
    shape = _shape(_walk(path, encoding), path)
    if shape.kind == "lines":
        return open_json_lines(path, encoding)
    read = partial(_read, path, encoding, shape)
    keyed = shape.kind in ("mapping", "texts")
    return RecordTable(columns_of(read(()), str(path)), read, keyed=keyed)


def _walk(path: Path, encoding: str) -> Walk:
    parts: list[str] = []
    size = 0
    with open_text(path, encoding) as (stream, _):
        while part := stream.read(CHUNK):
            parts.append(part)
            size += len(part)
            if size > DOCUMENT_LIMIT:
                raise InputError(
                    f"{path} is one JSON document of more than {DOCUMENT_LIMIT // 2**20} MB: write "
                    "it as JSON lines (.jsonl), one object per line, which are read one at a time"
                )
    return Walk("".join(parts))


def _shape(walk: Walk, path: Path) -> DocumentShape:
    """Where in the document the rows are. A list says so at once, an object only at its end."""
    start = walk.peek()
    if start == "[":
        return DocumentShape("list")
    if start != "{":
        raise InputError(f"{path} holds neither a list of objects nor an object that holds one")
    lists: list[str] = []
    texts: list[str] = []
    objects = others = 0
    try:
        for key in walk.members():
            value, _ = walk.value()
            if isinstance(value, list) and value and isinstance(value[0], dict):
                lists.append(key)
            objects += isinstance(value, dict)
            others += not isinstance(value, str)
            texts.append(key)
        if walk.peek() == "{":
            return DocumentShape("lines")
    except BrokenDocumentError:
        if not (lists or objects):
            raise InputError(f"{path} is not JSON, and nothing in it can be read") from None
    if len(lists) > 1:
        raise InputError(f"{path} holds several lists of objects: {', '.join(lists)}; keep one")
    if texts and not others and not recognised(texts, Columns()):
        return DocumentShape("texts")
    if not lists and not objects:
        raise InputError(
            f"{path} holds no list of objects and no reports by id; write [{{...}}, {{...}}]"
        )
    return DocumentShape("member", lists[0]) if lists else DocumentShape("mapping")


def _read(
    path: Path, encoding: str, shape: DocumentShape, _needed: Sequence[str]
) -> Iterator[Record]:
    walk, size, number = _walk(path, encoding), path.stat().st_size, 0
    try:
        for number, (key, found, raw) in enumerate(_rows(walk, shape), start=1):
            is_text = shape.kind == "texts" and isinstance(found, str)
            value = {"text": found} if is_text else found
            fault = walk.repeated.take() or _fault(value, raw)
            problem = None if fault is None else fault.problem(place(number))
            values = value if fault is None and isinstance(value, dict) else None
            yield Record(number, values, problem, position=int(size * walk.share), key=key)
    except BrokenDocumentError as error:
        number += 1
        trouble = Fault("broken_document", {"reason": str(error)}).problem(place(number))
        yield Record(number, None, trouble, position=size)


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


def _fault(value: object, raw: str) -> Fault | None:
    if len(raw) > RECORD_LIMIT:
        return Fault("record_too_long")
    if fault := bad_byte(raw):
        return fault
    return None if isinstance(value, dict) else Fault("not_an_object", {"kind": kind_of(value)})
