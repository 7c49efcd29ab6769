"""Grounding: is there, for every claim of a report, a place on the image that supports it?

Equation (1) of PathGLS: the highest cosine between a claim and any patch, averaged over all claims.
Beside it, each claim's cosine is calibrated against decoys, claims of other organs and diseases,
and the mean of that is the value, since plain cosines cannot be compared between encoders.

Several encoders are a panel: each grounds by itself, and the majority of those that know decides. A
panel never takes the best of several opinions, which would vouch for more than each of its encoders
does. A claim reaches a value, or a verdict, only where more than half of the encoders that know it
reach it; two encoders must agree. Who knows a claim and cannot decide has a vote, which is neither
for it nor against it: otherwise each further encoder would be one more chance to vouch.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import Problem
from histoeval.pathgls.grounding.claims import CLAIMED, Claims, sorted_claims
from histoeval.pathgls.grounding.decisions import Decisions, decisions_of, top_mean
from histoeval.pathgls.grounding.decoys import FEWEST, UNMEASURED, Decoys, calibrated, standing
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage
from histoeval.pathgls.grounding.encoder import (
    ClaimCalibration,
    ImageTextEncoder,
    Vectors,
    why_unknown,
)
from histoeval.pathgls.grounding.verdicts import (
    UNSUPPORTED,
    UNVALIDATED,
    SpecimenVerdicts,
    stated_behaviour,
)
from histoeval.pathgls.results import CancerCheck, Claim, Grounding, GroundingVerdict, Spot, Support
from histoeval.report import EntityType

UNKNOWN = "grounding_unknown"
UNKNOWN_IMAGE = "the image is not known to the encoder"
UNKNOWN_CLAIMS = "no claim is known to the encoder"  # how the two messages of that code begin
_DIGITS = 8  # of cosines; the last ones follow how many claims are multiplied at once

Cosines = NDArray[np.float64]  # claims by patches
Together = Callable[[Cosines], NDArray[np.float64]]  # what claims have over all patches


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
    """Measure how well an image supports what a report asserts; or say why it cannot be measured.

    Claims and patches that are out of the encoder's scope are listed with the reason and are not
    part of any mean. `decisions` are limits that were measured on a user's own cases; without them
    those of the encoder count.
    """
    parts = sorted_claims(claims)
    if not parts.asserted:
        if parts.uncertain:
            explanation = "the report only denies or leaves open what it names"
            return Problem("nothing_asserted", explanation)
        if parts.denied:
            explanation = "the report only denies; what is absent cannot be shown by an image"
            return Problem("only_denials", explanation)
        return Problem("no_claims", "the report makes no claim that could be seen in an image")
    known_patches = [number for number, reason in enumerate(image.unknown) if reason is None]
    if not known_patches:
        return Problem(UNKNOWN, f"{UNKNOWN_IMAGE}: {_usual(image.unknown)}")
    patches = _Patches(
        image.vectors[known_patches], [image.spots[number] for number in known_patches], encoder
    )
    limits = decisions or decisions_of(encoder)
    specimen = (
        None if limits is None else SpecimenVerdicts.of(patches.vectors, encoder, limits, parts)
    )
    out_of_scope = why_unknown(encoder, "phrases", [claim.phrase for claim in parts.asserted])
    reasons = [
        reason or (None if specimen is None else specimen.unknown(claim))
        for claim, reason in zip(parts.asserted, out_of_scope, strict=True)
    ]
    known_claims = [
        claim for claim, reason in zip(parts.asserted, reasons, strict=True) if reason is None
    ]
    if not known_claims:
        return Problem(UNKNOWN, f"{UNKNOWN_CLAIMS}: {_usual(reasons)}")
    scales = _scales(patches, claims, known_claims, decoys)
    if isinstance(scales, Problem):
        return scales
    compared = patches.compared([claim.phrase for claim in known_claims])
    judged = _supports(known_claims, compared, scales, patches, specimen)
    unknown = None if limits is None else "not_known"
    supports = tuple(
        next(judged)
        if reason is None
        else Support(claim=claim, unknown=reason, verdict=unknown, why=reason)
        for claim, reason in zip(parts.asserted, reasons, strict=True)
    )
    values = [support.value for support in supports if support.value is not None]
    if specimen is None:
        stated = stated_behaviour(parts)
        cancer = CancerCheck(stated=stated, verdict="not_checked", why=UNVALIDATED)
        verdict, explanation, value = None, UNVALIDATED, float(np.mean(values))
    else:
        cancer, (verdict, explanation) = specimen.cancer_check(), specimen.of_report(supports)
        denial = specimen.denial()
        value = float(np.mean(values if denial is None else [*values, denial.value]))
        value = value if verdict == "supported" else min(value, UNSUPPORTED)
    return Grounding(
        value=value,
        raw=equation_1(compared.cosines),
        patches=len(known_patches),
        supports=supports,
        verdict=verdict or "not_known",
        why=explanation,
        cancer=cancer,
        organ=None if specimen is None else specimen.seen(),
        denied=parts.denied,
        notes=(*image.notes, *_notes(image, parts, len(known_claims))),
        signature=_signature(encoder, decoys, limits),
    )


class _Compared(NamedTuple):
    phrases: Sequence[str]
    cosines: Cosines
    # The cosine of each with the mean of all images, where that is known
    usual: NDArray[np.float64]

    def heights(self, together: Together) -> NDArray[np.float64]:
        """The cosine of each over all patches, less what it has with any image."""
        return together(self.cosines) - self.usual


class _Patches(NamedTuple):
    vectors: Vectors
    spots: Sequence[Spot]
    encoder: ImageTextEncoder

    def compared(self, phrases: Sequence[str]) -> _Compared:
        vectors = self.encoder.texts(phrases).astype(np.float64)
        centre = getattr(self.encoder, "centre", None)
        usual = np.zeros(len(phrases))
        if centre is not None:
            usual = np.round(vectors @ np.asarray(centre, np.float64), _DIGITS)
        cosines = np.round(vectors @ self.vectors.astype(np.float64).T, _DIGITS)
        return _Compared(phrases, cosines, usual)

    def known(self, phrases: Sequence[str]) -> list[str]:
        reasons = why_unknown(self.encoder, "phrases", phrases)
        return [phrase for phrase, reason in zip(phrases, reasons, strict=True) if reason is None]


def _scales(
    patches: _Patches, claims: Sequence[Claim], known_claims: Sequence[Claim], decoys: Decoys
) -> Mapping[EntityType, _Compared] | Problem:
    """For each kind of claim its decoys; those of all kinds where too few of it are known."""
    scales = {}
    for kind in dict.fromkeys(claim.type for claim in known_claims):
        phrases = patches.known(decoys.to(claims, kind))
        if len(phrases) < FEWEST:
            phrases = patches.known(decoys.to(claims))
        if len(phrases) < FEWEST:
            return Problem(
                UNKNOWN,
                f"only {len(phrases)} decoy claims are known to the encoder, and {FEWEST} are "
                "needed to calibrate its cosines",
            )
        scales[kind] = patches.compared(phrases)
        if standing(0.0, scales[kind].heights(_best)) is None:
            return Problem(UNKNOWN, "the encoder gives all claims the same cosine")
    return scales


def _best(cosines: Cosines) -> NDArray[np.float64]:
    return np.asarray(cosines.max(axis=1), np.float64)


def _supports(
    known_claims: Sequence[Claim],
    compared: _Compared,
    scales: Mapping[EntityType, _Compared],
    patches: _Patches,
    specimen: SpecimenVerdicts | None,
) -> Iterator[Support]:
    pool = _best if specimen is None else top_mean
    heights = compared.heights(pool)
    rows = zip(known_claims, compared.cosines, compared.usual, heights, strict=True)
    for claim, row, usual, height in rows:
        scale = scales[claim.type]
        decoy_heights = scale.heights(pool)
        curve = calibration_of(patches.encoder, claim.type)
        needed = curve.midpoint if specimen is None else specimen.limits[claim.type].supported
        stands = standing(float(height), decoy_heights)
        by_patch = (standing(float(cosine), decoy_heights) for cosine in row - usual)
        support = Support(
            claim=claim,
            cosine=float(row.max()),
            value=None if stands is None else calibrated(stands, curve),
            spot=patches.spots[int(row.argmax())],
            against=patches.spots[int(row.argmin())],
            decoy=scale.phrases[int(decoy_heights.argmax())],
            agreeing=sum(score is not None and score >= needed for score in by_patch),
        )
        if specimen is None or stands is None:
            yield support
        else:
            yield specimen.judged(support, stands)


def calibration_of(encoder: ImageTextEncoder, kind: EntityType) -> ClaimCalibration:
    of_kinds: Mapping[EntityType, ClaimCalibration] = getattr(encoder, "calibrations", {})
    measured: ClaimCalibration | None = getattr(encoder, "calibration", None)
    return of_kinds.get(kind) or measured or UNMEASURED


def _signature(encoder: ImageTextEncoder, decoys: Decoys, limits: Decisions | None) -> str:
    curves = [calibration_of(encoder, kind) for kind in CLAIMED]
    calibration = ";".join(f"{curve.slope:g},{curve.midpoint:g}" for curve in dict.fromkeys(curves))
    patch = f"patch={encoder.size},stride={encoder.size}"
    measured = calibration if limits is None else limits.identity
    return f"grounding-2|{encoder.identity}|{patch}|{decoys.identity}|calibration={measured}"


def _usual(reasons: Sequence[str | None]) -> str:
    """The commonest reason, the first of equals."""
    return Counter(reason for reason in reasons if reason is not None).most_common(1)[0][0]


def _notes(image: EmbeddedImage, parts: Claims, known: int) -> Iterator[str]:
    unknown = sum(reason is not None for reason in image.unknown)
    if unknown:
        yield f"{unknown} of {len(image.unknown)} patches are not known: {_usual(image.unknown)}"
    if known < len(parts.asserted):
        yield f"{len(parts.asserted) - known} of {len(parts.asserted)} claims are not known"
    if parts.uncertain:
        open_claims = ", ".join(claim.phrase for claim in parts.uncertain)
        yield f"left open by the report and not grounded: {open_claims}"


# --- several encoders -----------------------------------------------------------------------------

SPLIT = "the encoders do not agree whether the tissue looks malignant"


class Opinion(NamedTuple):
    encoder: str  # its identity
    outcome: Grounding | Problem


def majority_value(values: Sequence[float | None]) -> float | None:
    """The highest value that more than half of those that have one reach.

    So the panel is at or above any threshold exactly where a majority is. None where nobody knows.
    """
    ranked = sorted((value for value in values if value is not None), reverse=True)
    return ranked[len(ranked) // 2] if ranked else None


def majority_verdict(verdicts: Sequence[GroundingVerdict | None]) -> GroundingVerdict | None:
    """The verdict of more than half of those that have a vote, else `not_known`.

    None stands for no vote: the claim is not known, or the encoder was never validated.
    """
    votes = Counter(verdict for verdict in verdicts if verdict is not None)
    if not votes:
        return None
    verdict, count = votes.most_common(1)[0]
    return verdict if count > votes.total() / 2 else "not_known"


def combine(opinions: Sequence[Opinion]) -> Grounding | Problem:
    """Combine a panel's groundings: each claim by the majority of the encoders that know it.

    The grounding of every encoder is kept beside it. Encoders that could not ground the report at
    all have no vote, and notes say why. Where none could, that is the problem of the panel.
    """
    if not opinions:
        raise ValueError("a panel needs an encoder")
    members = tuple(
        opinion.outcome for opinion in opinions if isinstance(opinion.outcome, Grounding)
    )
    if not members:
        return _problem(opinions)
    supports = tuple(
        _combined(claim_supports)
        for claim_supports in zip(*(m.supports for m in members), strict=True)
    )
    values = [support.value for support in supports if support.value is not None]
    if not values:
        return Problem(UNKNOWN, "no claim is known to any encoder of the panel")
    signatures = "|".join(
        f"[{outcome.signature if isinstance(outcome, Grounding) else f'{encoder}|no vote'}]"
        for encoder, outcome in opinions
    )
    verdicts = [member.verdict for member in members]
    organ_results = [member.organ for member in members if member.organ is not None]
    organs = Counter(organ.likeliest for organ in organ_results)
    verdict = majority_verdict(verdicts)
    return Grounding(
        value=float(np.mean(values)),
        raw=float(np.mean([member.raw for member in members])),
        patches=min(member.patches for member in members),
        supports=supports,
        verdict=verdict,
        why=_tally(verdicts, verdict),
        cancer=_cancer([member.cancer for member in members if member.cancer is not None]),
        organ=next(
            (o for o in organ_results if organs[o.likeliest] > len(organ_results) / 2), None
        ),
        denied=members[0].denied,
        notes=tuple(_panel_notes(opinions, supports)),
        signature=f"panel-1|majority|{signatures}",
        members=members,
    )


def panel_identity(encoders: Sequence[str]) -> str:
    return encoders[0] if len(encoders) == 1 else f"panel({' + '.join(encoders)})"


def _combined(supports: tuple[Support, ...]) -> Support:
    """One claim: value and verdict of the majority, places from the encoder whose value decides."""
    value = majority_value([support.value for support in supports])
    if value is None:
        reasons = dict.fromkeys(
            support.unknown for support in supports if support.unknown is not None
        )
        unknown = "; ".join(reasons) or None
        verdict = "not_known" if any(support.verdict for support in supports) else None
        claim = supports[0].claim
        return Support(claim=claim, unknown=unknown, verdict=verdict, why=unknown or "")
    votes = [None if support.value is None else support.verdict for support in supports]
    verdict = majority_verdict(votes)
    deciding = next(support for support in supports if support.value == value)
    changes = {"cosine": None, "verdict": verdict, "why": _tally(votes, verdict)}
    return deciding.model_copy(update=changes)


def _tally(votes: Sequence[GroundingVerdict | None], verdict: GroundingVerdict | None) -> str:
    """Votes of the encoders in plain words; nothing where none was validated."""
    if verdict is None:
        return ""
    count = Counter(vote for vote in votes if vote is not None)
    return (
        f"of {count.total()} encoders with a vote {count['supported']} support it, "
        f"{count['contradicted']} contradict it, {count['not_known']} cannot tell"
    )


def _cancer(checks: Sequence[CancerCheck]) -> CancerCheck | None:
    votes = [check for check in checks if check.verdict != "not_checked"]
    if not votes:
        return next(iter(checks), None)
    verdict, count = Counter(check.verdict for check in votes).most_common(1)[0]
    if count <= len(votes) / 2:
        return votes[0].model_copy(update={"verdict": "undecided", "why": SPLIT})
    return next(check for check in votes if check.verdict == verdict)


def _panel_notes(opinions: Sequence[Opinion], supports: Sequence[Support]) -> Iterator[str]:
    organs = {}
    for encoder, outcome in opinions:
        name = encoder.partition("@")[0]
        if isinstance(outcome, Problem):
            yield f"{name} has no vote: {outcome.message}"
            continue
        yield from (f"{name}: {note}" for note in outcome.notes)
        if outcome.organ is not None:
            organs[encoder] = outcome.organ.likeliest
    if len(set(organs.values())) > 1:
        listed = ", ".join(f"{name.partition('@')[0]} {organ}" for name, organ in organs.items())
        yield f"the encoders do not see the same organ: {listed}"
    if lost := sum(support.value is None for support in supports):
        yield f"{lost} of {len(supports)} claims are not known to any encoder of the panel"


def _problem(opinions: Sequence[Opinion]) -> Problem:
    problems = [(name, outcome) for name, outcome in opinions if isinstance(outcome, Problem)]
    if len({problem for _, problem in problems}) == 1:
        return problems[0][1]
    codes = {problem.code for _, problem in problems}
    reasons = "; ".join(
        f"{name.partition('@')[0]}: {problem.message}" for name, problem in problems
    )
    return Problem(codes.pop() if len(codes) == 1 else UNKNOWN, reasons)
