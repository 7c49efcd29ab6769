"""The model under test behind an OpenAI-compatible vision endpoint, or in this process.

Retries, rate limits and keys of an endpoint are those of `histoeval.llm.service`. One that fails
again and again is given up: from then on every question gets that reason at once.
"""

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from histoeval.errors import EndpointError, ModelError, Problem
from histoeval.llm.access import SUBJECT_KEY, Secret
from histoeval.llm.cache import Cache
from histoeval.llm.chat import Message, NoReply, Reply, Request, RequestRefused
from histoeval.llm.client import run_to_end
from histoeval.llm.local import LOCAL
from histoeval.llm.service import Service
from histoeval.runtime.memo import remember
from histoeval.runtime.transformer import fingerprint, note_download, require_hf
from histoeval.vlm.model import Ask, Vlm, VlmConfig, VlmSampling

# an endpoint is given up after this many failures in a row, and at least one for each slot
MIN_FAILURES = 8
# estimated cost of a picture, in characters, until the server has counted
PICTURE_CHARACTERS = 3000

UNREACHABLE, REFUSED = "subject_unreachable", "subject_refused"


@dataclass(frozen=True)
class PictureRequest(Request):
    estimated: int = 0

    @property
    def characters(self) -> int:
        return self.estimated


class EndpointVlm(Vlm):
    def __init__(self, config: VlmConfig, cache: Cache, secrets: Mapping[str, Secret]) -> None:
        self._service = Service(
            config.endpoint,
            config.model,
            secrets,
            config.patience,
            "plain",
            config.concurrency,
            config.tls,
            config.log_requests,
            "model under test",
        )
        super().__init__(self._service.identity, cache, config.manner)
        self._concurrency = config.concurrency
        self._checked = self._has_answered = False
        self._failures = 0

    def _ask(self, asks: Mapping[str, Ask]) -> dict[str, Reply | Problem]:
        retries_before = self._service.retries
        replies = run_to_end(self._ask_all(asks))
        self.usage.retries += self._service.retries - retries_before
        return replies

    async def _ask_all(self, asks: Mapping[str, Ask]) -> dict[str, Reply | Problem]:
        if not self._checked and self.gone is None:
            self._checked = True
            try:
                async with self._service:
                    await self._service.ping()
            except EndpointError as error:
                self.gone = str(error)
        slots = asyncio.Semaphore(self._concurrency)

        async def settle(key: str, ask: Ask) -> Reply | Problem:
            async with slots:
                return await self._settle(key, ask)

        async with self._service:
            replies = await asyncio.gather(*[settle(key, ask) for key, ask in asks.items()])
        return dict(zip(asks, replies, strict=True))

    async def _settle(self, key: str, ask: Ask) -> Reply | Problem:
        if self.gone is not None:
            return Problem(UNREACHABLE, self.gone)
        try:
            request = PictureRequest(
                messages=messages_of(ask),
                schema={},
                parameters=self.manner.parameters(ask.instruction.most_tokens),
                texts=(ask.text,),
                estimated=len(ask.text) + PICTURE_CHARACTERS * len(ask.images),
            )
            reply = await self._service.ask(request)
        except NoReply as error:
            return self._failed(error)
        except EndpointError as error:  # no other request can succeed
            self.gone = str(error)
            return Problem(UNREACHABLE, self.gone)
        self._keep(key, ask, reply)
        self._has_answered, self._failures = True, 0
        return reply

    def _failed(self, error: NoReply) -> Problem:
        """Return the problem; a refusal is no failure of the server once others were answered."""
        is_refused = isinstance(error, RequestRefused)
        if not (is_refused and self._has_answered):
            self._failures += 1
        if self._failures >= max(MIN_FAILURES, self._concurrency):
            self.gone = (
                f"{self.name} is given up: {self._failures} requests in a row failed; "
                f"the last: {error}"
            )
        return Problem(REFUSED if is_refused else UNREACHABLE, str(error))


def messages_of(ask: Ask) -> list[Message]:
    """The conversation: a system message if there is one, then the pictures and the text."""
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": data_uri(image)}} for image in ask.images
    ]
    content: Any = [*parts, {"type": "text", "text": ask.text}] if parts else ask.text
    system = ask.instruction.system
    opening: list[Message] = [{"role": "system", "content": system}] if system else []
    return [*opening, {"role": "user", "content": content}]


def data_uri(image: bytes) -> str:
    kind = "png" if image.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(image).decode('ascii')}"


class LocalVlm(Vlm):
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
        """Text that the model generates after the conversation; deterministic for a seed."""
        import torch
        import transformers

        inputs = self._inputs(ask)
        length = inputs["input_ids"].shape[1]
        limit = ask.instruction.most_tokens
        transformers.set_seed(self.manner.seed)
        sampling: dict[str, Any] = {"do_sample": bool(self.manner.temperature)}
        if self.manner.temperature:
            sampling["temperature"] = self.manner.temperature
        with torch.inference_mode():
            output = self._model.generate(**inputs, max_new_tokens=limit, **sampling)
        tokens = output[0, length:]
        return Reply(
            text=self._processor.decode(tokens, skip_special_tokens=True),
            finish="length" if len(tokens) >= limit else "stop",
            tokens_in=length,
            tokens_out=len(tokens),
        )

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

    target = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if target.startswith("cuda") else torch.float32
    note_download(name)
    try:
        processor = transformers.AutoProcessor.from_pretrained(name)
        model = transformers.AutoModelForImageTextToText.from_pretrained(name, dtype=dtype)
    except (OSError, ValueError, ImportError) as error:
        raise ModelError(f"{name} cannot be loaded as a vision-language model: {error}") from error
    if not getattr(processor, "chat_template", None):
        raise ModelError(f"{name} has no chat template; it cannot be asked as an assistant")
    return processor, model.to(target).eval()


def load_vlm(config: VlmConfig) -> Vlm:
    cache = config.open_cache()
    if config.endpoint == LOCAL:
        vlm: Vlm = LocalVlm(config.model, cache, config.manner, config.device)
    else:
        vlm = EndpointVlm(config, cache, config.secrets(config.endpoint, SUBJECT_KEY))
    remember(vlm, load_vlm, config)
    return vlm
