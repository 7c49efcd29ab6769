"""How every model of the bench is trained: begun, taught, judged, and put in its folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from histoeval.runtime.transformer import Transformer
from histoeval.table import markdown_table
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.train.cards import card, numbers_of, score_rows
from histoeval_research.train.core.loop import Checkpoint, TrainingStage, Watch, fit
from histoeval_research.train.core.model_folder import ModelFolder, versions, weights_of
from histoeval_research.train.hare_bench.classifier import (
    ClassifierExample,
    UntrainedClassifier,
    loss_of,
    save,
)
from histoeval_research.train.hare_bench.config import (
    NerSettings,
    RelationSettings,
    bench_request,
    read_passages,
    shared_reports,
)

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
