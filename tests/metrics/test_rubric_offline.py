"""The rubric without a language model."""

import pytest

from histoeval import Pair, Score
from histoeval.align.aligner import LexicalAligner
from histoeval.concordance.rubric import CRITERIA
from histoeval.metrics.concordance import Concordance, RubricOffline, weights_hash
from histoeval.metrics.registry import create
from histoeval.reader.builtin import BuiltinReader

KIDNEY = "Right kidney, nephrectomy: Clear cell renal cell carcinoma, grade 3. pT3a."
PAIRS = {
    "same": (KIDNEY, KIDNEY),
    "benign": (KIDNEY, "Right kidney, nephrectomy: Oncocytoma."),
    "other organ": (KIDNEY, "Colon, biopsy: Tubular adenoma."),
    "nothing": (KIDNEY, ""),
    "gaps": (KIDNEY, "Diagnosis: [insert diagnosis]"),
    "both nothing": ("", ""),
    "emoji": (KIDNEY, "🔬"),
    "more": ("Skin: benign naevus.", "Skin: melanoma with ulceration and necrosis."),
}


@pytest.fixture(scope="module")
def metric(reader: BuiltinReader) -> RubricOffline:
    return RubricOffline(
        name="rubric_offline", reader=reader, aligner=LexicalAligner(), verify=False
    )


@pytest.fixture(scope="module")
def scores(metric: RubricOffline) -> dict[str, Score]:
    pairs = [Pair(id=name, reference=r, candidate=c) for name, (r, c) in PAIRS.items()]
    found = zip(PAIRS, metric.score(pairs), strict=True)
    return {name: score for name, score in found if isinstance(score, Score)}


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_each_criterion_is_a_whole_number_of_its_scale(scores: dict[str, Score], name: str) -> None:
    assert set(scores[name].parts) == set(CRITERIA)
    for criterion, score in scores[name].parts.items():
        assert score.is_integer()
        assert 1 <= score <= CRITERIA[criterion]


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_the_value_is_the_mean_height_of_all_criteria(scores: dict[str, Score], name: str) -> None:
    parts = scores[name].parts
    shares = [
        (parts["critical_finding_concordance"] - 1) / 3,
        (parts["factual_accuracy"] - 1) / 2,
        (parts["factual_completeness"] - 1) / 2,
        (parts["overall_equivalence"] - 1) / 3,
    ]
    assert scores[name].value == pytest.approx(sum(shares) / 4)


@pytest.mark.parametrize("name", ["same", "both nothing"])
def test_the_same_text_gets_full_marks(scores: dict[str, Score], name: str) -> None:
    assert scores[name].parts == CRITERIA
    assert scores[name].value == 1.0


@pytest.mark.parametrize("name", ["benign", "other organ", "nothing", "gaps", "more"])
def test_reasoning_cites_an_error_of_the_evidence(scores: dict[str, Score], name: str) -> None:
    said = scores[name].evidence["reasoning"]
    messages = [error["message"] for error in scores[name].evidence["errors"]]
    assert any(f"{message[0].upper()}{message[1:]}" in said for message in messages)
    assert "\n" not in said


def test_a_contradicted_diagnosis_gets_the_lowest_marks(scores: dict[str, Score]) -> None:
    for name in ("benign", "other organ", "more"):
        parts = scores[name].parts
        assert parts["critical_finding_concordance"] == parts["overall_equivalence"] == 1
    assert scores["nothing"].parts["factual_completeness"] == 1


def test_evidence_is_that_of_concordance(metric: RubricOffline, scores: dict[str, Score]) -> None:
    concordance = Concordance(
        name="concordance", reader=metric.reader, aligner=metric.aligner, verify=False
    )
    pairs = [Pair(id=name, reference=r, candidate=c) for name, (r, c) in PAIRS.items()]
    for name, other in zip(PAIRS, concordance.score(pairs), strict=True):
        evidence = {k: v for k, v in scores[name].evidence.items() if k != "reasoning"}
        assert evidence == other.evidence  # type: ignore[union-attr]


def test_pairs_beside_it_do_not_matter(metric: RubricOffline, scores: dict[str, Score]) -> None:
    for name in ("more", "same"):
        reference, candidate = PAIRS[name]
        (alone,) = metric.score([Pair(id="1", reference=reference, candidate=candidate)])
        assert alone == scores[name]


def test_the_signature_pins_the_weights(metric: RubricOffline) -> None:
    assert f"weights:{weights_hash()}" in str(metric.signature)
    assert create("rubric_offline").unavailable_reason() is not None
