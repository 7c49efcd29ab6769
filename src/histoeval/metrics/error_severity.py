"""Errors weighed by their severity, against what both reports have in common.

In the manner of CRIMSON (Baharoon et al. 2026), a metric of chest X-ray reports that is made of an
LLM's lists of findings and errors. Here findings, errors and severities are those of concordance;
docs/metrics.md has what differs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, FiniteFloat, model_validator
from pydantic.dataclasses import dataclass

from histoeval.concordance.evidence import Severity, evidence_of
from histoeval.io.settings_files import read_model, read_toml
from histoeval.metric import PartCost, Score, Signature
from histoeval.metrics.base import SettledMetric
from histoeval.metrics.concordance import Concordance, ReportComparison
from histoeval.report import Noun
from histoeval.resources import resource_path

ErrorClass = Literal["missed", "false", "attribute"]
FINDING = "finding"  # the weight of what has none of its own

Weight = Annotated[FiniteFloat, Field(ge=0)]


class ErrorWeights(Noun):
    severity: Mapping[Literal["critical", "major", "moderate", "minor"], Weight]
    classes: Annotated[Mapping[ErrorClass, Weight], Field(alias="class")]
    agreed: Mapping[str, Weight]

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        tables: list[tuple[str, set[str], set[str]]] = [
            ("severity", {severity.name.lower() for severity in Severity}, set(self.severity)),
            ("class", set(get_args(ErrorClass)), set(self.classes)),
            ("agreed", {FINDING}, set(self.agreed)),
        ]
        for table, needed, names in tables:
            if missing := sorted(needed - names):
                raise ValueError(f"[{table}] needs {', '.join(missing)}")
        return self

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]

    def score(self, evidence: Mapping[str, Any], signature: Signature) -> Score:
        matches, errors = [], []
        for match in evidence["matches"]:
            weight = self.agreed.get(match["part"], self.agreed[FINDING]) * match["similarity"]
            matches.append({**match, "weight": weight})
        for error in evidence["errors"]:
            severity: Any = Severity(error["severity"]).name.lower()
            kind = class_of(error)
            weight = self.severity[severity] * self.classes[kind]
            errors.append({**error, "class": kind, "weight": weight})
        parts = {"correct": sum(match["weight"] for match in matches)}
        for kind in get_args(ErrorClass):
            parts[kind] = sum(error["weight"] for error in errors if error["class"] == kind)
        total = _total(parts)
        return Score(
            value=parts["correct"] / total if total else 1.0,
            parts=parts,
            evidence={"matches": matches, "errors": errors},
            signature=signature,
        )


def _total(parts: Mapping[str, float]) -> float:
    return parts["correct"] + sum(parts[kind] for kind in get_args(ErrorClass))


def class_of(error: Mapping[str, Any]) -> ErrorClass:
    if error["candidate"] is None:
        return "missed"
    return "false" if error["reference"] is None else "attribute"


@dataclass(frozen=True)
class WeighsErrors(SettledMetric):
    weights: str = ""  # a TOML file; without one, the weights of this package

    def __post_init__(self) -> None:
        _ = self.error_weights  # those that cannot be used are reported before work begins

    @cached_property
    def error_weights(self) -> ErrorWeights:
        path = Path(self.weights or resource_path("metrics/data/error_weights.toml"))
        return read_model(path, ErrorWeights, "the weights", read_toml)

    @property
    def unsigned(self) -> frozenset[str]:
        return super().unsigned | {"weights"}

    def fingerprint(self) -> dict[str, str]:
        return super().fingerprint() | {"weights": self.error_weights.hash}


@dataclass(frozen=True)
class ErrorSeverity(WeighsErrors, Concordance):
    """The share of all weight that is right: correct / (correct + missed + false + attribute)."""

    def score_compared(self, compared: ReportComparison) -> Score:
        return self.error_weights.score(evidence_of(compared.parts.values()), self.signature)

    def breakdown(self, compared: ReportComparison) -> list[PartCost]:
        parts = self.score_compared(compared).parts
        total = _total(parts)
        return [
            PartCost(part=kind, value=1 - weight / total, weight=1.0, cost=weight / total)
            for kind in get_args(ErrorClass)
            if (weight := parts[kind])
        ]
