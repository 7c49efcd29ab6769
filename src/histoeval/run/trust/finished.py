"""A run of trust that is read again: its cases, their reports, images and patches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from pydantic import ValidationError

from histoeval.errors import InputError, OutputError, Problem
from histoeval.io.finished_run import has_texts, read_texts
from histoeval.io.images import check_image, image_hash
from histoeval.pathgls.results import Grounding
from histoeval.run.trust.patch_scores import PatchScores, patches_file, read_patch_scores
from histoeval.run.trust.rows import ROWS, TrustRow

CHANGED = "the image file has changed since the run: places and scores may not fit it any more"


class CaseLine(NamedTuple):
    """A case in a list: its row and id, the image that it names, and its verdict."""

    row: int
    id: str
    image: str | None
    route: str


class CaseImage(NamedTuple):
    """The image of a case, and whether it is the file that the run has seen."""

    path: Path
    changed: bool


class FinishedTrust:
    """The cases of a run, by the numbers of their rows."""

    def __init__(self, folder: Path) -> None:
        if not (folder / ROWS).is_file():
            raise InputError(
                f"{folder} is no folder of `histoeval trust`: it has no {ROWS}; name the folder "
                "that was its --output"
            )
        self.folder = folder

    @cached_property
    def _lines(self) -> dict[int, tuple[CaseLine, int]]:
        """Each case by its row, and where its line begins."""
        found: dict[int, tuple[CaseLine, int]] = {}
        offset = 0
        with (self.folder / ROWS).open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.endswith(b"\n"):  # a run that goes on may just be writing the last one
                    case = _case_line(line, number)
                    found[case.row] = case, offset
                offset += len(line)
        return found

    def cases(self) -> list[CaseLine]:
        """All cases, in the order of the input."""
        return [case for case, _ in self._lines.values()]

    def __contains__(self, row: object) -> bool:
        return row in self._lines

    def row(self, number: int) -> TrustRow:
        """All that was found about one case."""
        with (self.folder / ROWS).open("rb") as lines:
            lines.seek(self._lines[number][1])
            line = lines.readline()
        try:
            row = TrustRow.model_validate_json(line)
            if (found := row.evidence.get("grounding")) is not None:
                Grounding.model_validate(found)
        except ValidationError as error:
            raise _no_row(f"the row {number}") from error
        return row

    def named(self, id_: str | None) -> int:
        """The row of the case with this id; of the only case where no id is given."""
        cases = self.cases()
        fitting = [case.row for case in cases if id_ is None or case.id == id_]
        if len(fitting) == 1:
            return fitting[0]
        names = ", ".join(case.id for case in cases[:10]) + (", ..." if len(cases) > 10 else "")
        if id_ is None:
            raise InputError(
                f"{self.folder} holds {len(cases)} cases; name one of them with --case: {names}"
            )
        raise InputError(f"{self.folder} holds no case {id_!r}; there are: {names}")

    def report(self, number: int) -> str | None:
        """The text of a report; None where the run did not keep it."""
        if not has_texts(self.folder):
            return None
        for case, kept in zip(self.cases(), read_texts(self.folder), strict=False):
            if case.row == number:
                text = kept.get("report") if kept.get("id") == case.id else None
                return text if isinstance(text, str) else None
        return None

    def scores(self, number: int) -> PatchScores | None:
        """What each patch says of each claim; None where the run did not keep it."""
        return read_patch_scores(patches_file(self.folder, number))

    def image(self, row: TrustRow, scores: PatchScores | None) -> CaseImage | Problem:
        """The image of a case: where it was, or of the same name and content near the run.

        Where it was is first seen from the run, for both may have been moved together.
        """
        name = row.evidence.get("image")
        if not isinstance(name, str):
            return Problem("no_image", "this case names no image")
        seen = row.evidence.get("image_hash")
        known = () if scores is None else filter(None, (scores.image, scores.absolute))
        for there in (self.folder / path for path in known):
            if _is_there(there):
                return CaseImage(there, seen is not None and image_hash(there) != seen)
        for near in (self.folder / name, self.folder.parent / name):
            if seen is not None and _is_there(near) and image_hash(near) == seen:
                return CaseImage(near, changed=False)
        if scores is None and seen is None:
            return Problem(
                "missing_image",
                f"the image {PurePath(name).name} could not be read when this run was made. Run "
                "`histoeval trust` again with the folder that has it.",
            )
        return Problem(
            "image_moved",
            f"the image {PurePath(name).name} is not where it was when this run was made. Put the "
            "file back, or move the folder of the run and that of the images together; otherwise "
            "run `histoeval trust` again with the new folder of images.",
        )


def _case_line(line: bytes, number: int) -> CaseLine:
    try:
        content: Mapping[str, Any] = json.loads(line)
        image = content["evidence"].get("image")
        return CaseLine(int(content["row"]), str(content["id"]), image, str(content["route"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _no_row(f"line {number}") from error


def _no_row(place: str) -> OutputError:
    return OutputError(
        f"{place} of {ROWS} is not a row of results: run the same trust command again with "
        "--overwrite"
    )


def _is_there(path: Path) -> bool:
    try:
        check_image(path)
    except InputError:
        return False
    return True
