"""`histoeval ablate`: what do the parts of a metric contribute?"""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.agree import print_agreement
from histoeval.cli.output import LookOption
from histoeval.cli.verb import verb
from histoeval.run.history import command_line
from histoeval.settings import Option
from histoeval_research.experiments.ablate import AblateSettings, run_ablate


@verb
def ablate(
    settings: AblateSettings,
    output: Annotated[Path | None, Option("Folder for agreement.json.")] = None,
    look: LookOption = "table",
) -> None:
    """Compare variants of a metric by how well each agrees with experts.

    Examples:
      histoeval ablate sheet.csv --of concordance
      histoeval ablate sheet.csv --grid grid.toml --output results
    """
    found = run_ablate(settings)
    print_agreement(found, look)
    if output is not None:
        typer.echo(f"Written: {found.write(output, command_line())}")
    if found.unavailable or found.about["unreadable"]:
        raise typer.Exit(1)
