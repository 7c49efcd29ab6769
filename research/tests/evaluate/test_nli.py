"""Figures of an NLI model, held against counts made by hand."""

from collections.abc import Sequence

import pytest

from histoeval.nli.entailer import Entailment, LabelledPair, NliPair
from histoeval_research.evaluate.nli import evaluate_nli, nli_rows

ANSWERS = {
    "e": Entailment(0.8, 0.1, 0.1),
    "n": Entailment(0.1, 0.8, 0.1),
    "c": Entailment(0.1, 0.1, 0.8),
}
LABELS = {"e": "entailment", "n": "neutral", "c": "contradiction"}


class Parrot:
    """Answers what the hypothesis begins with."""

    identity = "parrot"

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        return [ANSWERS[pair.hypothesis[0]] for pair in pairs]


def pairs_of(*told: str) -> list[LabelledPair]:
    """Category, right label and given label, a letter each."""
    return [
        LabelledPair.model_validate(
            {
                "premise": "p",
                "hypothesis": f"{given}{number}",
                "label": LABELS[right],
                "category": category,
            }
        )
        for number, (category, right, given) in enumerate(map(tuple, told))
    ]


def test_accuracy_and_contradictions_are_counted_over_all_and_by_category() -> None:
    pairs = pairs_of("acc", "acc", "ace", "anc", "bee", "bnn", "ben")
    found = evaluate_nli(Parrot(), pairs)
    assert found.whole.accuracy == pytest.approx(4 / 7)
    assert found.whole.precision == pytest.approx(2 / 3)
    assert found.whole.recall == pytest.approx(2 / 3)
    assert found.whole.f1 == pytest.approx(2 / 3)
    assert found.categories["b"].f1 is None
    assert found.categories["b"].accuracy == pytest.approx(2 / 3)
    assert found.confusion["entailment"] == {"entailment": 1, "neutral": 1, "contradiction": 0}
    assert found.calibration.error == pytest.approx(0.8 - 4 / 7)


def test_rows_for_people_leave_open_what_cannot_be_said() -> None:
    told = evaluate_nli(Parrot(), pairs_of("bee", "bnn")).model_dump(mode="json")
    assert nli_rows(told) == [["all", "2", "1.000", "", "", ""], ["b", "2", "1.000", "", "", ""]]
