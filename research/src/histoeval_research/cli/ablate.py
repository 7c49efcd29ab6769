"""`histoeval ablate`: what do the parts of a metric contribute?"""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.agree import print_agreement
from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.columns import EncodingOption, PairColumns
from histoeval.cli.options.models import MetricModels
from histoeval.cli.options.output import LookOption
from histoeval.cli.options.statistics import SheetFile, StudyOptions
from histoeval.run.history.stored_runs import command_line
from histoeval_research.experiments.ablate import KINDS
from histoeval_research.experiments.ablate import ablate as study_variants


@verb
def ablate(
    sheet: SheetFile,
    kinds: Annotated[
        str | None,
        option(
            "hare (confidence thresholds of its reader, as in table 7 of the paper) and "
            "concordance (without each of its parts), separated by a comma. Both when neither "
            "this nor --grid is given.",
            name="--of",
        ),
    ] = None,
    grid: Annotated[
        Path | None,
        option("TOML or JSON file of metrics and settings; every combination is a row."),
    ] = None,
    output: Annotated[Path | None, option("Folder for agreement.json.")] = None,
    look: LookOption = "table",
    study: StudyOptions = StudyOptions(),
    columns: PairColumns = PairColumns(),
    encoding: EncodingOption = None,
    models: MetricModels = MetricModels(),
) -> None:
    """Compare variants of a metric by how well each agrees with experts.

    Examples:
      histoeval ablate sheet.csv --of concordance
      histoeval ablate sheet.csv --grid grid.toml --output results
    """
    usual = KINDS if grid is None else ()
    found = study_variants(
        sheet,
        usual if kinds is None else [kind.strip() for kind in kinds.split(",")],
        grid=grid,
        columns=columns.columns(),
        encoding=encoding,
        models=models.models(),
        **study.settings(),
    )
    print_agreement(found, look)
    if output is not None:
        typer.echo(f"Written: {found.write(output, command_line())}")
    if found.unavailable or found.about["unreadable"]:
        raise typer.Exit(1)
