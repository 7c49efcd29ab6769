"""Models of open_clip: QuiltNet and others by name, CONCH where its package is installed.

Names are those of open_clip: `hf-hub:wisdomik/QuiltNet-B-32`, `ViT-B-32@openai` for a model with
weights of that name, or `conch_ViT-B-16@FILE` for CONCH, whose weights are given to those who
signed for them.
"""

import hashlib
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import MissingDependency, ModelError
from histoeval.pathgls.grounding.encoder import SIZE, Pixels, Vectors, of_length_one
from histoeval.runtime.memo import Memory
from histoeval.runtime.transformer import choose_device, require_hf

CONCH = "conch"
_REMEMBERED = 20_000


class OpenClipEncoder:
    """A model that open_clip, or CONCH's own package, makes; each patch is run by itself."""

    def __init__(self, name: str, device: str | None = None) -> None:
        require_hf()
        self.name = name
        self._module = _library(name)
        self._device = choose_device(device)
        self._model, self._prepare, self._tokenize = self._load()
        self._hash = _weights_hash(self._model)
        self._remembered = Memory(self._encode, most=_REMEMBERED)

    @property
    def identity(self) -> str:
        """The model down to its weights, and what runs it."""
        release = getattr(self._module, "__version__", "unknown")
        return f"{self.name.partition('@')[0].split('/')[-1]}@{self._hash}/open_clip{release}"

    @property
    def size(self) -> int:
        """Pixels along a side of the patches that it takes."""
        size = getattr(getattr(self._model, "visual", None), "image_size", SIZE)
        return int(size[0] if isinstance(size, list | tuple) else size)

    def images(self, patches: Sequence[Pixels]) -> Vectors:
        """One vector for each patch, in their order."""
        return of_length_one(np.array([self._look(patch) for patch in patches]), self.name)

    def texts(self, phrases: Sequence[str]) -> Vectors:
        """One vector for each phrase, in their order."""
        return of_length_one(np.array(self._remembered(phrases)), self.name)

    def _look(self, patch: Pixels) -> NDArray[np.float32]:
        import torch
        from PIL import Image

        picture = self._prepare(Image.fromarray(patch)).unsqueeze(0).to(self._device)
        with torch.inference_mode():
            return _plain(self._model.encode_image(picture))

    def _encode(self, phrases: Sequence[str]) -> list[NDArray[np.float32]]:
        import torch

        with torch.inference_mode():
            return [
                _plain(self._model.encode_text(self._tokenize([phrase]).to(self._device)))
                for phrase in phrases
            ]

    def _load(self) -> tuple[Any, Any, Any]:
        name, _, weights = self.name.partition("@")
        try:
            if name.startswith(CONCH):
                model, prepare = self._module.create_model_from_pretrained(name, weights)
                tokenizer = self._module.get_tokenizer()

                def tokenize(phrases: Sequence[str]) -> Any:
                    """CONCH's way, which wants its tokenizer with the texts."""
                    return self._module.tokenize(texts=list(phrases), tokenizer=tokenizer)

            else:
                model, prepare = self._module.create_model_from_pretrained(
                    name, **({"pretrained": weights} if weights else {})
                )
                tokenize = self._module.get_tokenizer(name)
        except Exception as error:  # it raises whatever hub, torch and timm do
            reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
            raise ModelError(f"open_clip cannot load {self.name!r}: {reason}") from error
        return model.to(self._device).eval(), prepare, tokenize


def _library(name: str) -> Any:
    """Who makes the model."""
    if name.startswith(CONCH):
        package, module = "conch", "conch.open_clip_custom"
        how = "pip install git+https://github.com/Mahmoodlab/CONCH"
    else:
        package, module, how = "open_clip", "open_clip", "pip install open_clip_torch"
    if find_spec(package) is None:
        raise MissingDependency(f"{package} is not installed, and {name!r} needs it; run: {how}")
    return import_module(module)


def _plain(rows: Any) -> NDArray[np.float32]:
    return np.asarray(rows.float().cpu().numpy()[0], np.float32)


def _weights_hash(model: Any) -> str:
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:12]
