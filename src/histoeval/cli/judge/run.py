"""`histoeval judge FILE`: let language models score reports by a rubric."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from histoeval.cli.judge.align import align
from histoeval.cli.judge.cache import cache_app
from histoeval.cli.judge.check import check
from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.columns import EncodingOption, JoinOptions, PairColumns
from histoeval.cli.options.endpoint import (
    REQUESTS,
    CacheOptions,
    RateOptions,
    RequestOptions,
    RetryOptions,
    TemperatureOption,
)
from histoeval.cli.options.engine import EngineOptions
from histoeval.cli.options.judge import FormatOption, JudgeOptions, PromptOption, RepeatsOption
from histoeval.cli.options.output import (
    ROW_FORM,
    NoTextsOption,
    OverwriteOption,
    exit_with,
    print_tables,
    resumable,
    say_next,
)
from histoeval.io.pairs import open_source
from histoeval.io.results import ResultFolder, result_folder
from histoeval.io.row_files import RowForm
from histoeval.io.tables.remote import local_input
from histoeval.judges.choice import open_panel
from histoeval.judges.panel import estimate
from histoeval.judges.prompt import load_prompt
from histoeval.llm.usage import read_prices
from histoeval.run.judge import pairs_of, run_judges
from histoeval.run.models import load_metrics, metric_names
from histoeval.view.terminal.judge import (
    answer_progress,
    criteria_table,
    estimate_table,
    steadiness_tables,
    usage_table,
    without_difference,
)
from histoeval.view.terminal.scores import problem_table, score_table

FILE = "file"
"""The subcommand that is meant if none is named."""


class _FileGroup(TyperGroup):
    """A group whose first word may be omitted: `judge pairs.csv`, and `judge --help`, work."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the word if the first is no subcommand."""
        if args and args[0] not in self.commands:
            args = [FILE, *args]
        return super().parse_args(ctx, args)


judge_app = typer.Typer(
    cls=_FileGroup,
    no_args_is_help=True,
    help="Let language models score reports by a rubric: `histoeval judge FILE --endpoint URL "
    "--model NAME --output DIR`.",
)
judge_app.command("check")(check)
judge_app.command("align")(align)
judge_app.add_typer(cache_app, name="cache")


@dataclass(frozen=True)
class SamplingOptions:
    """How often and how a judge is asked; all of it is part of the cache key."""

    repeats: RepeatsOption = 1
    check_order: Annotated[
        bool, option("Ask again with the candidate first, and compare.", name="--check-order")
    ] = False
    temperature: TemperatureOption = 0.0
    seed: Annotated[int, option("Seed of the first repeat; repeat n uses seed + n.", REQUESTS)] = 0
    form: FormatOption = "auto"


@judge_app.command(FILE)
@verb
def judge(
    inputs: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", parser=local_input, help="Pairs, as for `histoeval score`."),
    ],
    prompt: PromptOption = "rubric4",
    judges: JudgeOptions = JudgeOptions(),
    output: Annotated[
        Path | None,
        option("Folder for scores.jsonl and the other results; a stopped run resumes there."),
    ] = None,
    rows: Annotated[RowForm | None, option(ROW_FORM, name="--output-format")] = None,
    overwrite: OverwriteOption = False,
    no_texts: NoTextsOption = False,
    dry_run: Annotated[
        bool, option("Count pairs, tokens and cached answers; send nothing.", name="--dry-run")
    ] = False,
    beside: Annotated[
        str, option("Metrics to compute as well, as in rubric_offline,concordance.")
    ] = "",
    alignment: Annotated[
        Path | None,
        option("alignment.yaml of `histoeval judge align`: put scores where experts would."),
    ] = None,
    prices: Annotated[Path | None, option("TOML file with the prices of models.")] = None,
    replies: CacheOptions = CacheOptions(),
    sampling: SamplingOptions = SamplingOptions(),
    requests: RequestOptions = RequestOptions(),
    rates: RateOptions = RateOptions(),
    retry: RetryOptions = RetryOptions(),
    join: JoinOptions = JoinOptions(),
    columns: PairColumns = PairColumns(),
    encoding: EncodingOption = None,
    engine: EngineOptions = EngineOptions(),
) -> None:
    """Let language models score the pairs of a FILE by a rubric.

    The word `file` can be omitted. Other commands: `histoeval judge check` (is a judge good
    enough?), `histoeval judge align` (bring it closer to experts) and `histoeval judge cache`
    (list, clear or export cached replies).

    Exit code 0: every pair was scored; 1: some were not, and errors say why; 2: nothing could
    be done.

    Examples:
      histoeval judge pairs.csv --endpoint URL --model NAME --dry-run
      histoeval judge pairs.csv --endpoint URL --model NAME --output judged
    """
    config = judges.required(
        manner={**vars(sampling), "body": requests.extra()},
        patience=retry.policy(rates),
        concurrency=requests.concurrency,
        log_requests=requests.log_requests,
        cache=replies.cache,
        keep=not replies.no_cache,
    )
    price_list = read_prices(prices)
    loaded = load_prompt(prompt)
    source = open_source(
        inputs, columns.columns(), encoding, truth=join.truth, joining=join.joining()
    )
    panel = open_panel(config)
    if dry_run:
        print_tables([estimate_table(estimate(panel, loaded, pairs_of(source), price_list))])
        return
    folder = result_folder(output, rows)
    others = load_metrics(metric_names(beside)) if beside.strip() else []
    with (
        resumable(output if replies.no_cache else "the cache", "answers are"),
        answer_progress(panel, lambda: sum(1 for _ in pairs_of(source))) as watch,
    ):
        found = run_judges(
            source,
            panel,
            prompt,
            price_list,
            beside=others,
            alignment="" if alignment is None else str(alignment),
            folder=folder,
            overwrite=overwrite,
            batch_size=engine.block_rows,
            watch=watch,
            engine=engine.chosen(),
            texts=not no_texts,
        )
    _print_summary(found.summary, folder)
    exit_with(found.summary["scores"], found.summary["rows_with_errors"])


def _print_summary(summary: dict[str, Any], folder: ResultFolder | None) -> None:
    about = summary["judge"]
    print_tables(
        [
            score_table(summary),
            criteria_table(summary, f"judge_{about['prompt']['name']}"),
            *steadiness_tables(about),
        ]
    )
    if warning := without_difference(summary, f"judge_{about['prompt']['name']}"):
        typer.echo(warning)
    if contradictory := about["pairs_with_contradictory_scores"]:
        typer.echo(f"pairs with scores that contradict each other: {contradictory:,}")
    print_tables([usage_table(summary["usage"]), problem_table(summary)])
    if folder is not None:
        names = (folder.stored.name, "summary.json", "missing.jsonl", "usage.json")
        typer.echo(f"Written: {', '.join(str(folder.home / name) for name in names)}")
        say_next("To look at it", "report", folder.home)
