"""Lymph nodes: free or involved, and how many of how many."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from histoeval.terms.lexicon import Lexicon
from histoeval.terms.number_words import in_figures
from histoeval.terms.values.stated import CRITICAL, MAJOR, MINOR, MODERATE, StatedValue, clauses

NODES = "nodes"
_WORDS = Lexicon("terms/data/margins.toml", before="")
_N = r"\d{1,3}"
_NOUN = r"(?:(?:lymph[- ]?)?nodes?|LNs?|sentinels?)\b"
_BETWEEN = r"(?:(?!of\b|and\b|which\b|with\b)[a-z-]+,? +){0,4}?"
_OF = re.compile(
    rf"\b(?P<part>{_N}|none|no|neither|all|both|a single)\b +{_BETWEEN}(?:out of|of) (?:the "
    rf"|these |all )?(?P<total>{_N})\b(?! ?(?:mm|cm|%|cores?|glomer|fragments?|pieces?|blocks?"
    rf"|biops))"
    rf"|(?<![\d/.])(?P<part2>\d{{1,3}}) ?/ ?(?P<total2>\d{{1,3}})(?![\d/.]|\s*(?:HPF|mm|cm))"
    rf"|\bof (?:the )?(?P<total4>{_N}) +{_BETWEEN}{_NOUN}[^.;]{{0,40}}?,? (?P<part4>{_N}|none)\b"
    rf"(?! ?(?:mm|cm))"
    rf"|\b(?P<total3>{_N})\b +{_BETWEEN}{_NOUN}[^.;]{{0,40}}?\b(?:of which|of them|including"
    rf"|with|,)\s*(?P<part3>{_N})\b +(?:\w+ ){{0,3}}?(?:positive|involved|contain\w*|show\w*"
    rf"|with|metasta\w*)",
    re.IGNORECASE,
)
_COUNT = re.compile(rf"\b(?P<n>{_N})\b +{_BETWEEN}{_NOUN}", re.IGNORECASE)
_OTHER = re.compile(
    r"\b(?:cores?|glomerul\w+|index|ishak|grade|score|NAS|TRG|crescents?|HAI|tracts?|blocks?"
    r"|fields?|gleason|mitos\w+|fragments?|allred|quick score|bethesda|slides?)\b",
    re.IGNORECASE,
)
_CONTEXT = re.compile(r"\bp?N[0-3X]|\bstation|\b\d{1,2}[RL]\b|\bdissection")
_NO_NODES = re.compile(r"\binvasion\b|\bdifferential\b|\bnodular\b", re.IGNORECASE)
_NEAR = 18
_NUMBERS = {"a single": 1, "none": 0, "no": 0, "neither": 0}


_PART_OF_ALL = (
    r"(?P<part>\d{1,2})\s*(?:/|of(?:\sthe)?\s|out of\s)\s*(?P<all>\d{1,3})(?![\d/.]|\s*(?:cm|mm|%))"
)
_COUNTS = re.compile(
    rf"(?<![\d/.#-])(?:{_PART_OF_ALL}\)?\s*(?:[a-z-]+,?\s+){{0,4}}(?:lymph\s+)?nodes?\b"
    rf"|(?:lymph\s+)?nodes?\b[^\d.;/]{{0,60}}?[\s(]{_PART_OF_ALL.replace('?P<', '?P<late_')})",
    re.IGNORECASE,
)
# Some of the nodes, and not all
_COUNTED = re.compile(
    r"\b(?:[1-9]\d*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|most|some)"
    r"\s+(?:of|out of|other|others|further)\b",
    re.IGNORECASE,
)


class NodeCount(NamedTuple):
    """So many nodes of all, as they are written, and where; it may be more than all."""

    part: int
    all: int
    start: int
    end: int


def node_counts(text: str) -> Iterator[NodeCount]:
    """Counts of nodes in figures, right before or after the word for them."""
    for match in _COUNTS.finditer(text):
        late = "" if match["part"] else "late_"
        part, total = f"{late}part", f"{late}all"
        yield NodeCount(int(match[part]), int(match[total]), match.start(part), match.end(total))


def is_on_some_nodes(text: str) -> bool:
    """True if a sentence is on some of the nodes, and not on all."""
    return _COUNTED.search(text) is not None


@lru_cache(maxsize=1 << 11)
def read_nodes(text: str) -> tuple[StatedValue, ...]:
    if not _WORDS.has(text, "nodes", "subject") and not re.search(r"\bp?N[0-3]", text):
        return ()
    return tuple(replace(value, end=_word_end(text, value.end)) for value in _of_clauses(text))


def _word_end(text: str, end: int) -> int:
    """End of the word that a stretch ends in: numbers in words are longer than in figures."""
    while 0 < end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return end


def _of_clauses(text: str) -> Iterator[StatedValue]:
    """The nodes of each clause; after a semicolon they may not be named again."""
    has_named_nodes, figures = False, in_figures(text)
    for start, end in clauses(text):
        clause = figures[start:end]
        has_named_nodes = (
            (has_named_nodes and text[start - 1] == ";")
            or bool(_CONTEXT.search(clause))
            or (_WORDS.has(clause, "nodes", "subject"))
        )
        if not _NO_NODES.search(clause) or _OF.search(clause):
            yield from _of_clause(clause, start, end, has_named_nodes)


def _of_clause(clause: str, start: int, end: int, has_named_nodes: bool) -> Iterator[StatedValue]:
    counted = False
    for match in _OF.finditer(clause) if has_named_nodes else ():
        near = clause[max(0, match.start() - _NEAR) : match.end() + _NEAR]
        if not _OTHER.search(near) and (value := _counted(match, clause)) is not None:
            counted = True
            options, part, total = value
            first, last = start + match.start(), start + match.end()
            yield StatedValue(NODES, options, first, last, part, part, total)
    if counted or not _WORDS.has(clause, "nodes", "subject"):
        return
    status = _status(clause)
    if status is None:
        return
    number = _COUNT.search(clause)
    named_count = float(_number(number["n"])) if number else None
    low = 0.0 if status == "free" else (named_count or -1.0)
    is_of_all = status == "free" or re.search(r"\b(?:all|both|each)\b", clause, re.IGNORECASE)
    every = named_count if is_of_all else None
    yield StatedValue(NODES, _options(status, clause), start, end, low, low, every)


def _counted(match: re.Match[str], clause: str) -> tuple[frozenset[str], float, float] | None:
    part = match["part"] or match["part2"] or match["part3"] or match["part4"]
    total = _number(match["total"] or match["total2"] or match["total3"] or match["total4"])
    if part.lower() in ("all", "both"):
        status = _status(clause)
        count = 0 if status == "free" else total
    else:
        count = _number(part)
        behind = clause[match.end() : match.end() + 40]
        if count and re.match(
            rf"\W*(?:{_NOUN}\W*)?(?:is |are |were )?(?:negative|free|clear|uninvolved|benign)\b",
            behind,
            re.IGNORECASE,
        ):
            count = total - count
    if count > total:
        return None
    return _options("involved" if count else "free", clause), float(count), float(total)


def _options(status: str, clause: str) -> frozenset[str]:
    either = _WORDS.has(clause, "nodes", "itc")
    return frozenset({"free", "involved"}) if either else frozenset({status})


def _status(clause: str) -> str | None:
    """Free or involved, as a clause says of its nodes; what is denied of them does not count."""
    rest, denied = _WORDS.pattern("nodes", "denied").subn(" ", clause)
    if _WORDS.has(rest, "nodes", "involved"):
        return "involved"
    return "free" if denied or _WORDS.has(rest, "nodes", "free") else None


def _number(written: str) -> int:
    return int(written) if written.isdigit() else _NUMBERS[written.lower()]


def node_conflicts(
    ones: Sequence[StatedValue], others: Sequence[StatedValue]
) -> Iterator[tuple[StatedValue, StatedValue, int]]:
    """Nodes that are free in one text and involved in the other, or another number of them."""
    if not ones or not others:
        return
    held, other_held = (
        [value for value in values if "involved" in value.options] for values in (ones, others)
    )
    free, other_free = (
        [value for value in values if value.options == {"free"}] for values in (ones, others)
    )
    if held and not other_held and not any("free" in value.options for value in held):
        yield held[0], other_free[0], CRITICAL
    elif other_held and not held and not any("free" in value.options for value in other_held):
        yield free[0], other_held[0], CRITICAL
    else:
        yield from _numbers(ones, others)


def _numbers(
    ones: Sequence[StatedValue], others: Sequence[StatedValue]
) -> Iterator[tuple[StatedValue, StatedValue, int]]:
    """Other numbers, where both texts count them all."""
    first_counts, second_counts = (
        {(v.low, v.total): v for v in every if v.total and v.low >= 0 and len(v.options) == 1}
        for every in (ones, others)
    )
    counts, other_counts = (
        {low for low, _ in every if low} for every in (first_counts, second_counts)
    )
    sums = sum(low for low, _ in first_counts), sum(low for low, _ in second_counts)
    if not first_counts or not second_counts or counts == other_counts or sums[0] == sums[1]:
        if (
            len(first_counts) == len(second_counts) == 1
            and first_counts
            and first_counts.keys() != second_counts.keys()
        ):
            yield next(iter(first_counts.values())), next(iter(second_counts.values())), MINOR
        return
    left = [value for key, value in first_counts.items() if key not in second_counts]
    right = [value for key, value in second_counts.items() if key not in first_counts]
    for first, second in zip(left, right, strict=False):
        # Classes of nodal stage in most systems: none, 1 to 3, 4 to 9, 10 or more
        classes = [sum(value.low >= least for least in (1, 4, 10)) for value in (first, second)]
        yield first, second, MAJOR if classes[0] != classes[1] else MODERATE
