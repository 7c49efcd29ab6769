"""The joint reader: one encoder pass gives tags, assertion, and relations between what was tagged.

Tags and assertion are read off each token. To find relations, the tokens get an embedding of their
tag and pass a few narrow layers of attention; each pair of entities is judged by its two ends, what
stands between them, and how the pair stands in the text (`extract.links`).

Before that its encoder may adapt: it reads unlabelled reports and learns to fill in hidden words.
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from histoeval.errors import InputError, ModelError
from histoeval.reader.links import CODES, KINDS, LEVELS, Integers
from histoeval.reader.tagging import ASSERTIONS, TAGS
from histoeval_research.train.core.encoder import TorchEncoder
from histoeval_research.train.core.loop import TrainingStage, fit
from histoeval_research.train.hare_bench.bench import IGNORE_INDEX
from histoeval_research.train.reader.config import Adaptation, LossWeights, ReaderShape
from histoeval_research.train.reader.examples import ReaderBatch

STATE = "reader.pt"
ADAPTATION_SEED = 0  # language adaptation is done once for all students and teachers


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
    if batch.tag_shares is None:
        tag_loss = functional.cross_entropy(
            tags.float().flatten(0, 1), batch.tags.flatten(), ignore_index=IGNORE_INDEX
        )
    else:
        surprise = -(batch.tag_shares.float() * tags.float().log_softmax(-1)).sum(-1)
        tag_loss = _mean_where(surprise, batch.mask > 0)
    loss = weights.tags * tag_loss
    shares = batch.assertion_shares.float()
    surprise = -(shares * assertions.float().log_softmax(-1)).sum(-1)
    loss = loss + weights.assertion * _mean_where(surprise, shares.sum(-1) > 0)
    if links is not None:
        loss = loss + weights.relations * functional.binary_cross_entropy_with_logits(
            links.float(), batch.related
        )
    return loss


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
    torch.manual_seed(ADAPTATION_SEED)
    model = GapFiller(encoder.model).to(encoder.device)

    def loss(places: Sequence[int]) -> Tensor:
        some = pieces[torch.tensor(places, device=encoder.device)]
        return gap_loss(model, some, recipe.hidden, mask, special)

    fit(model, len(pieces), loss, recipe, seed=ADAPTATION_SEED, encoder="encoder.", stage=stage)
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
