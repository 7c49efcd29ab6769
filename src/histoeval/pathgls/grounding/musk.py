"""MUSK, by its authors' package `musk`, which registers the model with timm.

One transformer reads images and texts; the heads that align them are used, and no multiscale
augmentation, as for zero-shot retrieval.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from histoeval.errors import ModelError
from histoeval.pathgls.grounding.encoder import Pixels
from histoeval.pathgls.grounding.towers import (
    TowerEncoder,
    TwoTowers,
    library_of,
    loading,
    release_of,
)
from histoeval.runtime.transformer import choose_device, require_hf

ARCHITECTURE = "musk_large_patch16_384"
SIDE = 384
MOST_TOKENS = 100
TOKENIZER = "tokenizer.spm"
INSTALL = "pip install timm sentencepiece git+https://github.com/lilab-stanford/MUSK"
HUB = "hf_hub:"
BEGIN, PAD, END, UNKNOWN = range(4)
"""Tokens of XLM-RoBERTa, which stand before the pieces of its vocabulary."""


class MuskEncoder(TowerEncoder):
    """MUSK from its file of weights, or from `hf_hub:OWNER/NAME`.

    The tokenizer is the `tokenizer.spm` beside the weights, or else the one in the package.
    """

    def __init__(self, weights: str, device: str | None = None) -> None:
        require_hf()
        super().__init__("musk", _towers(weights, choose_device(device)))


def _towers(weights: str, device: str) -> TwoTowers:
    import torch

    timm = library_of("timm", "timm.models", needed_by="musk", install=INSTALL)
    package = library_of("musk", "musk", needed_by="musk", install=INSTALL)
    utils = library_of("musk", "musk.utils", needed_by="musk", install=INSTALL)
    library_of("musk", "musk.modeling", needed_by="musk", install=INSTALL)  # registers with timm
    pieces = library_of("sentencepiece", "sentencepiece", needed_by="musk", install=INSTALL)
    with loading(weights, "musk"):
        model = timm.create_model(ARCHITECTURE)
        utils.load_model_and_may_interpolate(weights, model, "model|module", "")
        file = str(_tokenizer_file(weights, package))
        vocabulary = pieces.SentencePieceProcessor(model_file=file)
        model = model.to(device).eval()

    def look(patch: Pixels) -> Any:
        scaled = patch.astype(np.float32) / np.float32(127.5) - np.float32(1)
        pixels = torch.from_numpy(scaled.transpose(2, 0, 1)[None].copy()).to(device)
        return model(image=pixels, with_head=True, out_norm=True)[0]

    def read(phrase: str) -> Any:
        tokens = musk_tokens(vocabulary.encode(phrase))
        return model(
            text_description=torch.tensor([tokens], device=device),
            padding_mask=torch.tensor([[int(each == PAD) for each in tokens]], device=device),
            with_head=True,
            out_norm=True,
        )[1]

    return TwoTowers(model, SIDE, look, read, f"musk{release_of(package)}")


def musk_tokens(pieces: Sequence[int]) -> list[int]:
    """The pieces of a phrase as XLM-RoBERTa numbers them, filled up to MUSK's length.

    Its numbers are one higher than those of sentencepiece, whose 0 is the unknown piece.
    """
    inside = [piece + 1 if piece else UNKNOWN for piece in pieces[: MOST_TOKENS - 2]]
    tokens = [BEGIN, *inside, END]
    return tokens + [PAD] * (MOST_TOKENS - len(tokens))


def _tokenizer_file(weights: str, package: Any) -> Path:
    beside = [] if weights.startswith(HUB) else [Path(weights).parent / TOKENIZER]
    for file in (*beside, Path(str(package.__file__)).parent / "models" / TOKENIZER):
        if file.is_file():
            return file
    raise ModelError(
        f"MUSK's {TOKENIZER} lies neither beside its weights nor in the package musk; copy it from "
        "musk/models of its repository to the folder of the weights"
    )
