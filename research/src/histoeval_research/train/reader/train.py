"""`histoeval train reader`: our joint reader, in steps, from unlabelled and annotated reports.

The readers on the way are all scored on the dev passages: the table shows the contribution of each
step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cached_property, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import numpy as np

from histoeval.errors import ModelError
from histoeval.reader.builtin import BuiltinReader
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.reader import evaluate_reader
from histoeval_research.train.cards import Scores, card, scores_of
from histoeval_research.train.core.encoder import TorchEncoder, load_encoder
from histoeval_research.train.core.loop import (
    THIS_MACHINE,
    Checkpoint,
    Schedule,
    TrainingSite,
    TrainingStage,
    fit,
)
from histoeval_research.train.core.model_folder import (
    ModelFolder,
    TrainingStep,
    encoder_name,
    file_of,
    versions,
    weights_of,
)
from histoeval_research.train.hare_bench.bench import save
from histoeval_research.train.hare_bench.config import read_passages, shared_reports
from histoeval_research.train.reader.config import ReaderSettings
from histoeval_research.train.reader.examples import (
    ReaderBatch,
    ReaderExample,
    collate,
    gold_examples,
    load_examples,
    save_examples,
)
from histoeval_research.train.reader.model import (
    JointReader,
    adapt,
    load_reader,
    loss_of,
    new_reader,
    save_reader,
)
from histoeval_research.train.reader.torch_reader import TorchReader, label
from histoeval_research.train.reader.unlabelled import UnlabelledTexts, read_pool, windows_to_label

Who = Literal["student", "teacher"]
Part = tuple[int, list[str]]

PART = 4096  # windows that are labelled and kept at once

SHIPPED = "as written, int8"  # the last row of the table: the folder that others load

_HOW_READ = {"text", "id", "exclude_reports_of_dev"}


def train_reader(
    settings: ReaderSettings, output: Path, site: TrainingSite = THIS_MACHINE
) -> dict[str, Any]:
    """Train a reader and write its folder; the results, at once if it is there already.

    Steps that are done are never run again: to restart, delete the work folder.
    """
    training = ReaderTraining(settings, work_folder(settings, output), site)

    def make(draft: Path, _: Checkpoint) -> dict[str, Any]:
        from histoeval_research.train.reader.export import calibrate, write_reader, write_tagger

        steps, facts = training.take_steps()
        site.tell("writing the model")
        encoder, (model,) = training.readers("student", [training.student])
        reader = TorchReader([model], encoder.fast, encoder.device)
        texts = [passage.text for passage in training.train]
        tokens = settings.windows.tokens
        made_with = versions()
        # Both write a `tokenizer.json`, the same but for its layout; the manifest knows the second.
        write_tagger(model, reader, texts, encoder.name, tokens, draft, site.device)
        details = {"request": training.request, "versions": made_with}
        write_reader(model, encoder.fast, draft, name=settings.name, details=details)
        gains = calibrate(draft, training.dev)
        evaluation = evaluate_reader(BuiltinReader(draft), training.dev)
        return {
            "parameters": sum(weights.numel() for weights in model.parameters()),
            "samples": {"train": len(training.train), "dev": len(training.dev)},
            "unlabelled": facts,
            "shared_reports": shared_reports(training.train, training.dev),
            "steps": steps | {SHIPPED: scores_of(evaluation)},
            "scores": evaluation.model_dump(mode="json", exclude={"calibration"}),
            "calibration": gains,
            "weights": weights_of(draft),
            "versions": made_with,
        }

    return ModelFolder(output).fill(
        training.request, make, partial(card, "reader"), overwrite=site.overwrite
    )


def work_folder(settings: ReaderSettings, output: Path) -> Path:
    path = output.absolute()
    return settings.work or path.with_name(f"{path.name}.work")


class ReaderTraining:
    """One training: its settings, its data read once, and its steps."""

    # A step depends on all that its outcome follows from and on nothing else: what comes later can
    # be changed without it being run again. Its outcome lies in its folder, so that a run that was
    # stopped resumes, and one with other settings does again only what depends on them.

    def __init__(
        self, settings: ReaderSettings, work: Path, site: TrainingSite = THIS_MACHINE
    ) -> None:
        self.settings = settings
        self.work = work
        self.site = site
        self.first_encoder = {"student": settings.encoder, "teacher": settings.teacher}
        self.adaptation = {"student": settings.adapt, "teacher": settings.adapt_teacher}

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process it reads its data anew, and nobody watches it there."""
        return ReaderTraining, (self.settings, self.work, TrainingSite(self.site.device))

    @cached_property
    def train(self) -> list[AnnotatedPassage]:
        return read_passages(self.settings.train, self.settings.labels)

    @cached_property
    def dev(self) -> list[AnnotatedPassage]:
        return read_passages(self.settings.dev, self.settings.labels)

    @cached_property
    def pool(self) -> UnlabelledTexts:
        return read_pool(self.settings.unlabelled, self.dev)

    # --- what steps and the whole depend on -----------------------------------------------------

    @cached_property
    def _names(self) -> dict[str, dict[str, str]]:
        return {who: encoder_name(name) for who, name in self.first_encoder.items() if name}

    @cached_property
    def _data(self) -> dict[str, dict[str, str]]:
        return {"train": file_of(self.settings.train), "dev": file_of(self.settings.dev)}

    @cached_property
    def _files(self) -> list[dict[str, str]]:
        return [file_of(source.file) for source in self.settings.unlabelled]

    def _sources(self, *names: str) -> list[dict[str, Any]]:
        return [
            file | source.model_dump(include={*_HOW_READ, *names})
            for file, source in zip(self._files, self.settings.unlabelled, strict=True)
        ]

    def _learner(self, who: Who) -> dict[str, Any]:
        return {
            "encoder": self.adapted(who).identity if self.adaptation[who] else self._names[who],
            "shape": self.settings.shape.model_dump(),
            "weights": self.settings.weights.model_dump(),
        }

    @property
    def _gold(self) -> dict[str, Any]:
        settings = self.settings
        tokens, labels = settings.windows.tokens, settings.labels
        return {"train": self._data["train"], "tokens": tokens, "labels": labels}

    @cached_property
    def request(self) -> dict[str, Any]:
        paths = ("train", "dev", "output", "work", "encoder", "teacher", "unlabelled")
        hidden: dict[str, Any] = dict.fromkeys(paths, True) | {"teach": {"at_once"}}
        settings = self.settings.model_dump(mode="json", exclude=hidden, exclude_none=True)
        teacher = {who: name for who, name in self._names.items() if who == "teacher"}
        return {
            "task": "reader",
            "encoder": self._names["student"],
            **teacher,
            "settings": settings | {"notes": self.settings.notes},
            "data": self._data,
            "unlabelled": self._sources("repeat", "sample", "words", "most", "least"),
        }

    # --- steps ------------------------------------------------------------------------------------

    def adapted(self, who: Who) -> TrainingStep:
        """The encoder of the student or of the teachers after it has read the unlabelled texts."""
        recipe = self.adaptation[who]
        assert recipe is not None, "only what is adapted has this step"

        def act(step: TrainingStep) -> dict[str, Any]:
            encoder = load_encoder(str(self.first_encoder[who]), recipe.length, self.site.device)
            with self.site.watching(f"adapting the {who}") as watch:
                stage = TrainingStage(step.checkpoint, watch)
                count = adapt(encoder, self.pool.to_adapt(), recipe, stage)
            save(encoder.model, encoder.tokenizer, step.folder / "encoder")
            return self.pool.facts | {f"{who}_stretches": count}

        request = {
            "encoder": self._names[who],
            "recipe": recipe.model_dump(),
            "read": self._sources("repeat"),
            "dev": self._data["dev"],
        }
        return TrainingStep(self.work / f"adapt-{who}", request, act)

    def teacher(self, seed: int) -> TrainingStep:
        recipe = self.settings.teach
        assert recipe is not None, "there are teachers only where they are taught"

        def act(step: TrainingStep) -> dict[str, Any]:
            return self._learn(step, "teacher", recipe, seed, f"teaching {seed}")

        request = self._learner("teacher") | self._gold
        request |= {"recipe": recipe.model_dump(exclude={"seeds", "at_once"}), "seed": seed}
        return TrainingStep(self.work / f"teacher-{seed}", request, act)

    @property
    def teachers(self) -> list[TrainingStep]:
        return [self.teacher(seed) for seed in self.settings.teach.seeds]  # type: ignore[union-attr]

    @property
    def labelled(self) -> TrainingStep:
        teach = self.settings.teach
        assert teach is not None, "windows are labelled by teachers"

        def act(step: TrainingStep) -> dict[str, Any]:
            gold = (passage.text for passage in self.train)
            texts = windows_to_label(self.pool, gold, self.settings.windows)
            kept, facts = self._windows_for_both(texts)
            parts = [(n // PART, kept[n : n + PART]) for n in range(0, len(kept), PART)]
            missing = [part for part in parts if not _part_file(step, part[0]).exists()]
            if teach.at_once > 1 and len(missing) > 1:
                shares = [missing[first :: teach.at_once] for first in range(teach.at_once)]
                together(self.label_parts, filter(None, shares), teach.at_once)
            elif missing:
                self.label_parts(missing)
            return self.pool.facts | facts

        request = {
            "teachers": [teacher.identity for teacher in self.teachers],
            "student": self._names["student"],
            "recipe": self.settings.windows.model_dump(),
            "cut": self._sources("sample", "words", "most", "least"),
            "data": self._data,
        }
        return TrainingStep(self.work / "windows", request, act)

    @property
    def distilled(self) -> TrainingStep:
        recipe, seed = self.settings.distil, self.settings.seed
        assert recipe is not None, "without teachers there is nothing to distil"

        def act(step: TrainingStep) -> dict[str, Any]:
            files = sorted(self.labelled.folder.glob("part-*.npz"))
            examples = [example for file in files for example in load_examples(file)]
            return self._learn(step, "student", recipe, seed, "distilling", examples=examples)

        request = {"windows": self.labelled.identity, "recipe": recipe.model_dump(), "seed": seed}
        return TrainingStep(self.work / "distil", request | self._learner("student"), act)

    @property
    def fitted(self) -> TrainingStep:
        """The student, as it is so far, after it has learned from annotated passages."""
        recipe, seed = self.settings.fit, self.settings.seed
        assert recipe is not None, "only what is fitted has this step"
        source = None if self.settings.distil is None else self.distilled

        def act(step: TrainingStep) -> dict[str, Any]:
            return self._learn(step, "student", recipe, seed, "fitting", source=source)

        before = None if source is None else source.identity
        request = {"before": before, "recipe": recipe.model_dump(), "seed": seed}
        request |= self._learner("student") | self._gold
        return TrainingStep(self.work / "fit", request, act)

    @property
    def student(self) -> TrainingStep:
        return self.distilled if self.settings.fit is None else self.fitted

    def scores(self, name: str, who: Who, *steps: TrainingStep) -> Scores:
        def act(_: TrainingStep) -> Scores:
            encoder, models = self.readers(who, steps)
            reader = TorchReader(models, encoder.fast, encoder.device)
            return scores_of(evaluate_reader(reader, self.dev))

        request = {
            "readers": [step.identity for step in steps],
            "dev": self._data["dev"],
            "labels": self.settings.labels,
        }
        scores = TrainingStep(self.work / f"scores-{name.replace(' ', '-')}", request, act).run()
        figures = (f"{name} {score['value']:.3f}" for name, score in scores.items() if score)
        self.site.tell(f"{name}: {', '.join(figures)}")
        return scores

    def take_steps(self) -> tuple[dict[str, Scores], dict[str, Any]]:
        settings = self.settings
        scores: dict[str, Scores] = {}
        facts: dict[str, Any] = {}
        if settings.adapt is not None:
            facts |= self.adapted("student").run()
        if settings.teach is not None:
            if settings.adapt_teacher is not None:
                self.adapted("teacher").run()
            seeds, at_once = settings.teach.seeds, settings.teach.at_once
            missing = [seed for seed in seeds if not self.teacher(seed).is_done]
            if at_once > 1 and len(missing) > 1:
                self.site.tell(f"training {len(missing)} teachers, {at_once} at once")
                together(self.teach, missing, at_once)
            for seed in seeds:
                self.teach(seed)
                name = f"teacher {seed}"
                scores[name] = self.scores(name, "teacher", self.teacher(seed))
            if len(seeds) > 1:
                scores["all teachers"] = self.scores("all teachers", "teacher", *self.teachers)
            facts |= self.labelled.run()
            self.site.tell(f"{facts['windows']:,} windows labelled")
        if settings.distil is not None:
            self.distilled.run()
            scores["student"] = self.scores("student", "student", self.distilled)
        if settings.fit is not None:
            self.fitted.run()
            name = "student" if settings.distil is None else "student, fitted"
            scores[name] = self.scores("fitted", "student", self.fitted)
        return scores, facts

    # --- how steps are done -----------------------------------------------------------------------

    def encoder(self, who: Who, device: str | None = None) -> TorchEncoder:
        name = str(self.first_encoder[who])
        if self.adaptation[who] is not None:
            name = str(self.adapted(who).folder / "encoder")
        return load_encoder(name, self.settings.windows.tokens, device or self.site.device)

    def readers(
        self, who: Who, steps: Sequence[TrainingStep]
    ) -> tuple[TorchEncoder, list[JointReader]]:
        models = []
        for step in steps:
            encoder = self.encoder(who)
            models.append(load_reader(encoder, self.settings.shape, step.folder))
        return encoder, models

    def teach(self, seed: int) -> None:
        self.teacher(seed).run()

    def _learn(
        self,
        step: TrainingStep,
        who: Who,
        schedule: Schedule,
        seed: int,
        progress: str,
        *,
        examples: Sequence[ReaderExample] | None = None,
        source: TrainingStep | None = None,
    ) -> dict[str, Any]:
        shape, encoder = self.settings.shape, self.encoder(who)
        if source is None:
            model = new_reader(encoder, shape, seed)
        else:
            model = load_reader(encoder, shape, source.folder)
        given = gold_examples(self.train, encoder) if examples is None else examples

        def prepare(places: Sequence[int]) -> ReaderBatch:
            return collate([given[i] for i in places], encoder.padding, encoder.device)

        with self.site.watching(progress) as watch:
            fit(
                model,
                len(given),
                lambda batch: loss_of(model, batch, self.settings.weights),
                schedule,
                seed=seed,
                prepare=prepare,
                encoder="encoder.",
                stage=TrainingStage(step.checkpoint, watch),
            )
        save_reader(model, step.folder, half=who == "teacher")
        return {"examples": len(given)}

    def _windows_for_both(self, texts: Sequence[str]) -> tuple[list[str], dict[str, int]]:
        """The windows that both tokenizers cut into the same pieces, few enough for both."""
        student = load_encoder(self.settings.encoder, self.settings.windows.tokens, "cpu")
        teacher = self.encoder("teacher", "cpu")
        most = min(student.most_tokens, teacher.most_tokens)
        kept: list[str] = []
        different = too_long = 0
        for first in range(0, len(texts), PART):
            some = list(texts[first : first + PART])
            both = (student.fast.encode_batch(some), teacher.fast.encode_batch(some))
            for text, by_student, by_teacher in zip(some, *both, strict=True):
                if by_student.offsets != by_teacher.offsets:
                    different += 1
                elif len(by_student.ids) > most:
                    too_long += 1
                else:
                    kept.append(text)
        if different > len(texts) / 2 or not kept:
            raise ModelError(
                f"{different:,} of {len(texts):,} windows are cut into other tokens by the student "
                f"than by the teacher, and {too_long:,} are too long: give encoders with the same "
                "kind of tokenizer, or shorter windows"
            )
        counts = {"windows": len(kept), "different_tokens": different, "too_long": too_long}
        return kept, counts

    def label_parts(self, parts: Sequence[Part]) -> None:
        teacher, readers = self.readers("teacher", self.teachers)
        student = load_encoder(self.settings.encoder, self.settings.windows.tokens, "cpu")
        with self.site.watching("labelling windows") as watch:
            for done, (number, texts) in enumerate(parts, start=1):
                read = teacher.fast.encode_batch(texts)
                examples = label(readers, texts, read, teacher.padding, teacher.device)
                own = student.fast.encode_batch(texts)
                for example, encoding in zip(examples, own, strict=True):
                    example.tokens = np.array(encoding.ids, dtype=np.int64)
                save_examples(_part_file(self.labelled, number), examples)
                watch(done, len(parts), float("nan"))


def _part_file(step: TrainingStep, number: int) -> Path:
    return step.folder / f"part-{number:04}.npz"


def together(act: Callable[[Any], object], jobs: Iterable[Any], most: int) -> None:
    """Do several jobs at the same time, each in a process of its own."""
    with ProcessPoolExecutor(most, mp_context=get_context("spawn")) as processes:
        for done in as_completed([processes.submit(act, job) for job in jobs]):
            done.result()
