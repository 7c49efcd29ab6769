"""Which judges to ask and how, and the panel that is made of it."""

import os
from typing import Annotated

from pydantic import Field

from histoeval.errors import SettingError
from histoeval.judges.panel import JudgePanel, JudgeSampling
from histoeval.llm.api_key import read_key
from histoeval.llm.chat import Chat
from histoeval.llm.local import LOCAL, LocalChat
from histoeval.llm.service import EndpointConfig, Service

ENDPOINT, MODEL = "HISTOEVAL_JUDGE_ENDPOINT", "HISTOEVAL_JUDGE_MODEL"


class JudgeConfig(EndpointConfig):
    """Endpoints and models, in pairs; one endpoint serves all models."""

    endpoints: Annotated[tuple[str, ...], Field(min_length=1)]
    models: Annotated[tuple[str, ...], Field(min_length=1)]
    manner: JudgeSampling = JudgeSampling()

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
    return JudgePanel(chats, config.open_cache(), config.manner, config.concurrency)


def _chat(config: JudgeConfig, endpoint: str, model: str) -> Chat:
    if endpoint == LOCAL:
        return LocalChat(model, config.device)
    key = read_key(endpoint, variable=config.key_env, file=config.key_file)
    form, slots = config.manner.form, config.concurrency
    return Service(endpoint, model, key, config.patience, form, slots, config.tls)
