"""The paper's numbers beside ours, on rows written by hand."""

from __future__ import annotations

import pytest

from histoeval.pathgls.policy.policy import PAPER
from histoeval_research.experiments.pathgls.answers import (
    differences,
    published_drops,
    published_gaps,
    published_means,
    published_ranks,
    stand_ins,
    verdicts_on,
)
from histoeval_research.experiments.pathgls.beside import (
    THEIRS,
    figure_3b,
    ranks,
    table_1,
    table_2,
    table_3,
)
from histoeval_research.experiments.pathgls.cases import MeasuredCases
from histoeval_research.experiments.sensitivity import ScoredReports

LEVELS = (("control", 0), ("rewording", 1), ("slip", 2), ("visual", 5), ("logic", 4))


def scored(case: str, group: str, level: int, grounding: float | None) -> ScoredReports:
    stability = {
        "stability_truth": 1 - level / 5,
        "stability_repeats": 0.95,
        "stability_redrawn": 0.6 - level / 20,
    }
    return ScoredReports(
        id=f"{case}/{group}",
        case=case,
        patient=f"p{case}",
        group=group,
        edit=group,
        level=level,
        scores={
            "bleu": 1 - level / 10,
            "logic": 0.2 if group == "logic" else 0.9,
            **stability,
            "grounding": grounding,
        },
    )


def a_set(name: str = "tiles, test", lower: float = 0.0, seen: bool = True) -> MeasuredCases:
    rows = [
        scored(f"{name}{n}", group, level, 0.8 - lower - level / 10 if seen else None)
        for n in range(8)
        for group, level in LEVELS
    ]
    return MeasuredCases(name, "patch", rows, {}, {})


def test_the_paper_is_quoted_as_it_stands() -> None:
    by_name = {row.ours: row for row in published_drops()}
    assert (by_name["grounding"].visual_drop, by_name["logic"].logic_drop) == (40.3, 26.4)
    for row in published_drops():
        assert row.visual_drop == pytest.approx(100 * (1 - row.visual / row.control), abs=0.1)
        assert row.logic_drop == pytest.approx(100 * (1 - row.logic / row.control), abs=0.1)
    assert len(published_means()) == 12
    for means in published_means():
        numbers = (means.means[name] for name in ("grounding", "logic", "stability"))
        total = sum(a * b for a, b in zip(numbers, PAPER.numbers, strict=True))
        assert means.means["trust"] == pytest.approx(total, abs=0.011)
    for gap in published_gaps():
        assert gap.drop == pytest.approx(gap.inside - gap.outside)
    assert published_ranks().lost == {"grounding": 13.6, "logic": 20.1, "stability": 5.5}
    assert all(differences(name) for name in ("table1", "table2", "table3", "figure3a", "figure3b"))


def test_table_one_has_a_row_for_each_measure_and_no_stability() -> None:
    found = {row.measure: row for row in table_1([a_set()], resamples=50)}
    assert list(found) == ["bleu", "logic", "grounding"]
    assert found["logic"].logic.drop.value == pytest.approx(100 * 0.7 / 0.9)
    assert found["logic"].paper is not None
    assert found["logic"].paper.logic_drop == 26.4


def test_a_stand_in_says_what_its_conduct_is() -> None:
    right, half, wrong = stand_ins()
    rows = a_set().rows
    assert {row.grounding for row in verdicts_on(right, rows)} == {0.8}
    assert all((row.grounding or 0) < 0.5 for row in verdicts_on(wrong, rows))
    assert len({row.grounding for row in verdicts_on(half, rows, 1)}) > 1
    assert verdicts_on(half, rows, 1) == verdicts_on(half, rows, 1)
    assert {row.stability for row in verdicts_on(wrong, rows)} == {0.95}


def test_a_case_without_a_grave_error_is_left_out_where_one_is_to_be_said() -> None:
    rows = [row for row in a_set().rows if row.level < 4]
    right, _, wrong = stand_ins()
    assert len(verdicts_on(right, rows)) == 8
    assert verdicts_on(wrong, rows) == []


def test_table_two_has_our_rows_before_the_papers() -> None:
    found = table_2([a_set()], resamples=50)
    assert [row.source for row in found].index(THEIRS) == 3
    assert found[0].means["trust"].value == pytest.approx(0.4 * 0.8 + 0.3 * 0.9 + 0.3 * 0.95)
    assert (found[2].means["trust"].value or 1) < 0.8


def test_table_three_is_what_is_lost_on_unseen_data() -> None:
    found = table_3(a_set(), a_set("tiles, external", 0.2), resamples=50)
    ours = next(row for row in found if row.measure == "trust")
    assert ours.drop.value == pytest.approx(0.4 * 0.2)
    assert [row.model for row in found if row.source == THEIRS] == ["LLaVA", "Quilt-LLaVA"]


def test_without_unseen_data_table_three_has_the_papers_rows_only() -> None:
    assert {row.source for row in table_3(a_set(), None, resamples=50)} == {THEIRS}


def test_figure_three_names_assumption_and_dimensions() -> None:
    found = figure_3b([a_set()], resamples=50)
    whole = [bar for bar in found if not bar.without]
    assert [bar.answers for bar in whole] == ["redrawn", "repeats", "truth"]
    assert {bar.trust for bar in whole} == {"grounding + logic + stability"}
    assert whole[0].paper == 0.71
    without = {bar.without: bar for bar in found if bar.answers == "redrawn"}
    assert without["logic"].paper_lost_per_cent == 20.1


def test_trust_with_a_dimension_missing_has_no_number_of_the_paper_beside_it() -> None:
    found = figure_3b([a_set(seen=False)], resamples=50)
    assert {bar.trust for bar in found} == {"logic + stability"}
    assert all(bar.paper is None and bar.paper_lost_per_cent is None for bar in found)
    levels = {row.measure: row for row in ranks([a_set(seen=False)], resamples=50)}
    assert levels["trust_truth without grounding"].paper is None
    assert levels["grounding"].spearman.reason


def test_ranks_hold_every_measure_and_trust_by_every_assumption() -> None:
    found = {row.measure: row for row in ranks([a_set()], resamples=50)}
    assert found["bleu"].spearman.value == pytest.approx(1.0)
    assert found["trust_redrawn"].paper == 0.71
    assert found["bleu"].paper is None
