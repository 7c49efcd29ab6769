"""One Transformers model, loaded from a hub name or a folder, and run in well-filled batches.

Needs the extra ``[hf]``; nothing else in the package imports torch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import MissingDependency, ModelError
from histoeval.extract.batches import batches

if TYPE_CHECKING:
    import torch

Task = Literal["token-classification", "sequence-classification", "encoder"]
Vectors = NDArray[np.float32]

CPU_TOKENS = 1024
GPU_TOKENS = 16_384
"""Tokens in a batch: a CPU gains nothing from more than its cache holds, a GPU a great deal."""

_AUTO_CLASSES: dict[Task, str] = {
    "token-classification": "AutoModelForTokenClassification",
    "sequence-classification": "AutoModelForSequenceClassification",
    "encoder": "AutoModel",
}


def require_hf() -> None:
    """Say what to install when the extra is missing."""
    if absent := [name for name in ("torch", "transformers") if find_spec(name) is None]:
        raise MissingDependency(
            f"{' and '.join(absent)} not installed: Hugging Face models need the extra [hf]; "
            "run: pip install 'histoeval[hf]'"
        )


class Transformer:
    """A tokenizer and a model that answers for each sequence of token ids on its own.

    On a GPU that can, the model runs in bfloat16; elsewhere in float32. Sequences are padded to
    the longest of their batch only, and each distinct sequence is run once per call.
    """

    def __init__(
        self,
        name: str | Path,
        task: Task,
        *,
        device: str | None = None,
        token_budget: int | None = None,
    ) -> None:
        require_hf()
        self.name = str(name)
        self.task: Task = task
        self.device = device or _best_device()
        self.token_budget = token_budget or (GPU_TOKENS if "cuda" in self.device else CPU_TOKENS)
        self.tokenizer, self.model = self._load()
        self.identity = f"{Path(self.name).name}@{_fingerprint(self.model)}/{self.dtype}"
        self.model.to(self.device, dtype=getattr(_torch(), self.dtype))

    @cached_property
    def dtype(self) -> str:
        """The number format that the model runs in."""
        cuda = _torch().cuda
        on_gpu = self.device.startswith("cuda")
        return "bfloat16" if on_gpu and cuda.is_bf16_supported() else "float32"

    @cached_property
    def most_tokens(self) -> int:
        """The longest sequence, special tokens included, that the model takes."""
        limits = [int(self.tokenizer.model_max_length)]
        if positions := getattr(self.model.config, "max_position_embeddings", None):
            limits.append(int(positions))
        return min(limits)

    def forward(
        self, sequences: Sequence[Sequence[int]], pick: Callable[[Any], torch.Tensor]
    ) -> list[Vectors]:
        """What `pick` takes from the model's output, one array per sequence, in their order.

        An array with a row per token is cut to the tokens of its own sequence.
        """
        distinct = list(dict.fromkeys(tuple(sequence) for sequence in sequences))
        answers: dict[tuple[int, ...], Vectors] = {}
        for batch in batches([len(sequence) for sequence in distinct], self.token_budget):
            members = [distinct[i] for i in batch]
            answers |= zip(members, self._run(members, pick), strict=True)
        return [answers[tuple(sequence)] for sequence in sequences]

    def _run(
        self, members: list[tuple[int, ...]], pick: Callable[[Any], torch.Tensor]
    ) -> list[Vectors]:
        torch = _torch()
        width = max(len(member) for member in members)
        padding = self.tokenizer.pad_token_id or 0
        ids = torch.full((len(members), width), padding, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, member in enumerate(members):
            ids[row, : len(member)] = torch.tensor(member)
            mask[row, : len(member)] = 1
        try:
            with torch.inference_mode():
                output = self.model(
                    input_ids=ids.to(self.device), attention_mask=mask.to(self.device)
                )
                rows = pick(output).float().cpu().numpy()
        except torch.cuda.OutOfMemoryError:
            if len(members) == 1:
                raise
            half = len(members) // 2
            return self._run(members[:half], pick) + self._run(members[half:], pick)
        per_token = rows.ndim == 3
        return [
            row[: len(member)] if per_token else row
            for row, member in zip(rows, members, strict=True)
        ]

    def _load(self) -> tuple[Any, Any]:
        import transformers  # noqa: PLC0415 - only where the extra is used

        local = Path(self.name).is_dir()
        talk = transformers.utils.logging
        verbosity, bars = talk.get_verbosity(), talk.is_progress_bar_enabled()
        talk.set_verbosity_error()
        if local:
            talk.disable_progress_bar()
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                self.name, local_files_only=local
            )
            model, info = getattr(transformers, _AUTO_CLASSES[self.task]).from_pretrained(
                self.name, local_files_only=local, output_loading_info=True
            )
        except (OSError, ValueError, KeyError, ImportError) as error:
            raise ModelError(self._cannot_load(error)) from error
        finally:
            talk.set_verbosity(verbosity)
            if bars:
                talk.enable_progress_bar()
        if absent := sorted(key for key in info["missing_keys"] if "pooler" not in key):
            raise ModelError(
                f"{self.name} is not a {self.task} model: it has no weights for "
                f"{', '.join(absent[:3])}"
            )
        if not tokenizer.is_fast:
            raise ModelError(f"{self.name} has no fast tokenizer, so offsets cannot be known")
        return tokenizer, model.eval()

    def _cannot_load(self, error: Exception) -> str:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        return (
            f"cannot load {self.name!r} as a {self.task} model: {reason} "
            "Give a folder that holds config.json, weights and tokenizer, or, where the network "
            "reaches it, the model's name on the hub."
        )


def _torch() -> Any:
    import torch  # noqa: PLC0415 - only where the extra is used

    return torch


def _best_device() -> str:
    return "cuda" if _torch().cuda.is_available() else "cpu"


def _fingerprint(model: Any) -> str:
    """The first digits of a hash over all weights, so that a signature names what was run."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(-1).view(_torch().uint8).numpy())
    return digest.hexdigest()[:12]
