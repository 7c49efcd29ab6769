"""The steps of a reader's training: what each depends on, and where its outcome lies."""

from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.train.core.model_folder import TrainingStep, encoder_name, file_of, versions
from histoeval_research.train.hare_bench.config import read_passages
from histoeval_research.train.reader.config import ReaderSettings, UnlabelledSource
from histoeval_research.train.reader.unlabelled import UnlabelledTexts, read_pool

Who = Literal["student", "teacher"]

_HOW_READ = {"text", "id", "exclude_reports_of_dev"}


class TrainingPlan:
    """One training: its settings, its data read once, and its steps.

    A step depends on all that its outcome follows from and on nothing else: what comes later can
    be changed without it being run again.
    """

    def __init__(self, settings: ReaderSettings, work: Path, device: str | None) -> None:
        self.settings = settings
        self.work = work
        self.device = device

    @cached_property
    def train(self) -> list[AnnotatedPassage]:
        """The passages to learn from."""
        return read_passages(self.settings.train, self.settings.corpora)

    @cached_property
    def dev(self) -> list[AnnotatedPassage]:
        """The passages to be judged by."""
        return read_passages(self.settings.dev, self.settings.corpora)

    @cached_property
    def pool(self) -> UnlabelledTexts:
        """The unlabelled texts."""
        return read_pool(self.settings.unlabelled, self.dev)

    def encoder(self, who: Who) -> str:
        """What a student or teacher is built on: a folder, or a name on the hub."""
        if self._adaptation(who) is not None:
            return str(self.adapted(who).folder / "encoder")
        return self._first_encoder(who)

    def adapted(self, who: Who) -> TrainingStep:
        """Language adaptation."""
        settings = self._adaptation(who)
        assert settings is not None, "only what is adapted has this step"
        read = [
            self._read(source) | {"repeat": source.repeat} for source in self.settings.unlabelled
        ]
        return self._step(
            f"adapt-{who}",
            encoder=self._names[who],
            recipe=settings.model_dump(),
            read=read,
            dev=self._data["dev"],
        )

    def teacher(self, seed: int) -> TrainingStep:
        """One teacher."""
        teach = self.settings.teach
        assert teach is not None, "there are teachers only where they are taught"
        return self._step(
            f"teacher-{seed}",
            encoder=self._built_on("teacher"),
            recipe=teach.model_dump(exclude={"seeds", "at_once"}),
            seed=seed,
            **self._gold,
        )

    @property
    def teachers(self) -> list[TrainingStep]:
        """All teachers."""
        return [self.teacher(seed) for seed in self.settings.teach.seeds]  # type: ignore[union-attr]

    @property
    def labelled(self) -> TrainingStep:
        """The windows that teachers have labelled."""
        cut = [
            self._read(source) | source.model_dump(include={"sample", "words", "most", "least"})
            for source in self.settings.unlabelled
        ]
        return self._step(
            "windows",
            teachers=[teacher.identity for teacher in self.teachers],
            student=self._names["student"],
            recipe=self.settings.windows.model_dump(),
            cut=cut,
            data=self._data,
        )

    @property
    def distilled(self) -> TrainingStep:
        """The student after it has learned from the teachers."""
        assert self.settings.distil is not None, "without teachers there is nothing to distil"
        return self._step(
            "distil",
            windows=self.labelled.identity,
            recipe=self.settings.distil.model_dump(),
            **self._student,
        )

    @property
    def fitted(self) -> TrainingStep:
        """The student after it has learned from annotated passages."""
        assert self.settings.fit is not None, "only what is fitted has this step"
        before = None if self.settings.distil is None else self.distilled.identity
        return self._step(
            "fit",
            before=before,
            recipe=self.settings.fit.model_dump(),
            **(self._student | self._gold),
        )

    @property
    def student(self) -> TrainingStep:
        """The step that gives the reader."""
        return self.distilled if self.settings.fit is None else self.fitted

    def scored(self, name: str, *readers: TrainingStep) -> TrainingStep:
        """The scores of one reader, or of several that answer as one."""
        read = [reader.identity for reader in readers]
        return self._step(f"scores-{name}", readers=read, dev=self._data["dev"], **self._labels)

    @cached_property
    def request(self) -> dict[str, Any]:
        """What makes two trainings the same, without a word on where files lie."""
        left_out = ("train", "dev", "output", "work", "encoder", "teacher", "unlabelled")
        unsaid: dict[str, Any] = dict.fromkeys(left_out, True) | {"teach": {"at_once"}}
        sources = [
            self._read(source) | source.model_dump(mode="json", exclude={"file"} | _HOW_READ)
            for source in self.settings.unlabelled
        ]
        teacher = {} if self.settings.teacher is None else {"teacher": self._names["teacher"]}
        return {
            "task": "reader",
            "encoder": self._names["student"],
            **teacher,
            "settings": self.settings.model_dump(mode="json", exclude=unsaid, exclude_none=True)
            | {"notes": self.settings.notes},
            "data": self._data,
            "unlabelled": sources,
        }

    @cached_property
    def made_with(self) -> dict[str, str]:
        """The versions that numbers depend on."""
        return versions()

    def _step(self, name: str, **request: Any) -> TrainingStep:
        return TrainingStep(self.work / name, request)

    def _adaptation(self, who: Who) -> Any:
        return self.settings.adapt if who == "student" else self.settings.adapt_teacher

    def _first_encoder(self, who: Who) -> str:
        name = self.settings.encoder if who == "student" else self.settings.teacher
        assert name is not None, "teachers are asked for only where there is one"
        return name

    def _built_on(self, who: Who) -> Any:
        adapted = self._adaptation(who) is not None
        return self.adapted(who).identity if adapted else self._names[who]

    def _read(self, source: UnlabelledSource) -> dict[str, Any]:
        """A source by its content and how it is read."""
        return self._files[source.file] | source.model_dump(include=_HOW_READ)

    @cached_property
    def _names(self) -> dict[str, dict[str, str]]:
        encoders = {"student": self.settings.encoder, "teacher": self.settings.teacher}
        return {who: encoder_name(name) for who, name in encoders.items() if name is not None}

    @cached_property
    def _data(self) -> dict[str, dict[str, str]]:
        parts = {"train": self.settings.train, "dev": self.settings.dev}
        return {part: file_of(path) for part, path in parts.items()}

    @cached_property
    def _files(self) -> dict[Path, dict[str, str]]:
        return {source.file: file_of(source.file) for source in self.settings.unlabelled}

    @property
    def _labels(self) -> dict[str, Any]:
        return {"labels": self.settings.labels}

    @property
    def _head(self) -> dict[str, Any]:
        return {
            "shape": self.settings.shape.model_dump(),
            "weights": self.settings.weights.model_dump(),
        }

    @property
    def _gold(self) -> dict[str, Any]:
        """What learning from annotated passages depends on."""
        tokens = self.settings.windows.tokens
        return {"train": self._data["train"], "tokens": tokens, **self._labels, **self._head}

    @property
    def _student(self) -> dict[str, Any]:
        return {"encoder": self._built_on("student"), "seed": self.settings.seed} | self._head
