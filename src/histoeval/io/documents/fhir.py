"""FHIR: the reports in DiagnosticReport resources, as JSON.

A file is one resource, a Bundle, a list of resources, or one resource per line (NDJSON). The text
of a report is its presented form; where there is none, its observations and its conclusion; and at
last the narrative that every resource may have.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from histoeval.errors import InputError
from histoeval.io.documents.contents import embedded_text, html_text
from histoeval.io.documents.texts import TEXT
from histoeval.io.tables.encoding import read_start
from histoeval.io.tables.json_documents import read_json_lines
from histoeval.io.tables.records import RECORD_LIMIT, Fault, Record, RecordTable, place

# Characters of a file that show whether it is FHIR, which names the type of a resource first.
SEEN = 1 << 16

# Characters of a document that is read whole; more must come as one resource per line.
LARGEST = 8 * RECORD_LIMIT

WITHDRAWN = ("entered-in-error", "cancelled")

_TYPE = re.compile(r'"resourceType"\s*:\s*"[A-Z][A-Za-z]+"')
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)")

Resource = Mapping[str, Any]


def is_fhir(path: Path, encoding: str) -> bool:
    """True if a JSON file holds FHIR resources, by its beginning."""
    return _TYPE.search(read_start(path, encoding, SEEN)[0]) is not None


def open_fhir(path: Path, encoding: str, *, lines: bool) -> RecordTable:
    """A report for each DiagnosticReport; its id is the first identifier, or else its id."""
    if not lines:
        # A resource may end with the first line, and others follow.
        first_two = list(islice(read_json_lines(path, encoding), 2))
        lines = len(first_two) == 2 and all(record.values is not None for record in first_two)
    read = partial(_read_lines if lines else _read_whole, path, encoding)
    if next(read(()), None) is None:
        raise InputError(f"{path} is FHIR and has no DiagnosticReport in it")
    return RecordTable((TEXT,), read, keyed=True)


def _read_whole(path: Path, encoding: str, _needed: Sequence[str]) -> Iterator[Record]:
    content, position = read_start(path, encoding, LARGEST + 1)
    if len(content) > LARGEST:
        raise InputError(
            f"{path} has more than {LARGEST:,} characters in one document: give it as NDJSON, one "
            "resource per line, with the ending .ndjson"
        )
    try:
        content = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    given = [*_unpacked(content if isinstance(content, list) else [content])]
    by_name = dict(_names(given))
    reports = [each for _, each in given if each.get("resourceType") == "DiagnosticReport"]
    for number, report in enumerate(reports, start=1):
        yield _record(number, report, by_name, position)


def _read_lines(path: Path, encoding: str, _needed: Sequence[str]) -> Iterator[Record]:
    """Each line by itself; observations in other lines are not looked for."""
    number = 0
    for record in read_json_lines(path, encoding):
        if record.values is None:
            number += 1
            yield record._replace(number=number)
            continue
        given = [*_unpacked([record.values])]
        by_name = dict(_names(given))
        for _, each in given:
            if each.get("resourceType") == "DiagnosticReport":
                number += 1
                one_report = _record(number, each, by_name, record.position)
                yield one_report._replace(line=record.line)


def _unpacked(resources: Sequence[object]) -> Iterator[tuple[str, Resource]]:
    """Resources with the addresses that bundles give them; those of bundles are taken out."""
    for each in resources:
        if not isinstance(each, Mapping):
            continue
        if each.get("resourceType") != "Bundle":
            yield "", each
            continue
        for entry in _list(each.get("entry")):
            inner = entry.get("resource") if isinstance(entry, Mapping) else None
            if isinstance(inner, Mapping):
                yield str(entry.get("fullUrl") or ""), inner


def _names(given: Sequence[tuple[str, Resource]]) -> Iterator[tuple[str, Resource]]:
    for address, each in given:
        if address:
            yield address, each
        if each.get("id"):
            yield f"{each.get('resourceType')}/{each['id']}", each


def _record(
    number: int, report: Resource, by_name: Mapping[str, Resource], position: int
) -> Record:
    text = _text(report, by_name)
    if isinstance(text, str) and len(text) > RECORD_LIMIT:
        trouble = Fault("record_too_long").problem(place(number))
        return Record(number, None, trouble, position=position)
    identifiers = [each for each in _list(report.get("identifier")) if isinstance(each, Mapping)]
    values = [value for each in identifiers if (value := each.get("value"))]
    name = next(iter(values), None) or report.get("id")
    return Record(number, {TEXT: text}, position=position, key=str(name) if name else None)


def _text(report: Resource, by_name: Mapping[str, Resource]) -> str | Fault:
    if report.get("status") in WITHDRAWN:
        return Fault("withdrawn_report", {"status": report["status"]})
    fault: Fault | None = None
    for form in _list(report.get("presentedForm")):
        shown = _attached(form) if isinstance(form, Mapping) else Fault("no_form")
        if isinstance(shown, str) and shown.strip():
            return shown
        fault = fault or (shown if isinstance(shown, Fault) else None)
    parts = [*_observations(report, by_name)]
    if conclusion := _string(report.get("conclusion")):
        parts.append(conclusion)
    narrative = report.get("text")
    html = _string(narrative.get("div")) if isinstance(narrative, Mapping) else ""
    return "\n".join(parts) or html_text(html) or fault or Fault("no_form")


def _attached(form: Resource) -> str | Fault:
    """The text of an attachment: plain, HTML, or the text layer of a PDF."""
    kind, _, more = str(form.get("contentType") or "text/plain").lower().partition(";")
    if not isinstance(form.get("data"), str):
        return Fault("stored_elsewhere", {"url": _string(form.get("url")) or "nowhere"})

    def decode(content: bytes) -> str:
        charset = _CHARSET.search(more)
        try:
            return content.decode(charset[1] if charset else "utf-8")
        except (LookupError, UnicodeDecodeError):
            return content.decode("latin-1")

    return embedded_text(form["data"], kind.strip(), "the resource", decode)


def _observations(report: Resource, by_name: Mapping[str, Resource]) -> Iterator[str]:
    inside = {
        f"#{each.get('id')}": each
        for each in _list(report.get("contained"))
        if isinstance(each, Mapping)
    }
    for result in _list(report.get("result")):
        name = _string(result.get("reference")) if isinstance(result, Mapping) else ""
        observation = inside.get(name) or by_name.get(name)
        if observation is None or observation.get("status") in WITHDRAWN:
            continue
        if value := _value(observation):
            code = _words(observation.get("code"))
            yield f"{code}: {value}" if code else value


def _value(observation: Resource) -> str:
    if text := _string(observation.get("valueString")):
        return text
    if words := _words(observation.get("valueCodeableConcept")):
        return words
    quantity = observation.get("valueQuantity")
    if isinstance(quantity, Mapping) and quantity.get("value") is not None:
        return f"{quantity['value']} {quantity.get('unit') or ''}".strip()
    notes = [each for each in _list(observation.get("note")) if isinstance(each, Mapping)]
    return "\n".join(filter(None, (_string(each.get("text")) for each in notes)))


def _words(concept: object) -> str:
    if not isinstance(concept, Mapping):
        return ""
    codings = [each for each in _list(concept.get("coding")) if isinstance(each, Mapping)]
    shown = [_string(concept.get("text")), *(_string(each.get("display")) for each in codings)]
    return next(filter(None, shown), "")


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
