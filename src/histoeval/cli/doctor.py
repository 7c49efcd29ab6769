"""`histoeval doctor`: what is installed, what is missing, and what that means."""

from typing import Annotated

from rich.text import Text

from histoeval.cli.output import print_tables
from histoeval.cli.verb import verb
from histoeval.settings import Option
from histoeval.table import ResultTable


@verb
def doctor(
    everything: Annotated[
        bool, Option("Every package with its version, and why a metric cannot run.", name="--all")
    ] = False,
) -> None:
    """Show what is installed and what is missing.

    Examples:
      histoeval doctor
      histoeval doctor --all
    """
    from histoeval.run import doctor as installation  # it reads the metadata of every package

    items = installation.details() if everything else installation.overview()
    states = installation.metric_states()
    lines = [installation.ready_line(states)]
    if others := installation.plug_ins():
        lines.append(f"Metrics from outside this package: {', '.join(others)}.")
    lines += [problem[:1].upper() + problem[1:] for problem in installation.plug_in_problems()]
    if everything:
        reasons = [(state.name, installation.metric_details(state.name)[1]) for state in states]
        lines += [f"{name} {why}" for name, why in reasons if why]
    else:
        lines.append("More: histoeval doctor --all, histoeval metrics NAME.")
    table = ResultTable("", ["what", "state", "matters for"], [list(item) for item in items])
    print_tables([Text(installation.machine() + "\n"), table, Text(), *map(Text, lines)])
