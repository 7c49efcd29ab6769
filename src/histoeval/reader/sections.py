"""The sections of a report: what stands under which heading, as exact slices of its text.

The sections tile the text: the first begins at its first character, each ends where the next
begins, and the last ends with the text. Text before the first heading is a section without a
title. A heading is known by name, or it is marked as one: in markdown, or by capitals and a
colon on a line of its own.

The parts of a specimen ("A. Colon, biopsy:") are sections of the kind `specimen_part`. They and
the headings that are not known by name stand inside the section of the last heading that is,
and name its kind in `within`. Everything under a diagnosis is thus in the sections
whose `kind` or `within` is "diagnosis".
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from histoeval.reader.layout_lines import NEWLINE
from histoeval.reader.lexicon import listed
from histoeval.reader.section_titles import (
    OTHER,
    PART,
    Heading,
    HeadingCandidate,
    heading_at,
    heading_at_line_start,
    heading_in_capitals,
)
from histoeval.reader.sentences import TextSpan, sentences

_LINE_BREAK = re.compile(NEWLINE)
_CAPITALS_BEGIN = re.compile(r"(?<=[^A-Z\s])\s+(?=[A-Z]{4})")
_ORDINAL = re.compile(r"(?:part|specimen)?[\s#(]*(?:(\d{1,2})|([A-Z])(?![A-Z]))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Section(TextSpan):
    """A heading and what stands under it; the body begins at `body_start`."""

    title: str
    kind: str
    body_start: int
    within: str = ""


def sections(text: str) -> list[Section]:
    """The sections of a text, in order, from its first character to its last."""
    headings = list(_nested(text))
    if text and (not headings or text[: headings[0][0].start].strip()):
        headings.insert(0, (Heading(0, 0, "", OTHER, known=False), ""))
    starts = [heading.start if i else 0 for i, (heading, _) in enumerate(headings)]
    ends = [*starts[1:], len(text)]
    return [
        Section(start, end, heading.title, heading.kind, heading.body_start, within)
        for (heading, within), start, end in zip(headings, starts, ends, strict=False)
    ]


def _nested(text: str) -> Iterator[tuple[Heading, str]]:
    """The headings of a text, each with the kind of the section that it stands within.

    A comment on one part of a specimen does not take in the next part.
    """
    inside = resumed = ""
    number, previous, covered = 0, 0, 0
    for sentence in sentences(text):
        new_line = not previous or _LINE_BREAK.search(text, previous, sentence.start)
        previous = sentence.end
        look = heading_at_line_start if new_line else heading_at
        for heading in _in_sentence(
            HeadingCandidate(text, sentence.start, sentence.end, inside), look
        ):
            if heading.start < covered:
                continue  # a line that is a heading as a whole may hold the end of a sentence
            covered = heading.body_start
            if heading.known:
                inside = heading.kind
            elif heading.kind == PART:
                last, number = number, _ordinal(heading.title)
                if inside == "comment" and number == last + 1:
                    inside = resumed
                resumed = inside
            yield heading, "" if heading.known else inside


def _in_sentence(
    place: HeadingCandidate, look: Callable[[HeadingCandidate], Heading | None]
) -> Iterator[Heading]:
    """The heading at the start of a sentence, those behind it, and those recognised by capitals."""
    while True:
        if heading := look(place):
            yield heading
            inside = heading.kind if heading.known else place.inside
            place, look = replace(place, at=heading.body_start, inside=inside), heading_at
        elif gap := _CAPITALS_BEGIN.search(place.text, place.at, place.end):
            word = place.text[max(place.at, gap.start() - 20) : gap.start()].rpartition(" ")[2]
            place = replace(place, at=gap.end())
            look = _nothing if word in listed("never_last") else heading_in_capitals
        else:
            return


def _nothing(_: HeadingCandidate) -> None:
    """No heading stands behind "see" or "in the"."""


def _ordinal(title: str) -> int:
    """The number of a part, or of its letter."""
    found = _ORDINAL.match(title)
    if not found:
        return 0
    return int(found[1]) if found[1] else ord(found[2].upper()) - ord("A") + 1
