"""The grade that follows from scores, shares and counts, beside one that is stated."""

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from histoeval.terms.lexicon import Lexicon
from histoeval.terms.number_words import rank_number
from histoeval.terms.values.quantities import quantities

_NOTTINGHAM = ((5, "1"), (7, "2"), (9, "3"))
_SARCOMA = ((3, "1"), (5, "2"), (8, "3"))
_GROUPS = {(3, 3): "1", (3, 4): "2", (4, 3): "3"}
_OF_SUM = {6: "1", 7: "23", 8: "4", 9: "5", 10: "5"}


class ImpliedGrades(NamedTuple):
    """The grades that a text leaves open on each scale; empty where it gives none."""

    number: frozenset[str] = frozenset()
    group: frozenset[str] = frozenset()  # of the prostate
    tier: frozenset[str] = frozenset()
    gleason: frozenset[str] = frozenset()  # both patterns in their order
    worked: bool = False  # true if the number was worked out


_GRADES = Lexicon("terms/data/implied_grades.toml", before="", flags=0)


@cache
def _rows(kind: str) -> tuple[tuple[re.Pattern[str], Mapping[str, Any]], ...]:
    return tuple((re.compile(row["of"]), row) for row in _GRADES.entry(kind))


@lru_cache(maxsize=1 << 11)
def graded(low: str) -> ImpliedGrades:
    stated = frozenset(_stated(low))
    inferred: list[str] = []
    if not stated:
        fixed = (row["grade"] for _, row in _rows("fixed") if re.search(row["words"], low))
        inferred = [*_by_scores(low), *_by_amounts(low), *fixed]
    worked = frozenset([max(inferred)] if inferred else [])  # of those that follow, the highest
    patterns = _GRADES.pattern("gleason", "sum").findall(low) if "gleason" in low else ()
    sums = frozenset("+".join(scores) for scores in patterns)
    tier = frozenset(name for name in ("low", "high") if _GRADES.has(low, "stated", name))
    return ImpliedGrades(stated or worked, frozenset(_groups(low)), tier, sums, bool(worked))


def has_tiers(low: str) -> bool:
    return _GRADES.has(low, "stated", "tiers")


def is_not_graded(low: str) -> bool:
    return _GRADES.has(low, "stated", "not_given")


def is_least(low: str) -> bool:
    return _GRADES.has(low, "stated", "least")


def is_of_part(low: str) -> bool:
    return _GRADES.has(low, "stated", "of_part")


def _stated(lowered: str) -> Iterator[str]:
    for match in _GRADES.pattern("stated", "number").finditer(lowered):
        yield str(rank_number(next(filter(None, match.groups()))))
    for value, name in enumerate(("one", "two", "three"), start=1):
        if _GRADES.pattern("stated", name).search(lowered):
            yield str(value)


def _groups(lowered: str) -> Iterator[str]:
    """Grade groups of the prostate, stated or made up of the patterns."""
    for match in _GRADES.pattern("gleason", "group").finditer(lowered):
        yield next(filter(None, match.groups()))
    if "gleason" not in lowered:
        return
    for first, second in _GRADES.pattern("gleason", "sum").findall(lowered):
        both = int(first), int(second)
        yield _GROUPS.get(both) or ("4" if sum(both) == 8 else "5")
    for match in _GRADES.pattern("gleason", "score").finditer(lowered):
        yield from _OF_SUM[int(next(filter(None, match.groups())))]


def _by_scores(lowered: str) -> Iterator[str]:
    if total := _GRADES.pattern("scores", "total_of_nine").search(lowered):
        yield _row(_NOTTINGHAM, float(next(filter(None, total.groups()))))
        return
    for names, rows in (
        (("differentiation", "mitoses", "necrosis"), _SARCOMA),
        (("tubules", "nuclei", "mitoses"), _NOTTINGHAM),
    ):
        scores = [_GRADES.pattern("scores", name).search(lowered) for name in names]
        if all(scores):
            yield _row(rows, float(sum(int(score[1]) for score in scores if score)))
            return


def _by_amounts(lowered: str) -> Iterator[str]:
    for kind in ("share", "rate"):
        for of, row in _rows(kind):
            if not of.search(lowered):
                continue
            for quantity in quantities(lowered):
                total = quantity.low + quantity.high
                is_of = quantity.kind == kind and (quantity.subject or "mitoses") == row["subject"]
                if is_of and math.isfinite(total) and "at least" not in lowered:
                    yield from filter(None, (_row(row["rows"], total / 2),))


def _row(rows: Any, value: float) -> str:
    return next((name for most, name in rows if value <= most), "")
