"""`histoeval train aligner`: entity embeddings by the recipe of SapBERT, from open ontologies."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from histoeval.align.builtin import AlignerManifest, BuiltinAligner, ChannelUse, shortened
from histoeval.align.opposites.vector import VERSION, channel
from histoeval.align.opposites.vector import identity as channel_identity
from histoeval.errors import ModelError
from histoeval.reader.manifest import ENCODER
from histoeval_research.evaluate.aligner import evaluate_aligner, read_opposites
from histoeval_research.train.aligner.config import (
    BASE,
    MARGIN,
    AlignerSettings,
    AlignerTraining,
    EmbedderShape,
    Pooling,
)
from histoeval_research.train.aligner.names import listed, make_pool, names_sha256
from histoeval_research.train.aligner.sampling import (
    Draws,
    Integers,
    NameSampler,
    allied_pairs,
    draw,
    phrases_of,
)
from histoeval_research.train.cards import card
from histoeval_research.train.core.encoder import cut_vocabulary, load_encoder
from histoeval_research.train.core.loop import (
    THIS_MACHINE,
    Checkpoint,
    TrainingSite,
    TrainingStage,
    fit,
)
from histoeval_research.train.core.model_folder import (
    ModelFolder,
    by_name,
    request_of,
    versions,
    weights_of,
)
from histoeval_research.train.core.onnx_int8 import Unpadded, token_part, write_parts
from histoeval_research.train.hare_bench.bench import save

ALPHA, BETA = 1.0, 60.0

# On a CPU, names of a step are run in so many parts of like length: padding costs time there.
_PARTS = 8


def multi_similarity(
    vectors: Tensor,
    labels: Tensor,
    neither: Tensor | None = None,
    *,
    margin: float = MARGIN,
    base: float = BASE,
) -> Tensor:
    """The loss of unit-length vectors with labels."""
    # `neither` marks pairs, as a square of booleans, that are not to be learned from: they are not
    # the same, and not different either.
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
    count = encoder.config.num_hidden_layers
    for module in encoder.modules():
        for name, child in module.named_children():
            if isinstance(child, nn.ModuleList) and len(child) == count:
                return module, name
    raise ModelError("the layers of this encoder cannot be found: omit `layers` and `frozen`")


def learn(
    embedder: Embedder,
    phrases: NameSampler,
    learning: AlignerTraining,
    *,
    tokens: int,
    seed: int,
    stage: TrainingStage | None = None,
) -> None:
    """Teach an embedder, on the device that it is on; every epoch draws anew, by the seed."""
    drawn: Draws
    shares = learning.model_dump(include={"opposite", "sibling", "own"})
    device = next(embedder.parameters()).device
    table = torch.from_numpy(phrases.tokens.padded(tokens, embedder.padding)).to(device)
    lengths = np.minimum(phrases.tokens.lengths, tokens)
    hundredths = torch.from_numpy(phrases.beside).to(device)
    on_gpu = device.type == "cuda"

    def begin(epoch: int) -> None:
        nonlocal drawn
        drawn = draw(phrases, learning.draws, (seed, epoch), **shares)

    def prepare(positions: Sequence[int]) -> tuple[Integers, ...]:
        names = drawn.names[positions].reshape(-1)
        concepts = drawn.labels[positions].reshape(-1).repeat(2)
        order = np.argsort(phrases.tokens.lengths[names], kind="stable")
        return names[order], concepts[order], allied_pairs(phrases, concepts[order])

    def loss(batch: tuple[Integers, ...]) -> Tensor:
        """Names of one concept near each other, others far; allied ones are neither."""
        labels, allied = (torch.from_numpy(n).to(device, non_blocking=True) for n in batch[1:])
        neither = torch.zeros(len(labels), len(labels), dtype=torch.bool, device=device)
        neither[allied[:, 0], allied[:, 1]] = True
        parts = []
        with torch.autocast(device.type, torch.bfloat16, enabled=on_gpu):
            for names in np.array_split(batch[0], 1 if on_gpu else _PARTS):
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
        prepare=prepare,
        begin=begin,
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
    """Write what `BuiltinAligner` loads."""
    # `channel` is the weight of the channel beside the vector of the encoder; at 0 there is none.
    part = token_part(Unpadded(model), tokens, ["vectors"])
    AlignerManifest(
        name=name,
        files=write_parts(folder, {ENCODER: part}, tokenizer),
        size=int(model.encoder.config.hidden_size),
        tokens=tokens,
        channel=ChannelUse(version=VERSION, weight=channel) if channel else None,
        details=dict(details),
    ).write(folder)


class UntrainedAligner(NamedTuple):
    """An embedder that has learned nothing yet, its tokenizer, and what it is to learn."""

    embedder: Embedder
    tokenizer: Any
    for_transformers: Any  # the same tokenizer, as Transformers knows it
    phrases: NameSampler
    concepts: int


def train_aligner(
    settings: AlignerSettings, output: Path, site: TrainingSite = THIS_MACHINE
) -> dict[str, Any]:
    """Train an aligner and write its folder; the results, at once if it is there already."""
    request = aligner_request(settings)
    tokens = settings.shape.tokens

    def make(draft: Path, checkpoint: Checkpoint) -> dict[str, Any]:
        begun = begin(settings, site)
        with site.watching("training the aligner") as watch:
            stage = TrainingStage(checkpoint, watch)
            learning, seed = settings.learning, settings.seed
            learn(begun.embedder, begun.phrases, learning, tokens=tokens, seed=seed, stage=stage)
        site.tell("writing and measuring the model")
        save(begun.embedder.encoder, begun.for_transformers, draft)
        made_with = versions()
        write_aligner(
            begun.embedder,
            begun.tokenizer,
            draft,
            name=settings.name,
            tokens=tokens,
            details={"request": request, "versions": made_with},
            channel=settings.written_channel,
        )
        aligner = BuiltinAligner(draft)
        evaluation = evaluate_aligner(
            aligner,
            settings.ontologies[0].read(),
            read_opposites(settings.opposites) if settings.opposites else (),
            held_out=settings.naming.held_out,
            known=listed(),
        )
        return {
            "parameters": sum(weights.numel() for weights in begun.embedder.parameters()),
            "channel": settings.written_channel,
            "size": {"encoder": aligner.manifest.size, "whole": aligner.size},
            "samples": {"concepts": begun.concepts, "names": len(begun.phrases.tokens.lengths)},
            "scores": evaluation.model_dump(mode="json"),
            "weights": weights_of(draft),
            "versions": made_with,
        }

    return ModelFolder(output).fill(
        request, make, partial(card, "aligner"), overwrite=site.overwrite
    )


def aligner_request(settings: AlignerSettings) -> dict[str, Any]:
    return request_of(
        "aligner",
        settings,
        by_name([*(ontology.file for ontology in settings.ontologies), settings.opposites]),
        {"ontologies": {"__all__": {"file"}}, "opposites": True},
        lists=names_sha256(),
        channel=channel_identity() if settings.written_channel else None,
    )


def begin(settings: AlignerSettings, site: TrainingSite = THIS_MACHINE) -> UntrainedAligner:
    from transformers import PreTrainedTokenizerFast

    most = settings.shape.tokens
    pool = make_pool(settings.ontologies, settings.naming, site.tell)
    encoder = load_encoder(settings.encoder, most, site.device)
    names = (name for concept in pool.concepts for name in concept.names)
    tokenizer = cut_vocabulary(encoder, names, settings.least_pieces)
    if settings.least_pieces is not None:
        site.tell(f"{tokenizer.get_vocab_size():,} word pieces kept")
    shape_encoder(encoder.model, settings.shape)
    piece = encoder.tokenizer.pad_token
    padding = int(tokenizer.token_to_id(piece)) if piece is not None else 0
    embedder = Embedder(encoder.model, settings.shape.pooling, padding)
    beside = channel if settings.learning.channel else None
    phrases = phrases_of(pool, encoded_by(tokenizer, most), settings.longest, beside)
    special = encoder.tokenizer.special_tokens_map
    return UntrainedAligner(
        embedder.to(encoder.device),
        tokenizer,
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=most, **special),
        phrases,
        len(pool.concepts),
    )


def encoded_by(tokenizer: Any, most: int) -> Callable[[Sequence[str]], list[list[int]]]:
    """The tokens of names as `BuiltinAligner` will cut them."""

    def encode(names: Sequence[str]) -> list[list[int]]:
        return [shortened(encoding.ids, most) for encoding in tokenizer.encode_batch(list(names))]

    return encode
