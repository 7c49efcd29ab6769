"""A made-up pair: what is worked on to load models before somebody waits for them."""

from collections.abc import Iterable, Sequence

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
