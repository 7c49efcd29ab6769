"""`histoeval trust tune`: weights and thresholds from labelled reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from histoeval.cli.options.bundle import bundle, spread
from histoeval.cli.options.files import demand_folder
from histoeval.errors import SettingError

if TYPE_CHECKING:
    from histoeval.run.labelled_reports import LabelRequest
    from histoeval.run.trust.tune import TuningResult
    from histoeval.trust.policy.policy import Dimension
    from histoeval.trust.policy.thresholds import Costs, Target
    from histoeval.trust.policy.tuning import TuningPlan

LABELS = "Labels"
THRESHOLDS = "Thresholds"
SEARCH = "Search"


@bundle
class LabelColumns:
    """Where the labels are, and what they mean."""

    labels: Annotated[
        Path | None,
        typer.Option(help="Table with id, a label, and a case.", rich_help_panel=LABELS),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            help="Column of the label: correct or wrong, an error level, or a human score.",
            rich_help_panel=LABELS,
        ),
    ] = None
    more_is: Annotated[
        Literal["better", "worse"] | None,
        typer.Option(help="What more of a number means.", rich_help_panel=LABELS),
    ] = None
    wrong_from: Annotated[
        float | None,
        typer.Option(help="Error level from which on a report is wrong.", rich_help_panel=LABELS),
    ] = None
    right_from: Annotated[
        float | None,
        typer.Option(help="Human score from which on a report is right.", rich_help_panel=LABELS),
    ] = None
    case: Annotated[
        str | None,
        typer.Option(
            help="Column of the case; reports of one are kept together.", rich_help_panel=LABELS
        ),
    ] = None

    def asked(self) -> LabelRequest:
        """As the reading of labelled reports takes them."""
        from histoeval.run.labelled_reports import LabelRequest

        return LabelRequest(
            label=self.label,
            case=self.case,
            more_is=self.more_is,
            wrong_from=self.wrong_from,
            right_from=self.right_from,
        )


@bundle
class Search:
    """How weights are searched for, and how they are tried on other reports."""

    without: Annotated[
        list[str] | None,
        typer.Option(
            help="Dimension that is not known and gets no weight; give it again for more.",
            rich_help_panel=SEARCH,
        ),
    ] = None
    policy: Annotated[
        Path | None,
        typer.Option(help="Policy to begin with: its floors are kept.", rich_help_panel=SEARCH),
    ] = None
    step: Annotated[
        float, typer.Option(min=0.01, max=0.5, help="Of the weights.", rich_help_panel=SEARCH)
    ] = 0.05
    folds: Annotated[int, typer.Option(min=2, rich_help_panel=SEARCH)] = 5
    repeats: Annotated[
        int, typer.Option(min=1, help="Times the folds are dealt anew.", rich_help_panel=SEARCH)
    ] = 5
    seed: Annotated[int, typer.Option(rich_help_panel=SEARCH)] = 0

    def plan(self, aim: Target | Costs) -> TuningPlan:
        """The search for weights and thresholds that come up to this aim."""
        from histoeval.trust.policy.policy import read_policy
        from histoeval.trust.policy.tuning import TuningPlan

        return TuningPlan(
            base=read_policy(self.policy),
            aim=aim,
            without=dimensions_of(self.without or ()),
            parts=parts_of(self.step),
            folds=self.folds,
            repeats=self.repeats,
            seed=self.seed,
        )


@bundle
class ThresholdOptions:
    """What thresholds have to come up to: shares, or costs in their place."""

    wrong_deployed: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Share of the deployed that may be wrong.",
            rich_help_panel=THRESHOLDS,
        ),
    ] = 0.05
    right_rejected: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Share of the rejected that may be right.",
            rich_help_panel=THRESHOLDS,
        ),
    ] = 0.05
    confidence: Annotated[
        float,
        typer.Option(
            min=0.5,
            max=0.999,
            help="How sure that must be; 0.5 takes the shares as they are counted.",
            rich_help_panel=THRESHOLDS,
        ),
    ] = 0.5
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="MISSED,REVIEW,LOST",
            help="Instead of shares: what a wrong report deployed, a review and a right report "
            "rejected cost, as in 20,1,5.",
            rich_help_panel=THRESHOLDS,
        ),
    ] = None

    def aim(self) -> Target | Costs:
        """As the choice of thresholds takes it."""
        from histoeval.trust.policy.thresholds import Target

        shares = Target(
            wrong_deployed=self.wrong_deployed,
            right_rejected=self.right_rejected,
            confidence=self.confidence,
        )
        return shares if self.costs is None else costs_of(self.costs)


@spread
def tune(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="LABELLED",
            help="Table with grounding, logic, stability and a label; or trust.jsonl and --labels.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option(help="File for the policy, as YAML.")],
    labelled: LabelColumns = LabelColumns(),
    search: Search = Search(),
    thresholds: ThresholdOptions = ThresholdOptions(),
) -> None:
    """Choose weights and thresholds on labelled reports, and tell what they are worth on others."""
    from histoeval.progress import step_progress
    from histoeval.run.trust.tune import tune_file, write_policy

    demand_folder(output)
    plan = search.plan(thresholds.aim())
    with step_progress("tuning", plan.folds * plan.repeats) as tell:
        found = tune_file(file, plan, labels=labelled.labels, asked=labelled.asked(), watch=tell)
    write_policy(found, output)
    _show(found)
    typer.echo(f"Written: {output}")


def _show(found: TuningResult) -> None:
    from rich.console import Console

    from histoeval.run.trust.tune import history
    from histoeval.table import terminal_table
    from histoeval.view.terminal.trust import tuning_tables

    console = Console()
    for told in tuning_tables(found):
        console.print(terminal_table(told))
        console.print()
    for line in history(found):
        typer.echo(line)


def dimensions_of(names: Sequence[str]) -> tuple[Dimension, ...]:
    """Dimensions by their names."""
    from histoeval.trust.policy.policy import DIMENSIONS

    if unknown := [name for name in names if name not in DIMENSIONS]:
        raise SettingError(f"there is no dimension {unknown[0]!r}; known: {', '.join(DIMENSIONS)}")
    if len({*names}) == len(DIMENSIONS):
        raise SettingError("without all dimensions there is nothing to weigh")
    return tuple(name for name in DIMENSIONS if name in names)


def parts_of(step: float) -> int:
    """In how many equal parts a weight of 1 is dealt out."""
    parts = round(1 / step)
    if abs(parts * step - 1) > 1e-9:
        raise SettingError(f"steps of {step:g} do not add up to 1; take 0.05, 0.1 or 0.025")
    return parts


def costs_of(text: str) -> Costs:
    """Costs as a person writes them."""
    from pydantic import ValidationError

    from histoeval.trust.policy.thresholds import Costs

    try:
        missed, review, lost = (float(cell) for cell in text.split(","))
        return Costs(missed=missed, review=review, lost=lost)
    except (ValueError, ValidationError) as error:
        raise SettingError(f"{text!r} are no costs: give three numbers, as in 20,1,5") from error
