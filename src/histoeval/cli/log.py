"""`histoeval log`: a finished run to MLflow, Weights & Biases, or as logs of inspect_ai."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from histoeval.cli.verb import verb
from histoeval.errors import SettingError
from histoeval.settings import Option


@verb
def log(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="Folder of a finished `score`, `judge` or `trust`."),
    ],
    to: Annotated[
        Literal["mlflow", "wandb", "inspect"],
        Option(
            "mlflow: the server of MLFLOW_TRACKING_URI. wandb: Weights & Biases, on this machine "
            "only with WANDB_MODE=offline. inspect: files for `inspect view`, one for each system."
        ),
    ],
    output: Annotated[
        Path | None, Option("With inspect: folder for the files; RUN/inspect when omitted.")
    ] = None,
    rows: Annotated[
        bool, Option("Also the scores of each row, with its id.", name="--rows/--no-rows")
    ] = True,
    texts: Annotated[
        bool,
        Option(
            "Also report texts, evidence and messages. They are health data: is the server a "
            "place for them?",
            name="--texts",
        ),
    ] = False,
) -> None:
    """Log a finished run in the tool that your group tracks experiments with.

    What is sent: scores, signatures, kinds of errors, the name and hash of the input, ids.

    Examples:
      histoeval log results --to mlflow
      histoeval log results --to inspect --texts
    """
    if to != "inspect" and output is not None:
        raise SettingError("--output goes with --to inspect")
    if to == "inspect":
        from histoeval.adapters.inspect import write_logs

        if not rows:
            raise SettingError("--no-rows does not go with --to inspect: a log is made of rows")
        files = write_logs(run, output, texts=texts)
        typer.echo(f"Written: {', '.join(map(str, files))}")
        return
    from importlib import import_module

    run_name = import_module(f"histoeval.adapters.{to}").log_run(run, rows=rows, texts=texts)
    typer.echo(f"Logged to {to}: run {run_name}")
