"""Options that name judges and say how they are asked."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from histoeval.cli.options.bundle import bundle
from histoeval.cli.options.endpoint import ASKING, faults_told
from histoeval.cli.options.tls import TlsOptions
from histoeval.errors import SettingError

if TYPE_CHECKING:
    from histoeval.judge.choice import JudgeConfig

JUDGES = "Judges"
ENDPOINT, MODEL = "HISTOEVAL_JUDGE_ENDPOINT", "HISTOEVAL_JUDGE_MODEL"
"""They name the judge where no option does."""

PromptOption = Annotated[
    str, typer.Option(help="rubric4, expert5, or a YAML file of your own.", rich_help_panel=ASKING)
]
RepeatsOption = Annotated[
    int,
    typer.Option(
        min=1, help="Ask so often, and tell spread and agreement.", rich_help_panel=ASKING
    ),
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


@bundle
class JudgeNames:
    """Which judges there are."""

    endpoint: Annotated[
        list[str] | None,
        typer.Option(
            help="Address of an OpenAI-compatible server, ending in /v1; or 'local' for a "
            "Transformers model (extra hf). Once for all models, or once for each.",
            rich_help_panel=JUDGES,
            show_default=False,
        ),
    ] = None
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Name of the model there; give it again for a panel of judges.",
            rich_help_panel=JUDGES,
            show_default=False,
        ),
    ] = None

    tls: TlsOptions = TlsOptions()

    def choice(self, **rest: Any) -> JudgeConfig | None:
        """The judges that options or the environment name; None where they name none at all."""
        endpoint, model = self.endpoint, self.model
        if not endpoint and not model:
            endpoint, model = _from_environment(ENDPOINT), _from_environment(MODEL)
        if not endpoint and not model:
            return None
        from histoeval.judge.choice import JudgeConfig

        if not endpoint or not model:
            raise SettingError("a judge is named by both --endpoint and --model")
        with faults_told():
            rest["tls"] = asdict(self.tls)
            return JudgeConfig(endpoints=tuple(endpoint), models=tuple(model), **rest)

    def demanded(self, **rest: Any) -> JudgeConfig:
        """The judges, where there must be some."""
        choice = self.choice(**rest)
        if choice is None:
            raise SettingError(
                "no judge was named: give --endpoint and --model, or HISTOEVAL_JUDGE_ENDPOINT and "
                "HISTOEVAL_JUDGE_MODEL in the environment"
            )
        return choice


def _from_environment(name: str) -> list[str]:
    return [os.environ[name]] if os.environ.get(name) else []


@bundle
class JudgeKey:
    """Where the key of the judges lies."""

    key_env: Annotated[
        str | None,
        typer.Option(
            help="Environment variable that holds the key; HISTOEVAL_JUDGE_KEY when left out.",
            rich_help_panel=JUDGES,
        ),
    ] = None
    key_file: Annotated[
        Path | None, typer.Option(help="File that holds the key.", rich_help_panel=JUDGES)
    ] = None
