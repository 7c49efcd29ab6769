"""Candidates scored as other tools hand them over: with one reference each, or with several."""

from collections.abc import Mapping, Sequence
from typing import Any

from histoeval.errors import Problem, SettingError
from histoeval.io.results import MetricResult
from histoeval.metric import Metric, Score
from histoeval.metrics.base import listed_texts, pair_of
from histoeval.report import Pair

Texts = str | Sequence[str]
References = str | Sequence[str | Sequence[str]]


def best_answers(
    metric: Metric, candidates: Texts, references: References
) -> list[Score | Problem]:
    """The answer for each candidate; of several references, for the one that it does best on."""
    ours, theirs = listed_texts(candidates, "candidates"), listed_texts(references, "references")
    if len(ours) != len(theirs):
        raise SettingError(
            f"{len(ours)} candidates for {len(theirs)} references; there must be one for each"
        )
    if reason := metric.unavailable_reason():
        raise SettingError(f"{metric.name} {reason}")
    pairs = [
        [pair_of(text, candidate, number=number) for text in _listed(expected)]
        for number, (candidate, expected) in enumerate(zip(ours, theirs, strict=True))
    ]
    usable = [pair for each in pairs for pair in each if isinstance(pair, Pair)]
    scores = iter(metric.score(usable) if usable else ())
    return [
        best(metric, [next(scores) if isinstance(pair, Pair) else pair for pair in each])
        for each in pairs
    ]


def best(metric: Metric, answers: Sequence[Score | Problem]) -> Score | Problem:
    """The best score of one candidate; where there is none, the first problem."""
    scores = [each for each in answers if isinstance(each, Score)]
    if scores:
        pick = max if metric.higher_is_better else min
        return pick(scores, key=lambda each: each.value)
    problems = [each for each in answers if isinstance(each, Problem)]
    none = Problem("missing_value", "there is no reference", "reference", metric.name)
    return problems[0] if problems else none


def explanation(score: Score | MetricResult) -> str:
    """The errors that a score lists, a line each with their severity; empty where it lists none."""
    errors = [each for each in score.evidence.get("errors", ()) if isinstance(each, Mapping)]
    lines = [
        f"severity {each.get('severity', '?')}: {each.get('message', each.get('kind'))}"
        for each in errors
    ]
    return "\n".join(" ".join(line.split()) for line in lines)


def _listed(expected: Any) -> list[Any]:
    """The references of one candidate; what is no text is found out with its pair."""
    plain = expected.tolist() if hasattr(expected, "tolist") else expected
    return list(plain) if isinstance(plain, list | tuple) else [plain]
