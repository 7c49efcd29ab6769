"""`histoeval report`: a finished run as one page, or as a table for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.verb import verb
from histoeval.settings import Option
from histoeval.view.run_report import Format, write_run_report


@verb
def report(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="Folder of `score`, `judge`, `trust`, `agree`, `compare` or `experiment`, or the "
            "file that `extract` has written. The run must be finished.",
        ),
    ],
    output: Annotated[
        Path | None, Option("File to write; report.html (csv …) in the run's folder when omitted.")
    ] = None,
    to: Annotated[
        Format | None,
        Option(
            "html: one page that opens in a browser, offline. csv, xlsx: a row for each pair. "
            "md: the summary. json: everything. When omitted, by the ending of --output, or html."
        ),
    ] = None,
    no_texts: Annotated[
        bool,
        Option(
            "Leave every word of a pathology report out: texts, quotes and messages.",
            name="--no-texts",
        ),
    ] = False,
) -> None:
    """Make a page, a table or a text of a finished run; nothing is run again.

    Examples:
      histoeval report results
      histoeval report results --no-texts --output for_everybody.html
      histoeval report results --output results.xlsx
    """
    typer.echo(f"Written: {write_run_report(run, output, to, texts=not no_texts)}")
