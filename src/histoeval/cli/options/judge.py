"""Options that name LLM judges and say how they are asked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from histoeval.cli.options.endpoint import REQUESTS, one_complaint
from histoeval.errors import SettingError
from histoeval.judge.choice import ENDPOINT, MODEL, JudgeConfig

JUDGES = "Judges"

PromptOption = Annotated[
    str, typer.Option(help="Prompt: rubric4, expert5, or a YAML file.", rich_help_panel=REQUESTS)
]
RepeatsOption = Annotated[
    int,
    typer.Option(
        min=1,
        help="Ask N times and report spread and agreement.",
        metavar="N",
        rich_help_panel=REQUESTS,
    ),
]
FormatOption = Annotated[
    str,
    typer.Option(
        "--format",
        help="How the server enforces the schema: auto (the strictest it supports), json_schema, "
        "json_object or plain.",
        rich_help_panel=REQUESTS,
    ),
]


@dataclass(frozen=True)
class JudgeOptions:
    """Which judges to ask."""

    endpoint: Annotated[
        list[str] | None,
        typer.Option(
            help="URL of an OpenAI-compatible server, ending in /v1; or 'local' for a "
            "Transformers model (extra hf). Give it once for all models, or once for each.",
            rich_help_panel=JUDGES,
        ),
    ] = None
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Name of the model; repeat it for a panel of judges.", rich_help_panel=JUDGES
        ),
    ] = None

    def config(self, **others: Any) -> JudgeConfig | None:
        """The judges that options or the environment name; None where neither names any."""
        endpoint, model = self.endpoint, self.model
        if not endpoint and not model:
            endpoint, model = _from_environment(ENDPOINT), _from_environment(MODEL)
        if not endpoint and not model:
            return None
        if not endpoint or not model:
            raise SettingError("a judge needs both --endpoint and --model")
        with one_complaint():
            return JudgeConfig(endpoints=tuple(endpoint), models=tuple(model), **others)

    def required(self, **others: Any) -> JudgeConfig:
        """The judges, where there must be some."""
        config = self.config(**others)
        if config is None:
            raise SettingError(
                f"no judge was named: pass --endpoint and --model, or set {ENDPOINT} and {MODEL}"
            )
        return config


def _from_environment(name: str) -> list[str]:
    return [os.environ[name]] if os.environ.get(name) else []


@dataclass(frozen=True)
class JudgeKey:
    """Where the API key of the judges is."""

    key_env: Annotated[
        str | None,
        typer.Option(
            help="Environment variable with the API key; HISTOEVAL_JUDGE_KEY when omitted.",
            rich_help_panel=JUDGES,
        ),
    ] = None
    key_file: Annotated[
        Path | None, typer.Option(help="File with the API key.", rich_help_panel=JUDGES)
    ] = None
