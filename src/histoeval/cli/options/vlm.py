"""Options that name the vision-language model under test, and what it is shown and asked."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from histoeval.cli.options.bundle import option
from histoeval.cli.options.endpoint import (
    REQUESTS,
    CacheOptions,
    KeyOptions,
    RateOptions,
    RequestOptions,
    RetryOptions,
    TemperatureOption,
    TlsOptions,
    one_complaint,
)
from histoeval.vlm.model import VlmConfig

VLM = "Vision-language model"
INPUT = "What the model is shown and asked"

PromptOption = Annotated[str, option("Prompt: neutral, fields, or a YAML file.", INPUT)]
MergeOption = Annotated[
    str,
    option(
        "How reports on tiles become one: merge (by the model), a YAML prompt file, or join.", INPUT
    ),
]
LookOption = Annotated[
    Literal["tiles", "overview"],
    option("Show a sample of tiles, or the whole slide in one picture of 1024 px.", INPUT),
]
PictureOption = Annotated[
    Literal["jpeg", "png"], option("Format in which pictures are sent.", INPUT)
]
MppOption = Annotated[
    float | None, option("Microns per pixel of images that do not give it.", INPUT)
]


@dataclass(frozen=True)
class VlmKey(KeyOptions):
    """Where the API key of the model is."""

    key_env: Annotated[
        str | None,
        option(
            "Environment variable with the API key; HISTOEVAL_SUBJECT_KEY, or else "
            "HISTOEVAL_JUDGE_KEY, when omitted.",
            REQUESTS,
        ),
    ] = None


@dataclass(frozen=True)
class VlmRequestOptions:
    """How the model is asked, and whether its answers are cached."""

    temperature: TemperatureOption = 0.0
    requests: RequestOptions = RequestOptions()
    rates: RateOptions = RateOptions()
    retry: RetryOptions = RetryOptions()
    key: VlmKey = VlmKey()
    tls: TlsOptions = TlsOptions()
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
            "tls": vars(self.tls),
        }
        with one_complaint():
            return VlmConfig(
                endpoint=endpoint,
                model=model,
                **vars(self.key),
                concurrency=self.requests.concurrency,
                cache=self.replies.cache,
                keep=not self.replies.no_cache,
                device=device,
                **nested,
            )
