"""Judges are asked about what comes next while somebody still waits for what came before."""

import asyncio
import time
from pathlib import Path
from typing import Self

import pytest

from histoeval.errors import EndpointError
from histoeval.io.pairs import open_source
from histoeval.io.results import ResultFolder
from histoeval.judges.panel import JudgePanel, JudgeSampling
from histoeval.judges.prompt import Answer, load_prompt
from histoeval.llm.cache import Cache
from histoeval.llm.chat import Reply, Request
from histoeval.run.judge import run_judges
from histoeval.run.settings import JudgeSettings
from tests.support.fake_server import Call, Loopback, Wrong
from tests.support.judge_pairs import bench_at, make_pair, write_pairs

PROMPT = load_prompt("rubric4")
PAIRS = [make_pair(number) for number in range(200)]
GOOD = (
    '{"critical_finding_concordance": 4, "factual_accuracy": 3, "factual_completeness": 3, '
    '"overall_equivalence": 4, "reasoning": "fine"}'
)


class Mind:
    """A chat in this process that breaks on one case."""

    identity = "mind@nowhere"
    retries = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def ping(self) -> None:
        pass

    async def ask(self, request: Request) -> Reply:
        await asyncio.sleep(0)
        if "Case 77:" in request.messages[1]["content"]:
            raise ZeroDivisionError("a bug of its own")
        return Reply(GOOD)


def test_one_slow_answer_does_not_hold_up_the_others(loopback: Loopback, tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.csv", PAIRS)

    def slow(call: Call) -> Wrong | None:
        return Wrong(delay=1.0) if "Case 60:" in call.case else None

    loopback.fault = slow
    bench = bench_at(loopback.url, concurrency=4)
    source = open_source([tmp_path / "pairs.csv"])
    folder = ResultFolder(tmp_path / "out")
    run_judges(JudgeSettings(output=folder.home, batch_size=4), source, bench)
    assert [row.id for row in folder] == [pair.id for pair in PAIRS]
    assert not any(row.errors for row in folder)
    first = next(at for at, call in enumerate(loopback.answered) if "Case 60:" in str(call.body))
    assert first > 100, "others were answered before the slow one"


def test_what_was_expected_is_asked_about_once_and_given_in_order(loopback: Loopback) -> None:
    bench = bench_at(loopback.url, concurrency=8)
    parts = [PAIRS[first : first + 25] for first in range(0, 200, 25)]
    for part in parts:
        bench.prefetch(PROMPT, part)
        bench.prefetch(PROMPT, part)
    for part in parts:
        given = bench.ask(PROMPT, part)
        assert len(given) == len(part)
        assert all(isinstance(each.outcome, Answer) for one in given for each in one)
    assert len(loopback.calls) == 200
    assert loopback.connections <= 9, "connections are kept over all of them"


def test_what_is_expected_is_asked_before_anybody_waits_for_it(loopback: Loopback) -> None:
    bench = bench_at(loopback.url, concurrency=8)
    for first in range(0, 100, 25):
        bench.prefetch(PROMPT, PAIRS[first : first + 25])
        time.sleep(0.05)
    before = len(loopback.calls)
    bench.close()
    assert before >= 8, "so many are asked at a time"


@pytest.mark.parametrize("concurrency", [1, 64])
def test_a_judge_who_is_not_there_is_said_at_once(concurrency: int) -> None:
    bench = bench_at("http://127.0.0.1:9/v1", concurrency=concurrency)
    bench.prefetch(PROMPT, PAIRS)
    with pytest.raises(EndpointError, match="connection refused"):
        bench.ask(PROMPT, PAIRS)


def test_a_key_that_is_refused_ends_all_with_one_message(loopback: Loopback) -> None:
    refusal = b"HTTP/1.1 401 Status\r\nContent-Length: 0\r\n\r\n"
    loopback.respond = lambda call: (refusal, Wrong())  # type: ignore[method-assign]
    with pytest.raises(EndpointError, match="HISTOEVAL_JUDGE_KEY"):
        bench_at(loopback.url, concurrency=8).ask(PROMPT, PAIRS)
    assert not [call for call in loopback.calls if "completions" in call.path]


def test_what_is_no_longer_expected_is_not_asked_about(loopback: Loopback) -> None:
    loopback.delay = 0.05
    bench = bench_at(loopback.url, concurrency=2)
    bench.prefetch(PROMPT, PAIRS[:2])
    bench.prefetch(PROMPT, PAIRS[2:])
    bench.ask(PROMPT, PAIRS[:2])
    bench.close()
    assert len(loopback.calls) < 10
    (used,) = bench.usage.values()
    assert used.seconds > 0


def test_a_bug_in_one_question_costs_that_pair_alone(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.csv", PAIRS)
    bench = JudgePanel([Mind()], Cache(None), JudgeSampling(), concurrency=4)
    folder = ResultFolder(tmp_path / "out")
    source = open_source([tmp_path / "pairs.csv"])
    run_judges(JudgeSettings(output=folder.home, batch_size=16), source, bench)
    rows = list(folder)
    assert [row.id for row in rows if row.errors] == ["case-77"]
    assert rows[77].errors[0].message == "ZeroDivisionError: a bug of its own"
