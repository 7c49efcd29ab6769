"""Grounding: is there, for every claim of a report, a place on the image that supports it?

Equation (1) of PathGLS: the highest cosine between a claim and any patch, averaged over all claims.
Beside it, each claim's cosine is calibrated against decoys, claims of other organs and diseases,
and the mean of that is the value, since plain cosines cannot be compared between encoders.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import Problem
from histoeval.pathgls.grounding.claims import CLAIMED, Claims, sorted_claims
from histoeval.pathgls.grounding.decoys import FEWEST, UNMEASURED, Decoys, calibrated, standing
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage
from histoeval.pathgls.grounding.encoder import (
    Calibrated,
    CalibratedByKind,
    Centred,
    ClaimCalibration,
    ImageTextEncoder,
    unknown_phrases,
)
from histoeval.pathgls.results import Claim, Grounding, Support
from histoeval.report import EntityType

UNKNOWN = "grounding_unknown"
_DIGITS = 8
"""Of cosines; the last ones follow how many claims are multiplied at once."""

Cosines = NDArray[np.float64]
"""Claims by patches."""


def equation_1(cosines: Cosines) -> float:
    """For every claim the best patch, then the mean over claims."""
    if cosines.ndim != 2 or not cosines.size:
        raise ValueError(f"claims by patches are needed, not an array of shape {cosines.shape}")
    return float(cosines.max(axis=1).mean())


def ground(
    image: EmbeddedImage, claims: Sequence[Claim], encoder: ImageTextEncoder, decoys: Decoys
) -> Grounding | Problem:
    """How well an image supports the claims that a report asserts; or why that cannot be measured.

    Claims and patches that are out of the encoder's scope are listed with the reason and are not
    part of any mean.
    """
    parts = sorted_claims(claims)
    if (nothing := _nothing_to_ground(parts)) is not None:
        return nothing
    seen = [number for number, reason in enumerate(image.unknown) if reason is None]
    if not seen:
        return Problem(UNKNOWN, f"the image is not known to the encoder: {_usual(image.unknown)}")
    reasons = unknown_phrases(encoder, [claim.phrase for claim in parts.asserted])
    known = [claim for claim, reason in zip(parts.asserted, reasons, strict=True) if reason is None]
    if not known:
        return Problem(UNKNOWN, f"no claim is known to the encoder: {_usual(reasons)}")
    looking = _Looking(image, seen, encoder)
    scales = _scales(looking, claims, known, decoys)
    if isinstance(scales, Problem):
        return scales
    cosines = looking.cosines([claim.phrase for claim in known])
    found = iter(_supports(known, cosines, scales, looking))
    supports = tuple(
        next(found) if reason is None else Support(claim=claim, unknown=reason)
        for claim, reason in zip(parts.asserted, reasons, strict=True)
    )
    return Grounding(
        value=float(np.mean([each.value for each in supports if each.value is not None])),
        raw=equation_1(cosines),
        patches=len(seen),
        supports=supports,
        denied=parts.denied,
        notes=(*image.notes, *_notes(image, parts, len(known))),
        signature=_signature(encoder, decoys),
    )


class _Looking(NamedTuple):
    """The patches of an image that are in scope of an encoder, and the encoder."""

    image: EmbeddedImage
    seen: Sequence[int]
    encoder: ImageTextEncoder

    def cosines(self, phrases: Sequence[str]) -> Cosines:
        """Of each phrase with each of the patches."""
        patches = self.image.vectors[self.seen].astype(np.float64)
        rows = self.encoder.texts(phrases).astype(np.float64) @ patches.T
        return np.round(rows, _DIGITS)

    def known(self, phrases: Sequence[str]) -> list[str]:
        """The phrases that are in scope."""
        reasons = unknown_phrases(self.encoder, phrases)
        return [each for each, reason in zip(phrases, reasons, strict=True) if reason is None]

    def usual(self, phrases: Sequence[str]) -> NDArray[np.float64]:
        """The cosine that each phrase has with the mean of all images, where that is known."""
        if not isinstance(self.encoder, Centred):
            return np.zeros(len(phrases))
        centre = np.asarray(self.encoder.centre, np.float64)
        return np.round(self.encoder.texts(phrases).astype(np.float64) @ centre, _DIGITS)


def _nothing_to_ground(parts: Claims) -> Problem | None:
    if parts.asserted:
        return None
    if parts.uncertain:
        return Problem("nothing_asserted", "the report only denies or leaves open what it names")
    if parts.denied:
        return Problem(
            "only_denials", "the report only denies; what is absent cannot be shown by an image"
        )
    return Problem("no_claims", "the report makes no claim that could be seen in an image")


def _scales(
    looking: _Looking, claims: Sequence[Claim], known: Sequence[Claim], decoys: Decoys
) -> Mapping[EntityType, NDArray[np.float64]] | Problem:
    """For each kind of claim the best cosines of decoys.

    Where the encoder knows too few decoys of a kind, those of all kinds are taken.
    """
    scales = {}
    for kind in dict.fromkeys(claim.type for claim in known):
        phrases = looking.known(decoys.to(claims, kind))
        if len(phrases) < FEWEST:
            phrases = looking.known(decoys.to(claims))
        if len(phrases) < FEWEST:
            return Problem(
                UNKNOWN,
                f"only {len(phrases)} decoy claims are known to the encoder, and {FEWEST} are "
                "needed to calibrate its cosines",
            )
        scales[kind] = looking.cosines(phrases).max(axis=1) - looking.usual(phrases)
        if standing(0.0, scales[kind]) is None:
            return Problem(UNKNOWN, "the encoder gives all claims the same cosine")
    return scales


def _supports(
    known: Sequence[Claim],
    cosines: Cosines,
    scales: Mapping[EntityType, NDArray[np.float64]],
    looking: _Looking,
) -> Iterator[Support]:
    """Each claim with its best patch and its calibrated value."""
    usual = looking.usual([claim.phrase for claim in known])
    for claim, row, expected in zip(known, cosines, usual, strict=True):
        best = int(row.argmax())
        stands = standing(float(row[best] - expected), scales[claim.type])
        calibration = calibration_of(looking.encoder, claim.type)
        yield Support(
            claim=claim,
            cosine=float(row[best]),
            value=None if stands is None else calibrated(stands, calibration),
            spot=looking.image.spots[looking.seen[best]],
        )


def calibration_of(encoder: ImageTextEncoder, kind: EntityType) -> ClaimCalibration:
    """The measured curve of an encoder, for this kind of claim or for all; or the default."""
    kinds = encoder.calibrations if isinstance(encoder, CalibratedByKind) else {}
    measured = encoder.calibration if isinstance(encoder, Calibrated) else None
    return kinds.get(kind) or measured or UNMEASURED


def _signature(encoder: ImageTextEncoder, decoys: Decoys) -> str:
    """Everything that a grounding depends on beside image and report."""
    curves = [calibration_of(encoder, kind) for kind in CLAIMED]
    calibration = ";".join(f"{curve.slope:g},{curve.midpoint:g}" for curve in dict.fromkeys(curves))
    side = encoder.size
    return (
        f"grounding-1|{encoder.identity}|patch={side},stride={side}|{decoys.identity}"
        f"|calibration={calibration}"
    )


def _usual(reasons: Sequence[str | None]) -> str:
    """The reason that occurs most often, the first of equals."""
    return Counter(reason for reason in reasons if reason is not None).most_common(1)[0][0]


def _notes(image: EmbeddedImage, parts: Claims, known: int) -> Iterator[str]:
    outside = sum(reason is not None for reason in image.unknown)
    if outside:
        yield f"{outside} of {len(image.unknown)} patches are not known: {_usual(image.unknown)}"
    if known < len(parts.asserted):
        yield f"{len(parts.asserted) - known} of {len(parts.asserted)} claims are not known"
    if parts.uncertain:
        left = ", ".join(claim.phrase for claim in parts.uncertain)
        yield f"left open by the report and not grounded: {left}"
