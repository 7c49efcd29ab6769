"""Options of the verbs that study scores: what is drawn, how often, and what is told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from histoeval.cli.options.models import COLUMNS

STATISTICS = "Statistics"

SheetFile = Annotated[
    Path,
    typer.Argument(
        metavar="SHEET",
        help="Pairs that experts have scored: HARE's layout (candidates 0, 1, … beside Scoring 0, "
        "…), or one pair per row with a column for each rater.",
        show_default=False,
    ),
]
MetricsOption = Annotated[
    str | None,
    typer.Option(
        help="Names with commas between, as for `histoeval score`. When left out: those of "
        "--scores, or else the usual ones.",
        show_default=False,
    ),
]
ScoresOption = Annotated[
    list[Path] | None,
    typer.Option(
        help="scores.jsonl of the same sheet, or its folder; metrics in it are not run again. "
        "Give it again for more.",
        show_default=False,
    ),
]
CasesOption = Annotated[
    Path | None,
    typer.Option(
        help="Table of row (from 0) and case, for HARE's layout.", rich_help_panel=COLUMNS
    ),
]
RaterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--rater",
        help="Column of an expert's scores; again for each rater. Every column of numbers when "
        "left out.",
        rich_help_panel=COLUMNS,
    ),
]
GroupOption = Annotated[
    str,
    typer.Option(
        help="What is drawn together, and compared within: case, system, row, or a column. The "
        "case is the column case, or --cases, or the reference itself.",
        rich_help_panel=STATISTICS,
    ),
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        help="Apart for each system, set, case or value of a column, such as organ; again for "
        "more.",
        rich_help_panel=STATISTICS,
    ),
]
PositiveOption = Annotated[
    bool,
    typer.Option(
        "--positive-only/--all",
        help="Leave out what experts give 0, as the HARE paper does.",
        rich_help_panel=STATISTICS,
    ),
]
ScaleOption = Annotated[
    str | None,
    typer.Option(
        help="Lowest and highest score there can be, as 0,5.",
        rich_help_panel=STATISTICS,
        show_default=False,
    ),
]
CoefficientOption = Annotated[
    Literal["pearson", "spearman", "kendall"],
    typer.Option(help="What metrics are ranked by.", rich_help_panel=STATISTICS),
]
ResamplesOption = Annotated[
    int, typer.Option(min=1, help="Resamples for the intervals.", rich_help_panel=STATISTICS)
]
PermutationsOption = Annotated[
    int, typer.Option(min=1, help="Permutations for the tests.", rich_help_panel=STATISTICS)
]
SeedOption = Annotated[
    int,
    typer.Option(min=0, help="Another seed draws other resamples.", rich_help_panel=STATISTICS),
]
LookOption = Annotated[
    Literal["table", "markdown"], typer.Option("--format", help="How the tables are printed.")
]
