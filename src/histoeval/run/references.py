"""Several references for a case: a candidate is scored against each, and the best or mean counts.

Each score says in its evidence, under `references`, which reference was the best and what every one
of them gave. Matches, errors and other evidence are those of the best.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from histoeval.errors import Problem
from histoeval.io.tables.columns import ReferenceMode
from histoeval.metric import Metric, Score, Signature
from histoeval.metrics.base import AdaptedMetric
from histoeval.report import Pair, PairWithReferences

BEST, MEAN = "references_best", "references_mean"
"""Parts of every score: its value by the best reference, and by the mean over all."""


def references_of(pair: Pair) -> tuple[str, ...]:
    """The references of a pair: mostly one."""
    return pair.references if isinstance(pair, PairWithReferences) else (pair.reference,)


def single_pairs(pair: Pair) -> list[Pair]:
    """The pairs of a candidate with each reference of its case."""
    return [
        Pair(id=pair.id, reference=text, candidate=pair.candidate, system=pair.system)
        for text in references_of(pair)
    ]


class SeveralReferences(AdaptedMetric):
    """A metric that takes the best or the mean over the references of a case."""

    def __init__(self, metric: Metric, mode: ReferenceMode) -> None:
        super().__init__(metric)
        self.mode = mode

    @property
    def signature(self) -> Signature:
        """That of the metric, and what counts of several references."""
        own = super().signature
        return own.model_copy(update={"settings": {**own.settings, "references": self.mode}})

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """One answer per pair; where one reference cannot be scored, the pair has no score."""
        single = [each for pair in pairs for each in single_pairs(pair)]
        answers = iter(self._metric.score(single))
        return [self._together([*islice(answers, len(references_of(pair)))]) for pair in pairs]

    def _together(self, answers: Sequence[Score | Problem]) -> Score | Problem:
        scores = [answer for answer in answers if isinstance(answer, Score)]
        if len(scores) < len(answers):
            return next(answer for answer in answers if isinstance(answer, Problem))
        values = [score.value for score in scores]
        best = values.index(max(values) if self.higher_is_better else min(values))
        mean = sum(values) / len(values)
        chosen = scores[best]
        is_best = self.mode == "best"
        parts = dict(chosen.parts) if is_best else _mean_parts(scores)
        columns = zip(*(score.counts for score in scores), strict=True)
        counts = tuple(sum(column) / len(scores) for column in columns)
        given = [{"value": score.value, "parts": dict(score.parts)} for score in scores]
        about = {"taken": self.mode, "best": best + 1, "scores": given}
        return chosen.model_copy(
            update={
                "value": values[best] if is_best else mean,
                "parts": parts | {BEST: values[best], MEAN: mean},
                "evidence": {**chosen.evidence, "references": about},
                "counts": chosen.counts if is_best else counts,
                "signature": self.signature,
            }
        )


class PrefetchingReferences(SeveralReferences):
    """The same for a metric that can start on pairs before they are scored, as LLM judges do."""

    @property
    def ahead(self) -> int:
        return int(self._metric.ahead)

    def prefetch(self, pairs: Sequence[Pair]) -> None:
        self._metric.prefetch([each for pair in pairs for each in single_pairs(pair)])

    def stop_prefetch(self) -> None:
        self._metric.stop_prefetch()


def with_references(metrics: Sequence[Metric], mode: ReferenceMode | None) -> Iterator[Metric]:
    """Metrics that take several references together; as they are where there is one."""
    for metric in metrics:
        if mode is None:
            yield metric
        else:
            kind = PrefetchingReferences if hasattr(metric, "prefetch") else SeveralReferences
            yield kind(metric, mode)


def _mean_parts(scores: Sequence[Score]) -> dict[str, float]:
    """Each part over the references that have it."""
    names = dict.fromkeys(name for score in scores for name in score.parts)
    found = {name: [s.parts[name] for s in scores if name in s.parts] for name in names}
    return {name: sum(values) / len(values) for name, values in found.items()}
