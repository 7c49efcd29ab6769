"""Errors weighed by their severity, against what both reports have in common.

In the manner of CRIMSON (Baharoon et al. 2026), a metric of chest X-ray reports that is made of an
LLM's lists of findings and errors. Here findings, errors and severities are those of concordance;
docs/metrics.md has what differs.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, FiniteFloat, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from histoeval.concordance.evidence import ComparedPart, Severity, evidence_of
from histoeval.errors import SettingError, explain_validation
from histoeval.metric import PartCost, Score
from histoeval.metrics.concordance import Concordance, ReportComparison
from histoeval.report import Noun
from histoeval.resources import resource_path

ErrorClass = Literal["missed", "false", "attribute"]
CLASSES: tuple[ErrorClass, ...] = ("missed", "false", "attribute")
FINDING = "finding"
"""The weight of what has none of its own."""

Weight = Annotated[FiniteFloat, Field(ge=0)]


class ErrorWeights(Noun):
    """What errors of each severity and class weigh, and what both reports have in common."""

    severity: Mapping[Literal["critical", "major", "moderate", "minor"], Weight]
    classes: Annotated[Mapping[ErrorClass, Weight], Field(alias="class")]
    agreed: Mapping[str, Weight]

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        tables: list[tuple[str, set[str], set[str]]] = [
            ("severity", {each.name.lower() for each in Severity}, set(self.severity)),
            ("class", set(CLASSES), set(self.classes)),
            ("agreed", {FINDING}, set(self.agreed)),
        ]
        for table, wanted, given in tables:
            if missing := sorted(wanted - given):
                raise ValueError(f"[{table}] needs {', '.join(missing)}")
        return self

    def of_error(self, severity: int, kind: ErrorClass) -> float:
        """The weight of an error."""
        name = Severity(severity).name.lower()
        return self.severity[name] * self.classes[kind]  # type: ignore[index]

    def of_match(self, part: str, similarity: float) -> float:
        """The weight of what is in both reports: less where it is not quite the same."""
        return self.agreed.get(part, self.agreed[FINDING]) * similarity


class WeightedEvidence(NamedTuple):
    """Matches and errors with their weights, and the sums of these."""

    evidence: dict[str, Any]
    correct: float
    errors: dict[ErrorClass, float]

    @property
    def total(self) -> float:
        """All that there is to be right or wrong about."""
        return self.correct + sum(self.errors.values())

    @property
    def value(self) -> float:
        """The share that is right; 1 where there is nothing."""
        return self.correct / self.total if self.total else 1.0

    @property
    def parts(self) -> dict[str, float]:
        """The sums by name."""
        return {"correct": self.correct} | {str(name): sum_ for name, sum_ in self.errors.items()}

    def costs(self) -> list[PartCost]:
        """What each class of errors takes off."""
        return [
            PartCost(part=name, value=1 - weight / self.total, weight=1.0, cost=weight / self.total)
            for name, weight in self.errors.items()
            if weight
        ]


def weighted(evidence: Mapping[str, Any], weights: ErrorWeights) -> WeightedEvidence:
    """The evidence of a comparison with a weight on every match and every error."""
    matches = [
        {**each, "weight": weights.of_match(each["part"], each["similarity"])}
        for each in evidence["matches"]
    ]
    errors = [
        {**each, "class": kind, "weight": weights.of_error(each["severity"], kind)}
        for each in evidence["errors"]
        for kind in [class_of(each)]
    ]
    sums = {kind: sum(e["weight"] for e in errors if e["class"] == kind) for kind in CLASSES}
    correct = sum(each["weight"] for each in matches)
    return WeightedEvidence({"matches": matches, "errors": errors}, correct, sums)


def class_of(error: Mapping[str, Any]) -> ErrorClass:
    """Whether something is missed, false, or in both reports and wrong."""
    if error["candidate"] is None:
        return "missed"
    return "false" if error["reference"] is None else "attribute"


def read_weights(path: Path) -> ErrorWeights:
    """The weights of a file."""
    try:
        return ErrorWeights.model_validate(tomllib.loads(path.read_text("utf-8")))
    except OSError as error:
        raise SettingError(f"cannot read the weights {path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"the weights {path} are not TOML: {error}") from error
    except ValidationError as error:
        fault = explain_validation(error)
        raise SettingError(f"the weights {path} cannot be used: {fault}") from error


def weights_hash(weights: ErrorWeights) -> str:
    """The weights in a few characters, for signatures."""
    return hashlib.sha256(weights.model_dump_json().encode()).hexdigest()[:12]


@dataclass(frozen=True)
class ErrorSeverity(Concordance):
    """The share of all weight that is right: correct / (correct + missed + false + attribute)."""

    weights: str = ""
    """A TOML file; without one, the weights of this package."""

    def __post_init__(self) -> None:
        """Report weights that cannot be used before work begins."""
        _ = self.error_weights

    @property
    def _file(self) -> Path:
        return Path(self.weights or resource_path("metrics/data/error_weights.toml"))

    @cached_property
    def error_weights(self) -> ErrorWeights:
        """The weights themselves."""
        return read_weights(self._file)

    @property
    def unsigned(self) -> frozenset[str]:
        """The weights are signed by their content."""
        return super().unsigned | {"weights"}

    def fingerprint(self) -> dict[str, str]:
        """The models, and these weights in place of concordance's."""
        return super().fingerprint() | {"weights": weights_hash(self.error_weights)}

    def score_compared(self, compared: ReportComparison) -> Score:
        """The weighed errors of one pair."""
        found = self._weighted(compared.parts.values())
        return Score(
            value=found.value, parts=found.parts, evidence=found.evidence, signature=self.signature
        )

    def breakdown(self, compared: ReportComparison) -> list[PartCost]:
        """What each class of errors takes off."""
        return self._weighted(compared.parts.values()).costs()

    def _weighted(self, parts: Iterable[ComparedPart]) -> WeightedEvidence:
        return weighted(evidence_of(parts), self.error_weights)
