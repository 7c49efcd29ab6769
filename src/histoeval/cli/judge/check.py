"""`histoeval judge check`: is this judge good enough?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import spread
from histoeval.cli.options.endpoint import CacheOption, Load, Rates, TimeoutOptions
from histoeval.cli.options.files import demand_folder, write_lines
from histoeval.cli.options.judge import (
    FormatOption,
    JudgeKey,
    JudgeNames,
    PromptOption,
    RepeatsOption,
)
from histoeval.errors import SettingError


@spread
def check(
    judges: JudgeNames = JudgeNames(),
    prompt: PromptOption = "rubric4",
    output: Annotated[Path | None, typer.Option(help="JSON lines file for the verdicts.")] = None,
    cache: CacheOption = None,
    repeats: RepeatsOption = 1,
    form: FormatOption = "auto",
    load: Load = Load(),
    waiting: TimeoutOptions = TimeoutOptions(),
    key: JudgeKey = JudgeKey(),
) -> None:
    """Ask about 55 pairs of known order, and say for which criteria a judge may be used.

    Exit code 0: for all of them; 1: for some or none; 2: nothing could be done.
    """
    from rich.console import Console

    from histoeval.judge.check import checkable, examine, trials
    from histoeval.judge.choice import open_panel
    from histoeval.judge.prompt import load_prompt
    from histoeval.view.terminal.judge import answer_progress, verdict_table

    demand_folder(output)
    loaded = load_prompt(prompt)
    if not checkable(loaded):
        raise SettingError(
            f"{loaded.name} has no criterion of rubric4 or expert5: nothing is known of what the "
            "pairs deserve by it"
        )
    choice = judges.demanded(
        manner={"repeats": repeats, "form": form, "body": load.more()},
        patience=waiting.patience(Rates()),
        concurrency=load.concurrency,
        key_env=key.key_env,
        key_file=key.key_file,
        cache=cache,
    )
    bench = open_panel(choice)
    with answer_progress(bench, lambda: len(trials())):
        found = examine(bench, loaded)
    console = Console()
    for judge, verdicts in found.items():
        console.print(verdict_table(judge, verdicts))
        for each in verdicts:
            if not each.may_be_used:
                typer.echo(f"{each.criterion}: {each.why_not}")
    if output is not None:
        lines = [(judge, each) for judge, verdicts in found.items() for each in verdicts]
        write_lines(output, (f'{{"judge":"{j}",{v.model_dump_json()[1:]}' for j, v in lines))
    good = all(each.may_be_used for verdicts in found.values() for each in verdicts)
    raise typer.Exit(0 if good else 1)
