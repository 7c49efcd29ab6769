"""`histoeval judge check`: is this judge good enough?"""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.endpoint import (
    CacheOption,
    RateOptions,
    RequestOptions,
    RetryOptions,
)
from histoeval.cli.options.judge import FormatOption, JudgeOptions, PromptOption, RepeatsOption
from histoeval.cli.options.output import demand_folder, print_tables, write_lines
from histoeval.errors import SettingError
from histoeval.judges.check import checkable, examine, trials
from histoeval.judges.choice import open_panel
from histoeval.judges.prompt import load_prompt
from histoeval.view.terminal.judge import answer_progress, verdict_table


@verb
def check(
    judges: JudgeOptions = JudgeOptions(),
    prompt: PromptOption = "rubric4",
    output: Annotated[Path | None, option("JSON lines file for the verdicts.")] = None,
    cache: CacheOption = None,
    repeats: RepeatsOption = 1,
    form: FormatOption = "auto",
    requests: RequestOptions = RequestOptions(),
    retry: RetryOptions = RetryOptions(),
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
    config = judges.required(
        manner={"repeats": repeats, "form": form, "body": requests.extra()},
        patience=retry.policy(RateOptions()),
        concurrency=requests.concurrency,
        log_requests=requests.log_requests,
        cache=cache,
    )
    panel = open_panel(config)
    with answer_progress(panel, lambda: len(trials())):
        found = examine(panel, loaded)
    for judge, verdicts in found.items():
        print_tables([verdict_table(judge, verdicts)])
        for each in verdicts:
            if not each.may_be_used:
                typer.echo(f"{each.criterion}: {each.why_not}")
    if output is not None:
        lines = [(judge, each) for judge, verdicts in found.items() for each in verdicts]
        write_lines(output, (f'{{"judge":"{j}",{v.model_dump_json()[1:]}' for j, v in lines))
    good = all(each.may_be_used for verdicts in found.values() for each in verdicts)
    raise typer.Exit(0 if good else 1)
