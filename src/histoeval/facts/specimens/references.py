"""Sentences outside of the parts of a report that refer to them by their labels."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from histoeval.facts.specimens.text import ONE, Stretch, outside
from histoeval.reader.sentences import sentences

_LIST = rf"{ONE}(?:(?:,[ ]|,?[ ](?:and|or)[ ]|[ ]?&[ ]?){ONE}(?![\w/+%]))*"
# A sentence that is about a part: in part B, (C), on A and B, block A2
_REFERENCE = re.compile(
    rf"(?i:\b(?:parts?|specimens?|samples?|pots?|jars?|tumou?rs?|twins?)[ \t])"
    rf"(?P<part>{_LIST})(?![\w/+])"
    rf"|(?i:\bblocks?[ \t])(?P<block>[A-Z])\d{{0,2}}\b"
    rf"|\(#?(?P<bracket>{_LIST})\)|(?:\A|(?<=[.;:][ \t]))(?P<lead>{ONE})[ \t]?[-:][ \t]"
    r"|(?<!\d )\b(?:in|on|of|from|for)[ \t]"
    rf"(?P<prep>[A-Z](?:(?:,[ ]|,?[ ]and[ ])[A-Z](?!\w))*(?=[\s,.;:)]|\Z)|\d{{1,2}}(?=[:;)]))"
)
_EACH = re.compile(rf"\b{ONE}\b")
_CLAUSE_START = re.compile(r"(?:\A|[.;:]\s|,\s(?:and\s|but\s|while\s|whereas\s)?)[^.;:,]{0,2}\Z")
# A label, what is said of its part outside of it, and where the label stands in that
Referring = tuple[str, Stretch, tuple[Stretch, ...]]


def referring(text: str, labels: Collection[str], stretches: Iterable[Stretch]) -> list[Referring]:
    """The sentences in some stretches that refer to parts."""
    return [
        found
        for start, end in stretches
        for sentence in sentences(text[start:end])
        for found in _references(text, start + sentence.start, start + sentence.end, labels)
    ]


def written_labels(text: str, labels: Collection[str]) -> Iterator[Stretch]:
    """Where a text refers to parts by their labels."""
    return (stretch for each in _refers(text, 0, len(text), labels) for stretch in each.written)


@dataclass(frozen=True, slots=True)
class _Reference:
    """Where a sentence refers to parts."""

    start: int
    end: int
    labels: frozenset[str]
    written: tuple[Stretch, ...]
    leads: bool  # what is said of them follows: A: positive. Else it stands before: positive in A.


def _references(text: str, start: int, end: int, labels: Collection[str]) -> Iterator[Referring]:
    """What a sentence says of the parts that it refers to.

    All of it where it refers to them once; else from each reference to the next, or from each to
    the one before (amplified in A; not amplified in B). Numbers of parts are left out: they are no
    findings.
    """
    named = list(_refers(text, start, end, labels))
    if not named:
        return
    leads = named[0].leads
    cuts = [each.start if leads else each.end for each in named]
    cuts = [start, *(cuts[1:] if leads else cuts[:-1]), end]
    for each, (first, last) in zip(named, pairwise(cuts), strict=True):
        written = tuple(span for span in each.written if text[slice(*span)].isdigit())
        inside = [(a - first, b - first) for a, b in written]
        for a, b in outside(inside, last - first):
            if any(map(str.isalnum, text[first + a : first + b])):
                for label in sorted(each.labels):
                    yield label, (first + a, first + b), written


def _refers(text: str, start: int, end: int, labels: Collection[str]) -> Iterator[_Reference]:
    for each in _REFERENCE.finditer(text, start, end):
        group = next(name for name, found in each.groupdict().items() if found)
        written = [
            (each.start(group) + found.start(), each.start(group) + found.end())
            for found in _EACH.finditer(each[group])
        ] or [each.span(group)]
        meant = frozenset(text[a:b] for a, b in written)
        if meant <= set(labels):
            leads = text[each.end() : each.end() + 1] == ":" or bool(
                each["lead"] or _CLAUSE_START.search(text[start : each.start()])
            )
            yield _Reference(each.start(), each.end(), meant, tuple(written), leads)
