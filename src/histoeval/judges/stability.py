"""Stability of judges between repeats, judges and orders, on at most `MAX_PAIRS` pairs."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isnan
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from histoeval.judges.prompt import Prompt

MAX_PAIRS = 5_000
RESAMPLES = 500
MANY_ALIKE = 5  # pairs from which on equal scores of all are told; fewer may deserve them

Answer = Mapping[str, Any]  # an answer as the evidence of a score has it


class AnswerStability:
    def __init__(self, prompt: Prompt, judges: Sequence[str]) -> None:
        self._prompt = prompt
        self._judges = judges
        self._sample: list[tuple[str, Sequence[Answer]]] = []  # cases and answers
        self._random = random.Random(0)
        self.scored = self.inconsistent = 0
        self._first: Mapping[str, float] | None = None
        self._all_alike = True

    def add(
        self, case: str, evidence: Mapping[str, Any], parts: Mapping[str, float] | None = None
    ) -> None:
        self.scored += 1
        self._first = parts if self.scored == 1 else self._first
        self._all_alike &= parts is not None and parts == self._first
        self.inconsistent += "inconsistent" in evidence
        if "answers" not in evidence:
            return
        sampled = (case, evidence["answers"])
        if len(self._sample) < MAX_PAIRS:
            self._sample.append(sampled)
        elif (index := self._random.randrange(self.scored)) < MAX_PAIRS:
            self._sample[index] = sampled

    def summary(self) -> dict[str, Any]:
        summary: dict[str, Any] = {
            "pairs_with_contradictory_scores": self.inconsistent,
            "all_pairs_alike": self._all_alike and self.scored >= MANY_ALIKE,
        }
        if not self._sample:
            return summary
        summary["pairs_compared"] = len(self._sample)
        for name, field in (("repeats", "repeat"), ("order", "order")):
            agreements = {judge: self._agreement(field, judge) for judge in self._judges}
            summary[name] = {judge: by_name for judge, by_name in agreements.items() if by_name}
        if len(self._judges) > 1:
            summary["between_judges"] = self._agreement("judge")
        return summary

    def _agreement(self, field: str, judge: str = "") -> dict[str, Any]:
        """Alpha, spread and share of equal answers by criterion; for orders also the mean shift."""
        from histoeval.statistics.raters import krippendorff_alpha
        from histoeval.statistics.resampling import resample

        agreement: dict[str, Any] = {}
        for criterion in self._prompt.criteria:
            table = self._table(criterion.name, field, judge)
            if table.shape[1] < 2:
                continue
            resamples = resample([case for case, _ in self._sample], RESAMPLES)
            alpha = krippendorff_alpha(table, resamples)
            complete_rows = table[~np.isnan(table).any(axis=1)]
            agreement[criterion.name] = {
                "alpha": alpha.model_dump(include={"value", "low", "high", "reason"}),
                "mean_spread": float(complete_rows.std(axis=1, ddof=1).mean())
                if len(complete_rows)
                else None,
                "identical": float((np.ptp(complete_rows, axis=1) == 0).mean())
                if len(complete_rows)
                else None,
                "pairs": len(complete_rows),
            }
            if field == "order":
                shifts = [swapped - usual for usual, swapped in table if not isnan(swapped)]
                agreement[criterion.name]["mean_shift"] = fmean(shifts) if shifts else None
        return agreement

    def _table(self, criterion: str, field: str, judge: str) -> NDArray[np.float64]:
        """Scores of pairs by repeat, order or judge (columns), all else as usual; NaN for a gap."""
        fixed_fields = {"judge": judge, "order": "usual", "repeat": 0}
        del fixed_fields[field]
        columns: dict[str, int] = {}
        rows: list[dict[int, float]] = []
        for _, answers in self._sample:
            row: dict[int, float] = {}
            for answer in answers:
                if all(answer[name] == value for name, value in fixed_fields.items()):
                    position = columns.setdefault(str(answer[field]), len(columns))
                    row[position] = answer["scores"][criterion]
            rows.append(row)
        table = [[row.get(position, np.nan) for position in range(len(columns))] for row in rows]
        return np.array(table, dtype=np.float64)


def short_names(judges: Sequence[str]) -> list[str]:
    models = [judge.rpartition("@")[0] for judge in judges]
    times = Counter(models)
    return [
        model if times[model] == 1 else judge for model, judge in zip(models, judges, strict=True)
    ]
