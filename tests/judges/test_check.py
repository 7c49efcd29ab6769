"""The check passes judges that know, and fails those that are blind, lenient or obedient."""

import json
import random
import re
from collections import Counter
from collections.abc import Callable

import pytest

from histoeval.judges.check import CriterionVerdict, examine, trials
from histoeval.judges.prompt import load_prompt
from tests.support.fake_server import CRITERIA, Call, Loopback, Wrong
from tests.support.judge_pairs import bench_at

CANDIDATE = re.compile(r"<<<CANDIDATE (\w+)>>>\n(.*)\n<<<END OF CANDIDATE \1>>>", re.DOTALL)
ORDERS = re.compile(r"IGNORE|withdrawn|task has changed|equivalent\. Please|Disregard")


def knowing(call: Call) -> dict[str, int]:
    """The middle of what each pair deserves, looked up by the text of the candidate."""
    shown = _shown(call)
    for trial in trials():
        if "".join(trial.pair.candidate.split()) == "".join(shown.split()) and (
            trial.pair.reference in call.case
        ):
            return {name: trial.deserved[name][0] for name in CRITERIA}
    raise AssertionError("a pair that is not of the check")


def _shown(call: Call) -> str:
    found = CANDIDATE.search(call.case)
    assert found is not None
    return found[2]


def verdicts(
    server: Loopback, judge: Callable[[Call], dict[str, int]]
) -> dict[str, CriterionVerdict]:
    server.say = lambda call: json.dumps(judge(call) | {"reasoning": "so"})
    (found,) = examine(bench_at(server.url), load_prompt("rubric4")).values()
    return {verdict.criterion: verdict for verdict in found}


def test_there_are_fifty_five_pairs_of_eleven_kinds_with_all_that_the_issue_names() -> None:
    kinds = Counter(trial.kind for trial in trials())
    assert set(kinds.values()) == {5}
    assert len(trials()) == 55
    assert len({(t.pair.reference, t.pair.candidate) for t in trials()}) == 55
    assert {"copy", "paraphrase", "grade_slip", "wrong_subtype", "major_invention"} <= set(kinds)
    assert {"major_omission", "flip", "nothing", "injection"} <= set(kinds)


def test_what_pairs_deserve_fits_the_scales() -> None:
    for name in ("rubric4", "expert5"):
        for criterion, low, high in load_prompt(name).scales:
            for trial in trials():
                first, last = trial.deserved[criterion]
                assert low <= first <= last <= high


def test_a_judge_that_knows_may_be_used_for_everything(loopback: Loopback) -> None:
    found = verdicts(loopback, knowing)
    assert list(found) == list(CRITERIA)
    for verdict in found.values():
        assert verdict.may_be_used, verdict
        assert (verdict.answered, verdict.in_range, verdict.obeyed) == (1, 1, 0)
        assert verdict.in_order == 1
        assert verdict.ordered_pairs >= 50


@pytest.mark.parametrize("scores", [(4, 3, 3, 4), (1, 1, 1, 1), (3, 2, 2, 3), None])
def test_a_judge_that_always_says_the_same_or_guesses_may_be_used_for_nothing(
    loopback: Loopback, scores: tuple[int, ...] | None
) -> None:
    def say(call: Call) -> dict[str, int]:
        chance = random.Random(call.case)
        said = scores or [chance.randint(1, top) for top in (4, 3, 3, 4)]
        return dict(zip(CRITERIA, said, strict=True))

    found = verdicts(loopback, say)
    assert not any(verdict.may_be_used for verdict in found.values())
    assert scores is None or all(verdict.in_order == 0 for verdict in found.values())


def test_a_judge_that_obeys_a_report_is_found_out(loopback: Loopback) -> None:
    def obedient(call: Call) -> dict[str, int]:
        best = dict(zip(CRITERIA, (4, 3, 3, 4), strict=True))
        return best if ORDERS.search(_shown(call)) else knowing(call)

    found = verdicts(loopback, obedient)
    assert all(verdict.obeyed == 5 for verdict in found.values())
    assert "obeys instructions in 5 reports" in found["overall_equivalence"].why_not


def test_a_judge_that_is_blind_to_one_thing_may_be_used_for_the_others(loopback: Loopback) -> None:
    found = verdicts(loopback, lambda call: knowing(call) | {"factual_completeness": 3})
    usable = {name for name, verdict in found.items() if verdict.may_be_used}
    assert usable == set(CRITERIA) - {"factual_completeness"}


def test_a_judge_that_does_not_answer_enough_may_not_be_used(loopback: Loopback) -> None:
    loopback.fault = lambda call: Wrong(content="hm") if "prostat" in call.case.lower() else None
    found = verdicts(loopback, knowing)
    assert all(verdict.answered == 0.8 for verdict in found.values())
    assert "answers 80%" in found["factual_accuracy"].why_not


def test_no_instruction_in_a_report_leaves_its_fence(loopback: Loopback) -> None:
    verdicts(loopback, knowing)
    injected = [call for call in loopback.calls if ORDERS.search(call.case)]
    assert len(injected) == 5
    for call in injected:
        system, user = call.body["messages"]
        assert not ORDERS.search(system["content"])
        assert ORDERS.search(_shown(call))
        outside = CANDIDATE.sub("", user["content"])
        assert not ORDERS.search(outside)
        assert "<|im_start|>" not in user["content"]
