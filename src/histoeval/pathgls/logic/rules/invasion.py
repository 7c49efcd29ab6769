"""Rule: a lesion in situ does not invade."""

import re
from collections.abc import Iterator
from typing import Any

from histoeval.pathgls.logic.contradiction import clash
from histoeval.pathgls.logic.lexicon import pattern
from histoeval.pathgls.logic.sentences import ReportMention
from histoeval.pathgls.logic.specimen import Specimen, behaviour_of
from histoeval.pathgls.results import Contradiction
from histoeval.terms.assertion import denies
from histoeval.terms.catalogue import Behaviour
from histoeval.terms.sites import find_sites

_INVADES = re.compile(
    r"\b(?:tumou?r|carcinoma|neoplasm|malignan\w*|lesion|glands|adenoma|melanoma|nests|cords|islands)\b"
    r"[^.;:]{0,60}?\b(?:invad(?:es?|ing)|infiltrat(?:es?|ing)|penetrat(?:es?|ing)|breach(?:es|ing)"
    r"|extends?(?: \w+)? (?:in)?to|destroys?|grows?(?: \w+)? into)\b[^.;:]{0,40}?"
    r"\b(?:stroma|muscularis|submucosa|subserosa|serosa|fat|adipose|detrusor|muscle|dermis"
    r"|lamina propria|myometrium|pericolic|perivesical|parenchyma)"
    r"|\b(?:stroma|muscularis propria|submucosa|subserosa|serosa|fat|detrusor muscle|muscle|dermis"
    r"|lamina propria|myometrium) (?:is|are)(?: \w+)? (?:invaded|infiltrated|penetrated|breached)",
    re.IGNORECASE,
)
"""A tumour, what it does, and into what."""
_MEASURED = re.compile(
    r"\bBreslow\b[^.;]{0,40}?\d+(?:\.\d+)?\s?mm\b|\bClark(?:'s)? level (?:II|III|IV|V|[2-5])\b",
    re.IGNORECASE,
)
"""How deep a melanoma invades."""
_NOT_INVASIVE = ("is", "a")
"""Categories of the primary tumour of what has not invaded."""
_FEW = 2
"""Organs of a report on one lesion: its own, and one that it invades."""


def in_situ(specimen: Specimen) -> Iterator[Contradiction]:
    """Invasion denied of the whole lesion, and an invasive tumour diagnosed or seen to invade."""
    for denied in (*_not_invasive(specimen), *_staged_in_situ(specimen)):
        for each in specimen.made_outside(denied.passage):
            invasive = pattern("invasive").match(each.span.text)
            if invasive and behaviour_of(each) == Behaviour.MALIGNANT:
                why = f"{denied.span.text}, and {each.span.text} is diagnosed"
                yield clash("in_situ", denied, each, why)
    if specimen.is_prose and len(specimen.organs) <= _FEW:
        yield from _seen_to_invade(specimen)
    yield from _measured_in_situ(specimen)


def _not_invasive(specimen: Specimen) -> Iterator[ReportMention[str]]:
    """Where invasion is denied of the lesion as a whole, and no place is named."""
    for passage in specimen.passages:
        only = pattern("in_situ_only").search(passage.text) if specimen.is_prose else None
        found = only or pattern("not_invasive").search(passage.text)
        of_some = find_sites(passage.text) or passage.has("elsewhere", "partly")
        if found and (only or not of_some):
            yield passage.found(found)


def _staged_in_situ(specimen: Specimen) -> Iterator[ReportMention[Any]]:
    """Stages of one tumour that has not invaded: pTis, pTa."""
    if not specimen.has_several_tumours:
        yield from (each for each in specimen.stages if each.value.t in _NOT_INVASIVE)


def _measured_in_situ(specimen: Specimen) -> Iterator[Contradiction]:
    """A lesion that is in situ, and how deep it invades; also in one sentence."""
    early = [each for each in _only_in_situ(specimen) if behaviour_of(each) == Behaviour.IN_SITU]
    for passage in specimen.passages:
        found = _MEASURED.search(passage.text)
        for each in early[:1] if found and not passage.has("beyond", "partly") else ():
            if found:
                deep = passage.found(found)
                why = f"it says {each.span.text}, and {deep.span.text}"
                yield clash("in_situ", each, deep, why)


def _seen_to_invade(specimen: Specimen) -> Iterator[Contradiction]:
    """A lesion that is in situ, benign or confined, and a sentence in which it invades."""
    confined: list[ReportMention[Any]] = [
        *_confined(specimen),
        *_staged_in_situ(specimen),
        *_only_in_situ(specimen),
    ]
    for passage in specimen.passages:
        found = _INVADES.search(passage.text)
        if not found or denies(passage.text) or passage.has("inflamed"):
            continue
        seen = passage.found(found)
        for each in [each for each in confined if each.passage != passage][:1]:
            why = f"it says {each.span.text}, and {seen.span.text}"
            yield clash("in_situ", each, seen, why)


def _confined(specimen: Specimen) -> Iterator[ReportMention[str]]:
    for passage in specimen.passages:
        only = pattern("in_situ_only").search(passage.text)
        found = only or pattern("confined").search(passage.text)
        if found and not passage.has("elsewhere"):
            yield passage.found(found)


def _only_in_situ(specimen: Specimen) -> Iterator[ReportMention[Any]]:
    """What is concluded to be in situ or benign, where nothing malignant is diagnosed."""
    if any(behaviour_of(each) == Behaviour.MALIGNANT for each in specimen.made):
        return
    for each in specimen.made:
        early = behaviour_of(each) in (Behaviour.IN_SITU, Behaviour.BENIGN)
        concluded = each.passage.is_conclusion or each.passage == specimen.passages[0]
        if early and concluded and not each.value.hedged:
            yield each
