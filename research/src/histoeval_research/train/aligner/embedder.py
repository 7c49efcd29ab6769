"""An encoder that puts phrases into a space, and how it learns where synonyms are near.

It learns by the multi-similarity loss with mined pairs, as SapBERT uses it: Wang et al. 2019
(multi-similarity loss), Liu et al. 2021 (SapBERT). The values are those of the published SapBERT
code: alpha 1, beta 60, base 0.5, and a margin of 0.2 in Euclidean distance for the miner, which
keeps the pairs of all triplets that the margin does not yet separate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from histoeval.align.builtin import AlignerManifest, ChannelUse, write_aligner_manifest
from histoeval.align.opposites.vector import VERSION
from histoeval.errors import ModelError
from histoeval.reader.manifest import ENCODER
from histoeval_research.train.aligner.config import (
    BASE,
    MARGIN,
    AlignerTraining,
    EmbedderShape,
    Pooling,
)
from histoeval_research.train.aligner.sampling import (
    Draws,
    Integers,
    NameSampler,
    allied_pairs,
    draw,
)
from histoeval_research.train.core.loop import TrainingStage, fit
from histoeval_research.train.core.onnx_int8 import Unpadded, token_part, write_parts

ALPHA, BETA = 1.0, 60.0

_PARTS = 8
"""On a CPU, names of a step are run in so many parts of like length: padding costs time there."""


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
    different = ~same if neither is None else ~same & ~neither
    same = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    with torch.no_grad():
        # Hard pairs: in some triplet the positive is not nearer than the negative by the margin.
        distance = (2 - 2 * alike.detach()).clamp(min=0).sqrt()
        farthest = distance.masked_fill(~same, -torch.inf).amax(dim=1, keepdim=True)
        nearest = distance.masked_fill(~different, torch.inf).amin(dim=1, keepdim=True)
        near = same & (distance + margin >= nearest)
        far = different & (distance <= farthest + margin)
    pull = _log_one_plus_sum(-ALPHA * (alike - base), near) / ALPHA
    push = _log_one_plus_sum(BETA * (alike - base), far) / BETA
    return (pull + push).mean()


def _log_one_plus_sum(values: Tensor, counted: Tensor) -> Tensor:
    """Log of one plus the sum of the exponentials of what is counted in each row."""
    zero = torch.zeros_like(values[:, :1])
    rows = torch.cat([zero, values.masked_fill(~counted, -torch.inf)], dim=1)
    return torch.logsumexp(rows, dim=1)


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
    if shape.layers is not None or shape.frozen:
        parent, name = _layers(encoder)
        layers = getattr(parent, name)
        if shape.layers is not None:
            if shape.layers > len(layers):
                raise ModelError(f"the encoder has {len(layers)} layers, and not {shape.layers}")
            layers = layers[: shape.layers]
            setattr(parent, name, layers)
            encoder.config.num_hidden_layers = shape.layers
        if shape.frozen:
            encoder.requires_grad_(False)
            layers[shape.frozen :].requires_grad_(True)
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
        self._draws: Draws

    def begin(self, epoch: int) -> None:
        """Draw what is learned in an epoch."""
        shares = self._learning.model_dump(include={"opposite", "sibling", "own"})
        self._draws = draw(self._phrases, self._learning.draws, (self._seed, epoch), **shares)

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
    device = next(embedder.parameters()).device
    table = torch.from_numpy(phrases.tokens.padded(tokens, embedder.padding)).to(device)
    lengths = np.minimum(phrases.tokens.lengths, tokens)
    hundredths = torch.from_numpy(phrases.beside).to(device)
    on_gpu = device.type == "cuda"

    def loss(batch: NameBatch) -> Tensor:
        """Names of one concept near each other, others far; allied ones are neither."""
        labels = torch.from_numpy(batch.labels).to(device, non_blocking=True)
        allied = torch.from_numpy(batch.allied).to(device, non_blocking=True)
        neither = torch.zeros(len(labels), len(labels), dtype=torch.bool, device=device)
        neither[allied[:, 0], allied[:, 1]] = True
        parts = []
        with torch.autocast(device.type, torch.bfloat16, enabled=on_gpu):
            for names in np.array_split(batch.names, 1 if on_gpu else _PARTS):
                some = torch.from_numpy(names).to(device, non_blocking=True)
                vectors = embedder(table[some, : int(lengths[names].max())].long())
                if learning.channel:  # stands beside the vector, which has length one again
                    beside = hundredths[some].to(vectors.dtype) * (learning.channel / 100)
                    vectors = nn.functional.normalize(torch.cat([vectors, beside], -1), dim=-1)
                parts.append(vectors)
        return multi_similarity(
            torch.cat(parts), labels, neither, margin=learning.margin, base=learning.base
        )

    fit(
        embedder,
        learning.draws,
        loss,
        learning,
        seed=seed,
        prepare=lessons.prepare,
        begin=lessons.begin,
        stage=stage,
    )


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
