"""Rules on what was sent: its side, its organ, and the procedure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from typing import Any

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
from histoeval.terms.values.laterality import Side, SideMention, side_of, written_sides

_OPPOSITE = {Side.LEFT: Side.RIGHT, Side.RIGHT: Side.LEFT}
_NEXT_WORD = re.compile(r"(?: \w+)?")
# After a side that is one of the lesion, and not of the body
_OF_LESION = re.compile(r"\s+(?:\w+\s+){0,2}(?:margin|aspect|edge)", re.IGNORECASE)
_THIS, _THE = (re.compile(rf"\b{word} $", re.IGNORECASE) for word in ("this", "the"))
_LESION = re.compile(
    r"(?: \w+){0,2} (?:tumou?r|carcinoma|lesion|mass|neoplasm|specimen|adenoma|cyst|nodule)\b",
    re.IGNORECASE,
)
# After a side: there may be such a one on the other
_ONE_OF_TWO = re.compile(r"lesion|nodule|cyst|tumou?r|mass", re.IGNORECASE)
_REGIONS = frozenset({"body_region", "body_cavity"})
_FEW = 2  # organs in the head of a report on one specimen
_HEAD = 300  # characters of a heading that are read
_SENT = re.compile(
    r"\b(?:specimens?|procedure|site|sample|material|tissue)\b[^:\n]{0,30}:", re.IGNORECASE
)
_THE_OR_THIS = re.compile(r"\b(?:the|this)\s+$", re.IGNORECASE)
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
_THIS_PROCEDURE = re.compile(
    r"\b(?:the|this|these|present|our)\s+(?:[\w-]+\s+){0,2}$", re.IGNORECASE
)
_AFTER_THIS = re.compile(r"\s*(?:site|cavity|tract|scar|channel)", re.IGNORECASE)


# --- one tumour on the left and on the right ------------------------------------------------------


def side(specimen: Specimen) -> Iterator[Contradiction]:
    """One diagnosis on the left and on the right of a paired organ.

    Only where all but one sentence name the same side: a report on two tumours returns to each.
    """
    sides = [side_of(passage.text) for passage in specimen.passages]
    if Side.BILATERAL in sides or min(sides.count(Side.LEFT), sides.count(Side.RIGHT)) != 1:
        return
    yield from _on_the_other_side(specimen)
    yield from _called_by_the_other_side(specimen)
    for (first, first_sided), (second, second_sided) in combinations(_sided_diagnoses(specimen), 2):
        is_opposite = (
            _OPPOSITE.get(first_sided[1]) == second_sided[1] and first_sided[0] == second_sided[0]
        )
        if is_opposite and first.passage != second.passage and _is_same(first, second):
            reason = f"{first.span.text} is on the {first_sided[1]} and on the {second_sided[1]}"
            yield clash("side", first, second, reason)


def _on_the_other_side(specimen: Specimen) -> Iterator[Contradiction]:
    """Contradictions in prose on one paired organ: two sentences on the tumour, one a side."""
    paired = len(specimen.organs) == 1 and specimen.organs <= listed("paired")
    if not specimen.is_prose or not paired or specimen.has_several_tumours:
        return
    sided = [
        (_named(passage, sides[0]), own_side)
        for passage in specimen.passages
        if (own_side := side_of(passage.text)) in _OPPOSITE
        and (sides := written_sides(passage.text))
        and (passage.has("tumour") or passage == specimen.passages[0])
        and not denies(passage.text)
        and not passage.has("spared")
        and not passage.has("another_tumour")
        and not any(_OF_LESION.match(passage.text, match.end) for match in sides)
    ]
    for (first, own_side), (second, other_side) in combinations(sided, 2):
        if own_side != other_side:
            yield clash(
                "side", first, second, f"the tumour is on the {own_side} and on the {other_side}"
            )


def _called_by_the_other_side(specimen: Specimen) -> Iterator[Contradiction]:
    """Contradictions in prose on one organ: sent from one side, later called by the other."""
    sent_side = side_of(specimen.passages[0].text)
    if not specimen.is_prose or len(specimen.organs) > 1 or sent_side not in _OPPOSITE:
        return
    sides = written_sides(specimen.passages[0].text)
    first = _named(specimen.passages[0], sides[0]) if sides else None
    if first is None or _ONE_OF_TWO.search(first.span.text):
        return
    for passage in specimen.passages[1:]:
        again = next(_mentioned_again(passage), None)
        if again and not passage.has("beyond") and again[1] != sent_side:
            later_mention = passage.at(*again[0])
            reason = f"{later_mention.span.text}, in a specimen of the {sent_side}"
            yield clash("side", first, later_mention, reason)


def _named(passage: ReportSentence, side: SideMention) -> ReportMention[str]:
    after = _NEXT_WORD.match(passage.text, side.end)
    return passage.at(side.start, after.end() if after else side.end)


def _mentioned_again(passage: ReportSentence) -> Iterator[tuple[tuple[int, int], Side]]:
    """Mentions of what was sent, or of the lesion, again with its side: this left kidney."""
    for side in written_sides(passage.text):
        before = passage.text[: side.start]
        for lead, follower in ((_THIS, _NEXT_WORD), (_THE, _LESION)):
            first, last = lead.search(before), follower.match(passage.text, side.end)
            if first and last:
                yield (first.start(), last.end()), side.side


def _is_same(first: ReportMention[Diagnosis], second: ReportMention[Diagnosis]) -> bool:
    a, b = own_concept(first.value), own_concept(second.value)
    if a is None or b is None:
        return False
    return a.id == b.id or (not (a.generic or b.generic) and diagnosis_tree().are_kin(a.id, b.id))


def _sided_diagnoses(
    specimen: Specimen,
) -> Iterator[tuple[ReportMention[Diagnosis], tuple[str, Side]]]:
    """Diagnoses, each with a paired organ and the side of it that they are linked to."""
    for mention in specimen.made:
        linked = [tail for head, tail in specimen.relations if head.start == mention.span.start]
        sites = [tail for tail in linked if tail.type == EntityType.SITE] or [
            entity.value
            for entity in specimen.entities
            if entity.value.type == EntityType.SITE and entity.passage == mention.passage
        ]
        for entity in sites:
            side = side_of(entity.text)
            for match in find_sites(entity.text) if side in _OPPOSITE else ():
                if side and (organ := organ_of(match.id)) in listed("paired"):
                    yield mention, (organ, side)


# --- tissue or a tumour of an organ that was not sent ---------------------------------------------


def site(specimen: Specimen) -> Iterator[Contradiction]:
    """A specimen of one organ, and a tumour concluded that arose in one far from it."""
    passages = specimen.passages
    if not passages or not specimen.is_prose or specimen.has("from_elsewhere"):
        return
    sent = list(_entities(specimen, passages[0]))
    if not sent:
        return
    first = sent[0][0].span.text
    for passage in passages[1:]:
        is_aside = passage.has("beyond") or denies(passage.text) or passage.has("alike")
        for mention, organ in _entities(specimen, passage) if not is_aside else ():
            if _CONSISTS.search(passage.text) and _is_far_from_all(organ, sent):
                reason = f"{mention.span.text}, in a specimen of {first}"
                yield clash("site", sent[0][0], mention, reason)
    for final in specimen.made:
        if final.passage == passages[0] or not final.passage.is_conclusion:
            continue
        for mention, organ in _entities(specimen, final.passage):
            linked = specimen.text[final.span.end : mention.span.start].strip().lower() in _LINKS
            if linked and _is_far_from_all(organ, sent):
                reason = f"{final.span.text} of {mention.span.text}, in a specimen of {first}"
                yield clash("site", sent[0][0], mention, reason)


def _is_far_from_all(organ: str, sent: Sequence[tuple[ReportMention[Any], str]]) -> bool:
    return all(site_closeness(organ, sent_organ) == 0 for _, sent_organ in sent)


def _entities(
    specimen: Specimen, passage: ReportSentence
) -> Iterator[tuple[ReportMention[Any], str]]:
    for mention in specimen.entities:
        if mention.passage != passage or mention.value.type != EntityType.SITE:
            continue
        for match in find_sites(mention.value.text):
            if (organ := organ_of(match.id)) and organ not in listed("tissues"):
                yield mention, organ


def foreign_tissue(specimen: Specimen) -> Iterator[Contradiction]:
    """A specimen of one organ, and a later sentence about another one far from it."""
    head, sent = _sent(specimen)
    organs = {mention.value for mention in sent}
    if head is None or len(organs) > _FEW or any(map(is_region, organs)):
        return
    for passage in specimen.passages:
        for mention in _places(passage) if passage.start >= head.start else ():
            is_the_tumour = _THE_OR_THIS.search(mention.before) and _TUMOUR.match(mention.after)
            is_foreign = all(are_far(mention.value, sent_organ) for sent_organ in organs) or (
                is_the_tumour
                and all(site_closeness(mention.value, sent_organ) == 0 for sent_organ in organs)
            )
            if mention not in sent and is_foreign and _is_of_lesion(mention):
                reason = f"{mention.span.text}, in a specimen of {sent[0].span.text}"
                yield clash("site", sent[0], mention, reason)


def _is_of_lesion(mention: ReportMention[str]) -> bool:
    """True if an organ is where the lesion is, not where it spreads or what it resembles."""
    before = re.split(r"[.;:]", mention.before)[-1]
    text, start = mention.passage.text, len(mention.before)
    denied = denies(re.split(r"\band\b", before)[-1]) or is_denied(
        text, start, start + len(mention.span.text)
    )
    is_aside = mention.passage.has("supposed", "not_now")
    return not is_aside and not denied and not ORGAN.has(before, "words", "towards")


def _sent(specimen: Specimen) -> tuple[ReportSentence | None, Sequence[ReportMention[str]]]:
    """The first sentence that names an organ, and which: up to a colon, where it has one.

    The heading of what was sent comes before all sentences. None where there may be several
    lesions, or one that came from elsewhere.
    """
    if not specimen.is_of_one_lesion or any(
        ORGAN.has(passage.text, "words", "afar") for passage in specimen.passages
    ):
        return None, ()
    for passage in (*_heading(specimen), *specimen.passages):
        if mentions := list(_places(passage)):
            colon = passage.start + passage.text.find(":")
            return passage, [
                mention for mention in mentions if mention.span.end <= colon
            ] or mentions
    return None, ()


def _heading(specimen: Specimen) -> Iterator[ReportSentence]:
    end = specimen.passages[0].start if specimen.passages else 0
    if match := _SENT.search(specimen.text[:end][-_HEAD:]):
        start = max(0, end - _HEAD) + match.end()
        yield ReportSentence(start, end, specimen.text[start:end], "", "specimen")


def _places(passage: ReportSentence) -> Iterator[ReportMention[str]]:
    """The organs that a sentence names, without those that are anywhere and ambiguous words."""
    text = passage.text
    sites = find_sites(text)
    site_ends = {match.end + 1 for match in sites}
    operated = (match for match in find_operated(text) if match.start not in site_ends)
    named = [(match.id, match.start, match.end) for match in (*sites, *operated)]
    for words, organ in _tissues():
        named += [(organ, *match.span()) for match in words.finditer(text)]
    for id_, start, end in named:
        unclear = text[start:end].lower() in ORGAN.ids("organs", "unclear")
        eponym = ORGAN.pattern("words", "named_by").match(text[end:].lstrip())
        if is_organ(id_) and not unclear and not eponym:
            yield replace(passage.at(start, end), value=organ_of(id_))


@cache
def _tissues() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((any_of(row["words"]), row["organs"][0]) for row in ORGAN.entry("tissue"))


@cache
def is_organ(id_: str) -> bool:
    region = system_of(id_) in ORGAN.ids("organs", "loose")
    return not region and organ_of(id_) not in listed("tissues")


@cache
def are_far(one: str, other: str) -> bool:
    groups = ORGAN.entry("organs", "together")
    return not contains(one, other) and not any(one in near and other in near for near in groups)


# --- a tumour at a site where it does not arise ---------------------------------------------------


def home(specimen: Specimen) -> Iterator[Contradiction]:
    """A tumour at a site where it cannot arise, and not as a metastasis."""
    if specimen.has("spread"):
        return
    for mention in specimen.made:
        own, concept = own_concept(mention.value), mention.value.concept
        organs = home_of(own.id, concept.id) if own and concept else frozenset()
        for entity in specimen.entities if organs else ():
            if entity.value.type != EntityType.SITE or entity.passage != mention.passage:
                continue
            sites = [m.id for m in find_sites(entity.value.text)]
            placed = [s for s in sites if organ_of(s) not in listed("tissues") and not is_region(s)]
            at_home = any(contains(s, organ) for s, organ in product(placed, organs))
            if placed and not at_home and _is_linked(mention, entity, specimen):
                reason = f"{mention.span.text} does not arise in {entity.span.text}"
                yield clash("home", mention, entity, reason)


def is_region(site: str) -> bool:
    """True for a part of the body that holds many organs: an arm has skin and bone."""
    return system_of(site) in _REGIONS


def _is_linked(
    diagnosis: ReportMention[Diagnosis], site_mention: ReportMention[Any], specimen: Specimen
) -> bool:
    linked = any(
        head.start == diagnosis.span.start and tail.start == site_mention.span.start
        for head, tail in specimen.relations
    )
    between = specimen.text[diagnosis.span.end : site_mention.span.start].strip().lower()
    return linked and (between in _ARISES or site_mention.span.end < diagnosis.span.start)


def no_home(specimen: Specimen) -> Iterator[Contradiction]:
    """A tumour of few organs in a specimen of another, without a word of where it came from."""
    _, sent = _sent(specimen)
    for name in specimen.names if sent else ():
        homes = home_of(name.concept.id)
        is_unclear = name.span.text.lower() in ORGAN.ids("organs", "unclear_names")
        organs = {organ_of(id_) for id_ in homes} | homes
        is_at_home = any(not are_far(mention.value, organ) for mention in sent for organ in organs)
        has_region = any(is_region(mention.value) for mention in sent)
        if homes and name.settled and not (is_unclear or has_region or is_at_home):
            reason = f"{name.span.text} does not arise in {sent[0].span.text}"
            yield clash("home", sent[0], name, reason)


@cache
def home_of(*ids: str) -> frozenset[str]:
    for row in LOGIC.entry("home"):
        if all(any(diagnosis_tree().is_a(id_, root) for root in row["diagnoses"]) for id_ in ids):
            return frozenset(row["organs"])
    return frozenset()


# --- a biopsy that is a resection elsewhere in the report, or the reverse -------------------------


def procedure(specimen: Specimen) -> Iterator[Contradiction]:
    if not specimen.is_of_one_lesion or not specimen.passages:
        return
    head = specimen.passages[0]
    for head_size, later_size in (("small", "large"), ("large", "small")):
        first = _procedure(head_size).search(head.text)
        if not first or _procedure(later_size).search(head.text):
            continue
        for passage in specimen.passages[1:]:
            match = _procedure(later_size).search(passage.text)
            if not match or not _THIS_PROCEDURE.search(passage.text[: match.start()]):
                continue
            is_aside = passage.has("supposed", "not_now") or _AFTER_THIS.match(
                passage.text, match.end()
            )
            if not is_aside:
                head_mention, later_mention = head.found(first), passage.found(match)
                reason = f"{head_mention.span.text} at the head, and {later_mention.span.text}"
                yield clash("procedure", head_mention, later_mention, reason)


@cache
def _procedure(extent: str) -> re.Pattern[str]:
    return any_of(ORGAN.entry("procedures", extent))
