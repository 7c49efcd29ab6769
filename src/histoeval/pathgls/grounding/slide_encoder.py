"""Slide encoders: patches become features, and features with their positions become one vector.

TITAN is the model of this kind. The features of its patch tower (CONCH 1.5) have no texts beside
them; only the vector of the whole slide meets phrases. So a claim is compared with the slide as
one, and there is neither a best patch nor a heatmap.
"""

from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import ModelError
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage
from histoeval.pathgls.grounding.encoder import (
    ImageTextEncoder,
    Pixels,
    SlideTextEncoder,
    Vectors,
    of_length_one,
)
from histoeval.pathgls.grounding.image_reference import unknown_slides
from histoeval.pathgls.grounding.towers import loading, one_row, weights_hash
from histoeval.pathgls.results import Spot
from histoeval.runtime.hub import only_here
from histoeval.runtime.memo import Memory
from histoeval.runtime.recipe import Remade
from histoeval.runtime.transformer import choose_device, require_hf

SIDE = 512
"""Pixels along a side of TITAN's patches, at 0.5 µm/px; it scales them by itself."""
NEEDED = ("return_conch", "encode_slide_from_patch_features", "encode_text")
_REMEMBERED = 20_000


def as_slide(image: EmbeddedImage, encoder: ImageTextEncoder) -> EmbeddedImage:
    """The image as one vector where the encoder is one of slides; any other as it is."""
    if not isinstance(encoder, SlideTextEncoder):
        return image
    vectors = encoder.slides(image.vectors, image.spots)
    left, top = min(spot.x for spot in image.spots), min(spot.y for spot in image.spots)
    right = max(spot.x + spot.width for spot in image.spots)
    bottom = max(spot.y + spot.height for spot in image.spots)
    note = f"one vector for the slide, from {len(image.spots)} patches: no best patch is known"
    return EmbeddedImage(
        vectors,
        (Spot(x=left, y=top, width=right - left, height=bottom - top),),
        (*image.notes, note),
        tuple(unknown_slides(encoder, vectors)),
    )


class TitanEncoder(Remade):
    """TITAN, or a model with its methods, from a folder or the hub by Transformers.

    Transformers runs the Python files that come with such a model. That is why it is loaded by the
    name `titan` only, never because a folder happens to hold one.
    """

    size = SIDE

    def __init__(self, name: str | Path, device: str | None = None) -> None:
        require_hf()
        self.name = str(name)
        self._device = choose_device(device)
        self._model, self._patches, self._prepare = self._load()
        self._hash = weights_hash(self._model, self._patches)
        self._remembered = Memory(self._encode, most=_REMEMBERED)

    @property
    def identity(self) -> str:
        """The model down to its weights, and what runs it."""
        libraries = f"torch{version('torch')}+transformers{version('transformers')}"
        return f"{Path(self.name).name}@{self._hash}/float32/{libraries}"

    def images(self, patches: Sequence[Pixels]) -> Vectors:
        """The features of each patch, which only `slides` reads."""
        return np.array([one_row(self._look, patch) for patch in patches], np.float32)

    def slides(self, features: NDArray[np.float32], spots: Sequence[Spot]) -> Vectors:
        """One row: the slide that patches with these features and positions belong to."""
        import torch

        side, _ = Counter(spot.width for spot in spots).most_common(1)[0]
        places = torch.tensor([[(spot.x, spot.y) for spot in spots]], device=self._device)
        given = torch.from_numpy(np.asarray(features, np.float32))[None].to(self._device)
        with torch.inference_mode():
            slide = self._model.encode_slide_from_patch_features(given, places, side)
            row = slide.float().reshape(1, -1) @ self._model.vision_encoder.proj.float()
        return of_length_one(np.asarray(row.cpu().numpy(), np.float32), self.name)

    def texts(self, phrases: Sequence[str]) -> Vectors:
        """One vector for each phrase, in their order."""
        return of_length_one(np.array(self._remembered(phrases)), self.name)

    def _look(self, patch: Pixels) -> Any:
        from PIL import Image

        return self._patches(self._prepare(Image.fromarray(patch)).unsqueeze(0).to(self._device))

    def _encode(self, phrases: Sequence[str]) -> list[NDArray[np.float32]]:
        return [one_row(self._read, phrase) for phrase in phrases]

    def _read(self, phrase: str) -> Any:
        tokens = self._model.text_encoder.tokenizer([phrase])
        return self._model.encode_text(tokens.to(self._device), normalize=True)

    def _load(self) -> tuple[Any, Any, Any]:
        import transformers

        with loading(self.name, "Transformers"):
            model = transformers.AutoModel.from_pretrained(
                self.name, local_files_only=only_here(self.name), trust_remote_code=True
            )
            if absent := [name for name in NEEDED if not hasattr(model, name)]:
                raise ModelError(f"{self.name} is no slide encoder: it has no {', '.join(absent)}")
            patches, prepare = model.return_conch()
        return model.to(self._device).eval(), patches.to(self._device).eval(), prepare
