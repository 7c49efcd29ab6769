"""`histoeval judge align`: how far is a judge from experts, and what brings it closer?"""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.columns import COLUMNS, EncodingOption, IdOption
from histoeval.cli.options.output import LookOption, print_tables
from histoeval.cli.options.statistics import STATISTICS, SeedOption
from histoeval.errors import SettingError
from histoeval.io.tables.columns import Columns


@verb
def align(
    results: Annotated[
        Path,
        typer.Argument(
            metavar="RESULTS",
            help="Folder of `histoeval judge`, or of `histoeval score --metrics rubric_offline`.",
        ),
    ],
    experts: Annotated[
        Path,
        typer.Argument(
            metavar="EXPERTS",
            help="Table with ids and a column for each criterion; ratings.csv of a study is one.",
        ),
    ],
    output: Annotated[Path | None, option("Folder for alignment.yaml and alignment.json.")] = None,
    metric: Annotated[
        str | None, option("Metric of RESULTS; when omitted: the judge, or rubric_offline.")
    ] = None,
    criterion: Annotated[
        list[str] | None,
        option("CRITERION=COLUMN, where names differ; repeat it for further columns.", COLUMNS),
    ] = None,
    id_column: IdOption = None,
    system: Annotated[str | None, option("Column with the name of the system.", COLUMNS)] = None,
    case: Annotated[
        str | None,
        option("Column with the case; else pairs of one reference are of one case.", COLUMNS),
    ] = None,
    encoding: EncodingOption = None,
    baseline: Annotated[
        bool,
        option("Put rubric_offline beside, which costs nothing.", name="--baseline/--no-baseline"),
    ] = True,
    disagreements: Annotated[int, option("Disagreements to show.", min=0)] = 10,
    folds: Annotated[int, option("Folds of cases.", STATISTICS, min=2)] = 5,
    resamples: Annotated[int, option("Resamples for intervals.", STATISTICS, min=1)] = 2000,
    seed: SeedOption = 0,
    look: LookOption = "table",
) -> None:
    """Put a judge's scores beside experts', and fit what brings them closer.

    Mappings are fitted on all cases and judged on cases that they were not fitted on; a criterion
    with too few different scores is left as it is. `histoeval judge --alignment alignment.yaml`
    applies them.

    Examples:
      histoeval judge align judged ratings.csv --output aligned
      histoeval judge align judged sheet.csv --criterion score=rater_anna
    """
    from histoeval.run.align_judge import align_judge
    from histoeval.view.terminal.judge import alignment_tables

    found = align_judge(
        results,
        experts,
        metric=metric,
        criteria=_columns(criterion or ()),
        case=case,
        baseline=baseline,
        folds=folds,
        resamples=resamples,
        seed=seed,
        columns=Columns(id=id_column, system=system),
        encoding=encoding,
        output=output,
    )
    print_tables(alignment_tables(found, disagreements), look)
    for note in found.notes:
        typer.echo(note, err=True)
    if output is not None:
        typer.echo(f"Written: {output / 'alignment.yaml'}, {output / 'alignment.json'}")


def _columns(assignments: list[str] | tuple[()]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in assignments:
        name, equals, column = each.partition("=")
        if not equals or not column:
            raise SettingError(f"--criterion {each!r} is not of the form CRITERION=COLUMN")
        found.setdefault(name.strip(), []).append(column.strip())
    return found
