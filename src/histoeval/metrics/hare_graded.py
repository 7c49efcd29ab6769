"""HARE in graded mode: how far two reports agree on what they mention, and where they contradict.

Every entity finds the one most like it in the other report, by the catalogues where they know both
and by the aligner elsewhere: 1 for the same thing under any name, less for its kind, little for a
sibling, nothing for what is denied there. Relations are compared alike, end by end. Precision and
recall are weighted means of these over entities and relations together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from histoeval.metrics.hare_f1 import PrecisionRecall, harmonic_mean, rounded_cosines
from histoeval.metrics.hare_mentions import (
    CONTEXTUAL,
    ReportMentions,
    WeightedMention,
    agreement,
    settings,
)
from histoeval.report import Assertion, EntityType

Matrix = NDArray[np.float64]

_FREE_TYPES = frozenset(
    {EntityType.RESULT, EntityType.MEASUREMENT, EntityType.GRADE, EntityType.STAGE}
)
"""Of these a thing has one: another one contradicts it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One entity or relation: its weight, how far the other report agrees, and with what."""

    weight: float
    value: float
    nearest: int | None
    contradicted: bool

    @property
    def agreed(self) -> bool:
        """Whether the other report says the same, more or less."""
        return not _differs(self.value)


@dataclass(frozen=True, slots=True)
class JudgedReport:
    """One report judged by the other."""

    entities: tuple[Judged, ...]
    links: tuple[Judged, ...]

    def share(self, *kinds: Sequence[Judged]) -> float | None:
        """The weighted mean of how far the other agrees; nothing where there is nothing."""
        judged = [each for kind in kinds or (self.entities, self.links) for each in kind]
        total = sum(each.weight for each in judged)
        return sum(each.weight * each.value for each in judged) / total if total else None


@dataclass(frozen=True, slots=True)
class GradedComparison:
    """Two reports, each judged by the other."""

    reference: JudgedReport
    candidate: JudgedReport

    @property
    def whole(self) -> PrecisionRecall:
        """Over entities and relations together."""
        return _f1(self.candidate.share(), self.reference.share())

    @property
    def entities(self) -> PrecisionRecall:
        """Over entities alone."""
        reference, candidate = self.reference, self.candidate
        return _f1(candidate.share(candidate.entities), reference.share(reference.entities))

    @property
    def relations(self) -> PrecisionRecall | None:
        """Over relations alone; nothing where neither report has any."""
        reference, candidate = self.reference, self.candidate
        if not reference.links and not candidate.links:
            return None
        return _f1(candidate.share(candidate.links), reference.share(reference.links))


def _f1(precision: float | None, recall: float | None) -> PrecisionRecall:
    """F1; nothing to compare on both sides is full agreement, on one side none."""
    if precision is None and recall is None:
        return PrecisionRecall(1.0, 1.0, 1.0)
    precision, recall = precision or 0.0, recall or 0.0
    return PrecisionRecall(precision, recall, harmonic_mean(precision, recall))


def compare(
    reference: ReportMentions, candidate: ReportMentions, reference_rows: Any, candidate_rows: Any
) -> GradedComparison:
    """Judge two reports by each other; the rows are the vectors of their mentions."""
    cosines = rounded_cosines(reference_rows, candidate_rows)
    named = np.zeros(cosines.shape)
    agreed = np.zeros(cosines.shape)
    for i, one in enumerate(reference.items):
        for j, other in enumerate(candidate.items):
            named[i, j] = likeness(one, other, float(cosines[i, j]))
            agreed[i, j] = named[i, j] * _stance(one, other) if named[i, j] else 0.0
    return GradedComparison(
        _judged(reference, candidate, named, agreed),
        _judged(candidate, reference, named.T, agreed.T),
    )


def likeness(one: WeightedMention, other: WeightedMention, cosine: float) -> float:
    """How alike two things are that are named, from 0 to 1, whatever is said of them."""
    if one.plain == other.plain:
        return 1.0
    given = settings()["similarity"]
    strange, alike = given["strange"], given["alike"]
    by_vector = min(1.0, max(0.0, (cosine - strange) / (alike - strange)))
    known = agreement(one, other)
    if known is None:
        return by_vector
    if one.type in (EntityType.FINDING, EntityType.DESCRIPTOR):
        return max(known, settings()["factors"]["other_finding"] * by_vector)
    return known


def _stance(one: WeightedMention, other: WeightedMention) -> float:
    """What is left of a likeness where one is denied or in doubt, or on the other side."""
    if one.denied != other.denied or (one.side and other.side and one.side != other.side):
        return 0.0
    doubted = (one.entity.assertion == Assertion.UNCERTAIN) != (
        other.entity.assertion == Assertion.UNCERTAIN
    )
    return settings()["factors"]["doubt"] if doubted else 1.0


def _judged(
    own: ReportMentions, other: ReportMentions, named: Matrix, agreed: Matrix
) -> JudgedReport:
    linked = {tail for _, tail in own.links}
    entities = []
    for i, mention in enumerate(own.items):
        counts = not (mention.type in CONTEXTUAL and i in linked)
        value = float(agreed[i].max(initial=0.0))
        contradicted = _differs(value) and bool(named[i].max(initial=0.0) >= _same())
        entities.append(
            Judged(
                _weight(mention.weight, contradicted) if counts else 0.0,
                value,
                int(agreed[i].argmax()) if value else None,
                contradicted,
            )
        )
    links = tuple(_judged_links(own, other, named, agreed))
    return JudgedReport(tuple(entities), links)


def _judged_links(
    own: ReportMentions, other: ReportMentions, named: Matrix, agreed: Matrix
) -> Iterator[Judged]:
    factor = settings()["factors"]["relation"]
    for head, tail in own.links:
        second = own.items[tail]
        rivals = [
            (agreed[head, h] * agreed[tail, t], k, bool(named[head, h] >= _same()))
            for k, (h, t) in enumerate(other.links)
            if other.items[t].type == second.type
        ]
        value, nearest, _ = max(rivals, key=lambda rival: rival[0], default=(0.0, None, False))
        rivalled = any(same for _, _, same in rivals)
        contradicted = _differs(value) and rivalled and second.type in _FREE_TYPES
        weight = second.weight * (1.0 if second.type in CONTEXTUAL else factor)
        yield Judged(_weight(weight, contradicted), float(value), nearest, contradicted)


def _same() -> float:
    return settings()["similarity"]["same"]


def _differs(value: float) -> bool:
    return value < settings()["similarity"]["agreed"]


def _weight(weight: float, contradicted: bool) -> float:
    return weight * settings()["factors"]["contradiction"] if contradicted else weight
