"""`histoeval train reader`: our joint reader, in steps, from unlabelled and annotated reports.

Each step is kept in the work folder (`TrainingStep`), so that a run that was stopped resumes, and
one with other settings does again only what depends on them. The readers on the way are all
scored on the dev passages: the table shows the contribution of each step.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from histoeval_research.evaluate.reader import Evaluation, evaluate_reader
from histoeval_research.train.cards import (
    Scores,
    reader_card,
    scores_of_evaluation,
    scores_of_reader,
)
from histoeval_research.train.core.encoder import load_encoder, load_reader
from histoeval_research.train.core.loop import Checkpoint
from histoeval_research.train.core.model_folder import ModelFolder, TrainingStep, weights_of
from histoeval_research.train.hare_bench.config import shared_reports
from histoeval_research.train.hare_bench.select import THIS_MACHINE, TrainingSite
from histoeval_research.train.reader.config import ReaderSettings
from histoeval_research.train.reader.model import JointReader
from histoeval_research.train.reader.plan import TrainingPlan
from histoeval_research.train.reader.steps import adapt, distil, fit_gold, teach
from histoeval_research.train.reader.teachers import label_windows, teachers_of, together
from histoeval_research.train.reader.torch_reader import TorchReader

SHIPPED = "as written, int8"
"""The last row of the table: the folder that others load."""


Surroundings = TrainingSite


def train_reader(
    settings: ReaderSettings, output: Path, surroundings: TrainingSite = THIS_MACHINE
) -> dict[str, Any]:
    """Train a reader and write its folder; the results, at once if it is there already.

    Steps that are done are never run again: to restart, delete the work folder.
    """
    course = TrainingPlan(settings, work_folder(settings, output), surroundings.device)

    def make(draft: Path, _: Checkpoint) -> dict[str, Any]:
        """The results of a reader that is written to a draft folder; each step has a checkpoint."""
        steps, facts = take_steps(course, surroundings)
        surroundings.tell("writing the model")
        parameters = _write(course, draft)
        evaluation, calibrated = _calibrate(course, draft)
        return {
            "parameters": parameters,
            "samples": {"train": len(course.train), "dev": len(course.dev)},
            "unlabelled": facts,
            "shared_reports": shared_reports(course.train, course.dev),
            "steps": steps | {SHIPPED: scores_of_evaluation(evaluation)},
            "scores": evaluation.model_dump(mode="json", exclude={"calibration"}),
            "calibration": calibrated,
            "weights": weights_of(draft),
            "versions": course.made_with,
        }

    folder = ModelFolder(output)
    return folder.fill(course.request, make, reader_card, overwrite=surroundings.overwrite)


def work_folder(settings: ReaderSettings, output: Path) -> Path:
    """Where the outcome of each step is kept."""
    path = output.absolute()
    return settings.work or path.with_name(f"{path.name}.work")


def take_steps(
    course: TrainingPlan, around: TrainingSite
) -> tuple[dict[str, Scores], dict[str, Any]]:
    """Take all steps; the scores of each reader on the way, and facts on unlabelled texts."""
    settings = course.settings
    scores: dict[str, Scores] = {}
    facts: dict[str, Any] = {}
    if settings.adapt is not None:
        with around.watching("adapting the student") as watch:
            facts |= adapt(course, "student", watch)
    if settings.teach is not None:
        scores |= _teachers(course, around)
        with around.watching("labelling windows") as watch:
            facts |= label_windows(course, watch)
        around.tell(f"{facts['windows']:,} windows labelled")
    if settings.distil is not None:
        with around.watching("distilling") as watch:
            distil(course, watch)
        scores["student"] = _student_scores(course, "student", course.distilled, around)
    if settings.fit is not None:
        name = "student" if settings.distil is None else "student, fitted"
        with around.watching("fitting") as watch:
            fit_gold(course, watch)
        scores[name] = _student_scores(course, "fitted", course.fitted, around)
    return scores, facts


def _teachers(course: TrainingPlan, around: TrainingSite) -> dict[str, Scores]:
    """Train all teachers; the scores of each, and of all of them as one."""
    recipe = course.settings.teach
    assert recipe is not None, "teachers are taught"
    if course.settings.adapt_teacher is not None:
        with around.watching("adapting the teacher") as watch:
            adapt(course, "teacher", watch)
    missing = [seed for seed in recipe.seeds if not course.teacher(seed).done]
    if recipe.at_once > 1 and len(missing) > 1:
        around.tell(f"training {len(missing)} teachers, {recipe.at_once} at once")
        together(teach, [(course, seed) for seed in missing], recipe.at_once)
    scores: dict[str, Scores] = {}
    for seed in recipe.seeds:
        with around.watching(f"teaching {seed}") as watch:
            teach(course, seed, watch)
        name = f"teacher {seed}"
        scores[name] = _teacher_scores(course, name, [course.teacher(seed)], around)
    if len(recipe.seeds) > 1:
        scores["all teachers"] = _teacher_scores(course, "all teachers", course.teachers, around)
    return scores


def _teacher_scores(
    course: TrainingPlan, name: str, steps: Sequence[TrainingStep], around: TrainingSite
) -> Scores:
    def readers() -> tuple[list[JointReader], Any, str]:
        """All teachers, loaded only when their scores are not known yet."""
        encoder, models = teachers_of(course, steps)
        return models, encoder.fast, encoder.device

    return _scores(course, name, steps, readers, around)


def _student_scores(
    course: TrainingPlan, name: str, step: TrainingStep, around: TrainingSite
) -> Scores:
    def readers() -> tuple[list[JointReader], Any, str]:
        """The student, loaded only when its scores are not known yet."""
        model, encoder = _student(course, step)
        return [model], encoder.fast, encoder.device

    return _scores(course, name, [step], readers, around)


def _scores(
    course: TrainingPlan,
    name: str,
    steps: Sequence[TrainingStep],
    readers: Callable[[], tuple[list[JointReader], Any, str]],
    around: TrainingSite,
) -> Scores:
    """The dev scores of what some steps have made, found out once."""

    def act(_: TrainingStep) -> Scores:
        """Read the dev passages and compare."""
        return scores_of_reader(TorchReader(*readers()), course.dev)

    found = course.scored(name.replace(" ", "-"), *steps).run(act)
    scores_shown = ", ".join(
        f"{heading} {estimate['value']:.3f}" for heading, estimate in found.items() if estimate
    )
    around.tell(f"{name}: {scores_shown}")
    return found


def _student(course: TrainingPlan, step: TrainingStep) -> tuple[JointReader, Any]:
    encoder = load_encoder(course.encoder("student"), course.settings.windows.tokens, course.device)
    return load_reader(encoder, course.settings.shape, step.folder), encoder


def _write(course: TrainingPlan, folder: Path) -> int:
    """Write the reader for Transformers and for `BuiltinReader`; how many parameters it has.

    Both have a `tokenizer.json`, which are the same but for their layout; the manifest knows ours.
    """
    from histoeval_research.train.reader.export import write_reader, write_tagger

    model, encoder = _student(course, course.student)
    reader = TorchReader([model], encoder.fast, encoder.device)
    texts = [passage.text for passage in course.train]
    tokens = course.settings.windows.tokens
    write_tagger(model, reader, texts, encoder.name, tokens, folder, course.device)
    details = {"request": course.request, "versions": course.made_with}
    write_reader(model, encoder.fast, folder, name=course.settings.name, details=details)
    return sum(weights.numel() for weights in model.parameters())


def _calibrate(course: TrainingPlan, folder: Path) -> tuple[Evaluation, dict[str, Any]]:
    """Fit the confidence on the dev passages; all scores, and the gain of the fit."""
    from histoeval.reader.builtin import BuiltinReader
    from histoeval_research.train.reader.export import calibrate

    gains = calibrate(folder, course.dev)
    evaluation = evaluate_reader(BuiltinReader(folder), course.dev)
    return evaluation, {measure: found.model_dump() for measure, found in gains.items()}
