"""Opening the model under test that a configuration names."""

from histoeval.llm.access import SUBJECT_KEY
from histoeval.llm.local import LOCAL
from histoeval.vlm.endpoint import EndpointVlm
from histoeval.vlm.local import LocalVlm
from histoeval.vlm.model import CachedVlm, VlmConfig


def load_vlm(config: VlmConfig) -> CachedVlm:
    """The model that a configuration names. Nothing is sent to it yet."""
    cache = config.open_cache()
    if config.endpoint == LOCAL:
        return LocalVlm(config.model, cache, config.manner, config.device)
    return EndpointVlm(config, cache, config.secrets(config.endpoint, SUBJECT_KEY))
