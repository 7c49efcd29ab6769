"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

COLUMNS = "Columns (guessed when left out)"
MODELS = "Models (our own when left out; others need the extra hf)"

OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace what the folder holds.")
]
IdOption = Annotated[
    str | None, typer.Option("--id", help="Column that names a row.", rich_help_panel=COLUMNS)
]
EncodingOption = Annotated[
    str | None,
    typer.Option(help="Encoding of text files, e.g. latin-1.", rich_help_panel=COLUMNS),
]
ReaderOption = Annotated[
    str | None,
    typer.Option(
        help="Reader: 'builtin', a folder, a hub name, or 'hare' for the published models.",
        rich_help_panel=MODELS,
    ),
]
AlignerOption = Annotated[
    str | None,
    typer.Option(
        help="Aligner: 'builtin', 'lexical', a folder, a hub name, or 'hare' (published).",
        rich_help_panel=MODELS,
    ),
]
RelationsOption = Annotated[
    str | None,
    typer.Option(
        help="Relation model of a Hugging Face reader: a folder, a hub name, or 'hare'.",
        rich_help_panel=MODELS,
    ),
]
LabelsOption = Annotated[
    Path | None,
    typer.Option(
        help="JSON file that says what the labels of a Hugging Face reader mean, as in "
        '{"Tumour": "diagnosis"}.',
        rich_help_panel=MODELS,
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        help="Where Hugging Face models run: cpu, cuda, cuda:1; best when left out.",
        rich_help_panel=MODELS,
        show_default=False,
    ),
]
DtypeOption = Annotated[
    Literal["float32", "bfloat16"] | None,
    typer.Option(
        help="Numbers that Hugging Face models run in; on a GPU bfloat16 when left out.",
        rich_help_panel=MODELS,
    ),
]
