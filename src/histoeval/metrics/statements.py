"""Statement by statement: how much of each report does the other one bear out?

In the manner of RadFact (Bannur et al. 2024, MAIRA-2), whose language models divide radiology
reports into phrases and verify each against the other report. Here sentences and lines are the
statements, and the NLI model of this package verifies them; docs/metrics.md has what differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from histoeval.concordance.statements import stated
from histoeval.concordance.verification import (
    ENTAILED,
    VerifiedStatement,
    answers_to,
    questions_between,
)
from histoeval.errors import Problem
from histoeval.metric import Score, Signature
from histoeval.metrics.base import STRICT, EnglishMetric
from histoeval.report import Pair

Measure = Literal["f1", "precision", "recall"]
SUPPORTED, CONTRADICTED, NEITHER = VERDICTS = ("supported", "contradicted", "neither")
NOTHING_STATED = "neither report has a statement that can be verified"

Statements = Sequence[Mapping[str, Any]]  # of one report, each with its verdict


@dataclass(frozen=True, config=STRICT)
class StatementF1(EnglishMetric):
    """Precision, recall or F1 of statements, with a verdict on each as evidence."""

    nli: Any = None
    measure: Measure = "f1"
    models: ClassVar[tuple[str, ...]] = ("nli",)

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        questions_of = [questions_between(stated(p.reference), stated(p.candidate)) for p in pairs]
        answers = answers_to(self.nli, questions_of)
        scores: list[Score | Problem] = []
        for pair, questions in zip(pairs, questions_of, strict=True):
            verified = questions.answered(answers)
            reference = [_evidence_of(statement) for statement in verified.reference]
            candidate = [_evidence_of(statement) for statement in verified.candidate]
            if not (reference or candidate) and pair.reference != pair.candidate:
                scores.append(self._failed(NOTHING_STATED))
                continue
            scores.append(statement_score(reference, candidate, self.measure, self.signature))
        return scores


def _evidence_of(statement: VerifiedStatement) -> dict[str, Any]:
    verdict = CONTRADICTED if statement.is_contradicted else NEITHER
    if statement.answer.entailment >= ENTAILED:
        verdict = SUPPORTED
    text, start = statement.statement.text, statement.statement.span.start
    evidence = {
        "text": text,
        "start": start,
        "end": start + len(text),
        "verdict": verdict,
        "entailment": round(statement.answer.entailment, 4),
    }
    if statement.nearest and verdict != NEITHER:
        evidence["by"] = statement.nearest.text
    return evidence


def shares(reference: Statements, candidate: Statements) -> dict[str, float]:
    """Share of supported statements; two empty reports agree fully, one empty report not at all."""
    if not reference and not candidate:
        return {"f1": 1.0, "precision": 1.0, "recall": 1.0, "contradicted": 0.0}
    precision, recall = (_share(side, SUPPORTED) for side in (candidate, reference))
    total = precision + recall
    return {
        "f1": 2 * precision * recall / total if total else 0.0,
        "precision": precision,
        "recall": recall,
        "contradicted": _share([*reference, *candidate], CONTRADICTED),
    }


def _share(side: Statements, verdict: str) -> float:
    return sum(statement["verdict"] == verdict for statement in side) / len(side) if side else 0.0


def statement_score(
    reference: Statements, candidate: Statements, measure: Measure, signature: Signature
) -> Score:
    parts = shares(reference, candidate)
    evidence = {"reference": reference, "candidate": candidate}
    return Score(value=parts[measure], parts=parts, evidence=evidence, signature=signature)
