"""`histoeval trust tune`, as people run it."""

import json
from functools import partial
from pathlib import Path

import numpy as np

from histoeval.errors import InputError
from histoeval.pathgls.policy.policy import read_policy
from tests.support.command import invoked

QUICK = ("--folds", "2", "--repeats", "1", "--step", "0.1")


run = partial(invoked, "trust", "tune")


def rows(count: int = 80) -> list[dict[str, object]]:
    """Reports that are right where logic is high, and nothing else counts."""
    numbers = np.random.default_rng(5).random((count, 3)).round(3).tolist()
    return [
        {
            "id": f"r{n}",
            "case": f"case {n // 2}",
            "label": "correct" if lo > 0.4 else "wrong",
            "grounding": g,
            "logic": lo,
            "stability": s,
            "level": int(5 * (1 - lo)),
        }
        for n, (g, lo, s) in enumerate(numbers)
    ]


def above_floors(count: int) -> list[dict[str, object]]:
    """The same, where no floor keeps a report from being deployed."""
    return [row | {"grounding": 0.9, "stability": 0.9} for row in rows(count)]


def write(path: Path, made: list[dict[str, object]], *leave_out: str) -> Path:
    kept = [{k: v for k, v in row.items() if k not in leave_out} for row in made]
    path.write_text("".join(json.dumps(row) + "\n" for row in kept), "utf-8")
    return path


def test_weights_thresholds_and_their_worth_are_written_and_told(tmp_path: Path) -> None:
    output = tmp_path / "policy.yaml"
    file = write(tmp_path / "l.jsonl", rows())
    done = run(file, "--output", output, *QUICK, "--confidence", "0.5")
    assert done.exit_code == 0, done.output
    policy = read_policy(output)
    assert policy.weights.logic >= 0.7
    assert policy.deploy_from is not None
    text = output.read_text("utf-8")
    for said in ("80 of 80 reports of 40 cases (column case)", "held", "had no say", "deploy "):
        assert said in text + done.output
    assert "paper" in done.output


def test_verdicts_are_told_of_how_many_and_in_how_many_repeats(tmp_path: Path) -> None:
    file, output = write(tmp_path / "l.jsonl", rows()), tmp_path / "policy.yaml"
    done = run(file, "--output", output, *QUICK, "--repeats", "3")
    assert "(3 x 80)" in done.output
    assert " of 240 " in done.output


def test_thresholds_that_leave_nothing_to_a_person_are_told(tmp_path: Path) -> None:
    """Logic tells right from wrong here, so that shares as counted leave no gap between them."""
    file, output = write(tmp_path / "l.jsonl", above_floors(300)), tmp_path / "policy.yaml"
    done = run(file, "--output", output, *QUICK, "--confidence", "0.5")
    policy = read_policy(output)
    assert policy.deploy_from is not None
    assert policy.deploy_from - policy.reject_below < 0.05
    for told in (done.output, output.read_text("utf-8")):
        assert "nearly no review" in told
    assert "would be deployed;" not in done.output


def test_so_few_reports_that_no_share_is_known_are_told(tmp_path: Path) -> None:
    file, output = write(tmp_path / "l.jsonl", rows(60)), tmp_path / "policy.yaml"
    counted = run(file, "--output", output, *QUICK, "--confidence", "0.5")
    assert read_policy(output).deploy_from is not None
    assert "of 60 reports about" in counted.output
    sure = run(file, "--output", output, *QUICK)
    assert read_policy(output).deploy_from is None
    assert "deploys nothing" in sure.output


def test_labels_may_stand_in_a_table_of_their_own(tmp_path: Path) -> None:
    trust = write(tmp_path / "trust.jsonl", rows(), "label", "level", "case")
    labels = tmp_path / "labels.csv"
    lines = [f"{row['id']},{row['label']},{row['case']}" for row in reversed(rows())]
    labels.write_text("id,label,case\n" + "\n".join(lines[:-1]) + "\n", "utf-8")
    output = tmp_path / "policy.yaml"
    done = run(trust, "--labels", labels, "--output", output, *QUICK)
    assert done.exit_code == 0, done.output
    assert "79 of 80 reports" in done.output
    assert "left out: 1 with no label" in done.output
    assert read_policy(output).weights.logic >= 0.7


def test_levels_are_followed_and_need_to_know_what_is_wrong(tmp_path: Path) -> None:
    file, output = write(tmp_path / "l.jsonl", rows(), "label"), tmp_path / "policy.yaml"
    done = run(file, "--output", output, *QUICK)
    assert done.exit_code == 0, done.output
    assert "Spearman" in done.output
    assert "not tuned" in done.output
    assert read_policy(output).deploy_from == read_policy().deploy_from
    told = run(file, "--output", output, *QUICK, "--wrong-from", "3")
    assert "wrong from 3" in told.output
    assert read_policy(output).deploy_from != read_policy().deploy_from


def test_a_dimension_that_is_missing_is_left_out_only_when_asked_for(tmp_path: Path) -> None:
    file, output = write(tmp_path / "l.jsonl", rows(), "stability"), tmp_path / "policy.yaml"
    refused = run(file, "--output", output, *QUICK)
    assert isinstance(refused.exception, InputError)
    assert "80 times no stability" in str(refused.exception)
    assert run(file, "--output", output, *QUICK, "--without", "stability").exit_code == 0
    policy = read_policy(output)
    assert policy.weights.stability == 0
    assert not policy.asks("stability")


def test_costs_in_place_of_shares(tmp_path: Path) -> None:
    file, output = write(tmp_path / "l.jsonl", rows()), tmp_path / "policy.yaml"
    assert run(file, "--output", output, *QUICK, "--costs", "20,1,5").exit_code == 0
    assert "least cost, with 20" in output.read_text("utf-8")


def test_rows_that_hold_no_numbers_are_counted_and_left_out(tmp_path: Path) -> None:
    made = rows()
    made[0]["grounding"], made[1]["logic"], made[2]["label"] = None, "high", "maybe"
    done = run(write(tmp_path / "l.jsonl", made), "--output", tmp_path / "policy.yaml", *QUICK)
    assert "77 of 80 reports" in done.output
    for reason in ("no grounding", "no logic", "no label"):
        assert f"left out: 1 with {reason}" in done.output
