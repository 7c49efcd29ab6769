"""Options that name the vision-language model under test, and what it is shown and asked."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from histoeval.cli.options.bundle import option
from histoeval.cli.options.endpoint import (
    ACCESS,
    AccessOptions,
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
class VlmAccess(AccessOptions):
    """What lets requests into the endpoint of the model."""

    key_env: Annotated[
        list[str] | None,
        option(
            "Environment variable with the API key; HISTOEVAL_SUBJECT_KEY when omitted; 'none' "
            "for no key.",
            ACCESS,
            metavar="VARIABLE",
        ),
    ] = None


@dataclass(frozen=True)
class VlmRequestOptions:
    """How the model is asked, and whether its answers are cached."""

    temperature: TemperatureOption = 0.0
    requests: RequestOptions = RequestOptions()
    rates: RateOptions = RateOptions()
    retry: RetryOptions = RetryOptions()
    access: VlmAccess = VlmAccess()
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
                **self.access.only(),
                concurrency=self.requests.concurrency,
                log_requests=self.requests.log_requests,
                cache=self.replies.cache,
                keep=not self.replies.no_cache,
                device=device,
                **nested,
            )
