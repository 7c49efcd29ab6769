"""`histoeval trust`: can reports be trusted when there is no reference?"""

from collections.abc import Sequence
from heapq import nsmallest
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from histoeval.cli.output import demand_folder, exit_with, print_lines, print_tables, resumable
from histoeval.cli.verb import verb
from histoeval.errors import SettingError, did_you_mean
from histoeval.pathgls.policy.policy import (
    DIMENSIONS,
    POLICIES,
    WITH_ENDPOINT,
    Dimension,
    read_policy,
)
from histoeval.pathgls.policy.tuning import THRESHOLDS, Costs, Target, TuningPlan
from histoeval.progress import step_progress
from histoeval.run.settings import TrustSettings
from histoeval.run.trust.tune import LABELS_PANEL, LabelRequest, history, tune_file, write_policy
from histoeval.settings import Option
from histoeval.view.html.trust import run_trust
from histoeval.view.terminal import trust as terminal
from histoeval.view.terminal.scores import problem_table
from histoeval.view.trust_words import worst_first


@verb
def policies(
    names: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="NAME|FILE", help="Policies to show in full; a list of all when omitted."
        ),
    ] = None,
) -> None:
    """List the policies that route reports, and what their verdicts mean.

    Examples:
      histoeval trust policies
      histoeval trust policies without_endpoint
    """
    policies_shown = [read_policy(name) for name in names or POLICIES]
    print_tables([terminal.policy_table(policies_shown)])
    for policy in policies_shown if names else ():
        print_lines("", *terminal.policy_lines(policy.content(), "validated"))
    if not names:
        typer.echo("More: histoeval trust policies NAME.")


SEARCH = "Search"
SHOWN = 10  # number of least trusted reports that are shown in the terminal


def dimensions_of(names: Sequence[str]) -> tuple[Dimension, ...]:
    if unknown := [name for name in names if name not in DIMENSIONS]:
        guess = did_you_mean(unknown[0], DIMENSIONS)
        raise SettingError(
            f"there is no dimension {unknown[0]!r}{guess}; known: {', '.join(DIMENSIONS)}"
        )
    if len({*names}) == len(DIMENSIONS):
        raise SettingError("no dimension is left to weigh: --without names all of them")
    return tuple(name for name in DIMENSIONS if name in names)


def parts_of(step: float) -> int:
    """Return the number of steps that add up to 1."""
    parts = round(1 / step)
    if abs(parts * step - 1) > 1e-9:
        raise SettingError(f"steps of {step:g} do not add up to 1; use 0.05, 0.1 or 0.025")
    return parts


def costs_of(text: str) -> Costs:
    try:
        missed, review, lost = (float(cell) for cell in text.split(","))
        return Costs(missed=missed, review=review, lost=lost)
    except (ValueError, ValidationError) as error:
        raise SettingError(f"--costs {text!r} is not three numbers, as in 20,1,5") from error


@verb
def tune(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="LABELLED",
            help="Table with grounding, logic, stability and a label; or trust.jsonl and --labels.",
        ),
    ],
    output: Annotated[Path, Option("File for the policy, as YAML.")],
    labels: Annotated[
        Path | None, Option("Table with id, label and optionally case.", LABELS_PANEL)
    ] = None,
    *,
    labelled: LabelRequest,
    without: Annotated[
        tuple[Dimension, ...],
        Option(
            "Dimension without weight, because it is unknown; can be repeated.",
            SEARCH,
            shell=list[str] | None,
            read=dimensions_of,
        ),
    ] = (),
    policy: Annotated[
        Path,
        Option(
            f"Policy to start from: {', '.join(POLICIES)}, or a YAML file; its floors and what it "
            "rejects at once are kept.",
            SEARCH,
            metavar="NAME|FILE",
        ),
    ] = Path(WITH_ENDPOINT),
    step: Annotated[float, Option("Step size of the weights.", SEARCH, min=0.01, max=0.5)] = 0.05,
    folds: Annotated[int, Option("Folds of the cross-validation.", SEARCH, min=2)] = 5,
    repeats: Annotated[int, Option("Repeats of the cross-validation.", SEARCH, min=1)] = 5,
    seed: Annotated[int, Option("Random seed of the folds.", SEARCH)] = 0,
    shares: Target,
    costs: Annotated[
        Costs | None,
        Option(
            "Instead of shares: the costs of a wrong report deployed, a review, and a right "
            "report rejected, as in 20,1,5.",
            THRESHOLDS,
            shell=str | None,
            read=costs_of,
            metavar="MISSED,REVIEW,LOST",
        ),
    ] = None,
) -> None:
    """Tune weights and thresholds on labelled reports, and cross-validate them.

    Examples:
      histoeval trust tune labelled.csv --output policy.yaml
    """
    demand_folder(output)
    plan = TuningPlan(
        base=read_policy(policy),
        aim=costs or shares,
        without=without,
        parts=parts_of(step),
        folds=folds,
        repeats=repeats,
        seed=seed,
    )
    with step_progress("tuning", folds * repeats) as report:
        tuned = tune_file(file, plan, labels=labels, asked=labelled, watch=report)
    write_policy(tuned, output)
    for table in terminal.tuning_tables(tuned):
        print_tables([table, ""])
    print_lines(*history(tuned), f"Written: {output}")


trust_app = typer.Typer(invoke_without_command=True, no_args_is_help=True)
trust_app.command("tune")(tune)
trust_app.command("policies")(policies)


@trust_app.callback()
@verb
def trust(context: typer.Context, settings: TrustSettings) -> None:
    """Decide which reports can be trusted without a reference.

    Each report is measured by grounding in the image, logic, and stability under attack, and gets
    a verdict: deploy, review or reject.

    Exit code 0: every report has a trust score; 1: some have none, and errors say why; 2: nothing
    could be done.

    Examples:
      histoeval trust --reports reports.csv --images slides --output trusted
    """
    if context.invoked_subcommand is not None:
        return
    if settings.data is None or settings.output is None:
        raise SettingError("give both --reports FILE and --output DIR")
    if settings.images is not None and not Path(settings.images).is_dir():
        raise SettingError(f"--images {settings.images} is not a folder")
    with resumable(settings.output):
        verdicts = run_trust(settings)
    summary, output = verdicts.summary, Path(settings.output)
    for table in terminal.trust_tables(summary, nsmallest(SHOWN, verdicts, key=worst_first)):
        print_tables([table, ""])
    print_lines(*summary["input"]["notes"], *terminal.policy_lines(summary["policy"]))
    print_tables([problem_table(summary)])
    names = ("trust.jsonl", "summary.json", *(["report.html"] if settings.texts else []))
    typer.echo(f"Written: {', '.join(str(output / name) for name in names)}")
    means = summary["means"]
    exit_with(sum(part["known"] for part in means.values()), means["trust"]["missing"])
