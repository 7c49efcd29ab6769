"""What reviewers decided on reports of a trust run, kept beside it and only ever added to.

`DIR/reviews.jsonl` has a line for each decision. It is on disk before a page says that it is; the
last decision on a report counts, and those before it stay.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Literal, get_args

from pydantic import ValidationError

from histoeval.errors import OutputError
from histoeval.io.row_files import drop_half_line
from histoeval.io.writing import file_mode, writing_to
from histoeval.report import Noun

REVIEWS = "reviews.jsonl"
MAX_COMMENT = 4_000

Decision = Literal["accept", "send_back", "reopen"]
DECISIONS: tuple[str, ...] = get_args(Decision)

_lock = Lock()


class Review(Noun):
    """A decision on one report: by whom, why, and when (UTC)."""

    row: int
    id: str
    decision: Decision
    comment: str = ""
    reviewer: str = ""
    time: str


def add_review(
    folder: Path, row: int, name: str, decision: Decision, reviewer: str, comment: str = ""
) -> Review:
    """Write a decision; when this returns, it is on the disk."""
    review = Review(
        row=row,
        id=name,
        decision=decision,
        comment=comment,
        reviewer=reviewer,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    line = json.dumps(review.model_dump(mode="json"), ensure_ascii=False)
    path = folder / REVIEWS
    with _lock, writing_to(folder):
        if path.exists():
            drop_half_line(path)
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, file_mode())
        try:
            left = memoryview(f"{line}\n".encode("utf-8", "backslashreplace"))
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        finally:
            os.close(file)
    return review


def read_reviews(folder: Path) -> dict[int, list[Review]]:
    """All decisions by row, the last one last; half a line at the end is none."""
    path = folder / REVIEWS
    if not path.exists():
        return {}
    found: dict[int, list[Review]] = {}
    *lines, _ = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        try:
            review = Review.model_validate_json(line)
        except ValidationError as error:
            raise OutputError(
                f"line {number} of {path} is no review; mend it or move the file away"
            ) from error
        found.setdefault(review.row, []).append(review)
    return found
