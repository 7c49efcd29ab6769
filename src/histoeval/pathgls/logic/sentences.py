"""The sentences of a report that assert something about the slide, each with its specimen.

Clinical history, gross description, frozen section and advice are skipped, and so are sentences
about the past or about what should be considered. The parts of a report ("A.", "Specimen 2") are
different specimens. So are the left and the right side where a report returns to both.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Generic, TypeVar

from histoeval.facts.specimens.divide import specimens_of_text
from histoeval.facts.specimens.text import SpecimenText, superseded
from histoeval.pathgls.logic.lexicon import LOGIC, pattern
from histoeval.pathgls.results import ReportSpan
from histoeval.reader.sections import Section, sections
from histoeval.reader.sentences import sentences
from histoeval.terms.assertion import asserts_now
from histoeval.terms.values.laterality import Side, side_of

Value = TypeVar("Value")

MAX_SENTENCES = 400  # more sentences of a report are not read: some 40 kB of text

_MAX_CHARS = 60_000
_PART = "specimen_part"
_ORDINAL = re.compile(r"(?:part|specimen)?[\s#(]*(?:(\d{1,2})|([A-Z])(?![A-Z]))", re.IGNORECASE)
_LETTER = re.compile(r"([A-Z]|\d{1,2})[.):]\s")
_CLAUSE = re.compile(r"[,;()]|\b(?:with|but|while|although|however|which)\b", re.IGNORECASE)
_SHORT = 1_000  # a report of up to this many characters has no sections of several sentences
_NAMING = ("specimen", "procedure")
_SYNOPTIC = "synoptic"
# A line of a synoptic report: what is reported, and the value
_ITEM = re.compile(r"[A-Z][^:\n]{1,60}:[ \t]*\S")
_PROSE = re.compile(r"[a-z)]\.\s+[A-Z][a-z]+ [a-z]")
_HEAD = re.compile(r"[A-Z][^.:;]{2,90}:\s+\S")  # site and procedure, and then what it is
_SIDED_OFTEN = 2  # from this many sentences on each side a report is about a specimen of each


@dataclass(frozen=True, slots=True)
class ReportSentence:
    """A sentence: ``text == report.text[start:end]``."""

    start: int
    end: int
    text: str
    part: str  # the number of the specimen as the report counts them; empty where there is only one
    kind: str  # the kind of section that it stands in, as `extract.sections` has it

    @property
    def concludes(self) -> bool:
        """True if it gives the diagnosis, by its section or in words ("the diagnosis is")."""
        return self.kind == "diagnosis" or self.has("concluding")

    @property
    def is_conclusion(self) -> bool:
        """True if it concludes, or names site and procedure and then the diagnosis."""
        return self.concludes or bool(_HEAD.match(self.text))

    def has(self, *lists: str) -> bool:
        return any(pattern(name).search(self.text) for name in lists)

    def names(self, list_: str) -> frozenset[str]:
        return frozenset(match.group().lower() for match in pattern(list_).finditer(self.text))

    def clause(self, start: int, end: int) -> str:
        """A span of the text with what is around it, up to a comma or `with` on each side."""
        before = _CLAUSE.split(self.text[: start - self.start])[-1]
        after = _CLAUSE.split(self.text[end - self.start :])[0]
        return before + self.text[start - self.start : end - self.start] + after

    def clause_span(self, span: ReportSpan) -> ReportSpan:
        """The place of the clause that a place stands in; the place itself if it goes further."""
        if span.end > self.end:
            return span
        clause = self.clause(span.start, span.end)
        before = _CLAUSE.split(self.text[: span.start - self.start])[-1]
        start = span.start - len(before) + len(clause) - len(clause.lstrip())
        text = clause.strip()
        return ReportSpan(text=text, start=start, end=start + len(text))

    def at(self, start: int, end: int) -> ReportMention[str]:
        text = self.text[start:end]
        span = ReportSpan(text=text, start=self.start + start, end=self.start + end)
        return ReportMention(text, span, self)

    def found(self, match: re.Match[str]) -> ReportMention[str]:
        """Mention of a match in the sentence, to the end of its last word."""
        end = match.end()
        while end < len(self.text) and self.text[end - 1 : end + 1].isalpha():
            end += 1
        return replace(self.at(match.start(), end), value=match.group())


@dataclass(frozen=True, slots=True)
class ReportMention(Generic[Value]):
    value: Value
    span: ReportSpan
    passage: ReportSentence
    denied: bool = False

    @property
    def clause(self) -> str:
        return self.passage.clause(self.span.start, self.span.end)

    @property
    def before(self) -> str:
        return self.passage.text[: self.span.start - self.passage.start]

    @property
    def after(self) -> str:
        return self.passage.text[self.span.end - self.passage.start :]


@dataclass(frozen=True, slots=True)
class Passages:
    all: tuple[ReportSentence, ...]
    cut: bool  # the report continues after the last of them

    def at(self, place: int) -> ReportSentence | None:
        i = bisect_right(self.all, place, key=lambda passage: passage.start) - 1
        return self.all[i] if i >= 0 and place < self.all[i].end else None


def passages_of(text: str) -> Passages:
    silent = LOGIC.ids("sections", "silent")
    passages = [
        passage
        for passage in _lettered(list(_sentences(text[:_MAX_CHARS])))
        if passage.kind not in silent and asserts_now(passage.text) and not passage.has("not_now")
    ][:MAX_SENTENCES]
    cut = len(text) > _MAX_CHARS or len(passages) == MAX_SENTENCES
    if len({passage.part for passage in passages if passage.part}) <= 1:
        # A report of one numbered specimen has only one, whatever stands outside of the number.
        passages = [replace(passage, part="") for passage in passages]
    return Passages(tuple(_by_side(passages)), cut)


def _sentences(text: str) -> Iterator[ReportSentence]:
    """Sentences, cut where a section or a specimen begins inside of one, without headings.

    The head of a part stays: "A. Left kidney, nephrectomy:" is the site of what follows.
    """
    parts, old = specimens_of_text(text), superseded(text)
    layout = list(_labelled(sections(text)))
    starts = [section.start for section, _ in layout]
    # Where a specimen begins, or the text returns to it.
    labels = {start for part in parts for start, _ in part.labels}
    returns = {start for part in parts for start, _ in part.spans}
    cuts = sorted(labels | returns - {end for part in parts for _, end in part.labels})
    for sentence in sentences(text):
        first = max(0, bisect_right(starts, sentence.start) - 1)
        last = max(first, bisect_right(starts, sentence.end - 1) - 1)
        for section, label in layout[first : last + 1]:
            start, end = max(sentence.start, section.start), min(sentence.end, section.end)
            if section.kind != _PART:
                start = max(start, min(section.body_start, end))
            borders = [start, *(cut for cut in cuts if start < cut < end), end]
            for at, until in pairwise(borders):
                content = text[at:until].strip()
                begin = text.index(content, at)
                replaced = any(a < until and begin < b for a, b in old)
                if content and not replaced:
                    part = _part_at(begin, parts) if parts else label
                    kind = _kind(section, text, begin)
                    yield ReportSentence(begin, begin + len(content), content, part, kind)


def _part_at(position: int, parts: Sequence[SpecimenText]) -> str:
    return next(
        (
            part.label or part.heading.casefold()
            for part in parts
            if part.has(position) or any(start <= position < end for start, end in part.labels)
        ),
        "",
    )


def _labelled(layout: Sequence[Section]) -> Iterator[tuple[Section, str]]:
    """Each section with the number of the specimen that it is about."""
    label = ""
    for section in layout:
        if section.kind == _PART:
            label = _number(section.title)
        elif not section.within:
            label = ""
        yield section, label


def _number(title: str) -> str:
    """The number of a part, or of its letter; the title itself where it has neither."""
    match = _ORDINAL.match(title)
    if not match:
        return title.strip().casefold()
    return str(int(match[1])) if match[1] else str(ord(match[2].upper()) - ord("A") + 1)


def _lettered(passages: Sequence[ReportSentence]) -> Iterator[ReportSentence]:
    """Sentences that begin with the letter or number of a part are of it, and so those after."""
    parts = {passage.part for passage in passages} - {""}
    label = kind = ""
    for passage in passages:
        if passage.part or passage.kind != kind:
            label, kind = "", passage.kind
        begins = _LETTER.match(passage.text)
        if begins and not passage.part and (number := _number(begins[1])) in parts:
            label = number
        yield replace(passage, part=passage.part or label)


def _kind(section: Section, text: str, start: int) -> str:
    """The kind of a section; another where one names the specimen and goes on to what is found."""
    kind = section.within or ("" if section.kind == _PART else section.kind)
    line = text[section.body_start : section.end].strip().split("\n")[0]
    is_later = "\n" in text[section.body_start : start].strip(" ")
    if kind in _NAMING and is_later and _ITEM.match(text, start):
        return _SYNOPTIC
    prose = len(text) <= _SHORT and kind in _NAMING and _PROSE.search(line)
    return "other" if prose else kind


def _by_side(passages: Sequence[ReportSentence]) -> list[ReportSentence]:
    """Make each side a specimen, in a report that returns to both sides."""
    sides = [side_of(passage.text) for passage in passages]
    count = Counter(side for side in sides if side)
    has_both_sides = min(count[Side.LEFT], count[Side.RIGHT]) >= _SIDED_OFTEN
    if any(passage.part for passage in passages) or not (has_both_sides or count[Side.BILATERAL]):
        return list(passages)
    labelled, last = [], ""
    for passage, side in zip(passages, sides, strict=True):
        last = side or last
        labelled.append(replace(passage, part=last))
    return labelled
