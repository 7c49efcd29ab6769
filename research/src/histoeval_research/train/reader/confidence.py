"""Confidence that means what it says: a curve from how sure a reader is to how often it is right.

The curve is a line between log odds (Platt), fitted on passages that the reader has not been
trained on. Its gain is measured on passages that it was not fitted on either: each fifth of the
reports is judged by a curve that was fitted on the others.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from histoeval.reader.builtin import BuiltinReader
from histoeval.reader.manifest import ConfidenceCurve, read_manifest, write_manifest
from histoeval.report import Noun
from histoeval.statistics.calibration import fit_logistic
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.calibration import Judged, calibration
from histoeval_research.evaluate.reader import (
    PredictedPassage,
    ReaderMeasure,
    judged_of,
    read_passages,
)

FOLDS = 5
_MEASURES = {"entity_curve": ReaderMeasure.EXACT, "relation_curve": ReaderMeasure.RELATIONS_ON_GOLD}
_LEAST = 20
"""With fewer answers to judge by there is no curve."""


class Worth(Noun):
    """Calibration errors without the curve, and with a curve from other reports."""

    before: float
    after: float
    answers: int


def calibrate(folder: Path, passages: Sequence[AnnotatedPassage]) -> dict[str, Worth]:
    """Fit the curves of a reader's folder on held-out passages and write them to its manifest."""
    manifest = read_manifest(folder).model_copy(
        update={"entity_curve": ConfidenceCurve(), "relation_curve": ConfidenceCurve()}
    )
    write_manifest(folder, manifest)
    readings = read_passages(BuiltinReader(folder), passages)
    gains, curves = {}, {}
    for name, measure in _MEASURES.items():
        if len(judged := judged_of(readings)[measure]) >= _LEAST:
            curves[name] = fit_curve(judged)
            if (found := _worth(readings, measure)) is not None:
                gains[measure.value] = found
    details = manifest.details | {"calibration": {k: v.model_dump() for k, v in gains.items()}}
    write_manifest(folder, manifest.model_copy(update={**curves, "details": details}))
    return gains


def fit_curve(judged: Sequence[Judged]) -> ConfidenceCurve:
    """The most likely line between log odds.

    As Platt advises, right and wrong count as a little less than sure, so that a reader that is
    never wrong still has a curve.
    """
    scores, right = np.array(judged, dtype=np.float64).T
    scores = scores.clip(1e-6, 1 - 1e-6)
    yes = right.sum()
    aim = np.where(right > 0, (yes + 1) / (yes + 2), 1 / (len(right) - yes + 2))
    slope, offset = fit_logistic(np.log(scores / (1 - scores)), aim)
    return ConfidenceCurve(slope=slope, offset=offset)


def _worth(readings: Sequence[PredictedPassage], measure: ReaderMeasure) -> Worth | None:
    """The gain of a curve, unless some fold holds nearly all that there is to judge by."""
    folds = [_fold(reading.passage.report_id) for reading in readings]
    after: list[Judged] = []
    for fold in range(FOLDS):
        others = [r for r, place in zip(readings, folds, strict=True) if place != fold]
        these = [r for r, place in zip(readings, folds, strict=True) if place == fold]
        if len(known := judged_of(others)[measure]) < _LEAST // 2:
            return None
        curve = fit_curve(known)
        after += [(curve(score), right) for score, right in judged_of(these)[measure]]
    before = judged_of(readings)[measure]
    return Worth(
        before=calibration(before).error, after=calibration(after).error, answers=len(before)
    )


def _fold(report: str) -> int:
    """Which fifth a report belongs to, whatever else there is."""
    return int(hashlib.sha256(report.encode()).hexdigest(), 16) % FOLDS
