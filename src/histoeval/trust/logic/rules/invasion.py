"""Rules: how far a lesion goes. What is in situ does not invade."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from histoeval.terms.catalogue import Behaviour
from histoeval.terms.sites import find_sites
from histoeval.trust.logic.impression import concludes
from histoeval.trust.logic.lexicon import pattern
from histoeval.trust.logic.rules.presence import (
    behaviour_of,
    clash,
    is_of_some,
    is_prose,
    made_outside,
    organs_of,
)
from histoeval.trust.logic.specimen import ReportMention, Specimen, said_in
from histoeval.trust.results import Contradiction

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
_FEW = 2
"""Organs of a report on one lesion: its own, and one that it grows into."""
_NOT = re.compile(r"\b(?:no|not|without|neither|nor|never|absent|non)\b", re.IGNORECASE)


def in_situ(specimen: Specimen) -> Iterator[Contradiction]:
    """Invasion denied of the whole lesion, and an invasive tumour diagnosed or seen to invade."""
    for denied in _not_invasive(specimen):
        for each in made_outside(specimen, denied.passage):
            invasive = pattern("invasive").match(each.span.text)
            if invasive and behaviour_of(each) == Behaviour.MALIGNANT:
                why = f"invasion is denied, {each.span.text} is diagnosed"
                yield clash("in_situ", denied, each, why)
    if is_prose(specimen) and len(organs_of(specimen)) <= _FEW:
        yield from _seen_to_invade(specimen)


def _not_invasive(specimen: Specimen) -> Iterator[ReportMention[str]]:
    """Where invasion is denied of the lesion as a whole, and no place is named."""
    for passage in specimen.passages:
        only = is_prose(specimen) and pattern("in_situ_only").search(passage.text)
        found = only or pattern("not_invasive").search(passage.text)
        if not found or (not only and (find_sites(passage.text) or is_of_some(passage.text))):
            continue
        yield said_in(found, passage, specimen)


def _seen_to_invade(specimen: Specimen) -> Iterator[Contradiction]:
    """A lesion that is in situ, benign or confined, and a sentence in which it invades."""
    confined: list[ReportMention[Any]] = [*_confined(specimen), *_only_in_situ(specimen)]
    for passage in specimen.passages:
        found = _INVADES.search(passage.text)
        if not found or _NOT.search(passage.text) or pattern("inflamed").search(passage.text):
            continue
        seen = said_in(found, passage, specimen)
        for each in [each for each in confined if each.passage != passage][:1]:
            why = f"it says {each.span.text}, and {seen.span.text}"
            yield clash("in_situ", each, seen, why)


def _confined(specimen: Specimen) -> Iterator[ReportMention[str]]:
    for passage in specimen.passages:
        found = pattern("in_situ_only").search(passage.text) or pattern("confined").search(
            passage.text
        )
        if found and not pattern("elsewhere").search(passage.text):
            yield said_in(found, passage, specimen)


def _only_in_situ(specimen: Specimen) -> Iterator[ReportMention[Any]]:
    """What is concluded to be in situ or benign, where nothing malignant is diagnosed."""
    if any(behaviour_of(each) == Behaviour.MALIGNANT for each in specimen.made):
        return
    for each in specimen.made:
        early = behaviour_of(each) in (Behaviour.IN_SITU, Behaviour.BENIGN)
        told = concludes(each.passage) or each.passage == specimen.passages[0]
        if early and told and not each.value.hedged:
            yield ReportMention(each.value, each.span, each.passage)
