"""A trained joint reader as the folder that is shipped: ONNX with int8 weights, no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from histoeval.reader.links import CODES, KINDS, LEVELS
from histoeval.reader.manifest import ENCODER, LINKER, Manifest, write_manifest
from histoeval.reader.reader import Reader
from histoeval.reader.tagset import TAGS
from histoeval.runtime.transformer import Transformer
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.train.core.onnx_int8 import OnnxPart, Unpadded, write_parts
from histoeval_research.train.hare_bench.classifier import (
    IGNORE_INDEX,
    ClassifierExample,
    UntrainedClassifier,
    save,
)
from histoeval_research.train.hare_bench.ner import examples_of, label_names, tags_of
from histoeval_research.train.reader.model import JointReader


class _Link(nn.Module):  # type: ignore[misc]
    """The pairs of one text of which nothing is padding."""

    def __init__(self, model: JointReader) -> None:
        super().__init__()
        self.linker = model.linker

    def forward(
        self,
        encoded: Tensor,
        tags: Tensor,
        entities: Tensor,
        pairs: Tensor,
        kinds: Tensor,
        codes: Tensor,
    ) -> Tensor:
        """Scores of pairs from what the first pass has found."""
        mask = torch.ones_like(tags)
        return self.linker(encoded, mask, tags, entities, pairs, kinds, codes)


def write_reader(
    model: JointReader,
    tokenizer: Any,
    folder: Path,
    *,
    name: str,
    details: Mapping[str, Any],
    rounded: bool = True,
) -> None:
    """Write what `BuiltinReader` loads."""
    length = torch.export.Dim("length", min=2, max=_positions(model))
    encoder = OnnxPart(
        Unpadded(model.eval()),
        {"tokens": torch.randint(5, 50, (1, 12))},
        {"tokens": {1: length}},
        ["encoded", "tags", "assertions"],
    )
    parts = {ENCODER: encoder, LINKER: _linker(model)}
    files = write_parts(folder, parts, tokenizer, rounded)
    write_manifest(folder, Manifest(name=name, files=files, details=dict(details)))


def _linker(model: JointReader) -> OnnxPart:
    length = torch.export.Dim("length", min=2, max=_positions(model))
    entities, pairs = torch.export.Dim("entities", min=2), torch.export.Dim("pairs", min=1)
    size = int(model.encoder.config.hidden_size)
    example = {
        "encoded": torch.zeros(1, 12, size),
        "tags": torch.randint(len(TAGS), (1, 12)),
        "entities": torch.tensor([[0, 1, 2], [0, 4, 4], [0, 7, 9]]),
        "pairs": torch.tensor([[0, 1], [2, 1], [0, 2], [1, 0]]),
        "kinds": torch.randint(len(KINDS), (4,)),
        "codes": torch.randint(LEVELS, (4, CODES)),
    }
    shapes = {
        "encoded": {1: length},
        "tags": {1: length},
        "entities": {0: entities},
        "pairs": {0: pairs},
        "kinds": {0: pairs},
        "codes": {0: pairs},
    }
    return OnnxPart(_Link(model), example, shapes, ["related"])


def _positions(model: JointReader) -> int:
    return int(getattr(model.encoder.config, "max_position_embeddings", 512)) - 2


_STEPS = 200
_DECAY = 1e-5


def write_tagger(
    model: JointReader,
    reader: Reader,
    texts: Sequence[str],
    encoder: str,
    tokens: int,
    folder: Path,
    device: str | None,
) -> None:
    """Write a folder that Transformers loads; `encoder` is what the reader's own began with."""
    names = label_names("all")
    beginning = UntrainedClassifier(encoder, "token-classification", tags_of(names), tokens, seed=0)
    tagger = beginning.make(folder, device)
    tagger.model.base_model.load_state_dict(model.encoder.state_dict(), strict=False)
    examples = [
        example
        for number, report in enumerate(reader.read(list(texts)))
        for example in examples_of(
            AnnotatedPassage(id=str(number), source="", report_id=str(number), content=report),
            tagger,
            names,
            beginning.labels,
        )
    ]
    _fit_head(tagger, *_labelled(tagger, examples))
    save(tagger.model, tagger.tokenizer, folder)


def _labelled(tagger: Transformer, examples: Sequence[ClassifierExample]) -> tuple[Any, Any]:
    """The state of each token that has a label, and the labels."""
    head, tagger.model.classifier = tagger.model.classifier, torch.nn.Identity()
    encoded = tagger.forward([e.tokens for e in examples], lambda output: output.logits)
    tagger.model.classifier = head
    vectors = torch.cat([torch.from_numpy(rows) for rows in encoded])
    labels = torch.tensor([number for example in examples for number in _labels(example)])
    labelled = labels != IGNORE_INDEX
    return vectors[labelled].to(tagger.device), labels[labelled].to(tagger.device)


def _labels(example: ClassifierExample) -> Sequence[int]:
    assert not isinstance(example.label, int), "a token classifier has a label for each token"
    return example.label


def _fit_head(tagger: Transformer, vectors: Any, labels: Any) -> None:
    head = tagger.model.classifier
    with torch.no_grad():
        head.weight.zero_()
        head.bias.zero_()
    optimizer = torch.optim.LBFGS(head.parameters(), max_iter=_STEPS, line_search_fn="strong_wolfe")

    def closure() -> Any:
        """The loss with its slope, as often as the line search asks."""
        optimizer.zero_grad()
        loss = functional.cross_entropy(head(vectors), labels)
        loss = loss + _DECAY * head.weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
