"""Joint readers that read with torch, in full precision, as the shipped one reads with ONNX.

Everything but the arithmetic is the shipped reader's own: windows, decoding, pairs. So what the
two differ in is what rounding the weights has cost, and nothing else. Several readers answer as
one, by the mean of their probabilities.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from histoeval.extract.builtin import BuiltinReader
from histoeval.extract.manifest import Manifest
from histoeval.extract.memory import Memory
from histoeval.train.joint import JointReader

Arrays = Mapping[str, NDArray[Any]]

_LEAST = 1e-9


class TorchReader(BuiltinReader):
    """Reads with one or several joint readers; `tokenizer` is that of the tokenizers library."""

    def __init__(
        self, models: Sequence[JointReader], tokenizer: Any, device: str, *, name: str = "reader"
    ) -> None:
        self.manifest = Manifest(name=name, files={})
        self._models = [model.to(device).eval() for model in models]
        self._tokenizer = tokenizer
        self._encoder = _Encoders(self._models, device)
        self._linker = _Linkers(self._models, device)
        self._threads = 1
        self._remembered = Memory(self._read, most=5_000)

    @property
    def identity(self) -> str:
        """The readers down to their weights, and what runs them."""
        digest = hashlib.sha256(self._tokenizer.to_str().encode())
        for model in self._models:
            for name, weights in sorted(model.state_dict().items()):
                digest.update(name.encode())
                digest.update(weights.detach().cpu().contiguous().numpy().tobytes())
        return f"{self.manifest.name}@{digest.hexdigest()[:12]}/torch{torch.__version__}"

    @property
    def dtype(self) -> str:
        """How its weights are stored."""
        return "float32"


class _Encoders:
    """Stands where the shipped reader has its session: all encoders, side by side."""

    def __init__(self, models: Sequence[JointReader], device: str) -> None:
        self.models, self.device = models, device

    def run(self, _: None, inputs: Arrays) -> list[NDArray[Any]]:
        tokens = torch.from_numpy(inputs["tokens"]).to(self.device)
        with torch.inference_mode():
            passes = [model(tokens, torch.ones_like(tokens)) for model in self.models]
        encoded, tags, assertions = zip(*passes, strict=True)
        return [
            torch.cat(encoded, dim=-1).cpu().numpy(),
            *(_mean([logits.softmax(-1) for logits in some]) for some in (tags, assertions)),
        ]


class _Linkers:
    """The same for relations; each reader is given what its own encoder has made."""

    def __init__(self, models: Sequence[JointReader], device: str) -> None:
        self.models, self.device = models, device
        self.sizes = [int(model.encoder.config.hidden_size) for model in models]

    def run(self, _: None, inputs: Arrays) -> list[NDArray[Any]]:
        given = {name: torch.from_numpy(array).to(self.device) for name, array in inputs.items()}
        encoded = given.pop("encoded").split(self.sizes, dim=-1)
        mask = torch.ones_like(given["tags"])
        with torch.inference_mode():
            shares = [
                model.linker(encoded=part, mask=mask, **given).sigmoid()
                for model, part in zip(self.models, encoded, strict=True)
            ]
        mean = torch.stack(shares).mean(0).double().clamp(_LEAST, 1 - _LEAST)
        return [mean.logit().cpu().numpy()]


def _mean(shares: Sequence[Any]) -> NDArray[Any]:
    """The mean as logits, which is what a session gives."""
    mean = torch.stack(list(shares)).mean(0).cpu().numpy()
    logits: NDArray[Any] = np.log(mean + _LEAST)
    return logits
