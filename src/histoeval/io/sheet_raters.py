"""Which columns of numbers of an expert sheet are raters', where nobody has named them."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from histoeval.callers import argument
from histoeval.errors import InputError
from histoeval.io.tables.columns import normalised

RATER = re.compile(
    r"annotator|assessor|clinician|doctor|evaluator|examiner|expert|grader|human|observer"
    r"|pathologist|physician|rater|reader|reviewer|scorer|specialist|r\d+$"
)
"""A word of a column's name that starts so names a person."""

SCORE = frozenset("likert mos points quality rating ratings score scores scoring".split())
"""A column with such a word in its name holds scores, though perhaps not a person's."""

NOT_A_SCORE = frozenset(
    "accession accno age ages batch birth block blocks case cases characters chars cm code count "
    "counts date dates day days depth dob duration fold gleason grade id ids idx index isup item "
    "key length line lines minutes mm month months mrn n nb no nodes nr num number order page "
    "pages pair pairs patient percent position rank row rows sample seconds seed size slide "
    "slides specimen specimens stage study thickness time times timestamp tokens uid week weeks "
    "weight words year years".split()
)
"""A column whose name ends so counts, names or measures something else."""

METRIC = frozenset(
    "bertscore bleu chrf cider concordance gleu green hare meteor radgraph ratescore rouge".split()
)
"""A column with such a word in its name holds what a metric said."""

SPREAD = 2.0
"""On one scale, the highest score of one rater is at most this many times that of another."""

LOWEST = 5.0
"""A scale starts below this, or below half of the range of its scores: ages and years do not."""

MIN_DISTINCT = 6
"""From so many rows on, whole numbers that never come up twice number the rows."""


def guess_raters(
    columns: Mapping[str, Sequence[float]], path: Path
) -> tuple[list[str], tuple[str, ...]]:
    """The raters among columns of numbers, and the other columns.

    Raters are those whose names say so. Where no name does, they are all columns that may hold
    scores, if there are several and they share a scale; else nothing is guessed.
    """
    words = {name: normalised(name).split("_") for name in columns}
    possible = [name for name in columns if _last(words[name]) not in NOT_A_SCORE]
    chosen = [name for name in possible if any(map(RATER.match, words[name]))]
    own = [name for name in possible if METRIC.isdisjoint(words[name])]
    chosen = chosen or [name for name in own if not SCORE.isdisjoint(words[name])]
    if not chosen and own:
        chosen = [name for name in own if not _counts(columns[name])]
        if not _one_scale([columns[name] for name in chosen]):
            raise InputError(
                f"{path}: which columns hold experts' scores is not clear; name each: "
                f"{naming_raters()}. Columns of numbers: {_ranges(columns)}"
            )
    return chosen, tuple(name for name in columns if name not in chosen)


def naming_raters() -> str:
    """How raters are named, from Python or the command line."""
    return argument("raters", ["NAME"]) or argument("rater", "NAME")


def _last(words: Sequence[str]) -> str:
    """The last word, without a number behind it."""
    return next((bare for word in reversed(words) if (bare := word.rstrip("0123456789"))), "")


def _counts(numbers: Sequence[float]) -> bool:
    """Whether a column numbers its rows: whole numbers, one after the other or none twice."""
    if len(numbers) < 3 or not all(number.is_integer() for number in numbers):
        return False
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    distinct = len(set(numbers)) == len(numbers)
    return steps in ({1.0}, {-1.0}) or (distinct and len(numbers) >= MIN_DISTINCT)


def _one_scale(columns: Sequence[Sequence[float]]) -> bool:
    """Whether several columns run over about the same range; one alone shows nothing."""
    if len(columns) < 2:
        return False
    lows, highs = [min(column) for column in columns], [max(column) for column in columns]
    start = max(LOWEST, (max(highs) - min(lows)) / 2)
    return max(highs) <= SPREAD * min(highs) and min(lows) <= start


def _ranges(columns: Mapping[str, Sequence[float]]) -> str:
    return ", ".join(f"{n!r} ({min(c):g} to {max(c):g})" for n, c in columns.items())
