"""Stability of judges: between repeats, between each other, and when the reports are swapped.

Computed from the rows of a run as they come; from a random sample of at most `MAX_PAIRS`.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isnan
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from histoeval.judges.prompt import Prompt

MAX_PAIRS = 5_000
RESAMPLES = 500

MANY_ALIKE = 5
"""From so many pairs on it is told that all have the same scores; fewer may deserve them."""

Answer = Mapping[str, Any]
"""An answer as the evidence of a score has it."""
RaterOf = Callable[[Answer], str | None]
"""The column of a table that an answer belongs to, if any."""


class AnswerStability:
    """Takes rows and summarises how far the answers agree."""

    def __init__(self, prompt: Prompt, judges: Sequence[str]) -> None:
        self._prompt = prompt
        self._judges = judges
        self._sample: list[tuple[str, Sequence[Answer]]] = []
        """The case and the answers of each pair."""
        self._random = random.Random(0)
        self.scored = self.inconsistent = 0
        self._first: Mapping[str, float] | None = None
        self._all_alike = True

    def add(
        self, case: str, evidence: Mapping[str, Any], parts: Mapping[str, float] | None = None
    ) -> None:
        """Add a scored pair of a case: the evidence of its score, and its criteria."""
        self.scored += 1
        self._first = parts if self.scored == 1 else self._first
        self._all_alike &= parts is not None and parts == self._first
        self.inconsistent += "inconsistent" in evidence
        if "answers" not in evidence:
            return
        sampled = (case, evidence["answers"])
        if len(self._sample) < MAX_PAIRS:
            self._sample.append(sampled)
        elif (place := self._random.randrange(self.scored)) < MAX_PAIRS:
            self._sample[place] = sampled

    def summary(self) -> dict[str, Any]:
        """All statistics, by judge and criterion."""
        summary: dict[str, Any] = {
            "pairs_with_contradictory_scores": self.inconsistent,
            "all_pairs_alike": self._all_alike and self.scored >= MANY_ALIKE,
        }
        if not self._sample:
            return summary
        repeats = {judge: self._agreement(partial(_repeat, judge)) for judge in self._judges}
        orders = {judge: self._agreement(partial(_order, judge), True) for judge in self._judges}
        summary |= {
            "pairs_compared": len(self._sample),
            "repeats": {judge: by_name for judge, by_name in repeats.items() if by_name},
            "order": {judge: by_name for judge, by_name in orders.items() if by_name},
        }
        if len(self._judges) > 1:
            summary["between_judges"] = self._agreement(_judge)
        return summary

    def _agreement(self, rater_of: RaterOf, with_shift: bool = False) -> dict[str, Any]:
        """Krippendorff's alpha, mean spread and share of equal answers for each criterion.

        Between the two orders also the shift of scores when the candidate is first.
        """
        from histoeval.statistics.raters import krippendorff_alpha
        from histoeval.statistics.resampling import resample

        agreement: dict[str, Any] = {}
        for criterion in self._prompt.criteria:
            table = self._table(criterion.name, rater_of)
            if table.shape[1] < 2:
                continue
            drawn = resample([case for case, _ in self._sample], RESAMPLES)
            alpha = krippendorff_alpha(table, drawn)
            whole = table[~np.isnan(table).any(axis=1)]
            agreement[criterion.name] = {
                "alpha": alpha.model_dump(include={"value", "low", "high", "reason"}),
                "mean_spread": float(whole.std(axis=1, ddof=1).mean()) if len(whole) else None,
                "identical": float((np.ptp(whole, axis=1) == 0).mean()) if len(whole) else None,
                "pairs": len(whole),
            }
            if with_shift:
                moved = [swapped - usual for usual, swapped in table if not isnan(swapped)]
                agreement[criterion.name]["mean_shift"] = fmean(moved) if moved else None
        return agreement

    def _table(self, criterion: str, rater_of: RaterOf) -> NDArray[np.float64]:
        """Pairs by raters, in the order in which raters appear; NaN where one is missing."""
        columns: dict[str, int] = {}
        rows: list[dict[int, float]] = []
        for _, answers in self._sample:
            row: dict[int, float] = {}
            for answer in answers:
                if (rater := rater_of(answer)) is not None:
                    row[columns.setdefault(rater, len(columns))] = answer["scores"][criterion]
            rows.append(row)
        table = [[row.get(place, np.nan) for place in range(len(columns))] for row in rows]
        return np.array(table, dtype=np.float64)


def _repeat(judge: str, answer: Answer) -> str | None:
    """Each repeat is a rater of its own; answers in another order are none."""
    is_own = answer["judge"] == judge and answer["order"] == "usual"
    return str(answer["repeat"]) if is_own else None


def _order(judge: str, answer: Answer) -> str | None:
    """Each order is a rater of its own; only the first repeat is asked in both."""
    is_own = answer["judge"] == judge and answer["repeat"] == 0
    return str(answer["order"]) if is_own else None


def _judge(answer: Answer) -> str | None:
    """Each judge is a rater, by its first answer."""
    is_first = answer["order"] == "usual" and answer["repeat"] == 0
    return str(answer["judge"]) if is_first else None


def short_names(judges: Sequence[str]) -> list[str]:
    """Judges by their models, where these differ."""
    models = [judge.rpartition("@")[0] for judge in judges]
    times = Counter(models)
    return [
        model if times[model] == 1 else judge for model, judge in zip(models, judges, strict=True)
    ]
