"""A metric for torchmetrics: update, compute and reset, in several processes too.

Texts cannot be gathered from other processes, so each process scores its own when `update` is
called, and keeps sums: they are tensors, and are added up where processes are synchronised.
"""

from __future__ import annotations

import warnings
from hashlib import sha256
from math import inf, nan
from typing import Any

from histoeval import api
from histoeval.adapters import imported
from histoeval.adapters.answers import References, Texts, best_answers
from histoeval.errors import Problem, SettingError
from histoeval.metric import Metric, Score
from histoeval.run.models import Models

torch = imported("torch", "torchmetrics")
torchmetrics = imported("torchmetrics", "torchmetrics")

MOST_COUNTS = 64  # numbers of a corpus value; every process has room for so many


class HistoEvalMetric(torchmetrics.Metric):  # type: ignore[misc, name-defined]
    """A metric of HistoEval as a `torchmetrics.Metric`.

    Args:
        spec: a name as `histoeval.list_metrics` gives it, with settings as in ``bleu:order=2``.
        models: the reader, aligner, encoder or judge to use; by default those of this package.
        **settings: of `torchmetrics.Metric`, such as `dist_sync_on_step`.

    Examples:
        >>> concordance = HistoEvalMetric("concordance")
        >>> concordance.update(preds=candidates, target=references)
        >>> concordance.compute()
    """

    is_differentiable = False
    full_state_update = False

    def __init__(
        self, spec: str = "concordance", *, models: Models | None = None, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self.spec, self._models = spec, models
        self._metric: Metric | None = None
        signature_hash = sha256(str(self.metric.signature).encode()).hexdigest()[:12]
        self._sums, self._width = f"sums_{signature_hash}", f"width_{signature_hash}"
        zeros = torch.zeros(3 + MOST_COUNTS, dtype=torch.float64)
        self.add_state(self._sums, zeros, dist_reduce_fx="sum")
        self.add_state(self._width, torch.tensor(0), dist_reduce_fx="max")

    @property
    def metric(self) -> Metric:
        """The metric itself; a copy of this object, also in another process, loads its own."""
        if self._metric is None:
            self._metric = api.load(self.spec, models=self._models)
        return self._metric

    @property
    def higher_is_better(self) -> bool:
        return self.metric.higher_is_better

    @property
    def plot_lower_bound(self) -> float | None:
        return None if (low := self.metric.range[0]) == -inf else low

    @property
    def plot_upper_bound(self) -> float | None:
        return None if (high := self.metric.range[1]) == inf else high

    @property
    def problems(self) -> int:
        """Pairs of this process without a score; they do not count."""
        return int(getattr(self, self._sums)[2])

    def update(self, preds: Texts, target: References) -> None:
        """Score candidates against references; of several for one candidate the best counts."""
        answers = best_answers(self.metric, preds, target)
        scores = [answer for answer in answers if isinstance(answer, Score)]
        counts = [sum(column) for column in zip(*(answer.counts for answer in scores), strict=True)]
        if len(counts) > MOST_COUNTS:
            raise SettingError(f"{self.spec} is counted from {len(counts)} numbers: too many")
        if missing := [answer.message for answer in answers if isinstance(answer, Problem)]:
            warnings.warn(
                f"{self.spec}: {len(missing)} pairs have no score and do not count, the first: "
                f"{missing[0]}",
                stacklevel=3,
            )
        row = [sum(answer.value for answer in scores), len(scores), len(missing), *counts]
        row += [0.0] * (3 + MOST_COUNTS - len(row))
        sums, width = getattr(self, self._sums), getattr(self, self._width)
        setattr(self, self._sums, sums + torch.tensor(row, dtype=sums.dtype, device=sums.device))
        setattr(self, self._width, width.clamp(min=len(counts)))

    def compute(self) -> Any:
        """The value of all pairs so far, of all processes; not a number where none has a score."""
        sums = getattr(self, self._sums)
        total, scored_count, _, *counts = sums.tolist()
        if not scored_count:
            return torch.tensor(nan, device=sums.device)
        width = int(getattr(self, self._width))
        value = self.metric.corpus_value(total / scored_count, counts[:width])
        return torch.tensor(value, dtype=sums.dtype, device=sums.device)

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw the value, or those that are given, as torchmetrics does; needs matplotlib."""
        return self._plot(val, ax)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the models, which are loaded again on use."""
        state: dict[str, Any] = super().__getstate__()
        return state | {"_metric": None}
