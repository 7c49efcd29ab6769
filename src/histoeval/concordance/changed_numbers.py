"""Numbers and severity words that differ between the reports but belong to no entity.

`Three cores` that became `one core`, or a `mild` gastritis that became `severe`. Only an exchange
counts, of what is in the reference alone for what is in the candidate alone, so that another
wording, which adds or drops a number, costs nothing here.
"""

import re
from collections import Counter
from functools import lru_cache

from histoeval.concordance.evidence import (
    NONE_IGNORED,
    ComparedPart,
    ErrorKind,
    IgnoredErrors,
    ReportError,
    Severity,
)
from histoeval.report import Entity, EntityType
from histoeval.terms.number_words import in_figures

_NUMBER = re.compile(
    r"(?<![\w.,])(?:x\s?)?(?P<number>\d+(?:[.,]\d+)?)"
    r"(?P<letter>[a-d]\b)?(?:\s*(?P<unit>mm|cm|%)(?![^\W\d_]))?",
    re.IGNORECASE,
)
_UNIT = re.compile(r"\s*(?:x|\u00d7|by|mm|cm|[mk\u00b5u]?g|kilo|gram|m?l|cc|-)", re.IGNORECASE)
_DEGREE = re.compile(
    r"\b(?P<mild>mild|slight|minimal|minor)(?:ly)?\b|\b(?P<moderate>moderate)(?:ly)?\b"
    r"|\b(?P<severe>severe|marked|pronounced)(?:ly)?\b",
    re.IGNORECASE,
)
_NUMBER_COST, _MAX_NUMBERS = 0.3, 0.5
_DEGREE_COST = 0.2

Place = tuple[int, int]
Found = dict[object, list[Place]]  # values with the places where each stands


def with_numbers(
    part: ComparedPart,
    known: int,
    reference: str,
    candidate: str,
    ignored: IgnoredErrors = NONE_IGNORED,
) -> ComparedPart:
    """The measurements, less what numbers cost that changed beyond the `known` ones."""
    ref_numbers, cand_numbers = numbers_in(reference), numbers_in(candidate)
    only_ref, only_cand = _left(ref_numbers, cand_numbers), _left(cand_numbers, ref_numbers)
    changed = list(zip(only_ref, only_cand, strict=False))[known:]
    if not changed:
        return part
    mistakes = tuple(
        ReportError(
            ErrorKind.MEASUREMENT_MISMATCH,
            "measurements",
            _severity(reference, ref, candidate, cand),
            _entity(reference, ref, EntityType.MEASUREMENT),
            _entity(candidate, cand, EntityType.MEASUREMENT),
        )
        for ref, cand in changed
    )
    counted = sum(not ignored(mistake) for mistake in mistakes)
    return _less(part, min(_MAX_NUMBERS, _NUMBER_COST * counted), mistakes)


def _severity(reference: str, ref: Place, candidate: str, cand: Place) -> Severity:
    """A number is a detail, unless only its decimal point moved: a score of 2.5 for 25."""
    if _UNIT.match(reference, ref[1]) or _UNIT.match(candidate, cand[1]):
        return Severity.MINOR
    reference_text, candidate_text = reference[slice(*ref)], candidate[slice(*cand)]
    digits = [number.replace(".", "").strip("0") for number in (reference_text, candidate_text)]
    moved = "." in reference_text + candidate_text and digits[0] == digits[1] != ""
    return Severity.MAJOR if moved else Severity.MINOR


def with_degrees(
    part: ComparedPart, reference: str, candidate: str, ignored: IgnoredErrors = NONE_IGNORED
) -> ComparedPart:
    """The grade, less what another degree of something costs, if no grade is wrong already."""
    ref_degrees, cand_degrees = _degrees(reference), _degrees(candidate)
    only_ref, only_cand = _left(ref_degrees, cand_degrees), _left(cand_degrees, ref_degrees)
    has_grade = any(mistake.kind == ErrorKind.WRONG_GRADE for mistake in part.mistakes)
    if not only_ref or not only_cand or has_grade:
        return part
    ref, cand = only_ref[0], only_cand[0]
    mistake = ReportError(
        ErrorKind.WRONG_GRADE,
        "grade",
        Severity.MODERATE,
        _entity(reference, ref, EntityType.DESCRIPTOR),
        _entity(candidate, cand, EntityType.DESCRIPTOR),
    )
    return _less(part, 0.0 if ignored(mistake) else _DEGREE_COST, (mistake,))


def _less(part: ComparedPart, cost: float, mistakes: tuple[ReportError, ...]) -> ComparedPart:
    value = 1.0 if part.value is None else part.value
    return ComparedPart(max(0.0, value - cost), part.matched, part.mistakes + mistakes)


def _entity(text: str, place: Place, kind: EntityType) -> Entity:
    start, end = place
    return Entity(text=text[start:end], start=start, end=end, type=kind, score=0.5)


def _left(first: Found, second: Found) -> list[Place]:
    """Spans of the values that the other has less often."""
    count = Counter({value: len(places) for value, places in second.items()})
    return sorted(span for value, places in first.items() for span in places[count[value] :])


@lru_cache(maxsize=1 << 9)
def numbers_in(text: str) -> Found:
    """The numbers of a text, spelt or not, with their units, and where each stands."""
    numbers: Found = {}
    for match in _NUMBER.finditer(in_figures(text)):
        number = float(match["number"].replace(",", "."))
        unit = (match["unit"] or "").lower()
        if unit == "cm":
            number, unit = round(number * 10, 6), "mm"
        key = (float(number), unit, (match["letter"] or "").lower())
        numbers.setdefault(key, []).append(match.span())
    return numbers


@lru_cache(maxsize=1 << 9)
def _degrees(text: str) -> Found:
    """Degrees, each once: how often a word is repeated is a matter of style."""
    degrees: Found = {}
    for match in _DEGREE.finditer(text):
        degrees.setdefault(match.lastgroup, [match.span()])
    return degrees
