"""A cross-encoder of a premise and a hypothesis, the larger one that teaches it, and its files.

The teacher learns the same pairs first. Both must have the same word pieces (as all-mpnet-base-v2
and all-MiniLM-L6-v2 have), so that a pair is made into tokens once.
"""

from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from histoeval.errors import ModelError
from histoeval.nli.builtin import limits_of, write_entailer_manifest
from histoeval.reader.manifest import ENCODER
from histoeval_research.train.core.encoder import TorchEncoder, load_encoder
from histoeval_research.train.core.loop import Schedule, TrainingStage, fit
from histoeval_research.train.core.onnx_int8 import token_part, write_parts
from histoeval_research.train.nli.config import NliTeacher
from histoeval_research.train.nli.tokens import (
    NO_CONTRADICTION,
    NO_ENTAILMENT,
    UNKNOWN,
    EncodedPairs,
)

ANSWERS = 3

Floats = NDArray[np.float32]

_SPECIAL = {"[CLS]": "cls_token_id", "[SEP]": "sep_token_id", "[PAD]": "pad_token_id"}
_MOST_MISSING = 0.1
"""Share of the word pieces that a teacher may not have."""
_ANSWERED_AT_ONCE = 512


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


def pair_loss(logits: Tensor, labels: Tensor, answers: Tensor | None, share: float) -> Tensor:
    """The loss of a batch, with labels that are known, that are known not to be one, or unknown.

    `answers` are a teacher's log probabilities, and weigh `share` of the whole; all of it where
    nothing else is known. Without a teacher, nothing is learned from pairs of unknown label.
    """
    spread = nn.functional.log_softmax(logits, dim=-1)
    right = spread.gather(1, labels.clamp(min=0)[:, None])[:, 0]
    no_contradiction = torch.logsumexp(spread[:, :2], dim=-1)
    no_entailment = torch.logsumexp(spread[:, 1:], dim=-1)
    loss = -torch.where(labels == NO_CONTRADICTION, no_contradiction, right)
    loss = torch.where(labels == NO_ENTAILMENT, -no_entailment, loss)
    loss = torch.where(labels == UNKNOWN, 0.0, loss)
    if answers is None:
        return loss.mean()
    far = (answers.exp() * (answers - spread)).sum(dim=-1)
    shares = torch.where(labels == UNKNOWN, 1.0, share)
    return ((1 - shares) * loss + shares * far).mean()


def learned(
    encoder: TorchEncoder,
    encoded: EncodedPairs,
    schedule: Schedule,
    seed: int,
    stage: TrainingStage,
    *,
    padding: int = 0,
    answers: Floats | None = None,
    share: float = 0.0,
) -> CrossEncoder:
    """A cross-encoder that has learned pairs; those of unknown label only from a teacher's answers.

    They come last, and without answers they are not looked at.
    """
    torch.manual_seed(seed)
    model = CrossEncoder(encoder.model).to(encoder.device)
    device = torch.device(encoder.device)

    def loss(positions: Sequence[int]) -> Tensor:
        rows = _rows(encoded, positions, encoder.device, padding)
        labels = torch.from_numpy(encoded.labels[list(positions)]).to(device)
        said = None
        if answers is not None:
            said = torch.from_numpy(answers[list(positions)]).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            logits = model(*rows)
        return pair_loss(logits, labels, said, share)

    count = int((encoded.labels != UNKNOWN).sum()) if answers is None else len(encoded)
    fit(model, count, loss, schedule, seed=seed, stage=stage)
    return model  # type: ignore[no-any-return]


def _rows(
    encoded: EncodedPairs, positions: Sequence[int], device: str, padding: int
) -> list[Tensor]:
    """Tokens, kinds and mask of some pairs."""
    return [torch.from_numpy(part).to(device) for part in encoded.padded(positions, padding)]


def taught(
    settings: NliTeacher,
    encoded: EncodedPairs,
    tokenizer: Any,
    tokens: int,
    seed: int,
    device: str | None,
    stage: TrainingStage,
) -> Floats:
    """What a teacher says of every pair, once it has learned from those that have a label."""
    encoder = load_encoder(settings.encoder, tokens, device)
    every = encoded.translated(_pieces(tokenizer, encoder))
    model = learned(encoder, every, settings, seed, stage, padding=encoder.padding)
    return answers_of(model, every, encoder.device, encoder.padding)


def _pieces(tokenizer: Any, encoder: TorchEncoder) -> NDArray[np.uint16]:
    """For each word piece of the small network, its number in the teacher's vocabulary."""
    known = encoder.fast.get_vocab()
    special = {piece: getattr(encoder.tokenizer, name) for piece, name in _SPECIAL.items()}
    unknown = encoder.tokenizer.unk_token_id
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    numbers = [special.get(piece, known.get(piece, unknown)) for piece, _ in pieces]
    missing = numbers.count(unknown)
    if missing > _MOST_MISSING * len(numbers):
        raise ModelError(
            f"{encoder.name} cannot teach: it has other word pieces than the encoder "
            f"({missing:,} of {len(numbers):,} are unknown to it); take a teacher with the same "
            "vocabulary, as all-mpnet-base-v2 has for all-MiniLM-L6-v2"
        )
    return np.array(numbers, np.uint16)


def answers_of(model: CrossEncoder, encoded: EncodedPairs, device: str, padding: int) -> Floats:
    """The log probabilities of all pairs, those of a length together."""
    answers = np.zeros((len(encoded), ANSWERS), np.float32)
    order = np.argsort(encoded.lengths, kind="stable")
    kind = torch.device(device).type
    model.eval()
    with torch.no_grad(), torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
        for first in range(0, len(order), _ANSWERED_AT_ONCE):
            places = order[first : first + _ANSWERED_AT_ONCE]
            logits = model(*_rows(encoded, places.tolist(), device, padding))
            answers[places] = nn.functional.log_softmax(logits, dim=-1).float().cpu().numpy()
    return answers


class _Unpadded(nn.Module):  # type: ignore[misc]
    """Pairs of the same length, of which nothing is padding."""

    def __init__(self, model: CrossEncoder) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, kinds: Tensor) -> Tensor:
        logits: Tensor = self.model(tokens, kinds, torch.ones_like(tokens))
        return logits


def write_entailer(
    model: CrossEncoder,
    tokenizer: Any,
    folder: Path,
    *,
    name: str,
    tokens: int,
    details: Mapping[str, Any],
) -> None:
    """Write what `BuiltinEntailer` loads."""
    part = token_part(_Unpadded(model), tokens, ["logits"], "kinds")
    files = write_parts(folder, {ENCODER: part}, tokenizer)
    limits = limits_of(name, tokens)
    write_entailer_manifest(
        folder, limits.model_copy(update={"files": files, "details": dict(details)})
    )
