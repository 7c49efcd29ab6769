"""Statements written from the graph of entities and relations, each with its place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import BARE, FindingFact
from histoeval.pathgls.logic.grade_mentions import is_of_early_lesion
from histoeval.pathgls.logic.lexicon import pattern
from histoeval.pathgls.logic.rules.lineage import line_of
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.logic.specimen import Specimen, own_concept
from histoeval.pathgls.results import ReportSpan
from histoeval.report import Assertion, EntityType
from histoeval.terms.assertion import is_denied
from histoeval.terms.catalogue import HARMLESS, Behaviour, Concept, diagnosis_tree
from histoeval.terms.findings import findings, is_kind_of

Role = Literal["diagnosis", "morphology", "detail"]

LEANING = "leaning"
"""The topic of what suggests a malignancy or a harmless lesion."""
_MARGIN = "margin_involvement"
_AFFIRMED, _DENIED = "affirmed", "denied"


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that a report states."""

    text: str
    span: ReportSpan
    passage: ReportSentence
    role: Role
    topics: Mapping[str, str]
    """Its topics and what it states on each: `finding:necrosis` denied, `marker:ER` positive."""
    diagnosis: Concept | None = None
    """What it diagnoses."""


def sentence_statement(passage: ReportSentence, topics: Mapping[str, str]) -> Statement:
    """A sentence as it stands."""
    span = passage.at(0, len(passage.text)).span
    return Statement(_tidy(passage.text), span, passage, "morphology", topics)


def verbalised(specimen: Specimen) -> Iterator[Statement]:
    """All that the graph of a specimen holds, as sentences."""
    yield from _diagnoses(specimen)
    yield from _findings(specimen)
    yield from _markers(specimen)
    yield from _grades(specimen)


def _tidy(text: str) -> str:
    return " ".join(text.split())


def _diagnoses(specimen: Specimen) -> Iterator[Statement]:
    for each in specimen.diagnoses:
        if each.value.hedged or (each.denied and specimen.is_of_a_grade(each)):
            continue
        name = _lowered(each.span.text)
        if each.denied:
            text = f"There is no {name}."
        else:
            text = f"The diagnosis is {name}{_place(each, specimen)}."
        made = None if each.denied else own_concept(each.value)
        yield Statement(text, each.span, each.passage, "diagnosis", _diagnosed(each), made)


def _diagnosed(diagnosis: ReportMention[Diagnosis]) -> dict[str, str]:
    """The topics of a diagnosis: its presence, line of differentiation and behaviour.

    To deny a kind denies what is of that kind, and not its siblings.
    """
    concept = own_concept(diagnosis.value)
    if concept is None:
        return {}
    if diagnosis.denied:
        return {f"diagnosis:{concept.id}": _DENIED}
    topics = {f"diagnosis:{id_}": _AFFIRMED for id_ in diagnosis_tree().lineage(concept.id)[:2]}
    if line := line_of(diagnosis.value):
        topics["line"] = line
    if concept.behaviour == Behaviour.MALIGNANT:
        topics[LEANING] = "malignant"
    elif concept.behaviour in HARMLESS:
        topics[LEANING] = "harmless"
    return topics


def _place(diagnosis: ReportMention[Diagnosis], specimen: Specimen) -> str:
    """The site that a diagnosis is linked to, if its name does not have it."""
    for head, tail in specimen.relations:
        if head.start == diagnosis.span.start and tail.type == EntityType.SITE:
            site = _lowered(tail.text)
            return "" if site in diagnosis.span.text.lower() else f" of the {site}"
    return ""


def _findings(specimen: Specimen) -> Iterator[Statement]:
    named = {each.span.start for each in specimen.diagnoses}
    for each in specimen.findings:
        if each.span.start in named:
            continue
        text = _written(each)
        where = f":{each.value.place}" if each.value.id in BARE else ""
        where += ":elsewhere" if pattern("elsewhere").search(each.clause) else ""
        topics = {f"finding:{each.value.id}{where}": _DENIED if each.denied else _AFFIRMED}
        yield Statement(text, each.span, each.passage, "detail", topics)


def _written(seen: ReportMention[FindingFact]) -> str:
    """A finding as a sentence; one whose own words deny it ("clear margins") as it stands."""
    name, id_ = _lowered(seen.span.text), str(seen.value.id)
    if id_ in BARE or is_kind_of(id_, _MARGIN):
        place = f" of the {seen.value.place}" if id_ in BARE and seen.value.place else ""
        return f"There is {'no ' if seen.denied else ''}{findings()[id_].name.lower()}{place}."
    if seen.value.entity.assertion == Assertion.ABSENT:
        return f"There is no {name}."
    whole = seen.denied or " is " in name or " are " in name
    return f"{name[:1].upper()}{name[1:]}." if whole else f"There is {name}."


def _markers(specimen: Specimen) -> Iterator[Statement]:
    for each in specimen.markers:
        key, result = each.value
        apart = each.passage.has("some_cells", "of_gene")
        if result.polarity in ("positive", "negative") and not apart:
            text = f"{key} is {result.polarity}."
            topics = {f"marker:{key}": result.polarity}
            yield Statement(text, each.span, each.passage, "detail", topics)


def _grades(specimen: Specimen) -> Iterator[Statement]:
    for each in specimen.grades:
        part = pattern("part_of_tumour").search(each.clause) or is_of_early_lesion(each.clause)
        denied = is_denied(specimen.text, each.span.start, each.span.end)
        if part or denied:
            continue
        text = f"The tumour is {_lowered(each.span.text)}."
        topics = {f"grade:{each.value.scheme}:{each.value.part or ''}": f"{each.value.level:g}"}
        yield Statement(text, each.span, each.passage, "detail", topics)


def _lowered(text: str) -> str:
    """Words as they stand inside of a sentence; abbreviations keep their capitals."""
    words = _tidy(text).strip(" .,;:").split(" ")
    short = [word for word in words if word.isupper() and len(word) <= 4]
    if len(short) == len(words):
        return " ".join(words)
    return " ".join(w if w.isupper() and len(w) <= 2 else w.lower() for w in words)
