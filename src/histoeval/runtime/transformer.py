"""One Transformers model, loaded from a hub name or a folder, and run in well-filled batches.

Needs the extra ``[hf]``. Torch is imported where it is used, so that nothing else pays for it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain, cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import MissingDependency, ModelError, SettingError, pip_install
from histoeval.runtime.audit import note_sent
from histoeval.runtime.batching import LENGTH_STEP, SteadyPlan, Tokens, batches, steady_shape

if TYPE_CHECKING:
    import torch


Task = Literal["token-classification", "sequence-classification", "encoder"]
Dtype = Literal["float32", "bfloat16"]
Vectors = NDArray[np.float32]

CPU_TOKENS = 1024
# tokens in a batch: a CPU gains nothing from more than its cache holds, a GPU a great deal
GPU_TOKENS = 16_384
# answers that may wait on a GPU; more are fetched, so that its memory has room for batches
_WAITING_BYTES = 1 << 28
# sequences that a model was given, and its answers, which may still be on their way
_Started: TypeAlias = "tuple[list[Tokens], torch.Tensor]"
_AUTO_CLASSES: dict[Task, str] = {
    "token-classification": "AutoModelForTokenClassification",
    "sequence-classification": "AutoModelForSequenceClassification",
    "encoder": "AutoModel",
}


def require_hf() -> None:
    if absent := [name for name in ("torch", "transformers") if find_spec(name) is None]:
        raise MissingDependency(
            f"{' and '.join(absent)} not installed: Hugging Face models need the extra [hf]; "
            f"run: {pip_install('hf')}"
        )


@dataclass(frozen=True)
class Runtime:
    """The device and number format of models, by default chosen for the machine."""

    device: str | None = None
    dtype: Dtype | None = None
    token_budget: int | None = None


THIS_MACHINE = Runtime()


class Transformer:
    """A tokenizer and a model whose answer to a sequence of tokens depends on that sequence alone.

    On a GPU that can, the model runs in bfloat16; elsewhere in float32. Each distinct sequence is
    run once per call. On a CPU sequences are padded to the longest of their batch only. On a GPU,
    where the rounding of bfloat16 follows the shape of a batch, every batch of a length class has
    the same shape, so that an answer does not depend on its neighbours.
    """

    def __init__(
        self,
        name: str | Path,
        task: Task,
        runtime: Runtime = THIS_MACHINE,
    ) -> None:
        require_hf()
        self._recipe = name, task, runtime
        self.name = str(name)
        self.task: Task = task
        self.device = choose_device(runtime.device)
        self.on_gpu = self.device.startswith("cuda")
        is_bfloat16 = self.on_gpu and _torch().cuda.is_bf16_supported()
        self.dtype: Dtype = runtime.dtype or ("bfloat16" if is_bfloat16 else "float32")
        self.token_budget = runtime.token_budget or (GPU_TOKENS if self.on_gpu else CPU_TOKENS)
        self.tokenizer, self.model, self._fingerprint = self._load()
        self.model.to(self.device, dtype=getattr(_torch(), self.dtype))

    def __reduce__(self) -> tuple[type[Transformer], tuple[Any, ...]]:
        """Pickle the name of the model, which is loaded again on unpickling."""
        return Transformer, self._recipe

    @cached_property
    def identity(self) -> str:
        """The model, its tokenizer and what runs them; on a GPU also the shape of a batch."""
        libraries = f"torch{version('torch')}+transformers{version('transformers')}"
        shape = f"/{self.token_budget}x{LENGTH_STEP}" if self.on_gpu else ""
        return f"{Path(self.name).name}@{self._fingerprint}/{self.dtype}{shape}/{libraries}"

    @cached_property
    def most_tokens(self) -> int:
        """The longest sequence, special tokens included, that the model takes."""
        limits = [int(self.tokenizer.model_max_length)]
        if positions := getattr(self.model.config, "max_position_embeddings", None):
            # models of the RoBERTa kind count positions from behind that of padding
            embeddings = getattr(getattr(self.model, "base_model", self.model), "embeddings", None)
            position = getattr(embeddings, "position_embeddings", None)
            padding = getattr(position, "padding_idx", None)
            limits.append(int(positions) - (0 if padding is None else padding + 1))
        return min(limits)

    def encodings(
        self, texts: Sequence[str], *, special: bool = True, most: int | None = None
    ) -> list[Any]:
        """The tokens of all texts in one call; with `most`, cut to so many tokens."""
        backend = self.tokenizer.backend_tokenizer
        backend.no_padding()
        if most is None:
            backend.no_truncation()
        else:
            backend.enable_truncation(most)
        encodings: list[Any] = backend.encode_batch(list(texts), add_special_tokens=special)
        return encodings

    def forward(
        self, sequences: Sequence[Sequence[int]], pick: Callable[[Any], torch.Tensor]
    ) -> list[Vectors]:
        """Run the model; `pick` takes one array per sequence from its output, in their order.

        An array with a row per token is cut to the tokens of its own sequence.
        """
        return self.forward_chunks([sequences], pick)

    def forward_chunks(
        self, chunks: Iterable[Sequence[Sequence[int]]], pick: Callable[[Any], torch.Tensor]
    ) -> list[Vectors]:
        """Run the model on sequences that arrive in chunks.

        A GPU begins with the first chunk while the next is made: batches are started as soon as
        they are full, and their answers fetched at the end.
        """
        all_keys: list[Tokens] = []
        plan = SteadyPlan(self.token_budget)
        answers: dict[Tokens, Vectors] = {}
        batches_started: list[_Started] = []
        waiting = 0
        known_keys: set[Tokens] = set()
        for chunk in chunks:
            keys = [tuple(sequence) for sequence in chunk]
            all_keys += keys
            distinct = [key for key in dict.fromkeys(keys) if key not in known_keys]
            known_keys.update(distinct)
            if self.on_gpu:
                batches_ready = plan.add(distinct)
            else:
                groups = batches([len(key) for key in distinct], self.token_budget)
                batches_ready = ([distinct[i] for i in group] for group in groups)
            for members in batches_ready:
                batches_started.append(self._start(members, pick))
                waiting += batches_started[-1][1].nbytes
                if waiting > _WAITING_BYTES:
                    answers |= self._fetch(batches_started)
                    waiting = 0
        batches_started += [self._start(members, pick) for members in plan.rest()]
        answers |= self._fetch(batches_started)
        return [answers[key] for key in all_keys]

    def _start(self, members: list[Tokens], pick: Callable[[Any], torch.Tensor]) -> _Started:
        """Start a batch; on a GPU without waiting for its answers."""
        torch = _torch()
        ids, lengths = self._padded(members)
        try:
            with torch.inference_mode():
                mask = torch.arange(ids.shape[1], device=self.device) < lengths[:, None]
                output = self.model(input_ids=ids, attention_mask=mask.long())
                return members, pick(output).float()
        except torch.cuda.OutOfMemoryError as error:
            raise ModelError(
                f"{self.name} does not fit on {self.device} with {self.token_budget} tokens in a "
                "batch; give a smaller --token-budget"
            ) from error

    def _padded(self, members: list[Tokens]) -> tuple[torch.Tensor, torch.Tensor]:
        width, height = max(map(len, members)), len(members)
        if self.on_gpu:
            steady, height = steady_shape(width, self.token_budget)
            width = max(width, min(steady, self.most_tokens))
        rows = list(islice(cycle(members), height))
        lengths = np.fromiter(map(len, rows), np.int64, height)
        ids = np.full((height, width), self.tokenizer.pad_token_id or 0, dtype=np.int64)
        ids[np.arange(width) < lengths[:, None]] = np.fromiter(chain.from_iterable(rows), np.int64)
        return self._sent(ids), self._sent(lengths)

    def _sent(self, numbers: NDArray[np.int64]) -> torch.Tensor:
        tensor = _torch().from_numpy(numbers)
        return tensor.pin_memory().to(self.device, non_blocking=True) if self.on_gpu else tensor

    def _fetch(self, started: list[_Started]) -> dict[Tokens, Vectors]:
        """Fetch the answers of all started batches, and clear their list."""
        answers: dict[Tokens, Vectors] = {}
        for members, output in started:
            rows = output.cpu().numpy()
            if not np.isfinite(rows).all():
                raise ModelError(f"{self.name} gave numbers that are not finite: bad weights")
            for member, row in zip(members, rows, strict=False):
                answers[member] = row[: len(member)] if rows.ndim == 3 else row
        started.clear()
        return answers

    def _load(self) -> tuple[Any, Any, str]:
        import transformers
        from safetensors import SafetensorError

        hub_log = transformers.utils.logging
        verbosity, bars = hub_log.get_verbosity(), hub_log.is_progress_bar_enabled()
        hub_log.set_verbosity_error()
        try:
            local = only_here(self.name)
            if local:
                hub_log.disable_progress_bar()
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                self.name, local_files_only=local
            )
            model, info = getattr(transformers, _AUTO_CLASSES[self.task]).from_pretrained(
                self.name, local_files_only=local, output_loading_info=True
            )
        except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError) as error:
            article = "an" if self.task[0] in "aeiou" else "a"
            raise ModelError(
                f"cannot load {self.name!r} as {article} {self.task} model: {_first_line(error)} "
                "Give a folder that holds config.json, weights and tokenizer, or, where the "
                "network reaches it, the model's name on the hub."
            ) from error
        finally:
            hub_log.set_verbosity(verbosity)
            if bars:
                hub_log.enable_progress_bar()
        spare = {key for key in info["missing_keys"] if self.task == "encoder" and "pooler" in key}
        if absent := sorted(set(info["missing_keys"]) - spare):
            raise ModelError(
                f"{self.name} is not a {self.task} model: it has no weights for "
                f"{', '.join(absent[:3])}"
            )
        if not tokenizer.is_fast:
            raise ModelError(f"{self.name} has no fast tokenizer, so offsets cannot be known")
        return tokenizer, model.eval(), fingerprint(model, tokenizer, spare)


def _torch() -> Any:
    import torch

    return torch


def choose_device(wanted: str | None) -> str:
    torch = _torch()
    if wanted is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=wanted)
    except (RuntimeError, AssertionError) as error:
        raise SettingError(
            f"the device {wanted!r} cannot be used here: {_first_line(error)}"
        ) from error
    return wanted


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or repr(error)


def fingerprint(model: Any, tokenizer: Any, spare: Collection[str]) -> str:
    """Return the first digits of a hash over weights, shape and tokenizer.

    Weights that the checkpoint does not hold, and that the task does not use, are skipped: they
    are random at every load.
    """
    digest = hashlib.sha256(tokenizer.backend_tokenizer.to_str().encode())
    config = model.config.to_dict()
    skipped = ("_name_or_path", "transformers_version", "dtype", "torch_dtype", "architectures")
    settings = {name: value for name, value in config.items() if name not in skipped}
    digest.update(json.dumps(settings, sort_keys=True, default=str).encode())
    for name, tensor in sorted(model.state_dict().items()):
        if name not in spare:
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().view(-1).view(_torch().uint8).numpy())
    return digest.hexdigest()[:12]


WAIT_S = 10.0  # so long the hub may take to say whether it has a model


def note_download(name: str) -> None:
    """Note that a model is asked for on the hub, unless it is a file or folder here."""
    if not Path(name).exists():
        hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
        note_sent(hub, name, "model from the hub", name.encode())


def only_here(name: str) -> bool:
    """True if a model is here and the hub unreachable; `FileNotFoundError` if it is nowhere."""
    if Path(name).is_dir():
        return True
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.utils import HFValidationError, RepositoryNotFoundError

    note_download(name)
    try:
        HfApi().model_info(name, timeout=WAIT_S)
        return False
    except HFValidationError:
        reason = "no model on the hub can have it"
    except RepositoryNotFoundError:
        reason = "the hub has no model of this name, or none that you may read"
    except Exception as error:  # noqa: BLE001 - its errors are those of whatever carries them
        reason = f"the hub cannot be reached ({_first_line(error)})"
    with suppress(HFValidationError):
        if isinstance(try_to_load_from_cache(name, "config.json"), str):
            return True
    raise FileNotFoundError(f"there is no folder of this name, and {reason}.")
