"""`histoeval entail`: does a premise entail, contradict or leave open a hypothesis?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from histoeval.cli.options.models import MODELS, DeviceOption, EncodingOption
from histoeval.errors import OutputError

if TYPE_CHECKING:
    from histoeval.nli.entailer import Entailer

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="FOLDER_OR_HUB",
        help="An NLI model: a folder that `histoeval train nli` wrote, or a Transformers model "
        "(needs the extra hf); the builtin one when left out.",
        rich_help_panel=MODELS,
        show_default=False,
    ),
]


def entail(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.jsonl",
            help="Rows with premise and hypothesis, and an id; any table that `score` reads.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(help="File for the probabilities, as JSON lines; a stopped run continues."),
    ],
    model: ModelOption = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what the file holds.")
    ] = False,
    encoding: EncodingOption = None,
    device: DeviceOption = None,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Pairs handled together; it never changes a number.")
    ] = 256,
) -> None:
    """Give the probabilities of entailment, neutral and contradiction for pairs of sentences.

    Exit code 0: every pair was judged; 1: some were not, and errors say why; 2: nothing could
    be done.
    """
    from histoeval.progress import row_progress
    from histoeval.run.entail import entail as run
    from histoeval.run.entail import open_pairs

    source = open_pairs(file, encoding)
    if output.exists() and output.samefile(file):
        raise OutputError(f"{output} is the input itself; give another --output")
    loaded = load_entailer(model, device)
    try:
        with row_progress(source, "judging") as watch:
            summary = run(
                source, loaded, output, overwrite=overwrite, batch_size=batch_size, watch=watch
            )
    except KeyboardInterrupt:
        said = f"stopped; what was judged is kept in {output}: the same command continues there"
        typer.echo(said, err=True)
        raise typer.Exit(130) from None
    _report(summary, output)


def load_entailer(model: str | None, device: str | None) -> Entailer:
    """The model that the user has named; the builtin one when none was."""
    from histoeval.nli.load import open_entailer

    return open_entailer(model, device)


def _report(summary: dict[str, Any], output: Path) -> None:
    """Say what was found and what was not; exit as `score` does."""
    judged = summary["rows"] - summary["rows_with_errors"]
    counts = ", ".join(f"{count:,} {label}" for label, count in summary["labels"].items())
    typer.echo(f"{judged:,} of {summary['rows']:,} pairs judged{': ' if counts else ''}{counts}")
    for code, error in summary["errors"].items():
        typer.echo(f"{error['count']:,} times {code}: {error['example']}", err=True)
    typer.echo(f"Written: {output}")
    if summary["rows_with_errors"]:
        raise typer.Exit(1 if judged else 2)
