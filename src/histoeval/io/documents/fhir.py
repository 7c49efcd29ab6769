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
from histoeval.io.documents.texts import TEXT, embedded_text, html_text
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
    return _TYPE.search(read_start(path, encoding, SEEN)[0]) is not None


def open_fhir(path: Path, encoding: str, *, lines: bool) -> RecordTable:
    """Open a file with a row per DiagnosticReport; its id is the first identifier, or its id."""
    if not lines:
        # A resource may end with the first line, and others follow.
        first_records = list(islice(read_json_lines(path, encoding), 2))
        lines = len(first_records) == 2 and all(
            record.values is not None for record in first_records
        )
    reader = partial(_read_lines if lines else _read_whole, path, encoding)
    if next(reader(()), None) is None:
        raise InputError(f"{path} is FHIR and has no DiagnosticReport in it")
    return RecordTable((TEXT,), reader, keyed=True)


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
    yield from _records(content if isinstance(content, list) else [content], 1, position)


def _read_lines(path: Path, encoding: str, _needed: Sequence[str]) -> Iterator[Record]:
    """Read each line by itself; observations in other lines are not looked up."""
    number = 0
    for record in read_json_lines(path, encoding):
        if record.values is None:
            number += 1
            yield record._replace(number=number)
            continue
        for report in _records([record.values], number + 1, record.position):
            number = report.number
            yield report._replace(line=record.line)


def _records(resources: Sequence[object], first_number: int, position: int) -> Iterator[Record]:
    """Yield the reports among resources and in their bundles, numbered from `first_number`."""
    by_name: dict[str, Resource] = {}
    reports: list[Resource] = []
    for address, resource in _unpacked(resources):
        by_name |= {address: resource} if address else {}
        if resource.get("id"):
            by_name[f"{resource.get('resourceType')}/{resource['id']}"] = resource
        if resource.get("resourceType") == "DiagnosticReport":
            reports.append(resource)
    for number, report in enumerate(reports, start=first_number):
        yield _record(number, report, by_name, position)


def _unpacked(resources: Sequence[object]) -> Iterator[tuple[str, Resource]]:
    """Yield resources, unpacked from bundles, with the addresses that bundles give them."""
    for resource in _objects(resources):
        if resource.get("resourceType") != "Bundle":
            yield "", resource
            continue
        for entry in _objects(resource.get("entry")):
            if isinstance(entry_resource := entry.get("resource"), Mapping):
                yield str(entry.get("fullUrl") or ""), entry_resource


def _record(
    number: int, report: Resource, by_name: Mapping[str, Resource], position: int
) -> Record:
    text = _text(report, by_name)
    if isinstance(text, str) and len(text) > RECORD_LIMIT:
        problem = Fault("record_too_long").problem(place(number))
        return Record(number, None, problem, position=position)
    identifiers = _objects(report.get("identifier"))
    values = [value for identifier in identifiers if (value := identifier.get("value"))]
    name = next(iter(values), None) or report.get("id")
    return Record(number, {TEXT: text}, position=position, key=str(name) if name else None)


def _text(report: Resource, by_name: Mapping[str, Resource]) -> str | Fault:
    if report.get("status") in WITHDRAWN:
        return Fault("withdrawn_report", {"status": report["status"]})
    fault: Fault | None = None
    for form in _objects(report.get("presentedForm")):
        form_text = _attached(form)
        if isinstance(form_text, str) and form_text.strip():
            return form_text
        fault = fault or (form_text if isinstance(form_text, Fault) else None)
    parts = [*_observations(report, by_name)]
    if conclusion := _string(report.get("conclusion")):
        parts.append(conclusion)
    narrative = report.get("text")
    html = _string(narrative.get("div")) if isinstance(narrative, Mapping) else ""
    return "\n".join(parts) or html_text(html) or fault or Fault("no_form")


def _attached(form: Resource) -> str | Fault:
    kind, _, parameters = str(form.get("contentType") or "text/plain").lower().partition(";")
    if not isinstance(form.get("data"), str):
        return Fault("stored_elsewhere", {"url": _string(form.get("url")) or "nowhere"})

    def decode(content: bytes) -> str:
        charset = _CHARSET.search(parameters)
        try:
            return content.decode(charset[1] if charset else "utf-8")
        except (LookupError, UnicodeDecodeError):
            return content.decode("latin-1")

    return embedded_text(form["data"], kind.strip(), "the resource", decode)


def _observations(report: Resource, by_name: Mapping[str, Resource]) -> Iterator[str]:
    contained = {
        f"#{resource.get('id')}": resource for resource in _objects(report.get("contained"))
    }
    for result in _objects(report.get("result")):
        name = _string(result.get("reference"))
        observation = contained.get(name) or by_name.get(name)
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
    notes = (_string(note.get("text")) for note in _objects(observation.get("note")))
    return "\n".join(filter(None, notes))


def _words(concept: object) -> str:
    if not isinstance(concept, Mapping):
        return ""
    displays = (_string(coding.get("display")) for coding in _objects(concept.get("coding")))
    texts = [_string(concept.get("text")), *displays]
    return next(filter(None, texts), "")


def _objects(value: object) -> list[Resource]:
    """Return the objects in a list; anything else that a sender put there is skipped."""
    items = value if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, Mapping)]


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
