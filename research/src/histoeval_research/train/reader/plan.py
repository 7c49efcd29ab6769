"""The steps of a reader's training, what each depends on, and its unlabelled texts.

An unlabelled text is kept out when it is a dev report by its id, when it has a run of twelve words
in common with a dev passage, or when the shorter of the two stands whole in the other; case,
punctuation and line breaks do not count. A score on what was seen before, in whatever form, means
nothing.
"""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from histoeval.errors import InputError
from histoeval.io.reports import open_reports
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.train.core.model_folder import TrainingStep, encoder_name, file_of, versions
from histoeval_research.train.hare_bench.config import read_passages
from histoeval_research.train.reader.config import ReaderSettings, UnlabelledSource, Windows

RUN = 12
"""Words in a row that two texts have in common only when one was copied."""

TELLING = 5
"""Words that a short text must have before those are kept out that it is a part of."""

_WORD = re.compile(r"\S+")
_LETTERS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class UnlabelledTexts:
    """The texts of each source, how many were kept out of all, and how many could not be read."""

    sources: tuple[tuple[UnlabelledSource, tuple[str, ...]], ...]
    kept_out: int = 0
    unread: int = 0

    @property
    def size(self) -> int:
        """How many texts there are."""
        return sum(len(texts) for _, texts in self.sources)

    @property
    def facts(self) -> dict[str, int]:
        """The counts, for results."""
        return {"texts": self.size, "kept_out": self.kept_out, "unread": self.unread}

    def to_adapt(self) -> list[str]:
        """All texts, those of some sources several times."""
        return [text for source, texts in self.sources for text in texts * source.repeat]


def read_pool(
    sources: Sequence[UnlabelledSource], dev: Sequence[AnnotatedPassage]
) -> UnlabelledTexts:
    """The texts of all files that have nothing to do with dev passages."""
    reports = {passage.report_id for passage in dev}
    seen = KnownTexts(passage.text for passage in dev)
    found = []
    kept_out = unread = 0
    for source in sources:
        texts = []
        for row in open_reports(source.file, text=source.text, id_=source.id).rows():
            if row.text is None:
                unread += 1
            elif (source.exclude_reports_of_dev and row.id in reports) or row.text in seen:
                kept_out += 1
            else:
                texts.append(encodable(row.text))
        found.append((source, tuple(texts)))
    pool = UnlabelledTexts(tuple(found), kept_out, unread)
    if not pool.size:
        raise InputError(
            f"no unlabelled text is left: {kept_out:,} are also in dev, "
            f"{unread:,} could not be read"
        )
    return pool


class KnownTexts:
    """Texts that shall not be seen again, in whole or in part."""

    def __init__(self, texts: Iterable[str]) -> None:
        plain = [_plain(text) for text in texts]
        self._runs = {run for text in plain for run in _runs(text)}
        self._short = [text for text in plain if TELLING <= len(text.split()) < RUN]
        self._whole = "|".join(plain)

    def __contains__(self, text: str) -> bool:
        plain = _plain(text)
        return (
            plain in self._whole
            or any(short in plain for short in self._short)
            or not self._runs.isdisjoint(_runs(plain))
        )


def _plain(text: str) -> str:
    """Letters and digits in small letters, one blank around every word."""
    return f" {' '.join(_LETTERS.findall(text.lower()))} "


def _runs(plain: str) -> set[str]:
    words = plain.split()
    return {" ".join(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


def encodable(text: str) -> str:
    """The text with a question mark for each half of a character, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode()


def windows_to_label(
    pool: UnlabelledTexts, annotated: Iterable[str], settings: Windows
) -> list[str]:
    """Windows of unlabelled texts, and annotated texts whole, in an order drawn by chance."""
    drawn = random.Random(settings.seed)
    found: list[str] = []
    for source, texts in pool.sources:
        lengths = source.words or settings.words
        most = settings.most if source.most is None else source.most
        least = settings.least if source.least is None else source.least
        some = texts
        if source.sample is not None:
            some = tuple(drawn.sample(texts, min(source.sample, len(texts))))
        for text in some:
            cut = windows_of(text, drawn.choice(lengths), least)
            found += drawn.sample(cut, min(most, len(cut)))
    found += map(encodable, annotated)
    drawn.shuffle(found)
    return found


def windows_of(text: str, length: int, least: int) -> list[str]:
    """Stretches of so many words, as they stand in the text; a rest that is too short is left."""
    words = list(_WORD.finditer(text))
    parts = [words[first : first + length] for first in range(0, len(words), length)]
    return [text[part[0].start() : part[-1].end()] for part in parts if len(part) >= least]


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
