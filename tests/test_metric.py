import copy
import pickle

import pytest
from pydantic import ValidationError

from histoeval import Score, Signature


def test_a_signature_is_one_line_that_names_metric_settings_and_version() -> None:
    signature = Signature(metric="hare", settings={"mode": "paper", "threshold": "0.7"})
    assert str(signature).startswith("hare|mode:paper|threshold:0.7|histoeval:")
    assert "\n" not in str(signature)


def test_json_in_json_out_is_the_same_score() -> None:
    score = Score(
        value=0.5,
        parts={"recall": 0.25},
        evidence={"matched": [{"text": "ER", "cosine": 1.0}]},
        counts=(1, 2),
        signature=Signature(metric="x", settings={"a": "b"}),
    )
    assert Score.model_validate_json(score.model_dump_json()) == score
    assert pickle.loads(pickle.dumps(score)) == score == copy.deepcopy(score)


def test_a_score_is_printed_with_its_scale_and_counts_as_a_number() -> None:
    score = Score(value=0.4751, signature=Signature(metric="x", bounds=(0, 1)))
    assert str(score) == "x = 0.475 (0 to 1)"
    assert float(score) == 0.4751
    assert str(Score(value=2, signature=Signature(metric="x", bounds=(None, None)))) == (
        "x = 2.000 (-infinity to infinity)"
    )
    assert str(Score(value=2, signature=Signature(metric="x"))) == "x = 2.000"


def test_a_notebook_shows_parts_and_errors_and_runs_nothing() -> None:
    score = Score(
        value=0.5,
        parts={"recall": 0.25},
        evidence={"errors": [{"message": "omission: '<script>'"}]},
        signature=Signature(metric="x"),
    )
    shown = score._repr_html_()
    assert 'recall</td><td class="n">0.25' in shown
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown


def test_the_parts_of_a_score_cannot_be_changed() -> None:
    score = Score(value=0.5, parts={"recall": 0.25}, signature=Signature(metric="x"))
    with pytest.raises(TypeError):
        score.parts["recall"] = 1.0  # type: ignore[index]
    with pytest.raises(TypeError):
        score.parts.update(recall=1.0)  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_score_is_a_number(value: float) -> None:
    with pytest.raises(ValidationError):
        Score(value=value, signature=Signature(metric="x"))
