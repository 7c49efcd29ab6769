"""`histoeval doctor`: what is installed, what is missing, and what that means."""

from __future__ import annotations


def doctor() -> None:
    """Tell what is installed and what is missing."""
    from rich.console import Console

    from histoeval.run.doctor import examine
    from histoeval.view.terminal.scores import plain_table

    Console().print(
        plain_table(["what", "state", "matters for"], [list(item) for item in examine()])
    )
