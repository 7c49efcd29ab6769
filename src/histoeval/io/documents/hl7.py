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
        """Return a field by its number in the standard; empty if it is missing."""
        index = number - 1 if self.name == "MSH" else number
        return self.fields[index] if index < len(self.fields) else ""


def open_hl7(path: Path, encoding: str, *, named: bool) -> RecordTable:
    """Open a file with a row per order of each message; its id is the order number.

    `encoding` is what the bytes look like; a message that names its own is read by that, unless the
    user has `named` one.
    """
    reader = partial(_read, path, encoding, named)
    if next(reader(()), None) is None:
        raise InputError(f"{path} holds no HL7 message: no line begins with MSH")
    return RecordTable((TEXT,), reader, keyed=True, half_character="not_utf8")


def _read(path: Path, encoding: str, is_named: bool, _needed: Sequence[str]) -> Iterator[Record]:
    number = position = 0
    for raw in _messages(path):
        position += len(raw)
        for name, text in _reports(raw, encoding, named=is_named):
            number += 1
            if text == _TOO_LONG:
                yield Record(number, None, _TOO_LONG.problem(place(number)), position=position)
            else:
                yield Record(number, {TEXT: text}, position=position, key=name)


_TOO_LONG = Fault("record_too_long")


def _messages(path: Path) -> Iterator[bytes]:
    """Yield the bytes of each message; of one that is too long, only the beginning."""
    buffer = b""
    with open_bytes(path) as (stream, _):
        for chunk in iter(lambda: stream.read(CHUNK), b""):
            *messages, buffer = _START.split(buffer + chunk)
            yield from (message for message in messages if _HEAD.match(message))
            if len(buffer) > RECORD_LIMIT + CHUNK:
                buffer = buffer[: RECORD_LIMIT + 1]
    if _HEAD.match(buffer):
        yield buffer


def _reports(raw: bytes, encoding: str, *, named: bool) -> Iterator[tuple[str | None, str | Fault]]:
    if len(raw) > RECORD_LIMIT:
        yield None, _TOO_LONG
        return
    fields = re.split(rb"[\r\n]", raw, maxsplit=1)[0].split(raw[3:4])
    charset = fields[17].decode("ascii", "replace") if len(fields) > 17 else ""  # MSH-18
    charset = re.split(r"[~\\]", charset)[0].strip().upper()  # the first where there are several
    codec = encoding if named or not charset else CHARACTER_SETS.get(charset, encoding)
    text = raw.decode(codec, BAD_BYTES).strip("\x0b\x1c\r\n")
    # The usual separators stand in for those that the first segment does not declare.
    declared = text[4:].partition(text[3])[0][:4]
    separators = Separators(text[3], *(declared + "^~\\&"[len(declared) :]))
    lines = re.split(r"[\r\n]+", text)
    segments = [_Segment(line[:3], line.split(separators.field)) for line in lines if line.strip()]
    message_type = segments[0].field(9).replace(separators.component, "^")
    if message_type.partition("^")[0].strip().upper() not in REPORTS:
        yield None, Fault("not_a_report", {"kind": message_type or "no type"})
        return
    for name, orders in _by_order(segments, separators).items():
        yield name, _text(orders, separators, codec)


def _by_order(
    segments: Sequence[_Segment], separators: Separators
) -> Mapping[str | None, list[_Segment]]:
    """Group observations by order: its filler number, or else its placer number.

    Observations of a document message (MDM) follow a TXA, whose filler or document number counts.
    """
    orders: dict[str | None, list[_Segment]] = {}
    order_number: str | None = None
    is_withdrawn = False
    for segment in segments:
        if segment.name == "OBR":
            order_number = _number(segment, (3, 2), separators)
            is_withdrawn = segment.field(25).strip().upper() in WITHDRAWN
            orders.setdefault(order_number, [])
        elif segment.name == "TXA":
            order_number = _number(segment, (15, 14, 12), separators) or order_number
            orders.setdefault(order_number, [])
        elif segment.name == "OBX":
            observations = orders.setdefault(order_number, [])
            if not is_withdrawn and segment.field(11).strip().upper() not in WITHDRAWN:
                observations.append(segment)
    return {
        name: observations
        for name, observations in orders.items()
        if observations or len(orders) == 1
    } or {None: []}


def _number(segment: _Segment, field_numbers: Sequence[int], separators: Separators) -> str | None:
    for number in field_numbers:
        if name := segment.field(number).partition(separators.component)[0].strip():
            return unescaped(name, separators, "ascii")
    return None


def _text(observations: Sequence[_Segment], separators: Separators, codec: str) -> str | Fault:
    """Join observations to the text of a report; several kinds get their names as headings."""
    names = []
    for segment in observations:
        code = segment.field(3).split(separators.component)
        name = (code[1] if len(code) > 1 else "") or code[0]
        names.append(unescaped(name, separators, codec).strip())
    has_several_names = len(set(names)) > 1
    parts: list[str] = []
    fault: Fault | None = None
    last_name = ""
    for name, segment in zip(names, observations, strict=True):
        value = _value(segment, separators, codec)
        if isinstance(value, Fault):
            fault = fault or value
            continue
        if has_several_names and name and name != last_name:
            parts.append(f"{name}:")
        last_name = name
        parts.append(value)
    text = "\n".join(parts).strip("\n")
    return text if text.strip() else (fault or Fault("no_observation"))


def _value(segment: _Segment, separators: Separators, codec: str) -> str | Fault:
    kind, value = segment.field(2).strip().upper(), segment.field(5)
    if kind in ("TX", "FT", "ST", ""):
        return unescaped(value.replace(separators.repetition, "\n"), separators, codec)
    if kind == "ED":  # a document: source, type, subtype, encoding, data
        parts = value.split(separators.component)
        if len(parts) < 5:
            return Fault("no_observation")
        data, subtype = unescaped(parts[4], separators, codec), parts[2].strip().upper()
        if parts[3].strip().upper() != "BASE64":
            return data
        return embedded_text(data, subtype, "the message", lambda raw: raw.decode(codec, BAD_BYTES))
    if kind in ("CE", "CWE", "CNE"):
        codes = [
            repetition.split(separators.component)
            for repetition in value.split(separators.repetition)
        ]
        texts = [
            (components[1] if len(components) > 1 else "") or components[0] for components in codes
        ]
        return unescaped("\n".join(texts), separators, codec)
    if kind in ("NM", "SN"):
        unit = segment.field(6).partition(separators.component)[0]
        return unescaped(
            f"{value.replace(separators.component, ' ')} {unit}".strip(), separators, codec
        )
    return Fault("no_observation")


def unescaped(text: str, signs: Separators, codec: str) -> str:
    """Resolve the escapes of HL7 in a text; anything else stays as it is."""
    mark = signs.escape
    if mark not in text:
        return text
    separator_of_letter = dict(zip("FSRET", signs, strict=True))

    def resolve(match: re.Match[str]) -> str:
        escape = match[1]
        if escape in separator_of_letter:
            return separator_of_letter[escape]
        if escape.startswith("X"):
            decoded = bytes.fromhex(escape[1:]).decode(codec, "replace")
            return decoded.replace("\r\n", "\n").replace("\r", "\n")
        if escape.startswith(".sp"):
            return "\n" * max(1, int(escape[3:] or 1))
        if escape.startswith(".sk"):
            return " " * min(80, int(escape[3:] or 1))
        return "\n" if escape.startswith((".br", ".ce")) else ""

    quoted = re.escape(mark)
    return re.sub(f"{quoted}({_ESCAPE}){quoted}", resolve, text)
