"""Scores for other tools, whose candidates have one or several references each."""

from collections.abc import Mapping, Sequence

from histoeval.errors import Problem, SettingError
from histoeval.io.results import MetricResult
from histoeval.metric import Metric, Score
from histoeval.metrics.base import equally_long, pair_of, score_pairs

Texts = str | Sequence[str]
References = str | Sequence[str | Sequence[str]]


def best_answers(
    metric: Metric, candidates: Texts, references: References
) -> list[Score | Problem]:
    """Score each candidate; with several references, the best score counts."""
    texts = zip(*equally_long(candidates, references), strict=True)
    if reason := metric.unavailable_reason():
        raise SettingError(f"{metric.name} {reason}")
    by_candidate = []
    for number, (candidate, expected) in enumerate(texts):
        value = expected.tolist() if hasattr(expected, "tolist") else expected
        group = value if isinstance(value, list | tuple) else [value]
        by_candidate.append([pair_of(text, candidate, number=number) for text in group])
    queue = iter(score_pairs([pair for pairs in by_candidate for pair in pairs], metric.score))
    pick = max if metric.higher_is_better else min
    best: list[Score | Problem] = []
    for pairs in by_candidate:
        answers = [next(queue) for _ in pairs]
        if scores := [answer for answer in answers if isinstance(answer, Score)]:
            best.append(pick(scores, key=float))
        else:
            none = Problem("missing_value", "there is no reference", "reference", metric.name)
            best.append(answers[0] if answers else none)
    return best


def explanation(score: Score | MetricResult) -> str:
    """List the errors of a score, one line each, with severity; empty if there are none."""
    lines = [
        f"severity {error.get('severity', '?')}: {error.get('message', error.get('kind'))}"
        for error in score.evidence.get("errors", ())
        if isinstance(error, Mapping)
    ]
    return "\n".join(" ".join(line.split()) for line in lines)
