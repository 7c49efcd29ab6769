"""Grounding: is there, for every claim of a report, a place on the image that supports it?

Equation (1) of PathGLS: the highest cosine between a claim and any patch, averaged over all claims.
Beside it, each claim's cosine is calibrated against decoys, claims of other organs and diseases,
and the mean of that is the value, since plain cosines cannot be compared between encoders.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import Problem
from histoeval.pathgls.grounding.behaviour import stated_behaviour
from histoeval.pathgls.grounding.claims import CLAIMED, Claims, sorted_claims
from histoeval.pathgls.grounding.decisions import Decisions, decisions_of, top_mean
from histoeval.pathgls.grounding.decoys import FEWEST, UNMEASURED, Decoys, calibrated, standing
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage
from histoeval.pathgls.grounding.encoder import (
    Calibrated,
    CalibratedByKind,
    Centred,
    ClaimCalibration,
    ImageTextEncoder,
    Vectors,
    unknown_phrases,
)
from histoeval.pathgls.grounding.verdicts import (
    UNSUPPORTED,
    UNVALIDATED,
    SpecimenOrgan,
    unknown_support,
)
from histoeval.pathgls.results import CancerCheck, Claim, Grounding, Support
from histoeval.report import EntityType

UNKNOWN = "grounding_unknown"
UNKNOWN_IMAGE = "the image is not known to the encoder"
UNKNOWN_CLAIMS = "no claim is known to the encoder"
"""How the two messages of that code begin."""
_DIGITS = 8
"""Of cosines; the last ones follow how many claims are multiplied at once."""

Cosines = NDArray[np.float64]
"""Claims by patches."""
Together = Callable[[Cosines], NDArray[np.float64]]
"""What claims have over all patches."""


def equation_1(cosines: Cosines) -> float:
    """For every claim the best patch, then the mean over claims."""
    if cosines.ndim != 2 or not cosines.size:
        raise ValueError(f"claims by patches are needed, not an array of shape {cosines.shape}")
    return float(cosines.max(axis=1).mean())


def ground(
    image: EmbeddedImage,
    claims: Sequence[Claim],
    encoder: ImageTextEncoder,
    decoys: Decoys,
    decisions: Decisions | None = None,
) -> Grounding | Problem:
    """How well an image supports the claims that a report asserts; or why that cannot be measured.

    Claims and patches that are out of the encoder's scope are listed with the reason and are not
    part of any mean. `decisions` are limits that were measured on a user's own cases; without them
    those of the encoder count.
    """
    parts = sorted_claims(claims)
    if (nothing := _nothing_to_ground(parts)) is not None:
        return nothing
    seen = [number for number, reason in enumerate(image.unknown) if reason is None]
    if not seen:
        return Problem(UNKNOWN, f"{UNKNOWN_IMAGE}: {_usual(image.unknown)}")
    looking = _Looking(image, seen, encoder)
    limits = decisions or decisions_of(encoder)
    organs = None if limits is None else SpecimenOrgan.of(looking.vectors, encoder, limits, parts)
    reasons = [
        reason or (None if organs is None else organs.unknown(claim))
        for claim, reason in zip(
            parts.asserted,
            unknown_phrases(encoder, [claim.phrase for claim in parts.asserted]),
            strict=True,
        )
    ]
    known = [claim for claim, reason in zip(parts.asserted, reasons, strict=True) if reason is None]
    if not known:
        return Problem(UNKNOWN, f"{UNKNOWN_CLAIMS}: {_usual(reasons)}")
    scales = _scales(looking, claims, known, decoys)
    if isinstance(scales, Problem):
        return scales
    cosines = looking.cosines([claim.phrase for claim in known])
    found = iter(_supports(known, cosines, scales, looking, organs))
    supports = tuple(
        next(found) if reason is None else unknown_support(claim, reason, limits)
        for claim, reason in zip(parts.asserted, reasons, strict=True)
    )
    values = [each.value for each in supports if each.value is not None]
    denial = None if organs is None else organs.behaviour.of_denial()
    value = float(np.mean(values if denial is None else [*values, denial.value]))
    verdict, why = (None, UNVALIDATED) if organs is None else organs.of_report(supports)
    if verdict is not None and verdict != "supported":
        value = min(value, UNSUPPORTED)
    unchecked = CancerCheck(stated=stated_behaviour(parts), verdict="not_checked", why=UNVALIDATED)
    return Grounding(
        value=value,
        raw=equation_1(cosines),
        patches=len(seen),
        supports=supports,
        verdict=verdict or "not_known",
        why=why,
        cancer=unchecked if organs is None else organs.cancer_check(),
        organ=None if organs is None else organs.seen(),
        denied=parts.denied,
        notes=(*image.notes, *_notes(image, parts, len(known))),
        signature=_signature(encoder, decoys, limits),
    )


class _Looking(NamedTuple):
    """The patches of an image that are in scope of an encoder, and the encoder."""

    image: EmbeddedImage
    seen: Sequence[int]
    encoder: ImageTextEncoder

    @property
    def vectors(self) -> Vectors:
        """Those of the patches."""
        return self.image.vectors[self.seen]

    def cosines(self, phrases: Sequence[str]) -> Cosines:
        """Of each phrase with each of the patches."""
        rows = self.encoder.texts(phrases).astype(np.float64) @ self.vectors.astype(np.float64).T
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


class _Scale(NamedTuple):
    """Decoys of one kind of claim, as an image shows them."""

    phrases: Sequence[str]
    cosines: Cosines
    usual: NDArray[np.float64]

    def heights(self, together: Together) -> NDArray[np.float64]:
        """The cosine of each over all patches, less what it has with any image."""
        return together(self.cosines) - self.usual


def _scales(
    looking: _Looking, claims: Sequence[Claim], known: Sequence[Claim], decoys: Decoys
) -> Mapping[EntityType, _Scale] | Problem:
    """For each kind of claim the decoys, with the same chances in the same patches.

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
        scale = _Scale(phrases, looking.cosines(phrases), looking.usual(phrases))
        if standing(0.0, scale.heights(_best)) is None:
            return Problem(UNKNOWN, "the encoder gives all claims the same cosine")
        scales[kind] = scale
    return scales


def _best(cosines: Cosines) -> NDArray[np.float64]:
    return np.asarray(cosines.max(axis=1), np.float64)


def _supports(
    known: Sequence[Claim],
    cosines: Cosines,
    scales: Mapping[EntityType, _Scale],
    looking: _Looking,
    organs: SpecimenOrgan | None,
) -> Iterator[Support]:
    """Each claim with its best patch, its calibrated value and, with limits, a verdict."""
    usual = looking.usual([claim.phrase for claim in known])
    together = _best if organs is None else top_mean
    heights = together(cosines) - usual
    for claim, row, own, height in zip(known, cosines, usual, heights, strict=True):
        scale = scales[claim.type]
        others = scale.heights(together)
        curve = calibration_of(looking.encoder, claim.type)
        needed = curve.midpoint if organs is None else organs.limits[claim.type].supported
        stands = standing(float(height), others)
        best, worst = (
            looking.image.spots[looking.seen[int(n)]] for n in (row.argmax(), row.argmin())
        )
        support = Support(
            claim=claim,
            cosine=float(row.max()),
            value=None if stands is None else calibrated(stands, curve),
            spot=best,
            against=worst,
            decoy=scale.phrases[int(others.argmax())],
            agreeing=_agreeing(row - own, others, needed),
        )
        if organs is None or stands is None:
            yield support
        else:
            yield support.model_copy(update=organs.judged(claim, stands, support))


def _agreeing(row: NDArray[np.float64], decoys: NDArray[np.float64], needed: float) -> int:
    """The patches in which a claim stands by itself as far above decoys as a verdict needs.

    Without limits that is where its value would be 0.5.
    """
    found = (standing(float(cosine), decoys) for cosine in row)
    return sum(each is not None and each >= needed for each in found)


def calibration_of(encoder: ImageTextEncoder, kind: EntityType) -> ClaimCalibration:
    """The measured curve of an encoder, for this kind of claim or for all; or the default."""
    kinds = encoder.calibrations if isinstance(encoder, CalibratedByKind) else {}
    measured = encoder.calibration if isinstance(encoder, Calibrated) else None
    return kinds.get(kind) or measured or UNMEASURED


def _signature(encoder: ImageTextEncoder, decoys: Decoys, limits: Decisions | None) -> str:
    """Everything that a grounding depends on beside image and report."""
    curves = [calibration_of(encoder, kind) for kind in CLAIMED]
    calibration = ";".join(f"{curve.slope:g},{curve.midpoint:g}" for curve in dict.fromkeys(curves))
    side = encoder.size
    return (
        f"grounding-2|{encoder.identity}|patch={side},stride={side}|{decoys.identity}"
        f"|calibration={calibration if limits is None else limits.identity}"
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
