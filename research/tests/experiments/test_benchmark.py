"""Models beside each other: means, gaps and spreads, held against sums done by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from histoeval.errors import InputError, SettingError
from histoeval_research.experiments.benchmark import (
    Run,
    benchmark,
    gap_of,
    gaps,
    judge_variance,
    run_of,
    trust_variance,
)


def verdicts(folder: Path, values: Sequence[float | None], shift: float = 0.0) -> Path:
    folder.mkdir()
    lines: list[dict[str, object]] = [
        {
            "id": f"r{n}", "row": n + 1, "grounding": value, "logic": 0.5 + shift,
            "stability": None, "trust": value, "route": "review", "evidence": {}, "errors": [],
        }
        for n, value in enumerate(values)
    ]  # fmt: skip
    (folder / "trust.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return folder


def test_a_benchmark_has_means_and_counts_what_is_missing(tmp_path: Path) -> None:
    folder = verdicts(tmp_path / "a", [0.2, 0.4, None, 0.6, 0.8])
    (row,) = benchmark([Run("set", "model", folder)], resamples=100)
    assert row.means["trust"].value == pytest.approx(0.5)
    assert row.missing["grounding"] == 1
    assert row.missing["stability"] == 5
    assert row.means["stability"].value is None
    assert row.routes == {"review": 5}


def test_a_gap_is_public_less_private(tmp_path: Path) -> None:
    inside = verdicts(tmp_path / "in", [0.8, 0.9, 0.7, 0.8])
    outside = verdicts(tmp_path / "out", [0.5, 0.6, 0.4, 0.5, 0.5])
    found = {each.measure: each for each in gaps([("m", inside, outside)], resamples=300)}
    assert found["trust"].drop.value == pytest.approx(0.3)
    assert found["trust"].drop.low is not None
    assert found["trust"].drop.low > 0
    assert found["stability"].drop.reason


def test_trust_that_is_the_same_each_time_does_not_vary(tmp_path: Path) -> None:
    one, two = (verdicts(tmp_path / name, [0.2, 0.4, 0.6, 0.8]) for name in "ab")
    steady = trust_variance([one, two], resamples=50)
    assert steady.spread.value == 0.0
    assert steady.steady == 1.0
    with pytest.raises(SettingError, match="two runs"):
        trust_variance([one])
    with pytest.raises(InputError, match="same reports"):
        trust_variance([one, verdicts(tmp_path / "c", [0.1])])


def test_the_spread_of_judges_is_that_between_their_repeats(tmp_path: Path) -> None:
    found_by = [{"judge": {"value": 0.5, "parts": {"spread": s}}} for s in (0.0, 0.1, 0.2, 0.1)]
    rows = [
        {"id": f"p{n}", "system": "s", "row": n, "scores": scores}
        for n, scores in enumerate(found_by)
    ]
    (tmp_path / "scores.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in rows), "utf-8")
    (found,) = judge_variance(tmp_path, resamples=50)
    assert found.spread.value == pytest.approx(0.1)
    assert found.widest == 0.2
    assert found.steady == 0.25
    with pytest.raises(InputError, match="repeats"):
        judge_variance(tmp_path / "none")


def test_runs_are_named_as_people_write_them() -> None:
    assert run_of("quilt/my/model=runs/a") == Run("quilt/my", "model", Path("runs/a"))
    assert gap_of("m=a,b") == ("m", Path("a"), Path("b"))
    for wrong in ("a=b", "a/b", "/m=x"):
        with pytest.raises(SettingError):
            run_of(wrong)
    with pytest.raises(SettingError):
        gap_of("m=a")
