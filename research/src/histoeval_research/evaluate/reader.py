"""How well a reader reads, measured on annotated passages.

`evaluate_reader` does it all; `read_passages` and `evaluate` are its two halves, for those who
have predictions already. docs/evaluation.md defines every score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from histoeval.errors import InputError, ModelError
from histoeval.evaluate.estimates import ReportEstimate
from histoeval.progress import ignore
from histoeval.reader.reader import Completer, Reader
from histoeval.report import Entity, Noun, Report
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.calibration import (
    ALL,
    CalibrationError,
    Figure,
    Judged,
    calibration,
    figures_of,
)
from histoeval_research.evaluate.matches import (
    Tally,
    assertion_matches,
    entity_keys,
    exact_matches,
    hare_matches,
    key_of,
    link_of,
    overlap_matches,
    relation_keys,
    relation_matches,
    relation_matches_between_shared,
)

__all__ = [
    "ALL",
    "CONFIDENT",
    "RESAMPLES",
    "CalibrationError",
    "Evaluation",
    "Figure",
    "PredictedPassage",
    "ReaderMeasure",
    "ReportEstimate",
    "evaluate",
    "evaluate_by_source",
    "evaluate_reader",
    "out_of_reach",
    "read_passages",
]

CONFIDENT = 0.7
"""The confidence at which HARE begins to count an entity."""

RESAMPLES = 1000


class ReaderMeasure(StrEnum):
    """What is counted, and between which entities."""

    EXACT = "exact"
    HARE = "hare_five"
    OVERLAP = "overlap"
    CONFIDENT = "confident"
    RELATIONS = "relations_end_to_end"
    RELATIONS_ON_FOUND = "relations_on_found"
    RELATIONS_ON_GOLD = "relations_on_gold"
    ASSERTION_ON_FOUND = "assertion_on_found"
    ASSERTION_ON_GOLD = "assertion_on_gold"


Missing = Mapping[ReaderMeasure, str]
"""Why a measure has no figures."""

_OF_RELATIONS = (
    ReaderMeasure.RELATIONS,
    ReaderMeasure.RELATIONS_ON_FOUND,
    ReaderMeasure.RELATIONS_ON_GOLD,
)
_ON_GOLD = (ReaderMeasure.RELATIONS_ON_GOLD, ReaderMeasure.ASSERTION_ON_GOLD)
_NO_RELATIONS = "the reader does not look for relations"
_NO_COMPLETION = "the reader cannot go on from given entities"
_NOTHING = "neither the corpus nor the reader has any"


class Evaluation(Noun):
    """All figures of a reader on some passages.

    `figures` has for each measure a figure for each kind of thing that either side has, and for
    all of them together; `missing` says why a measure has none. `calibration` is of entities, of
    relations end to end, and of relations on gold entities, where there are any.
    """

    passages: int
    reports: int
    resamples: int
    seed: int
    figures: Mapping[ReaderMeasure, Mapping[str, Figure]]
    missing: Missing
    calibration: Mapping[ReaderMeasure, CalibrationError]


def evaluate_reader(
    reader: Reader,
    passages: Iterable[AnnotatedPassage],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Evaluation:
    """Have a reader read all passages, and compare with their annotation."""
    readings = read_passages(reader, list(passages))
    return evaluate(readings, out_of_reach(reader), resamples=resamples, seed=seed)


def out_of_reach(reader: Reader) -> dict[ReaderMeasure, str]:
    """What cannot be measured of a reader, and why."""
    missing: dict[ReaderMeasure, str] = {}
    if not isinstance(reader, Completer):
        missing |= dict.fromkeys(_ON_GOLD, _NO_COMPLETION)
    if not reader.reads_relations:
        missing |= dict.fromkeys(_OF_RELATIONS, _NO_RELATIONS)
    return missing


def evaluate(
    readings: Sequence[PredictedPassage],
    missing: Missing | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Evaluation:
    """Every figure of these readings but those that are `missing` from the start."""
    if not readings:
        raise InputError("there are no passages to evaluate a reader on")
    lacking = dict(missing or {})
    if any(reading.completed is None for reading in readings):
        lacking = dict.fromkeys(_ON_GOLD, _NO_COMPLETION) | lacking
    tallies = [
        {measure: tally for measure, tally in tallies_of(reading).items() if measure not in lacking}
        for reading in readings
    ]
    reports = [reading.passage.report_id for reading in readings]
    figures = figures_of(tallies, reports, resamples, seed)
    return Evaluation(
        passages=len(readings),
        reports=len(set(reports)),
        resamples=resamples,
        seed=seed,
        figures={measure: rows for measure, rows in figures.items() if rows},
        missing=lacking | {measure: _NOTHING for measure, rows in figures.items() if not rows},
        calibration=_calibrations(readings, lacking),
    )


def evaluate_by_source(
    readings: Sequence[PredictedPassage],
    missing: Missing | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Evaluation]:
    """The same for the passages of each source."""
    by_source: dict[str, list[PredictedPassage]] = {}
    for reading in readings:
        by_source.setdefault(reading.passage.source, []).append(reading)
    return {
        source: evaluate(some, missing, resamples=resamples, seed=seed)
        for source, some in sorted(by_source.items())
    }


def tallies_of(reading: PredictedPassage) -> dict[ReaderMeasure, Tally]:
    """The counts of one passage."""
    gold, found, completed = reading.passage.content, reading.found, reading.completed
    tallies = {
        ReaderMeasure.EXACT: exact_matches(gold, found),
        ReaderMeasure.HARE: hare_matches(gold, found),
        ReaderMeasure.OVERLAP: overlap_matches(gold, found),
        ReaderMeasure.CONFIDENT: exact_matches(gold, _confident(found)),
        ReaderMeasure.RELATIONS: relation_matches(gold, found),
        ReaderMeasure.RELATIONS_ON_FOUND: relation_matches_between_shared(gold, found),
        ReaderMeasure.ASSERTION_ON_FOUND: assertion_matches(gold, found),
    }
    if completed is not None:
        tallies[ReaderMeasure.RELATIONS_ON_GOLD] = relation_matches(gold, completed)
        tallies[ReaderMeasure.ASSERTION_ON_GOLD] = assertion_matches(gold, completed)
    return tallies


def _confident(report: Report) -> Report:
    kept = tuple(entity for entity in report.entities if entity.score >= CONFIDENT)
    return Report(text=report.text, entities=kept)


def judged_of(readings: Iterable[PredictedPassage]) -> dict[ReaderMeasure, list[Judged]]:
    """Every confidence in some readings, and whether it was justified."""
    judged: dict[ReaderMeasure, list[Judged]] = {
        ReaderMeasure.EXACT: [],
        ReaderMeasure.RELATIONS: [],
        ReaderMeasure.RELATIONS_ON_GOLD: [],
    }
    for reading in readings:
        gold, found, completed = reading.passage.content, reading.found, reading.completed
        judged[ReaderMeasure.EXACT] += _judged_entities(gold, found)
        judged[ReaderMeasure.RELATIONS] += _judged_relations(gold, found)
        if completed is not None:
            judged[ReaderMeasure.RELATIONS_ON_GOLD] += _judged_relations(gold, completed)
    return judged


def _calibrations(
    readings: Sequence[PredictedPassage], missing: Missing
) -> dict[ReaderMeasure, CalibrationError]:
    """How far confidences can be trusted, of all that has one and is measured."""
    judged = judged_of(readings)
    return {
        measure: calibration(pairs)
        for measure, pairs in judged.items()
        if pairs and measure not in missing
    }


def _judged_entities(gold: Report, found: Report) -> list[Judged]:
    """The confidence of each entity, and whether it is right."""
    there = entity_keys(gold)
    return [(entity.score, key_of(entity) in there) for entity in found.entities]


def _judged_relations(gold: Report, found: Report) -> list[Judged]:
    """The confidence of each relation, and whether it is right."""
    there = relation_keys(gold)
    return [(relation.score, link_of(found, relation) in there) for relation in found.relations]


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
