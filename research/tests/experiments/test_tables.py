"""The numbers of the experiments, held against sums done by hand and by scipy."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from histoeval.errors import InputError, SettingError
from histoeval.pathgls.policy.policy import PAPER
from histoeval_research.experiments.tables import (
    Draws,
    ablation,
    benchmark,
    gaps,
    hierarchy,
    judge_variance,
    sensitivity,
    trust_variance,
    with_trust,
)

FEW, SOME = Draws(50), Draws(500)
LEVELS = {"control": 0, "rewording": 1, "logic": 4, "visual": 5}


def scored(case: str, group: str, **scores: float | None) -> dict[str, Any]:
    key = {"id": f"{case}/{group}", "case": case, "cluster": case}
    return {**key, "group": group, "level": LEVELS[group], **scores}


def test_a_drop_is_the_share_of_the_control_that_is_lost() -> None:
    rows = []
    for n in range(8):
        rows += [
            scored(f"c{n}", "control", logic=0.9, grounding=0.8),
            scored(f"c{n}", "rewording", logic=0.9, grounding=0.8 - n / 1000),
            scored(f"c{n}", "visual", logic=0.8, grounding=0.4),
            scored(f"c{n}", "logic", logic=0.6, grounding=None if n == 0 else 0.8),
        ]
    drops = {(row["measure"], row["group"]): row for row in sensitivity(pl.DataFrame(rows), SOME)}
    assert drops["logic", "logic"]["drop"].value == pytest.approx(100 * (0.9 - 0.6) / 0.9)
    assert drops["logic", "rewording"]["drop"].value == pytest.approx(0.0)
    assert drops["grounding", "visual"]["drop"].value == pytest.approx(50.0)
    assert drops["grounding", "logic"]["cases"] == 7
    assert drops["grounding", "logic"]["control"] == pytest.approx(0.8)


def test_a_group_without_numbers_has_a_reason_and_no_number() -> None:
    rows = [scored("a", "control", logic=0.9), scored("a", "visual", logic=None)]
    (row,) = sensitivity(pl.DataFrame(rows), FEW)
    assert (row["drop"].value, row["score"]) == (None, None)
    assert row["drop"].reason


def test_intervals_hold_the_drop_and_reports_of_one_patient_are_drawn_together() -> None:
    chance = np.random.default_rng(1)
    rows = []
    for n in range(40):
        rows.append(scored(f"c{n}", "control", m=1.0))
        rows.append(scored(f"c{n}", "logic", m=(n % 5) / 5 + float(chance.uniform(0, 0.01))))
    scores = pl.DataFrame(rows)
    alone = sensitivity(scores, SOME)[0]["drop"]
    assert alone.low < alone.value < alone.high
    assert sensitivity(scores, SOME)[0]["drop"] == alone
    patients = scores.with_columns(cluster=pl.col("case").str.slice(-1).str.to_integer() % 5)
    together = sensitivity(patients, SOME)[0]["drop"]
    assert together.value == alone.value
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def graded(cases: int = 30) -> pl.DataFrame:
    chance = np.random.default_rng(0)
    return pl.DataFrame(
        [
            {
                "cluster": f"c{n}",
                "level": level,
                "grounding": 0.9 - 0.1 * level + chance.normal(0, 0.05),
                "logic": 0.9 - 0.05 * level + chance.normal(0, 0.05),
                "stability": chance.uniform(0, 1),
            }
            for n in range(cases)
            for level in range(6)
        ]
    )


def test_the_rank_correlation_is_scipys_with_the_level_turned_round() -> None:
    scores = graded()
    found = {row["measure"]: row for row in hierarchy(scores, SOME)}
    for name in ("grounding", "logic", "stability"):
        expected = stats.spearmanr(scores[name], -scores["level"])
        assert found[name]["spearman"].value == pytest.approx(expected.statistic, abs=1e-9)
        inside = [
            stats.spearmanr(own[name], -own["level"]).statistic
            for own in scores.partition_by("cluster")
        ]
        assert found[name]["within"].value == pytest.approx(np.mean(inside), abs=1e-9)
    assert [step["level"] for step in found["logic"]["levels"]] == list(range(6))
    true = scores.filter(pl.col("level") == 0)["logic"]
    assert found["logic"]["levels"][0]["mean"] == pytest.approx(true.mean())


def test_trust_is_the_papers_sum_and_says_what_it_lacks() -> None:
    whole = pl.DataFrame([{"grounding": 0.5, "logic": 0.4, "stability": 1.0}])
    assert with_trust(whole)["trust"].item() == pytest.approx(0.4 * 0.5 + 0.3 * 0.4 + 0.3)
    two = pl.DataFrame([{"grounding": 0.5, "logic": 0.4}, {"grounding": None, "logic": 0.4}])
    assert with_trust(two)["trust without stability"].to_list() == [pytest.approx(0.32), None]


def test_without_what_follows_the_levels_trust_follows_them_less() -> None:
    found = ablation(graded(), draws=SOME)
    lost = {row["dimension"]: row["lost"].value for row in found["without"]}
    assert lost["grounding"] > 0 > lost["stability"]
    for row in found["without"]:
        difference = found["spearman"].value - row["spearman"].value
        assert row["lost"].value == pytest.approx(difference)
    with pytest.raises(InputError, match="two dimensions"):
        ablation(pl.DataFrame([{"cluster": "a", "level": 0, "logic": 1.0}]), PAPER)


def verdicts(folder: Path, values: Sequence[float | None]) -> Path:
    folder.mkdir()
    lines: list[dict[str, object]] = [
        {"id": f"r{n}", "row": n + 1, "grounding": value, "logic": 0.5, "stability": None,
         "trust": value, "route": "review", "evidence": {}, "errors": []}
        for n, value in enumerate(values)
    ]  # fmt: skip
    (folder / "trust.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return folder


def test_a_benchmark_has_means_and_counts_what_is_missing(tmp_path: Path) -> None:
    folder = verdicts(tmp_path / "a", [0.2, 0.4, None, 0.6, 0.8])
    (row,) = benchmark([f"quilt/my/model={folder}"], FEW)
    assert (row["dataset"], row["model"], row["reports"]) == ("quilt/my", "model", 5)
    assert row["means"]["trust"].value == pytest.approx(0.5)
    assert row["missing"] == {"grounding": 1, "logic": 0, "stability": 5, "trust": 1}
    assert row["means"]["stability"].value is None
    assert row["routes"] == {"review": 5}


def test_a_gap_is_public_less_private(tmp_path: Path) -> None:
    inside = verdicts(tmp_path / "in", [0.8, 0.9, 0.7, 0.8])
    outside = verdicts(tmp_path / "out", [0.5, 0.6, 0.4, 0.5, 0.5])
    found = {row["measure"]: row["drop"] for row in gaps([f"m={inside},{outside}"], SOME)}
    assert found["trust"].value == pytest.approx(0.3)
    assert found["trust"].low > 0
    assert found["stability"].reason


def test_trust_that_is_the_same_each_time_does_not_vary(tmp_path: Path) -> None:
    one, two = (verdicts(tmp_path / name, [0.2, 0.4, 0.6, 0.8]) for name in "ab")
    steady = trust_variance([one, two], FEW)
    assert (steady["spread"].value, steady["steady"]) == (0.0, 1.0)
    with pytest.raises(SettingError, match="two runs"):
        trust_variance([one])
    with pytest.raises(InputError, match="same reports"):
        trust_variance([one, verdicts(tmp_path / "c", [0.1])])


def test_the_spread_of_judges_is_that_between_their_repeats(tmp_path: Path) -> None:
    rows = [
        {"id": f"p{n}", "system": "s", "row": n}
        | {"scores": {"judge": {"value": 0.5, "parts": {"spread": spread}}}}
        for n, spread in enumerate((0.0, 0.1, 0.2, 0.1))
    ]
    (tmp_path / "scores.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in rows), "utf-8")
    (row,) = judge_variance(tmp_path, FEW)
    assert row["spread"].value == pytest.approx(0.1)
    assert (row["widest"], row["steady"]) == (0.2, 0.25)
    with pytest.raises(InputError, match="repeats"):
        judge_variance(tmp_path / "none")


@pytest.mark.parametrize("text", ["a=b", "a/b", "/m=x", "q/m="])
def test_a_run_that_is_not_written_so_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="DATASET/MODEL=FOLDER"):
        benchmark([text])
    with pytest.raises(SettingError, match="PRIVATE_FOLDER"):
        gaps([text])
