"""`histoeval doctor`: what is installed, what is missing, and what that means."""

from histoeval.cli.options.bundle import verb
from histoeval.cli.options.output import print_tables
from histoeval.view.terminal.scores import plain_table


@verb
def doctor() -> None:
    """Show what is installed and what is missing.

    Examples:
      histoeval doctor
    """
    from histoeval.run.doctor import examine  # it imports nltk, and that scipy

    rows = [list(item) for item in examine()]
    print_tables([plain_table(["what", "state", "matters for"], rows)])
