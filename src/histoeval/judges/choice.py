"""The choice of judges and their settings, and the panel made from it."""

import os
from typing import Annotated, Any

from pydantic import Field

from histoeval.errors import SettingError
from histoeval.judges.panel import JudgePanel, JudgeSampling
from histoeval.llm.access import JUDGE_ENDPOINT, JUDGE_KEY, JUDGE_MODEL, Access, Endpoint, one_each
from histoeval.llm.chat import Chat
from histoeval.llm.local import LOCAL, LocalChat
from histoeval.llm.service import EndpointConfig, Service
from histoeval.runtime.memo import remember


class JudgeConfig(EndpointConfig):
    """Endpoints and models, in pairs; one endpoint serves all models."""

    endpoints: Annotated[tuple[str, ...], Field(min_length=1)]
    models: Annotated[tuple[str, ...], Field(min_length=1)]
    # keys, headers and certificates of each endpoint, in their order; where there is none, those of
    # this configuration serve them all, if they are on one host
    access: tuple[Access, ...] = ()
    manner: JudgeSampling = JudgeSampling()

    @property
    def seats(self) -> list[tuple[str, str]]:
        repeats = len(self.models) if len(self.endpoints) == 1 else 1
        if len(self.endpoints) * repeats != len(self.models):
            raise SettingError(
                f"{len(self.endpoints)} endpoints for {len(self.models)} models: give one "
                "--endpoint for all, or one for each --model in the same order"
            )
        seats = list(zip(self.endpoints * repeats, self.models, strict=True))
        if len(set(seats)) < len(seats):
            raise SettingError("a judge is named twice; for more than one answer use --repeats")
        return seats

    def chats(self) -> list[Chat]:
        seats = self.seats
        accesses = one_each(self.access or (self,), self.endpoints, JUDGE_KEY)
        accesses *= len(seats) // len(accesses)
        return [_chat(self, *seat, access) for seat, access in zip(seats, accesses, strict=True)]


def chosen_by_environment() -> JudgeConfig | None:
    endpoint, model = os.environ.get(JUDGE_ENDPOINT), os.environ.get(JUDGE_MODEL)
    return JudgeConfig(endpoints=(endpoint,), models=(model,)) if endpoint and model else None


def open_panel(config: JudgeConfig) -> JudgePanel:
    panel = JudgePanel(config.chats(), config.open_cache(), config.manner, config.concurrency)
    remember(panel, open_panel, config)
    return panel


def panel_of(named: Any, sampling: JudgeSampling | None = None) -> JudgePanel:
    """Make a panel from one or several endpoints, a configuration, or a panel."""
    if isinstance(named, JudgePanel):
        return named
    if isinstance(named, JudgeConfig):
        return open_panel(named)
    endpoints = list(named) if isinstance(named, list | tuple) else [named]
    if not endpoints or not all(isinstance(endpoint, Endpoint) for endpoint in endpoints):
        raise SettingError(
            f"{named!r} is no judge: give an Endpoint(url=..., model=...) or several in a list"
        )
    devices = {endpoint.device for endpoint in endpoints}
    if len(devices) != 1:
        raise SettingError("all endpoints of a panel must have the same device")
    config = JudgeConfig(
        endpoints=tuple(endpoint.url for endpoint in endpoints),
        models=tuple(endpoint.model for endpoint in endpoints),
        access=tuple(endpoints),
        device=devices.pop(),
        manner=sampling or JudgeSampling(),
    )
    return open_panel(config)


def named_panel(named: Any, sampling: JudgeSampling) -> JudgePanel:
    if named is not None:
        return panel_of(named, sampling)
    if (config := chosen_by_environment()) is None:
        raise SettingError("no judge: pass llm=Endpoint(url=..., model=...)")
    return open_panel(config.model_copy(update={"manner": sampling}))


def _chat(config: JudgeConfig, endpoint: str, model: str, access: Access) -> Chat:
    if endpoint == LOCAL:
        return LocalChat(model, config.device)
    return Service(
        endpoint,
        model,
        access.secrets(endpoint, JUDGE_KEY),
        config.patience,
        config.manner.form,
        config.concurrency,
        access.tls,
        config.log_requests,
        "judge",
    )
