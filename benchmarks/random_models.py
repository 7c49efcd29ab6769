"""Models with random weights and a real tokenizer, of any size, for tests and timings.

They are untrained but complete: a token classifier, a two-label relation classifier and an
encoder, saved as folders that load like any other. Heads are scaled so that predictions are
spread over labels and confidences instead of sitting at chance.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import BertWordPieceTokenizer

NER_LABELS = ["O"] + [
    f"{position}-{name}"
    for name in (
        "Pathological_Diagnosis",
        "Diagnosis_Descriptor",
        "Anatomical_Site",
        "IHC_Marker",
        "IHC_Modifier",
    )
    for position in ("B", "I")
]


@dataclass(frozen=True)
class Shape:
    """The size of a BERT-shaped model, and how often its tagger finds nothing."""

    hidden: int = 32
    layers: int = 2
    heads: int = 4
    outside: float = 1.0
    spread: float = 2.5
    seed: int = 0
    vocabulary: int = 0
    """How many words it has a vector for, if more than its tokenizer knows."""


@dataclass(frozen=True)
class ModelFolders:
    """Where the three models of the HARE scheme lie."""

    entities: Path
    relations: Path
    aligner: Path


def make_models(folder: Path, texts: list[str], shape: Shape) -> ModelFolders:
    """Make a tokenizer of the words of the texts and save three random models that use it."""
    tokenizer = _make_tokenizer(texts)
    folders = ModelFolders(folder / "ner", folder / "relations", folder / "aligner")
    tagger = transformers.BertForTokenClassification(_config(tokenizer, shape, NER_LABELS))
    relater = transformers.BertForSequenceClassification(
        _config(tokenizer, shape, ["NO_REL", "Relation"])
    )
    encoder = transformers.BertModel(_config(tokenizer, shape, ["NO_REL", "Relation"]))
    models = zip((tagger, relater, encoder), vars(folders).values(), strict=True)
    for number, (model, target) in enumerate(models):
        _randomise(model, shape, shape.seed + number)
        model.save_pretrained(target)
        tokenizer.save_pretrained(target)
    return folders


def _make_tokenizer(texts: list[str]) -> Any:
    """Every word of the texts and every character is a token."""
    words = {word for text in texts for word in re.findall(r"\w+|[^\w\s]", text.lower())}
    characters = {c for word in words for c in word} | set(string.printable.lower().strip())
    pieces = sorted(words | characters) + [f"##{c}" for c in sorted(characters)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]
    tokens = {token: number for number, token in enumerate(dict.fromkeys(vocabulary))}
    return transformers.BertTokenizerFast(
        tokenizer_object=BertWordPieceTokenizer(vocab=tokens, lowercase=True)._tokenizer,
        model_max_length=512,
        do_lower_case=True,
    )


def _config(tokenizer: Any, shape: Shape, labels: list[str]) -> Any:
    return transformers.BertConfig(
        vocab_size=max(len(tokenizer), shape.vocabulary),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.hidden,
        max_position_embeddings=512,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
        pad_token_id=tokenizer.pad_token_id,
    )


def _randomise(model: Any, shape: Shape, seed: int) -> None:
    """Distinct words, small position embeddings, and a head that is sometimes confident."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.dim() > 1:
                scale = 1.0 if "word_embeddings" in name else weights.shape[1] ** -0.5
                weights.copy_(torch.randn(weights.shape, generator=generator) * scale)
        if hasattr(model, "classifier"):
            model.classifier.weight *= shape.spread
            model.classifier.bias.zero_()
            if len(model.config.id2label) == len(NER_LABELS):
                model.classifier.bias[0] = shape.outside
