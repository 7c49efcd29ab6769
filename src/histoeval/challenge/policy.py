"""The policy of a challenge: metrics and weights, cases, limits and ties.

It is a YAML file that organisers publish before anybody hands in: no rule is made afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from histoeval.io.settings_files import read_model
from histoeval.metrics.base import MAX_CHARS
from histoeval.report import Noun
from histoeval.statistics.resampling import PERMUTATIONS, RESAMPLES
from histoeval.statistics.significance import LEVEL

POLICY = "policy.yaml"

Text = Annotated[str, Field(min_length=1)]
Seconds = Annotated[FiniteFloat, Field(gt=0)]


class MetricRule(Noun):
    """`worst` and `best` are the values that count as 0 and 1; by default those of the metric."""

    weight: Annotated[FiniteFloat, Field(gt=0)] = 1.0
    # more is better (`up`) or worse (`down`); by default as the metric says
    direction: Literal["up", "down"] | None = None
    worst: FiniteFloat | None = None
    best: FiniteFloat | None = None

    @model_validator(mode="before")
    @classmethod
    def _weight_alone(cls, rule: Any) -> Any:
        """`bleu: 0.5` is `bleu: {weight: 0.5}`, and `bleu:` alone has weight 1."""
        if rule is None:
            return {}
        if isinstance(rule, int | float) and not isinstance(rule, bool):
            return {"weight": rule}
        if not isinstance(rule, Mapping | cls):
            raise ValueError("give each metric a weight, as in `bleu: 1` or `bleu: {weight: 1}`")
        return rule

    @model_validator(mode="after")
    def _apart(self) -> Self:
        if self.worst is not None and self.worst == self.best:
            raise ValueError(f"worst and best are both {self.worst:g}")
        return self


class Limits(Noun):
    """Limits of a file of predictions; None is no limit."""

    # characters of a report; a longer one counts as missing
    max_chars: Annotated[int, Field(ge=1, le=MAX_CHARS)] = 20_000
    seconds_per_case: Seconds | None = None  # a slower report counts as missing
    seconds_in_all: Seconds | None = None  # a team that took longer for all its cases is not ranked


class PlatformRule(Noun):
    """Slugs of the output that holds a report and of the input that names its case.

    None is the only output, and the first input that has a name.
    """

    report: Text | None = None
    case: Text | None = None


class ChallengePolicy(Noun):
    name: Text = "challenge"
    metrics: Annotated[dict[str, MetricRule], Field(min_length=1)]
    # metrics are averaged and teams ranked by that; or ranked by each, and ranks averaged
    combine: Literal["mean-then-rank", "rank-then-mean"] = "mean-then-rank"
    ties: Literal["min", "dense", "average"] = "min"  # 1 1 3, 1 1 2, or 1.5 1.5 3
    cases: Text = "all"  # all of the truth, those `shared` by all teams, or a file with ids
    loose_ids: bool = False  # ids may differ in ending, case, spaces or zeros
    missing: Literal["worst", "exclude"] = "worst"  # the worst value, or the team is not ranked
    references: Literal["best", "mean"] = "best"  # of several reports of the truth on a case
    groups: Text | None = None  # a table of id and case: rows of one are resampled together
    subgroups: Text | None = None  # a table of id and subgroup, such as the organ
    limits: Limits = Limits()
    platform: PlatformRule = PlatformRule()
    resamples: Annotated[int, Field(ge=100)] = RESAMPLES
    permutations: Annotated[int, Field(ge=100)] = PERMUTATIONS
    # differences are significant from here on, after Holm's correction
    level: Annotated[FiniteFloat, Field(gt=0, lt=1)] = LEVEL
    seed: Annotated[int, Field(ge=0)] = 0

    @cached_property
    def hash(self) -> str:
        content = self.model_dump_json(exclude={"name"})
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    @property
    def weights(self) -> dict[str, float]:
        total = sum(rule.weight for rule in self.metrics.values())
        return {name: rule.weight / total for name, rule in self.metrics.items()}


def read_challenge_policy(path: Path) -> ChallengePolicy:
    return read_model(path, ChallengePolicy, "the policy")
