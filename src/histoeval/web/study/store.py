"""Ratings of experts, stored in one file of JSON lines for each rater.

A line is reported as saved only when it is on the disk. Corrections and drafts are new lines; the
last one of a pair counts, and nothing is ever rewritten. The beginning of a line that a
killed server has left is dropped, and a line that was sent twice counts once.
"""

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from histoeval.concordance.evidence import ErrorKind, Severity
from histoeval.errors import HistoEvalError, InputError, OutputError
from histoeval.io.results import Key
from histoeval.io.row_files import drop_half_line
from histoeval.io.store import read_json
from histoeval.io.writing import locked, make_folder, write_json, writing_to
from histoeval.report import Noun
from histoeval.web.append_only import append_durably, read_json_lines
from histoeval.web.study.plan import ExpertStudy, StudyPair

LONGEST_COMMENT = 5_000
MOST_ERRORS = 200

RequestId = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{8,64}$")]


class MarkedSpan(Noun):
    start: Annotated[int, Field(ge=0)]
    end: int
    text: str = ""


class MarkedError(Noun):
    kind: ErrorKind
    severity: Severity
    reference: MarkedSpan | None = None
    candidate: MarkedSpan | None = None


class ExpertRating(Noun):
    score: float | None = None
    criteria: Mapping[str, int] = Field(default_factory=dict)
    errors: Annotated[tuple[MarkedError, ...], Field(max_length=MOST_ERRORS)] = ()
    comment: Annotated[str, Field(max_length=LONGEST_COMMENT)] = ""


def rating_of(content: Any, study: ExpertStudy, pair: StudyPair, *, is_draft: bool) -> ExpertRating:
    """Validate the rating that a browser has sent for a pair."""
    try:
        rating = ExpertRating.model_validate(content)
    except ValidationError as error:
        raise unusable(error) from error
    if rating.score is None and not is_draft:
        raise InputError("The score is missing.")
    if rating.score is not None and rating.score not in study.steps:
        raise InputError(f"{rating.score:g} is not a score of this study.")
    criteria = {criterion.name: criterion for criterion in study.criteria}
    for name, level in rating.criteria.items():
        if name not in criteria or level not in criteria[name].levels:
            raise InputError(f"{level} is not a step of {name!r}.")
    missing = [name for name in criteria if name not in rating.criteria]
    if missing and not is_draft:
        raise InputError(f"{spelt(missing[0])} is missing.")
    errors = []
    for marked in rating.errors:
        if marked.reference is None and marked.candidate is None:
            raise InputError("An error needs words that are marked in one of the reports.")
        spans = {
            "reference": _located(marked.reference, pair.reference),
            "candidate": _located(marked.candidate, pair.candidate),
        }
        errors.append(marked.model_copy(update=spans))
    return rating.model_copy(update={"errors": tuple(errors)})


def _located(span: MarkedSpan | None, text: str) -> MarkedSpan | None:
    """Return a mark with the words of the report at its position."""
    if span is None:
        return None
    if not span.start < span.end <= len(text):
        raise InputError("A mark lies outside of the report.")
    return MarkedSpan(start=span.start, end=span.end, text=text[span.start : span.end])


def unusable(error: ValidationError) -> InputError:
    fault = error.errors()[0]
    where = ".".join(map(str, fault["loc"])) or "what was sent"
    return InputError(f"{where}: {fault['msg'].lower()}")


def spelt(name: str) -> str:
    return name.replace("_", " ").capitalize()


class ChangedElsewhere(HistoEvalError):  # noqa: N818 - reads better than ChangedElsewhereError
    """A pair was rated in another tab after this one was opened."""


class RatingLine(Noun):
    """A saved rating or a draft; `number` counts lines, `request` is what the browser called it."""

    number: int
    time: str
    request: RequestId
    id: str
    system: str
    is_draft: bool
    rating: ExpertRating

    @property
    def key(self) -> Key:
        return self.id, self.system


@dataclass
class RaterRatings:
    """The last saved rating of each pair, and a draft if it is newer."""

    saved: dict[Key, RatingLine] = field(default_factory=dict)
    drafts: dict[Key, RatingLine] = field(default_factory=dict)
    requests: dict[str, RatingLine] = field(default_factory=dict)
    revisions: dict[Key, int] = field(default_factory=dict)
    last: int = 0

    def take(self, line: RatingLine) -> None:
        """Take a line in; one that was sent twice counts once."""
        self.last = line.number
        if line.request in self.requests:
            return
        self.requests[line.request] = line
        if line.is_draft:
            self.drafts[line.key] = line
            return
        self.saved[line.key] = line
        self.drafts.pop(line.key, None)
        self.revisions[line.key] = self.revisions.get(line.key, 0) + 1

    def score_of(self, key: Key) -> float | None:
        line = self.saved.get(key)
        return None if line is None else line.rating.score

    def latest(self, key: Key) -> RatingLine | None:
        """Return the line that the page of a pair shows: a draft, or else the saved rating."""
        return self.drafts.get(key) or self.saved.get(key)


def read_ratings(path: Path) -> RaterRatings:
    """Read the ratings of a file without a half line at its end."""
    ratings = RaterRatings()
    damage = "is not a rating: put back a copy of the file, or take the line out"
    for number, line in enumerate(read_json_lines(path, RatingLine, damage), start=1):
        ratings.take(line.model_copy(update={"number": number}))
    return ratings


class RaterStore:
    """The file of one rater, open for more ratings; threads may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        if path.exists():
            drop_half_line(path)
        self.ratings = read_ratings(path)

    def snapshot(self) -> RaterRatings:
        with self._lock:
            now = self.ratings
            dicts = ("saved", "drafts", "requests", "revisions")
            copies: dict[str, Any] = {name: dict(getattr(now, name)) for name in dicts}
            return replace(now, **copies)

    def append(
        self,
        key: Key,
        rating: ExpertRating,
        *,
        request: str,
        is_draft: bool,
        seen: Collection[str] = (),
    ) -> RatingLine:
        """Write a rating durably, unless the last one is of a request that is not in `seen`."""
        with self._lock:
            if (saved_line := self.ratings.requests.get(request)) is not None:
                return saved_line
            before = self.ratings.latest(key)
            if before is not None and before.request not in seen:
                raise ChangedElsewhere(
                    "This pair was changed in another tab or window. Reload the page to see it, "
                    "or save again to replace it."
                )
            line = RatingLine(
                number=self.ratings.last + 1,
                time=datetime.now(UTC).isoformat(timespec="seconds"),
                request=request,
                id=key[0],
                system=key[1],
                is_draft=is_draft,
                rating=rating,
            )
            with writing_to(self._path.parent):
                append_durably(self._path, line.model_dump_json().encode() + b"\n")
            self.ratings.take(line)
            return line


def ratings_of(study: ExpertStudy) -> dict[str, RaterRatings]:
    """Read the ratings of every rater so far, also while a server is running."""
    demand_same_study(study)
    return {rater: read_ratings(_file(study, rater)) for rater in study.file.raters}


@contextmanager
def opened_stores(study: ExpertStudy) -> Iterator[Mapping[str, RaterStore]]:
    """Open the files of all raters, for one server at a time."""
    folder = study.folder
    with writing_to(folder):
        make_folder(folder / "ratings")
    with locked(folder / ".lock", folder, "stop that server first"):
        demand_same_study(study)
        with writing_to(folder):
            write_json(folder / "study.json", study.identity())
            stores = {rater: RaterStore(_file(study, rater)) for rater in study.file.raters}
        yield stores


def demand_same_study(study: ExpertStudy) -> None:
    """Refuse a plan that no longer fits the ratings that there are."""
    folder = study.folder
    rated = {path.stem for path in (folder / "ratings").glob("*.jsonl") if path.stat().st_size}
    if left_out := sorted(rated - set(study.file.raters)):
        raise OutputError(
            f"{folder} has ratings of {', '.join(left_out)}, whom the study no longer names: put "
            "the name back under raters, or give another output"
        )
    if not rated or not (folder / "study.json").exists():
        return
    before, now = read_json(folder / "study.json", folder), study.identity()
    if different := sorted(name for name in now if before.get(name) != now[name]):
        raise OutputError(
            f"{folder} has ratings of another study (different: {', '.join(different)}): undo the "
            "change, or give another output"
        )


def _file(study: ExpertStudy, rater: str) -> Path:
    return study.folder / "ratings" / f"{rater}.jsonl"
