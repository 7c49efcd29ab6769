"""Errors weighed by severity: what they weigh, where the weights come from, and what is shown."""

from pathlib import Path

import pytest

from histoeval import Explanation, InputError, Pair, Score
from histoeval.align.aligner import LexicalAligner
from histoeval.metrics.error_severity import ErrorSeverity
from histoeval.reader.builtin import BuiltinReader
from histoeval.resources import resource_text

KIDNEY = "Right kidney, nephrectomy: Clear cell renal cell carcinoma, grade 3. pT3a."
OTHERS = {
    "same": KIDNEY,
    "shorter": "Right kidney, nephrectomy: Clear cell renal cell carcinoma, grade 3.",
    "grade": "Right kidney, nephrectomy: Clear cell renal cell carcinoma, grade 1. pT3a.",
    "side": "Left kidney, nephrectomy: Clear cell renal cell carcinoma, grade 3. pT3a.",
    "benign": "Right kidney, nephrectomy: Oncocytoma.",
    "elsewhere": "Colon, biopsy: Tubular adenoma.",
    "more": f"{KIDNEY} Metastatic carcinoma in three of ten lymph nodes.",
}


def made(reader: BuiltinReader, weights: str = "") -> ErrorSeverity:
    models = {"reader": reader, "aligner": LexicalAligner()}
    return ErrorSeverity(name="error_severity", **models, verify=False, weights=weights)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def scores(reader: BuiltinReader) -> dict[str, Score]:
    metric = made(reader)
    pairs = [Pair(id=name, reference=KIDNEY, candidate=text) for name, text in OTHERS.items()]
    answers = zip(OTHERS, metric.score(pairs), strict=True)
    return {name: score for name, score in answers if isinstance(score, Score)}


def test_worse_errors_cost_more(scores: dict[str, Score]) -> None:
    order = ["same", "shorter", "side", "benign", "elsewhere"]
    values = [scores[name].value for name in order]
    assert values == sorted(values, reverse=True)
    assert (values[0], values[-1]) == (1.0, 0.0)
    assert len(set(values)) == len(values)


def test_the_value_is_the_share_of_all_weight_that_is_right(scores: dict[str, Score]) -> None:
    for score in scores.values():
        total = sum(score.parts.values())
        assert score.value == pytest.approx(score.parts["correct"] / total)
        errors = score.evidence["errors"]
        for kind in ("missed", "false", "attribute"):
            weights = [error["weight"] for error in errors if error["class"] == kind]
            assert score.parts[kind] == pytest.approx(sum(weights))


def test_errors_are_missed_false_or_wrong(scores: dict[str, Score]) -> None:
    assert {e["class"] for e in scores["shorter"].evidence["errors"]} == {"missed"}
    assert {e["class"] for e in scores["side"].evidence["errors"]} == {"attribute"}
    assert {e["class"] for e in scores["more"].evidence["errors"]} == {"false"}


def test_what_the_classes_cost_adds_up(reader: BuiltinReader) -> None:
    found = made(reader).explain(Pair(id="1", reference=KIDNEY, candidate=OTHERS["benign"]))
    assert isinstance(found, Explanation)
    assert sum(each.cost for each in found.breakdown) == pytest.approx(1 - found.value)


def test_weights_of_a_file_count_and_are_signed(reader: BuiltinReader, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    shipped = resource_text("metrics/data/error_weights.toml")
    file.write_text(shipped.replace("critical = 1.0", "critical = 9"), "utf-8")
    usual, mine = made(reader), made(reader, str(file))
    assert mine(KIDNEY, OTHERS["side"]).value < usual(KIDNEY, OTHERS["side"]).value
    assert str(usual.signature) != str(mine.signature)
    assert str(file) not in str(mine.signature)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "severity"),
        ("[severity", "not TOML"),
        ("[severity]\ncritical = -1\n[class]\n[agreed]\n", "greater than or equal to 0"),
        ("[severity]\ncritical = 1\n[class]\n[agreed]\nfinding = 1\n", "major, minor, moderate"),
    ],
)
def test_unusable_weights_are_refused(tmp_path: Path, content: str, complaint: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(content, "utf-8")
    with pytest.raises(InputError, match=complaint):
        ErrorSeverity(name="error_severity", weights=str(file))
    with pytest.raises(InputError, match="cannot read"):
        ErrorSeverity(name="error_severity", weights=str(tmp_path / "none.toml"))
