from pathlib import Path
from typing import Any

import pytest

from histoeval.errors import HistoEvalError
from histoeval.web.study.plan import read_study
from tests.support.rating_studies import make_study, write_pairs, write_plan
from tests.support.tables import from_table


def test_a_plan_is_read_with_files_named_from_its_folder(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    assert study.folder == tmp_path / "study"
    assert len(study.pairs) == 12
    assert study.pairs[0].labels == {"case": "c0", "organ": "colon"}
    assert study.steps == (0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5)
    assert [each.name for each in study.criteria][-1] == "overall_equivalence"


def test_scores_may_be_whole_points_without_criteria(tmp_path: Path) -> None:
    study = make_study(tmp_path, half_points=False, criteria=None)
    assert study.steps == (0, 1, 2, 3, 4, 5)
    text = write_plan(tmp_path).read_text("utf-8") + "criteria: null\n"
    (tmp_path / "STUDY.yaml").write_text(text, "utf-8")
    assert read_study(tmp_path / "STUDY.yaml").criteria == ()


def test_each_rater_has_an_order_of_their_own_that_only_the_seed_changes(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    anna = [pair.key for pair in study.order("anna")]
    assert sorted(anna) == sorted(pair.key for pair in study.pairs)
    assert anna != [pair.key for pair in study.pairs]
    assert anna != [pair.key for pair in study.order("ben")]
    assert anna == [pair.key for pair in make_study(tmp_path).order("anna")]
    assert anna != [pair.key for pair in make_study(tmp_path, seed=8).order("anna")]


def test_the_order_does_not_depend_on_the_order_of_the_table(tmp_path: Path) -> None:
    before = [pair.key for pair in make_study(tmp_path).order("anna")]
    table = tmp_path / "pairs.csv"
    header, *lines = table.read_text("utf-8").splitlines()
    table.write_text("\n".join([header, *reversed(lines)]), "utf-8")
    assert [pair.key for pair in make_study(tmp_path).order("anna")] == before


@from_table
def test_what_is_wrong_in_a_plan_is_said(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(HistoEvalError, match=message):
        make_study(tmp_path, **changes)


def test_a_study_does_not_start_with_a_broken_row(tmp_path: Path) -> None:
    table = write_pairs(tmp_path)
    table.write_text(table.read_text("utf-8") + "p9,x,c9,colon,,text\n", "utf-8")
    with pytest.raises(HistoEvalError, match=r"1 row of .*pairs\.csv cannot be used.*reference"):
        make_study(tmp_path)


def test_a_row_without_a_case_is_named_where_others_have_one(tmp_path: Path) -> None:
    table = write_pairs(tmp_path)
    table.write_text(table.read_text("utf-8").replace(",c1,", ",,"), "utf-8")
    with pytest.raises(HistoEvalError, match=r"2 rows of .* The first: .*case"):
        make_study(tmp_path)


def test_any_table_of_pairs_will_do(tmp_path: Path) -> None:
    (tmp_path / "wide.jsonl").write_text(
        '{"id": "a", "reference": "Skin.", "candidate_x": "Skin!", "candidate_y": "Nail."}\n',
        "utf-8",
    )
    study = make_study(tmp_path, pairs="wide.jsonl", labels=None)
    assert [pair.key for pair in study.pairs] == [("a", "candidate_x"), ("a", "candidate_y")]
    assert study.pairs[0].group == "Skin."


def test_a_label_that_reads_like_a_rater_is_refused(tmp_path: Path) -> None:
    table = write_pairs(tmp_path)
    table.write_text(table.read_text("utf-8").replace("organ", "reader", 1), "utf-8")
    with pytest.raises(HistoEvalError, match="'reader' reads like the name of a rater"):
        make_study(tmp_path, labels=["reader"])
