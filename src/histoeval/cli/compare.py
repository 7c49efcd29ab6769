"""`histoeval compare`: which system writes better reports, by one metric?"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.completion import metric_option
from histoeval.cli.options.output import (
    LookOption,
    demand_folder,
    print_tables,
    write_lines,
)
from histoeval.cli.options.statistics import PermutationsOption, ResamplesOption, SeedOption
from histoeval.errors import SettingError
from histoeval.run.compare.compare import MOST_DIFFERENT, Comparison
from histoeval.run.compare.compare import compare as compare_systems
from histoeval.run.history.stored_runs import command_line
from histoeval.statistics.resampling import PERMUTATIONS, RESAMPLES
from histoeval.view.terminal.comparison import (
    WORST,
    comparison_tables,
    gate_junit,
    gate_markdown,
    gate_tables,
    remarks,
    verdict,
)

GATE = "Gate"
GATE_FAILED = 3
"""The exit code where a condition is met: neither that of a crash nor that of a wrong command."""

STDOUT = Path("-")


@verb
def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="SCORES",
            help="scores.jsonl files written by `histoeval score`, or their folders. One file may "
            "hold several systems.",
        ),
    ],
    baseline: Annotated[
        Path | None,
        option(
            "Scores that the others must not be worse than: lists the cases that got worse.",
            GATE,
            metavar="SCORES",
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        option(
            "Condition under which the comparison fails, as in 'concordance drop > 0.01 with "
            "p < 0.05' or 'new critical errors > 0'; repeat it for several. docs/gates.md has all.",
            GATE,
            metavar="CONDITION",
        ),
    ] = None,
    markdown: Annotated[
        Path | None,
        option("File for a summary in Markdown; - prints it in place of the tables.", GATE),
    ] = None,
    junit: Annotated[Path | None, option("File for the conditions as JUnit XML.", GATE)] = None,
    metric: Annotated[
        str | None,
        metric_option(
            "Metric to compare by. When omitted: concordance, or the only one in the files."
        ),
    ] = None,
    cases: Annotated[
        Path | None, option("Table of id and case; without it each id is its own case.")
    ] = None,
    tie: Annotated[
        float, option("Largest difference of scores that counts as a tie.", min=0)
    ] = 0.0,
    missing: Annotated[
        Literal["worst", "skip"] | None,
        option(
            "What to do with ids that not every system has: give a system without a score the "
            "metric's worst value, or skip the id. When omitted: skip, unless that leaves less "
            "than half of the ids."
        ),
    ] = None,
    show: Annotated[
        int | None,
        option(
            "Number of most different pairs, and of worse cases, to show; 5 and 20 when omitted.",
            min=0,
        ),
    ] = None,
    output: Annotated[Path | None, option("Folder for comparison.json.")] = None,
    look: LookOption = "table",
    resamples: ResamplesOption = RESAMPLES,
    permutations: PermutationsOption = PERMUTATIONS,
    seed: SeedOption = 0,
) -> None:
    """Compare systems: means, differences with tests, wins, and the cases that differ most.

    With --baseline also the cases that got worse. Exit code 0: compared, and no condition of
    --fail-if is met; 2: nothing could be compared; 3: a condition is met.

    Examples:
      histoeval compare results_a results_b
      histoeval compare results_a results_b --metric bleu --missing worst
      histoeval compare --baseline main new --fail-if 'new critical errors > 0'
    """
    _check_files(baseline, markdown, junit)
    found = compare_systems(
        files,
        baseline=baseline,
        fail_if=fail_if or (),
        metric=metric,
        cases=cases,
        tie=tie,
        missing=missing,
        most_different=MOST_DIFFERENT if show is None else show,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
    )
    worst = WORST if show is None else show
    if found.gate is not None and markdown is not None:
        _write_markdown(markdown, gate_markdown(found, found.gate, worst))
    if found.gate is not None and junit is not None:
        write_lines(junit, [gate_junit(found.gate).rstrip()], quiet=markdown == STDOUT)
    if markdown != STDOUT:
        _print(found, look, worst)
    if output is not None:
        typer.echo(f"Written: {found.write(output, command_line())}", err=markdown == STDOUT)
    if found.gate is not None and not found.gate.passed:
        typer.echo(verdict(found.gate), err=True)
        raise typer.Exit(GATE_FAILED)


def _check_files(baseline: Path | None, markdown: Path | None, junit: Path | None) -> None:
    """Refuse what cannot be written before the work."""
    for name, file in (("--markdown", markdown), ("--junit", junit)):
        if file is not None and baseline is None:
            raise SettingError(f"{name} is about a comparison with a baseline: give --baseline")
        if file != STDOUT:
            demand_folder(file)


def _write_markdown(file: Path, text: str) -> None:
    if file == STDOUT:
        typer.echo(text)
    else:
        write_lines(file, [text.rstrip()])


def _print(found: Comparison, look: str, worst: int) -> None:
    gate = found.gate
    for note in dict.fromkeys([*found.notes, *(gate.notes if gate else ())]):
        typer.echo(note)
    apart = found.apart if gate is None else ()  # the worse cases say more
    print_tables(comparison_tables(found.metric, found.contest, apart), look)
    if gate is not None:
        print_tables(gate_tables(gate, worst), look)
    for remark in remarks(found.contest):
        typer.echo(remark, err=True)
