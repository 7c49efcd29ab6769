"""The readers that goldens guard: one table, from a name to a function of a text.

Whoever moves or renames a reader changes its row here, and nothing else. A row may also bring a new
form of a value back into the old one, as long as the old one is what is compared.
"""

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from enum import Enum
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from histoeval.concordance import statements as concordance_statements
from histoeval.facts import sampled, spread
from histoeval.facts.diagnoses import implied
from histoeval.facts.facts import facts_of
from histoeval.facts.lexical import lexical_facts
from histoeval.facts.normalise import normalised
from histoeval.facts.scope import scope_of
from histoeval.facts.specimens.divide import specimens_of_text
from histoeval.facts.specimens.text import superseded
from histoeval.nli.features.extract import extract_features
from histoeval.nli.features.parse import statements
from histoeval.pathgls.logic.rules.registry import broken_rules
from histoeval.pathgls.logic.specimen import specimens_of
from histoeval.pathgls.logic.statements import pairs_of, sentence_pairs, statements_of
from histoeval.reader.sections import sections
from histoeval.reader.sentences import sentences
from histoeval.report import RELATION_TYPES, Assertion, Entity, EntityType, Relation, Report
from histoeval.terms import assertion, doubt
from histoeval.terms.catalogue import Concept
from histoeval.terms.decisive_findings import read_decisive
from histoeval.terms.findings import find_findings
from histoeval.terms.language import foreign_language
from histoeval.terms.marker_wordings import plain_statements
from histoeval.terms.naming import find_diagnoses, main_concept
from histoeval.terms.sites import find_operated, find_places, find_sites
from histoeval.terms.spelling import respelt
from histoeval.terms.values import implied_grades, implied_stages
from histoeval.terms.values.amounts import read_amounts
from histoeval.terms.values.counts import counts
from histoeval.terms.values.grades import find_grades, read_grade
from histoeval.terms.values.laterality import named_sides, side_of
from histoeval.terms.values.margins import read_margins
from histoeval.terms.values.marker_results import read_result
from histoeval.terms.values.marker_statements.read import read_marker_statements
from histoeval.terms.values.markers import named_markers
from histoeval.terms.values.measurements import read_measurement, read_percent
from histoeval.terms.values.nodes import read_nodes
from histoeval.terms.values.quantities import quantities
from histoeval.terms.values.schemes import read_schemes
from histoeval.terms.values.stages import read_stage
from histoeval.terms.values.stated import clauses, with_alternatives
from histoeval.terms.values.stated_stages import read_stages
from histoeval.terms.values.tumour_grades import read_gleason, read_tumour_grades
from tests.golden.sources import Case

DIGITS = 6


def as_json(value: Any) -> Any:
    """A value by its content: names of classes and fields may change, what they hold may not."""
    match value:
        case float():
            return round(value, DIGITS) if math.isfinite(value) else str(value)
        case str() | int() | None:
            return value.value if isinstance(value, Enum) else value
        case Mapping():
            return {str(key): as_json(each) for key, each in value.items()}
        case Set():
            return sorted(map(as_json, value), key=json.dumps)
    return value.id if isinstance(value, Concept) else [as_json(each) for each in _held(value)]


def _held(value: Any) -> Iterable[Any]:
    """The values of an object, in their order."""
    if isinstance(value, Entity):
        return value.start, value.end, value.type, value.assertion
    if isinstance(value, BaseModel):
        return [getattr(value, name) for name in type(value).model_fields]
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    return list(value)


# --- phrases, places, and a reading of entities, all without a model ------------------------------

_PHRASE = re.compile(r"[^.;,:\n()]{3,200}")
_FIXED = (
    (EntityType.STAGE, r"\b[yra]?[pc]?T(?:[0-4]|is|X)[a-d]?\b(?: ?[pc]?N[0-3X][a-c]?)?"),
    (EntityType.MEASUREMENT, r"\b\d+(?:\.\d+)?(?: ?x ?\d+(?:\.\d+)?)* ?(?:mm|cm)\b"),
    (EntityType.GRADE, r"\b(?:high|low|intermediate)[- ]grade\b|\bgrade [1-4I]+\b"),
    (EntityType.GRADE, r"\b(?:well|moderately|poorly)[- ]differentiated\b"),
    (EntityType.PROCEDURE, r"\b(?:\w+ectomy|biops(?:y|ies)|excision|resection|curettings)\b"),
    (EntityType.RESULT, r"\b(?:positive|negative|equivocal|[0-3]\+|\d{1,3} ?%)(?!\w)"),
)
_NEGATION = re.compile(r"\b(?:no|not|without|negative for|free of)\b[^.;\n]{0,60}$", re.IGNORECASE)
_SENTENCE = re.compile(r"[.;\n]")


def phrases(text: str, read: Callable[[str], Any]) -> list[Any]:
    """What is read in the phrases between marks, each with where it begins."""
    read_at = ((each.start(), read(each.group().strip())) for each in _PHRASE.finditer(text))
    return [(start, value) for start, value in read_at if value is not None]


def known_names(text: str) -> list[tuple[int, int, EntityType]]:
    """What the catalogues name, the longest first, with a few patterns that never change."""
    found = [(each.start, each.end, EntityType.DIAGNOSIS) for each in find_diagnoses(text)]
    found += [(each.start, each.end, EntityType.FINDING) for each in find_findings(text)]
    found += [(each.start, each.end, EntityType.SITE) for each in find_sites(text)]
    found += [(each.start, each.end, EntityType.MARKER) for each in named_markers(text)]
    for kind, pattern in _FIXED:
        found += [(*each.span(), kind) for each in re.finditer(pattern, text, re.IGNORECASE)]
    return sorted(found, key=lambda each: (each[0] - each[1], each[0], each[2]))


@lru_cache(maxsize=4)
def cheap(text: str) -> Report:
    """A reading by names and patterns; two entities of one sentence are linked where they may."""
    taken: list[tuple[int, int, EntityType]] = []
    for start, end, kind in known_names(text):
        if start < end and all(end <= a or b <= start for a, b, _ in taken):
            taken.append((start, end, kind))
    entities = tuple(
        Entity(
            text=text[start:end],
            start=start,
            end=end,
            type=kind,
            assertion=Assertion.ABSENT
            if _NEGATION.search(text, max(0, start - 90), start)
            else Assertion.PRESENT,
        )
        for start, end, kind in sorted(taken)
    )
    relations = tuple(
        Relation(head=head, tail=tail)
        for head, one in enumerate(entities)
        for tail, other in enumerate(entities)
        if (one.type, other.type) in RELATION_TYPES
        and abs(head - tail) < 4
        and not _SENTENCE.search(text, min(one.end, other.end), max(one.start, other.start))
    )
    return Report(text=text, entities=entities, relations=relations)


# --- rows of the table that are more than a name -------------------------------------------------


def at_names(text: str, ask: Callable[[str, int, int], Any]) -> Iterator[Any]:
    """Where a diagnosis or finding of the text has another answer than no or nothing."""
    named = [(each.start, each.end) for each in find_diagnoses(text)]
    named += [(each.start, each.end) for each in find_findings(text)]
    for start, end in named:
        if answer := ask(text, start, end):
            yield start, answer


def _stance(text: str, start: int, end: int) -> str:
    return {True: "affirmed", False: "denied", None: ""}[assertion.stance_at(text, start, end)]


def _doubt(text: str, start: int, end: int) -> Any:
    answers = {
        "committed": doubt.is_committed(text, start, end),
        "left open": doubt.is_left_open(text, end),
        "falls short": doubt.falls_short(text, start),
    }
    return [name for name, answer in answers.items() if answer]


def _cues(text: str) -> list[str]:
    asked = ("denied", "doubt", "past")
    return [kind for kind in asked if assertion.has_cue(kind, text)]


def _facts(text: str) -> Any:
    facts = facts_of(cheap(text))
    fields = [field.name for field in dataclasses.fields(facts)]
    values = {name: getattr(facts, name) for name in fields if name not in {"stated", "report"}}
    return {name: value for name, value in values.items() if value}


def _worked_stages(text: str) -> Any:
    organ = implied_stages.organ_at(text.lower())
    return None if organ is None else implied_stages.worked_out(text.lower(), organ)


def _changed(text: str, read: Callable[[str], str]) -> str | None:
    """A text in other words, where it is changed at all."""
    written = read(text)
    return None if written == text else written


def _lexical(text: str) -> Any:
    stated = lexical_facts(text)
    return stated.findings, stated.markers, stated.grades


def _nli(text: str) -> Any:
    stated = statements(text)
    fields = {field.name: getattr(stated, field.name) for field in dataclasses.fields(stated)}
    fields["contrasts"] = [at for at, having in enumerate(stated.contrasts) if having]
    return {
        name: value for name, value in fields.items() if value and name not in {"text", "words"}
    }


def _logic(text: str) -> Any:
    if sum(text.encode("utf-8", "surrogatepass")) % 2:  # it costs most: every second text is enough
        return None
    specimens, passages = specimens_of(cheap(text))
    stated = [statements_of(specimen) for specimen in specimens]
    pairs = [*map(pairs_of, stated), *map(sentence_pairs, specimens)]
    return {
        "sentences": [(each.start, each.end) for each in passages.all],
        "statements": [(each.text, each.role, each.topics) for every in stated for each in every],
        "pairs": [
            (each.first.text, each.second.text, sorted(each.differing))
            for every in pairs
            for each in every
        ],
        "broken": [
            (each.source, each.first.start, each.second.start) for each in broken_rules(specimens)
        ],
    }


READERS: Mapping[str, Callable[[str], Any]] = {
    # values
    "amounts": read_amounts,
    "counts": counts,
    "gleason": read_gleason,
    "grade of a phrase": lambda text: phrases(text, read_grade),
    "grade phrases": find_grades,
    "grades": read_tumour_grades,
    "grades implied": lambda text: implied_grades.graded(text.lower()),
    "margins": read_margins,
    "marker names": named_markers,
    "marker result of a phrase": lambda text: phrases(text, read_result),
    "marker statements": read_marker_statements,
    "measurement of a phrase": lambda text: phrases(text, read_measurement),
    "nodes": read_nodes,
    "percentage of a phrase": lambda text: phrases(text, read_percent),
    "quantities": quantities,
    "schemes": read_schemes,
    "schemes left open": lambda text: (
        set(with_alternatives(text, read_schemes)) - {*read_schemes(text)}
    ),
    "side of a phrase": lambda text: phrases(text, side_of),
    "sides": named_sides,
    "stage of a phrase": lambda text: phrases(text, read_stage),
    "stages": read_stages,
    "stages implied": _worked_stages,
    # names and words
    "diagnoses": find_diagnoses,
    "diagnosis of a phrase": lambda text: phrases(text, main_concept),
    "findings": find_findings,
    "findings, decisive": read_decisive,
    "language": foreign_language,
    "marker wordings": lambda text: _changed(text, lambda each: plain_statements(each).text),
    "sites": find_sites,
    "sites operated on": find_operated,
    "sites, also parts": find_places,
    "spelling": lambda text: _changed(text, respelt),
    "spelling of reports": lambda text: _changed(text, lambda each: normalised(each).text),
    # what is denied or doubted
    "assertion: cues": _cues,
    "assertion: denies": assertion.denies,
    "assertion: stance": lambda text: at_names(text, _stance),
    "assertion: denied": lambda text: at_names(text, assertion.is_denied),
    "doubt": lambda text: at_names(text, _doubt),
    # the layout
    "clauses": clauses,
    "scope": scope_of,
    "sections": sections,
    "sentences": sentences,
    "specimens": specimens_of_text,
    "statements": lambda text: [each.span for each in concordance_statements.stated(text)],
    "superseded": superseded,
    # facts, NLI features, logic
    "facts": _facts,
    "facts: graft": lambda text: (sampled.may_be_graft(text), sampled.host_of(text)),
    "facts: implied diagnoses": implied,
    "facts: lexical": _lexical,
    "facts: origins": spread.origins,
    "facts: sites of tumour": lambda text: (
        sampled.heading_sites(text),
        sampled.tumour_sites(text),
    ),
    "facts: spread": lambda text: (spread.states_spread(text), spread.speaks_of_tumour(text)),
    "logic": _logic,
    "NLI statements": _nli,
}
PAIR_READERS: Mapping[str, Callable[[str, str], Any]] = {
    "NLI features": lambda premise, hypothesis: {
        name: value
        for name, value in (extract_features(premise, hypothesis) or {}).items()
        if value
    },
}


def ask(table: Mapping[str, Callable[..., Any]], cases: Iterable[Case]) -> Iterator[dict[str, Any]]:
    """What every reader of a table says of each text or pair."""
    for case in cases:
        yield {name: as_json(reader(*case.texts)) for name, reader in table.items()}
