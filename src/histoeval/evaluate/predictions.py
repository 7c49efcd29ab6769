"""Annotated passages as a reader reads them: from their text, and from their entities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from histoeval.errors import ModelError
from histoeval.evaluate.matches import key_of
from histoeval.extract.reader import Completer, Reader
from histoeval.io.corpus import AnnotatedPassage
from histoeval.progress import ignore
from histoeval.report import Entity, Report

_PASSAGES_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class PredictedPassage:
    """A passage and what a reader found in it.

    `completed` has the entities of the passage, and what the reader says of those.
    """

    passage: AnnotatedPassage
    found: Report
    completed: Report | None = None


def read_passages(
    reader: Reader,
    passages: Sequence[AnnotatedPassage],
    report: Callable[[int], object] = ignore,
) -> list[PredictedPassage]:
    """What a reader finds in each passage; `report` gets the number read so far."""
    readings: list[PredictedPassage] = []
    for first in range(0, len(passages), _PASSAGES_AT_ONCE):
        readings += _read(reader, passages[first : first + _PASSAGES_AT_ONCE])
        report(len(readings))
    return readings


def _read(reader: Reader, passages: Sequence[AnnotatedPassage]) -> Iterator[PredictedPassage]:
    found = _checked(reader.read([passage.text for passage in passages]), passages)
    if not isinstance(reader, Completer):
        yield from map(PredictedPassage, passages, found)
        return
    completed = _checked(
        reader.complete([_bare(passage.content) for passage in passages]), passages
    )
    for reading in map(PredictedPassage, passages, found, completed):
        given, kept = reading.passage.content, reading.completed
        if kept is None or [*map(key_of, kept.entities)] != [*map(key_of, given.entities)]:
            raise ModelError(
                f"the reader changed the entities it was given with passage {reading.passage.id}"
            )
        yield reading


def _bare(report: Report) -> Report:
    """The text and its entities, without what a reader shall say of them."""
    return Report(
        text=report.text,
        entities=tuple(
            Entity(text=entity.text, start=entity.start, end=entity.end, type=entity.type)
            for entity in report.entities
        ),
    )


def _checked(reports: Sequence[Report], passages: Sequence[AnnotatedPassage]) -> Sequence[Report]:
    """One report for each passage, with its text."""
    if len(reports) != len(passages):
        raise ModelError(f"the reader gave {len(reports)} reports for {len(passages)} texts")
    for report, passage in zip(reports, passages, strict=True):
        if report.text != passage.text:
            raise ModelError(f"the reader gave back another text than that of passage {passage.id}")
    return reports
