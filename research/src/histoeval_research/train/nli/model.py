"""A cross-encoder of a premise and a hypothesis, the larger one that teaches it, and its files.

The teacher learns the same pairs first. Both must have the same word pieces (as all-mpnet-base-v2
and all-MiniLM-L6-v2 have), so that a pair is made into tokens once.
"""

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from histoeval.errors import ModelError
from histoeval.io.settings_files import ModelName
from histoeval.nli.builtin import limits_of, read_entailer_manifest, write_entailer_manifest
from histoeval.reader.manifest import ENCODER
from histoeval_research.train.core.encoder import TorchEncoder, load_encoder
from histoeval_research.train.core.loop import Schedule, TrainingStage, fit
from histoeval_research.train.core.onnx_int8 import token_part, write_parts
from histoeval_research.train.nli.data import NO_CONTRADICTION, NO_ENTAILMENT, UNKNOWN, EncodedPairs

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


Floats = NDArray[np.float32]
_SPECIAL = {"[CLS]": "cls_token_id", "[SEP]": "sep_token_id", "[PAD]": "pad_token_id"}
_MOST_MISSING = 0.1
"""Share of the word pieces that a teacher may not have."""
_ANSWERED_AT_ONCE = 512


class NliTeacher(Schedule):
    """The network that teaches, and how it learns."""

    encoder: ModelName
    epochs: Annotated[int, Field(ge=1)] = 2
    batch: Annotated[int, Field(ge=1)] = 128
    rate: Annotated[float, Field(gt=0)] = 4e-5
    warm_up: Annotated[float, Field(ge=0, lt=1)] = 0.05
    share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """How much of the small network's loss is about the answers of the teacher."""
    mixed: Annotated[int, Field(ge=0)] = 0
    """Pairs of a premise and the hypothesis of another, which only the teacher can answer."""


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


def batch_of(
    encoded: EncodedPairs, positions: Sequence[int], device: str, padding: int = 0
) -> tuple[list[Tensor], Tensor]:
    """Tokens, kinds and mask of some pairs, and their labels."""
    rows = [torch.from_numpy(part).to(device) for part in encoded.padded(positions, padding)]
    return rows, torch.from_numpy(encoded.labels[list(positions)]).to(device)


def taught(
    settings: NliTeacher,
    encoded: EncodedPairs,
    tokenizer: Any,
    tokens: int,
    seed: int,
    device: str | None,
    stage: TrainingStage,
) -> Floats:
    """What a teacher says of every pair, once it has learned from those that have a label.

    Those that have none come last.
    """
    encoder = load_encoder(settings.encoder, tokens, device)
    every = encoded.translated(_pieces(tokenizer, encoder))
    labelled = int((encoded.labels != UNKNOWN).sum())
    torch.manual_seed(seed)
    model = CrossEncoder(encoder.model).to(encoder.device)
    fit(model, labelled, _loss(model, every, encoder), settings, seed=seed, stage=stage)
    return answers_of(model, every, encoder.device, encoder.padding)


def _pieces(tokenizer: Any, encoder: TorchEncoder) -> NDArray[np.uint16]:
    """For each word piece of the small network, its number in the teacher's vocabulary."""
    known = encoder.fast.get_vocab()
    special = {piece: getattr(encoder.tokenizer, name) for piece, name in _SPECIAL.items()}
    unknown = encoder.tokenizer.unk_token_id
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    found = [special.get(piece, known.get(piece, unknown)) for piece, _ in pieces]
    missing = found.count(unknown)
    if missing > _MOST_MISSING * len(found):
        raise ModelError(
            f"{encoder.name} cannot teach: it has other word pieces than the encoder "
            f"({missing:,} of {len(found):,} are unknown to it); take a teacher with the same "
            "vocabulary, as all-mpnet-base-v2 has for all-MiniLM-L6-v2"
        )
    return np.array(found, np.uint16)


def _loss(
    model: CrossEncoder, encoded: EncodedPairs, encoder: TorchEncoder
) -> Callable[[Sequence[int]], Tensor]:
    on_gpu = encoder.device.startswith("cuda")

    def loss(positions: Sequence[int]) -> Tensor:
        rows, labels = batch_of(encoded, positions, encoder.device, encoder.padding)
        with torch.autocast("cuda" if on_gpu else "cpu", torch.bfloat16, enabled=on_gpu):
            logits = model(*rows)
        return pair_loss(logits, labels, None, 0.0)

    return loss


def answers_of(model: CrossEncoder, encoded: EncodedPairs, device: str, padding: int) -> Floats:
    """The log probabilities of all pairs, those of a length together."""
    found = np.zeros((len(encoded), 3), np.float32)
    order = np.argsort(encoded.lengths, kind="stable")
    on_gpu = device.startswith("cuda")
    model.eval()
    with torch.no_grad(), torch.autocast("cuda" if on_gpu else "cpu", torch.bfloat16, on_gpu):
        for first in range(0, len(order), _ANSWERED_AT_ONCE):
            places = order[first : first + _ANSWERED_AT_ONCE]
            rows, _ = batch_of(encoded, places.tolist(), device, padding)
            found[places] = nn.functional.log_softmax(model(*rows), dim=-1).float().cpu().numpy()
    return found


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


def add_opinion(folder: Path) -> None:
    """Fit the second opinion to the model of a folder, and write it to its manifest."""
    from histoeval.nli.builtin import BuiltinEntailer
    from histoeval_research.train.nli.reranker import fit_opinion, unlearned_pairs

    manifest = read_entailer_manifest(folder).model_copy(update={"opinion": None})
    write_entailer_manifest(folder, manifest)
    opinion = fit_opinion(BuiltinEntailer(folder), list(unlearned_pairs()))
    write_entailer_manifest(folder, manifest.model_copy(update={"opinion": opinion}))
