"""Matches and errors between two reports, for a person to check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from histoeval.report import Entity


class ErrorKind(StrEnum):
    """What kind of error a candidate makes."""

    OMISSION = "omission"
    INVENTION = "invention"
    CONTRADICTION = "contradiction"
    WRONG_DIAGNOSIS = "wrong_diagnosis"
    OVERCALL = "overcall"
    UNDERCALL = "undercall"
    WRONG_SITE = "wrong_site"
    WRONG_LATERALITY = "wrong_laterality"
    WRONG_GRADE = "wrong_grade"
    WRONG_STAGE = "wrong_stage"
    MARKER_FLIP = "marker_flip"
    MEASUREMENT_MISMATCH = "measurement_mismatch"


class Severity(IntEnum):
    """How bad an error is: from a detail to one that could harm a patient."""

    MINOR = 1
    MODERATE = 2
    MAJOR = 3
    CRITICAL = 4


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """Two entities that mean the same, or nearly so."""

    part: str
    reference: Entity
    candidate: Entity
    similarity: float


@dataclass(frozen=True, slots=True)
class ReportError:
    """An error: its kind, how bad it is, and where it is in the two reports."""

    kind: ErrorKind
    part: str
    severity: Severity
    reference: Entity | None
    candidate: Entity | None

    @classmethod
    def one_sided(
        cls, kind: ErrorKind, part: str, severity: Severity, entity: Entity
    ) -> ReportError:
        """An omission, of which only the reference has the entity, or an invention."""
        if kind == ErrorKind.OMISSION:
            return cls(kind, part, severity, entity, None)
        return cls(kind, part, severity, None, entity)

    @property
    def message(self) -> str:
        """The error in words."""
        kind = self.kind.replace("_", " ")
        if self.reference is None:
            return f"{kind}: {_quoted(self.candidate)} is not in the reference"
        if self.candidate is None:
            return f"{kind}: {_quoted(self.reference)} is not in the candidate"
        return f"{kind}: {_quoted(self.candidate)} for {_quoted(self.reference)}"


@dataclass(frozen=True, slots=True)
class ComparedPart:
    """One part of the comparison: its value, or None where neither report mentions it."""

    value: float | None
    matched: tuple[EntityMatch, ...] = ()
    mistakes: tuple[ReportError, ...] = field(default=())


NOT_MENTIONED = ComparedPart(None)


def evidence_of(parts: Iterable[ComparedPart]) -> dict[str, Any]:
    """The evidence of all parts as it stands in `scores.jsonl`; the worst errors come first."""
    every = list(parts)
    mistakes = dict.fromkeys(mistake for part in every for mistake in part.mistakes)
    return {
        "matches": [
            {
                "part": match.part,
                "reference": _mention(match.reference),
                "candidate": _mention(match.candidate),
                "similarity": round(match.similarity, 4),
            }
            for part in every
            for match in part.matched
        ],
        "errors": [
            {
                "kind": str(mistake.kind),
                "part": mistake.part,
                "severity": int(mistake.severity),
                "reference": _mention(mistake.reference),
                "candidate": _mention(mistake.candidate),
                "message": mistake.message,
            }
            for mistake in sorted(mistakes, key=lambda mistake: -mistake.severity)
        ],
    }


def _mention(entity: Entity | None) -> dict[str, Any] | None:
    return None if entity is None else entity.model_dump(mode="json", exclude={"score"})


def _quoted(entity: Entity | None) -> str:
    if entity is None:
        return "nothing"
    phrase = " ".join(entity.text.split())
    return f"'{phrase}'" if entity.assertion == "present" else f"'{phrase}' ({entity.assertion})"
