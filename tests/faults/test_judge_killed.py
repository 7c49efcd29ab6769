"""A run that is stopped half way, by a kill or by Ctrl-C, pays for nothing twice.

200 pairs, three answers in ten spoilt: the server counts what it has answered, by content.
"""

import json
import random
import signal
import subprocess
import time
from collections import Counter

import pytest

from tests.faults.test_judge_faults import spoilt
from tests.support.command import PROGRAM, Outcome, environment, polite
from tests.support.fake_server import CRITERIA, Call, Wrong
from tests.support.judge_command import Here
from tests.support.judge_pairs import deserved, make_pair, write_pairs

PAIRS = 200
AT_A_TIME = 16
HOW = ("--concurrency", str(AT_A_TIME), "--timeout", "30", "--attempts", "8")


def stopped_half_way(here: Here, number: int) -> Outcome:
    """Stop the command when half of the pairs have been answered."""
    command = [*PROGRAM, "judge", "pairs.csv", *here.who, "--output", "out", *HOW]
    with subprocess.Popen(
        command,
        cwd=here.folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        while len(here.server.answered) < PAIRS // 2:
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    return polite(Outcome(process.returncode, out, err))


def finished(calls: list[Call]) -> Counter[str]:
    """How often each conversation was answered to the end, whatever the answer was worth."""
    return Counter(json.dumps(call.body["messages"]) for call in calls if call.body)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_goes_on_and_asks_for_nothing_twice(here: Here, number: int) -> None:
    write_pairs(here.folder / "pairs.csv", [make_pair(n) for n in range(PAIRS)])
    chance = random.Random(3)

    def fault(call: Call) -> Wrong | None:
        """Some three in ten; none that the server counts as answered and the client cannot use."""
        wrong = spoilt(call, chance) if chance.random() < 0.4 else None
        unusable = wrong is not None and wrong.status == 200 and (wrong.raw or wrong.delay)
        return None if unusable else wrong

    here.server.fault = fault
    here.server.delay = 0.05
    outcome = stopped_half_way(here, number)
    assert outcome.code == (130 if number == signal.SIGINT else -number)
    if number == signal.SIGINT:
        assert "the same command resumes there" in outcome.err
    time.sleep(0.1)
    before = finished(here.server.answered)
    assert PAIRS * 0.4 < before.total() < PAIRS, "it was stopped half way"
    assert here.judge(*HOW).code in (0, 1)
    twice = {asked: times for asked, times in finished(here.server.answered).items() if times > 1}
    assert sum(twice.values()) - len(twice) <= AT_A_TIME, "only what was under way at the kill"
    rows = here.lines("scores.jsonl")
    assert [row["id"] for row in rows] == [f"case-{n}" for n in range(PAIRS)]
    for place, row in enumerate(rows):
        if row["errors"]:
            assert row["scores"] == {}
            assert row["errors"][0]["code"] in ("judge_unreadable", "judge_unreachable")
        else:
            found = row["scores"]["judge_rubric4"]["parts"]
            assert found == dict(zip(CRITERIA, deserved(place), strict=True))
    assert sum(bool(row["errors"]) for row in rows) < PAIRS * 0.15
