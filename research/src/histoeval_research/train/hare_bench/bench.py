"""How every model of the bench is trained: an encoder with a new head, taught, judged, kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from histoeval.errors import ModelError
from histoeval.reader.huggingface import RELATIONS_LEARNED
from histoeval.reader.windowed import Window, windows
from histoeval.runtime.transformer import Runtime, Task, Transformer
from histoeval.table import markdown_table
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.train.cards import card, numbers_of, score_rows
from histoeval_research.train.core.loop import Checkpoint, TrainingStage, Watch, fit
from histoeval_research.train.core.model_folder import ModelFolder, versions, weights_of
from histoeval_research.train.hare_bench.config import (
    NerSettings,
    RelationSettings,
    bench_request,
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
        """Write the model to a folder, and load it from there as every reader does.

        So whatever keeps a folder from being read is found before the training and not after it.
        """
        import torch

        torch.manual_seed(self.seed)
        source = Transformer(self.encoder, "encoder", Runtime("cpu", "float32"))
        if self.relations:
            setattr(source.model.config, RELATIONS_LEARNED, list(self.relations))
        model = _with_head(source, self.task, self.labels)
        tokenizer = source.tokenizer
        tokenizer.model_max_length = min(tokenizer.model_max_length, self.tokens)
        if self.markers:
            tokenizer.add_tokens(list(self.markers), special_tokens=True)
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        save(model, tokenizer, folder)
        return Transformer(folder, self.task, Runtime(device, "float32"))


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a model as Transformers writes it, without its progress bars."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    finally:
        if shown:
            logging.enable_progress_bar()


def loss_of(
    transformer: Transformer, examples: Sequence[ClassifierExample]
) -> Callable[[Sequence[int]], torch.Tensor]:
    """The mean cross-entropy of some of these examples, padded to the longest of them."""
    import torch

    padding = transformer.tokenizer.pad_token_id or 0

    def loss(positions: Sequence[int]) -> torch.Tensor:
        """Of the examples at these positions; padding is not learned from."""
        some = [examples[i] for i in positions]
        width = max(len(example.tokens) for example in some)
        tokens = torch.tensor([_padded(e.tokens, width, padding) for e in some])
        mask = torch.tensor([_padded([1] * len(e.tokens), width, 0) for e in some])
        labels = torch.tensor(
            [
                e.label if isinstance(e.label, int) else _padded(e.label, width, IGNORE_INDEX)
                for e in some
            ]
        )
        output = transformer.model(
            input_ids=tokens.to(transformer.device),
            attention_mask=mask.to(transformer.device),
            labels=labels.to(transformer.device),
        )
        return output.loss

    return loss


def windows_of(text: str, model: Transformer, room: int = 0) -> list[Window]:
    """The windows of a text that a model reads at once, with room for so many tokens more."""
    most = model.most_tokens - model.tokenizer.num_special_tokens_to_add() - room

    def measure(fragment: str) -> int:
        """Tokens of a fragment, without those at its ends."""
        return len(model.tokenizer.encode(fragment, add_special_tokens=False, verbose=False))

    return windows(text, measure, most, min(OVERLAP, most // 4))


def _padded(numbers: Sequence[int], width: int, padding: int) -> list[int]:
    return [*numbers, *[padding] * (width - len(numbers))]


def _with_head(source: Transformer, task: Task, labels: Sequence[str]) -> Any:
    """The encoder's weights under a new head with these labels."""
    import transformers

    config = source.model.config
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: number for number, label in enumerate(labels)}
    try:
        model = getattr(transformers, _HEADS[task]).from_config(config)
    except ValueError as error:
        raise ModelError(
            f"{source.name} cannot become a {task} model: Transformers knows none of its kind, "
            f"{config.model_type}"
        ) from error
    absent = model.base_model.load_state_dict(source.model.state_dict(), strict=False).missing_keys
    if absent := [name for name in absent if "pooler" not in name]:
        raise ModelError(f"{source.name} has no weights for {', '.join(absent[:3])}")
    return model.float()


_TASKS = {
    "ner": ("Entities of pathology reports", "A token classifier", "--reader"),
    "relations": (
        "Relations in pathology reports",
        "A classifier of pairs of entities, marked [E1] and [E2]",
        "--relations",
    ),
}


@dataclass(frozen=True, slots=True)
class SampleScores:
    """How many samples a model was judged by, and its scores."""

    samples: int
    scores: dict[str, Any]


class BenchModel(Protocol):
    """What sets one model of the bench apart from another."""

    name: str
    beginning: UntrainedClassifier

    def examples(
        self, passages: Sequence[AnnotatedPassage], model: Transformer
    ) -> list[ClassifierExample]:
        """What there is to learn in some passages."""

    def judge(
        self, folder: Path, passages: Sequence[AnnotatedPassage], device: str | None
    ) -> SampleScores:
        """How good the model in a folder is, as those who load it see it."""


def teach(
    lesson: BenchModel,
    settings: NerSettings | RelationSettings,
    output: Path,
    *,
    device: str | None,
    overwrite: bool,
    watch: Watch,
) -> dict[str, Any]:
    """Train a model and write its folder; the results, at once if it is there already."""
    folder = ModelFolder(output)
    request = bench_request(lesson.name, settings)
    if not overwrite and (found := folder.finished(request)) is not None:
        return found
    train, dev = (read_passages(path, settings) for path in (settings.train, settings.dev))

    def make(draft: Path, checkpoint: Checkpoint) -> dict[str, Any]:
        """The results of a model that is written to a draft folder."""
        model = lesson.beginning.make(draft, device)
        examples = lesson.examples(train, model)
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
        judged = lesson.judge(draft, dev, device)
        return {
            "parameters": model.model.num_parameters(),
            "samples": {"train": len(examples), "dev": judged.samples},
            "shared_reports": shared_reports(train, dev),
            "scores": judged.scores,
            "weights": weights_of(draft),
            "versions": versions(),
        }

    return folder.fill(request, make, bench_card, overwrite=overwrite)


def bench_card(results: Mapping[str, Any]) -> str:
    """The card of a model of the bench."""
    request = results["request"]
    title, what, option = _TASKS[request["task"]]
    return card(
        results,
        "hare_bench",
        hidden=("seed", "labels"),
        title=title,
        what=what,
        option=option,
        seed=request["settings"]["seed"],
        dev=request["data"]["dev"]["name"],
        scores=markdown_table(
            ["", "gold", "found", "precision", "recall", "F1"],
            [[name, *numbers_of(scores)] for name, scores in score_rows(results)],
        ),
    )
