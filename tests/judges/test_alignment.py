"""Alignments: read strictly, applied with raw scores beside, refused where they do not fit."""

from pathlib import Path

import pytest

from histoeval import InputError, Score, SettingError, Signature
from histoeval.judges.alignment import (
    Alignment,
    ScoreMapping,
    alignment_text,
    models_of,
    read_alignment,
)
from histoeval.metrics.registry import create

SCALES = {
    "critical_finding_concordance": 4,
    "factual_accuracy": 3,
    "factual_completeness": 3,
    "overall_equivalence": 4,
}


def alignment(metric: str = "rubric_offline", **criteria: ScoreMapping) -> Alignment:
    every = {name: ScoreMapping(low=1, high=top) for name, top in SCALES.items()}
    return Alignment(metric=metric, criteria=every | criteria)


def test_every_kind_stays_on_the_scale() -> None:
    offset = ScoreMapping(kind="offset", low=1, high=4, offset=0.8)
    steps = ScoreMapping(kind="thresholds", low=1, high=4, thresholds=(1.5, 1.5, 3.5))
    curve = ScoreMapping(kind="curve", low=1, high=4, at=(1, 3), value=(2, 4))
    assert [offset(score) for score in (1, 3.5)] == [1.8, 4]
    assert [steps(score) for score in (1, 2, 4)] == [1, 3, 4]
    assert [curve(score) for score in (1, 2, 4)] == [2, 3, 4]
    assert ScoreMapping(low=1, high=4)(2.5) == 2.5


@pytest.mark.parametrize(
    "wrong",
    [
        {"low": 4, "high": 1},
        {"low": 1, "high": 4, "kind": "curve"},
        {"low": 1, "high": 4, "thresholds": (2, 1)},
        {"low": 1, "high": 4, "at": (1, 1), "value": (1, 2)},
        {"low": 1, "high": 4, "at": (1, 2), "value": (2, 1)},
    ],
)
def test_mappings_that_fall_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"rise|fall|curve"):
        ScoreMapping.model_validate(wrong)


def test_the_scores_of_the_judge_stay_beside_the_aligned_ones() -> None:
    moved = alignment(overall_equivalence=ScoreMapping(kind="offset", low=1, high=4, offset=1))
    parts = dict.fromkeys(SCALES, 1.0) | {"spread": 0.5}
    score = Score(value=0.0, parts=parts, signature=Signature(metric="rubric_offline"))
    found = moved.applied(score)
    assert found.parts["overall_equivalence"] == 2
    assert found.parts["overall_equivalence_raw"] == 1
    assert found.parts["spread"] == 0.5
    assert found.value == pytest.approx(1 / 12)
    assert found.parts["value_raw"] == 0.0


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = alignment(factual_accuracy=ScoreMapping(kind="offset", low=1, high=3, offset=0.25))
    file = tmp_path / "alignment.yaml"
    file.write_text(alignment_text(written), "utf-8")
    assert read_alignment(file) == written
    assert written.identity != alignment().identity


@pytest.mark.parametrize(
    "content", ["", "a: 1", "metric: m\ncriteria: {c: {low: 3, high: 1}}", "[", "🙂"]
)
def test_files_that_are_none_are_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "alignment.yaml"
    file.write_text(content, "utf-8")
    with pytest.raises(InputError, match="alignment"):
        read_alignment(file)
    with pytest.raises(InputError, match="cannot read"):
        read_alignment(tmp_path / "none.yaml")


def test_it_is_signed_and_refused_for_another_metric(tmp_path: Path) -> None:
    file = tmp_path / "alignment.yaml"
    file.write_text(alignment_text(alignment()), "utf-8")
    aligned = create(f"rubric_offline:alignment={file}")
    assert f"alignment:{alignment().identity}" in str(aligned.signature)
    assert "alignment" not in str(create("rubric_offline").signature)
    with pytest.raises(SettingError, match="fitted to the metric rubric_offline"):
        create(f"judge_rubric4:alignment={file}")


def test_judges_are_known_by_their_models() -> None:
    assert models_of("m@http://a/v1+n@local/abc") == "m+n"
    mine = Alignment(metric="judge_rubric4", judge="m", criteria={})
    mine.demand_fit("judge_rubric4", "rubric4-1-abc", "m")
    with pytest.raises(SettingError, match="the judge m, and this is n"):
        mine.demand_fit("judge_rubric4", "", "n")
