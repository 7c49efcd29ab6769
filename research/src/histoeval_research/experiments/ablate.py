"""The contribution of each part of a metric: ``experiments.ablate.ablate("sheet.tsv")``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from histoeval.io.files import GUESS
from histoeval.io.tables.columns import Columns
from histoeval.run.agree import (
    Agreement,
    check_scale,
    conclude,
    key_of,
    planned,
    read_rated,
    sheet_source,
)
from histoeval.statistics.correlation import RANKED_BY
from histoeval.statistics.regression import Range
from histoeval.statistics.resampling import PERMUTATIONS, RESAMPLES
from histoeval_research.experiments.metric_variants import KINDS, score_variants, variants

if TYPE_CHECKING:
    from histoeval.run.models import Models


def ablate(
    sheet: Any,
    kinds: Sequence[str] = KINDS,
    *,
    grid: str | Path | None = None,
    cases: str | Path | None = None,
    raters: Sequence[str] = (),
    group: str = "case",
    positive_only: bool = False,
    scale: Range | None = None,
    coefficient: str = RANKED_BY,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    columns: Columns | None = None,
    encoding: str | None = None,
    models: Models | None = None,
) -> Agreement:
    """Study variants of metrics on a sheet, as `agree` studies metrics.

    Args:
        sheet: pairs that experts have scored.
        kinds: `hare` for the paper's table 7, `concordance` without each of its parts.
        grid: a TOML or JSON file of metrics and settings; every combination is a variant.
        cases: a table of row (from 0) and case, for HARE's layout.
        raters: columns of experts' scores.
        group: what is drawn together and compared within.
        positive_only: leave out what experts give 0.
        scale: lowest and highest score there can be.
        coefficient: what variants are ranked by.
        resamples: for the intervals.
        permutations: for the tests.
        seed: another one draws other resamples.
        columns: of the sheet, where they cannot be guessed.
        encoding: of the sheet, where it cannot be guessed.
        models: the reader and the aligner to use.
    """
    check_scale(scale)
    found = variants(kinds, None if grid is None else Path(grid), models)
    source = sheet_source(sheet, columns or GUESS, encoding)
    read = read_rated(source, cases, raters, group, (), scale)
    pairs = {key_of(row, read.wide): row.pair for row in read.rated if row.scores}
    scored, unavailable = score_variants(found, pairs)
    plan = planned(
        group=group,
        positive_only=positive_only,
        coefficient=coefficient,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        only=tuple(
            (each.base, each.name)
            for each in found
            if each.name != each.base and {each.name, each.base} <= scored.keys()
        ),
    )
    return conclude(source, read, scored, unavailable, raters=raters, scale=scale, plan=plan)
