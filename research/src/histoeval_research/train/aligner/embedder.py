"""An encoder that puts phrases into a space, and how it learns where synonyms are near.

It learns by the multi-similarity loss with mined pairs, as SapBERT uses it: Wang et al. 2019
(multi-similarity loss), Liu et al. 2021 (SapBERT). The values are those of the published SapBERT
code: alpha 1, beta 60, base 0.5, and a margin of 0.2 in Euclidean distance for the miner, which
keeps the pairs of all triplets that the margin does not yet separate.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from histoeval.align.builtin import AlignerManifest, ChannelUse, write_aligner_manifest
from histoeval.align.opposites.vector import VERSION
from histoeval.errors import ModelError
from histoeval.reader.manifest import ENCODER
from histoeval.report import Noun
from histoeval_research.train.aligner.sampling import (
    Draws,
    Integers,
    NameSampler,
    allied_pairs,
    draw,
)
from histoeval_research.train.core.loop import Schedule, TrainingStage, fit
from histoeval_research.train.core.onnx_int8 import Unpadded, token_part, write_parts

ALPHA, BETA, BASE, MARGIN = 1.0, 60.0, 0.5, 0.2


def multi_similarity(
    vectors: Tensor,
    labels: Tensor,
    neither: Tensor | None = None,
    *,
    margin: float = MARGIN,
    base: float = BASE,
) -> Tensor:
    """The loss of unit-length vectors with labels.

    `neither` marks pairs, as a square of booleans, that are not to be learned from: they are not
    the same, and not different either.
    """
    alike = vectors @ vectors.T
    same = labels[:, None] == labels[None, :]
    different = ~same
    if neither is not None:
        different = different & ~neither
    same = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    with torch.no_grad():
        near, far = _hard(alike.detach(), same, different, margin)
    pull = _log_one_plus_sum(-ALPHA * (alike - base), near) / ALPHA
    push = _log_one_plus_sum(BETA * (alike - base), far) / BETA
    return (pull + push).mean()


def _hard(alike: Tensor, same: Tensor, different: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """Pairs in some triplet whose positive is not nearer than its negative by the margin."""
    distance = (2 - 2 * alike).clamp(min=0).sqrt()
    farthest = distance.masked_fill(~same, -torch.inf).amax(dim=1, keepdim=True)
    nearest = distance.masked_fill(~different, torch.inf).amin(dim=1, keepdim=True)
    return same & (distance + margin >= nearest), different & (distance <= farthest + margin)


def _log_one_plus_sum(values: Tensor, kept: Tensor) -> Tensor:
    """Log of one plus the sum of the exponentials of what is kept in each row."""
    zero = torch.zeros_like(values[:, :1])
    return torch.logsumexp(torch.cat([zero, values.masked_fill(~kept, -torch.inf)], dim=1), dim=1)


_PARTS = 8
"""On a CPU, names of a step are run in so many parts of like length: padding costs time there."""

Pooling = Literal["cls", "mean"]
Share = Annotated[float, Field(ge=0, le=1)]


class AlignerTraining(Schedule):
    """How an aligner learns; an epoch is `draws` draws, each of two pairs of names."""

    epochs: Annotated[int, Field(ge=1)] = 8
    batch: Annotated[int, Field(ge=2)] = 256
    """Draws in a step: twice as many pairs of names."""
    rate: Annotated[float, Field(gt=0)] = 3e-4
    warm_up: Annotated[float, Field(ge=0, lt=1)] = 0.05
    draws: Annotated[int, Field(ge=2)] = 100_000
    opposite: Share = 0.5
    """Share of draws in which a concept stands beside an opposite, if it has one."""
    sibling: Share = 0.3
    """Share of draws in which it stands beside another of its kind."""
    own: Share = 0.7
    """Share of pairs of names as sources have them; the others may have variants in them."""
    margin: Annotated[float, Field(ge=0)] = MARGIN
    """Of the miner of hard pairs."""
    channel: Annotated[float, Field(ge=0)] = 0.0
    """How much the channel counts beside the vector of the encoder, while learning and after."""
    base: Annotated[float, Field(gt=-1, lt=1)] = BASE
    """How alike names must at least be pulled, and what is not the same must at most stay."""


class EmbedderShape(Noun):
    """What is made of the encoder."""

    layers: Annotated[int, Field(ge=1)] | None = None
    """How many of its layers are kept, from the first on; all when omitted."""
    frozen: Annotated[int, Field(ge=0)] = 0
    """How many of these do not learn, from the first on; what is below them does not either."""
    dropout: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Share of numbers that are hidden while learning; the encoder's own when omitted."""
    pooling: Pooling = "mean"
    """What stands for a phrase: the mean of its tokens, or the state of the first one."""
    tokens: Annotated[int, Field(ge=4)] = 32
    """Longer phrases are cut."""


class Embedder(nn.Module):  # type: ignore[misc]
    """Phrases, as tokens, to vectors of length one."""

    def __init__(self, encoder: Any, pooling: Pooling, padding: int = 0) -> None:
        super().__init__()
        self.encoder = encoder
        self.pooling = pooling
        self.padding = padding

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """One vector for each row; without a mask, padding is skipped."""
        if mask is None:
            mask = (tokens != self.padding).long()
        states = self.encoder(input_ids=tokens, attention_mask=mask).last_hidden_state
        if self.pooling == "cls":
            pooled = states[:, 0]
        else:
            weights = mask.unsqueeze(-1).to(states.dtype)
            pooled = (states * weights).sum(dim=1) / weights.sum(dim=1)
        return nn.functional.normalize(pooled.float(), dim=-1)


def shape_encoder(encoder: Any, shape: EmbedderShape) -> None:
    """Keep the first layers of an encoder, still those that are not to learn, set its dropout."""
    if shape.layers is not None:
        module, name = _layers(encoder)
        layers = getattr(module, name)
        if shape.layers > len(layers):
            raise ModelError(f"the encoder has {len(layers)} layers, and not {shape.layers}")
        setattr(module, name, layers[: shape.layers])
        encoder.config.num_hidden_layers = shape.layers
    if shape.frozen:
        module, name = _layers(encoder)
        encoder.requires_grad_(False)
        getattr(module, name)[shape.frozen :].requires_grad_(True)
    if shape.dropout is not None:
        for module in encoder.modules():
            if isinstance(module, nn.Dropout):
                module.p = shape.dropout


def _layers(encoder: Any) -> tuple[Any, str]:
    """What holds the layers of an encoder, and under which name."""
    count = encoder.config.num_hidden_layers
    for module in encoder.modules():
        for name, child in module.named_children():
            if isinstance(child, nn.ModuleList) and len(child) == count:
                return module, name
    raise ModelError("the layers of this encoder cannot be found: omit `layers` and `frozen`")


@dataclass(frozen=True, slots=True)
class NameBatch:
    """The names of a step, the concept of each, and pairs that are not to be learned from."""

    names: Integers
    labels: Integers
    allied: Integers


class Lessons:
    """What an embedder is shown: other draws in every epoch, which follow from the seed."""

    def __init__(self, phrases: NameSampler, learning: AlignerTraining, seed: int) -> None:
        self._phrases = phrases
        self._learning = learning
        self._seed = seed
        self._draws = Draws(np.zeros((0, 4), np.int64), np.zeros((0, 2), np.int64))

    def begin(self, epoch: int) -> None:
        """Draw what is learned in an epoch."""
        given = self._learning
        self._draws = draw(
            self._phrases,
            given.draws,
            (self._seed, epoch),
            opposite=given.opposite,
            sibling=given.sibling,
            own=given.own,
        )

    def prepare(self, positions: Sequence[int]) -> NameBatch:
        """The draws at these positions, short names first."""
        names = self._draws.names[positions].reshape(-1)
        labels = self._draws.labels[positions].reshape(-1).repeat(2)
        order = np.argsort(self._phrases.tokens.lengths[names], kind="stable")
        names, labels = names[order], labels[order]
        return NameBatch(names, labels, allied_pairs(self._phrases, labels))


def learn(
    embedder: Embedder,
    phrases: NameSampler,
    learning: AlignerTraining,
    *,
    tokens: int,
    seed: int,
    stage: TrainingStage | None = None,
) -> None:
    """Teach an embedder, on the device that it is on."""
    lessons = Lessons(phrases, learning, seed)
    fit(
        embedder,
        learning.draws,
        _loss(embedder, phrases, tokens, learning),
        learning,
        seed=seed,
        prepare=lessons.prepare,
        begin=lessons.begin,
        stage=stage,
    )


def _loss(
    embedder: Embedder, phrases: NameSampler, tokens: int, learning: AlignerTraining
) -> Callable[[NameBatch], Tensor]:
    device = next(embedder.parameters()).device
    table = torch.from_numpy(phrases.tokens.padded(tokens, embedder.padding)).to(device)
    lengths = np.minimum(phrases.tokens.lengths, tokens)
    beside = torch.from_numpy(phrases.beside).to(device)
    on_gpu = device.type == "cuda"

    def loss(batch: NameBatch) -> Tensor:
        """Names of one concept near each other, others far; allied ones are neither."""
        labels = torch.from_numpy(batch.labels).to(device, non_blocking=True)
        allied = torch.from_numpy(batch.allied).to(device, non_blocking=True)
        neither = torch.zeros(len(labels), len(labels), dtype=torch.bool, device=device)
        neither[allied[:, 0], allied[:, 1]] = True
        vectors = []
        with torch.autocast(device.type, torch.bfloat16, enabled=on_gpu):
            for names in np.array_split(batch.names, 1 if on_gpu else _PARTS):
                some = torch.from_numpy(names).to(device, non_blocking=True)
                found = embedder(table[some, : int(lengths[names].max())].long())
                vectors.append(_joined(found, beside[some], learning.channel))
        given = {"margin": learning.margin, "base": learning.base}
        return multi_similarity(torch.cat(vectors), labels, neither, **given)

    return loss


def _joined(vectors: Tensor, hundredths: Tensor, weight: float) -> Tensor:
    """Vectors with the channel beside them, of length one again."""
    if not weight:
        return vectors
    beside = hundredths.to(vectors.dtype) * (weight / 100)
    return nn.functional.normalize(torch.cat([vectors, beside], dim=-1), dim=-1)


def write_aligner(
    model: Embedder,
    tokenizer: Any,
    folder: Path,
    *,
    name: str,
    tokens: int,
    details: Mapping[str, Any],
    channel: float = 0.0,
) -> None:
    """Write what `BuiltinAligner` loads.

    `channel` is the weight of the channel beside the vector of the encoder; at 0 there is none.
    """
    part = token_part(Unpadded(model), tokens, ["vectors"])
    manifest = AlignerManifest(
        name=name,
        files=write_parts(folder, {ENCODER: part}, tokenizer),
        size=int(model.encoder.config.hidden_size),
        tokens=tokens,
        channel=ChannelUse(version=VERSION, weight=channel) if channel else None,
        details=dict(details),
    )
    write_aligner_manifest(folder, manifest)
