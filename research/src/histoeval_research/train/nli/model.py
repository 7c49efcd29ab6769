"""A model that reads a premise and a hypothesis together and gives three numbers."""

from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

ANSWERS = 3


class CrossEncoder(nn.Module):  # type: ignore[misc]
    """An encoder with a small head on its first token and the mean of all."""

    def __init__(self, encoder: Any, dropout: float = 0.1) -> None:
        super().__init__()
        size = int(encoder.config.hidden_size)
        self.encoder = encoder
        self.tells_kinds = "token_type_ids" in signature(encoder.forward).parameters
        self.head = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(2 * size, size),
            nn.Tanh(),
            nn.Dropout(dropout),
            nn.Linear(size, ANSWERS),
        )

    def forward(self, tokens: Tensor, kinds: Tensor, mask: Tensor) -> Tensor:
        """Entailment, neutral, contradiction: a row of logits for each row of tokens."""
        more = {"token_type_ids": kinds} if self.tells_kinds else {}
        states = self.encoder(input_ids=tokens, attention_mask=mask, **more).last_hidden_state
        weights = mask.unsqueeze(-1).to(states.dtype)
        mean = (states * weights).sum(dim=1) / weights.sum(dim=1)
        return self.head(torch.cat([states[:, 0], mean], dim=-1)).float()
