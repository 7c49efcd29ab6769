"""Assertions: which diagnoses a report makes, denies or leaves open, by the words around them."""

import re

from histoeval.report import Assertion, Entity, EntityType
from histoeval.terms.assertion import (
    begins_anew,
    denies,
    denies_as_value,
    is_denied,
    is_of_test,
)
from histoeval.terms.doubt import falls_short, is_one_of_two

_FIELD_BEGINS = re.compile(r"(?:\A|\n)[ \t]*(?:[-*\u2022][ \t]*)?[\w ,/-]{0,30}\Z")
# What stands around a heading of one line, and the value after its colon
_FIELD = re.compile(r"[\w ,/-]{0,30}(?:\([^()\n]{1,40}\))?[ \t]*:[ \t]+(?P<value>[^\n]*\S)")
_AFFIRMED_VALUE = re.compile(
    r"(?:yes|present|positive|identified|seen|\+|\d+[ ]?%|\d[\d./]*[ ]?(?:/|per|mm|cm)|mild|"
    r"moderate|severe|marked|extensive|numerous|sparse|focal|patchy|diffuse|few|scattered|occasional|rare|"
    r"many|non-?brisk|brisk|normal|unremarkable|intact|preserved|low|high|grade|type|stage)\b",
    re.IGNORECASE,
)
# What is denied by a distance or a count as well: its value tells only with words
_JUDGED = re.compile(r"margin|edge|clearance|node|resection|\bends?\b", re.IGNORECASE)


def reconsidered(entity: Entity, text: str) -> Entity:
    """What was read as denied or made, where the words around it say something else."""
    if entity.type in (EntityType.DIAGNOSIS, EntityType.FINDING):
        assertion = _as_field(entity, text)
        if assertion is not None:
            return entity.model_copy(update={"assertion": assertion})
    if entity.type != EntityType.DIAGNOSIS:
        return entity
    assertion = _reconsidered(entity, text)
    return entity if assertion is None else entity.model_copy(update={"assertion": assertion})


def _as_field(entity: Entity, text: str) -> Assertion | None:
    """Whether the value of a line affirms or denies its heading, if an entity is one."""
    field = _FIELD.match(text, entity.end)
    if field is None or not _FIELD_BEGINS.search(text[max(0, entity.start - 60) : entity.start]):
        return None
    value = field["value"]
    if denies_as_value(value):
        return Assertion.ABSENT
    if _JUDGED.search(entity.text) or entity.assertion != Assertion.ABSENT:
        return None
    affirmed = _AFFIRMED_VALUE.match(value) and not denies(value)
    return Assertion.PRESENT if affirmed else None


def _reconsidered(entity: Entity, text: str) -> Assertion | None:
    if entity.assertion == Assertion.PRESENT:
        if is_denied(text, entity.start, entity.end):
            return Assertion.ABSENT
        return Assertion.UNCERTAIN if is_one_of_two(text, entity.start, entity.end) else None
    if entity.assertion != Assertion.ABSENT:
        return None
    if is_of_test(text, entity.start):
        return Assertion.PRESENT
    if falls_short(text, entity.start):
        return Assertion.UNCERTAIN
    return Assertion.PRESENT if begins_anew(text, entity.start, entity.end) else None
