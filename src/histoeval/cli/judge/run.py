"""`histoeval judge FILE`: have language models score reports by a rubric."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from histoeval.cli.judge.cache import cache_app
from histoeval.cli.judge.check import check
from histoeval.cli.options.bundle import PairColumns, bundle, spread
from histoeval.cli.options.endpoint import ASKING, Load, Rates, Replies, TimeoutOptions
from histoeval.cli.options.judge import (
    FormatOption,
    JudgeKey,
    JudgeNames,
    PromptOption,
    RepeatsOption,
)
from histoeval.cli.options.models import EncodingOption, OverwriteOption

if TYPE_CHECKING:
    from histoeval.io.pairs import PairSource
    from histoeval.judge.panel import JudgePanel
    from histoeval.llm.usage import Prices

FILE = "file"
"""The verb that is meant where none is named."""


class _FileGroup(TyperGroup):
    """A group whose first word may be left out, so that `judge pairs.csv` works."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the word in where the first is no verb."""
        if args and args[0] not in (*self.commands, "--help"):
            args = [FILE, *args]
        return super().parse_args(ctx, args)


judge_app = typer.Typer(
    cls=_FileGroup,
    no_args_is_help=True,
    help="Have language models score reports by a rubric: `histoeval judge FILE --endpoint URL "
    "--model NAME --output DIR`.",
)
judge_app.command("check")(check)
judge_app.add_typer(cache_app, name="cache")


@bundle
class JudgeManner:
    """How often and how a judge is asked; all of it counts for what it answers."""

    repeats: RepeatsOption = 1
    check_order: Annotated[
        bool,
        typer.Option("--check-order", help="Ask once more with the candidate first, and compare."),
    ] = False
    temperature: Annotated[float, typer.Option(min=0, rich_help_panel=ASKING)] = 0.0
    seed: Annotated[
        int,
        typer.Option(help="Of the first repeat; the next has the next.", rich_help_panel=ASKING),
    ] = 0
    form: FormatOption = "auto"


@judge_app.command(FILE)
@spread
def judge(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="Pairs, as `histoeval score` takes them.", show_default=False
        ),
    ],
    prompt: PromptOption = "rubric4",
    judges: JudgeNames = JudgeNames(),
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for scores.jsonl and the rest; a stopped run continues."),
    ] = None,
    overwrite: OverwriteOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count pairs, tokens and cached answers; ask nothing.")
    ] = False,
    beside: Annotated[
        str,
        typer.Option(help="Metrics to run beside it, as in rubric_offline,concordance."),
    ] = "",
    prices: Annotated[Path | None, typer.Option(help="TOML table of prices.")] = None,
    replies: Replies = Replies(),
    manner: JudgeManner = JudgeManner(),
    load: Load = Load(),
    rates: Rates = Rates(),
    waiting: TimeoutOptions = TimeoutOptions(),
    key: JudgeKey = JudgeKey(),
    columns: PairColumns = PairColumns(),
    encoding: EncodingOption = None,
) -> None:
    """Judge the pairs of a FILE (the word `file` can be left out).

    Exit code 0: every pair was scored; 1: some were not, and errors say why; 2: nothing could
    be done.
    """
    from histoeval.io.pairs import open_source
    from histoeval.judge.choice import open_panel
    from histoeval.judge.prompt import load_prompt
    from histoeval.llm.usage import read_prices

    choice = judges.demanded(
        manner={**asdict(manner), "body": load.more()},
        patience=waiting.patience(rates),
        concurrency=load.concurrency,
        key_env=key.key_env,
        key_file=key.key_file,
        cache=replies.cache,
        keep=not replies.no_cache,
    )
    table = read_prices(prices)
    load_prompt(prompt)
    source = open_source(inputs, columns.columns(), encoding)
    bench = open_panel(choice)
    if dry_run:
        _show_estimate(source, bench, prompt, table)
        return
    _judge(source, bench, prompt, table, beside=beside, output=output, overwrite=overwrite)


def _show_estimate(source: PairSource, bench: JudgePanel, prompt: str, prices: Prices) -> None:
    from rich.console import Console

    from histoeval.judge.estimate import estimate
    from histoeval.judge.prompt import load_prompt
    from histoeval.run.judge import pairs_of
    from histoeval.view.terminal.judge import estimate_table

    Console().print(estimate_table(estimate(bench, load_prompt(prompt), pairs_of(source), prices)))


def _judge(
    source: PairSource,
    bench: JudgePanel,
    prompt: str,
    prices: Prices,
    *,
    beside: str,
    output: Path | None,
    overwrite: bool,
) -> None:
    from histoeval.io.results import ResultFolder
    from histoeval.run.judge import pairs_of, run_judges
    from histoeval.run.scoring import make_metrics, metric_names
    from histoeval.view.terminal.judge import answer_progress

    others = make_metrics(metric_names(beside)) if beside.strip() else []
    try:
        with answer_progress(bench, lambda: sum(1 for _ in pairs_of(source))) as watch:
            summary = run_judges(
                source,
                bench,
                prompt,
                prices,
                beside=others,
                folder=None if output is None else ResultFolder(output),
                overwrite=overwrite,
                batch_size=max(16, bench.concurrency),
                watch=watch,
            )
    except KeyboardInterrupt:
        typer.echo("stopped; every answer is kept: the same command goes on there", err=True)
        raise typer.Exit(130) from None
    _show(summary, output)
    raise typer.Exit(_exit_code(summary))


def _show(summary: dict[str, Any], output: Path | None) -> None:
    from rich.console import Console

    from histoeval.view.terminal.judge import (
        criteria_table,
        steadiness_tables,
        usage_table,
    )
    from histoeval.view.terminal.scores import problem_table, score_table

    console = Console()
    console.print(score_table(summary))
    console.print(criteria_table(summary, f"judge_{summary['judge']['prompt']['name']}"))
    for table in steadiness_tables(summary["judge"]):
        console.print(table)
    if contradictory := summary["judge"]["pairs_with_contradictory_scores"]:
        typer.echo(f"pairs with scores that contradict each other: {contradictory:,}")
    console.print(usage_table(summary["usage"]))
    if (problems := problem_table(summary)) is not None:
        console.print(problems)
    if output is not None:
        names = ("scores.jsonl", "summary.json", "missing.jsonl", "usage.json")
        typer.echo(f"Written: {', '.join(str(output / name) for name in names)}")


def _exit_code(summary: dict[str, Any]) -> int:
    if not summary["scores"]:
        return 2
    return 1 if summary["rows_with_errors"] else 0
