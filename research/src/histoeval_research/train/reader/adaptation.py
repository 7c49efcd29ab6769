"""Language adaptation: an encoder reads unlabelled reports and learns to fill in hidden words."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from histoeval.errors import InputError, ModelError
from histoeval.reader.links import Integers
from histoeval_research.train.core.encoder import TorchEncoder
from histoeval_research.train.core.loop import TrainingStage, fit
from histoeval_research.train.reader.config import Adaptation

_SEED = 0  # language adaptation is done once for all students and teachers


class GapFiller(nn.Module):  # type: ignore[misc]
    """An encoder that guesses tokens, with its own embeddings as what it can say."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        size = int(encoder.config.hidden_size)
        self.encoder = encoder
        self.embeddings = encoder.get_input_embeddings()
        self.guess = nn.Sequential(nn.Linear(size, size), nn.GELU(), nn.LayerNorm(size))
        self.bias = nn.Parameter(torch.zeros(self.embeddings.num_embeddings))

    def forward(self, tokens: Tensor, asked: Tensor) -> Tensor:
        encoded = self.encoder(input_ids=tokens, attention_mask=torch.ones_like(tokens))
        guessed = self.guess(encoded.last_hidden_state[asked])
        return guessed @ self.embeddings.weight.T + self.bias


def adapt(
    encoder: TorchEncoder, texts: Sequence[str], recipe: Adaptation, stage: TrainingStage
) -> int:
    """Have an encoder read texts; the number of stretches that they were cut into."""
    tokenizer = encoder.tokenizer
    opening, closing, mask = (
        getattr(tokenizer, f"{name}_token_id") for name in ("cls", "sep", "mask")
    )
    if None in (opening, closing, mask):
        raise ModelError(
            f"{encoder.name} cannot be adapted: its tokenizer has no token for hidden words, or "
            "none that opens and closes a text"
        )
    encodings = encoder.fast.encode_batch(list(texts), add_special_tokens=False)
    cut = stretches([encoding.ids for encoding in encodings], recipe.length, opening, closing)
    if not len(cut):
        raise InputError(
            f"the unlabelled texts do not fill one stretch of {recipe.length} tokens to adapt on"
        )
    pieces = torch.from_numpy(cut).to(encoder.device)
    special = torch.tensor(tokenizer.all_special_ids, device=encoder.device)
    torch.manual_seed(_SEED)
    model = GapFiller(encoder.model).to(encoder.device)

    def loss(places: Sequence[int]) -> Tensor:
        some = pieces[torch.tensor(places, device=encoder.device)]
        return gap_loss(model, some, recipe.hidden, mask, special)

    fit(model, len(pieces), loss, recipe, seed=_SEED, encoder="encoder.", stage=stage)
    return len(pieces)


def stretches(
    sequences: Iterable[Sequence[int]], length: int, opening: int, closing: int
) -> Integers:
    """All tokens in one row, cut into pieces of equal length that begin and end as texts do."""
    row = np.concatenate([np.array([*tokens, closing], dtype=np.int32) for tokens in sequences])
    inner = length - 2
    pieces = row[: len(row) // inner * inner].reshape(-1, inner).astype(np.int64)
    begun = np.pad(pieces, ((0, 0), (1, 0)), constant_values=opening)
    return np.pad(begun, ((0, 0), (0, 1)), constant_values=closing)


def gap_loss(model: GapFiller, tokens: Tensor, hidden: float, mask: int, special: Tensor) -> Tensor:
    """How badly hidden tokens are guessed, in one draw of which to hide."""
    draw = torch.rand(tokens.shape, device=tokens.device)
    asked = (draw < hidden) & ~torch.isin(tokens, special)
    change = torch.rand(tokens.shape, device=tokens.device)
    size = model.embeddings.num_embeddings
    shown = torch.where(asked & (change < 0.8), mask, tokens)
    shown = torch.where(asked & (change >= 0.9), torch.randint_like(tokens, size), shown)
    with torch.autocast(tokens.device.type, torch.bfloat16, tokens.is_cuda):
        logits = model(shown, asked)
    return functional.cross_entropy(logits.float(), tokens[asked])
