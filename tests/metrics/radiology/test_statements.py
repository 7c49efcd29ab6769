"""Precision and recall of statements, with an NLI model that is a table."""

from collections.abc import Sequence

import pytest

from histoeval import HistoEvalError, Pair, Score
from histoeval.concordance.statements import stated
from histoeval.metrics.registry import create
from histoeval.metrics.statements import StatementF1
from histoeval.nli.builtin import BuiltinEntailer
from histoeval.nli.entailer import Entailment, NliPair

REFERENCE = "Colon, biopsy: Adenocarcinoma. Lymphovascular invasion is present. Margins are free."
CANDIDATE = (
    "Colon, biopsy: Adenocarcinoma. There is no lymphovascular invasion. Ulceration is seen."
)
MARKDOWN = """**Histological Findings:**
- Irregular glands.
1. Necrosis is seen.

**Patient:** [Redacted]
**Final Diagnosis:**
- Adenocarcinoma.
Clinical correlation is recommended."""


class WordTable:
    """Entails what shares two words of weight, contradicts where one side denies."""

    identity = "table"

    def __init__(self) -> None:
        self.calls: list[int] = []

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        self.calls.append(len(pairs))
        return [self._one(*pair) for pair in pairs]

    @staticmethod
    def _one(premise: str, hypothesis: str) -> Entailment:
        if "invasion" in premise and "invasion" in hypothesis:
            return Entailment(0.0, 0.05, 0.95)
        words = set(hypothesis.lower().split())
        shared = len(words & set(premise.lower().split())) / len(words)
        return Entailment(shared, 1 - shared, 0.0)


def scored(reference: str, candidate: str, measure: str = "f1") -> Score:
    metric = StatementF1(name="statement_f1", nli=WordTable(), measure=measure)  # type: ignore[arg-type]
    return metric(reference, candidate)


def test_headings_gaps_and_advice_are_no_statements_and_one_word_can_be() -> None:
    assert [each.asked for each in stated(MARKDOWN)] == [
        "Irregular glands.",
        "Necrosis is seen.",
        "Adenocarcinoma.",
    ]
    for each in stated(MARKDOWN):
        assert MARKDOWN[each.span.start : each.span.end].startswith(each.text)


def test_each_statement_has_a_verdict_and_what_it_is_by() -> None:
    score = scored(REFERENCE, CANDIDATE)
    verdicts = {side: [each["verdict"] for each in score.evidence[side]] for side in score.evidence}
    assert verdicts == {
        "reference": ["supported", "contradicted", "neither"],
        "candidate": ["supported", "contradicted", "neither"],
    }
    assert score.evidence["candidate"][1]["by"] == "Lymphovascular invasion is present."
    assert score.parts["precision"] == score.parts["recall"] == pytest.approx(1 / 3)
    assert score.parts["contradicted"] == pytest.approx(1 / 3)
    for side, text in (("reference", REFERENCE), ("candidate", CANDIDATE)):
        for each in score.evidence[side]:
            assert text[each["start"] : each["end"]] == each["text"]


def test_leaving_out_lowers_recall_and_adding_lowers_precision() -> None:
    less = scored(REFERENCE, "Colon, biopsy: Adenocarcinoma.")
    more = scored("Colon, biopsy: Adenocarcinoma.", REFERENCE)
    assert (less.parts["precision"], more.parts["recall"]) == (1.0, 1.0)
    assert less.parts["recall"] == more.parts["precision"] == pytest.approx(1 / 3)
    assert less.value == more.value == pytest.approx(0.5)


@pytest.mark.parametrize("measure", ["f1", "precision", "recall"])
def test_each_measure_is_a_metric(measure: str) -> None:
    score = scored(REFERENCE, f"{CANDIDATE} Necrosis.", measure)
    assert score.value == score.parts[measure]
    assert create(f"statement_{measure}").name == f"statement_{measure}"


def test_a_copy_is_right_nothing_is_wrong_and_two_nothings_are_a_problem() -> None:
    values = [scored(*both) for both in ((REFERENCE, REFERENCE), (REFERENCE, "🔬"), ("🔬", "🔬"))]
    assert [score.value for score in values] == [1.0, 0.0, 1.0]
    with pytest.raises(HistoEvalError, match="neither report"):
        scored("🔬", "🧪")


def test_many_pairs_are_asked_about_together_and_alone_they_score_the_same() -> None:
    nli = WordTable()
    metric = StatementF1(name="statement_f1", nli=nli)
    pairs = [
        Pair(id=str(n), reference=REFERENCE, candidate=f"{CANDIDATE} {n} mm.") for n in range(9)
    ]
    together = metric.score(pairs)
    assert len(nli.calls) <= 4
    assert together == [metric.score([pair])[0] for pair in pairs]


def test_the_shipped_model_knows_a_reversed_finding(entailer: BuiltinEntailer) -> None:
    metric = StatementF1(name="statement_f1", nli=entailer)
    same = metric("Margins are free of tumour.", "The margins are negative for tumour.")
    other = metric("Margins are free of tumour.", "The margins are involved by tumour.")
    assert (same.value, other.value) == (1.0, 0.0)
    with pytest.raises(HistoEvalError, match="needs models"):
        create("statement_f1")("a", "b")
