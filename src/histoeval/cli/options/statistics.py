"""Options of the verbs that study scores: experts, groups, resampling."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from histoeval.cli.options.bundle import option
from histoeval.cli.options.columns import COLUMNS
from histoeval.errors import SettingError
from histoeval.statistics.correlation import RANKED_BY
from histoeval.statistics.resampling import PERMUTATIONS, RESAMPLES

STATISTICS = "Statistics"

SheetFile = Annotated[
    Path,
    typer.Argument(
        metavar="SHEET",
        help="Pairs that experts have scored: HARE's layout (candidates 0, 1, … beside Scoring 0, "
        "…), or one pair per row with a column for each rater.",
    ),
]
ResamplesOption = Annotated[int, option("Resamples for confidence intervals.", STATISTICS, min=1)]
OptionalResamples = Annotated[
    int, option("Resamples for confidence intervals; 0 for no intervals.", min=0)
]
PermutationsOption = Annotated[
    int, option("Permutations for significance tests.", STATISTICS, min=1)
]
SeedOption = Annotated[int, option("Random seed of the resamples.", STATISTICS, min=0)]


@dataclass(frozen=True)
class StudyOptions:
    """How metrics are compared with experts."""

    cases: Annotated[
        Path | None, option("Table of row (from 0) and case, for HARE's layout.", COLUMNS)
    ] = None
    rater: Annotated[
        list[str] | None,
        option(
            "Column with an expert's scores; repeat it for each rater. When omitted: "
            "columns whose names say so, or columns of numbers that share a scale.",
            COLUMNS,
            name="--rater",
        ),
    ] = None
    group: Annotated[
        str,
        option(
            "What is resampled together, and compared within: case, system, row, or a column. "
            "The case is the column case, or --cases, or the reference itself.",
            STATISTICS,
        ),
    ] = "case"
    positive_only: Annotated[
        bool,
        option(
            "Omit pairs that experts score 0, as the HARE paper does.",
            STATISTICS,
            name="--positive-only/--all",
        ),
    ] = False
    scale: Annotated[
        str | None, option("Lowest and highest possible expert score, as in 0,5.", STATISTICS)
    ] = None
    coefficient: Annotated[
        Literal["spearman", "pearson", "kendall"],
        option("Correlation that ranks the metrics.", STATISTICS),
    ] = RANKED_BY.value
    resamples: ResamplesOption = RESAMPLES
    permutations: PermutationsOption = PERMUTATIONS
    seed: SeedOption = 0

    def settings(self) -> dict[str, Any]:
        """As `agree` and `ablate` take them."""
        named = {**vars(self), "raters": self.rater or (), "scale": scale_of(self.scale)}
        del named["rater"]
        return named


def scale_of(text: str | None) -> tuple[float, float] | None:
    """Two numbers with a comma between."""
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError as error:
        raise SettingError(f"--scale {text!r} is not two numbers, as in 0,5") from error
    return low, high
