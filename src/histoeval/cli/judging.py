"""Options that name judges and say how they are asked."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from histoeval.errors import SettingError

if TYPE_CHECKING:
    from histoeval.judge.choice import Choice

JUDGES = "Judges"
ASKING = "How they are asked"
ENDPOINT, MODEL = "HISTOEVAL_JUDGE_ENDPOINT", "HISTOEVAL_JUDGE_MODEL"
"""They name the judge where no option does."""

EndpointOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Address of an OpenAI-compatible server, ending in /v1; or 'local' for a Transformers "
        "model (extra hf). Once for all models, or once for each.",
        rich_help_panel=JUDGES,
        show_default=False,
    ),
]
ModelOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Name of the model there; give it again for a panel of judges.",
        rich_help_panel=JUDGES,
        show_default=False,
    ),
]
KeyEnvOption = Annotated[
    str | None,
    typer.Option(
        help="Environment variable that holds the key; HISTOEVAL_JUDGE_KEY when left out.",
        rich_help_panel=JUDGES,
    ),
]
KeyFileOption = Annotated[
    Path | None, typer.Option(help="File that holds the key.", rich_help_panel=JUDGES)
]
PromptOption = Annotated[
    str, typer.Option(help="rubric4, expert5, or a YAML file of your own.", rich_help_panel=ASKING)
]
RepeatsOption = Annotated[
    int,
    typer.Option(
        min=1, help="Ask so often, and tell spread and agreement.", rich_help_panel=ASKING
    ),
]
TemperatureOption = Annotated[float, typer.Option(min=0, rich_help_panel=ASKING)]
SeedOption = Annotated[
    int, typer.Option(help="Of the first repeat; the next has the next.", rich_help_panel=ASKING)
]
FormatOption = Annotated[
    str,
    typer.Option(
        "--format",
        help="How the server holds the model to the schema: auto (the strictest it knows), "
        "json_schema, json_object or plain.",
        rich_help_panel=ASKING,
    ),
]
BodyOption = Annotated[
    str | None,
    typer.Option(
        metavar="JSON",
        help="What else goes into each request; null takes out what is there, as in "
        '\'{"seed": null, "reasoning_effort": "low"}\'.',
        rich_help_panel=ASKING,
    ),
]
ConcurrencyOption = Annotated[
    int, typer.Option(min=1, max=1024, help="Requests at a time.", rich_help_panel=ASKING)
]
RequestsOption = Annotated[
    float | None,
    typer.Option("--rpm", min=0.01, help="Most requests a minute.", rich_help_panel=ASKING),
]
TokensOption = Annotated[
    float | None,
    typer.Option("--tpm", min=1, help="Most tokens a minute.", rich_help_panel=ASKING),
]
TimeoutOption = Annotated[
    float, typer.Option(min=0.01, help="Seconds to wait for an answer.", rich_help_panel=ASKING)
]
AttemptsOption = Annotated[
    int, typer.Option(min=1, help="Tries before a request is given up.", rich_help_panel=ASKING)
]
CacheOption = Annotated[
    Path | None,
    typer.Option(
        help="File that keeps replies; ~/.cache/histoeval/judge.sqlite when left out.",
        show_default=False,
    ),
]


def chosen(
    endpoint: list[str] | None,
    model: list[str] | None,
    manner: dict[str, Any] | None = None,
    patience: dict[str, Any] | None = None,
    **rest: Any,
) -> Choice | None:
    """The judges that options name; None where they name none at all."""
    if not endpoint and not model:
        endpoint, model = _from_environment(ENDPOINT), _from_environment(MODEL)
    if not endpoint and not model:
        return None
    from pydantic import ValidationError  # noqa: PLC0415 - slow to import

    from histoeval.judge.choice import Choice  # noqa: PLC0415

    told = dict(rest, manner=manner or {}, patience=patience or {})
    if not endpoint or not model:
        raise SettingError("a judge is named by both --endpoint and --model")
    try:
        return Choice(endpoints=tuple(endpoint), models=tuple(model), **told)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise SettingError(f"{where}: {fault['msg']}") from error


def _from_environment(name: str) -> list[str]:
    return [os.environ[name]] if os.environ.get(name) else []


def demanded(choice: Choice | None) -> Choice:
    """A choice that there must be."""
    if choice is None:
        raise SettingError(
            "no judge was named: give --endpoint and --model, or HISTOEVAL_JUDGE_ENDPOINT and "
            "HISTOEVAL_JUDGE_MODEL in the environment"
        )
    return choice


def body_of(text: str | None) -> dict[str, Any]:
    """The object that --body holds."""
    try:
        body = json.loads(text or "{}")
    except ValueError as error:
        raise SettingError(f"--body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise SettingError("--body must be a JSON object")
    return body
