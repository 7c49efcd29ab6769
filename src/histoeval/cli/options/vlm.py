"""Options that name the model whose reports are looked at, and what it is shown and asked."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from histoeval.cli.options.bundle import bundle
from histoeval.cli.options.endpoint import Load, Rates, Replies, TimeoutOptions, faults_told
from histoeval.cli.options.tls import TlsOptions

if TYPE_CHECKING:
    from histoeval.vlm.model import VlmConfig

SUBJECT = "The model"
SHOWING = "What it is shown and asked"

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
PictureOption = Annotated[
    Literal["jpeg", "png"],
    typer.Option(help="How pictures are sent.", rich_help_panel=SHOWING),
]


@bundle
class SubjectKey:
    """Where the key of the model lies."""

    key_env: Annotated[
        str | None,
        typer.Option(
            help="Environment variable that holds the key; HISTOEVAL_SUBJECT_KEY, or else "
            "HISTOEVAL_JUDGE_KEY, when left out.",
            rich_help_panel=SUBJECT,
        ),
    ] = None
    key_file: Annotated[
        Path | None, typer.Option(help="File that holds the key.", rich_help_panel=SUBJECT)
    ] = None


@bundle
class VlmRequestOptions:
    """How the model is asked, and what is kept of its answers."""

    temperature: Annotated[float, typer.Option(min=0, rich_help_panel=SUBJECT)] = 0.0
    load: Load = Load()
    rates: Rates = Rates()
    waiting: TimeoutOptions = TimeoutOptions()
    key: SubjectKey = SubjectKey()
    tls: TlsOptions = TlsOptions()
    replies: Replies = Replies()

    def choice(self, endpoint: str, model: str, seed: int, device: str | None) -> VlmConfig:
        """The model that options name, with how it is asked."""
        from histoeval.vlm.model import VlmConfig

        told: dict[str, Any] = {
            "manner": {"temperature": self.temperature, "seed": seed, "body": self.load.more()},
            "patience": self.waiting.patience(self.rates),
            "tls": asdict(self.tls),
        }
        with faults_told():
            return VlmConfig(
                endpoint=endpoint,
                model=model,
                key_env=self.key.key_env,
                key_file=self.key.key_file,
                concurrency=self.load.concurrency,
                cache=self.replies.cache,
                keep=not self.replies.no_cache,
                device=device,
                **told,
            )
