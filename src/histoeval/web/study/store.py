"""Ratings on disk: one append-only file of JSON lines for each rater.

A line is on the disk before the browser is told that it is saved. Corrections and drafts are new
lines; the last one of a pair counts, and nothing is ever rewritten. The beginning of a line that a
killed server has left is dropped, and a line that was sent twice counts once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from histoeval.errors import HistoEvalError, OutputError
from histoeval.io.results import Key
from histoeval.io.row_files import drop_half_line
from histoeval.io.store import read_json
from histoeval.io.writing import file_mode, locked, make_folder, write_json, writing_to
from histoeval.report import Noun
from histoeval.web.study.plan import ExpertStudy
from histoeval.web.study.rating import ExpertRating

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)

RequestId = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{8,64}$")]


class ChangedElsewhere(HistoEvalError):  # noqa: N818 - reads better than ChangedElsewhereError
    """A pair was rated in another tab after this one was opened."""


class RatingLine(Noun):
    """One line of a rater's file: a rating that was saved, or a draft of one.

    `number` counts the lines of the file from 1; `request` is what the browser called the save.
    """

    number: int
    time: str
    request: RequestId
    id: str
    system: str
    is_draft: bool
    rating: ExpertRating

    @property
    def key(self) -> Key:
        """The pair that is rated."""
        return self.id, self.system


@dataclass
class RaterRatings:
    """What a rater has said so far: of each pair the last rating that was saved, and a draft.

    A draft counts only if it is newer than what was saved.
    """

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
        """The score of a pair, if one was saved."""
        line = self.saved.get(key)
        return None if line is None else line.rating.score

    def latest(self, key: Key) -> RatingLine | None:
        """What the page of a pair shows: a draft, or else what was saved."""
        return self.drafts.get(key) or self.saved.get(key)


def read_ratings(path: Path) -> RaterRatings:
    """The ratings of a file, without the half line that may be its last."""
    found = RaterRatings()
    content = path.read_bytes() if path.exists() else b""
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), start=1):
        try:
            read = RatingLine.model_validate_json(line)
        except ValidationError as error:
            raise OutputError(
                f"line {number} of {path} is not a rating: put back a copy of the file, or take "
                "the line out"
            ) from error
        found.take(read.model_copy(update={"number": number}))
    return found


class RaterStore:
    """The file of one rater, open for more ratings; threads may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        if path.exists():
            drop_half_line(path)
        self.ratings = read_ratings(path)

    def snapshot(self) -> RaterRatings:
        """The ratings as they are now, for those who go through them while more come in."""
        with self._lock:
            now = self.ratings
            return replace(
                now,
                saved=dict(now.saved),
                drafts=dict(now.drafts),
                requests=dict(now.requests),
                revisions=dict(now.revisions),
            )

    def append(
        self,
        key: Key,
        rating: ExpertRating,
        *,
        request: str,
        is_draft: bool,
        seen: Collection[str] = (),
    ) -> RatingLine:
        """Write a rating and return when it is on the disk; a known request changes nothing.

        `seen` are the requests for this pair that the page knows or has sent itself: if the last
        one is of another page, nothing is replaced that this one has not shown.
        """
        with self._lock:
            if (known := self.ratings.requests.get(request)) is not None:
                return known
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
                _append_durably(self._path, line.model_dump_json().encode() + b"\n")
            self.ratings.take(line)
            return line


def _append_durably(path: Path, line: bytes) -> None:
    """Append a line and wait for the disk; what could not be written whole is taken back."""
    is_new = not path.exists()
    file = os.open(path, _APPEND, file_mode())
    try:
        end = os.fstat(file).st_size
        try:
            left = memoryview(line)
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        except OSError:
            os.ftruncate(file, end)
            raise
    finally:
        os.close(file)
    if is_new and os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def ratings_of(study: ExpertStudy) -> dict[str, RaterRatings]:
    """What every rater has said so far, also while a server is running."""
    demand_same_study(study)
    return {rater: read_ratings(_file(study, rater)) for rater in study.file.raters}


@contextmanager
def opened_stores(study: ExpertStudy) -> Iterator[Mapping[str, RaterStore]]:
    """The files of all raters, for one server at a time."""
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
