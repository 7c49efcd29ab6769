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
from histoeval_research.train.hare_bench.config import Seeds

Count = Annotated[int, Field(ge=1)]


class UnlabelledSource(Noun):
    """A file of unlabelled texts. Settings of windows here are for this file alone."""

    file: FilePath
    text: str | None = None  # the column of the texts; guessed when omitted, and so is `id`
    id: str | None = None
    # Whether a text with the id of a dev report is that report, and must be kept out.
    exclude_reports_of_dev: bool = True
    repeat: Count = 1  # how often language adaptation reads it
    sample: Count | None = None  # how many of its texts are cut into windows; all when omitted
    words: Annotated[tuple[Count, ...], Field(min_length=1)] | None = None
    most: Count | None = None
    least: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, given: Any) -> Any:
        return {"file": given} if isinstance(given, str) else given


class Adaptation(Schedule):
    """How long to adapt, and how much to hide."""

    length: Annotated[int, Field(ge=8)] = 192  # tokens that are read at once
    # Share of the tokens to be guessed: of these, 80 % are masked and 10 % are exchanged.
    hidden: Annotated[float, Field(gt=0, lt=1)] = 0.2


class TeacherSettings(Schedule):
    """How teachers learn, and how many there are: one for each seed."""

    seeds: Seeds = (1,)
    # How many are trained, and how many parts are labelled, at the same time on one device.
    at_once: Count = 1


class Windows(Noun):
    # The lengths of windows; each report is cut at one of them, drawn by chance.
    words: Annotated[tuple[Count, ...], Field(min_length=1)] = (60, 80, 100, 120)
    most: Count = 6  # windows of one report
    least: Annotated[int, Field(ge=0)] = 15  # words of a window
    # Longer windows are skipped; longer annotated passages are cut.
    tokens: Annotated[int, Field(ge=16)] = 384
    seed: int = 0


class ReaderShape(Noun):
    width: int = 192
    layers: int = 2
    heads: int = 4
    dropout: float = 0.1


class LossWeights(Noun):
    tags: float = 1.0
    assertion: float = 0.5
    relations: float = 1.0


class ReaderSettings(Noun):
    """The YAML file of `histoeval train reader`."""

    train: FilePath
    dev: FilePath
    # What labels of the corpora mean that are not known, as in `Tumour: diagnosis`.
    labels: dict[str, str | None] | None = None
    unlabelled: tuple[UnlabelledSource, ...] = ()
    encoder: ModelName  # what the student begins with
    teacher: ModelName | None = None  # what teachers begin with

    adapt: Adaptation | None = None
    adapt_teacher: Adaptation | None = None
    teach: TeacherSettings | None = None
    windows: Windows = Windows()
    distil: Schedule | None = None
    fit: Schedule | None = None

    shape: ReaderShape = ReaderShape()
    weights: LossWeights = LossWeights()
    # Of the student; teachers have their own, and the steps before are not changed by it.
    seed: int = 1
    name: str = "reader"  # what the reader is called in signatures
    output: FilePath | None = None
    # Where the outcome of each step is kept; beside the output when omitted.
    work: FilePath | None = None
    notes: str = ""

    @model_validator(mode="after")
    def _steps_go_together(self) -> Self:
        def missing(*names: str) -> list[str]:
            return [name for name in names if not getattr(self, name)]

        of_teachers = ("adapt_teacher", "distil", "teach")
        steps = [name for name in of_teachers if name not in missing(*of_teachers)]
        if self.teacher is None and steps:
            raise ValueError(
                f"there is no teacher for {', '.join(steps)}: name its encoder with `teacher`"
            )
        if self.teacher and (lacking := missing("unlabelled", "teach", "distil")):
            raise ValueError(
                "a teacher labels unlabelled reports for the student, and for that "
                f"{', '.join(lacking)} must be given too"
            )
        if self.distil is None and self.fit is None:
            raise ValueError(
                "nothing is learned: give `fit`, or a `teacher` with `teach` and `distil`"
            )
        if self.adapt and not self.unlabelled:
            raise ValueError("adapt reads unlabelled reports: name files with `unlabelled`")
        if self.unlabelled and self.adapt is None and self.teacher is None:
            raise ValueError(
                "no step reads the unlabelled reports: give `adapt` or a `teacher`, or leave them"
            )
        return self
