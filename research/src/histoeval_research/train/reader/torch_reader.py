"""Joint readers that read with torch, in full precision, as the shipped one reads with ONNX.

Everything but the arithmetic is the shipped reader's own: windows, decoding, pairs. So what the
two differ in is what rounding the weights has cost, and nothing else. Several readers answer as
one, by the mean of their probabilities.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from histoeval.reader.links import Integers
from histoeval.reader.manifest import Manifest
from histoeval.reader.tagging import Floats
from histoeval.reader.windowed import WindowedReader
from histoeval_research.train.reader.model import JointReader

_LEAST = 1e-9


class TorchReader(WindowedReader):
    """Reads with one or several joint readers; `tokenizer` is that of the tokenizers library."""

    def __init__(
        self, models: Sequence[JointReader], tokenizer: Any, device: str, *, name: str = "reader"
    ) -> None:
        self._models = [model.to(device).eval() for model in models]
        engine = TorchEngine(self._models, device)
        super().__init__(Manifest(name=name, files={}), tokenizer, engine, threads=1)

    @property
    def identity(self) -> str:
        """The readers down to their weights, and what runs them."""
        digest = hashlib.sha256(self.tokenizer.to_str().encode())
        for model in self._models:
            for name, weights in sorted(model.state_dict().items()):
                digest.update(name.encode())
                digest.update(weights.detach().cpu().contiguous().numpy().tobytes())
        return f"{self.manifest.name}@{digest.hexdigest()[:12]}/torch{torch.__version__}"

    @property
    def dtype(self) -> str:
        """How its weights are stored."""
        return "float32"


class TorchEngine:
    """All models side by side; each linker is given what its own encoder has made."""

    def __init__(self, models: Sequence[JointReader], device: str) -> None:
        self.models, self.device = models, device
        self.sizes = [int(model.encoder.config.hidden_size) for model in models]

    def encode(self, tokens: Integers) -> tuple[Floats, Floats, Floats]:
        """Encoded tokens, and logits of their tags and of their assertions."""
        given = torch.from_numpy(tokens).to(self.device)
        with torch.inference_mode():
            passes = [model(given, torch.ones_like(given)) for model in self.models]
        encoded, tags, assertions = zip(*passes, strict=True)
        return (
            torch.cat(encoded, dim=-1).cpu().numpy(),
            _mean_logits(tags),
            _mean_logits(assertions),
        )

    def relate(self, **inputs: NDArray[Any]) -> Floats:
        """A logit for each pair of entities."""
        given = {name: torch.from_numpy(array).to(self.device) for name, array in inputs.items()}
        encoded = given.pop("encoded").split(self.sizes, dim=-1)
        mask = torch.ones_like(given["tags"])
        with torch.inference_mode():
            shares = [
                model.linker(encoded=part, mask=mask, **given).sigmoid()
                for model, part in zip(self.models, encoded, strict=True)
            ]
        mean = torch.stack(shares).mean(0).double().clamp(_LEAST, 1 - _LEAST)
        logits: Floats = mean.logit().cpu().numpy()
        return logits


def _mean_logits(logits: Sequence[torch.Tensor]) -> Floats:
    """The mean of shares as logits, which is what a session gives."""
    mean = torch.stack([each.softmax(-1) for each in logits]).mean(0).cpu().numpy()
    found: Floats = np.log(mean + _LEAST)
    return found
