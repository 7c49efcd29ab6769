"""Slips and wrong details, made with one voice: another grade, size, side or marker result.

What is changed is changed everywhere, so that the report stays at one with itself and only the
image, or the true report, can tell.
"""

import re
from random import Random

from histoeval.report import Assertion, Entity, EntityType
from histoeval.terms.assertion import is_denied
from histoeval.terms.sites import find_sites
from histoeval.terms.values.laterality import Side, SideMention, written_sides
from histoeval.terms.values.marker_results import read_result
from histoeval.terms.values.markers import marker_of
from histoeval_research.experiments.edits.source_report import (
    Change,
    NotApplicable,
    Original,
    in_case_of,
)

Made = tuple[Change, ...] | NotApplicable

_NEAR_SIDE = 40
_SIZED = re.compile(r"(?<!\d)\d+(?:\.\d+)?(?=(?:\s*[x\u00d7]\s*\d+(?:\.\d+)?){0,2}\s*(?:cm|mm)\b)")

_SCALES: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), tuple(words.split()))
    for pattern, words in (
        (r"\b(?:well|moderately|poorly)(?=[\s-]+differentiated)", "well moderately poorly"),
        (
            r"\b(?:good|moderate|poor)(?=\s+(?:degree of\s+)?differentiation)",
            "good moderate poor",
        ),
        (r"\b(?:low|intermediate|high)(?=[\s-]+grade)", "low intermediate high"),
        (r"(?<=grade )(?:III|II|I)(?![IV/\w])", "I II III"),
        (r"(?<=grade )(?:III|II|I)(?=/III\b)", "I II III"),
        (r"(?<=grade )(?:III|II|IV|I)(?=/IV\b)", "I II III IV"),
        (r"(?:(?<=grade )|(?<=\bg)|(?<=\bg-))[123](?!\s*(?:/|of|out)\s*4|[\d.+])", "1 2 3"),
        (r"(?<=grade )[1234](?=\s*(?:/|of|out of)\s*4)", "1 2 3 4"),
    )
)
"""Where a word of a grade stands, and the words that could stand there, from the lowest up."""


def shifted_grade(grade: str, step: int) -> str | None:
    """The grade N steps up, or down; None where its scale ends, or it is on none of ours."""
    for pattern, words in _SCALES:
        found = list(pattern.finditer(grade))
        if len(found) != 1:
            continue
        at = [w.casefold() for w in words].index(found[0][0].casefold()) + step
        if 0 <= at < len(words):
            moved = in_case_of(found[0][0], words[at]) if words[at].islower() else words[at]
            return grade[: found[0].start()] + moved + grade[found[0].end() :]
    return None


def graded(original: Original) -> list[Entity]:
    """The grades that the report gives; one that a sentence denies is none."""
    return [
        e
        for e in original.of_type(EntityType.GRADE)
        if e.assertion is not Assertion.ABSENT and not is_denied(original.text, e.start, e.end)
    ]


def grade_by_one(original: Original, chance: Random) -> Made:
    """All grades one step up, or all one step down."""
    found = graded(original)
    for step in chance.sample([1, -1], 2):
        moved = [shifted_grade(e.text, step) for e in found]
        if found and all(moved):
            pairs = zip(found, moved, strict=True)
            return tuple(original.replaced(e, words) for e, words in pairs if words)
    return NotApplicable("it gives no grade, or one that is on none of our scales")


def size(original: Original, chance: Random) -> Made:
    """One measurement by a third larger or smaller, wherever it is given."""
    text = original.text
    found = [n for n in _SIZED.finditer(text) if float(n[0]) > 0]
    if not found:
        return NotApplicable("it gives no size in cm or mm")
    number = chance.choice(found)[0]
    factor = chance.choice([1.35, 0.65])
    digits = 1 if "." in number or float(number) < 3 else 0
    moved = f"{float(number) * factor:.{digits}f}"
    return tuple(Change(start=n.start(), before=n[0], after=moved) for n in found if n[0] == number)


def sides(text: str) -> list[SideMention]:
    """The words left and right where they are about a site."""
    return [
        each
        for each in written_sides(text)
        if find_sites(text[each.end : each.end + _NEAR_SIDE])
        or find_sites(text[max(0, each.start - _NEAR_SIDE) : each.start])
    ]


def on_other_side(text: str, side: SideMention) -> Change:
    """Left for right and right for left, as it was typed."""
    word = text[side.start : side.end]
    other = in_case_of(word, "right" if side.side == Side.LEFT else "left")
    return Change(start=side.start, before=word, after=other)


def other_side(original: Original, chance: Random) -> Made:  # noqa: ARG001 - as all edits
    """Left and right change places, everywhere."""
    found = sides(original.text)
    if not found:
        return NotApplicable("it names no side of a site")
    return tuple(on_other_side(original.text, each) for each in found)


def marker_results(original: Original) -> list[tuple[Entity, Entity, str]]:
    """Every marker that is plainly positive or negative, with its result."""
    entities = original.report.entities
    found = []
    for relation in original.report.relations:
        marker, result = entities[relation.head], entities[relation.tail]
        if marker.type is EntityType.MARKER and result.type is EntityType.RESULT:
            read = read_result(result.text, marker_of(marker.text))
            known = marker_of(marker.text) is not None and "." not in marker.text
            if known and read is not None and read.polarity in ("positive", "negative"):
                found.append((marker, result, str(read.polarity)))
    return found


def marker_result(original: Original, chance: Random) -> Made:
    """The result of a marker turned into its opposite, and of all that share it."""
    able = marker_results(original)
    if not able:
        return NotApplicable("it gives no marker that is plainly positive or negative")
    _, result, polarity = chance.choice(able)
    opposite = "negative" if polarity == "positive" else "positive"
    words = re.sub(re.escape(polarity), opposite, result.text, flags=re.IGNORECASE)
    words = words if words != result.text else opposite
    return (original.replaced(result, words),)
