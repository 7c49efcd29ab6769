"""Options that name LLM judges and say how they are asked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from histoeval.cli.options.bundle import option
from histoeval.cli.options.endpoint import REQUESTS, AccessOptions, one_complaint
from histoeval.errors import SettingError

if TYPE_CHECKING:
    from histoeval.judges.choice import JudgeConfig

JUDGES = "Judges"
ENDPOINT, MODEL = "HISTOEVAL_JUDGE_ENDPOINT", "HISTOEVAL_JUDGE_MODEL"
"""They name the judge where no option does."""

PromptOption = Annotated[str, option("Prompt: rubric4, expert5, or a YAML file.", REQUESTS)]
RepeatsOption = Annotated[
    int, option("Ask N times and report spread and agreement.", REQUESTS, min=1, metavar="N")
]
FormatOption = Annotated[
    str,
    option(
        "How the server enforces the schema: auto (the strictest it supports), json_schema, "
        "json_object or plain.",
        REQUESTS,
        name="--format",
    ),
]


@dataclass(frozen=True)
class JudgeOptions:
    """Which judges to ask."""

    endpoint: Annotated[
        list[str] | None,
        option(
            "URL of an OpenAI-compatible server, ending in /v1; or 'local' for a "
            "Transformers model (extra hf). Give it once for all models, or once for each.",
            JUDGES,
        ),
    ] = None
    model: Annotated[
        list[str] | None, option("Name of the model; repeat it for a panel of judges.", JUDGES)
    ] = None

    access: AccessOptions = AccessOptions()

    def config(self, **others: Any) -> JudgeConfig | None:
        """The judges that options or the environment name; None where neither names any."""
        endpoint, model = self.endpoint, self.model
        if not endpoint and not model:
            endpoint, model = _from_environment(ENDPOINT), _from_environment(MODEL)
        if not endpoint and not model:
            return None
        if not endpoint or not model:
            raise SettingError("a judge needs both --endpoint and --model")
        from histoeval.judges.choice import JudgeConfig  # an event loop, for few who score

        others["access"] = self.access.accesses(len(endpoint))
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
