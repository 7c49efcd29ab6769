"""The specimens of a report as spans of its text."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from histoeval.report import Entity, Report

Span = tuple[int, int]
ONE = r"(?:[A-Z]|\d{1,2}|[IVX]{2,5})"
TAG = re.compile(
    rf"\(#?(?:(?:part|specimen|pot|sample|jar)[ ]#?)?(?P<tag>{ONE}|[a-h])(?=[,;)]|\Z)",
    re.IGNORECASE,
)
_SUPERSEDED = re.compile(
    r"^[ \t]{0,8}frozen[^\n:]{0,60}:[^\n]*"
    r"|\b(?:FS|frozen(?:[ ]sections?)?)\b[ ]?(?:[:(-]|was|is|:)[^.;\n)]*"
    r"|\b(?:original|initial|previous|earlier)(?:ly)?[ ](?:report(?:ed)?|diagnosis|stated|issued)\b"
    r"[^.;\n)]*",
    re.IGNORECASE | re.MULTILINE,
)
_ON_A_LINE = re.compile(r"[^\n\r]+")
_LATER = re.compile(r"\b(?:final|permanents?|paraffin|amended|corrected|revised)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SpecimenText:
    """One part of a report: what it is called, and where the report speaks of it."""

    label: str  # its letter or number; empty where it has only a heading
    heading: str  # the site and the procedure, as far as the report names them with the label
    spans: tuple[Span, ...]
    labels: tuple[Span, ...] = ()  # where its label stands

    @property
    def name(self) -> str:
        """Label and heading, to be shown."""
        heading = " ".join(self.heading.split())
        return f"{self.label}: {heading}" if self.label and heading else self.label or heading

    @property
    def tag(self) -> str:
        """Its label, or the one that its heading gives in brackets."""
        match = TAG.search(self.heading)
        return self.label or (match["tag"].upper() if match else "")

    def has(self, place: int) -> bool:
        return any(start <= place < end for start, end in self.spans)


def superseded(text: str) -> tuple[Span, ...]:
    """Spans that a report itself replaces: a frozen section before the final diagnosis."""
    if not _LATER.search(text):
        return ()
    return tuple(match.span() for match in _SUPERSEDED.finditer(text))


def outside(spans: Iterable[Span], length: int) -> tuple[Span, ...]:
    """Spans of a text that are left."""
    free, position = [], 0
    for start, end in sorted(spans):
        if start > position:
            free.append((position, start))
        position = max(position, end)
    return (*free, (position, length)) if position < length else tuple(free)


def meeting(spans: Iterable[Span]) -> Callable[[int, int], bool]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    starts = [start for start, _ in joined]

    def meets(start: int, end: int) -> bool:
        before = bisect_left(starts, end)
        return before > 0 and start < joined[before - 1][1]

    return meets


def only(report: Report, spans: Sequence[Span]) -> Report:
    """A report with all but some spans blank; what stays keeps its place."""
    entities = {
        index: entity
        for index, whole in enumerate(report.entities)
        if (entity := _within(whole, spans))
    }
    new_index = {old: new for new, old in enumerate(entities)}
    relations = tuple(
        relation.model_copy(
            update={"head": new_index[relation.head], "tail": new_index[relation.tail]}
        )
        for relation in report.relations
        if relation.head in new_index and relation.tail in new_index
    )
    blank, pieces, end_of_last = _blank(report.text), [], 0
    for start, end in sorted(spans):
        first = max(end_of_last, start)
        if first < end:
            pieces += [blank[end_of_last:first], report.text[first:end]]
            end_of_last = end
    text = "".join([*pieces, blank[end_of_last:]])
    update = {"text": text, "entities": tuple(entities.values()), "relations": relations}
    return report.model_copy(update=update)


@lru_cache(maxsize=1 << 3)  # asked for by each specimen of a report
def _blank(text: str) -> str:
    """The line ends of a text where they stand, and nothing else."""
    return _ON_A_LINE.sub(lambda line: " " * len(line.group()), text)


def _within(entity: Entity, spans: Iterable[Span]) -> Entity | None:
    """An entity of one of some spans, without the label that was read with it: 1. 38 cm."""
    for start, end in spans:
        if start <= entity.start and entity.end <= end:
            return entity
        if entity.start < start < entity.end <= end:
            text = entity.text[start - entity.start :]
            return entity.model_copy(update={"text": text, "start": start})
    return None
