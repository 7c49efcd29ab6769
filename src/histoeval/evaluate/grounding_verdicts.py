"""What is said of true reports, of other diagnoses of the same organ, and of other organs.

Every report names an organ and a diagnosis, and is judged as a report in words is.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from histoeval.evaluate.grounding_images import JudgedImages
from histoeval.evaluate.grounding_scores import diagnoses_by_organ
from histoeval.evaluate.tile_labels import HE
from histoeval.pathgls.grounding.decisions import Decisions, Limits, OrganMargin, alike
from histoeval.pathgls.grounding.verdicts import judge_lesion, judge_organ, judge_report
from histoeval.pathgls.results import GroundingVerdict
from histoeval.report import EntityType

TRUE, FOREIGN, OTHER_DIAGNOSIS = "true", "foreign", "other diagnosis"
"""Kinds of reports: the right one, one of another organ, and one of this organ that is wrong."""

KINDS_OF_REPORT = (TRUE, FOREIGN, OTHER_DIAGNOSIS)

COMMONEST = "commonest organ"


class ReportOnImage(NamedTuple):
    """A report on an image: what kind of report it is, and what is said of it."""

    kind: str
    verdict: GroundingVerdict


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
    organs = Counter(t.organ for t in images.means.tiles if t.organ in decisions.organs)
    if organs:
        found[COMMONEST] = max(organs.values()) / organs.total()
    return found


def verdict_shares(kind: str, verdicts: Counter[str]) -> dict[str, float | int]:
    """How many reports of a kind there are, and the share of each verdict."""
    found: dict[str, float | int] = {f"{kind} reports": verdicts.total()}
    for verdict in ("supported", "not_known", "contradicted"):
        if verdicts:
            found[f"{kind}, {verdict}"] = verdicts[verdict] / verdicts.total()
    return found


def judged_reports(images: JudgedImages, decisions: Decisions) -> Iterator[ReportOnImage]:
    """All reports on all images in H&E."""
    plain = images.organ_margins(decisions.organs)
    less = images.organ_margins(decisions.organs, decisions.handicaps)
    stands = images.standings()
    names = {e.name: n for n, e in enumerate(images.means.entries) if e.group == "concept"}
    diagnoses = diagnoses_by_organ(images.means)
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
                yield ReportOnImage(kind, judge_stated(margin, height, limits))


def judge_stated(margin: OrganMargin, stands: float, limits: Limits) -> GroundingVerdict:
    """A report that states a diagnosis of an organ, by how far both stand out."""
    if EntityType.DIAGNOSIS not in limits:
        return "not_known"
    organ = judge_organ(margin, limits)
    lesion = judge_lesion(stands, limits[EntityType.DIAGNOSIS], [organ])
    return judge_report([], [lesion], organ, [organ])


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
    for kind, words in ((OTHER_DIAGNOSIS, "diagnosis of the same organ"), (FOREIGN, "organ")):
        if (drop := figures.get(f"{kind}, drop")) is not None:
            yield f"another {words} drops grounding by {drop:.0%}"
