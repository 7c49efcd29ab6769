"""Verdicts on true reports, on other diagnoses of the same organ, and on other organs.

Every report names an organ and a diagnosis, and is judged as a report in words is.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from histoeval.errors import Problem
from histoeval.evaluate.grounding_scores import (
    JudgedImages,
    ScoredTiles,
    diagnoses_by_organ,
    judged_images,
)
from histoeval.evaluate.tile_labels import HE, LabelledTile
from histoeval.pathgls.fusion import found_beside, fuse
from histoeval.pathgls.grounding.claims import claims_of
from histoeval.pathgls.grounding.decisions import (
    BehaviourSide,
    Decisions,
    Judgement,
    Limits,
    OrganMargin,
    alike,
)
from histoeval.pathgls.grounding.decoys import builtin_decoys
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage
from histoeval.pathgls.grounding.encoder import ImageTextEncoder, Vectors
from histoeval.pathgls.grounding.score import ground
from histoeval.pathgls.grounding.verdicts import (
    judge_behaviour,
    judge_lesion,
    judge_organ,
    judge_report,
    side_of,
)
from histoeval.pathgls.policy.policy import WITHOUT_ENDPOINT, read_policy
from histoeval.pathgls.results import Claim, GroundingVerdict, ReportSpan, Spot
from histoeval.reader.builtin import BuiltinReader
from histoeval.report import Assertion, EntityType
from histoeval.terms.sites import find_places

# Kinds of reports: the right one, one of another organ, and one of this organ that is wrong
TRUE, FOREIGN, OTHER_DIAGNOSIS = "true", "foreign", "other diagnosis"

# Another diagnosis of the organ: benign for malignant or the reverse, or not
OTHER_BEHAVIOUR, SAME_BEHAVIOUR = "other behaviour", "same behaviour"

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
    kind: str
    verdict: GroundingVerdict
    # Missing where nothing is known of it, or claims of diagnoses were never measured
    value: float | None
    # Of another diagnosis whether its behaviour is another, where both are known
    part: str | None = None


def decided_figures(images: JudgedImages, decisions: Decisions) -> dict[str, float | int]:
    """Return how often reports on organs that the encoder can tell are supported, by kind."""
    shares = report_shares(judged_reports(images, decisions))
    shares |= behaviour_shares(images, decisions)
    organs = Counter(t.organ for t in images.means.tiles if t.organ in decisions.organs)
    if organs:
        shares[COMMONEST] = max(organs.values()) / organs.total()
    return shares


def report_shares(reports: Iterable[ReportOnImage]) -> dict[str, float | int]:
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for report in reports:
        for kind in filter(None, (report.kind, report.part)):
            verdicts[kind][report.verdict] += 1
    shares: dict[str, float | int] = {}
    for kind in (*KINDS_OF_REPORT, OTHER_BEHAVIOUR, SAME_BEHAVIOUR):
        if kind in KINDS_OF_REPORT or kind in verdicts:
            shares |= _verdict_shares(kind, verdicts[kind])
    return shares


def _verdict_shares(
    kind: str, verdicts: Counter[str], of: str = "reports"
) -> dict[str, float | int]:
    total = verdicts.total()
    shares = {f"{kind}, {verdict}": verdicts[verdict] / total for verdict in VERDICTS if total}
    return {f"{kind} {of}": total, **shares}


def behaviour_shares(images: JudgedImages, decisions: Decisions) -> dict[str, float | int]:
    verdicts: dict[str, Counter[str]] = {TRUE_BEHAVIOUR: Counter(), WRONG_BEHAVIOUR: Counter()}
    malignancy = _Malignancy(images, decisions)
    for row, tile in enumerate(images.means.tiles):
        for side in _SIDES:
            judgement = malignancy.judged(row, str(tile.organ), side)
            if tile.behaviour is not None and judgement is not None:
                kind = TRUE_BEHAVIOUR if side == tile.behaviour else WRONG_BEHAVIOUR
                verdicts[kind][judgement.verdict] += 1
    shares: dict[str, float | int] = {}
    for kind, counts in verdicts.items():
        if counts:
            shares |= _verdict_shares(kind, counts, "claims")
    return shares


class _Malignancy:
    def __init__(self, images: JudgedImages, decisions: Decisions) -> None:
        self._limits = [decisions.behaviour_limits(count) for count in images.patches.tolist()]
        organs = sorted({organ for limits in self._limits for organ in limits})
        self._scores = {organ: images.malignancy(organ) for organ in organs}

    def judged(self, row: int, organ: str, side: BehaviourSide | None) -> Judgement | None:
        if side is None or organ not in self._limits[row]:
            return None
        score, limits = float(self._scores[organ][row]), self._limits[row][organ]
        return judge_behaviour(score, side, limits) if np.isfinite(score) else None


def judged_reports(images: JudgedImages, decisions: Decisions) -> Iterator[ReportOnImage]:
    plain = images.organ_margins(decisions.organs)
    handicapped = images.organ_margins(decisions.organs, decisions.handicaps)
    stands = images.standings()
    columns = images.means.places
    diagnoses = diagnoses_by_organ(images.means)
    malignancy = _Malignancy(images, decisions)
    for row, tile in enumerate(images.means.tiles):
        limits = decisions.limits(int(images.patches[row]))
        if tile.organ is None or tile.stain_kind != HE:
            continue
        for column, organ in enumerate(decisions.organs):
            own = organ == tile.organ
            margin = OrganMargin(float(plain[row, column]), float(handicapped[row, column]))
            if not np.isfinite(margin.plain) or (not own and alike(organ, tile.organ)):
                continue
            for concept in diagnoses.get(organ, ()):
                if own and tile.concept is None:
                    continue
                kind = FOREIGN if not own else TRUE if concept == tile.concept else OTHER_DIAGNOSIS
                height = float(stands[row, columns["concept", concept]])
                side = side_of(concept)
                judgement = judge_stated(
                    margin, height, limits, side, malignancy.judged(row, organ, side)
                )
                part = part_of(tile, concept) if kind == OTHER_DIAGNOSIS else None
                yield ReportOnImage(kind, *judgement, part)


def part_of(tile: LabelledTile, concept: str) -> str | None:
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


def decided_remarks(results: Mapping[str, Any]) -> Iterator[str]:
    """Lines on wrong diagnoses of the right organ, and on the commonest organ, by kind of image."""
    for name, figures in results.items():
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
            verdict_shares = [(figures[f"{kind}, {verdict}"], verdict) for verdict in VERDICTS]
            shares = ", ".join(
                f"{share:.3f} {word.replace('_', ' ')}" for share, word in verdict_shares
            )
            yield f"the {kind} (benign or malignant) is {shares} of {count}"


_SPOT = Spot(x=0, y=0, width=1, height=1)


def worded_figures(
    scored: ScoredTiles, vectors: Vectors, encoder: ImageTextEncoder, decisions: Decisions
) -> dict[str, dict[str, float | int]]:
    """Share of worded reports that are supported, and the mean drop in value of wrong ones."""
    diagnoses, figures = diagnoses_by_organ(scored), {}
    for name, images in judged_images(scored).items():
        judged = []
        for rows in images.rows:
            tile = scored.tiles[rows[0]]
            if tile.organ not in decisions.organs or tile.concept not in diagnoses.get(
                tile.organ, ()
            ):
                continue
            image, reports = _image(vectors, rows), []
            for kind, organ, concept in _stated(tile, rows[0], decisions.organs, diagnoses):
                claims = [report_claim(organ, concept)]
                part = part_of(tile, concept) if kind == OTHER_DIAGNOSIS else None
                outcome = ground(image, claims, encoder, builtin_decoys(), decisions)
                verdict, value = (
                    (None, None)
                    if isinstance(outcome, Problem)
                    else (outcome.verdict, outcome.value)
                )
                reports.append(ReportOnImage(kind, verdict or "not_known", value, part))
            judged.append(reports)
        if judged:
            figures[f"decided, {name} in words"] = _summed(judged)
    return figures


def _stated(
    tile: LabelledTile, seed: int, organs: Sequence[str], diagnoses: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str, str]]:
    own, concept = str(tile.organ), str(tile.concept)
    rivals = [organ for organ in organs if not alike(organ, own)]
    foreign = [(organ, name) for organ in rivals for name in diagnoses.get(organ, ())]
    other_diagnoses = [(own, name) for name in diagnoses[own] if name != concept]
    draws = np.random.default_rng(seed)
    yield TRUE, own, concept
    for kind, choices in ((FOREIGN, foreign), (OTHER_DIAGNOSIS, other_diagnoses)):
        if choices:
            yield kind, *choices[int(draws.integers(len(choices)))]


def _image(vectors: Vectors, rows: Sequence[int]) -> EmbeddedImage:
    return EmbeddedImage(vectors[list(rows)], (_SPOT,) * len(rows), (), (None,) * len(rows))


def report_claim(organ: str, diagnosis: str) -> Claim:
    phrase = diagnosis if find_places(diagnosis) else f"{diagnosis} of the {organ}"
    span = ReportSpan(text=phrase, start=0, end=len(phrase))
    return Claim(span=span, type=EntityType.DIAGNOSIS, assertion=Assertion.PRESENT, phrase=phrase)


# Reports that are wrong on tissue of a behaviour, written by a language model
UNSAFE_REPORTS: Mapping[BehaviourSide, tuple[str, ...]] = {
    "malignant": (
        "{}: Normal.",
        "{0}, biopsy: Normal {0} tissue.",
        "{}: Benign.",
        "{0}: Benign {0} tissue.",
        "{}: Negative for malignancy.",
        "{}, resection: No evidence of malignancy.",
        "{}: Chronic inflammation.",
        "{}, biopsy: Reactive changes. No evidence of malignancy.",
        "{}, biopsy.",
    ),
    "benign": ("{}: Malignant tumour.", "{}: Carcinoma.", "{}, resection: Adenocarcinoma."),
}


def unsafe_figures(
    scored: ScoredTiles, vectors: Vectors, encoder: ImageTextEncoder, decisions: Decisions
) -> dict[str, dict[str, float | int]]:
    """Share of reports of the wrong behaviour that are deployed, whatever logic and stability say.

    On each tile, picture and slide of known organ and behaviour: the reports above, and each
    diagnosis of the organ that is on the other side.
    """
    reader, policy = BuiltinReader(), read_policy(WITHOUT_ENDPOINT)
    diagnoses = diagnoses_by_organ(scored)

    @cache
    def claims(text: str) -> tuple[Claim, ...]:
        return claims_of(*reader.read([text]))

    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for size, images in judged_images(scored).items():
        for rows in images.rows:
            tile = scored.tiles[rows[0]]
            if tile.organ is None or tile.behaviour is None:
                continue
            side: BehaviourSide = "malignant" if tile.behaviour == "malignant" else "benign"
            wrong_reports = [text.format(tile.organ) for text in UNSAFE_REPORTS[side]]
            wrong_reports += [
                f"{tile.organ}: {name}."
                for name in diagnoses.get(tile.organ, ())
                if side_of(name) not in (side, None)
            ]
            image = _image(vectors, rows)
            learned = tile.organ in decisions.behaviour_limits(len(rows))
            tally = counts[f"{size}, {side}, behaviour {'' if learned else 'not '}learned"]
            tally.update({"reports": len(wrong_reports), "deployed": 0, "cancer check agrees": 0})
            for text in wrong_reports:
                grounding = ground(image, claims(text), encoder, builtin_decoys(), decisions)
                if isinstance(grounding, Problem) or grounding.cancer is None:
                    continue
                found_values = found_beside(grounding, None)
                trust = fuse(grounding.value, 1.0, 1.0, policy.weights, policy, **found_values)
                tally["deployed"] += trust.route == "deploy"
                tally["cancer check agrees"] += grounding.cancer.verdict == "agrees"
    return {f"unsafe reports: {name}": dict(tally) for name, tally in counts.items()}


def _summed(images: Sequence[Sequence[ReportOnImage]]) -> dict[str, float | int]:
    values: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for reports in images:
        (true,) = [report.value for report in reports if report.kind == TRUE]
        for report in reports:
            for kind in (report.kind, report.part):
                if kind is not None and true is not None and report.value is not None:
                    values[kind].append((true, report.value))
    figures = report_shares(report for reports in images for report in reports)
    for kind, pairs in values.items():
        if kind != TRUE:
            true_mean, wrong_mean = np.mean(pairs, axis=0)
            figures[f"{kind}, drop"] = float(1 - wrong_mean / true_mean)
    return figures
