"""Rules: tissue or a tumour of an organ that was not sent, and another kind of specimen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from histoeval.terms.sites import (
    contains,
    find_operated,
    find_sites,
    organ_of,
    site_closeness,
    system_of,
)
from histoeval.trust.logic.diagnosis_mentions import is_of_one_lesion, named_in
from histoeval.trust.logic.lexicon import begins, listed, pattern, table, written_as
from histoeval.trust.logic.rules.lineage import home_of
from histoeval.trust.logic.rules.presence import clash
from histoeval.trust.logic.sentences import ReportSentence
from histoeval.trust.logic.specimen import ReportMention, Specimen, said_in, span_of
from histoeval.trust.results import Contradiction

_FEW = 2
"""Organs of what was sent, where it is but one specimen."""
_HEAD = 300
"""Characters of a heading that are looked at."""
_SENT = re.compile(
    r"\b(?:specimens?|procedure|site|sample|material|tissue)\b[^:\n]{0,30}:", re.IGNORECASE
)
_THIS = re.compile(r"\b(?:the|this|these|present|our)\s+(?:[\w-]+\s+){0,2}$", re.IGNORECASE)
_THE = re.compile(r"\b(?:the|this)\s+$", re.IGNORECASE)
_TUMOUR = re.compile(
    r"\s+(?:\w+\s+)?(?:tumou?r|carcinoma|adenocarcinoma|cancer|neoplasm|mass)\b", re.IGNORECASE
)
_AFTER_THIS = re.compile(r"\s*(?:site|cavity|tract|scar|channel)", re.IGNORECASE)


class _Place(NamedTuple):
    """An organ that a sentence names, by noun, adjective, operation or tissue."""

    organ: str
    start: int
    end: int


def foreign_tissue(specimen: Specimen) -> Iterator[Contradiction]:
    """What was sent is of one organ, and a later sentence tells of another one far from it."""
    if not is_of_one_lesion(specimen) or any(
        _words("afar").search(passage.text) for passage in specimen.passages
    ):
        return
    head, sent = _sent(specimen)
    if head is None:
        return
    organs = {place.organ for place in sent}
    if len(organs) > _FEW:
        return
    for passage in specimen.passages:
        for place in _places(passage.text) if passage.start >= head.start else ():
            if place in sent and passage == head:
                continue
            if _is_told_of(place, passage) and _is_foreign(place, passage, organs):
                first, other = _said(sent[0], head, specimen), _said(place, passage, specimen)
                why = f"{other.span.text}, in a specimen of {first.span.text}"
                yield clash("site", first, other, why)


def _is_foreign(place: _Place, passage: ReportSentence, organs: set[str]) -> bool:
    """Whether an organ is far from all that were sent, or the tumour is called by it."""
    the_tumour = _THE.search(passage.text[: place.start]) and _TUMOUR.match(
        passage.text[place.end :]
    )
    if the_tumour and all(site_closeness(place.organ, each) == 0 for each in organs):
        return True
    return all(are_far(place.organ, each) for each in organs)


def _sent(specimen: Specimen) -> tuple[ReportSentence | None, Sequence[_Place]]:
    """The first sentence that names an organ, and which: up to a colon, where it has one.

    What stands under the heading of what was sent comes before all sentences.
    """
    for passage in (*_heading(specimen), *specimen.passages):
        if places := list(_places(passage.text)):
            colon = passage.text.find(":")
            return passage, [place for place in places if place.end <= colon] or places
    return None, ()


def _heading(specimen: Specimen) -> Iterator[ReportSentence]:
    """What stands before the first sentence, where it says what was sent."""
    end = specimen.passages[0].start if specimen.passages else 0
    if found := _SENT.search(specimen.text[:end][-_HEAD:]):
        start = max(0, end - _HEAD) + found.end()
        yield ReportSentence(start, end, specimen.text[start:end], "", "specimen")


def _said(place: _Place, passage: ReportSentence, specimen: Specimen) -> ReportMention[str]:
    span = span_of(specimen.text, passage.start + place.start, passage.start + place.end)
    return ReportMention(span.text, span, passage)


def _places(text: str) -> Iterator[_Place]:
    """The organs that a text names; not those that are anywhere, nor words that may be another."""
    sites = find_sites(text)
    known = {match.end + 1 for match in sites}
    operated = (match for match in find_operated(text) if match.start not in known)
    named = [(match.id, match.start, match.end) for match in (*sites, *operated)]
    for words, organ in _tissues():
        named += [(organ, found.start(), found.end()) for found in words.finditer(text)]
    for site, start, end in named:
        word, after = text[start:end].lower(), text[end:].lstrip()
        clear = word not in _listed("unclear") and not _words("named_by").match(after)
        if is_organ(site) and clear:
            yield _Place(organ_of(site), start, end)


@cache
def is_organ(site: str) -> bool:
    """Whether a site tells an organ: not a region, nor tissue that is everywhere."""
    return system_of(site) not in _listed("loose") and organ_of(site) not in listed("tissues")


@cache
def _tissues() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple(
        (written_as(row["words"]), row["organs"][0]) for row in table("habitats")["tissue"]
    )


@cache
def _words(name: str) -> re.Pattern[str]:
    return begins(table("habitats")["words"][name])


@cache
def _listed(name: str) -> frozenset[str]:
    return frozenset(table("habitats")["organs"][name])


def _is_told_of(place: _Place, passage: ReportSentence) -> bool:
    """Whether an organ is where the lesion is, and not where it goes or what it is like."""
    before = re.split(r"[.;:]", passage.text[: place.start])[-1]
    aside = pattern("supposed").search(passage.text) or pattern("not_now").search(passage.text)
    denied = pattern("not_so").search(re.split(r"\band\b", before)[-1])
    return not aside and not denied and not _words("towards").search(before)


@cache
def are_far(one: str, other: str) -> bool:
    """Whether neither organ is of the other, and they do not lie together."""
    together = table("habitats")["organs"]["together"]
    return not contains(one, other) and not any(one in near and other in near for near in together)


def no_home(specimen: Specimen) -> Iterator[Contradiction]:
    """A tumour of few organs in a specimen of another, from which nothing says that it came."""
    if not is_of_one_lesion(specimen) or any(
        _words("afar").search(passage.text) for passage in specimen.passages
    ):
        return
    head, sent = _sent(specimen)
    for each in named_in(specimen) if head else ():
        homes = home_of(each.concept.id)
        unclear = each.said.span.text.lower() in _listed("unclear_names")
        if head and homes and each.settled and not unclear and not _reach(sent, homes):
            first = _said(sent[0], head, specimen)
            why = f"{each.said.span.text} does not arise in {first.span.text}"
            yield clash("home", first, each.said, why)


def _reach(sent: Sequence[_Place], homes: frozenset[str]) -> bool:
    """Whether any organ that was sent is one of these, or one that is with them."""
    organs = {organ_of(home) for home in homes} | homes
    return any(not are_far(place.organ, organ) for place in sent for organ in organs)


def another_procedure(specimen: Specimen) -> Iterator[Contradiction]:
    """A biopsy at the head that is a resection later, or the reverse."""
    if not is_of_one_lesion(specimen) or not specimen.passages:
        return
    head = specimen.passages[0]
    for here, there in (("small", "large"), ("large", "small")):
        first = _procedure(here).search(head.text)
        if not first or _procedure(there).search(head.text):
            continue
        for passage in specimen.passages[1:]:
            found = _procedure(there).search(passage.text)
            if found and _is_this(found, passage):
                one, other = (said_in(first, head, specimen), said_in(found, passage, specimen))
                why = f"{one.span.text} at the head, and {other.span.text}"
                yield clash("procedure", one, other, why)


def _is_this(found: re.Match[str], passage: ReportSentence) -> bool:
    """Whether a procedure is the one that is reported on."""
    aside = pattern("supposed").search(passage.text) or pattern("not_now").search(passage.text)
    before, after = passage.text[: found.start()], passage.text[found.end() :]
    return bool(_THIS.search(before)) and not aside and not _AFTER_THIS.match(after)


@cache
def _procedure(size: str) -> re.Pattern[str]:
    return written_as(table("habitats")["procedures"][size])
