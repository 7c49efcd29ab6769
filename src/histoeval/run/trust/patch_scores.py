"""How much each patch of an image speaks for each claim: what a heatmap over the slide needs.

`DIR/evidence/00001_patches.npz` belongs to row 1: where its image lies as seen from DIR, the places
of the patches, and a row of cosines for each claim that was looked for. Cosines are those of the
first encoder, in ten-thousandths; patches and claims that it does not know are left out.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import OutputError
from histoeval.io.writing import make_folder, whole_file, writing_to
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage
from histoeval.pathgls.grounding.encoder import ImageTextEncoder
from histoeval.run.trust.case import Instruments, Verdict
from histoeval.run.trust.rows import EVIDENCE

FORMAT = 1
"""Of the files; another one is refused."""

UNIT = 10_000
"""Cosines are stored as whole numbers of this part."""

FIELDS = ("image", "encoder", "spots", "claims", "cosines")


class PatchScores(NamedTuple):
    """The patches of one image, and how much each speaks for the claims of one report."""

    image: str
    """Where the image lies, as seen from the folder of the run."""
    encoder: str
    spots: NDArray[np.int32]
    """A row for each patch: x, y, width and height in pixels of the finest level."""
    claims: NDArray[np.int32]
    """The claims that have scores, by their number in the grounding of the row."""
    cosines: NDArray[np.int16]
    """Claims by patches."""
    absolute: str = ""
    """Where the image lies on its machine, if the run was given an absolute path."""

    def shares(self, claim: int) -> NDArray[np.float64] | None:
        """For each patch from 0, least for this claim, to 1, most; None where nobody looked.

        The scale is that of this claim on this image: it shows where, not how much.
        """
        places = np.flatnonzero(self.claims == claim)
        if not len(places) or not len(self.spots):
            return None
        row = self.cosines[places[0]].astype(np.float64)
        low, high = row.min(), row.max()
        return (row - low) / (high - low) if high > low else np.full(len(row), 0.5)


def patches_file(folder: Path, row: int) -> Path:
    """Where a run in this folder keeps the scores of a row."""
    return folder / EVIDENCE / f"{row:05}_patches.npz"


def keep_patch_scores(verdict: Verdict, folder: Path, tools: Instruments) -> None:
    """Write the scores of a verdict into the folder of its run; nothing where it has no image."""
    if verdict.image is not None:
        scores = patch_scores(verdict, _seen_from(folder, verdict.image), tools)
        if verdict.image.is_absolute():
            scores = scores._replace(absolute=verdict.image.as_posix())
        write_patch_scores(patches_file(folder, verdict.row.row), scores)


def patch_scores(verdict: Verdict, image: str, tools: Instruments) -> PatchScores:
    """The scores of a verdict on an image; none where the image could not be looked at."""
    bag = verdict.bag
    if bag is None:
        nothing = np.zeros((0, 4), np.int32)
        return PatchScores(image, "", nothing, nothing[:, 0], np.zeros((0, 0), np.int16))
    supports = () if verdict.grounding is None else verdict.grounding.supports
    numbers = [number for number, each in enumerate(supports) if each.spot is not None]
    known = [number for number, reason in enumerate(bag.unknown) if reason is None]
    spots = [bag.spots[number] for number in known]
    rows = [(spot.x, spot.y, spot.width, spot.height) for spot in spots]
    return PatchScores(
        image,
        tools.eyes.identity.partition("@")[0],
        np.array(rows, np.int32).reshape(-1, 4),
        np.array(numbers, np.int32),
        _cosines(bag, known, tools.eyes, [supports[number].claim.phrase for number in numbers]),
    )


def write_patch_scores(path: Path, scores: PatchScores) -> None:
    """Write a file of scores, the same bytes for the same scores."""
    with writing_to(path.parent):
        make_folder(path.parent)
        with whole_file(path) as file:
            np.savez_compressed(file, format=np.int32(FORMAT), **scores._asdict())


def read_patch_scores(path: Path) -> PatchScores | None:
    """The scores of a row; None where the run kept none, as runs of earlier versions."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            if found["format"] != FORMAT:
                raise OutputError(
                    f"{path.name} was written by another version of histoeval; run the same "
                    "trust command again with --overwrite"
                )
            image, encoder, *arrays = (found[name] for name in FIELDS)
            absolute = str(found["absolute"]) if "absolute" in found else ""
            scores = PatchScores(str(image), str(encoder), *arrays)._replace(absolute=absolute)
            if not _fits(scores):
                raise ValueError("arrays of different lengths")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise OutputError(
            f"{path.name} cannot be read ({type(error).__name__}); run the same trust command "
            "again with --overwrite"
        ) from error
    return scores


def _fits(scores: PatchScores) -> bool:
    """Whether the arrays belong together."""
    patches, claims = len(scores.spots), len(scores.claims)
    shapes = scores.spots.shape, scores.claims.shape, scores.cosines.shape
    return shapes == ((patches, 4), (claims,), (claims, patches) if claims else shapes[2])


def _cosines(
    bag: EmbeddedImage, known: list[int], encoder: ImageTextEncoder, phrases: list[str]
) -> NDArray[np.int16]:
    if not phrases:
        return np.zeros((0, len(known)), np.int16)
    rows = encoder.texts(phrases).astype(np.float64)
    found = rows @ bag.vectors[known].astype(np.float64).T
    return np.asarray(np.rint(np.round(found, 8) * UNIT), np.int16)


def _seen_from(folder: Path, image: Path) -> str:
    """Relative, so that run and images can be moved together; absolute on another drive."""
    try:
        return Path(os.path.relpath(image.resolve(), folder.resolve())).as_posix()
    except ValueError:
        return image.resolve().as_posix()
