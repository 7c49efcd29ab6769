"""The figures of the experiments, held against sums done by hand and by scipy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from histoeval.errors import InputError, OutputError, Problem, SettingError
from histoeval.pathgls.policy.policy import PAPER
from histoeval_research.experiments.hierarchy import (
    LevelledReport,
    ablation,
    hierarchy,
    read_graded,
    with_trust,
)
from histoeval_research.experiments.measures import Found, PerturbedRow
from histoeval_research.experiments.sensitivity import (
    MeasureSet,
    ScoredReports,
    measure_file,
    read_scored,
    sensitivity,
)
from histoeval_research.experiments.token_states import ReaderStates


def scored(case: str, group: str, level: int, **scores: float | None) -> ScoredReports:
    name = f"{case}/{group}"
    return ScoredReports(id=name, case=case, group=group, edit=group, level=level, scores=scores)


def a_set(cases: int = 8) -> list[ScoredReports]:
    rows = []
    for n in range(cases):
        rows += [
            scored(f"c{n}", "control", 0, logic=0.9, grounding=0.8),
            scored(f"c{n}", "rewording", 1, logic=0.9, grounding=0.8 - n / 1000),
            scored(f"c{n}", "visual", 5, logic=0.8, grounding=0.4),
            scored(f"c{n}", "logic", 4, logic=0.6, grounding=None if n == 0 else 0.8),
        ]
    return rows


def test_a_drop_is_the_share_of_the_control_that_is_lost() -> None:
    found = {(d.measure, d.group): d for d in sensitivity(a_set(), resamples=200)}
    assert found["logic", "logic"].drop.value == pytest.approx(100 * (0.9 - 0.6) / 0.9)
    assert found["logic", "rewording"].drop.value == pytest.approx(0.0)
    assert found["grounding", "visual"].drop.value == pytest.approx(50.0)
    assert found["grounding", "logic"].cases == 7
    assert found["grounding", "logic"].control == pytest.approx(0.8)


def test_a_group_without_numbers_has_a_reason_and_no_number() -> None:
    rows = [scored("a", "control", 0, logic=0.9), scored("a", "visual", 5, logic=None)]
    (drop,) = sensitivity(rows, resamples=50)
    assert drop.drop.value is None
    assert drop.drop.reason
    assert drop.score is None


def test_intervals_hold_the_drop_and_come_from_cases() -> None:
    chance = np.random.default_rng(0)
    rows = []
    for n in range(40):
        rows.append(scored(f"c{n}", "control", 0, m=1.0))
        rows.append(scored(f"c{n}", "logic", 4, m=float(chance.uniform(0.4, 0.8))))
    (drop,) = sensitivity(rows, resamples=500)
    assert drop.drop.low is not None
    assert drop.drop.high is not None
    assert drop.drop.value is not None
    assert drop.drop.low < drop.drop.value < drop.drop.high
    assert sensitivity(rows, resamples=500) == [drop]


def test_reports_of_one_patient_are_drawn_together() -> None:
    chance = np.random.default_rng(1)
    rows = []
    for n in range(40):
        rows.append(scored(f"c{n}", "control", 0, m=1.0))
        rows.append(scored(f"c{n}", "logic", 4, m=(n % 5) / 5 + float(chance.uniform(0, 0.01))))
    alone = sensitivity(rows, resamples=500)[0].drop
    patients = [row.model_copy(update={"patient": f"p{int(row.case[1:]) % 5}"}) for row in rows]
    together = sensitivity(patients, resamples=500)[0].drop
    assert together.value == alone.value
    for each in (alone, together):
        assert each.low is not None
        assert each.high is not None
    assert together.high - together.low > 1.5 * (alone.high - alone.low)  # type: ignore[operator]


def graded(cases: int = 30, seed: int = 0) -> list[LevelledReport]:
    chance = np.random.default_rng(seed)
    return [
        LevelledReport(
            f"c{n}",
            level,
            {
                "grounding": 0.9 - 0.1 * level + chance.normal(0, 0.05),
                "logic": 0.9 - 0.05 * level + chance.normal(0, 0.05),
                "stability": chance.uniform(0, 1),
            },
        )
        for n in range(cases)
        for level in range(6)
    ]


def test_the_rank_correlation_is_scipys_with_the_level_turned_round() -> None:
    rows = graded()
    found = {each.measure: each for each in hierarchy(rows, resamples=200)}
    for name in ("grounding", "logic", "stability"):
        expected = stats.spearmanr([r.scores[name] for r in rows], [-r.level for r in rows])
        assert found[name].spearman.value == pytest.approx(expected.statistic, abs=1e-9)
        inside = [
            stats.spearmanr(
                [r.scores[name] for r in rows if r.case == case],
                [-r.level for r in rows if r.case == case],
            ).statistic
            for case in dict.fromkeys(r.case for r in rows)
        ]
        assert found[name].within.value == pytest.approx(np.mean(inside), abs=1e-9)
    assert [step.level for step in found["logic"].levels] == list(range(6))
    assert found["logic"].levels[0].mean == pytest.approx(
        np.mean([r.scores["logic"] for r in rows if r.level == 0])
    )


def test_trust_is_the_papers_sum_and_says_what_it_lacks() -> None:
    (row,) = with_trust(
        [LevelledReport("a", 0, {"grounding": 0.5, "logic": 0.4, "stability": 1.0})]
    )
    assert row.scores["trust"] == pytest.approx(0.4 * 0.5 + 0.3 * 0.4 + 0.3)
    (row,) = with_trust([LevelledReport("a", 0, {"grounding": 0.5, "logic": 0.4})])
    assert row.scores["trust without stability"] == pytest.approx(0.32)


def test_a_row_without_a_dimension_that_others_have_has_no_trust() -> None:
    rows = with_trust(
        [
            LevelledReport("a", 0, {"grounding": 0.5, "logic": 0.4}),
            LevelledReport("b", 0, {"grounding": None, "logic": 0.4}),
        ]
    )
    assert rows[1].scores["trust without stability"] is None


def test_without_what_follows_the_levels_trust_follows_them_less() -> None:
    found = ablation(graded(), resamples=200)
    lost = {each.dimension: each.lost.value for each in found.without}
    assert lost["grounding"] is not None
    assert lost["stability"] is not None
    assert lost["grounding"] > 0 > lost["stability"]
    for each in found.without:
        assert each.spearman.value is not None
        assert found.spearman.value is not None
        assert each.lost.value == pytest.approx(found.spearman.value - each.spearman.value)


def test_an_ablation_of_one_dimension_is_refused() -> None:
    with pytest.raises(InputError, match="two dimensions"):
        ablation([LevelledReport("a", 0, {"logic": 1.0})], PAPER)


class Lengths:
    """A measure that falls with the length of a report, and breaks on a word."""

    name = "short"
    signature = "short"

    def __init__(self) -> None:
        self.asked = 0

    def measure(self, rows: Sequence[PerturbedRow]) -> list[Found]:
        self.asked += len(rows)
        return [
            Problem("broken", "cannot") if "break" in (r.report or "") else 1 / len(r.report or "x")
            for r in rows
        ]


def perturbed(path: Path, count: int = 40) -> Path:
    rows = [
        PerturbedRow(
            id=f"c{n}/{edit}", case=f"c{n}", group=edit, edit=edit, level=level,
            report="word " * (level + 1) + ("break" if n == 3 else ""), reference="word",
        )
        for n in range(count)
        for level, edit in ((0, "control"), (4, "logic"))
    ]  # fmt: skip
    path.write_bytes(b"".join(row.line() for row in rows))
    return path


def test_measured_rows_are_kept_and_a_stopped_run_goes_on(tmp_path: Path) -> None:
    source, folder = perturbed(tmp_path / "set.jsonl"), tmp_path / "out"
    rows = measure_file(source, folder, MeasureSet([Lengths()]))
    whole = (folder / "scores.jsonl").read_bytes()
    assert len(rows) == 80
    assert read_scored(folder) == rows
    assert rows[6].scores == {"short": None}
    assert "broken" in rows[6].errors["short"]
    (folder / "scores.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:50]) + b'{"i')
    lengths = Lengths()
    assert measure_file(source, folder, MeasureSet([lengths])) == rows
    assert lengths.asked == 30
    assert (folder / "scores.jsonl").read_bytes() == whole


def test_scores_of_another_set_are_not_continued(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    measure_file(perturbed(tmp_path / "one.jsonl"), folder, MeasureSet([Lengths()]))
    with pytest.raises(OutputError):
        measure_file(perturbed(tmp_path / "two.jsonl", 3), folder, MeasureSet([Lengths()]))


def test_levels_are_joined_to_verdicts_by_id(tmp_path: Path) -> None:
    source = perturbed(tmp_path / "set.jsonl", 2)
    folder = tmp_path / "trust"
    folder.mkdir()
    lines: list[dict[str, object]] = [
        {"id": f"c{n}/{edit}", "row": 1, "grounding": None, "logic": value, "stability": 0.5,
         "trust": None, "route": "review", "evidence": {}, "errors": []}
        for n in range(2)
        for edit, value in (("control", 0.9), ("logic", 0.4))
    ]  # fmt: skip
    (folder / "trust.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    rows = read_graded(folder, source)
    assert [(row.level, row.scores["logic"]) for row in rows[:2]] == [(0, 0.9), (4, 0.4)]
    with pytest.raises(SettingError, match="--perturbed"):
        read_graded(folder)


def test_the_readers_states_match_a_text_to_itself_and_say_what_was_seen() -> None:
    encoder = ReaderStates()
    short, long = encoder.tokens(["Squamous cell carcinoma.", "carcinoma " * 2000])
    assert short.states.shape[0] == len(short.special)
    assert short.special[[0, -1]].all()
    assert not short.special[1:-1].any()
    assert short.seen == 1.0
    assert 0 < long.seen < 0.5
    assert "histoeval-reader" in encoder.identity
