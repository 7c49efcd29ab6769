"""Language adaptation: an encoder reads unlabelled reports and learns to fill in hidden words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from histoeval_research.train.core.loop import Schedule

if TYPE_CHECKING:
    from histoeval.reader.links import Integers


class Adaptation(Schedule):
    """How long to adapt, and how much to hide."""

    length: Annotated[int, Field(ge=8)] = 192
    """Tokens that are read at once."""
    hidden: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Share of the tokens to be guessed: of these, 80 % are masked and 10 % are exchanged."""


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
        """Logits over the vocabulary for each token that is asked for."""
        encoded = self.encoder(input_ids=tokens, attention_mask=torch.ones_like(tokens))
        guessed = self.guess(encoded.last_hidden_state[asked])
        return guessed @ self.embeddings.weight.T + self.bias


def stretches(
    sequences: Iterable[Sequence[int]], length: int, opening: int, closing: int
) -> Integers:
    """All tokens in one row, cut into pieces of equal length that begin and end as texts do."""
    row = np.concatenate([np.array([*tokens, closing], dtype=np.int32) for tokens in sequences])
    inner = length - 2
    pieces = row[: len(row) // inner * inner].reshape(-1, inner).astype(np.int64)
    return np.pad(
        np.pad(pieces, ((0, 0), (1, 0)), constant_values=opening),
        ((0, 0), (0, 1)),
        constant_values=closing,
    )


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
