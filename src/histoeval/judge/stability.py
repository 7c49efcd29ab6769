"""How steady judges are: between repeats, between each other, and when the reports are swapped.

From the rows of a run, as they pass by; of more than `MOST` pairs, that many drawn by chance.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from histoeval.judge.prompt import Prompt

MOST = 5_000
RESAMPLES = 500

Answers = Sequence[Mapping[str, Any]]
Rater = Callable[[Mapping[str, Any]], str | None]
"""Which column of a table an answer belongs to, if any."""


class _Kept(NamedTuple):
    case: str
    answers: Answers


class AnswerStability:
    """Takes rows in and tells how far answers agree."""

    def __init__(self, prompt: Prompt, judges: Sequence[str]) -> None:
        self._prompt = prompt
        self._judges = judges
        self._kept: list[_Kept] = []
        self._chance = random.Random(0)
        self.scored = self.inconsistent = 0

    def add(self, case: str, evidence: Mapping[str, Any]) -> None:
        """Take one scored pair in, of a case, by the evidence of its score."""
        self.scored += 1
        self.inconsistent += "inconsistent" in evidence
        if "answers" not in evidence:
            return
        kept = _Kept(case, evidence["answers"])
        if len(self._kept) < MOST:
            self._kept.append(kept)
        elif (place := self._chance.randrange(self.scored)) < MOST:
            self._kept[place] = kept

    def summary(self) -> dict[str, Any]:
        """Everything that can be said, by judge and criterion."""
        found: dict[str, Any] = {"pairs_with_contradictory_scores": self.inconsistent}
        if not self._kept:
            return found
        repeats = {judge: self._agreement(_repeats_of(judge)) for judge in self._judges}
        orders = {judge: self._order(judge) for judge in self._judges}
        found |= {
            "pairs_compared": len(self._kept),
            "repeats": {judge: each for judge, each in repeats.items() if each},
            "order": {judge: each for judge, each in orders.items() if each},
        }
        if len(self._judges) > 1:
            found["between_judges"] = self._agreement(_first_of_each)
        return found

    def _agreement(self, rater: Rater) -> dict[str, Any]:
        """Krippendorff's alpha, mean spread and share of equal answers for each criterion."""
        return {
            each.name: told
            for each in self._prompt.criteria
            if (told := self._told(self._table(each.name, rater))) is not None
        }

    def _told(self, rows: list[list[float]]) -> dict[str, Any] | None:
        if not rows or len(rows[0]) < 2:
            return None
        from histoeval.statistics.raters import krippendorff_alpha
        from histoeval.statistics.resampling import resample

        table = np.array(rows)
        cases = [kept.case for kept in self._kept]
        alpha = krippendorff_alpha(table, resample(cases, RESAMPLES))
        whole = table[~np.isnan(table).any(axis=1)]
        return {
            "alpha": alpha.model_dump(include={"value", "low", "high", "reason"}),
            "mean_spread": float(whole.std(axis=1, ddof=1).mean()) if len(whole) else None,
            "identical": float((np.ptp(whole, axis=1) == 0).mean()) if len(whole) else None,
            "pairs": len(whole),
        }

    def _order(self, judge: str) -> dict[str, Any]:
        """The same, of the two orders; and by how much scores move when the candidate is first."""
        found = self._agreement(_orders_of(judge))
        for name, told in found.items():
            table = self._table(name, _orders_of(judge))
            moved = [swapped - usual for usual, swapped in table if not isnan(swapped)]
            told["mean_shift"] = fmean(moved) if moved else None
        return found

    def _table(self, criterion: str, rater: Rater) -> list[list[float]]:
        """Pairs by raters, in the order in which raters come up; NaN where one is missing."""
        columns: dict[str, int] = {}
        rows: list[dict[int, float]] = []
        for kept in self._kept:
            rows.append({})
            for answer in kept.answers:
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


def stability_of(
    prompt: Prompt, judges: Sequence[str], rows: Iterable[tuple[str, Mapping[str, Any]]]
) -> dict[str, Any]:
    """What all rows come to, each a case and the evidence of its score."""
    stability = AnswerStability(prompt, judges)
    for case, evidence in rows:
        stability.add(case, evidence)
    return stability.summary()
