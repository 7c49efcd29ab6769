"""Opening the model under test that a configuration names."""

from histoeval.llm.access import SUBJECT_KEY
from histoeval.llm.local import LOCAL
from histoeval.runtime.recipe import remember
from histoeval.vlm.endpoint import EndpointVlm
from histoeval.vlm.local import LocalVlm
from histoeval.vlm.model import CachedVlm, VlmConfig


def load_vlm(config: VlmConfig) -> CachedVlm:
    """The model that a configuration names. Nothing is sent to it yet."""
    cache = config.open_cache()
    if config.endpoint == LOCAL:
        vlm: CachedVlm = LocalVlm(config.model, cache, config.manner, config.device)
    else:
        vlm = EndpointVlm(config, cache, config.secrets(config.endpoint, SUBJECT_KEY))
    remember(vlm, load_vlm, config)
    return vlm
