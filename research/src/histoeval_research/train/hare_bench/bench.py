"""How every model of the bench is trained: an encoder with a new head, taught, judged, kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from histoeval.errors import ModelError
from histoeval.reader.huggingface import RELATIONS_LEARNED
from histoeval.reader.windowed import Window, windows
from histoeval.runtime.transformer import Runtime, Task, Transformer
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.matches import Matches, rates
from histoeval_research.train.cards import card
from histoeval_research.train.core.loop import Checkpoint, TrainingSite, TrainingStage, fit
from histoeval_research.train.core.model_folder import (
    ModelFolder,
    request_of,
    versions,
    weights_of,
)
from histoeval_research.train.hare_bench.config import (
    NerSettings,
    RelationSettings,
    read_passages,
    shared_reports,
)

if TYPE_CHECKING:
    import torch


OVERLAP = 96
"""Tokens that neighbouring windows share, as in the reader."""

IGNORE_INDEX = -100
"""The label of tokens that the loss ignores."""

_HEADS = {
    "token-classification": "AutoModelForTokenClassification",
    "sequence-classification": "AutoModelForSequenceClassification",
}


@dataclass(frozen=True, slots=True)
class ClassifierExample:
    """The tokens of one window and its label, or one label for each token."""

    tokens: Sequence[int]
    label: int | Sequence[int]


@dataclass(frozen=True, slots=True)
class UntrainedClassifier:
    """What a model is made of before it has learned anything."""

    encoder: str
    task: Task
    labels: Sequence[str]
    tokens: int
    seed: int
    markers: Sequence[str] = ()
    """Tokens that the encoder does not know yet."""
    relations: Sequence[str] = ()
    """The relations that it learns, for whoever loads it."""

    def make(self, folder: Path, device: str | None) -> Transformer:
        """Write the encoder under a new head to a folder, and load it as every reader does.

        So whatever keeps a folder from being read is found before the training and not after it.
        """
        import torch
        import transformers

        torch.manual_seed(self.seed)
        source = Transformer(self.encoder, "encoder", Runtime("cpu", "float32"))
        config, tokenizer = source.model.config, source.tokenizer
        if self.relations:
            setattr(config, RELATIONS_LEARNED, list(self.relations))
        config.id2label = dict(enumerate(self.labels))
        config.label2id = {label: number for number, label in enumerate(self.labels)}
        try:
            model = getattr(transformers, _HEADS[self.task]).from_config(config)
        except ValueError as error:
            raise ModelError(
                f"{self.encoder} cannot become a {self.task} model: Transformers knows none of "
                f"its kind, {config.model_type}"
            ) from error
        loaded = model.base_model.load_state_dict(source.model.state_dict(), strict=False)
        if absent := [name for name in loaded.missing_keys if "pooler" not in name]:
            raise ModelError(f"{self.encoder} has no weights for {', '.join(absent[:3])}")
        tokenizer.model_max_length = min(tokenizer.model_max_length, self.tokens)
        if self.markers:
            tokenizer.add_tokens(list(self.markers), special_tokens=True)
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        save(model.float(), tokenizer, folder)
        return Transformer(folder, self.task, Runtime(device, "float32"))


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a model as Transformers writes it, without its progress bars."""
    from transformers.utils import logging

    is_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    finally:
        if is_shown:
            logging.enable_progress_bar()


def loss_of(
    transformer: Transformer, examples: Sequence[ClassifierExample]
) -> Callable[[Sequence[int]], torch.Tensor]:
    """The mean cross-entropy of some of these examples, padded to the longest of them."""
    import torch

    padding = transformer.tokenizer.pad_token_id or 0

    def loss(positions: Sequence[int]) -> torch.Tensor:
        some = [examples[i] for i in positions]
        width = max(len(example.tokens) for example in some)

        def tensor(rows: list[Any], fill: int) -> torch.Tensor:
            padded = [row if isinstance(row, int) else _padded(row, width, fill) for row in rows]
            return torch.tensor(padded).to(transformer.device)

        output = transformer.model(
            input_ids=tensor([example.tokens for example in some], padding),
            attention_mask=tensor([[1] * len(example.tokens) for example in some], 0),
            labels=tensor([example.label for example in some], IGNORE_INDEX),
        )
        return output.loss

    return loss


def _padded(numbers: Sequence[int], width: int, fill: int) -> list[int]:
    return [*numbers, *[fill] * (width - len(numbers))]


def windows_of(text: str, model: Transformer, room: int = 0) -> list[Window]:
    """The windows of a text that a model reads at once, with room for so many tokens more."""
    most = model.most_tokens - model.tokenizer.num_special_tokens_to_add() - room

    def measure(fragment: str) -> int:
        return len(model.tokenizer.encode(fragment, add_special_tokens=False, verbose=False))

    return windows(text, measure, most, min(OVERLAP, most // 4))


class Lesson(Protocol):
    """What sets one model of the bench apart from another."""

    task: str
    learned: str
    """What is learned, for people."""
    beginning: UntrainedClassifier

    def examples(
        self, passages: Sequence[AnnotatedPassage], model: Transformer
    ) -> list[ClassifierExample]:
        """What there is to learn in some passages."""

    def judge(
        self, folder: Path, passages: Sequence[AnnotatedPassage], device: str | None
    ) -> tuple[int, dict[str, Any]]:
        """The number of samples, and the scores of the model in a folder as its users see it."""


def teach(
    lesson: Lesson, settings: NerSettings | RelationSettings, output: Path, site: TrainingSite
) -> dict[str, Any]:
    """Train a model and write its folder; the results, at once if it is there already."""
    folder = ModelFolder(output)
    files = {"train": settings.train, "dev": settings.dev}
    request = request_of(lesson.task, settings, files, dict.fromkeys(files, True))
    if not site.overwrite and (finished := folder.finished(request)) is not None:
        return finished
    train, dev = (read_passages(path, settings.labels) for path in files.values())

    def make(draft: Path, checkpoint: Checkpoint) -> dict[str, Any]:
        model = lesson.beginning.make(draft, site.device)
        examples = lesson.examples(train, model)
        with site.watching(f"training {lesson.learned}") as watch:
            fit(
                model.model,
                len(examples),
                loss_of(model, examples),
                settings,
                seed=settings.seed,
                encoder=f"{model.model.base_model_prefix}.",
                stage=TrainingStage(checkpoint, watch),
            )
        save(model.model, model.tokenizer, draft)
        samples, scores = lesson.judge(draft, dev, site.device)
        return {
            "parameters": model.model.num_parameters(),
            "samples": {"train": len(examples), "dev": samples},
            "shared_reports": shared_reports(train, dev),
            "scores": scores,
            "weights": weights_of(draft),
            "versions": versions(),
        }

    return folder.fill(request, make, partial(card, "hare_bench"), overwrite=site.overwrite)


def scores_of(matches: Matches) -> dict[str, float]:
    """Precision, recall and F1, and what they were counted from; `one` is the truth."""
    precision, recall, f1 = map(float, rates(np.array(matches.counts, dtype=float)))
    counts = {"gold": matches.one, "found": matches.other}
    return {"precision": precision, "recall": recall, "f1": f1, **counts}
