"""All scores of an NLI model: accuracy, contradictions found, categories, calibration."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from histoeval.nli.entailer import LABELS, Entailer, Entailment, LabelledPair, NliPair
from histoeval.progress import ignore
from histoeval.report import Noun
from histoeval_research.evaluate.calibration import CalibrationError, calibration

_AT_ONCE = 256
_CONTRADICTION = "contradiction"


class NliScores(Noun):
    """How often a model is right on some pairs, and how well it finds contradictions."""

    pairs: int
    accuracy: float
    precision: float | None
    """Of what it calls a contradiction, the share that is one; nothing if it never does."""
    recall: float | None
    f1: float | None


class NliEvaluation(Noun):
    """A file of pairs: all of them, each category, what was taken for what, calibration."""

    whole: NliScores
    categories: dict[str, NliScores]
    confusion: dict[str, dict[str, int]]
    """For each right label, how often each was given."""
    calibration: CalibrationError


def evaluate_nli(
    model: Entailer,
    pairs: Sequence[LabelledPair],
    report: Callable[[int], object] = ignore,
) -> NliEvaluation:
    """Judge labelled pairs and compare the answers with their labels."""
    found: list[Entailment] = []
    for first in range(0, len(pairs), _AT_ONCE):
        some = pairs[first : first + _AT_ONCE]
        found += model.judge([NliPair(pair.premise, pair.hypothesis) for pair in some])
        report(len(found))
    return judged(pairs, found)


def judged(pairs: Sequence[LabelledPair], found: Sequence[Entailment]) -> NliEvaluation:
    """The scores, from the answers."""
    answers = [(pair.label, answer.label) for pair, answer in zip(pairs, found, strict=True)]
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for pair, answer in zip(pairs, answers, strict=True):
        groups[pair.category].append(answer)
    confusion = {right: dict.fromkeys(LABELS, 0) for right in LABELS}
    for right, given in answers:
        confusion[right][given] += 1
    sure = [
        (max(answer), answer.label == pair.label) for pair, answer in zip(pairs, found, strict=True)
    ]
    return NliEvaluation(
        whole=_scores(answers),
        categories={name: _scores(groups[name]) for name in sorted(groups)},
        confusion={right: {str(k): n for k, n in row.items()} for right, row in confusion.items()},
        calibration=calibration(sure),
    )


def _scores(answers: Sequence[tuple[str, str]]) -> NliScores:
    right = sum(truth == given for truth, given in answers)
    hits = sum(truth == given == _CONTRADICTION for truth, given in answers)
    gold = sum(truth == _CONTRADICTION for truth, _ in answers)
    called = sum(given == _CONTRADICTION for _, given in answers)
    return NliScores(
        pairs=len(answers),
        accuracy=right / len(answers),
        precision=hits / called if called else None,
        recall=hits / gold if gold else None,
        f1=2 * hits / (gold + called) if gold + called else None,
    )


COLUMNS = ("", "pairs", "accuracy", "contradiction: precision", "recall", "F1")


def nli_rows(evaluation: Mapping[str, Any]) -> list[list[str]]:
    """A row for all pairs and for each category, of scores as JSON has them."""
    named = [("all", evaluation["whole"]), *evaluation["categories"].items()]
    figures = ("accuracy", "precision", "recall", "f1")
    return [
        [name, f"{scores['pairs']:,}", *(_share(scores[figure]) for figure in figures)]
        for name, scores in named
    ]


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
