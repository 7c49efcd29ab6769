"""The joint reader: one encoder pass gives tags, assertion, and relations between what was tagged.

Tags and assertion are read off each token. To find relations, the tokens get an embedding of their
tag and pass a few narrow layers of attention; each pair of entities is judged by its two ends, what
stands between them, and how the pair stands in the text (`extract.links`).
"""

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from histoeval.reader.links import CODES, KINDS, LEVELS
from histoeval.reader.tagging import ASSERTIONS, TAGS
from histoeval_research.train.core.encoder import TorchEncoder
from histoeval_research.train.hare_bench.bench import IGNORE_INDEX
from histoeval_research.train.reader.config import LossWeights, ReaderShape
from histoeval_research.train.reader.examples import ReaderBatch

STATE = "reader.pt"


class TokenAttention(nn.Module):  # type: ignore[misc]
    """One narrow layer in which tokens look at each other."""

    def __init__(self, shape: ReaderShape) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.asked, self.answer = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, tokens: Tensor, hidden: Tensor) -> Tensor:
        """The tokens after the layer; `hidden` is -inf where there is only padding."""
        rows, length, width = tokens.shape
        parts = self.asked(self.before(tokens)).view(rows, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-1, -2) / math.sqrt(width // self.heads) + hidden
        seen = (scores.softmax(-1) @ value).transpose(1, 2).reshape(rows, length, width)
        tokens = tokens + self.dropout(self.answer(seen))
        inner = self.narrow(functional.gelu(self.wide(self.between(tokens))))
        return tokens + self.dropout(inner)


class Linker(nn.Module):  # type: ignore[misc]
    """Says how likely pairs of entities are related."""

    def __init__(self, size: int, shape: ReaderShape) -> None:
        super().__init__()
        width = shape.width
        self.enter = nn.Linear(size, width)
        self.tag = nn.Embedding(len(TAGS), width)
        self.layers = nn.ModuleList(TokenAttention(shape) for _ in range(shape.layers))
        self.leave = nn.LayerNorm(width)
        self.head, self.tail = nn.Linear(2 * width, width), nn.Linear(2 * width, width)
        self.both, self.gap = nn.Linear(width, width), nn.Linear(width, width)
        self.kind = nn.Embedding(len(KINDS), width)
        self.code = nn.Embedding(CODES * LEVELS, width)
        self.judge = nn.Sequential(
            nn.LayerNorm(width),
            nn.GELU(),
            nn.Dropout(shape.dropout),
            nn.Linear(width, width),
            nn.GELU(),
            nn.Dropout(shape.dropout),
            nn.Linear(width, 1),
        )
        nn.init.normal_(self.tag.weight, std=0.02)
        nn.init.normal_(self.code.weight, std=0.1)

    def forward(
        self,
        encoded: Tensor,
        mask: Tensor,
        tags: Tensor,
        entities: Tensor,
        pairs: Tensor,
        kinds: Tensor,
        codes: Tensor,
    ) -> Tensor:
        """A logit for each pair. Entities are rows of (text, first token, last token)."""
        tokens = self.enter(encoded) + self.tag(tags)
        hidden = ((1 - mask) * -1e9)[:, None, None, :].to(tokens.dtype)
        for layer in self.layers:
            tokens = layer(tokens, hidden)
        tokens = self.leave(tokens)
        text, first, last = entities.unbind(1)
        ends = torch.cat([tokens[text, first], tokens[text, last]], 1)
        heads, tails = self.head(ends)[pairs[:, 0]], self.tail(ends)[pairs[:, 1]]
        offsets = torch.arange(CODES, device=codes.device) * LEVELS
        return self.judge(
            heads
            + tails
            + self.both(heads * tails)
            + self.gap(_mean_between(tokens, entities, pairs))
            + self.kind(kinds)
            + self.code(codes + offsets).sum(1)
        ).squeeze(-1)


def _mean_between(tokens: Tensor, entities: Tensor, pairs: Tensor) -> Tensor:
    """The mean of the tokens that stand between the two entities of each pair, or zero."""
    sums = functional.pad(tokens.float().cumsum(1), (0, 0, 1, 0))
    low, high = entities[pairs.amin(1)], entities[pairs.amax(1)]
    text, opened, closed = low[:, 0], low[:, 2] + 1, high[:, 1]
    count = (closed - opened).clamp(min=1)[:, None]
    return ((sums[text, closed] - sums[text, opened]) / count).to(tokens.dtype)


class JointReader(nn.Module):  # type: ignore[misc]
    """An encoder with what stands on it."""

    def __init__(self, encoder: Any, shape: ReaderShape) -> None:
        super().__init__()
        size = int(encoder.config.hidden_size)
        self.encoder = encoder
        self.dropout = nn.Dropout(shape.dropout)
        self.classifier = nn.Linear(size, len(TAGS))
        self.assertion = nn.Linear(size, len(ASSERTIONS))
        self.linker = Linker(size, shape)

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        encoded = self.encoder(input_ids=tokens, attention_mask=mask).last_hidden_state
        encoded = self.dropout(encoded)
        return encoded, self.classifier(encoded), self.assertion(encoded)

    def relate(self, encoded: Tensor, batch: ReaderBatch) -> Tensor:
        tags = batch.tags.clamp(min=0)
        return self.linker(
            encoded, batch.mask, tags, batch.entities, batch.pairs, batch.kinds, batch.codes
        )


def loss_of(model: JointReader, batch: ReaderBatch, weights: LossWeights) -> Tensor:
    with torch.autocast(batch.tokens.device.type, torch.bfloat16, batch.tokens.is_cuda):
        encoded, tags, assertions = model(batch.tokens, batch.mask)
        links = model.relate(encoded, batch) if len(batch.pairs) else None
    loss = weights.tags * _tag_loss(tags.float(), batch)
    shares = batch.assertion_shares.float()
    surprise = -(shares * assertions.float().log_softmax(-1)).sum(-1)
    loss = loss + weights.assertion * _mean_where(surprise, shares.sum(-1) > 0)
    if links is not None:
        loss = loss + weights.relations * functional.binary_cross_entropy_with_logits(
            links.float(), batch.related
        )
    return loss


def _tag_loss(logits: Tensor, batch: ReaderBatch) -> Tensor:
    if batch.tag_shares is None:
        return functional.cross_entropy(
            logits.flatten(0, 1), batch.tags.flatten(), ignore_index=IGNORE_INDEX
        )
    surprise = -(batch.tag_shares.float() * logits.log_softmax(-1)).sum(-1)
    return _mean_where(surprise, batch.mask > 0)


def _mean_where(values: Tensor, counted: Tensor) -> Tensor:
    """The mean of those that count, or zero, without waiting for a GPU."""
    return (values * counted).sum() / counted.sum().clamp(min=1)


def new_reader(encoder: TorchEncoder, shape: ReaderShape, seed: int) -> JointReader:
    torch.manual_seed(seed)
    reader = JointReader(encoder.model, shape)
    return reader.to(encoder.device)  # type: ignore[no-any-return]


def save_reader(reader: JointReader, folder: Path, *, half: bool = False) -> None:
    """Keep the weights; in half the bytes those of a teacher, who only has an opinion."""
    state = {
        name: (weights.half() if half and weights.is_floating_point() else weights).cpu()
        for name, weights in reader.state_dict().items()
    }
    torch.save(state, folder / STATE)


def load_reader(encoder: TorchEncoder, shape: ReaderShape, folder: Path) -> JointReader:
    reader = new_reader(encoder, shape, seed=0)
    reader.load_state_dict(torch.load(folder / STATE, map_location="cpu", weights_only=True))
    return reader.eval()  # type: ignore[no-any-return]
