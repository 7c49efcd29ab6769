"""`histoeval doctor`: what is installed, what is missing, and what that means."""

from __future__ import annotations


def doctor() -> None:
    """Tell what is installed and what is missing."""
    from rich.console import Console  # noqa: PLC0415 - keeps --help fast

    from histoeval.run.environment import examine  # noqa: PLC0415
    from histoeval.view.terminal import plain_table  # noqa: PLC0415

    Console().print(
        plain_table(["what", "state", "matters for"], [list(item) for item in examine()])
    )
