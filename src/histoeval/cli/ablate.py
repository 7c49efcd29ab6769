"""`histoeval ablate`: what are the parts of a metric worth?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.agree import command_line, scale_of, show
from histoeval.cli.options.bundle import ModelNames, spread
from histoeval.cli.options.statistics import (
    CasesOption,
    CoefficientOption,
    GroupOption,
    LookOption,
    PermutationsOption,
    PositiveOption,
    RaterOption,
    ResamplesOption,
    ScaleOption,
    SeedOption,
    SheetFile,
)


@spread
def ablate(
    sheet: SheetFile,
    kinds: Annotated[
        str | None,
        typer.Option(
            "--of",
            help="hare (what its reader is sure of, or not, as in table 7 of the paper) and "
            "concordance (its parts left out one by one), with a comma between. Both when neither "
            "this nor --grid is given.",
            show_default=False,
        ),
    ] = None,
    grid: Annotated[
        Path | None,
        typer.Option(
            help="TOML or JSON file of metrics and settings; every combination is a row.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Folder for agreement.json.", show_default=False)
    ] = None,
    look: LookOption = "table",
    cases: CasesOption = None,
    rater: RaterOption = None,
    group: GroupOption = "case",
    positive_only: PositiveOption = False,
    scale: ScaleOption = None,
    coefficient: CoefficientOption = "pearson",
    resamples: ResamplesOption = 10_000,
    permutations: PermutationsOption = 2_000,
    seed: SeedOption = 0,
    models: ModelNames = ModelNames(),
) -> None:
    """Vary metrics, and say how well each variant follows experts, as one table."""
    from histoeval.experiments.ablate import ablate as study_variants
    from histoeval.experiments.metric_variants import KINDS

    usual = KINDS if grid is None else ()
    found = study_variants(
        sheet,
        usual if kinds is None else [kind.strip() for kind in kinds.split(",")],
        grid=grid,
        cases=cases,
        raters=rater or (),
        group=group,
        positive_only=positive_only,
        scale=scale_of(scale),
        coefficient=coefficient,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        models=models.models(),
    )
    show(found, look)
    if output is not None:
        typer.echo(f"Written: {found.write(output, command_line())}")
    if found.unavailable or found.about["unreadable"]:
        raise typer.Exit(1)
