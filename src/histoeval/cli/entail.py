"""`histoeval entail`: does a premise entail, contradict or leave open a hypothesis?"""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.output import exit_with, print_errors, resumable
from histoeval.cli.verb import verb
from histoeval.io.tables.remote import local_input
from histoeval.nli.builtin import open_entailer
from histoeval.progress import row_progress
from histoeval.run.extract import entail as run
from histoeval.run.extract import open_pairs
from histoeval.run.models import DeviceName, LanguageName
from histoeval.run.settings import Encoding, EngineSettings, Overwrite
from histoeval.settings import MODELS, Option

ModelOption = Annotated[
    str | None,
    Option(
        "NLI model: a folder written by `histoeval train nli`, or a Transformers model "
        "(extra hf); the builtin one when omitted.",
        MODELS,
        name="--model",
        metavar="FOLDER_OR_HUB",
    ),
]


@verb
def entail(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.jsonl",
            parser=local_input,
            help="Rows with premise, hypothesis and an id; any table that `score` reads.",
        ),
    ],
    output: Annotated[
        Path,
        Option(
            "File for the probabilities (.jsonl, .jsonl.gz, .parquet); a stopped run resumes there."
        ),
    ],
    model: ModelOption = None,
    overwrite: Overwrite = False,
    encoding: Encoding = None,
    device: DeviceName = None,
    language: LanguageName = "en",
    *,
    engine: EngineSettings,
) -> None:
    """Classify pairs of sentences: the probability of entailment, neutral and contradiction.

    Exit code 0: every pair was judged; 1: some were not, and errors say why; 2: nothing could
    be done.

    Examples:
      histoeval entail pairs.jsonl --output entailed.jsonl
    """
    source = open_pairs(file, encoding)
    loaded = open_entailer(model, device)
    with resumable(output), row_progress(source, "judging") as watch:
        summary = run(
            source,
            loaded,
            output,
            language=language,
            overwrite=overwrite,
            batch_size=engine.batch_size,
            engine=engine.choose_engine(),
            watch=watch,
        )
    rows, failed = summary["rows"], summary["rows_with_errors"]
    counts = ", ".join(f"{count:,} {label}" for label, count in summary["labels"].items())
    typer.echo(f"{rows - failed:,} of {rows:,} pairs judged{': ' if counts else ''}{counts}")
    print_errors(summary)
    typer.echo(f"Written: {output}")
    if failed:
        exit_with(rows - failed, failed)
