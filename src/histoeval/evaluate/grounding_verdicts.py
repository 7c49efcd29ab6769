"""What is said of true reports, of other diagnoses of the same organ, and of other organs.

Every report names an organ and a diagnosis, and is judged as a report in words is.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from histoeval.evaluate.grounding_images import JudgedImages
from histoeval.evaluate.grounding_scores import diagnoses_by_organ
from histoeval.evaluate.tile_labels import HE, LabelledTile
from histoeval.pathgls.grounding.behaviour import judge_behaviour, side_of
from histoeval.pathgls.grounding.decisions import (
    BehaviourSide,
    Decisions,
    Judgement,
    Limits,
    OrganMargin,
    alike,
)
from histoeval.pathgls.grounding.verdicts import judge_lesion, judge_organ, judge_report
from histoeval.pathgls.results import GroundingVerdict
from histoeval.report import EntityType

TRUE, FOREIGN, OTHER_DIAGNOSIS = "true", "foreign", "other diagnosis"
"""Kinds of reports: the right one, one of another organ, and one of this organ that is wrong."""

OTHER_BEHAVIOUR, SAME_BEHAVIOUR = "other behaviour", "same behaviour"
"""Another diagnosis of the organ: benign for malignant or the reverse, or not."""

KINDS_OF_REPORT = (TRUE, FOREIGN, OTHER_DIAGNOSIS)

TRUE_BEHAVIOUR, WRONG_BEHAVIOUR = "true behaviour", "wrong behaviour"
VERDICTS = ("supported", "not_known", "contradicted")
_DROPS = (
    (OTHER_DIAGNOSIS, "another diagnosis of the same organ"),
    (OTHER_BEHAVIOUR, "one of them of the other behaviour"),
    (SAME_BEHAVIOUR, "one of the same behaviour"),
    (FOREIGN, "another organ"),
)
_SIDES: tuple[BehaviourSide, ...] = ("benign", "malignant")

COMMONEST = "commonest organ"


class ReportOnImage(NamedTuple):
    """A report on an image: what kind of report it is, and what is said of it."""

    kind: str
    verdict: GroundingVerdict
    value: float | None
    """Missing where claims of diagnoses were never measured."""
    part: str | None = None
    """Of another diagnosis whether its behaviour is another, where both are known."""


def decided_figures(images: JudgedImages, decisions: Decisions) -> dict[str, float | int]:
    """How often reports of an organ and a diagnosis are supported, by kind of report.

    A foreign report is of another organ, with a diagnosis that images of that organ have. Only
    images of organs that the encoder can tell count as true. Beside it the share of the commonest
    of these organs.
    """
    reports = list(judged_reports(images, decisions))
    found: dict[str, float | int] = {}
    for kind in KINDS_OF_REPORT:
        found |= verdict_shares(kind, Counter(e.verdict for e in reports if e.kind == kind))
    for part in (OTHER_BEHAVIOUR, SAME_BEHAVIOUR):
        verdicts = Counter[str](each.verdict for each in reports if each.part == part)
        if verdicts:
            found |= verdict_shares(part, verdicts)
    found |= behaviour_shares(images, decisions)
    organs = Counter(t.organ for t in images.means.tiles if t.organ in decisions.organs)
    if organs:
        found[COMMONEST] = max(organs.values()) / organs.total()
    return found


def verdict_shares(
    kind: str, verdicts: Counter[str], of: str = "reports"
) -> dict[str, float | int]:
    """How many reports of a kind there are, or other things, and the share of each verdict."""
    found: dict[str, float | int] = {f"{kind} {of}": verdicts.total()}
    for verdict in VERDICTS:
        if verdicts:
            found[f"{kind}, {verdict}"] = verdicts[verdict] / verdicts.total()
    return found


def behaviour_shares(images: JudgedImages, decisions: Decisions) -> dict[str, float | int]:
    """What is said of the right behaviour and of the wrong one, in organs with limits for it."""
    verdicts: dict[str, Counter[str]] = {TRUE_BEHAVIOUR: Counter(), WRONG_BEHAVIOUR: Counter()}
    seen = _Malignancy(images, decisions)
    for row, tile in enumerate(images.means.tiles):
        for side in _SIDES:
            said = seen.judged(row, str(tile.organ), side)
            if tile.behaviour is not None and said is not None:
                kind = TRUE_BEHAVIOUR if side == tile.behaviour else WRONG_BEHAVIOUR
                verdicts[kind][said.verdict] += 1
    found: dict[str, float | int] = {}
    for kind, some in verdicts.items():
        if some:
            found |= verdict_shares(kind, some, "claims")
    return found


class _Malignancy:
    """How malignant images look, for each organ that has limits of behaviour."""

    def __init__(self, images: JudgedImages, decisions: Decisions) -> None:
        self._limits = [decisions.behaviour_limits(count) for count in images.patches.tolist()]
        organs = sorted({organ for some in self._limits for organ in some})
        self._scores = {organ: images.malignancy(organ) for organ in organs}

    def judged(self, row: int, organ: str, side: BehaviourSide | None) -> Judgement | None:
        """What an image says of a behaviour in an organ; nothing where that has no limits."""
        if side is None or organ not in self._limits[row]:
            return None
        score = float(self._scores[organ][row])
        return (
            judge_behaviour(score, side, self._limits[row][organ]) if np.isfinite(score) else None
        )


def judged_reports(images: JudgedImages, decisions: Decisions) -> Iterator[ReportOnImage]:
    """All reports on all images in H&E."""
    plain = images.organ_margins(decisions.organs)
    less = images.organ_margins(decisions.organs, decisions.handicaps)
    stands = images.standings()
    names = {e.name: n for n, e in enumerate(images.means.entries) if e.group == "concept"}
    diagnoses = diagnoses_by_organ(images.means)
    seen = _Malignancy(images, decisions)
    for row, tile in enumerate(images.means.tiles):
        limits = decisions.limits(int(images.patches[row]))
        if tile.organ is None or tile.stain_kind != HE:
            continue
        for place, organ in enumerate(decisions.organs):
            own = organ == tile.organ
            margin = OrganMargin(float(plain[row, place]), float(less[row, place]))
            if not np.isfinite(margin.plain) or (not own and alike(organ, tile.organ)):
                continue
            for concept in diagnoses.get(organ, ()):
                if own and tile.concept is None:
                    continue
                kind = FOREIGN if not own else TRUE if concept == tile.concept else OTHER_DIAGNOSIS
                height = float(stands[row, names[concept]])
                side = side_of(concept)
                said = judge_stated(margin, height, limits, side, seen.judged(row, organ, side))
                part = part_of(tile, concept) if kind == OTHER_DIAGNOSIS else None
                yield ReportOnImage(kind, *said, part)


def part_of(tile: LabelledTile, concept: str) -> str | None:
    """Whether a wrong diagnosis of a tile has its behaviour; nothing where that is not known."""
    side = side_of(concept)
    if side is None or tile.behaviour is None:
        return None
    return SAME_BEHAVIOUR if side == tile.behaviour else OTHER_BEHAVIOUR


def judge_stated(
    margin: OrganMargin,
    stands: float,
    limits: Limits,
    side: BehaviourSide | None,
    behaviour: Judgement | None = None,
) -> tuple[GroundingVerdict, float | None]:
    """A report that states a diagnosis of an organ, by how far both stand out: verdict, value."""
    if EntityType.DIAGNOSIS not in limits:
        return "not_known", None
    organ = judge_organ(margin, limits)
    lesion = judge_lesion(stands, limits[EntityType.DIAGNOSIS], [organ], behaviour)
    is_confirmed = side == "malignant" or (behaviour and behaviour.verdict) == "supported"
    return judge_report([], [lesion], organ, [organ], is_confirmed=is_confirmed), lesion.value


def decided_remarks(found: Mapping[str, Any]) -> Iterator[str]:
    """Lines on wrong diagnoses of the right organ, and on the commonest organ, by kind of image."""
    for name, figures in found.items():
        kind, _, images = name.partition(", ")
        if kind == "decided":
            parts = [*_remark_parts(figures)]
            if parts:
                yield f"{images}: {'; '.join(parts)}"


def _remark_parts(figures: Mapping[str, Any]) -> Iterator[str]:
    if COMMONEST in figures:
        yield f"the commonest organ has {figures[COMMONEST]:.0%} of them"
    if count := figures.get(f"{OTHER_DIAGNOSIS} reports"):
        share = figures[f"{OTHER_DIAGNOSIS}, supported"]
        yield f"another diagnosis of the same organ is supported in {share:.3f} of {count}"
    for kind, words in _DROPS:
        if (drop := figures.get(f"{kind}, drop")) is not None:
            yield f"{words} drops grounding by {drop:.0%}"
    for kind in (TRUE_BEHAVIOUR, WRONG_BEHAVIOUR):
        if count := figures.get(f"{kind} claims"):
            shares = ", ".join(
                f"{figures[f'{kind}, {verdict}']:.3f} {verdict.replace('_', ' ')}"
                for verdict in VERDICTS
            )
            yield f"the {kind} (benign or malignant) is {shares} of {count}"
