"""Opening the model under test that a configuration names."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from histoeval.errors import ModelError, Problem
from histoeval.llm.access import SUBJECT_KEY
from histoeval.llm.cache import Cache
from histoeval.llm.chat import Reply
from histoeval.llm.local import LOCAL
from histoeval.runtime.memo import remember
from histoeval.runtime.transformer import fingerprint, note_download, require_hf
from histoeval.vlm.endpoint import EndpointVlm
from histoeval.vlm.model import Ask, CachedVlm, VlmConfig, VlmSampling


class LocalVlm(CachedVlm):
    """An image-text-to-text model, asked one question at a time, so that batches change nothing."""

    def __init__(
        self, name: str | Path, cache: Cache, manner: VlmSampling, device: str | None = None
    ) -> None:
        require_hf()
        self._processor, self._model = _load(str(name), device)
        weights = fingerprint(self._model, self._processor.tokenizer, ())
        super().__init__(f"{Path(name).name}@local/{weights}", cache, manner)

    def _ask(self, asks: Mapping[str, Ask]) -> dict[str, Reply | Problem]:
        return {key: self._settle(key, ask) for key, ask in asks.items()}

    def _settle(self, key: str, ask: Ask) -> Reply | Problem:
        try:
            reply = self._answer(ask)
        except (ValueError, RuntimeError, TypeError, IndexError) as error:
            reason = f"the model failed: {type(error).__name__}: {error}"
            return Problem("subject_failed", reason)
        self._keep(key, ask, reply)
        return reply

    def _answer(self, ask: Ask) -> Reply:
        """What the model generates after the conversation; deterministic for a seed."""
        import torch
        import transformers

        inputs = self._inputs(ask)
        length = inputs["input_ids"].shape[1]
        most = ask.instruction.most_tokens
        transformers.set_seed(self.manner.seed)
        with torch.inference_mode():
            output = self._model.generate(**inputs, max_new_tokens=most, **self._sampling())
        tokens = output[0, length:]
        return Reply(
            text=self._processor.decode(tokens, skip_special_tokens=True),
            finish="length" if len(tokens) >= most else "stop",
            tokens_in=length,
            tokens_out=len(tokens),
        )

    def _sampling(self) -> dict[str, Any]:
        """Greedy decoding, or sampling with the seed."""
        if not self.manner.temperature:
            return {"do_sample": False}
        return {"do_sample": True, "temperature": self.manner.temperature}

    def _inputs(self, ask: Ask) -> Any:
        from PIL import Image

        pictures = [Image.open(BytesIO(image)).convert("RGB") for image in ask.images]
        parts = [{"type": "image"} for _ in pictures]
        content = [*parts, {"type": "text", "text": ask.text}]
        system = ask.instruction.system
        opening = [{"role": "system", "content": [{"type": "text", "text": system}]}]
        messages = [*(opening if system else []), {"role": "user", "content": content}]
        text = self._processor.apply_chat_template(messages, add_generation_prompt=True)
        inputs = self._processor(text=[text], images=pictures or None, return_tensors="pt")
        return inputs.to(self._model.device, dtype=self._model.dtype)


def _load(name: str, device: str | None) -> tuple[Any, Any]:
    import torch
    import transformers

    place = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if place.startswith("cuda") else torch.float32
    note_download(name)
    try:
        processor = transformers.AutoProcessor.from_pretrained(name)
        model = transformers.AutoModelForImageTextToText.from_pretrained(name, dtype=dtype)
    except (OSError, ValueError, ImportError) as error:
        raise ModelError(f"{name} cannot be loaded as a vision-language model: {error}") from error
    if not getattr(processor, "chat_template", None):
        raise ModelError(f"{name} has no chat template; it cannot be asked as an assistant")
    return processor, model.to(place).eval()


def load_vlm(config: VlmConfig) -> CachedVlm:
    """The model that a configuration names. Nothing is sent to it yet."""
    cache = config.open_cache()
    if config.endpoint == LOCAL:
        vlm: CachedVlm = LocalVlm(config.model, cache, config.manner, config.device)
    else:
        vlm = EndpointVlm(config, cache, config.secrets(config.endpoint, SUBJECT_KEY))
    remember(vlm, load_vlm, config)
    return vlm
