"""What comes of putting a judge beside experts: figures, mappings, disagreements, files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from histoeval.agreement.judge_alignment import AgreementFigures, CriterionAlignment, ScoreGap
from histoeval.io.writing import make_folder, write_json, write_text, writing_to
from histoeval.judges.alignment import Alignment, alignment_text, models_of
from histoeval.run.alignment.experts import ExpertScores
from histoeval.run.results import Frames
from histoeval.version import __version__

ALIGNMENT, FIGURES = "alignment.yaml", "alignment.json"


@dataclass(frozen=True)
class AlignedMetric:
    """One metric beside experts: what each criterion comes to, and what it cost."""

    metric: str
    signature: str
    criteria: tuple[CriterionAlignment, ...]
    gaps: tuple[ScoreGap, ...]
    """Where it and the experts differ, the worst first."""
    usage: Mapping[str, Any]
    """By judge: requests, tokens, seconds, cost."""


@dataclass(frozen=True, repr=False)
class JudgeAgreement(Frames):
    """A judge and the free baseline beside experts; `alignment` is what brings it closer."""

    judge: AlignedMetric
    baseline: AlignedMetric | None
    alignment: Alignment
    notes: tuple[str, ...]

    @property
    def metrics(self) -> tuple[AlignedMetric, ...]:
        """The judge, and the baseline where there is one."""
        return (self.judge,) if self.baseline is None else (self.judge, self.baseline)

    def records(self) -> Iterator[dict[str, Any]]:
        """A row for each criterion and metric, as it is and aligned."""
        for metric in self.metrics:
            for each in metric.criteria:
                for state, found in (("as it is", each.before), ("aligned", each.after)):
                    if found is not None:
                        about = {"criterion": each.criterion, "metric": metric.metric}
                        yield about | {"scores": state, "pairs": each.pairs} | _flat(found)

    def __repr__(self) -> str:
        names = ", ".join(each.criterion for each in self.judge.criteria)
        experts = self.alignment.experts["name"]
        return f"<JudgeAgreement of {self.judge.metric} with {experts}: {names}>"

    def to_dict(self) -> dict[str, Any]:
        """Everything as it stands in `alignment.json`."""
        return {
            "histoeval": __version__,
            "experts": dict(self.alignment.experts),
            "metrics": {
                each.metric: {
                    "signature": each.signature,
                    "usage": dict(each.usage),
                    "criteria": [one.model_dump(mode="json") for one in each.criteria],
                    "disagreements": [one.model_dump(mode="json") for one in each.gaps],
                }
                for each in self.metrics
            },
            "notes": list(self.notes),
        }

    def write(self, folder: str | Path) -> Path:
        """Write `alignment.yaml`, which `judge --alignment` takes, and `alignment.json`."""
        home = Path(folder)
        with writing_to(home):
            make_folder(home)
            write_text(home / ALIGNMENT, alignment_text(self.alignment))
            write_json(home / FIGURES, self.to_dict())
        return home / ALIGNMENT


def _flat(found: AgreementFigures) -> dict[str, Any]:
    return {
        f"{name}{end}": value
        for name in AgreementFigures.model_fields
        for each in [getattr(found, name)]
        for end, value in (("", each.value), (".low", each.low), (".high", each.high))
    }


def alignment_of(judge: AlignedMetric, experts: ExpertScores) -> Alignment:
    """What `judge --alignment` takes, with what it was fitted on."""
    signed = dict(part.partition(":")[::2] for part in judge.signature.split("|"))
    return Alignment(
        metric=judge.metric,
        prompt=signed.get("prompt", ""),
        judge=models_of(signed.get("judge", "")),
        experts={
            "name": experts.name,
            "sha256": experts.sha256,
            "columns": {name: list(each) for name, each in experts.columns.items()},
        },
        criteria={each.criterion: each.mapping for each in judge.criteria},
        fitted={
            each.criterion: {
                "pairs": each.pairs,
                "cases": each.cases,
                "offset": each.offset.value,
                "before": _values(each.before),
                "after": None if each.after is None else _values(each.after),
            }
            | ({"not_fitted": each.reason} if each.reason else {})
            for each in judge.criteria
        },
    )


def _values(found: AgreementFigures) -> dict[str, Any]:
    return {
        name: None if (value := getattr(found, name).value) is None else round(value, 4)
        for name in AgreementFigures.model_fields
    }
