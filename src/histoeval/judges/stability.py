"""How stable judges are: between repeats, between each other, and when the reports are swapped.

Computed from the rows of a run as they come; from a random sample of at most `MAX_PAIRS`.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import isnan
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from histoeval.judges.prompt import Prompt

MAX_PAIRS = 5_000
RESAMPLES = 500

MANY_ALIKE = 5
"""From so many pairs on it is told that all have the same scores; fewer may deserve them."""

Answers = Sequence[Mapping[str, Any]]
Rater = Callable[[Mapping[str, Any]], str | None]
"""Which column of a table an answer belongs to, if any."""


class _Sampled(NamedTuple):
    case: str
    answers: Answers


class AnswerStability:
    """Takes rows and summarises how far the answers agree."""

    def __init__(self, prompt: Prompt, judges: Sequence[str]) -> None:
        self._prompt = prompt
        self._judges = judges
        self._sample: list[_Sampled] = []
        self._chance = random.Random(0)
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
        answers = _Sampled(case, evidence["answers"])
        if len(self._sample) < MAX_PAIRS:
            self._sample.append(answers)
        elif (place := self._chance.randrange(self.scored)) < MAX_PAIRS:
            self._sample[place] = answers

    def summary(self) -> dict[str, Any]:
        """All statistics, by judge and criterion."""
        found: dict[str, Any] = {
            "pairs_with_contradictory_scores": self.inconsistent,
            "all_pairs_alike": self._all_alike and self.scored >= MANY_ALIKE,
        }
        if not self._sample:
            return found
        repeats = {judge: self._agreement(_repeats_of(judge)) for judge in self._judges}
        orders = {judge: self._order(judge) for judge in self._judges}
        found |= {
            "pairs_compared": len(self._sample),
            "repeats": {judge: each for judge, each in repeats.items() if each},
            "order": {judge: each for judge, each in orders.items() if each},
        }
        if len(self._judges) > 1:
            found["between_judges"] = self._agreement(_first_of_each)
        return found

    def _agreement(self, rater: Rater) -> dict[str, Any]:
        """Krippendorff's alpha, mean spread and share of equal answers for each criterion."""
        return {
            each.name: found
            for each in self._prompt.criteria
            if (found := self._alpha(self._table(each.name, rater))) is not None
        }

    def _alpha(self, rows: list[list[float]]) -> dict[str, Any] | None:
        if not rows or len(rows[0]) < 2:
            return None
        from histoeval.statistics.raters import krippendorff_alpha
        from histoeval.statistics.resampling import resample

        table = np.array(rows)
        cases = [each.case for each in self._sample]
        alpha = krippendorff_alpha(table, resample(cases, RESAMPLES))
        whole = table[~np.isnan(table).any(axis=1)]
        return {
            "alpha": alpha.model_dump(include={"value", "low", "high", "reason"}),
            "mean_spread": float(whole.std(axis=1, ddof=1).mean()) if len(whole) else None,
            "identical": float((np.ptp(whole, axis=1) == 0).mean()) if len(whole) else None,
            "pairs": len(whole),
        }

    def _order(self, judge: str) -> dict[str, Any]:
        """The same between the two orders; and the shift of scores when the candidate is first."""
        found = self._agreement(_orders_of(judge))
        for name, agreement in found.items():
            table = self._table(name, _orders_of(judge))
            moved = [swapped - usual for usual, swapped in table if not isnan(swapped)]
            agreement["mean_shift"] = fmean(moved) if moved else None
        return found

    def _table(self, criterion: str, rater: Rater) -> list[list[float]]:
        """Pairs by raters, in the order in which raters appear; NaN where one is missing."""
        columns: dict[str, int] = {}
        rows: list[dict[int, float]] = []
        for sampled in self._sample:
            rows.append({})
            for answer in sampled.answers:
                if (name := rater(answer)) is not None:
                    place = columns.setdefault(name, len(columns))
                    rows[-1][place] = answer["scores"][criterion]
        return [[row.get(place, float("nan")) for place in range(len(columns))] for row in rows]


def _repeats_of(judge: str) -> Rater:
    def rater(answer: Mapping[str, Any]) -> str | None:
        """Each repeat is a rater of its own; answers in another order are none."""
        own = answer["judge"] == judge and answer["order"] == "usual"
        return str(answer["repeat"]) if own else None

    return rater


def _orders_of(judge: str) -> Rater:
    def rater(answer: Mapping[str, Any]) -> str | None:
        """Each order is a rater of its own; only the first repeat is asked in both."""
        own = answer["judge"] == judge and answer["repeat"] == 0
        return str(answer["order"]) if own else None

    return rater


def _first_of_each(answer: Mapping[str, Any]) -> str | None:
    first = answer["order"] == "usual" and answer["repeat"] == 0
    return str(answer["judge"]) if first else None


def short_names(judges: Sequence[str]) -> list[str]:
    """Judges by their models, where these differ."""
    models = [judge.rpartition("@")[0] for judge in judges]
    times = Counter(models)
    return [
        model if times[model] == 1 else judge for model, judge in zip(models, judges, strict=True)
    ]
