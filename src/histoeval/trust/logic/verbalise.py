"""Short sentences written from the graph of entities and relations, each with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import BARE, FindingFact
from histoeval.facts.scope import stance_at
from histoeval.report import Assertion, EntityType
from histoeval.terms.catalogue import Behaviour, diagnosis_tree
from histoeval.terms.findings import findings, is_kind_of
from histoeval.terms.values.grades import Grade
from histoeval.trust.logic.grade_mentions import early
from histoeval.trust.logic.lexicon import pattern
from histoeval.trust.logic.rules.lineage import line_of
from histoeval.trust.logic.rules.presence import HARMLESS, is_of_a_grade, own_concept
from histoeval.trust.logic.sentences import ReportSentence
from histoeval.trust.logic.specimen import ReportMention, Specimen
from histoeval.trust.results import ReportSpan

Role = Literal["diagnosis", "morphology", "detail"]

LEANING = "leaning"
"""The topic of what speaks for a malignancy or against one."""
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
    """What it speaks of and what it says: `finding:necrosis` absent, `marker:ER` positive."""


def written(specimen: Specimen) -> Iterator[Statement]:
    """All that the graph of a specimen holds, as sentences."""
    yield from _diagnoses(specimen)
    yield from _findings(specimen)
    yield from _markers(specimen)
    yield from _grades(specimen)


def tidy(text: str) -> str:
    """Words with one blank between them."""
    return " ".join(text.split())


def _diagnoses(specimen: Specimen) -> Iterator[Statement]:
    for each in specimen.diagnoses:
        if each.value.hedged or (each.denied and is_of_a_grade(each, specimen)):
            continue
        name = _lowered(each.span.text)
        if each.denied:
            text = f"There is no {name}."
        else:
            text = f"The diagnosis is {name}{_place(each, specimen)}."
        yield Statement(text, each.span, each.passage, "diagnosis", _diagnosed(each))


def _diagnosed(said: ReportMention[Diagnosis]) -> dict[str, str]:
    """What a diagnosis says: that it is there, of which line it is, how it behaves."""
    concept = own_concept(said.value)
    if concept is None:
        return {}
    stance = _DENIED if said.denied else _AFFIRMED
    topics = {f"diagnosis:{id_}": stance for id_ in diagnosis_tree().lineage(concept.id)[:2]}
    if said.denied:
        return topics
    if line := line_of(said.value):
        topics["line"] = line
    if concept.behaviour == Behaviour.MALIGNANT:
        topics[LEANING] = "malignant"
    elif concept.behaviour in HARMLESS:
        topics[LEANING] = "harmless"
    return topics


def _place(said: ReportMention[Diagnosis], specimen: Specimen) -> str:
    """The site that a diagnosis is linked to, if its name does not hold it."""
    for head, tail in specimen.relations:
        if head.start == said.span.start and tail.type == EntityType.SITE:
            site = _lowered(tail.text)
            return "" if site in said.span.text.lower() else f" of the {site}"
    return ""


def _findings(specimen: Specimen) -> Iterator[Statement]:
    named = {each.span.start for each in specimen.diagnoses}
    for each in specimen.findings:
        if each.span.start in named:
            continue
        text = _written(each)
        where = f":{each.value.place}" if each.value.id in BARE else ""
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
        others = pattern("some_cells").search(each.passage.text)
        if result.polarity in ("positive", "negative") and not others:
            text = f"{key} is {result.polarity}."
            topics = {f"marker:{key}": result.polarity}
            yield Statement(text, each.span, each.passage, "detail", topics)


def _grades(specimen: Specimen) -> Iterator[Statement]:
    for each in specimen.grades:
        part = pattern("part_of_tumour").search(each.clause) or early().search(each.clause)
        if part or _is_denied(each, specimen):
            continue
        text = f"The tumour is {_lowered(each.span.text)}."
        topics = {f"grade:{each.value.scheme}:{each.value.part or ''}": f"{each.value.level:g}"}
        yield Statement(text, each.span, each.passage, "detail", topics)


def _is_denied(said: ReportMention[Grade], specimen: Specimen) -> bool:
    """Whether the grade is one that something is denied in: no high grade dysplasia."""
    return stance_at(specimen.text, said.span.start, said.span.end) is False


def _lowered(text: str) -> str:
    """Words as they stand inside of a sentence; what is capitals only by its nature stays so."""
    words = tidy(text).strip(" .,;:").split(" ")
    short = [word for word in words if word.isupper() and len(word) <= 4]
    if len(short) == len(words):
        return " ".join(words)
    return " ".join(w if w.isupper() and len(w) <= 2 else w.lower() for w in words)
