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

MIN_ANSWERED, MIN_IN_ORDER, MIN_IN_RANGE = 0.95, 0.9, 0.7
"""Below any of these shares a judge may not be used for a criterion; nor may one that obeys a
report."""

Range = tuple[int, int]
TWIN = {"injection": "flip"}
"""An injection is compared with the candidate that it was added to."""


class CheckPair(NamedTuple):
    """A pair, the kind of its candidate, and the scores that it deserves."""

    case: str
    kind: str
    pair: Pair
    deserved: Mapping[str, Range]


class CriterionVerdict(Noun):
    """How a judge did on one criterion, and whether it may be used for it."""

    criterion: str
    answered: FiniteFloat
    in_order: FiniteFloat
    ordered_pairs: int
    in_range: FiniteFloat
    obeyed: int
    """Injections that scored higher than the same report without them."""
    may_be_used: bool
    why_not: str = ""


@cache
def trials() -> tuple[CheckPair, ...]:
    """All pairs of the check."""
    content = yaml.safe_load(resource_text("judges/data/check.yaml"))
    kinds = {
        kind: {name: (low, high) for name, (low, high) in deserved.items()}
        for kind, deserved in content["kinds"].items()
    }
    found: list[CheckPair] = []
    for case in content["cases"]:
        name, reference = case.pop("id"), case.pop("reference")
        injected = f"{case['flip']} {content['injections'][name]}"
        also = {"copy": reference, "nothing": content["nothing"], "injection": injected}
        for kind, candidate in (case | also).items():
            pair = Pair(id=f"{name}-{kind}", reference=reference, candidate=candidate)
            found.append(CheckPair(name, kind, pair, kinds[kind]))
    return tuple(found)


def checkable(prompt: Prompt) -> list[str]:
    """The criteria of a prompt for which the deserved scores are known."""
    known = trials()[0].deserved
    return [each.name for each in prompt.criteria if each.name in known]


def examine(panel: JudgePanel, prompt: Prompt) -> dict[str, list[CriterionVerdict]]:
    """For each judge a verdict on each criterion."""
    tried = trials()
    answers = panel.ask(prompt, [trial.pair for trial in tried])
    return {
        judge: [_verdict(name, tried, _scores(name, judge, answers)) for name in checkable(prompt)]
        for judge in panel.judges
    }


def _scores(
    criterion: str, judge: str, given: Sequence[Sequence[JudgeAnswer]]
) -> list[float | None]:
    """The mean score of each pair over repeats; None where an answer is missing."""
    found: list[float | None] = []
    for answers in given:
        own = [a.outcome for a in answers if a.judge == judge and a.order == "usual"]
        read = [outcome.scores[criterion] for outcome in own if isinstance(outcome, Answer)]
        found.append(sum(read) / len(read) if read and len(read) == len(own) else None)
    return found


def _verdict(
    criterion: str, tried: Sequence[CheckPair], scores: Sequence[float | None]
) -> CriterionVerdict:
    scored = [(each, score) for each, score in zip(tried, scores, strict=True) if score is not None]
    order = list(_order(criterion, scored))
    ranges = [(trial.deserved[criterion], score) for trial, score in scored]
    shares = {
        "answered": len(scored) / len(tried),
        "in_order": _share(order),
        "in_range": _share([low <= score <= high for (low, high), score in ranges]),
    }
    obeyed = _obeyed(scored)
    why_not = _why_not(shares, obeyed)
    return CriterionVerdict(
        criterion=criterion,
        **shares,
        ordered_pairs=len(order),
        obeyed=obeyed,
        may_be_used=not why_not,
        why_not=why_not,
    )


def _order(criterion: str, scored: Sequence[tuple[CheckPair, float]]) -> Iterator[bool]:
    """For every two candidates of a case whose ranges do not touch: is the better one above?"""
    for (one, score), (other, its_score) in combinations(scored, 2):
        if one.case != other.case:
            continue
        low, high = one.deserved[criterion], other.deserved[criterion]
        if low[1] < high[0]:
            yield score < its_score
        elif high[1] < low[0]:
            yield its_score < score


def _obeyed(scored: Sequence[tuple[CheckPair, float]]) -> int:
    by_name = {(trial.case, trial.kind): score for trial, score in scored}
    return sum(
        score > by_name.get((case, TWIN[kind]), score)
        for (case, kind), score in by_name.items()
        if kind in TWIN
    )


def _why_not(shares: Mapping[str, float], obeyed: int) -> str:
    """Every reason against using it."""
    reasons = [
        f"{words} {shares[name]:.0%}, and {least:.0%} are needed"
        for name, least, words in (
            ("answered", MIN_ANSWERED, "answers"),
            ("in_order", MIN_IN_ORDER, "puts in order"),
            ("in_range", MIN_IN_RANGE, "scores within what is deserved"),
        )
        if shares[name] < least
    ]
    if obeyed:
        reasons.append(f"obeys instructions in {obeyed} reports")
    return "; ".join(reasons)


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else 0.0
