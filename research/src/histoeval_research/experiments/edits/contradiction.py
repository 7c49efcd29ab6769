"""Logic errors: what makes a report contradict itself, while the rest of it stays true."""

import re
from random import Random

from histoeval.report import EntityType
from histoeval.terms.catalogue import Behaviour, closeness
from histoeval.terms.naming import main_concept
from histoeval.terms.sites import find_sites
from histoeval.terms.values.laterality import side_of
from histoeval_research.experiments.edits.hallucination import benign_name
from histoeval_research.experiments.edits.source_report import (
    Change,
    FindingMention,
    NotApplicable,
    Original,
    capitalised,
    is_plural,
    tables,
)
from histoeval_research.experiments.edits.wrong_detail import (
    graded,
    marker_results,
    on_other_side,
    shifted_grade,
    sides,
)

Made = tuple[Change, ...] | NotApplicable

_FAR = 0.35
"""Diagnoses that are less close than this exclude each other."""
_WEIGHTY = 2
_HEDGED = re.compile(
    r"\b(?:focal|rare|adjacent|margin|elsewhere|other|partial|some)", re.IGNORECASE
)


def assertion_conflict(original: Original, chance: Random) -> Made:
    """What is there is denied in another sentence, or what is not there affirmed."""
    able = [s for s in original.seen if _can_be_turned(original, s)]
    if not able:
        return NotApplicable("it has no weighty finding that is plainly affirmed or denied")
    seen = chance.choice(able)
    frames = tables()["frames"]["affirm" if seen.denied else "deny"]
    return (original.added(_framed(chance.choice(frames), _named(seen)), seen.entity),)


def _can_be_turned(original: Original, seen: FindingMention) -> bool:
    """Whether the opposite of a finding, stated of the whole report, contradicts it for certain."""
    sentence = original.sentence_of(seen.entity)
    return (
        seen.finding.importance >= _WEIGHTY
        and seen.finding.suggests != "normal"
        and len(seen.entity.text.split()) <= 4
        and not original.is_linked(seen.entity, EntityType.SITE)
        and sentence is not None
        and not _HEDGED.search(sentence.of(original.text))
        and (seen.finding.id, not seen.denied) not in original.stances
    )


def _named(seen: FindingMention) -> str:
    """The finding in words that go into any sentence: those of the report, or its plain name."""
    words = seen.entity.text
    return words if words.casefold() in seen.finding.names else seen.finding.name


def _framed(frame: str, words: str) -> str:
    plain = words if words[:2].isupper() else words[:1].lower() + words[1:]
    verb = "are" if is_plural(words) else "is"
    named = frame.replace("{x}", plain).replace("{X}", capitalised(words))
    return named.replace("{is}", verb)


def side_conflict(original: Original, chance: Random) -> Made:
    """The other side in one place of a report that has one side only."""
    found = sides(original.text)
    if not found:
        return NotApplicable("it names no side of a site")
    if len({each.side for each in found}) > 1 or original.has_parts:
        return NotApplicable("it speaks of both sides, or of several specimens")
    last = found[-1]
    moved = on_other_side(original.text, last)
    if len(found) > 1 and not _same_sentence(original, found[0].start, last.start):
        return (moved,)
    rest = original.text[last.end : last.end + 60]
    site = next(iter(find_sites(rest)), None)
    if site is None or side_of(f"left {rest[site.start : site.end]}") is None:
        return NotApplicable("it names a side once, and not of which site")
    frame = chance.choice(tables()["frames"]["side"])
    words = frame.format(side=moved.after.lower(), site=rest[site.start : site.end].lower())
    return (original.added(words),)


def _same_sentence(original: Original, one: int, other: int) -> bool:
    return original.sentence_at(one) == original.sentence_at(other)


def grade_conflict(original: Original, chance: Random) -> Made:
    """A second grade for the tumour: one of two mentions moved, or another put in."""
    if original.has_parts:
        return NotApplicable("it speaks of several specimens, which may have grades of their own")
    able = [(e, moved) for e in graded(original) if (moved := _far(e.text)) is not None]
    if not able:
        return NotApplicable("it gives no grade that can be moved along its scale")
    entity, moved = able[-1]
    first = able[0][0]
    if len(able) > 1 and not _same_sentence(original, first.start, entity.start):
        return (original.replaced(entity, moved),)
    frame = chance.choice(tables()["frames"]["grade"])
    return (original.added(frame.format(grade=moved if _is_name(moved) else moved.lower())),)


def _far(grade: str) -> str | None:
    """A grade two steps away, or one where there are not two."""
    return next((g for step in (2, -2, 1, -1) if (g := shifted_grade(grade, step))), None)


def _is_name(grade: str) -> bool:
    """Whether a grade begins with the name of its system, or is a number."""
    words = ("well", "moderate", "poor", "low", "intermediate", "high")
    return not grade.casefold().startswith(words)


def marker_conflict(original: Original, chance: Random) -> Made:
    """A marker that is positive called negative in another sentence, or the other way round."""
    able = marker_results(original)
    if not able:
        return NotApplicable("it gives no marker that is plainly positive or negative")
    marker, _, polarity = chance.choice(able)
    frames = tables()["frames"]["negative" if polarity == "positive" else "positive"]
    frame = chance.choice(frames)
    words = frame.replace("{x}", marker.text).replace("{X}", marker.text)
    return (original.added(words, marker),)


def benign_conclusion(original: Original, chance: Random) -> Made:
    """A benign conclusion where the morphology, or another mention, is malignant."""
    main = original.main
    if main is None or main.concept.behaviour is not Behaviour.MALIGNANT:
        return NotApplicable("it makes no malignant diagnosis")
    if original.has_parts:
        return NotApplicable("it speaks of several specimens, some of which may be benign")
    speaking = [s for s in original.seen if s.finding.suggests == "malignant" and not s.denied]
    others = [d for d in original.mentions if d.entity != main.entity]
    if speaking or others:
        choice = chance.choice(["replace", "add"])
        if choice == "replace" and original.concludes(main.entity):
            return (original.replaced(main.entity, benign_name(main.entity.text)),)
    return (original.added(chance.choice(tables()["frames"]["benign"])),)


def excluded_diagnosis(original: Original, chance: Random) -> Made:
    """A conclusion that what is described excludes, in place of the true one."""
    main = original.main
    if main is None or not original.concludes(main.entity):
        return NotApplicable("it has no sentence that concludes with a known diagnosis")
    affirmed = {s.finding.id for s in original.seen if not s.denied}
    able = [
        name
        for row in tables()["excludes"]
        if affirmed.intersection(row["findings"])
        for name in row["diagnoses"]
        if _excludes(original, name)
    ]
    if not able:
        return NotApplicable("it describes nothing that excludes one of our diagnoses")
    return (original.replaced(main.entity, chance.choice(able)),)


def _excludes(original: Original, name: str) -> bool:
    """Whether a diagnosis is far from everything that the report makes."""
    concept = main_concept(name)
    made = [d.concept for d in original.mentions]
    return concept is not None and all(closeness(concept, each) < _FAR for each in made)
