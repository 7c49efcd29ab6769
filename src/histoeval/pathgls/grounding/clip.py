"""CLIP and SigLIP models of Transformers, PLIP among them, from a folder or the hub (extra [hf]).

Every patch and every phrase is run by itself on a CPU; on a GPU patches are run in batches that
always have the same shape. So a vector does not depend on the batch.
"""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import ModelError
from histoeval.pathgls.grounding.encoder import Pixels, Vectors, of_length_one
from histoeval.runtime.hub import only_here
from histoeval.runtime.memo import Memory
from histoeval.runtime.recipe import Remade
from histoeval.runtime.transformer import choose_device, fingerprint, require_hf

PLIP = "vinid/plip"
SIGLIP = "siglip"
"""How the type of such models begins."""
GPU_BATCH = 64
_REMEMBERED = 20_000


class ClipEncoder(Remade):
    """A model with an image tower and a text tower that meet in one space."""

    def __init__(self, name: str | Path, device: str | None = None) -> None:
        require_hf()
        self.name = str(name)
        try:
            local = only_here(self.name)
        except FileNotFoundError as error:
            raise ModelError(_cannot_load(self.name, error)) from error
        self._device = choose_device(device)
        self.on_gpu = self._device.startswith("cuda")
        self._batch = GPU_BATCH if self._device.startswith("cuda") else 1
        self._model, self._tokenizer, self._pictures = self._load(local)
        self._model.to(self._device)
        self._hash = fingerprint(self._model, self._tokenizer, ())
        self._remembered = Memory(self._encode, most=_REMEMBERED)

    @property
    def identity(self) -> str:
        """The model down to its weights, and what runs it."""
        libraries = f"torch{version('torch')}+transformers{version('transformers')}"
        return f"{Path(self.name).name}@{self._hash}/float32/{libraries}"

    @property
    def size(self) -> int:
        """Pixels along a side of the patches that it takes."""
        return int(self._model.config.vision_config.image_size)

    def images(self, patches: Sequence[Pixels]) -> Vectors:
        """One vector for each patch, in their order."""
        rows = [
            row
            for first in range(0, len(patches), self._batch)
            for row in self._look(patches[first : first + self._batch])
        ]
        return of_length_one(np.array(rows), self.name)

    def texts(self, phrases: Sequence[str]) -> Vectors:
        """One vector for each phrase, in their order; what is too long is cut off."""
        return of_length_one(np.array(self._remembered(phrases)), self.name)

    def _look(self, patches: Sequence[Pixels]) -> NDArray[np.float32]:
        import torch

        shown = np.stack([patches[n % len(patches)] for n in range(self._batch)])
        mean, std = (np.array(each, np.float32) for each in self._pictures)
        scaled = (shown.astype(np.float32) / np.float32(255) - mean) / std
        pixels = torch.from_numpy(scaled.transpose(0, 3, 1, 2).copy()).to(self._device)
        with torch.inference_mode():
            rows = _plain(self._model.get_image_features(pixel_values=pixels))
        return rows[: len(patches)]

    def _encode(self, phrases: Sequence[str]) -> list[NDArray[np.float32]]:
        import torch

        rows = []
        for phrase in phrases:
            tokens = self._tokens(phrase).to(self._device)
            with torch.inference_mode():
                rows.append(_plain(self._model.get_text_features(**tokens))[0])
        return rows

    def _tokens(self, phrase: str) -> Any:
        """SigLIP learned from texts that were filled up to its length, and without a mask."""
        most = int(self._model.config.text_config.max_position_embeddings)
        filled = str(self._model.config.model_type).startswith(SIGLIP)
        return self._tokenizer(
            phrase,
            truncation=True,
            max_length=most,
            return_tensors="pt",
            **(
                {
                    "padding": "max_length",
                    "return_attention_mask": False,
                    "return_token_type_ids": False,
                }
                if filled
                else {}
            ),
        )

    def _load(self, local: bool) -> tuple[Any, Any, tuple[list[float], list[float]]]:
        import transformers
        from safetensors import SafetensorError

        talk = transformers.utils.logging
        verbosity = talk.get_verbosity()
        talk.set_verbosity_error()
        talk.disable_progress_bar()
        try:
            model, info = transformers.AutoModel.from_pretrained(
                self.name, local_files_only=local, output_loading_info=True
            )
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                self.name, local_files_only=local
            )
            pictures, _ = transformers.ImageProcessingMixin.get_image_processor_dict(
                self.name, local_files_only=local
            )
            scale = (
                [float(each) for each in pictures["image_mean"]],
                [float(each) for each in pictures["image_std"]],
            )
        except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError) as error:
            raise ModelError(_cannot_load(self.name, error)) from error
        finally:
            talk.set_verbosity(verbosity)
            talk.enable_progress_bar()
        if not hasattr(model, "get_image_features") or info["missing_keys"]:
            raise ModelError(f"{self.name} is no CLIP model: it has not both towers")
        return model.eval(), tokenizer, scale


def _plain(features: Any) -> NDArray[np.float32]:
    """The projected vectors, which newer releases hand out inside of an object."""
    rows = getattr(features, "pooler_output", features)
    return np.asarray(rows.float().cpu().numpy(), np.float32)


def _cannot_load(name: str, error: Exception) -> str:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
    return (
        f"cannot load {name!r} as a CLIP model: {reason} Give 'builtin' for our own, a folder that "
        "holds config.json, weights, tokenizer and preprocessor_config.json, or, where the network "
        f"reaches it, the model's name on the hub, as in {PLIP}."
    )
