"""Rules: what cannot be the same lesion, and a lesion that cannot be where it is said to be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from histoeval.facts.diagnoses import Diagnosis
from histoeval.report import EntityType
from histoeval.terms.catalogue import Behaviour, diagnosis_tree
from histoeval.terms.sites import contains, find_sites, organ_of
from histoeval.trust.logic.lexicon import listed, pattern, table
from histoeval.trust.logic.rules.presence import (
    HARMLESS,
    behaviour_of,
    clash,
    is_of_some,
    is_prose,
    made_outside,
    organs_of,
    own_concept,
)
from histoeval.trust.logic.sentences import ReportSentence
from histoeval.trust.logic.specimen import ReportMention, Specimen, span_of
from histoeval.trust.results import Contradiction


def _conclusions(specimen: Specimen) -> tuple[ReportMention[Diagnosis], ...]:
    """The diagnoses of the last sentence that says what the diagnosis is."""
    made = [each for each in specimen.made if each.passage.concludes and not each.value.hedged]
    return tuple(each for each in made if each.passage == made[-1].passage)


def behaviour(specimen: Specimen) -> Iterator[Contradiction]:
    """A harmless conclusion and a malignancy that is diagnosed or described; of one organ only."""
    if len(organs_of(specimen)) > 1:
        return
    final = _conclusions(specimen)
    harmless_only = all(behaviour_of(each) in HARMLESS for each in final)
    if final and harmless_only and _is_last(final, specimen):
        for grave in _grave(specimen, final[0].passage):
            why = f"the conclusion is {final[0].span.text}, but {grave.span.text} is described"
            yield clash("behaviour", final[0], grave, why)
    for harmless in _called_harmless(specimen):
        for grave in _grave(specimen, harmless.passage):
            why = f"{grave.span.text} is diagnosed or described, but it says {harmless.span.text}"
            yield clash("behaviour", grave, harmless, why)


def _is_last(final: Sequence[ReportMention[Diagnosis]], specimen: Specimen) -> bool:
    """Whether it is said of the lesion, and no other sentence concludes something malignant."""
    others = [each for each in specimen.made if each.passage.concludes and each not in final]
    malignant = any(behaviour_of(each) == Behaviour.MALIGNANT for each in others)
    return not malignant and not pattern("elsewhere").search(final[0].passage.text)


def _grave(specimen: Specimen, final: ReportSentence) -> Iterator[ReportMention[Any]]:
    """Where a malignancy is made out, or what only a malignancy does."""
    for each in made_outside(specimen, final):
        if behaviour_of(each) == Behaviour.MALIGNANT:
            yield each
    for seen in specimen.findings:
        if seen.value.id in listed("only_malignant") and not seen.denied and seen.passage != final:
            yield seen


def _called_harmless(specimen: Specimen) -> Iterator[ReportMention[str]]:
    """Where the lesion as a whole is called benign or none: in a conclusion, or in plain prose."""
    for passage in specimen.passages:
        found = pattern("called_benign").search(passage.text)
        if not found and passage.concludes:
            found = pattern("called_normal").search(passage.text)
        if found and (passage.concludes or is_prose(specimen)):
            start, end = passage.start + found.start(), passage.start + found.end()
            said = ReportMention(found.group(), span_of(specimen.text, start, end), passage)
            if not is_of_some(said.clause):
                yield said


class _Line(NamedTuple):
    """A line of differentiation: its diagnoses, and the lines that it excludes."""

    name: str
    roots: tuple[str, ...]
    excludes: frozenset[str]


@cache
def _lines() -> tuple[_Line, ...]:
    return tuple(
        _Line(row["name"], tuple(row["diagnoses"]), frozenset(row["excludes"]))
        for row in table()["line"]
    )


@cache
def _telling() -> Mapping[str, frozenset[str]]:
    """Findings by id, with the lines whose tumours do not have them."""
    return {
        id_: frozenset(row["excludes"]) for row in table()["telling"] for id_ in row["findings"]
    }


def line_of(diagnosis: Diagnosis) -> str | None:
    """The line of differentiation of a malignancy, if it is one of those in the table."""
    concept = own_concept(diagnosis)
    if concept is None or concept.behaviour != Behaviour.MALIGNANT:
        return None
    return next(
        (
            line.name
            for line in _lines()
            if any(diagnosis_tree().is_a(concept.id, root) for root in line.roots)
        ),
        None,
    )


def lineage(specimen: Specimen) -> Iterator[Contradiction]:
    """Two malignancies that exclude each other, or a finding that excludes the conclusion.

    Only where all that is concluded is of one line, and nothing that is said elsewhere is of it.
    """
    final = _conclusions(specimen)
    lines = {line_of(each.value) for each in final}
    if len(lines) != 1 or None in lines or _is_mixed(specimen):
        return
    (concluded,) = lines
    others = [each for each in made_outside(specimen, final[0].passage) if line_of(each.value)]
    if any(line_of(each.value) == concluded for each in others):
        return
    excluding = {line.name for line in _lines() if concluded in line.excludes}
    signs: Iterable[ReportMention[Any]] = (
        *(each for each in others if line_of(each.value) in excluding),
        *(
            seen
            for seen in specimen.findings
            if concluded in _telling().get(str(seen.value.id), ())
            and not seen.denied
            and seen.passage != final[0].passage
        ),
    )
    for sign in signs:
        why = f"{sign.span.text} does not go with {final[0].span.text}"
        yield clash("lineage", final[0], sign, why)


def _is_mixed(specimen: Specimen) -> bool:
    return any(pattern("mixed").search(passage.text) for passage in specimen.passages)


@cache
def _homes() -> tuple[tuple[tuple[str, ...], frozenset[str]], ...]:
    return tuple((tuple(row["diagnoses"]), frozenset(row["organs"])) for row in table()["home"])


def home(specimen: Specimen) -> Iterator[Contradiction]:
    """A tumour at a site where it cannot arise, and not as a metastasis."""
    if any(pattern("spread").search(passage.text) for passage in specimen.passages):
        return
    for each in specimen.made:
        organs = _home_of(each)
        for said in specimen.entities if organs else ():
            if said.value.type != EntityType.SITE or said.passage != each.passage:
                continue
            sites = [m.id for m in find_sites(said.value.text)]
            placed = [s for s in sites if organ_of(s) not in listed("tissues")]
            if _is_linked(each, said, specimen) and placed and not _reach(placed, organs):
                why = f"{each.span.text} does not arise in {said.span.text}"
                yield clash("home", each, said, why)


def _home_of(said: ReportMention[Diagnosis]) -> frozenset[str]:
    """The organs where a diagnosis arises, if it arises in few; by its words, and by its place."""
    own, here = own_concept(said.value), said.value.concept
    return home_of(own.id, here.id) if own and here else frozenset()


def home_of(*ids: str) -> frozenset[str]:
    """The organs where diagnoses arise, if all of these arise in the same few."""
    for roots, organs in _homes():
        if all(any(diagnosis_tree().is_a(id_, root) for root in roots) for id_ in ids):
            return organs
    return frozenset()


def _is_linked(
    diagnosis: ReportMention[Diagnosis], site: ReportMention[Any], specimen: Specimen
) -> bool:
    linked = any(
        head.start == diagnosis.span.start and tail.start == site.span.start
        for head, tail in specimen.relations
    )
    between = specimen.text[diagnosis.span.end : site.span.start].strip().lower()
    return linked and (
        between in ("of the", "of", "in the", "arising in the", "arising in", "arising from the")
        or site.span.end < diagnosis.span.start
    )


def _reach(sites: Sequence[str], organs: frozenset[str]) -> bool:
    return any(contains(site, organ) for site in sites for organ in organs)
