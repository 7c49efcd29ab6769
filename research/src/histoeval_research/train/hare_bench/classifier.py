"""How a model of the bench begins and takes a step: an encoder with a new head on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from histoeval.errors import ModelError
from histoeval.reader.huggingface import RELATIONS_LEARNED
from histoeval.runtime.transformer import Runtime, Task, Transformer

if TYPE_CHECKING:
    import torch

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
