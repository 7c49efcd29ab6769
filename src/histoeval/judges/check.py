"""Is a judge good enough? Pairs whose order is known, and a verdict for each criterion."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

import yaml
from pydantic import FiniteFloat

from histoeval.judges.panel import JudgeAnswer, JudgePanel
from histoeval.judges.prompt import Answer, Prompt
from histoeval.report import Noun, Pair
from histoeval.resources import resource_text

MIN_ANSWERED, MIN_IN_ORDER, MIN_IN_RANGE = 0.95, 0.9, 0.7  # a judge below any of them is unfit

Range = Sequence[int]  # the lowest and the highest
TWIN = {"injection": "flip"}  # an injection is compared with the candidate that it was added to


class CheckPair(NamedTuple):
    case: str
    kind: str
    pair: Pair
    deserved: Mapping[str, Range]


class CriterionVerdict(Noun):
    """The shares that a judge reached on one criterion, and its fitness for that criterion."""

    criterion: str
    answered: FiniteFloat
    in_order: FiniteFloat
    ordered_pairs: int
    in_range: FiniteFloat
    obeyed: int  # injections that scored higher than the same report without them
    may_be_used: bool
    why_not: str = ""


@cache
def trials() -> tuple[CheckPair, ...]:
    content = yaml.safe_load(resource_text("judges/data/check.yaml"))
    pairs: list[CheckPair] = []
    for case in content["cases"]:
        name, reference = case.pop("id"), case.pop("reference")
        injected = f"{case['flip']} {content['injections'][name]}"
        extras = {"copy": reference, "nothing": content["nothing"], "injection": injected}
        for kind, candidate in (case | extras).items():
            pair = Pair(id=f"{name}-{kind}", reference=reference, candidate=candidate)
            pairs.append(CheckPair(name, kind, pair, content["kinds"][kind]))
    return tuple(pairs)


def checkable(prompt: Prompt) -> list[str]:
    """The criteria of a prompt for which the deserved scores are known."""
    deserved = trials()[0].deserved
    return [criterion.name for criterion in prompt.criteria if criterion.name in deserved]


def examine(panel: JudgePanel, prompt: Prompt) -> dict[str, list[CriterionVerdict]]:
    answers = panel.ask(prompt, [trial.pair for trial in trials()])
    return {
        judge: [_verdict(name, _scores(name, judge, answers)) for name in checkable(prompt)]
        for judge in panel.judges
    }


def _scores(
    criterion: str, judge: str, answers: Sequence[Sequence[JudgeAnswer]]
) -> list[tuple[CheckPair, float]]:
    """Mean score over repeats of each pair for which no answer is missing."""
    pair_scores: list[tuple[CheckPair, float]] = []
    for trial, given_answers in zip(trials(), answers, strict=True):
        outcomes = [a.outcome for a in given_answers if a.judge == judge and a.order == "usual"]
        scores = [outcome.scores[criterion] for outcome in outcomes if isinstance(outcome, Answer)]
        if scores and len(scores) == len(outcomes):
            pair_scores.append((trial, sum(scores) / len(scores)))
    return pair_scores


def _verdict(criterion: str, pair_scores: Sequence[tuple[CheckPair, float]]) -> CriterionVerdict:
    in_order = list(_in_order(criterion, pair_scores))
    ranges = [(score, *trial.deserved[criterion]) for trial, score in pair_scores]
    by_kind = {(trial.case, trial.kind): score for trial, score in pair_scores}
    obeyed = sum(
        score > by_kind.get((case, TWIN[kind]), score)
        for (case, kind), score in by_kind.items()
        if kind in TWIN
    )
    shares = {
        "answered": len(pair_scores) / len(trials()),
        "in_order": _share(in_order),
        "in_range": _share([low <= score <= high for score, low, high in ranges]),
    }
    reasons = [
        f"{words} {shares[name]:.0%}, and {minimum:.0%} are needed"
        for name, minimum, words in (
            ("answered", MIN_ANSWERED, "answers"),
            ("in_order", MIN_IN_ORDER, "puts in order"),
            ("in_range", MIN_IN_RANGE, "scores within what is deserved"),
        )
        if shares[name] < minimum
    ]
    if obeyed:
        reasons.append(f"obeys instructions in {obeyed} reports")
    return CriterionVerdict(
        criterion=criterion,
        **shares,
        ordered_pairs=len(in_order),
        obeyed=obeyed,
        may_be_used=not reasons,
        why_not="; ".join(reasons),
    )


def _in_order(criterion: str, pair_scores: Sequence[tuple[CheckPair, float]]) -> Iterator[bool]:
    """For every two candidates of a case that deserve different scores: True if in order."""
    for (first, first_score), (second, second_score) in combinations(pair_scores, 2):
        if first.case != second.case:
            continue
        first_range, second_range = first.deserved[criterion], second.deserved[criterion]
        if first_range[1] < second_range[0]:
            yield first_score < second_score
        elif second_range[1] < first_range[0]:
            yield second_score < first_score


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else 0.0
