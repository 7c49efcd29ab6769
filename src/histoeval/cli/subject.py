"""Options that name the model whose reports are looked at, and what it is shown and asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from histoeval.errors import SettingError

if TYPE_CHECKING:
    from histoeval.trust.subject import SubjectChoice

SUBJECT = "The model"
SHOWING = "What it is shown and asked"

SubjectEndpointOption = Annotated[
    str,
    typer.Option(
        "--endpoint",
        help="Address of an OpenAI-compatible vision server, ending in /v1; or 'local' for a "
        "Transformers vision-language model (extra hf).",
        rich_help_panel=SUBJECT,
        show_default=False,
    ),
]
SubjectModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        help="Name of the model there; a folder or hub name where the endpoint is 'local'.",
        rich_help_panel=SUBJECT,
        show_default=False,
    ),
]
SubjectKeyOption = Annotated[
    str | None,
    typer.Option(
        "--key-env",
        help="Environment variable that holds the key; HISTOEVAL_SUBJECT_KEY, or else "
        "HISTOEVAL_JUDGE_KEY, when left out.",
        rich_help_panel=SUBJECT,
    ),
]
SubjectKeyFileOption = Annotated[
    Path | None,
    typer.Option("--key-file", help="File that holds the key.", rich_help_panel=SUBJECT),
]
PromptOption = Annotated[
    str,
    typer.Option(help="neutral, fields, or a YAML file of your own.", rich_help_panel=SHOWING),
]
MergeOption = Annotated[
    str,
    typer.Option(
        help="How reports on tiles become one: merge (by the model), a YAML file of your own, or "
        "join.",
        rich_help_panel=SHOWING,
    ),
]
LookOption = Annotated[
    Literal["tiles", "overview"],
    typer.Option(
        help="Slides by a sample of tiles, or all of a slide in one picture of 1024 px.",
        rich_help_panel=SHOWING,
    ),
]
TilesOption = Annotated[
    int, typer.Option(min=1, help="Tiles of a slide that are shown.", rich_help_panel=SHOWING)
]
MppOption = Annotated[
    float | None,
    typer.Option(
        help="Microns per pixel, where the files do not say them.", rich_help_panel=SHOWING
    ),
]
PictureOption = Annotated[
    Literal["jpeg", "png"],
    typer.Option(help="How pictures are sent.", rich_help_panel=SHOWING),
]


def chosen_subject(endpoint: str, model: str, **rest: Any) -> SubjectChoice:
    """The model that options name, with how it is asked."""
    from pydantic import ValidationError  # noqa: PLC0415 - slow to import

    from histoeval.trust.subject import SubjectChoice  # noqa: PLC0415

    try:
        return SubjectChoice(endpoint=endpoint, model=model, **rest)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise SettingError(f"{where}: {fault['msg']}") from error
