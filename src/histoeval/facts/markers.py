"""Markers of a report, each with the result that belongs to it."""

import re
from collections.abc import Iterable, Mapping, Sequence

from histoeval.facts.lexical import ValueMention, is_stain
from histoeval.facts.scope import TextScope
from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.terms.findings import find_findings
from histoeval.terms.naming import main_concept
from histoeval.terms.plain import plain
from histoeval.terms.values.marker_results import Result, read_result
from histoeval.terms.values.marker_statements.read import read_marker_statements
from histoeval.terms.values.markers import find_markers, singled_out

_NEAR = 60  # characters over which a marker and its result are shown together

_LISTED = re.compile(
    r"\b(?P<result>positive|negative)\b(?:\s+(?:staining|stains?))?\s*(?:(?P<for>for\b)|:)"
    r"(?:(?!\bpositive\b|\bnegative\b)[^.;:\n])*$",
    re.IGNORECASE,
)
_LIST_REACH = 120
_CLAUSE_END = re.compile(r"[.;,\n]")
_MOST_CHARS = 50_000
# Markers of which negative may be the normal result, or a deletion a positive one
_OF_TWO_MEANINGS = frozenset(
    {"p53", "EGFR", "KIT mutation", "KRAS", "BRAF", "NRAS", "PDGFRA", "1p/19q codeletion"}
)


def markers_of(
    report: Report, tails: Mapping[int, Sequence[Entity]], scope: TextScope
) -> dict[str, ValueMention[Result | None]]:
    """Each marker with its result; a name that no catalogue has counts if it has a result."""
    mentions: dict[str, ValueMention[Result | None]] = {}
    for place, entity in enumerate(report.entities):
        if entity.type != EntityType.MARKER or scope.is_gap(entity.start):
            continue
        results = _own_results(report, place, tails.get(place, ()))
        result = _heading(report.text, entity, results) or " ".join(e.text for e in results)
        known = find_markers(entity.text)
        if len(known) > 1:
            known = singled_out(known, report.text[entity.end : entity.end + _NEAR])
        for key in known or (_unknown(entity) if result else ()):
            if result:
                value = read_result(result, key)
            else:  # the words behind a marker may say that the test is still to be done
                behind = _CLAUSE_END.split(report.text[entity.end : entity.end + _NEAR])[0]
                value = read_result(behind, key)
                value = value if value and not value.tested else None
            if key not in mentions or mentions[key].value is None:
                mentions[key] = ValueMention(_together(report, [entity, *results]), value)
    return _as_stated(mentions, report.text)


def _as_stated(
    found: Mapping[str, ValueMention[Result | None]], text: str
) -> dict[str, ValueMention[Result | None]]:
    """Markers with the polarity that the words of the report plainly give them."""
    stated: dict[str, set[str]] = {}
    for value in read_marker_statements(text[:_MOST_CHARS]):
        stated.setdefault(value.axis, set()).update(value.options)
    settled = {
        key: Result(polarity)
        for key in found.keys() & stated.keys() - _OF_TWO_MEANINGS
        for polarity in ("positive", "negative")
        if stated[key] == {polarity}
    }
    return {
        key: ValueMention(marker.entity, settled[key])
        if key in settled and marker.value and marker.value.polarity != settled[key].polarity
        else marker
        for key, marker in found.items()
    }


def _unknown(entity: Entity) -> tuple[str, ...]:
    """The name of a marker that no catalogue has, unless it is that of something else."""
    is_named = main_concept(entity.text) or find_findings(entity.text)
    return () if is_named and not is_stain(entity.text) else (plain(entity.text),)


def _heading(text: str, marker: Entity, results: Sequence[Entity]) -> str | None:
    """The result that a list of markers stands under: `Positive: CD20, CD10`, `negative for CK7`.

    After `for` only where nothing that follows the marker is its result.
    """
    match = _LISTED.search(text[max(0, marker.start - _LIST_REACH) : marker.start])
    if match is None or (match["for"] and any(r.start > marker.start for r in results)):
        return None
    return match["result"]


def _own_results(report: Report, index: int, linked: Iterable[Entity]) -> list[Entity]:
    """The results that are linked to a marker; those before the next marker if there are any."""
    results = [
        entity
        for entity in linked
        if entity.type == EntityType.RESULT and not report.text.startswith(":", entity.end)
    ]
    following = (e.start for e in report.entities[index + 1 :] if e.type == EntityType.MARKER)
    start, end = report.entities[index].start, next(following, len(report.text))
    return [result for result in results if start <= result.start < end] or results


def _together(report: Report, entities: Sequence[Entity]) -> Entity:
    """A marker and its result as one span of text, if they stand near enough to be read so.

    What is negative is its result: the marker itself was looked for, and is not absent.
    """
    marker = entities[0].model_copy(update={"assertion": Assertion.PRESENT})
    start, end = min(e.start for e in entities), max(e.end for e in entities)
    end += report.text[start : end + 1].endswith(")") and _is_cut(report.text[start:end])
    phrase = report.text[start:end]
    if end - start > _NEAR or _is_cut(phrase):
        return marker
    return marker.model_copy(update={"text": phrase, "start": start, "end": end})


def _is_cut(phrase: str) -> bool:
    """True if a bracket is open at its end."""
    return phrase.count("(") > phrase.count(")")
