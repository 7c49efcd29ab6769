"""How steady judges are, against figures that were worked out by hand or elsewhere."""

import random
from typing import Any

import pytest

from histoeval.judges import stability
from histoeval.judges.prompt import load_prompt
from histoeval.judges.stability import AnswerStability

EXPERT = load_prompt("expert5")


def answer(judge: str, score: int, repeat: int = 0, order: str = "usual") -> dict[str, Any]:
    return {"judge": judge, "repeat": repeat, "order": order, "scores": {"score": score}}


def told(rows: list[list[dict[str, Any]]], *judges: str) -> dict[str, Any]:
    found = AnswerStability(EXPERT, judges)
    for number, answers in enumerate(rows):
        found.add(str(number), {"reasoning": "", "answers": answers})
    return found.summary()


def test_repeats_that_never_differ_agree_perfectly() -> None:
    rows = [[answer("m", n % 6, repeat) for repeat in range(3)] for n in range(30)]
    found = told(rows, "m")["repeats"]["m"]["score"]
    assert found["alpha"]["value"] == pytest.approx(1)
    assert (found["identical"], found["mean_spread"], found["pairs"]) == (1, 0, 30)


def test_repeats_by_chance_do_not_agree() -> None:
    chance = random.Random(0)
    rows = [[answer("m", chance.randrange(6), repeat) for repeat in (0, 1)] for _ in range(600)]
    found = told(rows, "m")["repeats"]["m"]["score"]
    assert abs(found["alpha"]["value"]) < 0.1
    assert found["alpha"]["low"] < 0 < found["alpha"]["high"]
    assert found["identical"] == pytest.approx(1 / 6, abs=0.05)


def test_judges_are_compared_by_their_first_answers() -> None:
    rows = [[answer("a", n % 5), answer("b", n % 5 + 1)] for n in range(20)]
    found = told(rows, "a", "b")
    assert found["repeats"] == {}
    assert found["between_judges"]["score"]["identical"] == 0
    assert found["between_judges"]["score"]["mean_spread"] == pytest.approx(0.5**0.5)


def test_the_shift_by_order_is_what_the_candidate_gains_by_being_first() -> None:
    rows = [[answer("m", n % 4), answer("m", n % 4 + n % 2, order="swapped")] for n in range(40)]
    found = told(rows, "m")["order"]["m"]["score"]
    assert found["mean_shift"] == pytest.approx(0.5)
    assert found["identical"] == pytest.approx(0.5)


def test_a_swapped_answer_that_is_missing_is_left_out() -> None:
    rows = [[answer("m", n % 4), answer("m", n % 4, order="swapped")] for n in range(9)]
    found = told([*rows, [answer("m", 3), answer("m", 2, repeat=1)]], "m")
    assert found["order"]["m"]["score"]["pairs"] == 9


def test_of_many_pairs_so_many_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stability, "MAX_PAIRS", 50)
    rows = [[answer("m", int(n >= 500), 0), answer("m", int(n >= 500), 1)] for n in range(1000)]
    found = told(rows, "m")
    assert found["pairs_compared"] == 50
    assert found["repeats"]["m"]["score"]["alpha"]["value"] == pytest.approx(1)


def test_single_answers_leave_nothing_to_compare_but_contradictions() -> None:
    found = AnswerStability(EXPERT, ["m"])
    found.add("1", {"reasoning": "x"})
    found.add("2", {"reasoning": "x", "inconsistent": ["a does not go with b"]})
    assert found.summary() == {"pairs_with_contradictory_scores": 1, "all_pairs_alike": False}


@pytest.mark.parametrize(
    ("scores", "alike"), [([4.0] * 5, True), ([4.0] * 4, False), ([4.0] * 9 + [3.0], False)]
)
def test_it_is_told_when_many_pairs_score_the_same(scores: list[float], alike: bool) -> None:
    found = AnswerStability(EXPERT, ["m"])
    for number, score in enumerate(scores):
        found.add(str(number), {"reasoning": ""}, {"score": score})
    assert found.summary()["all_pairs_alike"] is alike
