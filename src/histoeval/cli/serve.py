"""`histoeval serve`: look at runs, score reports and collect experts' scores in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import option, verb

PORT = 8484


@verb
def serve(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of runs; new ones are written into it.")
    ],
    port: Annotated[
        int, option("Port to listen on; 0 takes any that is free.", min=0, max=65535)
    ] = PORT,
    host: Annotated[
        str, option("Address to listen on; another than this machine's needs --allow-others.")
    ] = "127.0.0.1",
    allow_others: Annotated[
        bool, option("Let other machines in, without encryption.", name="--allow-others")
    ] = False,
) -> None:
    """Look at runs and score reports in the browser (extra web).

    Prints a link with a token: whoever opens it may use the server, and nobody else.

    Examples:
      histoeval serve results
      histoeval serve results --port 0
    """
    from histoeval.web.server import serve as serve_runs  # it needs the extra [web]

    serve_runs(folder, host=host, port=port, allow_others=allow_others, study=None, say=typer.echo)
