"""`histoeval trust policies`: how reports are routed, in plain words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from histoeval.cli.options.bundle import verb
from histoeval.cli.options.output import print_tables
from histoeval.pathgls.policy.policy import POLICIES, read_policy
from histoeval.view.terminal.trust import meaning_lines, policy_line, policy_table


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
    found = [read_policy(name) for name in names or POLICIES]
    print_tables([policy_table(found)])
    for policy in found if names else ():
        typer.echo()
        for line in policy_lines(policy.content(), "validated"):
            typer.echo(line)
    if not names:
        typer.echo("More: histoeval trust policies NAME.")


def policy_lines(policy: Mapping[str, Any], *more: str) -> list[str]:
    """A policy as people read it: its numbers, then what each verdict means, and `more` of it."""
    meaning = meaning_lines(policy, *more)
    return [f"Policy: {policy_line(policy)}", *(f"  {each}" for each in meaning)]
