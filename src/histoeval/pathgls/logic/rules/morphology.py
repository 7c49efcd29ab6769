"""Rule: what is described is harmless and the conclusion malignant, or the reverse."""

from collections.abc import Iterator, Sequence
from typing import Any

from histoeval.facts.diagnoses import Diagnosis
from histoeval.pathgls.logic.contradiction import clash
from histoeval.pathgls.logic.impression import mentions_tumour, normal_at, signs_of
from histoeval.pathgls.logic.lexicon import pattern
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.logic.specimen import Specimen, behaviour_of
from histoeval.pathgls.results import Contradiction
from histoeval.terms.catalogue import HARMLESS, Behaviour

_CLEAR = HARMLESS | {Behaviour.MALIGNANT}
_ENOUGH = 2
"""Signs that together suggest something; one may stand in any report."""


def morphology(specimen: Specimen) -> Iterator[Contradiction]:
    """All that is described is harmless, and a malignancy is concluded; or the reverse.

    Also two conclusions of which one is harmless: after the site at the head, and in the end.
    """
    if not specimen.is_prose or len(specimen.organs) > 1:
        return
    concluded = [e for e in specimen.made if not e.value.hedged and e.passage.is_conclusion]
    for final in (e for e in concluded if behaviour_of(e) in _CLEAR):
        others = [p for p in specimen.passages if p != final.passage]
        signs: list[ReportMention[Any]]
        if behaviour_of(final) == Behaviour.MALIGNANT:
            spread = "metasta" in final.passage.text.lower()
            seen = () if spread else _harmless(others, specimen)
            signs = [*_called_harmless(others, concluded, specimen), *seen]
        elif all(behaviour_of(each) in HARMLESS for each in concluded):
            signs = [*_grave(others)]
        else:
            continue
        for sign in signs[:1]:
            why = f"{sign.span.text} does not go with {final.span.text}"
            yield clash("morphology", final, sign, why)


def _called_harmless(
    others: Sequence[ReportSentence],
    concluded: Sequence[ReportMention[Diagnosis]],
    specimen: Specimen,
) -> Iterator[ReportMention[Any]]:
    """A harmless diagnosis at the head of a report that ends with another."""
    first = [e for e in concluded if e.passage == specimen.passages[0] and e.passage in others]
    beside = specimen.has("beside")
    if first and not beside and all(behaviour_of(each) in HARMLESS for each in first):
        yield first[0]


def _harmless(
    described: Sequence[ReportSentence], specimen: Specimen
) -> Iterator[ReportMention[Any]]:
    """Signs of a harmless lesion, where nothing that is described suggests a tumour."""
    of_lesion = [p for p in described if not p.has("around")]
    if any(map(mentions_tumour, of_lesion)):
        return
    if not specimen.has("beside"):
        for each in specimen.made:
            if behaviour_of(each) == Behaviour.BENIGN and each.passage in of_lesion:
                yield each
    for passage in of_lesion:
        if found := normal_at(passage):
            yield passage.found(found)
    signs = {sign for passage in of_lesion for sign in signs_of(passage, "harmless")}
    for passage in of_lesion if len(signs) >= _ENOUGH else ():
        if found := pattern("looks_harmless").search(passage.text):
            yield passage.found(found)


def _grave(described: Sequence[ReportSentence]) -> Iterator[ReportMention[str]]:
    """Signs of a malignancy, where there are several."""
    signs = {sign for passage in described for sign in signs_of(passage, "malignant")}
    for passage in described if len(signs) >= _ENOUGH else ():
        for found in pattern("looks_malignant").finditer(passage.text):
            if found.group().lower() in signs_of(passage, "malignant"):
                yield passage.found(found)
