"""Mappings from a judge's scores to experts' scores, as fitted by `histoeval judge align`.

A mapping of each criterion never turns the order of two scores around. The file says what it was
fitted on and how well it did on cases that it had not seen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import yaml
from pydantic import FiniteFloat, model_validator

from histoeval.errors import SettingError
from histoeval.io.settings_files import read_model
from histoeval.metric import FrozenDict, Score
from histoeval.report import Noun

MappingKind = Literal["none", "offset", "thresholds", "curve"]
RAW = "_raw"  # suffix of the part that holds a score as the judge gave it


class ScoreMapping(Noun):
    """A mapping from a judge's score of one criterion to an expert's.

    `offset` is added; `thresholds` are scores from which on the next step of the scale is given;
    a `curve` runs through the points (`at`, `value`). Everything stays on the scale.
    """

    kind: MappingKind = "none"
    low: FiniteFloat
    high: FiniteFloat
    offset: FiniteFloat = 0.0
    thresholds: tuple[FiniteFloat, ...] = ()
    at: tuple[FiniteFloat, ...] = ()
    value: tuple[FiniteFloat, ...] = ()

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if not self.low < self.high:
            raise ValueError("the scale must rise")
        if len(self.at) != len(self.value) or (self.kind == "curve" and not self.at):
            raise ValueError("a curve needs as many values as places")
        for falling in (self.thresholds, self.value):
            if np.any(np.diff(falling) < 0):
                raise ValueError("thresholds and values must not fall")
        if np.any(np.diff(self.at) <= 0):
            raise ValueError("the places of a curve must rise")
        return self

    def __call__(self, score: float) -> float:
        if self.kind == "none":
            return score
        mapped_score = score + self.offset
        if self.kind == "thresholds":
            mapped_score = self.low + sum(score >= threshold for threshold in self.thresholds)
        elif self.kind == "curve":
            mapped_score = float(np.interp(score, self.at, self.value))
        return float(min(self.high, max(self.low, mapped_score)))


class Alignment(Noun):
    format: Literal[1] = 1
    metric: str  # the metric whose scores they are for: judge_rubric4, rubric_offline, …
    prompt: str = ""  # the prompt with its hash, as in the signature
    judge: str = ""  # the models that were asked
    experts: Mapping[str, Any] = {}  # the table of the experts: name, sha256, pairs, cases, columns
    criteria: Mapping[str, ScoreMapping]
    fitted: Mapping[str, Any] = {}  # figures before and after, on cases not fitted on

    @property
    def identity(self) -> str:
        content = "".join(f"{name}{mapping}" for name, mapping in sorted(self.criteria.items()))
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    def demand_fit(self, metric: str, prompt: str = "", judges: str = "") -> None:
        """Refuse scores of another metric, prompt or model than they were fitted to."""
        for noun, fitted, actual in (
            ("the metric", self.metric, metric),
            ("the prompt", self.prompt, prompt),
            ("the judge", self.judge, judges),
        ):
            if fitted and actual and fitted != actual:
                raise SettingError(
                    f"the alignment was fitted to {noun} {fitted}, and this is {actual}: run "
                    "`histoeval judge align` on results of this one"
                )

    def applied(self, score: Score) -> Score:
        parts = dict(score.parts)
        scales = {name: scale for name, scale in self.criteria.items() if name in parts}
        mapped = {name: scale(parts[name]) for name, scale in scales.items()}
        heights = [
            (mapped[name] - scale.low) / (scale.high - scale.low) for name, scale in scales.items()
        ]
        raw = {f"{name}{RAW}": parts[name] for name in mapped} | {f"value{RAW}": score.value}
        value = sum(heights) / len(heights) if heights else score.value
        return score.model_copy(update={"value": value, "parts": FrozenDict(parts | mapped | raw)})


def read_alignment(path: str | Path) -> Alignment:
    advice = "; `histoeval judge align` writes such a file"
    return read_model(Path(path), Alignment, "the alignment", advice=advice)


def alignment_text(alignment: Alignment) -> str:
    content = alignment.model_dump(mode="json", exclude_defaults=False)
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100))


def models_of(judges: str) -> str:
    return "+".join(judge.rpartition("@")[0] or judge for judge in judges.split("+"))
