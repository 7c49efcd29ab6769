"""The steps of a reader's training: what each does, and what its outcome follows from.

Each outcome lies in the folder of its step (`TrainingStep`), so that a run that was stopped
resumes, and one with other settings does again only what depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import numpy as np

from histoeval.errors import ModelError
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.reader import evaluate_reader
from histoeval_research.train.cards import Scores, scores_of
from histoeval_research.train.core.encoder import TorchEncoder, load_encoder
from histoeval_research.train.core.loop import (
    THIS_MACHINE,
    Schedule,
    TrainingSite,
    TrainingStage,
    fit,
)
from histoeval_research.train.core.model_folder import TrainingStep, encoder_name, file_of
from histoeval_research.train.hare_bench.bench import save
from histoeval_research.train.hare_bench.config import read_passages
from histoeval_research.train.reader.adaptation import adapt
from histoeval_research.train.reader.config import Adaptation, ReaderSettings, TeacherSettings
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
    load_reader,
    loss_of,
    new_reader,
    save_reader,
)
from histoeval_research.train.reader.soft_labels import label
from histoeval_research.train.reader.torch_reader import TorchReader
from histoeval_research.train.reader.unlabelled import (
    UnlabelledTexts,
    read_pool,
    windows_to_label,
)

Who = Literal["student", "teacher"]
Part = tuple[int, list[str]]

PART = 4096
"""Windows that are labelled and kept at once."""

_HOW_READ = {"text", "id", "exclude_reports_of_dev"}


class ReaderTraining:
    """One training: its settings, its data read once, and its steps.

    A step depends on all that its outcome follows from and on nothing else: what comes later can
    be changed without it being run again.
    """

    def __init__(
        self, settings: ReaderSettings, work: Path, site: TrainingSite = THIS_MACHINE
    ) -> None:
        self.settings = settings
        self.work = work
        self.site = site

    # --- data ---------------------------------------------------------------------------------

    @cached_property
    def train(self) -> list[AnnotatedPassage]:
        """The passages to learn from."""
        return read_passages(self.settings.train, self.settings.labels)

    @cached_property
    def dev(self) -> list[AnnotatedPassage]:
        """The passages to be judged by."""
        return read_passages(self.settings.dev, self.settings.labels)

    @cached_property
    def pool(self) -> UnlabelledTexts:
        return read_pool(self.settings.unlabelled, self.dev)

    # --- what steps and the whole depend on -----------------------------------------------------

    @cached_property
    def _names(self) -> dict[str, dict[str, str]]:
        encoders = {"student": self.settings.encoder, "teacher": self.settings.teacher}
        return {who: encoder_name(name) for who, name in encoders.items() if name is not None}

    @cached_property
    def _data(self) -> dict[str, dict[str, str]]:
        return {"train": file_of(self.settings.train), "dev": file_of(self.settings.dev)}

    @cached_property
    def _sources(self) -> list[dict[str, Any]]:
        """Each unlabelled source by its content and how it is read."""
        sources = self.settings.unlabelled
        return [file_of(source.file) | source.model_dump(include=_HOW_READ) for source in sources]

    def _sources_with(self, *names: str) -> list[dict[str, Any]]:
        """The unlabelled sources with these settings besides."""
        return [
            known | source.model_dump(include=set(names))
            for known, source in zip(self._sources, self.settings.unlabelled, strict=True)
        ]

    def _learned_by(self, who: Who, *, from_gold: bool) -> dict[str, Any]:
        """What learning depends on besides its schedule and seed."""
        settings = self.settings
        is_adapted = self._adaptation(who) is not None
        found: dict[str, Any] = {
            "encoder": self.adapted(who).identity if is_adapted else self._names[who],
            "shape": settings.shape.model_dump(),
            "weights": settings.weights.model_dump(),
        }
        if from_gold:
            found |= {"train": self._data["train"], "tokens": settings.windows.tokens}
            found |= {"labels": settings.labels}
        return found

    @cached_property
    def request(self) -> dict[str, Any]:
        """What makes two trainings the same, without a word on where files lie."""
        paths = ("train", "dev", "output", "work", "encoder", "teacher", "unlabelled")
        hidden: dict[str, Any] = dict.fromkeys(paths, True) | {"teach": {"at_once"}}
        settings = self.settings.model_dump(mode="json", exclude=hidden, exclude_none=True)
        teacher = {} if self.settings.teacher is None else {"teacher": self._names["teacher"]}
        return {
            "task": "reader",
            "encoder": self._names["student"],
            **teacher,
            "settings": settings | {"notes": self.settings.notes},
            "data": self._data,
            "unlabelled": self._sources_with("repeat", "sample", "words", "most", "least"),
        }

    # --- steps ------------------------------------------------------------------------------------

    def _step(
        self, name: str, act: Callable[[TrainingStep], Mapping[str, Any]], **request: Any
    ) -> TrainingStep:
        return TrainingStep(self.work / name, request, act)

    def adapted(self, who: Who) -> TrainingStep:
        """The encoder of the student or of the teachers after it has read the unlabelled texts."""
        recipe = self._adaptation(who)
        assert recipe is not None, "only what is adapted has this step"

        def act(step: TrainingStep) -> dict[str, Any]:
            encoder = load_encoder(self._first_encoder(who), recipe.length, self.site.device)
            with self.site.watching(f"adapting the {who}") as watch:
                stage = TrainingStage(step.checkpoint, watch)
                count = adapt(encoder, self.pool.to_adapt(), recipe, stage)
            save(encoder.model, encoder.tokenizer, step.folder / "encoder")
            return self.pool.facts | {f"{who}_stretches": count}

        return self._step(
            f"adapt-{who}",
            act,
            encoder=self._names[who],
            recipe=recipe.model_dump(),
            read=self._sources_with("repeat"),
            dev=self._data["dev"],
        )

    def teacher(self, seed: int) -> TrainingStep:
        """A teacher that has learned from the annotated passages."""
        recipe = self._teach
        return self._step(
            f"teacher-{seed}",
            lambda step: self._learn(step, "teacher", recipe, seed, f"teaching {seed}"),
            recipe=recipe.model_dump(exclude={"seeds", "at_once"}),
            seed=seed,
            **self._learned_by("teacher", from_gold=True),
        )

    @property
    def teachers(self) -> list[TrainingStep]:
        return [self.teacher(seed) for seed in self._teach.seeds]

    @property
    def labelled(self) -> TrainingStep:
        """The windows that teachers have labelled, in parts that are kept one by one."""

        def act(step: TrainingStep) -> dict[str, Any]:
            texts = windows_to_label(
                self.pool, (passage.text for passage in self.train), self.settings.windows
            )
            kept, facts = self._windows_for_both(texts)
            parts = [(n // PART, kept[n : n + PART]) for n in range(0, len(kept), PART)]
            missing = [part for part in parts if not _part_file(step, part[0]).exists()]
            at_once = self._teach.at_once
            if at_once > 1 and len(missing) > 1:
                shares = [missing[first::at_once] for first in range(at_once)]
                jobs = [(self.settings, self.work, self.site.device, s) for s in shares if s]
                together(_label_elsewhere, jobs, at_once)
            elif missing:
                self.label_parts(missing)
            return self.pool.facts | facts

        cut = self._sources_with("sample", "words", "most", "least")
        return self._step(
            "windows",
            act,
            teachers=[teacher.identity for teacher in self.teachers],
            student=self._names["student"],
            recipe=self.settings.windows.model_dump(),
            cut=cut,
            data=self._data,
        )

    @property
    def distilled(self) -> TrainingStep:
        """The student after it has learned from the teachers."""
        recipe, seed = self.settings.distil, self.settings.seed
        assert recipe is not None, "without teachers there is nothing to distil"

        def act(step: TrainingStep) -> dict[str, Any]:
            files = sorted(self.labelled.folder.glob("part-*.npz"))
            examples = [example for file in files for example in load_examples(file)]
            return self._learn(step, "student", recipe, seed, "distilling", examples=examples)

        return self._step(
            "distil",
            act,
            windows=self.labelled.identity,
            recipe=recipe.model_dump(),
            seed=seed,
            **self._learned_by("student", from_gold=False),
        )

    @property
    def fitted(self) -> TrainingStep:
        """The student, as it is so far, after it has learned from annotated passages."""
        recipe, seed = self.settings.fit, self.settings.seed
        assert recipe is not None, "only what is fitted has this step"
        before = None if self.settings.distil is None else self.distilled
        return self._step(
            "fit",
            lambda step: self._learn(step, "student", recipe, seed, "fitting", source=before),
            before=None if before is None else before.identity,
            recipe=recipe.model_dump(),
            seed=seed,
            **self._learned_by("student", from_gold=True),
        )

    @property
    def student(self) -> TrainingStep:
        """The step that gives the reader."""
        return self.distilled if self.settings.fit is None else self.fitted

    def scores(self, name: str, who: Who, *steps: TrainingStep) -> Scores:
        """The dev scores of the readers of some steps, which answer as one; found out once."""

        def act(_: TrainingStep) -> Scores:
            encoder, models = self.readers(who, steps)
            reader = TorchReader(models, encoder.fast, encoder.device)
            return scores_of(evaluate_reader(reader, self.dev))

        scores = self._step(
            f"scores-{name.replace(' ', '-')}",
            act,
            readers=[step.identity for step in steps],
            dev=self._data["dev"],
            labels=self.settings.labels,
        ).run()
        figures = (f"{name} {score['value']:.3f}" for name, score in scores.items() if score)
        self.site.tell(f"{name}: {', '.join(figures)}")
        return scores

    def take_steps(self) -> tuple[dict[str, Scores], dict[str, Any]]:
        """Take all steps; the scores of each reader on the way, and facts on unlabelled texts."""
        settings = self.settings
        scores: dict[str, Scores] = {}
        facts: dict[str, Any] = {}
        if settings.adapt is not None:
            facts |= self.adapted("student").run()
        if settings.teach is not None:
            scores |= self._scores_of_teachers()
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

    def _scores_of_teachers(self) -> dict[str, Scores]:
        """Train all teachers; the scores of each, and of all of them as one."""
        if self.settings.adapt_teacher is not None:
            self.adapted("teacher").run()
        seeds, at_once = self._teach.seeds, self._teach.at_once
        missing = [seed for seed in seeds if not self.teacher(seed).is_done]
        if at_once > 1 and len(missing) > 1:
            self.site.tell(f"training {len(missing)} teachers, {at_once} at once")
            jobs = [(self.settings, self.work, self.site.device, seed) for seed in missing]
            together(_teach_elsewhere, jobs, at_once)
        scores: dict[str, Scores] = {}
        for seed in seeds:
            self.teacher(seed).run()
            scores[f"teacher {seed}"] = self.scores(
                f"teacher {seed}", "teacher", self.teacher(seed)
            )
        if len(seeds) > 1:
            scores["all teachers"] = self.scores("all teachers", "teacher", *self.teachers)
        return scores

    # --- how steps are done -----------------------------------------------------------------------

    @property
    def _teach(self) -> TeacherSettings:
        assert self.settings.teach is not None, "there are teachers only where they are taught"
        return self.settings.teach

    def _adaptation(self, who: Who) -> Adaptation | None:
        return self.settings.adapt if who == "student" else self.settings.adapt_teacher

    def _first_encoder(self, who: Who) -> str:
        return str(self.settings.encoder if who == "student" else self.settings.teacher)

    def encoder(self, who: Who, device: str | None = None) -> TorchEncoder:
        """What a student or teacher is built on: a folder, or a name on the hub."""
        is_adapted = self._adaptation(who) is not None
        name = str(self.adapted(who).folder / "encoder") if is_adapted else self._first_encoder(who)
        return load_encoder(name, self.settings.windows.tokens, device or self.site.device)

    def readers(
        self, who: Who, steps: Sequence[TrainingStep]
    ) -> tuple[TorchEncoder, list[JointReader]]:
        """The readers of some steps, and the encoder of one of them for its tokenizer."""
        models = []
        for step in steps:
            encoder = self.encoder(who)
            models.append(load_reader(encoder, self.settings.shape, step.folder))
        return encoder, models

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
        """Train a new reader, or that of `source`, on annotated passages or given examples."""
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
        student = self._tokenizing_student()
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

    def _tokenizing_student(self) -> TorchEncoder:
        return load_encoder(self.settings.encoder, self.settings.windows.tokens, "cpu")

    def label_parts(self, parts: Sequence[Part]) -> None:
        """Label some parts; each is a file afterwards."""
        teacher, readers = self.readers("teacher", self.teachers)
        student = self._tokenizing_student()
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


def together(act: Callable[..., object], jobs: Iterable[Sequence[Any]], most: int) -> None:
    """Do several jobs at the same time, each in a process of its own."""
    with ProcessPoolExecutor(most, mp_context=get_context("spawn")) as processes:
        for done in as_completed([processes.submit(act, *job) for job in jobs]):
            done.result()


def _teach_elsewhere(settings: ReaderSettings, work: Path, device: str | None, seed: int) -> None:
    ReaderTraining(settings, work, TrainingSite(device)).teacher(seed).run()


def _label_elsewhere(
    settings: ReaderSettings, work: Path, device: str | None, parts: Sequence[Part]
) -> None:
    ReaderTraining(settings, work, TrainingSite(device)).label_parts(parts)
