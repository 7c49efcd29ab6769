"""`histoeval compare`: which system writes better reports, by one metric?"""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.output import LookOption, demand_folder, print_lines, print_tables, write_lines
from histoeval.cli.verb import verb
from histoeval.errors import SettingError
from histoeval.run.compare.compare import GATE, MOST_DIFFERENT, Comparison
from histoeval.run.compare.compare import compare as compare_systems
from histoeval.run.history import command_line
from histoeval.settings import Option
from histoeval.view.terminal import comparison as terminal

# the exit code where a condition is met: neither that of a crash nor that of a wrong command
GATE_FAILED = 3
STDOUT = Path("-")


@verb
def compare(
    comparison: Annotated[partial[Comparison], Option("", shell=compare_systems)],
    markdown: Annotated[
        Path | None,
        Option("File for a summary in Markdown; - prints it in place of the tables.", GATE),
    ] = None,
    junit: Annotated[Path | None, Option("File for the conditions as JUnit XML.", GATE)] = None,
    show: Annotated[
        int | None,
        Option(
            "Number of most different pairs, and of worse cases, to show; 5 and 20 when omitted.",
            min=0,
        ),
    ] = None,
    output: Annotated[Path | None, Option("Folder for comparison.json.")] = None,
    look: LookOption = "table",
) -> None:
    """Compare systems: means, differences with tests, wins, and the cases that differ most.

    With --baseline also the cases that got worse. Exit code 0: compared, and no condition of
    --fail-if is met; 2: nothing could be compared; 3: a condition is met.

    Examples:
      histoeval compare results_a results_b
      histoeval compare results_a results_b --metric bleu --missing worst
      histoeval compare --baseline main new --fail-if 'new critical errors > 0'
    """
    for name, file in (("--markdown", markdown), ("--junit", junit)):
        if file is not None and comparison.keywords["baseline"] is None:
            raise SettingError(f"{name} is about a comparison with a baseline: give --baseline")
        if file != STDOUT:
            demand_folder(file)
    result = comparison(most_different=MOST_DIFFERENT if show is None else show)
    worst = terminal.WORST if show is None else show
    gate, is_on_stdout = result.gate, markdown == STDOUT
    if gate is not None and markdown is not None:
        text = terminal.gate_markdown(result, gate, worst)
        if is_on_stdout:
            typer.echo(text)
        else:
            write_lines(markdown, [text.rstrip()])
    if gate is not None and junit is not None:
        write_lines(junit, [terminal.gate_junit(gate).rstrip()], quiet=is_on_stdout)
    if not is_on_stdout:
        print_lines(*dict.fromkeys([*result.notes, *(gate.notes if gate else ())]))
        apart = result.apart if gate is None else ()  # the worse cases say more
        print_tables(terminal.comparison_tables(result.metric, result.contest, apart), look)
        print_tables(terminal.gate_tables(gate, worst) if gate else (), look)
        print_lines(*terminal.remarks(result.contest), err=True)
    if output is not None:
        typer.echo(f"Written: {result.write(output, command_line())}", err=is_on_stdout)
    if gate is not None and not gate.passed:
        typer.echo(terminal.verdict(gate), err=True)
        raise typer.Exit(GATE_FAILED)
