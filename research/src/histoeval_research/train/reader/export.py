"""A trained joint reader as the folder that is shipped, and how sure it may say it is.

The confidence curve is a line between log odds (Platt), fitted on passages that the reader has not
been trained on. Its gain is measured on passages that it was not fitted on either: each fifth of
the reports is judged by a curve that was fitted on the others.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from histoeval.reader.builtin import BuiltinReader
from histoeval.reader.links import CODES, KINDS, LEVELS
from histoeval.reader.manifest import ENCODER, LINKER, ConfidenceCurve, Manifest
from histoeval.reader.reader import Reader
from histoeval.reader.tagging import TAGS
from histoeval.statistics.regression import fit_logistic
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.calibration import Judged, calibration
from histoeval_research.evaluate.reader import (
    PredictedPassage,
    ReaderMeasure,
    judged_of,
    read_passages,
)
from histoeval_research.train.core.onnx_int8 import OnnxPart, Unpadded, write_parts
from histoeval_research.train.hare_bench.bench import (
    IGNORE_INDEX,
    UntrainedClassifier,
    examples_of,
    label_names,
    save,
    tags_of,
)
from histoeval_research.train.reader.model import JointReader


class _Link(nn.Module):  # type: ignore[misc]
    """Scores of the pairs of one text, of which nothing is padding, from the first pass."""

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
        mask = torch.ones_like(tags)
        return self.linker(encoded, mask, tags, entities, pairs, kinds, codes)


def write_reader(
    model: JointReader, tokenizer: Any, folder: Path, *, name: str, details: Mapping[str, Any]
) -> None:
    config = model.encoder.config
    most = int(getattr(config, "max_position_embeddings", 512)) - 2
    length = torch.export.Dim("length", min=2, max=most)
    encoder = OnnxPart(
        Unpadded(model.eval()),
        {"tokens": torch.randint(5, 50, (1, 12))},
        {"tokens": {1: length}},
        ["encoded", "tags", "assertions"],
    )
    pairs = torch.export.Dim("pairs", min=1)
    example = {
        "encoded": torch.zeros(1, 12, int(config.hidden_size)),
        "tags": torch.randint(len(TAGS), (1, 12)),
        "entities": torch.tensor([[0, 1, 2], [0, 4, 4], [0, 7, 9]]),
        "pairs": torch.tensor([[0, 1], [2, 1], [0, 2], [1, 0]]),
        "kinds": torch.randint(len(KINDS), (4,)),
        "codes": torch.randint(LEVELS, (4, CODES)),
    }
    shapes = {
        "encoded": {1: length},
        "tags": {1: length},
        "entities": {0: torch.export.Dim("entities", min=2)},
        "pairs": {0: pairs},
        "kinds": {0: pairs},
        "codes": {0: pairs},
    }
    linker = OnnxPart(_Link(model), example, shapes, ["related"])
    files = write_parts(folder, {ENCODER: encoder, LINKER: linker}, tokenizer)
    Manifest(name=name, files=files, details=dict(details)).write(folder)


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
    """Write what Transformers loads: a linear head on the states of the reader's encoder."""
    # `encoder` is what the reader's own began with; the head learns what the reader finds in texts.
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
    head, tagger.model.classifier = tagger.model.classifier, nn.Identity()
    states = tagger.forward([e.tokens for e in examples], lambda output: output.logits)
    tagger.model.classifier = head
    labels = torch.cat([torch.tensor(example.label) for example in examples])
    is_labelled = labels != IGNORE_INDEX
    vectors = torch.cat([torch.from_numpy(rows) for rows in states])[is_labelled].to(tagger.device)
    labels = labels[is_labelled].to(tagger.device)
    with torch.no_grad():
        head.weight.zero_()
        head.bias.zero_()
    optimizer = torch.optim.LBFGS(head.parameters(), max_iter=_STEPS, line_search_fn="strong_wolfe")

    def closure() -> Any:
        optimizer.zero_grad()
        loss = functional.cross_entropy(head(vectors), labels)
        loss = loss + _DECAY * head.weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    save(tagger.model, tagger.tokenizer, folder)


FOLDS = 5
_MEASURES = {"entity_curve": ReaderMeasure.EXACT, "relation_curve": ReaderMeasure.RELATIONS_ON_GOLD}
_LEAST = 20  # with fewer answers to judge by there is no curve

# Calibration errors `before` and `after` a curve from other reports, and how many `answers`.
Gain = dict[str, float]


def calibrate(folder: Path, passages: Sequence[AnnotatedPassage]) -> dict[str, Gain]:
    manifest = Manifest.read(folder).model_copy(
        update={"entity_curve": ConfidenceCurve(), "relation_curve": ConfidenceCurve()}
    )
    manifest.write(folder)
    readings = read_passages(BuiltinReader(folder), passages)
    gains, curves = {}, {}
    for name, measure in _MEASURES.items():
        if len(judged := judged_of(readings)[measure]) >= _LEAST:
            curves[name] = fit_curve(judged)
            if (gain := _gain(readings, measure)) is not None:
                gains[measure.value] = gain
    details = manifest.details | {"calibration": gains}
    manifest.model_copy(update={**curves, "details": details}).write(folder)
    return gains


def fit_curve(judged: Sequence[Judged]) -> ConfidenceCurve:
    """The most likely line between log odds."""
    # As Platt advises, right and wrong count as a little less than sure, so that a reader that is
    # never wrong still has a curve.
    scores, right = np.array(judged, dtype=np.float64).T
    scores = scores.clip(1e-6, 1 - 1e-6)
    yes = right.sum()
    aim = np.where(right > 0, (yes + 1) / (yes + 2), 1 / (len(right) - yes + 2))
    slope, offset = fit_logistic(np.log(scores / (1 - scores)), aim)
    return ConfidenceCurve(slope=slope, offset=offset)


def _gain(readings: Sequence[PredictedPassage], measure: ReaderMeasure) -> Gain | None:
    """The gain of a curve, unless some fold holds nearly all that there is to judge by."""
    # By its id alone, so that a report stays in its fold whatever else there is.
    digests = [hashlib.sha256(r.passage.report_id.encode()).hexdigest() for r in readings]
    folds = [int(digest, 16) % FOLDS for digest in digests]
    after: list[Judged] = []
    for number in range(FOLDS):
        others = [r for r, fold in zip(readings, folds, strict=True) if fold != number]
        these = [r for r, fold in zip(readings, folds, strict=True) if fold == number]
        if len(known := judged_of(others)[measure]) < _LEAST // 2:
            return None
        curve = fit_curve(known)
        after += [(curve(score), right) for score, right in judged_of(these)[measure]]
    before = judged_of(readings)[measure]
    return {
        "before": calibration(before).error,
        "after": calibration(after).error,
        "answers": len(before),
    }
