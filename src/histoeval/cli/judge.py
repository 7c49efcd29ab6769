"""`histoeval judge`: let language models score reports by a rubric."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from histoeval.cli.output import (
    LookOption,
    demand_folder,
    exit_with,
    print_lines,
    print_tables,
    resumable,
    say_next,
    write_lines,
)
from histoeval.cli.verb import verb
from histoeval.errors import SettingError
from histoeval.io.results import result_folder
from histoeval.judges.check import checkable, examine, trials
from histoeval.judges.choice import open_panel
from histoeval.judges.panel import estimate
from histoeval.judges.prompt import load_prompt
from histoeval.llm.access import CacheFile
from histoeval.llm.cache import Cache, default_cache
from histoeval.run.align_judge import JudgeAgreement, align_judge
from histoeval.run.judge import open_judged, pairs_of, prices_of, run_judges
from histoeval.run.settings import JudgePrompt, JudgeRequests, JudgeSettings, Repeats
from histoeval.settings import Option
from histoeval.view.terminal import judge as terminal
from histoeval.view.terminal.scores import problem_table, score_table


@verb
def align(
    agreement: Annotated[partial[JudgeAgreement], Option("", shell=align_judge)],
    disagreements: Annotated[int, Option("Disagreements to show.", min=0)] = 10,
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
    result = agreement()
    print_tables(terminal.alignment_tables(result, disagreements), look)
    print_lines(*result.notes, err=True)
    if (output := agreement.keywords["output"]) is not None:
        typer.echo(f"Written: {output / 'alignment.yaml'}, {output / 'alignment.json'}")


@verb
def check(
    judges: JudgeRequests,
    prompt: JudgePrompt = "rubric4",
    output: Annotated[Path | None, Option("JSON lines file for the verdicts.")] = None,
    repeats: Repeats = 1,
) -> None:
    """Test a judge on 55 pairs of known order, and show for which criteria it may be used.

    Exit code 0: for all of them; 1: for some or none; 2: nothing could be done.

    Examples:
      histoeval judge check --endpoint http://localhost:8000/v1 --model NAME
    """
    demand_folder(output)
    loaded = load_prompt(prompt)
    if not checkable(loaded):
        raise SettingError(
            f"{loaded.name} cannot be checked: it has no criterion of rubric4 or expert5, for "
            "which the right order of the pairs is known"
        )
    panel = open_panel(judges.required(repeats=repeats))
    with terminal.answer_progress(panel, lambda: len(trials())):
        verdicts_by_judge = examine(panel, loaded)
    for judge, verdicts in verdicts_by_judge.items():
        print_tables([terminal.verdict_table(judge, verdicts)])
        print_lines(*[f"{v.criterion}: {v.why_not}" for v in verdicts if not v.may_be_used])
    if output is not None:
        lines = [
            (judge, verdict)
            for judge, verdicts in verdicts_by_judge.items()
            for verdict in verdicts
        ]
        write_lines(output, (f'{{"judge":"{j}",{v.model_dump_json()[1:]}' for j, v in lines))
    is_good = all(
        verdict.may_be_used for verdicts in verdicts_by_judge.values() for verdict in verdicts
    )
    raise typer.Exit(0 if is_good else 1)


cache_app = typer.Typer(no_args_is_help=True, help="List, clear or export cached replies.")


@cache_app.command("list")
@verb
def list_cached(cache: CacheFile = None) -> None:
    """Count the cached replies by judge and prompt.

    Examples:
      histoeval judge cache list
    """
    with Cache(cache or default_cache()) as file:
        print_tables([terminal.cache_table(file.stats())])
        typer.echo(f"in {file.path}")


@cache_app.command("clear")
@verb
def clear_cached(
    cache: CacheFile = None,
    judge: Annotated[str | None, Option("Judges whose model@endpoint starts with this.")] = None,
    prompt: Annotated[str | None, Option("Only prompts whose name starts with this.")] = None,
) -> None:
    """Delete cached replies: all of them, or those of a judge or a prompt.

    Examples:
      histoeval judge cache clear --prompt rubric4
    """
    with Cache(cache or default_cache()) as file:
        typer.echo(f"{file.clear(judge, prompt):,} replies deleted")


@cache_app.command("export")
@verb
def export_cached(
    output: Annotated[Path, typer.Argument(help="JSON lines file to write.")],
    cache: CacheFile = None,
) -> None:
    """Write all replies to a file, one per line; replies may quote reports.

    Examples:
      histoeval judge cache export replies.jsonl
    """
    demand_folder(output)
    with Cache(cache or default_cache()) as file:
        write_lines(output, file.export())


FILE = "file"  # the subcommand that is meant if none is named


class _FileGroup(TyperGroup):
    """A group whose first word may be omitted: `judge pairs.csv`, and `judge --help`, work."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
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


@judge_app.command(FILE)
@verb
def judge(
    settings: JudgeSettings,
    judges: JudgeRequests,
    dry_run: Annotated[
        bool, Option("Count pairs, tokens and cached answers; send nothing.", name="--dry-run")
    ] = False,
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
    settings = replace(settings, llm=judges.required(**settings.sampling))
    source, panel = open_judged(settings)
    if dry_run:
        prompt, pairs = load_prompt(settings.prompt), pairs_of(source)
        print_tables([terminal.estimate_table(estimate(panel, prompt, pairs, prices_of(settings)))])
        return
    folder = result_folder(settings.output, settings.format)
    with (
        resumable("the cache" if judges.requests.keep else settings.output, "answers are"),
        terminal.answer_progress(panel, lambda: sum(1 for _ in pairs_of(source))) as watch,
    ):
        scores = run_judges(settings, source, panel, watch)
    summary, about = scores.summary, scores.summary["judge"]
    name = f"judge_{about['prompt']['name']}"
    print_tables(
        [
            score_table(summary),
            terminal.criteria_table(summary, name),
            *terminal.steadiness_tables(about),
        ]
    )
    if warning := terminal.without_difference(summary, name):
        typer.echo(warning)
    if contradictory := about["pairs_with_contradictory_scores"]:
        typer.echo(f"pairs with scores that contradict each other: {contradictory:,}")
    print_tables([terminal.usage_table(summary["usage"]), problem_table(summary)])
    if folder is not None:
        names = (folder.stored.name, "summary.json", "missing.jsonl", "usage.json")
        typer.echo(f"Written: {', '.join(str(folder.home / name) for name in names)}")
        say_next("To look at it", "report", folder.home)
    exit_with(summary["scores"], summary["rows_with_errors"])
