"""Opening the model under test that a configuration names."""

import os

from histoeval.llm.api_key import Secret, read_key
from histoeval.llm.local import LOCAL
from histoeval.vlm.endpoint import EndpointVlm
from histoeval.vlm.local import LocalVlm
from histoeval.vlm.model import CachedVlm, VlmConfig

KEY = "HISTOEVAL_SUBJECT_KEY"
"""Environment variable with the key of the model under test, if it is not the judge's."""


def load_vlm(config: VlmConfig) -> CachedVlm:
    """The model that a configuration names. Nothing is sent to it yet."""
    cache = config.open_cache()
    if config.endpoint == LOCAL:
        return LocalVlm(config.model, cache, config.manner, config.device)
    return EndpointVlm(config, cache, _key_of(config))


def _key_of(config: VlmConfig) -> Secret | None:
    """The key that was named, that of the model under test, or the judge's."""
    own = KEY if os.environ.get(KEY) else None
    return read_key(config.endpoint, variable=config.key_env or own, file=config.key_file)
