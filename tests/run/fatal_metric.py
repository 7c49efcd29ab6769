"""A metric that kills its process on one pair."""

import os
import signal
from collections.abc import Sequence

from histoeval.errors import Problem
from histoeval.metric import Score
from histoeval.metrics.base import MetricBase
from histoeval.report import Pair


class FatalMetric(MetricBase):
    """It scores all pairs but the one of grade 7."""

    @property
    def name(self) -> str:
        return "fatal"

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        if any("grade 7" in pair.candidate for pair in pairs):
            os.kill(os.getpid(), signal.SIGKILL)
        return [Score(value=1.0, signature=self.signature) for _ in pairs]
