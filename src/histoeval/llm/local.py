"""A Transformers chat model in this process, constrained to the schema (extra [hf]).

An answer is a form: braces, keys and commas are written for the model, which chooses each score
among those of its scale and writes the reasoning. So even a small model's answer can be read.
A model is a folder, a name on the hub, or a GGUF file (with `gguf` and `accelerate` installed).
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, Self

from histoeval.errors import ModelError
from histoeval.llm.chat import Message, Reply, Request, RequestRefused
from histoeval.runtime.transformer import fingerprint, note_download, require_hf

LOCAL = "local"  # in place of an address: a Transformers model in this process (extra [hf])
MAX_REASONING = 200  # tokens of a reasoning
_STOPS = '"\\\n\r\t'  # a reasoning ends before any of these, which JSON would have escaped


class Slot(NamedTuple):
    """A field of the form: the text before it, and the choices; none for free text."""

    before: str
    choices: tuple[str, ...]


def slots_of(schema: Mapping[str, Any]) -> list[Slot]:
    slots: list[Slot] = []
    prefix = "{"
    for name, kind in schema["properties"].items():
        prefix += f"{json.dumps(name)}: "
        if kind["type"] == "integer":
            slots.append(Slot(prefix, tuple(map(str, kind["enum"]))))
            prefix = ", "
        else:
            slots.append(Slot(f'{prefix}"', ()))
            prefix = '", '
    return slots


class LocalChat:
    """A causal language model with its tokenizer, asked one question at a time."""

    def __init__(self, name: str, device: str | None = None) -> None:
        require_hf()
        self.retries = 0
        self._name = name
        self._device = device
        self._turn: asyncio.Lock | None = None
        self._tokenizer, self._model = self._load()
        self._hash = fingerprint(self._model, self._tokenizer, ())

    @property
    def identity(self) -> str:
        return f"{Path(self._name).name}@local/{self._hash}"

    def _load(self) -> tuple[Any, Any]:
        import torch
        import transformers

        device = self._device or ("cuda" if torch.cuda.is_available() else "cpu")
        dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
        path = Path(self._name)
        source, extra = self._name, {}
        if path.suffix.lower() == ".gguf":  # one file, named by its folder and itself
            source, extra = str(path.parent), {"gguf_file": path.name}
        note_download(source)
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **extra)
            model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=dtype, **extra)
        except (OSError, ValueError, ImportError) as error:
            raise ModelError(f"{self._name} cannot be loaded as a chat model: {error}") from error
        return tokenizer, model.to(device).eval()

    async def __aenter__(self) -> Self:
        self._turn = asyncio.Lock()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._turn = None

    async def ping(self) -> None:
        """Do nothing: the model runs in this process."""

    async def ask(self, request: Request) -> Reply:
        assert self._turn is not None, "a chat must be entered before it is asked"
        async with self._turn:
            return await asyncio.to_thread(self.answer, request)

    def answer(self, request: Request) -> Reply:
        """The filled form; deterministic for a request."""
        import torch

        parameters = json.loads(request.parameters)
        chance = torch.Generator().manual_seed(int(parameters.get("seed") or 0))
        with torch.inference_mode():
            prompt = self._prompted(request.messages)
            filling = GrowingConversation(self._tokenizer, self._model, prompt)
            slots = slots_of(request.schema)
            text = filling.fill(slots, float(parameters.get("temperature") or 0), chance)
        return Reply(text, "stop", len(prompt), filling.length - len(prompt), constrained=True)

    def _prompted(self, messages: Sequence[Message]) -> list[int]:
        """The conversation as token ids, in the model's own form where it has one."""
        if self._tokenizer.chat_template:
            text = self._tokenizer.apply_chat_template(
                list(messages), add_generation_prompt=True, tokenize=False
            )
        else:
            turns = [f"{message['role']}: {message['content']}" for message in messages]
            text = "\n\n".join([*turns, "assistant: "])
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        limit = getattr(self._model.config, "max_position_embeddings", None)
        if limit and len(ids) + MAX_REASONING > limit:
            raise RequestRefused(f"the reports have {len(ids)} tokens, and the model takes {limit}")
        return ids


class GrowingConversation:
    """A conversation that grows token by token, with the model's key-value cache."""

    def __init__(self, tokenizer: Any, model: Any, ids: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self._model = model
        self._past: Any = None
        self._next: Any = None
        self.length = 0
        self._write(ids)

    def fill(self, slots: Sequence[Slot], temperature: float, chance: Any) -> str:
        text = ""
        for slot in slots:
            self._write(self._ids(slot.before))
            if slot.choices:
                value = self._choose(slot.choices, temperature, chance)
            else:
                value = self._free_text(temperature, chance)
            text += slot.before + value
        return text + ("}" if slots[-1].choices else '"}')

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _write(self, ids: Sequence[int]) -> None:
        """Append tokens, and compute the likelihood of the next one."""
        import torch

        if not ids:
            return
        tokens = torch.tensor([list(ids)], device=self._model.device)
        output = self._model(input_ids=tokens, past_key_values=self._past, use_cache=True)
        self._past = output.past_key_values
        self._next = output.logits[0, -1].float().log_softmax(-1).cpu()
        self.length += len(ids)

    def _choose(self, choices: Sequence[str], temperature: float, chance: Any) -> str:
        """The choice whose first distinguishing token is the likeliest."""
        import torch

        ids = [self._ids(choice) for choice in choices]
        equal_positions = takewhile(lambda tokens: len({*tokens}) == 1, zip(*ids, strict=False))
        common = sum(1 for _ in equal_positions)
        firsts = [choice_ids[common] for choice_ids in ids if len(choice_ids) > common]
        if len(set(firsts)) < len(ids):
            raise RequestRefused("the model's tokens do not distinguish the scores of a scale")
        self._write(ids[0][:common])
        likelihoods = torch.stack([self._next[first] for first in firsts])
        index = _draw_token(likelihoods, temperature, chance)
        self._write(ids[index][common:])
        return choices[index]

    def _free_text(self, temperature: float, chance: Any) -> str:
        text = ""
        for _ in range(MAX_REASONING):
            token = _draw_token(self._next, temperature, chance)
            piece = str(self._tokenizer.decode([token]))
            end = next((index for index, letter in enumerate(piece) if letter in _STOPS), None)
            if token == self._tokenizer.eos_token_id or end is not None:
                return text + piece[: end or 0]
            text += piece if piece.isprintable() else " "
            self._write([token])
        return text


def _draw_token(likelihoods: Any, temperature: float, chance: Any) -> int:
    import torch

    if not temperature:
        return int(likelihoods.argmax())
    return int(torch.multinomial((likelihoods / temperature).softmax(-1), 1, generator=chance))
