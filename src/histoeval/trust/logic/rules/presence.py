"""Rules: one thing affirmed at one place and denied at another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, TypeVar

from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import BARE, FindingFact
from histoeval.report import Assertion, EntityType
from histoeval.terms.catalogue import Behaviour, Concept, diagnosis_tree
from histoeval.terms.findings import findings, is_kind_of
from histoeval.terms.sites import find_sites, organ_of
from histoeval.terms.values.laterality import side_of
from histoeval.trust.logic.lexicon import listed, pattern
from histoeval.trust.logic.sentences import ReportSentence
from histoeval.trust.logic.specimen import ReportMention, Specimen
from histoeval.trust.results import Contradiction

Value = TypeVar("Value")

_MARGIN = "margin_involvement"
_ONE_THING = ({"necrosis", "tumor_necrosis"},)
"""Findings that a report names by two names."""
_ALL = frozenset({"all"})
_TUMOUR = frozenset(
    {Behaviour.MALIGNANT, Behaviour.IN_SITU, Behaviour.BORDERLINE, Behaviour.BENIGN}
)
_ANY_TUMOR = frozenset({"neoplasm", "malignant_neoplasm"})
HARMLESS = frozenset({Behaviour.BENIGN, Behaviour.NON_NEOPLASTIC, Behaviour.NORMAL})
_WEIGHTY = 2
"""Findings that matter so much are said of the whole specimen."""
_PROSE = frozenset({"", "other"})
_HEADED = frozenset({"diagnosis", "microscopic", "comment", "immunohistochemistry"})
_SHORT = 12
"""So many sentences under the headings of one specimen are still read as prose."""
_LISTED = re.compile(r"[^\w(]|\d+[.):]+\s|\(?[a-z\d]\)", re.IGNORECASE)
_DEGREE = re.compile(r"\b(?:mild|moderate|severe|(?:low|high)[- ]grade)$", re.IGNORECASE)
_SENTENCE = 4
"""Fewer words than this are no sentence of their own."""


def clash(rule: str, one: ReportMention[Any], other: ReportMention[Any], why: str) -> Contradiction:
    """Two places that cannot both be right, in the order of the text."""
    first, second = sorted((one.span, other.span), key=lambda span: (span.start, span.end))
    return Contradiction(
        first=first, second=second, probability=1.0, source=f"rule:{rule}", why=why
    )


def both_ways(
    said: Iterable[ReportMention[Value]], same: Callable[[Value, Value], bool]
) -> Iterator[tuple[ReportMention[Value], ReportMention[Value]]]:
    """What is affirmed, with the first denial of the same, from another sentence."""
    everything = list(said)
    affirmed = [each for each in everything if not each.denied]
    denied = [each for each in everything if each.denied]
    for yes, no in product(affirmed, denied):
        if yes.passage != no.passage and same(yes.value, no.value):
            yield yes, no


def presence(specimen: Specimen) -> Iterator[Contradiction]:
    """A finding that is said to be there and not to be there."""
    local = listed("local_findings")
    whole = [
        each
        for each in specimen.findings
        if each.value.id not in local
        and not is_kind_of(str(each.value.id), _MARGIN)
        and findings()[str(each.value.id)].importance >= _WEIGHTY
        and not pattern("elsewhere").search(each.clause)
        and not pattern("other_tissue").search(each.passage.text)
        and each.denied == (each.value.entity.assertion == Assertion.ABSENT)
    ]
    same = _same_finding if is_prose(specimen) else _same_name
    for yes, no in both_ways(whole, same):
        name = findings()[str(yes.value.id)].name
        yield clash("presence", yes, no, f"{name} is both affirmed and denied")


def _same_finding(one: FindingFact, other: FindingFact) -> bool:
    return {one.id, other.id} in _ONE_THING or _same_name(one, other)


def _same_name(one: FindingFact, other: FindingFact) -> bool:
    if one.id in BARE:
        return other.id == one.id and one.place is not None and one.place == other.place
    return one.id == other.id


def margin(specimen: Specimen) -> Iterator[Contradiction]:
    """Margins that are free and involved: all of them, or those of one name."""
    margins = [
        each
        for each in specimen.findings
        if is_kind_of(str(each.value.id), _MARGIN)
        and not pattern("margin_of_another").search(each.passage.text)
        and pattern("margin_free" if each.denied else "margin_involved").search(each.passage.text)
    ]
    plain = is_prose(specimen)
    for yes, no in both_ways(margins, lambda one, other: other.id in (one.id, _MARGIN)):
        all_free = plain and _margin_names(no) <= _ALL and pattern("all_margins").search(no.clause)
        alike = yes.value.id == no.value.id and _margin_names(yes) == _margin_names(no)
        if alike or all_free:
            yield clash("margin", yes, no, "the margin is both involved and free")


def _margin_names(said: ReportMention[FindingFact]) -> frozenset[str]:
    """Which margin is meant: the words of its sentence that name one."""
    found = pattern("margin_names").finditer(said.passage.text)
    return frozenset(name.group().lower() for name in found)


def denial(specimen: Specimen) -> Iterator[Contradiction]:
    """A diagnosis that is made and denied; to deny malignancy is to deny all that is malignant.

    Where a report is laid out under headings, "no tumour" is often said of the last place that was
    named. There only a sentence that denies the very diagnosis counts.
    """
    if len(organs_of(specimen)) > 1:
        return
    told = [
        each for each in specimen.diagnoses if not pattern("elsewhere").search(each.passage.text)
    ]
    said = [
        each
        for each in told
        if not each.denied or (_denies_all(each, specimen) and not is_of_a_grade(each, specimen))
    ]
    for yes, no in both_ways(said, _is_denied_by):
        yield clash("denial", yes, no, f"{yes.span.text} is diagnosed, {no.span.text} is denied")


def is_of_a_grade(said: ReportMention[Diagnosis], specimen: Specimen) -> bool:
    """Whether only so much of it is denied: no high grade dysplasia."""
    graded = {each.span.end for each in specimen.grades if each.passage == said.passage}
    before = specimen.text[: said.span.start].rstrip()
    return len(before) in graded or bool(_DEGREE.search(before))


def _denies_all(said: ReportMention[Diagnosis], specimen: Specimen) -> bool:
    """Whether a denial is of the whole specimen."""
    concept, sentence = own_concept(said.value), said.passage.text
    if pattern("suggested").search(said.clause):
        return False
    wide = concept is None or concept.generic
    if wide:
        part = _names_a_part(said.passage, specimen)
        free = pattern("free").search(sentence) and not find_sites(sentence)
        return is_prose(specimen) and not part and not free
    return len(sentence.split()) >= _SENTENCE and sentence[0].isalpha()


def _names_a_part(passage: ReportSentence, specimen: Specimen) -> bool:
    """Whether a sentence is of some place, and not of the organ as a whole."""
    places = [e.value for e in specimen.entities if e.passage == passage]
    sites = [e.text for e in places if e.type == EntityType.SITE]
    whole = len(organs_of(specimen)) == 1 and not side_of(passage.text)
    whole = whole and not pattern("part_of_organ").search(passage.text)
    named = all({organ_of(m.id) for m in find_sites(s)} & organs_of(specimen) for s in sites)
    return not (whole and named) if sites else bool(find_sites(passage.text))


def is_prose(specimen: Specimen) -> bool:
    """Whether a report is written in sentences, without lists; a short one may have headings."""
    kinds = _PROSE if len(specimen.passages) > _SHORT else _PROSE | _HEADED
    return all(
        passage.kind in kinds and not passage.part and not _LISTED.match(passage.text)
        for passage in specimen.passages
    )


def _is_denied_by(made: Diagnosis, denied: Diagnosis) -> bool:
    one, other = own_concept(made), own_concept(denied)
    if one is None or other is None or made.hedged:
        return False
    if one.id == other.id:
        return one.behaviour in _TUMOUR
    wide = other.generic and other.behaviour in (Behaviour.MALIGNANT, Behaviour.UNSPECIFIED)
    grave = one.behaviour == Behaviour.MALIGNANT
    return wide and grave and (other.id in _ANY_TUMOR or diagnosis_tree().is_a(one.id, other.id))


def own_concept(diagnosis: Diagnosis) -> Concept | None:
    """What the words of a diagnosis name by themselves."""
    return diagnosis.wide or diagnosis.concept


def behaviour_of(said: ReportMention[Diagnosis]) -> Behaviour:
    """How what the words of a diagnosis name behaves."""
    concept = own_concept(said.value)
    return concept.behaviour if concept else Behaviour.UNSPECIFIED


def made_outside(
    specimen: Specimen, passage: ReportSentence
) -> tuple[ReportMention[Diagnosis], ...]:
    """Diagnoses that are made surely in other sentences than one."""
    return tuple(e for e in specimen.made if e.passage != passage and not e.value.hedged)


def is_of_some(text: str) -> bool:
    """Whether words are of another place than the lesion, or of some of it only."""
    return bool(pattern("elsewhere").search(text) or pattern("partly").search(text))


def organs_of(specimen: Specimen) -> frozenset[str]:
    """The organs that are named of a specimen, tissues that are everywhere left out."""
    everywhere = listed("tissues")
    return frozenset(
        organ
        for said in specimen.entities
        if said.value.type in (EntityType.SITE, EntityType.PROCEDURE)
        for match in find_sites(said.value.text)
        if (organ := organ_of(match.id)) not in everywhere
    )


def marker(specimen: Specimen) -> Iterator[Contradiction]:
    """A marker that is positive and negative, in the same cells."""
    tested = [
        ReportMention(each.value[0], each.span, each.passage, each.value[1].polarity == "negative")
        for each in specimen.markers
        if each.value[1].polarity in ("positive", "negative")
        and not pattern("some_cells").search(each.passage.text)
    ]
    for yes, no in both_ways(tested, lambda one, other: one == other):
        yield clash("marker", yes, no, f"{yes.value} is both positive and negative")
