"""Rule: one tumour on the left and on the right."""

import re
from collections.abc import Iterator
from itertools import combinations

from histoeval.facts.diagnoses import Diagnosis
from histoeval.pathgls.logic.contradiction import clash
from histoeval.pathgls.logic.lexicon import listed
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.logic.specimen import Specimen, own_concept
from histoeval.pathgls.results import Contradiction
from histoeval.report import Entity, EntityType
from histoeval.terms.assertion import denies
from histoeval.terms.catalogue import diagnosis_tree
from histoeval.terms.sites import find_sites, organ_of
from histoeval.terms.values.laterality import Side, SideMention, side_of, written_sides

_OPPOSITE = {Side.LEFT: Side.RIGHT, Side.RIGHT: Side.LEFT}
_NEXT_WORD = re.compile(r"(?: \w+)?")
_OF_LESION = re.compile(r"\s+(?:\w+\s+){0,2}(?:margin|aspect|edge)", re.IGNORECASE)
"""After a side that is one of the lesion, and not of the body."""
_THIS, _THE = (re.compile(rf"\b{word} $", re.IGNORECASE) for word in ("this", "the"))
_LESION = re.compile(
    r"(?: \w+){0,2} (?:tumou?r|carcinoma|lesion|mass|neoplasm|specimen|adenoma|cyst|nodule)\b",
    re.IGNORECASE,
)
_ONE_OF_TWO = re.compile(r"lesion|nodule|cyst|tumou?r|mass", re.IGNORECASE)
"""After a side: there may be such a one on the other."""


def side(specimen: Specimen) -> Iterator[Contradiction]:
    """One diagnosis on the left and on the right of a paired organ.

    Only where all but one sentence name the same side, and none names both: a report on two
    tumours returns to each of them.
    """
    sides = [side_of(passage.text) for passage in specimen.passages]
    if Side.BILATERAL in sides or min(sides.count(Side.LEFT), sides.count(Side.RIGHT)) != 1:
        return
    yield from _on_the_other_side(specimen)
    yield from _called_by_the_other_side(specimen)
    for (one, here), (other, there) in combinations(_sided_diagnoses(specimen), 2):
        opposite = _OPPOSITE.get(here[1]) == there[1] and here[0] == there[0]
        if opposite and one.passage != other.passage and _is_same(one, other):
            why = f"{one.span.text} is on the {here[1]} and on the {there[1]}"
            yield clash("side", one, other, why)


def _on_the_other_side(specimen: Specimen) -> Iterator[Contradiction]:
    """In prose on one paired organ: two sentences on the tumour, each on one side."""
    paired = len(specimen.organs) == 1 and specimen.organs <= listed("paired")
    if not specimen.is_prose or not paired or specimen.has_several_tumours:
        return
    sided = [
        (_named(passage, sides[0]), here)
        for passage in specimen.passages
        if (here := side_of(passage.text)) in _OPPOSITE
        and (sides := written_sides(passage.text))
        and (passage.has("tumour") or passage == specimen.passages[0])
        and not denies(passage.text)
        and not passage.has("spared")
        and not passage.has("another_tumour")
        and not any(_OF_LESION.match(passage.text, each.end) for each in sides)
    ]
    for (one, here), (other, there) in combinations(sided, 2):
        if here != there:
            yield clash("side", one, other, f"the tumour is on the {here} and on the {there}")


def _called_by_the_other_side(specimen: Specimen) -> Iterator[Contradiction]:
    """In prose on one organ: sent from one side, and called by the other one later."""
    here = side_of(specimen.passages[0].text)
    if not specimen.is_prose or len(specimen.organs) > 1 or here not in _OPPOSITE:
        return
    sides = written_sides(specimen.passages[0].text)
    first = _named(specimen.passages[0], sides[0]) if sides else None
    if first is None or _ONE_OF_TWO.search(first.span.text):
        return
    for passage in specimen.passages[1:]:
        again = next(_mentioned_again(passage), None)
        if again and not passage.has("beyond") and again[1] != here:
            later = passage.at(*again[0])
            why = f"{later.span.text}, in a specimen of the {here}"
            yield clash("side", first, later, why)


def _named(passage: ReportSentence, side: SideMention) -> ReportMention[str]:
    """A side with the word that follows it."""
    after = _NEXT_WORD.match(passage.text, side.end)
    return passage.at(side.start, after.end() if after else side.end)


def _mentioned_again(passage: ReportSentence) -> Iterator[tuple[tuple[int, int], Side]]:
    """What was sent, or the lesion, mentioned again with its side: this left kidney."""
    for side in written_sides(passage.text):
        before = passage.text[: side.start]
        for lead, rest in ((_THIS, _NEXT_WORD), (_THE, _LESION)):
            first, last = lead.search(before), rest.match(passage.text, side.end)
            if first and last:
                yield (first.start(), last.end()), side.side


def _is_same(one: ReportMention[Diagnosis], other: ReportMention[Diagnosis]) -> bool:
    a, b = own_concept(one.value), own_concept(other.value)
    if a is None or b is None:
        return False
    return a.id == b.id or (not (a.generic or b.generic) and diagnosis_tree().are_kin(a.id, b.id))


def _sided_diagnoses(
    specimen: Specimen,
) -> Iterator[tuple[ReportMention[Diagnosis], tuple[str, Side]]]:
    """Diagnoses, each with a paired organ and the side of it that they are linked to."""
    for each in specimen.made:
        linked = [tail for head, tail in specimen.relations if head.start == each.span.start]
        places = [tail for tail in linked if tail.type == EntityType.SITE] or [
            entity.value
            for entity in specimen.entities
            if entity.value.type == EntityType.SITE and entity.passage == each.passage
        ]
        for place in places:
            yield from ((each, found) for found in _paired(place))


def _paired(place: Entity) -> Iterator[tuple[str, Side]]:
    if (found := side_of(place.text)) in _OPPOSITE:
        for match in find_sites(place.text):
            if (organ := organ_of(match.id)) in listed("paired"):
                yield organ, found
