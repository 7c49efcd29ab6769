"""How every model of the bench is trained: begun, taught, judged, and put in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from histoeval.io.corpus import AnnotatedPassage
from histoeval.runtime.transformer import Transformer
from histoeval.train.core.card import card_of, weights_of
from histoeval.train.core.loop import Watch, fit
from histoeval.train.core.model_folder import ModelFolder
from histoeval.train.hare_bench.classifier import (
    ClassifierExample,
    UntrainedClassifier,
    loss_of,
    save,
)
from histoeval.train.hare_bench.config import (
    NerSettings,
    RelationSettings,
    identity_of,
    read_passages,
    request_of,
    shared_reports,
    versions,
)


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
    request = request_of(lesson.name, settings)
    if not overwrite and (found := folder.finished(request)) is not None:
        return found
    train, dev = (read_passages(path, settings) for path in (settings.train, settings.dev))
    if overwrite:
        folder.clear()
    with folder.writing() as draft:
        model = lesson.beginning.make(draft, device)
        examples = lesson.examples(train, model)
        fit(
            model.model,
            len(examples),
            loss_of(model, examples),
            settings,
            seed=settings.seed,
            encoder=f"{model.model.base_model_prefix}.",
            checkpoint=folder.checkpoint,
            identity=identity_of(request),
            watch=watch,
        )
        save(model.model, model.tokenizer, draft)
        judged = lesson.judge(draft, dev, device)
        results = {
            "request": request,
            "parameters": model.model.num_parameters(),
            "samples": {"train": len(examples), "dev": judged.samples},
            "shared_reports": shared_reports(train, dev),
            "scores": judged.scores,
            "weights": weights_of(draft),
            "versions": versions(),
        }
        folder.finish(results, card_of(results))
    return results
