"""A reader's entities for Transformers: the same encoder under a plain token classifier.

Our own tags say where an entity ends and are read as a path, which a plain token classifier does
not do. So a new head is fitted on the finished encoder, word by word in the IOB2 scheme that
`histoeval train ner` uses, and it is taught what the reader itself finds. With a fixed encoder
that is a convex problem: it has one answer, and no settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from histoeval.extract.reader import Reader
from histoeval.io.corpus import AnnotatedPassage
from histoeval.runtime.transformer import Transformer
from histoeval.train.hare_bench.classifier import (
    IGNORE_INDEX,
    ClassifierExample,
    UntrainedClassifier,
    save,
)
from histoeval.train.hare_bench.ner import examples_of, label_names, tags_of
from histoeval.train.reader.model import JointReader

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
    _fit_head(tagger, *_told(tagger, examples))
    save(tagger.model, tagger.tokenizer, folder)


def _told(tagger: Transformer, examples: Sequence[ClassifierExample]) -> tuple[Any, Any]:
    """What the encoder makes of each token that is told a label, and the labels."""
    head, tagger.model.classifier = tagger.model.classifier, torch.nn.Identity()
    encoded = tagger.forward([e.tokens for e in examples], lambda output: output.logits)
    tagger.model.classifier = head
    vectors = torch.cat([torch.from_numpy(rows) for rows in encoded])
    labels = torch.tensor([number for example in examples for number in _labels(example)])
    told = labels != IGNORE_INDEX
    return vectors[told].to(tagger.device), labels[told].to(tagger.device)


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
