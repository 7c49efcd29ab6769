"""`histoeval serve`: look at runs, score reports and collect experts' scores in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.verb import verb
from histoeval.settings import Option

PORT = 8484


@verb
def serve(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[FOLDER]", help="Folder of runs; new ones are written into it."),
    ] = None,
    study: Annotated[
        Path | None,
        Option("STUDY.yaml: collect experts' scores instead, each rater by a link of their own."),
    ] = None,
    port: Annotated[int, Option("Port to listen on; 0 for any free one.", min=0, max=65535)] = PORT,
    host: Annotated[
        str, Option("Address to listen on; another than this machine's needs --allow-others.")
    ] = "127.0.0.1",
    allow_others: Annotated[
        bool, Option("Let other machines in, without encryption.", name="--allow-others")
    ] = False,
) -> None:
    """Look at runs, score reports and collect experts' scores in the browser (extra web).

    Prints a link with a token: whoever opens it may use the server, and nobody else.

    Examples:
      histoeval serve results
      histoeval serve results --port 0
      histoeval serve --study STUDY.yaml
    """
    from histoeval.web.server import serve as serve_pages  # it needs the extra [web]

    serve_pages(
        folder, host=host, port=port, allow_others=allow_others, study=study, say=typer.echo
    )
