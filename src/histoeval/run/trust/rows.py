"""Files of trust: one line per report, written as it is finished, and the evidence beside it.

`DIR/trust.jsonl` has a row for each report, in the order of the input, with `trust.jsonl.meta.json`
beside it, which says what made them; `DIR/summary.json` sums up all rows, and
`DIR/evidence` holds pictures and what each patch says of each claim. The same command resumes a
stopped run.

`DIR/evidence/00001_patches.npz` belongs to row 1. It says how much each patch of its image speaks
for each claim, as a heatmap over the slide needs: where the image lies as seen from DIR, the places
of the patches, and a row of cosines for each claim that was looked for. Cosines are those of the
first encoder, in ten-thousandths; patches and claims that it does not know are left out.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from histoeval.errors import InputError, OutputError, Problem
from histoeval.io.finished_run import has_texts, read_texts
from histoeval.io.images import check_image, image_hash
from histoeval.io.store import RowStore
from histoeval.io.writing import make_folder, remove, whole_file, write_json, writing_to
from histoeval.pathgls.fusion import (
    Reason,
    Route,
    RoutedReport,
    found_beside,
    reasons_to_reject,
    reasons_to_review,
)
from histoeval.pathgls.policy.policy import DIMENSIONS, Policy
from histoeval.pathgls.results import CancerVerdict, Grounding, Logic, Share
from histoeval.report import Noun

if TYPE_CHECKING:
    from histoeval.pathgls.grounding.embedded_image import EmbeddedImage
    from histoeval.pathgls.grounding.encoder import ImageTextEncoder

ROWS, SUMMARY, EVIDENCE, PAGE = "trust.jsonl", "summary.json", "evidence", "report.html"


class MissingReason(Noun):
    dimension: str | None = None
    code: str
    message: str
    column: str | None = None

    @classmethod
    def of(cls, problem: Problem, dimension: str | None = None) -> MissingReason:
        return cls(
            dimension=dimension, code=problem.code, message=problem.message, column=problem.column
        )


class TrustRow(Noun):
    id: str
    row: int
    grounding: Share | None = None
    logic: Share | None = None
    stability: Share | None = None
    trust: Share | None = None
    route: Route
    # Agreement of the image with the report on malignancy; nothing else is deployed.
    cancer_check: CancerVerdict = "not_checked"
    evidence: dict[str, Any] = Field(default_factory=dict)
    errors: tuple[MissingReason, ...] = ()

    def line(self) -> bytes:
        content = self.model_dump(mode="json", exclude={"errors"})
        content["errors"] = [
            {"dimension": error.dimension} | error.model_dump(exclude_none=True)
            for error in self.errors
        ]
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


class Verdict(NamedTuple):
    row: TrustRow
    image: Path | None = None
    embedded: EmbeddedImage | None = None  # as the first encoder sees it
    grounding: Grounding | None = None


class TrustFolder(RowStore[TrustRow]):
    def __init__(self, folder: Path) -> None:
        if folder.is_file():
            raise OutputError(f"{folder} is a file; results need a folder")
        super().__init__(folder / ROWS, TrustRow.model_validate_json, verb="trust")
        self.folder = folder
        self.evidence = folder / EVIDENCE
        self.summary = folder / SUMMARY
        self.page = folder / PAGE

    def _prepare(self, request: Mapping[str, Any], *, overwrite: bool) -> None:
        super()._prepare(request, overwrite=overwrite)
        remove(self.summary)
        remove(self.page)

    def _written(self) -> Iterable[Path]:
        evidence_files = [
            *self.evidence.glob("[0-9]*_*.png"),
            *self.evidence.glob("[0-9]*_patches.npz"),
        ]
        return [*super()._written(), *evidence_files]

    def finish(self, summary: Mapping[str, Any]) -> None:
        super().finish({"rows": summary["rows"]})
        with writing_to(self.folder):
            write_json(self.summary, summary)


def policy_of(summary: Mapping[str, Any]) -> Policy:
    content = {key: value for key, value in summary["policy"].items() if key != "hash"}
    return Policy.model_validate(content)


def reasons_of(row: TrustRow, policy: Policy) -> Iterator[Reason]:
    if row.route == "deploy":
        return
    evidence = row.evidence
    grounding, logic = evidence.get("grounding"), evidence.get("logic")
    report = RoutedReport.of(
        {name: getattr(row, name) for name in DIMENSIONS},
        policy,
        **found_beside(
            None if grounding is None else Grounding.model_validate(grounding),
            None if logic is None else Logic.model_validate(logic),
        ),
    )
    ask = reasons_to_reject if row.route == "reject" else reasons_to_review
    yield from ask(report, policy)


# --- a run that is read again ---------------------------------------------------------------------

CHANGED = "the image file has changed since the run: places and scores may not fit it any more"


class CaseLine(NamedTuple):
    row: int
    id: str
    image: str | None
    route: str


class CaseImage(NamedTuple):
    """The image of a case, and whether it is the file that the run has seen."""

    path: Path
    changed: bool


class FinishedTrust:
    def __init__(self, folder: Path) -> None:
        if not (folder / ROWS).is_file():
            raise InputError(
                f"{folder} is no folder of `histoeval trust`: it has no {ROWS}; name the folder "
                "that was its --output"
            )
        self.folder = folder

    @cached_property
    def _lines(self) -> dict[int, tuple[CaseLine, int]]:
        by_row: dict[int, tuple[CaseLine, int]] = {}
        offset = 0
        with (self.folder / ROWS).open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.endswith(b"\n"):  # a run that goes on may just be writing the last one
                    try:
                        content = json.loads(line)
                        row, name = int(content["row"]), str(content["id"])
                        image, route = content["evidence"].get("image"), str(content["route"])
                    except (
                        ValueError,
                        KeyError,
                        TypeError,
                        AttributeError,
                        RecursionError,
                    ) as error:
                        raise _no_row(f"line {number}") from error
                    by_row[row] = CaseLine(row, name, image, route), offset
                offset += len(line)
        return by_row

    def cases(self) -> list[CaseLine]:
        return [case for case, _ in self._lines.values()]

    def __contains__(self, row: object) -> bool:
        return row in self._lines

    def row(self, number: int) -> TrustRow:
        with (self.folder / ROWS).open("rb") as lines:
            lines.seek(self._lines[number][1])
            line = lines.readline()
        try:
            row = TrustRow.model_validate_json(line)
            if (grounding := row.evidence.get("grounding")) is not None:
                Grounding.model_validate(grounding)
        except ValidationError as error:
            raise _no_row(f"the row {number}") from error
        return row

    def named(self, id_: str | None) -> int:
        """Return the row of the case with this id; without an id, of the only case."""
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
        """Read the text of a report; None if the run did not keep it."""
        if not has_texts(self.folder):
            return None
        for case, stored_texts in zip(self.cases(), read_texts(self.folder), strict=False):
            if case.row == number:
                text = stored_texts.get("report") if stored_texts.get("id") == case.id else None
                return text if isinstance(text, str) else None
        return None

    def scores(self, number: int) -> PatchScores | None:
        """Read the scores of each patch for each claim; None if the run did not keep them."""
        return read_patch_scores(patches_file(self.folder, number))

    def image(self, row: TrustRow, scores: PatchScores | None) -> CaseImage | Problem:
        """Find the image of a case: where it was, or of the same name and content near the run.

        Where it was is first seen from the run, for both may have been moved together.
        """
        name = row.evidence.get("image")
        if not isinstance(name, str):
            return Problem("no_image", "this case names no image")
        seen_hash = row.evidence.get("image_hash")
        known_paths = () if scores is None else filter(None, (scores.image, scores.absolute))
        for original in (self.folder / path for path in known_paths):
            if _is_there(original):
                return CaseImage(
                    original, seen_hash is not None and image_hash(original) != seen_hash
                )
        for nearby in (self.folder / name, self.folder.parent / name):
            if seen_hash is not None and _is_there(nearby) and image_hash(nearby) == seen_hash:
                return CaseImage(nearby, changed=False)
        if scores is None and seen_hash is None:
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


def _no_row(position: str) -> OutputError:
    return OutputError(
        f"{position} of {ROWS} is not a row of results: run the same trust command again with "
        "--overwrite"
    )


def _is_there(path: Path) -> bool:
    try:
        check_image(path)
    except InputError:
        return False
    return True


FORMAT = 1  # of the files; another one is refused
UNIT = 10_000  # cosines are stored as whole numbers of this part

FIELDS = ("image", "encoder", "spots", "claims", "cosines")


class PatchScores(NamedTuple):
    """The patches of one image, and how much each speaks for the claims of one report."""

    image: str  # where the image lies, as seen from the folder of the run
    encoder: str
    # A row for each patch: x, y, width and height in pixels of the finest level.
    spots: NDArray[np.int32]
    # The claims that have scores, by their number in the grounding of the row.
    claims: NDArray[np.int32]
    cosines: NDArray[np.int16]  # claims by patches
    absolute: str = ""  # where the image lies on its machine, if the run was given an absolute path

    def shares(self, claim: int) -> NDArray[np.float64] | None:
        """Scale each patch from 0, least for this claim, to 1, most; None if none was scored.

        The scale is that of this claim on this image: it shows where, not how much.
        """
        positions = np.flatnonzero(self.claims == claim)
        if not len(positions) or not len(self.spots):
            return None
        cosines = self.cosines[positions[0]].astype(np.float64)
        low, high = cosines.min(), cosines.max()
        return (cosines - low) / (high - low) if high > low else np.full(len(cosines), 0.5)


def patches_file(folder: Path, row: int) -> Path:
    return folder / EVIDENCE / f"{row:05}_patches.npz"


def keep_patch_scores(verdict: Verdict, folder: Path, encoders: Sequence[ImageTextEncoder]) -> None:
    """Write the scores of a verdict into the folder of its run; nothing where it has no image."""
    if verdict.image is None:
        return
    image, embedded = verdict.image.resolve(), verdict.embedded
    try:  # so that run and images can be moved together
        image_place = Path(os.path.relpath(image, folder.resolve())).as_posix()
    except ValueError:  # on another drive
        image_place = image.as_posix()
    absolute = verdict.image.as_posix() if verdict.image.is_absolute() else ""
    if embedded is None:
        spots = np.zeros((0, 4), np.int32)
        claims, cosines = spots[:, 0], np.zeros((0, 0), np.int16)
        scores = PatchScores(image_place, "", spots, claims, cosines, absolute)
    else:
        supports = () if verdict.grounding is None else verdict.grounding.supports
        claim_numbers = [
            number for number, support in enumerate(supports) if support.spot is not None
        ]
        patch_numbers = [number for number, reason in enumerate(embedded.unknown) if reason is None]
        known_spots = [embedded.spots[number] for number in patch_numbers]
        rows = [(spot.x, spot.y, spot.width, spot.height) for spot in known_spots]
        cosines = np.zeros((0, len(patch_numbers)), np.int16)
        if claim_numbers:
            phrases = encoders[0].texts([supports[number].claim.phrase for number in claim_numbers])
            similarities = (
                phrases.astype(np.float64) @ embedded.vectors[patch_numbers].astype(np.float64).T
            )
            cosines = np.asarray(np.rint(np.round(similarities, 8) * UNIT), np.int16)
        scores = PatchScores(
            image_place,
            encoders[0].identity.partition("@")[0],
            np.array(rows, np.int32).reshape(-1, 4),
            np.array(claim_numbers, np.int32),
            cosines,
            absolute,
        )
    write_patch_scores(patches_file(folder, verdict.row.row), scores)


def write_patch_scores(path: Path, scores: PatchScores) -> None:
    with writing_to(path.parent):
        make_folder(path.parent)
        with whole_file(path) as file:
            np.savez_compressed(file, format=np.int32(FORMAT), **scores._asdict())


def read_patch_scores(path: Path) -> PatchScores | None:
    """Read the scores of a row; None if the run kept none, as runs of earlier versions."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            if arrays["format"] != FORMAT:
                raise OutputError(
                    f"{path.name} was written by another version of histoeval; run the same "
                    "trust command again with --overwrite"
                )
            image, encoder, spots, claims, cosines = (arrays[name] for name in FIELDS)
            absolute = str(arrays["absolute"]) if "absolute" in arrays else ""
            patches, count = len(spots), len(claims)
            expected = (patches, 4), (count,), (count, patches) if count else cosines.shape
            if (spots.shape, claims.shape, cosines.shape) != expected:
                raise ValueError("arrays of different lengths")
            return PatchScores(str(image), str(encoder), spots, claims, cosines, absolute)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise OutputError(
            f"{path.name} cannot be read ({type(error).__name__}); run the same trust command "
            "again with --overwrite"
        ) from error
