"""HL7 version 2: the reports in messages such as ORU^R01, as laboratory systems send and keep them.

The parser is our own: reports need a handful of fields, tolerance for real files (any line ends,
frames of MLLP, several messages in a file), the escapes of formatted text and the character set
that a message names, and the libraries for HL7 leave most of that to their users.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from histoeval.errors import InputError
from histoeval.io.documents.texts import TEXT, embedded_text
from histoeval.io.tables.encoding import BAD_BYTES, CHUNK, open_bytes
from histoeval.io.tables.records import RECORD_LIMIT, Fault, Record, RecordTable, place

REPORTS = ("ORU", "MDM")  # messages that carry reports

# What MSH-18 may say (HL7 table 0211), in Python's spelling.
CHARACTER_SETS = {
    "UNICODE UTF-8": "utf-8",
    "UNICODE": "utf-8",
    "UTF-8": "utf-8",
    "ASCII": "ascii",
    **{f"8859/{part}": f"iso8859-{part}" for part in range(1, 17) if part != 12},
    "GB 18030-2000": "gb18030",
    "KS X 1001": "euc_kr",
    "CNS 11643-1992": "euc_tw",
    "BIG-5": "big5",
    "CP1252": "cp1252",
    "WINDOWS-1252": "cp1252",
}

# Results that were deleted, sent in error, or never obtained (OBX-11, OBR-25).
WITHDRAWN = frozenset("DWX")

_HEAD = re.compile(rb"MSH[^\w\s]")
_START = re.compile(rb"(?:(?<=[\r\n\x0b\x1c])|\A)(?=MSH[^\w\s])")
_ESCAPE = r"\.\w\w[+-]?\d*|[FSTRE]|[HN]|X(?:[0-9A-Fa-f]{2})+|[CMZ][0-9A-Za-z]*"


class Separators(NamedTuple):
    field: str
    component: str
    repetition: str
    escape: str
    subcomponent: str


class _Segment(NamedTuple):
    name: str
    fields: Sequence[str]

    def field(self, number: int) -> str:
        """A field by the number that the standard gives it; nothing where it is not there."""
        at = number - 1 if self.name == "MSH" else number
        return self.fields[at] if at < len(self.fields) else ""


def open_hl7(path: Path, encoding: str, *, named: bool) -> RecordTable:
    """A report for each order of each message; its id is the order number.

    `encoding` is what the bytes look like; a message that names its own is read by that, unless the
    user has `named` one.
    """
    read = partial(_read, path, encoding, named)
    if next(read(()), None) is None:
        raise InputError(f"{path} holds no HL7 message: no line begins with MSH")
    return RecordTable((TEXT,), read, keyed=True, half_character="not_utf8")


def _read(path: Path, encoding: str, named: bool, _needed: Sequence[str]) -> Iterator[Record]:
    number = position = 0
    for raw in _messages(path):
        position += len(raw)
        for name, text in _reports(raw, encoding, named=named):
            number += 1
            if text == _TOO_LONG:
                yield Record(number, None, _TOO_LONG.problem(place(number)), position=position)
            else:
                yield Record(number, {TEXT: text}, position=position, key=name)


_TOO_LONG = Fault("record_too_long")


def _messages(path: Path) -> Iterator[bytes]:
    """The bytes of each message; of one that is too long, only the beginning."""
    kept = b""
    with open_bytes(path) as (stream, _):
        for chunk in iter(lambda: stream.read(CHUNK), b""):
            *whole, kept = _START.split(kept + chunk)
            yield from (each for each in whole if _HEAD.match(each))
            if len(kept) > RECORD_LIMIT + CHUNK:
                kept = kept[: RECORD_LIMIT + 1]
    if _HEAD.match(kept):
        yield kept


def _reports(raw: bytes, encoding: str, *, named: bool) -> Iterator[tuple[str | None, str | Fault]]:
    if len(raw) > RECORD_LIMIT:
        yield None, _TOO_LONG
        return
    fields = re.split(rb"[\r\n]", raw, maxsplit=1)[0].split(raw[3:4])
    stated = fields[17].decode("ascii", "replace") if len(fields) > 17 else ""  # MSH-18
    stated = re.split(r"[~\\]", stated)[0].strip().upper()  # the first where there are several
    codec = encoding if named or not stated else CHARACTER_SETS.get(stated, encoding)
    text = raw.decode(codec, BAD_BYTES).strip("\x0b\x1c\r\n")
    # The usual separators stand in for those that the first segment does not declare.
    declared = text[4:].partition(text[3])[0][:4]
    signs = Separators(text[3], *(declared + "^~\\&"[len(declared) :]))
    lines = re.split(r"[\r\n]+", text)
    segments = [_Segment(line[:3], line.split(signs.field)) for line in lines if line.strip()]
    kind = segments[0].field(9).replace(signs.component, "^")
    if kind.partition("^")[0].strip().upper() not in REPORTS:
        yield None, Fault("not_a_report", {"kind": kind or "no type"})
        return
    for name, orders in _by_order(segments, signs).items():
        yield name, _text(orders, signs, codec)


def _by_order(
    segments: Sequence[_Segment], signs: Separators
) -> Mapping[str | None, list[_Segment]]:
    """The observations of each order, by its filler or else its placer order number.

    Observations of a document message (MDM) follow a TXA, whose filler or document number counts.
    """
    orders: dict[str | None, list[_Segment]] = {}
    current: str | None = None
    withdrawn = False
    for segment in segments:
        if segment.name == "OBR":
            current = _number(segment, (3, 2), signs)
            withdrawn = segment.field(25).strip().upper() in WITHDRAWN
            orders.setdefault(current, [])
        elif segment.name == "TXA":
            current = _number(segment, (15, 14, 12), signs) or current
            orders.setdefault(current, [])
        elif segment.name == "OBX":
            observations = orders.setdefault(current, [])
            if not withdrawn and segment.field(11).strip().upper() not in WITHDRAWN:
                observations.append(segment)
    return {name: each for name, each in orders.items() if each or len(orders) == 1} or {None: []}


def _number(segment: _Segment, places: Sequence[int], signs: Separators) -> str | None:
    for place_ in places:
        if name := segment.field(place_).partition(signs.component)[0].strip():
            return unescaped(name, signs, "ascii")
    return None


def _text(observations: Sequence[_Segment], signs: Separators, codec: str) -> str | Fault:
    """The text of a report: its observations, each kind under its name where there are several."""
    names = []
    for segment in observations:
        code = segment.field(3).split(signs.component)
        name = (code[1] if len(code) > 1 else "") or code[0]
        names.append(unescaped(name, signs, codec).strip())
    several = len(set(names)) > 1
    parts: list[str] = []
    fault: Fault | None = None
    before = ""
    for name, segment in zip(names, observations, strict=True):
        value = _value(segment, signs, codec)
        if isinstance(value, Fault):
            fault = fault or value
            continue
        if several and name and name != before:
            parts.append(f"{name}:")
        before = name
        parts.append(value)
    text = "\n".join(parts).strip("\n")
    return text if text.strip() else (fault or Fault("no_observation"))


def _value(segment: _Segment, signs: Separators, codec: str) -> str | Fault:
    kind, value = segment.field(2).strip().upper(), segment.field(5)
    if kind in ("TX", "FT", "ST", ""):
        return unescaped(value.replace(signs.repetition, "\n"), signs, codec)
    if kind == "ED":  # a document: source, type, subtype, encoding, data
        parts = value.split(signs.component)
        if len(parts) < 5:
            return Fault("no_observation")
        data, subtype = unescaped(parts[4], signs, codec), parts[2].strip().upper()
        if parts[3].strip().upper() != "BASE64":
            return data
        return embedded_text(data, subtype, "the message", lambda raw: raw.decode(codec, BAD_BYTES))
    if kind in ("CE", "CWE", "CNE"):
        coded = [each.split(signs.component) for each in value.split(signs.repetition)]
        said = [(each[1] if len(each) > 1 else "") or each[0] for each in coded]
        return unescaped("\n".join(said), signs, codec)
    if kind in ("NM", "SN"):
        unit = segment.field(6).partition(signs.component)[0]
        return unescaped(f"{value.replace(signs.component, ' ')} {unit}".strip(), signs, codec)
    return Fault("no_observation")


def unescaped(text: str, signs: Separators, codec: str) -> str:
    """A text with the escapes of HL7 resolved; what is no escape stays as it is."""
    mark = signs.escape
    if mark not in text:
        return text
    plain = dict(zip("FSRET", signs, strict=True))

    def meaning(match: re.Match[str]) -> str:
        escape = match[1]
        if escape in plain:
            return plain[escape]
        if escape.startswith("X"):
            decoded = bytes.fromhex(escape[1:]).decode(codec, "replace")
            return decoded.replace("\r\n", "\n").replace("\r", "\n")
        if escape.startswith(".sp"):
            return "\n" * max(1, int(escape[3:] or 1))
        if escape.startswith(".sk"):
            return " " * min(80, int(escape[3:] or 1))
        return "\n" if escape.startswith((".br", ".ce")) else ""

    quoted = re.escape(mark)
    return re.sub(f"{quoted}({_ESCAPE}){quoted}", meaning, text)
