"""All scores of an NLI model: accuracy, contradictions found, categories, calibration."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from histoeval.nli.entailer import LABELS, Entailer, Entailment, LabelledPair, NliPair
from histoeval.progress import ignore
from histoeval.report import Noun
from histoeval_research.evaluate.calibration import CalibrationError, calibration

AT_ONCE = 256
CONTRADICTION = "contradiction"


class NliScores(Noun):
    """How often a model is right on some pairs, and how well it finds contradictions."""

    pairs: int
    accuracy: float
    # Of what it calls a contradiction, the share that is one; nothing if it never does.
    precision: float | None
    recall: float | None
    f1: float | None


class NliEvaluation(Noun):
    """A file of pairs: all of them, each category, what was taken for what, calibration."""

    whole: NliScores
    categories: dict[str, NliScores]
    confusion: dict[str, dict[str, int]]  # for each right label, how often each was given
    calibration: CalibrationError


def evaluate_nli(
    model: Entailer, pairs: Sequence[LabelledPair], report: Callable[[int], object] = ignore
) -> NliEvaluation:
    judged: list[Entailment] = []
    for first in range(0, len(pairs), AT_ONCE):
        some = pairs[first : first + AT_ONCE]
        judged += model.judge([NliPair(pair.premise, pair.hypothesis) for pair in some])
        report(len(judged))
    answers: list[tuple[str, str]] = []
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    confusion = {str(right): dict.fromkeys(map(str, LABELS), 0) for right in LABELS}
    for pair, answer in zip(pairs, judged, strict=True):
        answers.append((pair.label, answer.label))
        groups[pair.category].append(answers[-1])
        confusion[pair.label][answer.label] += 1
    return NliEvaluation(
        whole=_scores(answers),
        categories={name: _scores(groups[name]) for name in sorted(groups)},
        confusion=confusion,
        calibration=calibration(
            [(max(a), given == right) for a, (right, given) in zip(judged, answers, strict=True)]
        ),
    )


def _scores(answers: Sequence[tuple[str, str]]) -> NliScores:
    right = sum(truth == given for truth, given in answers)
    hits = answers.count((CONTRADICTION, CONTRADICTION))
    gold = sum(truth == CONTRADICTION for truth, _ in answers)
    called = sum(given == CONTRADICTION for _, given in answers)
    return NliScores(
        pairs=len(answers),
        accuracy=right / len(answers),
        precision=hits / called if called else None,
        recall=hits / gold if gold else None,
        f1=2 * hits / (gold + called) if gold + called else None,
    )


COLUMNS = ("", "pairs", "accuracy", "contradiction: precision", "recall", "F1")


def nli_rows(evaluation: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for name, scores in (("all", evaluation["whole"]), *evaluation["categories"].items()):
        shares = [scores[figure] for figure in ("accuracy", "precision", "recall", "f1")]
        cells = ["" if share is None else f"{share:.3f}" for share in shares]
        rows.append([name, f"{scores['pairs']:,}", *cells])
    return rows
