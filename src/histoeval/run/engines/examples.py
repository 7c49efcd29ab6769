"""What metrics load: their models, and a made-up pair that is worked on before somebody waits."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from histoeval.metric import Metric
from histoeval.metrics.base import ModelMetric, PairMetric
from histoeval.report import Pair

EXAMPLE = Pair(
    id="example",
    reference="Left breast, core biopsy: invasive carcinoma, grade 2. ER positive, 14 mm, no "
    "necrosis. There are waxy perivascular whorls.",
    candidate="Right breast, core biopsy: benign tissue with necrosis. ER negative, 9 mm. Foamy "
    "clefts are seen.",
)
"""Written by a language model so that every shipped model is asked: no catalogue has whorls."""


def example_pairs(metrics: Iterable[Metric]) -> Sequence[Pair]:
    """The pair, if all metrics compute: others may ask a server, download or count."""
    known = all(isinstance(metric, PairMetric | ModelMetric) for metric in metrics)
    return [EXAMPLE] if known else []


def models_of(metrics: Iterable[Metric]) -> Iterator[Any]:
    """The models of metrics, as far as they name them."""
    for metric in metrics:
        for name in getattr(metric, "models", ()):
            yield getattr(metric, name, None)
