"""From the answers of judges to one score for a pair, or the reason why there is none."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from histoeval.errors import Problem
from histoeval.judges.answer import Answer
from histoeval.judges.panel import JudgeAnswer
from histoeval.judges.prompt import Prompt
from histoeval.judges.question import MissingAnswer
from histoeval.metric import Score, Signature

SPREAD = "spread"
_MAX_NAMED = 3
"""Missing answers that are named in one message."""


def score_of(
    prompt: Prompt, given: Sequence[JudgeAnswer], metric: str, signature: Signature
) -> Score | Problem:
    """The mean of all answers; if one is missing there is no score, since nothing is imputed.

    Answers with the reports swapped are a check, and no part of the score.
    """
    counted = [each for each in given if each.order == "usual"]
    if missing := [each for each in counted if isinstance(each.outcome, MissingAnswer)]:
        return missing_problem(missing, metric)
    scores = [each.outcome.scores for each in counted if isinstance(each.outcome, Answer)]
    overall = [prompt.overall(each) for each in scores]
    parts = {
        name: sum([each[name] for each in scores]) / len(scores) for name, _, _ in prompt.scales
    }
    if len(scores) > 1:
        parts |= {f"{name}_{SPREAD}": stdev(s[name] for s in scores) for name in list(parts)}
        parts[SPREAD] = stdev(overall)
    return Score(
        value=fmean(overall), parts=parts, evidence=_evidence(prompt, given), signature=signature
    )


def missing_problem(missing: Sequence[JudgeAnswer], metric: str) -> Problem:
    """The problem of a pair some of whose answers are missing."""
    reasons = [_missing(each) for each in missing[:_MAX_NAMED]]
    if len(missing) > _MAX_NAMED:
        reasons.append(f"and {len(missing) - _MAX_NAMED} more")
    first = missing[0].outcome
    assert isinstance(first, MissingAnswer)
    return Problem(code=first.code, metric=metric, message="; ".join(reasons))


def _missing(given: JudgeAnswer) -> str:
    assert isinstance(given.outcome, MissingAnswer)
    model = given.judge.rpartition("@")[0]
    which = f", repeat {given.repeat + 1}" if given.repeat else ""
    return f"{model}{which}: {given.outcome.message}"


def _evidence(prompt: Prompt, given: Sequence[JudgeAnswer]) -> dict[str, Any]:
    """The reasoning, all answers if there are several, and contradictions within one."""
    answers = [(each, each.outcome) for each in given if isinstance(each.outcome, Answer)]
    found: dict[str, Any] = {"reasoning": answers[0][1].reasoning}
    if len(answers) > 1:
        found["answers"] = [
            {
                "judge": each.judge,
                "repeat": each.repeat,
                "order": each.order,
                "scores": answer.scores,
                "reasoning": answer.reasoning,
            }
            for each, answer in answers
        ]
    broken = [
        complaint
        for _, answer in answers
        for rule in prompt.consistency
        if (complaint := rule.broken_by(answer.scores)) is not None
    ]
    return found | ({"inconsistent": broken} if broken else {})
