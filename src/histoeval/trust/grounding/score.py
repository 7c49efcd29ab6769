"""Grounding: is there, for every claim of a report, a place on the image that bears it out?

Equation (1) of PathGLS: of the cosines between a claim and all patches the highest, and of these
the mean over all claims. Beside it, each claim's cosine is calibrated against claims foreign to the
image, and their mean is the value, since plain cosines cannot be compared between encoders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import Problem
from histoeval.report import EntityType
from histoeval.trust.grounding.claims import CLAIMED, Claims, sorted_claims
from histoeval.trust.grounding.decoys import FEWEST, UNMEASURED, Decoys, calibrated, standing
from histoeval.trust.grounding.embedded_image import EmbeddedImage
from histoeval.trust.grounding.encoder import (
    Calibrated,
    CalibratedByKind,
    Centred,
    ClaimCalibration,
    ImageTextEncoder,
    unknown_phrases,
)
from histoeval.trust.results import Claim, Grounding, Support

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
    bag: EmbeddedImage, claims: Sequence[Claim], encoder: ImageTextEncoder, foreign: Decoys
) -> Grounding | Problem:
    """How well an image bears out the claims that a report asserts; or why that cannot be told.

    Claims and patches that the encoder does not know are shown with the reason and are not part of
    any mean.
    """
    parts = sorted_claims(claims)
    if (nothing := _nothing_to_ground(parts)) is not None:
        return nothing
    seen = [number for number, reason in enumerate(bag.unknown) if reason is None]
    if not seen:
        return Problem(UNKNOWN, f"the image is not known to the encoder: {_usual(bag.unknown)}")
    reasons = unknown_phrases(encoder, [claim.phrase for claim in parts.asserted])
    known = [claim for claim, reason in zip(parts.asserted, reasons, strict=True) if reason is None]
    if not known:
        return Problem(UNKNOWN, f"no claim is known to the encoder: {_usual(reasons)}")
    looking = _Looking(bag, seen, encoder)
    scales = _scales(looking, claims, known, foreign)
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
        notes=(*bag.notes, *_notes(bag, parts, len(known))),
        signature=_signature(encoder, foreign),
    )


class _Looking(NamedTuple):
    """The patches of a bag that an encoder knows, and the encoder."""

    bag: EmbeddedImage
    seen: Sequence[int]
    encoder: ImageTextEncoder

    def cosines(self, phrases: Sequence[str]) -> Cosines:
        """Of each phrase with each of the patches."""
        patches = self.bag.vectors[self.seen].astype(np.float64)
        rows = self.encoder.texts(phrases).astype(np.float64) @ patches.T
        return np.round(rows, _DIGITS)

    def known(self, phrases: Sequence[str]) -> list[str]:
        """Those of the phrases that the encoder knows."""
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
    looking: _Looking, claims: Sequence[Claim], known: Sequence[Claim], foreign: Decoys
) -> Mapping[EntityType, NDArray[np.float64]] | Problem:
    """For each kind of claim the best cosines that claims foreign to the image come to.

    Where the encoder knows too few foreign claims of a kind, those of all kinds are taken.
    """
    scales = {}
    for kind in dict.fromkeys(claim.type for claim in known):
        phrases = looking.known(foreign.to(claims, kind))
        if len(phrases) < FEWEST:
            phrases = looking.known(foreign.to(claims))
        if len(phrases) < FEWEST:
            return Problem(
                UNKNOWN,
                f"only {len(phrases)} foreign claims are known to the encoder, and {FEWEST} are "
                "needed to tell how its cosines lie",
            )
        scales[kind] = looking.cosines(phrases).max(axis=1) - looking.usual(phrases)
        if standing(0.0, scales[kind]) is None:
            return Problem(UNKNOWN, "the encoder does not tell one claim from another")
    return scales


def _supports(
    known: Sequence[Claim],
    cosines: Cosines,
    scales: Mapping[EntityType, NDArray[np.float64]],
    looking: _Looking,
) -> Iterator[Support]:
    """Each claim with its best patch, and with what its cosine is worth."""
    usual = looking.usual([claim.phrase for claim in known])
    for claim, row, expected in zip(known, cosines, usual, strict=True):
        best = int(row.argmax())
        stands = standing(float(row[best] - expected), scales[claim.type])
        calibration = calibration_of(looking.encoder, claim.type)
        yield Support(
            claim=claim,
            cosine=float(row[best]),
            value=None if stands is None else calibrated(stands, calibration),
            spot=looking.bag.spots[looking.seen[best]],
        )


def calibration_of(encoder: ImageTextEncoder, kind: EntityType) -> ClaimCalibration:
    """What was measured for an encoder, for this kind of claim or for all; or the usual."""
    kinds = encoder.calibrations if isinstance(encoder, CalibratedByKind) else {}
    measured = encoder.calibration if isinstance(encoder, Calibrated) else None
    return kinds.get(kind) or measured or UNMEASURED


def _signature(encoder: ImageTextEncoder, foreign: Decoys) -> str:
    """Everything that a grounding depends on beside image and report."""
    curves = [calibration_of(encoder, kind) for kind in CLAIMED]
    told = ";".join(f"{curve.slope:g},{curve.midpoint:g}" for curve in dict.fromkeys(curves))
    side = encoder.size
    return (
        f"grounding-1|{encoder.identity}|patch={side},stride={side}|{foreign.identity}"
        f"|calibration={told}"
    )


def _usual(reasons: Sequence[str | None]) -> str:
    """The reason that is given most often, the first where several are."""
    return Counter(reason for reason in reasons if reason is not None).most_common(1)[0][0]


def _notes(bag: EmbeddedImage, parts: Claims, known: int) -> Iterator[str]:
    outside = sum(reason is not None for reason in bag.unknown)
    if outside:
        yield f"{outside} of {len(bag.unknown)} patches are not known: {_usual(bag.unknown)}"
    if known < len(parts.asserted):
        yield f"{len(parts.asserted) - known} of {len(parts.asserted)} claims are not known"
    if parts.uncertain:
        left = ", ".join(claim.phrase for claim in parts.uncertain)
        yield f"left open by the report and not grounded: {left}"
