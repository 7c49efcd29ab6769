"""The reward of the example is what a trainer calls, and prefers the right report."""

import runpy
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "examples" / "reward" / "grpo_reward.py"


def test_it_prefers_the_right_report_and_takes_what_trainers_hand_over() -> None:
    reward = runpy.run_path(str(FILE))["ReportReward"]("rouge_l", workers=1)
    truth = "Colon: adenocarcinoma, grade 2."
    completions = [truth, [{"role": "assistant", "content": "Skin: naevus."}], ""]
    right, wrong, empty = reward(completions, reference=[truth] * 3, prompts=["?"] * 3)
    assert right == 1.0
    assert wrong < 0.5
    assert empty == 0.0
    assert reward.__name__ == "rouge_l"
    reward.metric.close()


def test_neither_thoughts_nor_repetition_earn_anything() -> None:
    reward = runpy.run_path(str(FILE))["ReportReward"]("rouge_l", workers=1)
    truth = "Colon: adenocarcinoma, grade 2."
    thought = f"<think>Is it {truth}?</think>Skin: naevus."
    completions = ["Skin: naevus.", thought, f"<think>{truth}", " ".join([truth] * 20)]
    plain, after, endless, repeated = reward(completions, reference=[truth] * 4)
    assert plain == after
    assert endless == 0.0
    assert repeated < 0.2
    reward.metric.close()


def test_its_loop_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--metric rouge_l --workers 1 --steps 2 --prompts 4 --group 3".split()
    monkeypatch.setattr(sys, "argv", [str(FILE), *options])
    runpy.run_path(str(FILE), run_name="__main__")
    assert capsys.readouterr().out.count("12 candidates") == 2
