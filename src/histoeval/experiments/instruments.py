"""The measures of an experiment, opened by what people call them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from histoeval.experiments.measures import (
    GROUNDING,
    ByLogic,
    ByStability,
    ReportMeasure,
    open_grounding,
    open_metrics,
)
from histoeval.experiments.rows import PerturbedRow, read_perturbed
from histoeval.experiments.sensitivity import MeasureSet
from histoeval.run.models import Models, load_reader


def open_bench(
    perturbed: Path,
    metrics: Sequence[str],
    models: Models,
    images: Path | None = None,
    encoder: str | None = None,
    nli: str | None = None,
    mpp: float | None = None,
) -> MeasureSet:
    """Metrics beside logic, and grounding and stability where the set has what they need."""
    from histoeval.nli.load import open_entailer

    rows = read_perturbed(perturbed)
    reader = load_reader(models)
    models = models.model_copy(update={"reader": reader})
    found, lacking = open_metrics(metrics, models)
    measures: list[ReportMeasure] = [*found, ByLogic(reader, open_entailer(nli, models.device))]
    if any(row.report_attacked for row in rows):
        from histoeval.trust.stability.distance import open_distance

        measures.append(ByStability(open_distance("concordance", reader=reader)))
    if reason := _no_images(rows, images):
        return MeasureSet(measures, None, lacking | {GROUNDING: reason})
    assert images is not None, "else there was a reason"
    grounding = open_grounding(encoder, reader, images, models.device, mpp)
    if isinstance(grounding, str):
        return MeasureSet(measures, None, lacking | {GROUNDING: grounding})
    return MeasureSet(measures, grounding, lacking)


def _no_images(rows: Sequence[PerturbedRow], images: Path | None) -> str | None:
    """Why there is nothing to ground reports on."""
    if not any(row.image for row in rows):
        return "the set names no images"
    return "the folder of the images was not named: give --images" if images is None else None
