"""How well a reader reads, measured on annotated passages.

`evaluate_reader` does it all; `read_passages` and `evaluate` are its two halves, for those who
have predictions already. docs/evaluation.md defines every score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from histoeval.errors import InputError, ModelError
from histoeval.evaluate.estimates import ReportEstimate, draws_of, estimate_of
from histoeval.progress import ignore
from histoeval.reader.reader import Completer, Reader
from histoeval.report import Entity, Noun, Report
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.calibration import CalibrationError, Judged, calibration
from histoeval_research.evaluate.matches import (
    Tally,
    assertion_matches,
    entity_keys,
    exact_matches,
    hare_matches,
    key_of,
    link_of,
    overlap_matches,
    rates,
    relation_keys,
    relation_matches,
    relation_matches_between_shared,
    total,
)

CONFIDENT = 0.7  # the confidence at which HARE begins to count an entity

RESAMPLES = 1000
PASSAGES_AT_ONCE = 64

ALL = "all"  # the row of a measure that has all its kinds together


class ReaderMeasure(StrEnum):
    EXACT = "exact"
    HARE = "hare_five"
    OVERLAP = "overlap"
    CONFIDENT = "confident"
    RELATIONS = "relations_end_to_end"
    RELATIONS_ON_FOUND = "relations_on_found"
    RELATIONS_ON_GOLD = "relations_on_gold"
    ASSERTION_ON_FOUND = "assertion_on_found"
    ASSERTION_ON_GOLD = "assertion_on_gold"


OF_RELATIONS = (
    ReaderMeasure.RELATIONS,
    ReaderMeasure.RELATIONS_ON_FOUND,
    ReaderMeasure.RELATIONS_ON_GOLD,
)
ON_GOLD = (ReaderMeasure.RELATIONS_ON_GOLD, ReaderMeasure.ASSERTION_ON_GOLD)
NO_COMPLETION = "the reader cannot go on from given entities"

Missing = Mapping[ReaderMeasure, str]  # why a measure has no figures


class Figure(Noun):
    """How much of what was found is there, and how much of what is there was found."""

    # For the row `all` of an assertion measure, the three rates are one: the accuracy.

    gold: int
    found: int
    precision: ReportEstimate
    recall: ReportEstimate
    f1: ReportEstimate


class Evaluation(Noun):
    """All figures of a reader on some passages."""

    # `figures` has for each measure a figure for each kind of thing that either side has, and for
    # all of them together; `missing` says why a measure has none. `calibration` is of entities, of
    # relations end to end, and of relations on gold entities, where there are any.

    passages: int
    reports: int
    resamples: int
    seed: int
    figures: Mapping[ReaderMeasure, Mapping[str, Figure]]
    missing: Missing
    calibration: Mapping[ReaderMeasure, CalibrationError]


class PredictedPassage(NamedTuple):
    """A passage and what a reader found in it."""

    # `completed` has the entities of the passage, and what the reader says of those.

    passage: AnnotatedPassage
    found: Report
    completed: Report | None = None


def evaluate_reader(
    reader: Reader,
    passages: Iterable[AnnotatedPassage],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Evaluation:
    readings = read_passages(reader, list(passages))
    return evaluate(readings, out_of_reach(reader), resamples=resamples, seed=seed)


def read_passages(
    reader: Reader, passages: Sequence[AnnotatedPassage], report: Callable[[int], object] = ignore
) -> list[PredictedPassage]:
    readings: list[PredictedPassage] = []
    for first in range(0, len(passages), PASSAGES_AT_ONCE):
        readings += _read(reader, passages[first : first + PASSAGES_AT_ONCE])
        report(len(readings))
    return readings


def _read(reader: Reader, passages: Sequence[AnnotatedPassage]) -> Iterator[PredictedPassage]:
    found = _checked(reader.read([passage.text for passage in passages]), passages)
    if not isinstance(reader, Completer):
        yield from map(PredictedPassage, passages, found)
        return
    bare = [
        Report(
            text=passage.text,
            entities=tuple(
                Entity(text=entity.text, start=entity.start, end=entity.end, type=entity.type)
                for entity in passage.content.entities
            ),
        )
        for passage in passages
    ]
    completed = _checked(reader.complete(bare), passages)
    for passage, reading, whole in zip(passages, found, completed, strict=True):
        if [*map(key_of, whole.entities)] != [*map(key_of, passage.content.entities)]:
            raise ModelError(
                f"the reader changed the entities it was given with passage {passage.id}"
            )
        yield PredictedPassage(passage, reading, whole)


def _checked(reports: Sequence[Report], passages: Sequence[AnnotatedPassage]) -> Sequence[Report]:
    if len(reports) != len(passages):
        raise ModelError(f"the reader gave {len(reports)} reports for {len(passages)} texts")
    for report, passage in zip(reports, passages, strict=True):
        if report.text != passage.text:
            raise ModelError(f"the reader gave back another text than that of passage {passage.id}")
    return reports


def out_of_reach(reader: Reader) -> dict[ReaderMeasure, str]:
    """What cannot be measured of a reader, and why."""
    missing: dict[ReaderMeasure, str] = {}
    if not isinstance(reader, Completer):
        missing |= dict.fromkeys(ON_GOLD, NO_COMPLETION)
    if not reader.reads_relations:
        missing |= dict.fromkeys(OF_RELATIONS, "the reader does not look for relations")
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
        lacking = dict.fromkeys(ON_GOLD, NO_COMPLETION) | lacking
    tallies = [
        {measure: tally for measure, tally in tallies_of(reading).items() if measure not in lacking}
        for reading in readings
    ]
    reports = [reading.passage.report_id for reading in readings]
    figures = figures_of(tallies, reports, resamples, seed)
    nothing = [measure for measure, rows in figures.items() if not rows]
    return Evaluation(
        passages=len(readings),
        reports=len(set(reports)),
        resamples=resamples,
        seed=seed,
        figures={measure: rows for measure, rows in figures.items() if rows},
        missing=lacking | dict.fromkeys(nothing, "neither the corpus nor the reader has any"),
        calibration={
            measure: calibration(judged)
            for measure, judged in judged_of(readings).items()
            if judged and measure not in lacking
        },
    )


def evaluate_by_source(
    readings: Sequence[PredictedPassage], missing: Missing | None = None, **drawn: int
) -> dict[str, Evaluation]:
    by_source: dict[str, list[PredictedPassage]] = {}
    for reading in readings:
        by_source.setdefault(reading.passage.source, []).append(reading)
    return {source: evaluate(some, missing, **drawn) for source, some in sorted(by_source.items())}


def tallies_of(reading: PredictedPassage) -> dict[ReaderMeasure, Tally]:
    gold, found, completed = reading.passage.content, reading.found, reading.completed
    sure = tuple(entity for entity in found.entities if entity.score >= CONFIDENT)
    tallies = {
        ReaderMeasure.EXACT: exact_matches(gold, found),
        ReaderMeasure.HARE: hare_matches(gold, found),
        ReaderMeasure.OVERLAP: overlap_matches(gold, found),
        ReaderMeasure.CONFIDENT: exact_matches(gold, Report(text=found.text, entities=sure)),
        ReaderMeasure.RELATIONS: relation_matches(gold, found),
        ReaderMeasure.RELATIONS_ON_FOUND: relation_matches_between_shared(gold, found),
        ReaderMeasure.ASSERTION_ON_FOUND: assertion_matches(gold, found),
    }
    if completed is not None:
        tallies[ReaderMeasure.RELATIONS_ON_GOLD] = relation_matches(gold, completed)
        tallies[ReaderMeasure.ASSERTION_ON_GOLD] = assertion_matches(gold, completed)
    return tallies


def figures_of(
    tallies: Sequence[Mapping[ReaderMeasure, Tally]],
    reports: Sequence[str],
    resamples: int,
    seed: int,
) -> dict[ReaderMeasure, dict[str, Figure]]:
    """Figures from the counts of passages, and of which report each passage is."""
    # Each measure has a figure for every kind of thing that either side has, and for all of them
    # together; none where neither side has any.
    names = [(measure, kind) for measure, tally in tallies[0].items() for kind in (*tally, ALL)]
    # counts by report, name and field of `Matches`; the order of passages does not matter
    places = {report: place for place, report in enumerate(sorted(set(reports)))}
    sums = np.zeros((len(places), len(names), 4))
    for report, counted in zip(reports, tallies, strict=True):
        rows = [row for tally in counted.values() for row in (*tally.values(), total(tally))]
        sums[places[report]] += np.array([row.counts for row in rows])
    whole = sums.sum(axis=0)
    drawn = draws_of(len(sums), resamples, seed) @ sums.reshape(len(sums), -1)
    drawn = drawn.reshape(-1, *whole.shape)
    has_any = drawn[..., :2].any(axis=-1, keepdims=True)
    values, resampled = rates(whole), np.where(has_any, rates(drawn), np.nan)
    figures: dict[ReaderMeasure, dict[str, Figure]] = {measure: {} for measure in tallies[0]}
    for place, (measure, kind) in enumerate(names):
        if whole[place, :2].any():
            precision, recall, f1 = (
                estimate_of(value, column, len(sums))
                for value, column in zip(values[place], resampled[:, place].T, strict=True)
            )
            gold, found = int(whole[place, 0]), int(whole[place, 1])
            figure = Figure(gold=gold, found=found, precision=precision, recall=recall, f1=f1)
            figures[measure][kind] = figure
    return figures


def judged_of(readings: Iterable[PredictedPassage]) -> dict[ReaderMeasure, list[Judged]]:
    entities: list[Judged] = []
    relations: list[Judged] = []
    on_gold: list[Judged] = []
    for reading in readings:
        keys, links = entity_keys(reading.passage.content), relation_keys(reading.passage.content)
        found, completed = reading.found, reading.completed
        entities += [(entity.score, key_of(entity) in keys) for entity in found.entities]
        relations += [(r.score, link_of(found, r) in links) for r in found.relations]
        if completed is not None:
            on_gold += [(r.score, link_of(completed, r) in links) for r in completed.relations]
    return {
        ReaderMeasure.EXACT: entities,
        ReaderMeasure.RELATIONS: relations,
        ReaderMeasure.RELATIONS_ON_GOLD: on_gold,
    }
