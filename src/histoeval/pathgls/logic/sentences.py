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
from typing import Generic, TypeVar

from histoeval.facts.scope import has_wording
from histoeval.facts.specimens import SpecimenText, specimens_of_text
from histoeval.pathgls.logic.lexicon import LOGIC, pattern
from histoeval.pathgls.results import ReportSpan
from histoeval.reader.sections import Section, sections
from histoeval.reader.sentences import sentences
from histoeval.terms.values.laterality import Side, side_of

Value = TypeVar("Value")

MAX_SENTENCES = 400
"""More sentences of a report are not read: some 40 kB of text."""

_MAX_CHARS = 60_000
_PART = "specimen_part"
_CLAUSE = re.compile(r"[,;()]|\b(?:with|but|while|although|however|which)\b", re.IGNORECASE)
_SHORT = 1_000
"""A report of up to this many characters has no sections of several sentences."""
_NAMING = ("specimen", "procedure")
_PROSE = re.compile(r"[a-z)]\.\s+[A-Z][a-z]+ [a-z]")
_NOW = re.compile(r"\b(?:is|are) diagnosed in\b", re.IGNORECASE)
"""What is diagnosed somewhere is current; what was diagnosed in some year is not."""
_PAST = re.compile(r"\bin (?:19|20)\d\d\b|\b(?:years?|months?) ago\b", re.IGNORECASE)
_HEAD = re.compile(r"[A-Z][^.:;]{2,90}:\s+\S")
"""Site and procedure, and then what it is."""
_SIDED_OFTEN = 2
"""From this many sentences on each side a report is about a specimen of each."""


@dataclass(frozen=True, slots=True)
class ReportSentence:
    """A sentence: ``text == report.text[start:end]``."""

    start: int
    end: int
    text: str
    part: str
    """The number of the specimen as the report counts them; empty where there is only one."""
    kind: str
    """The kind of section that it stands in, as `extract.sections` has it."""

    @property
    def concludes(self) -> bool:
        """Whether it gives the diagnosis, by its section or in words ("the diagnosis is")."""
        return self.kind == "diagnosis" or self.has("concluding")

    @property
    def is_conclusion(self) -> bool:
        """The same, or it names site and procedure and then the diagnosis."""
        return self.concludes or bool(_HEAD.match(self.text))

    def has(self, *lists: str) -> bool:
        """Whether it has a word of any of these lists of `logic.toml`."""
        return any(pattern(name).search(self.text) for name in lists)

    def names(self, list_: str) -> frozenset[str]:
        """The words of a list that it has, in lower case."""
        return frozenset(found.group().lower() for found in pattern(list_).finditer(self.text))

    def clause(self, start: int, end: int) -> str:
        """A stretch of the text with what is around it, up to a comma or `with` on each side."""
        before = _CLAUSE.split(self.text[: start - self.start])[-1]
        after = _CLAUSE.split(self.text[end - self.start :])[0]
        return before + self.text[start - self.start : end - self.start] + after

    def at(self, start: int, end: int) -> ReportMention[str]:
        """What stands at a place of the sentence."""
        text = self.text[start:end]
        span = ReportSpan(text=text, start=self.start + start, end=self.start + end)
        return ReportMention(text, span, self)

    def found(self, match: re.Match[str]) -> ReportMention[str]:
        """What a pattern has found in the sentence, to the end of its last word."""
        end = match.end()
        while end < len(self.text) and self.text[end - 1 : end + 1].isalpha():
            end += 1
        return replace(self.at(match.start(), end), value=match.group())


@dataclass(frozen=True, slots=True)
class ReportMention(Generic[Value]):
    """Something that a report mentions at one place."""

    value: Value
    span: ReportSpan
    passage: ReportSentence
    denied: bool = False

    @property
    def clause(self) -> str:
        """The clause that it stands in."""
        return self.passage.clause(self.span.start, self.span.end)

    @property
    def before(self) -> str:
        """Its sentence up to it."""
        return self.passage.text[: self.span.start - self.passage.start]

    @property
    def after(self) -> str:
        """The rest of its sentence."""
        return self.passage.text[self.span.end - self.passage.start :]


@dataclass(frozen=True, slots=True)
class Passages:
    """The sentences of a report that are read, in their order."""

    all: tuple[ReportSentence, ...]
    cut: bool
    """Whether the report continues after the last of them."""

    def at(self, place: int) -> ReportSentence | None:
        """The sentence that holds a place of the text."""
        i = bisect_right(self.all, place, key=lambda passage: passage.start) - 1
        return self.all[i] if i >= 0 and place < self.all[i].end else None


def passages_of(text: str) -> Passages:
    """The sentences of a text that assert something about the slide."""
    read = text[:_MAX_CHARS]
    found = list(_sentences(read))
    kept = [passage for passage in found if _asserts(passage)][:MAX_SENTENCES]
    cut = len(text) > len(read) or len(kept) == MAX_SENTENCES
    return Passages(tuple(_by_side(_numbered(kept))), cut)


def _sentences(text: str) -> Iterator[ReportSentence]:
    """Sentences, cut where a section begins inside of one, without headings.

    The head of a part stays: "A. Left kidney, nephrectomy:" is the site of what follows.
    """
    layout, parts = sections(text), specimens_of_text(text)
    starts = [section.start for section in layout]
    for sentence in sentences(text):
        first = max(0, bisect_right(starts, sentence.start) - 1)
        last = max(first, bisect_right(starts, sentence.end - 1) - 1)
        for section in layout[first : last + 1]:
            start, end = max(sentence.start, section.start), min(sentence.end, section.end)
            if section.kind != _PART:
                start = max(start, min(section.body_start, end))
            piece = text[start:end]
            start += len(piece) - len(piece.lstrip())
            if whole := piece.strip():
                label = _part_at(start + len(whole) - 1, parts)
                yield ReportSentence(start, start + len(whole), whole, label, _kind(section, text))


def _part_at(place: int, parts: Sequence[SpecimenText]) -> str:
    """The number of the specimen that a place of the text is about."""
    return next((str(i) for i, part in enumerate(parts, 1) if part.has(place)), "")


def _kind(section: Section, text: str) -> str:
    """The kind of a section; none where one names the specimen and continues in prose."""
    kind = section.within or ("" if section.kind == _PART else section.kind)
    line = text[section.body_start : section.end].strip().split("\n")[0]
    prose = len(text) <= _SHORT and kind in _NAMING and _PROSE.search(line)
    return "other" if prose else kind


def _asserts(passage: ReportSentence) -> bool:
    """Whether a sentence is about the slide, and not about the past or what should be done."""
    if passage.kind in LOGIC.ids("sections", "silent"):
        return False
    text = _NOW.sub("", passage.text)
    aside = any(has_wording(kind, text) for kind in ("history", "advice")) or _PAST.search(text)
    return not aside and not passage.has("not_now")


def _numbered(passages: Sequence[ReportSentence]) -> list[ReportSentence]:
    """A report of one numbered specimen has only one, whatever stands outside of the number."""
    if len({passage.part for passage in passages if passage.part}) > 1:
        return list(passages)
    return [replace(passage, part="") for passage in passages]


def _by_side(passages: Sequence[ReportSentence]) -> list[ReportSentence]:
    """In a report that returns to both sides, each side is a specimen."""
    sides = [side_of(passage.text) for passage in passages]
    count = Counter(side for side in sides if side)
    both = min(count[Side.LEFT], count[Side.RIGHT]) >= _SIDED_OFTEN
    if any(passage.part for passage in passages) or not (both or count[Side.BILATERAL]):
        return list(passages)
    labelled, last = [], ""
    for passage, side in zip(passages, sides, strict=True):
        last = side or last
        labelled.append(replace(passage, part=last))
    return labelled
