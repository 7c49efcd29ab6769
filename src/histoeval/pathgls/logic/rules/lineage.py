"""Rules: a malignancy with a harmless conclusion, or with one of another differentiation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from histoeval.facts.diagnoses import Diagnosis
from histoeval.pathgls.logic.contradiction import clash
from histoeval.pathgls.logic.lexicon import LOGIC, listed, pattern
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.logic.specimen import Specimen, behaviour_of, own_concept
from histoeval.pathgls.results import Contradiction
from histoeval.terms.catalogue import HARMLESS, Behaviour, diagnosis_tree


def _conclusions(specimen: Specimen) -> tuple[ReportMention[Diagnosis], ...]:
    """The diagnoses of the last sentence that concludes."""
    made = [each for each in specimen.made if each.passage.concludes and not each.value.hedged]
    return tuple(each for each in made if each.passage == made[-1].passage)


def behaviour(specimen: Specimen) -> Iterator[Contradiction]:
    """A harmless conclusion and a malignancy that is diagnosed or described; of one organ only."""
    if len(specimen.organs) > 1:
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
    """Whether it is of the lesion, and no other sentence concludes something malignant."""
    others = [each for each in specimen.made if each.passage.concludes and each not in final]
    malignant = any(behaviour_of(each) == Behaviour.MALIGNANT for each in others)
    return not malignant and not final[0].passage.has("elsewhere")


def _grave(specimen: Specimen, final: ReportSentence) -> Iterator[ReportMention[Any]]:
    """Where a malignancy is diagnosed, or what only a malignancy does."""
    for each in specimen.made_outside(final):
        if behaviour_of(each) == Behaviour.MALIGNANT:
            yield each
    for seen in specimen.findings:
        if seen.value.id in listed("only_malignant") and not seen.denied and seen.passage != final:
            yield seen


def _called_harmless(specimen: Specimen) -> Iterator[ReportMention[str]]:
    """Where the lesion as a whole is called benign or none: in a conclusion, or in prose."""
    for passage in specimen.passages:
        found = pattern("called_benign").search(passage.text)
        if not found and passage.concludes:
            found = pattern("called_normal").search(passage.text)
        if found and (passage.concludes or specimen.is_prose):
            mention = passage.found(found)
            of_some = any(pattern(name).search(mention.clause) for name in ("elsewhere", "partly"))
            if not of_some:
                yield mention


class _Line(NamedTuple):
    """A line of differentiation: its diagnoses, and the lines that it excludes."""

    name: str
    roots: tuple[str, ...]
    excludes: frozenset[str]


@cache
def _lines() -> tuple[_Line, ...]:
    return tuple(
        _Line(row["name"], tuple(row["diagnoses"]), frozenset(row["excludes"]))
        for row in LOGIC.entry("line")
    )


@cache
def _telling() -> Mapping[str, frozenset[str]]:
    """Findings by id, with the lines whose tumours do not have them."""
    return {
        id_: frozenset(row["excludes"]) for row in LOGIC.entry("telling") for id_ in row["findings"]
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

    Only where all that is concluded is of one line, and no other sentence names it.
    """
    final = _conclusions(specimen)
    lines = {line_of(each.value) for each in final}
    if len(lines) != 1 or None in lines or specimen.has("mixed"):
        return
    (concluded,) = lines
    others = [each for each in specimen.made_outside(final[0].passage) if line_of(each.value)]
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
