"""Which judges to ask and how, and the panel that is made of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import Field

from histoeval.errors import SettingError
from histoeval.judge.panel import JudgePanel, JudgeSampling
from histoeval.llm.api_key import read_key
from histoeval.llm.cache import Cache, default_cache
from histoeval.llm.chat import Chat
from histoeval.llm.client import Tls
from histoeval.llm.local import LOCAL, LocalChat
from histoeval.llm.service import RetryPolicy, Service
from histoeval.report import Noun

ENDPOINT, MODEL = "HISTOEVAL_JUDGE_ENDPOINT", "HISTOEVAL_JUDGE_MODEL"


class JudgeConfig(Noun):
    """Endpoints and models, in pairs; one endpoint serves all models."""

    endpoints: Annotated[tuple[str, ...], Field(min_length=1)]
    models: Annotated[tuple[str, ...], Field(min_length=1)]
    key_env: str | None = None
    key_file: Path | None = None
    tls: Tls | None = None
    """A private CA, or a certificate of the client."""
    manner: JudgeSampling = JudgeSampling()
    patience: RetryPolicy = RetryPolicy()
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 16
    cache: Path | None = None
    keep: bool = True
    """Whether replies are cached on disk."""
    device: str | None = None

    @property
    def seats(self) -> list[tuple[str, str]]:
        """Each model with its endpoint."""
        endpoints = self.endpoints * (len(self.models) if len(self.endpoints) == 1 else 1)
        if len(endpoints) != len(self.models):
            raise SettingError(
                f"{len(self.endpoints)} endpoints for {len(self.models)} models: give one "
                "--endpoint for all, or one for each --model in the same order"
            )
        named = list(zip(endpoints, self.models, strict=True))
        if len(set(named)) < len(named):
            raise SettingError("a judge is named twice; for more than one answer use --repeats")
        return named


def chosen_by_environment() -> JudgeConfig | None:
    """The judge that the environment names, if it does."""
    endpoint, model = os.environ.get(ENDPOINT), os.environ.get(MODEL)
    return JudgeConfig(endpoints=(endpoint,), models=(model,)) if endpoint and model else None


def open_panel(config: JudgeConfig) -> JudgePanel:
    """The panel that a configuration describes. Nothing is asked yet."""
    chats = [_chat(config, endpoint, model) for endpoint, model in config.seats]
    cache = Cache((config.cache or default_cache()) if config.keep else None)
    return JudgePanel(chats, cache, config.manner, config.concurrency)


def _chat(config: JudgeConfig, endpoint: str, model: str) -> Chat:
    if endpoint == LOCAL:
        return LocalChat(model, config.device)
    key = read_key(endpoint, variable=config.key_env, file=config.key_file)
    form, slots = config.manner.form, config.concurrency
    return Service(endpoint, model, key, config.patience, form, slots, config.tls)
