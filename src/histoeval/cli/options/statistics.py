"""Options of the verbs that study scores: experts, groups, resampling."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from histoeval.cli.options.columns import COLUMNS
from histoeval.errors import SettingError

STATISTICS = "Statistics"

SheetFile = Annotated[
    Path,
    typer.Argument(
        metavar="SHEET",
        help="Pairs that experts have scored: HARE's layout (candidates 0, 1, … beside Scoring 0, "
        "…), or one pair per row with a column for each rater.",
    ),
]
ResamplesOption = Annotated[
    int, typer.Option(min=1, help="Resamples for confidence intervals.", rich_help_panel=STATISTICS)
]
OptionalResamples = Annotated[
    int, typer.Option(min=0, help="Resamples for confidence intervals; 0 for no intervals.")
]
PermutationsOption = Annotated[
    int,
    typer.Option(min=1, help="Permutations for significance tests.", rich_help_panel=STATISTICS),
]
SeedOption = Annotated[
    int, typer.Option(min=0, help="Random seed of the resamples.", rich_help_panel=STATISTICS)
]


@dataclass(frozen=True)
class StudyOptions:
    """How metrics are compared with experts."""

    cases: Annotated[
        Path | None,
        typer.Option(
            help="Table of row (from 0) and case, for HARE's layout.", rich_help_panel=COLUMNS
        ),
    ] = None
    rater: Annotated[
        list[str] | None,
        typer.Option(
            "--rater",
            help="Column with an expert's scores; repeat it for each rater. Every numeric column "
            "when omitted.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    group: Annotated[
        str,
        typer.Option(
            help="What is resampled together, and compared within: case, system, row, or a column. "
            "The case is the column case, or --cases, or the reference itself.",
            rich_help_panel=STATISTICS,
        ),
    ] = "case"
    positive_only: Annotated[
        bool,
        typer.Option(
            "--positive-only/--all",
            help="Omit pairs that experts score 0, as the HARE paper does.",
            rich_help_panel=STATISTICS,
        ),
    ] = False
    scale: Annotated[
        str | None,
        typer.Option(
            help="Lowest and highest possible expert score, as in 0,5.", rich_help_panel=STATISTICS
        ),
    ] = None
    coefficient: Annotated[
        Literal["pearson", "spearman", "kendall"],
        typer.Option(help="Correlation that ranks the metrics.", rich_help_panel=STATISTICS),
    ] = "pearson"
    resamples: ResamplesOption = 10_000
    permutations: PermutationsOption = 2_000
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
