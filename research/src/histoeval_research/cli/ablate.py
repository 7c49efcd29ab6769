"""`histoeval ablate`: what do the parts of a metric contribute?"""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.agree import print_agreement
from histoeval.cli.output import LookOption
from histoeval.cli.verb import verb
from histoeval.io.tables.columns import Columns
from histoeval.run.agree import SHEET, StudySettings
from histoeval.run.history.stored_runs import command_line
from histoeval.run.models import SCORING, Models
from histoeval.run.settings import Encoding
from histoeval.settings import Option
from histoeval_research.experiments.ablate import KINDS
from histoeval_research.experiments.ablate import ablate as study_variants


@verb
def ablate(
    sheet: Annotated[Path, SHEET],
    kinds: Annotated[
        str | None,
        Option(
            "hare (confidence thresholds of its reader, as in table 7 of the paper) and "
            "concordance (without each of its parts), separated by a comma. Both when neither "
            "this nor --grid is given.",
            name="--of",
        ),
    ] = None,
    grid: Annotated[
        Path | None,
        Option("TOML or JSON file of metrics and settings; every combination is a row."),
    ] = None,
    output: Annotated[Path | None, Option("Folder for agreement.json.")] = None,
    look: LookOption = "table",
    *,
    study: StudySettings,
    columns: Columns,
    encoding: Encoding = None,
    models: Annotated[Models, Option("", only=SCORING)],
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
        columns=columns,
        encoding=encoding,
        models=models,
        **vars(study),
    )
    print_agreement(found, look)
    if output is not None:
        typer.echo(f"Written: {found.write(output, command_line())}")
    if found.unavailable or found.about["unreadable"]:
        raise typer.Exit(1)
