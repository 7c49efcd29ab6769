"""The YAML file of `histoeval train reader`: what the joint reader learns from, and in which steps.

    adapt            the student's encoder reads unlabelled reports
    adapt_teacher    so does the teacher's
    teach            teachers learn from the annotated passages
    windows          teachers label windows of unlabelled reports
    distil           the student learns from what the teachers see there
    fit              the student learns from the annotated passages

What is skipped is not done; there must be `distil` or `fit`, else nothing is learned.
"""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from histoeval.io.settings_files import FilePath, ModelName
from histoeval.report import Noun
from histoeval_research.train.core.loop import Schedule
from histoeval_research.train.hare_bench.config import Corpora, Seeds
from histoeval_research.train.reader.language_adaptation import Adaptation
from histoeval_research.train.reader.model import LossWeights, ReaderShape

Count = Annotated[int, Field(ge=1)]


class UnlabelledSource(Noun):
    """A file of unlabelled texts. Settings of windows here are for this file alone."""

    file: FilePath
    text: str | None = None
    """The column of the texts; guessed when omitted, and so is `id`."""
    id: str | None = None
    exclude_reports_of_dev: bool = True
    """Whether a text with the id of a dev report is that report, and must be kept out."""
    repeat: Count = 1
    """How often language adaptation reads it."""
    sample: Count | None = None
    """How many of its texts are cut into windows; all when omitted."""
    words: Annotated[tuple[Count, ...], Field(min_length=1)] | None = None
    most: Count | None = None
    least: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, given: Any) -> Any:
        """A file without further settings."""
        return {"file": given} if isinstance(given, str) else given


class TeacherSettings(Schedule):
    """How teachers learn, and how many there are: one for each seed."""

    seeds: Seeds = (1,)
    at_once: Count = 1
    """How many are trained, and how many parts are labelled, at the same time on one device."""


class Windows(Noun):
    """How unlabelled reports are cut into what teachers label."""

    words: Annotated[tuple[Count, ...], Field(min_length=1)] = (60, 80, 100, 120)
    """The lengths of windows; each report is cut at one of them, drawn by chance."""
    most: Count = 6
    """Windows of one report."""
    least: Annotated[int, Field(ge=0)] = 15
    """Words of a window."""
    tokens: Annotated[int, Field(ge=16)] = 384
    """Longer windows are skipped; longer annotated passages are cut."""
    seed: int = 0


class ReaderSettings(Noun):
    """The YAML file of `histoeval train reader`."""

    train: FilePath
    dev: FilePath
    labels: dict[str, str | None] | None = None
    """What labels of the corpora mean that are not known, as in `Tumour: diagnosis`."""
    unlabelled: tuple[UnlabelledSource, ...] = ()
    encoder: ModelName
    """What the student begins with."""
    teacher: ModelName | None = None
    """What teachers begin with."""

    adapt: Adaptation | None = None
    adapt_teacher: Adaptation | None = None
    teach: TeacherSettings | None = None
    windows: Windows = Windows()
    distil: Schedule | None = None
    fit: Schedule | None = None

    shape: ReaderShape = ReaderShape()
    weights: LossWeights = LossWeights()
    seed: int = 1
    """Of the student; teachers have their own, and the steps before are not changed by it."""
    name: str = "reader"
    """What the reader is called in signatures."""
    output: FilePath | None = None
    work: FilePath | None = None
    """Where the outcome of each step is kept; beside the output when omitted."""
    notes: str = ""

    @property
    def corpora(self) -> Corpora:
        """What there is of annotation."""
        return Corpora(train=self.train, dev=self.dev, labels=self.labels)

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if reason := _contradiction(self):
            raise ValueError(reason)
        return self


def _contradiction(given: ReaderSettings) -> str | None:
    """Why some steps do not go together, human-readable; None if they do."""
    steps = {name for name in ("adapt_teacher", "teach", "distil") if getattr(given, name)}
    if given.teacher is None and steps:
        return (
            f"there is no teacher for {', '.join(sorted(steps))}: name its encoder with `teacher`"
        )
    if given.teacher is not None:
        lacking = [name for name in ("unlabelled", "teach", "distil") if not getattr(given, name)]
        if lacking:
            return (
                "a teacher labels unlabelled reports for the student, and for that "
                f"{', '.join(lacking)} must be given too"
            )
    if given.distil is None and given.fit is None:
        return "nothing is learned: give `fit`, or a `teacher` with `teach` and `distil`"
    if given.adapt is not None and not given.unlabelled:
        return "adapt reads unlabelled reports: name files with `unlabelled`"
    if given.unlabelled and given.adapt is None and given.teacher is None:
        return "no step reads the unlabelled reports: give `adapt` or a `teacher`, or leave them"
    return None
