"""Options that name the vision-language model under test, and what it is shown and asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from histoeval.cli.options.endpoint import (
    CacheOptions,
    RateOptions,
    RequestOptions,
    RetryOptions,
    TemperatureOption,
    one_complaint,
)
from histoeval.vlm.model import VlmConfig

VLM = "Vision-language model"
INPUT = "What the model is shown and asked"

PromptOption = Annotated[
    str, typer.Option(help="Prompt: neutral, fields, or a YAML file.", rich_help_panel=INPUT)
]
MergeOption = Annotated[
    str,
    typer.Option(
        help="How reports on tiles become one: merge (by the model), a YAML prompt file, or join.",
        rich_help_panel=INPUT,
    ),
]
LookOption = Annotated[
    Literal["tiles", "overview"],
    typer.Option(
        help="Show a sample of tiles, or the whole slide in one picture of 1024 px.",
        rich_help_panel=INPUT,
    ),
]
PictureOption = Annotated[
    Literal["jpeg", "png"],
    typer.Option(help="Format in which pictures are sent.", rich_help_panel=INPUT),
]
MppOption = Annotated[
    float | None, typer.Option(help="Microns per pixel of images that do not give it.")
]


@dataclass(frozen=True)
class VlmKey:
    """Where the API key of the model is."""

    key_env: Annotated[
        str | None,
        typer.Option(
            help="Environment variable with the API key; HISTOEVAL_SUBJECT_KEY, or else "
            "HISTOEVAL_JUDGE_KEY, when omitted.",
            rich_help_panel=VLM,
        ),
    ] = None
    key_file: Annotated[
        Path | None, typer.Option(help="File with the API key.", rich_help_panel=VLM)
    ] = None


@dataclass(frozen=True)
class VlmRequestOptions:
    """How the model is asked, and whether its answers are cached."""

    temperature: TemperatureOption = 0.0
    requests: RequestOptions = RequestOptions()
    rates: RateOptions = RateOptions()
    retry: RetryOptions = RetryOptions()
    key: VlmKey = VlmKey()
    replies: CacheOptions = CacheOptions()

    def config(self, endpoint: str, model: str, seed: int, device: str | None) -> VlmConfig:
        """The model that the options name."""
        nested: dict[str, Any] = {
            "manner": {
                "temperature": self.temperature,
                "seed": seed,
                "body": self.requests.extra(),
            },
            "patience": self.retry.policy(self.rates),
        }
        with one_complaint():
            return VlmConfig(
                endpoint=endpoint,
                model=model,
                key_env=self.key.key_env,
                key_file=self.key.key_file,
                concurrency=self.requests.concurrency,
                cache=self.replies.cache,
                keep=not self.replies.no_cache,
                device=device,
                **nested,
            )
