"""Rules: tissue or a tumour of an organ that was not sent, or a tumour that arises elsewhere."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from histoeval.facts.diagnoses import Diagnosis
from histoeval.pathgls.logic.contradiction import clash
from histoeval.pathgls.logic.lexicon import LOGIC, ORGAN, listed
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.logic.specimen import Specimen, own_concept
from histoeval.pathgls.results import Contradiction
from histoeval.report import EntityType
from histoeval.terms.assertion import denies, is_denied
from histoeval.terms.catalogue import diagnosis_tree
from histoeval.terms.lexicon import any_of
from histoeval.terms.sites import (
    contains,
    find_operated,
    find_sites,
    organ_of,
    site_closeness,
    system_of,
)

_REGIONS = frozenset({"body_region", "body_cavity"})
_FEW = 2
"""Organs in the head of a report on one specimen."""
_HEAD = 300
"""Characters of a heading that are read."""
_SENT = re.compile(
    r"\b(?:specimens?|procedure|site|sample|material|tissue)\b[^:\n]{0,30}:", re.IGNORECASE
)
_THE = re.compile(r"\b(?:the|this)\s+$", re.IGNORECASE)
_TUMOUR = re.compile(
    r"\s+(?:\w+\s+)?(?:tumou?r|carcinoma|adenocarcinoma|cancer|neoplasm|mass)\b", re.IGNORECASE
)
_CONSISTS = re.compile(
    r"\b(?:specimens?|sections?|biops(?:y|ies)|tissue|fragments?|tumou?r|carcinoma|lesion|neoplasm"
    r"|mass)\b[^.;]{0,30}?\b(?:consists? of|composed of|shows?|contains?|reveals?|arises?|arising"
    r"|located|is in|are of|is of|lies|was found in|centred)\b",
    re.IGNORECASE,
)
_LINKS = ("of the", "of", "in the")
_ARISES = (*_LINKS, "arising in the", "arising in", "arising from the")


class _Place(NamedTuple):
    """An organ that a sentence names, by noun, adjective, operation or tissue."""

    organ: str
    mention: ReportMention[str]


# --- tissue or a tumour of an organ that was not sent ---------------------------------------------


def site(specimen: Specimen) -> Iterator[Contradiction]:
    """What was sent is of one organ, and the tumour that is concluded arose in one far from it."""
    passages = specimen.passages
    if not passages or not specimen.is_prose or specimen.has("from_elsewhere"):
        return
    sent = list(_entities(specimen, passages[0]))
    if not sent:
        return
    first = sent[0][0].span.text
    for passage in passages[1:]:
        aside = passage.has("beyond") or denies(passage.text) or passage.has("alike")
        for place, organ in _entities(specimen, passage) if not aside else ():
            if _CONSISTS.search(passage.text) and _is_far_from_all(organ, sent):
                why = f"{place.span.text}, in a specimen of {first}"
                yield clash("site", sent[0][0], place, why)
    for final in specimen.made:
        if final.passage == passages[0] or not final.passage.is_conclusion:
            continue
        for place, organ in _entities(specimen, final.passage):
            linked = specimen.text[final.span.end : place.span.start].strip().lower() in _LINKS
            if linked and _is_far_from_all(organ, sent):
                why = f"{final.span.text} of {place.span.text}, in a specimen of {first}"
                yield clash("site", sent[0][0], place, why)


def _is_far_from_all(organ: str, sent: Sequence[tuple[ReportMention[Any], str]]) -> bool:
    return all(site_closeness(organ, other) == 0 for _, other in sent)


def _entities(
    specimen: Specimen, passage: ReportSentence
) -> Iterator[tuple[ReportMention[Any], str]]:
    """The sites of a sentence as the reader marks them, each with its organ."""
    for each in specimen.entities:
        if each.passage != passage or each.value.type != EntityType.SITE:
            continue
        for match in find_sites(each.value.text):
            if (organ := organ_of(match.id)) and organ not in listed("tissues"):
                yield each, organ


def foreign_tissue(specimen: Specimen) -> Iterator[Contradiction]:
    """What was sent is of one organ, and a later sentence is about another one far from it."""
    head, sent = _sent(specimen)
    organs = {place.organ for place in sent}
    if head is None or len(organs) > _FEW:
        return
    for passage in specimen.passages:
        for place in _places(passage) if passage.start >= head.start else ():
            if place not in sent and _is_of_lesion(place) and _is_foreign(place, organs):
                first, other = sent[0].mention, place.mention
                why = f"{other.span.text}, in a specimen of {first.span.text}"
                yield clash("site", first, other, why)


def _is_of_lesion(place: _Place) -> bool:
    """Whether an organ is where the lesion is, and not where it spreads or what it resembles."""
    before = re.split(r"[.;:]", place.mention.before)[-1]
    start = place.mention.span.start - place.mention.passage.start
    after = start, start + len(place.mention.span.text)
    denied = denies(re.split(r"\band\b", before)[-1]) or is_denied(
        place.mention.passage.text, *after
    )
    aside = place.mention.passage.has("supposed", "not_now")
    return not aside and not denied and not ORGAN.has(before, "words", "towards")


def _is_foreign(place: _Place, organs: set[str]) -> bool:
    """Whether an organ is far from all that were sent, or the tumour is called by it."""
    the_tumour = _THE.search(place.mention.before) and _TUMOUR.match(place.mention.after)
    if the_tumour and all(site_closeness(place.organ, each) == 0 for each in organs):
        return True
    return all(are_far(place.organ, each) for each in organs)


def _sent(specimen: Specimen) -> tuple[ReportSentence | None, Sequence[_Place]]:
    """The first sentence that names an organ, and which: up to a colon, where it has one.

    The heading of what was sent comes before all sentences. None where there may be several
    lesions, or one that came from elsewhere.
    """
    if not specimen.is_of_one_lesion or any(
        ORGAN.has(passage.text, "words", "afar") for passage in specimen.passages
    ):
        return None, ()
    for passage in (*_heading(specimen), *specimen.passages):
        if places := list(_places(passage)):
            colon = passage.start + passage.text.find(":")
            return passage, [each for each in places if each.mention.span.end <= colon] or places
    return None, ()


def _heading(specimen: Specimen) -> Iterator[ReportSentence]:
    """What stands before the first sentence, where it says what was sent."""
    end = specimen.passages[0].start if specimen.passages else 0
    if found := _SENT.search(specimen.text[:end][-_HEAD:]):
        start = max(0, end - _HEAD) + found.end()
        yield ReportSentence(start, end, specimen.text[start:end], "", "specimen")


def _places(passage: ReportSentence) -> Iterator[_Place]:
    """The organs that a sentence names, without those that are anywhere and ambiguous words."""
    text = passage.text
    sites = find_sites(text)
    known = {match.end + 1 for match in sites}
    operated = (match for match in find_operated(text) if match.start not in known)
    named = [(match.id, match.start, match.end) for match in (*sites, *operated)]
    for words, organ in _tissues():
        named += [(organ, *found.span()) for found in words.finditer(text)]
    for id_, start, end in named:
        unclear = text[start:end].lower() in ORGAN.ids("organs", "unclear")
        eponym = ORGAN.pattern("words", "named_by").match(text[end:].lstrip())
        if is_organ(id_) and not unclear and not eponym:
            yield _Place(organ_of(id_), passage.at(start, end))


@cache
def _tissues() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((any_of(row["words"]), row["organs"][0]) for row in ORGAN.entry("tissue"))


@cache
def is_organ(id_: str) -> bool:
    """Whether a site has an organ: it is no region, nor tissue that is everywhere."""
    region = system_of(id_) in ORGAN.ids("organs", "loose")
    return not region and organ_of(id_) not in listed("tissues")


@cache
def are_far(one: str, other: str) -> bool:
    """Whether neither organ is part of the other, and they do not lie together."""
    together = ORGAN.entry("organs", "together")
    return not contains(one, other) and not any(one in near and other in near for near in together)


# --- a tumour at a site where it does not arise ---------------------------------------------------


def home(specimen: Specimen) -> Iterator[Contradiction]:
    """A tumour at a site where it cannot arise, and not as a metastasis."""
    if specimen.has("spread"):
        return
    for each in specimen.made:
        own, here = own_concept(each.value), each.value.concept
        organs = home_of(own.id, here.id) if own and here else frozenset()
        for place in specimen.entities if organs else ():
            if place.value.type != EntityType.SITE or place.passage != each.passage:
                continue
            sites = [m.id for m in find_sites(place.value.text)]
            placed = [s for s in sites if organ_of(s) not in listed("tissues") and not is_region(s)]
            at_home = any(contains(s, organ) for s, organ in product(placed, organs))
            if placed and not at_home and _is_linked(each, place, specimen):
                why = f"{each.span.text} does not arise in {place.span.text}"
                yield clash("home", each, place, why)


def is_region(site: str) -> bool:
    """Whether a site is a part of the body that holds many organs: an arm has skin and bone."""
    return system_of(site) in _REGIONS


def _is_linked(
    diagnosis: ReportMention[Diagnosis], place: ReportMention[Any], specimen: Specimen
) -> bool:
    linked = any(
        head.start == diagnosis.span.start and tail.start == place.span.start
        for head, tail in specimen.relations
    )
    between = specimen.text[diagnosis.span.end : place.span.start].strip().lower()
    return linked and (between in _ARISES or place.span.end < diagnosis.span.start)


def no_home(specimen: Specimen) -> Iterator[Contradiction]:
    """A tumour of few organs in a specimen of another, without a word of where it came from."""
    _, sent = _sent(specimen)
    for each in specimen.names if sent else ():
        homes = home_of(each.concept.id)
        unclear = each.span.text.lower() in ORGAN.ids("organs", "unclear_names")
        organs = {organ_of(id_) for id_ in homes} | homes
        at_home = any(not are_far(place.organ, organ) for place in sent for organ in organs)
        region = any(is_region(place.organ) for place in sent)
        if homes and each.settled and not (unclear or region or at_home):
            first = sent[0].mention
            why = f"{each.span.text} does not arise in {first.span.text}"
            yield clash("home", first, each, why)


@cache
def home_of(*ids: str) -> frozenset[str]:
    """The organs where diagnoses arise, if all of these arise in the same few."""
    for row in LOGIC.entry("home"):
        if all(any(diagnosis_tree().is_a(id_, root) for root in row["diagnoses"]) for id_ in ids):
            return frozenset(row["organs"])
    return frozenset()
