"""200 pairs, three answers in ten spoilt: every row right or missing by name."""

import json
import random
from pathlib import Path

import pytest

from histoeval.io.pairs import open_source
from histoeval.io.results import ResultFolder, ResultRow
from histoeval.llm.access import RetryPolicy
from histoeval.run.judge import run_judges
from histoeval.run.settings import JudgeSettings
from tests.support.fake_server import CRITERIA, Call, Loopback, Wrong, right_answer, stream
from tests.support.judge_pairs import bench_at, deserved, make_pair, write_pairs

PAIRS = [make_pair(number) for number in range(200)]
EVENTS = (("Content-Type", "text/event-stream"),)


def spoilt(call: Call, chance: random.Random) -> Wrong:
    """One of the ways in which servers and models misbehave."""
    good = right_answer(call)
    return chance.choice(
        [
            Wrong(status=429, headers=(("Retry-After", "0.01"),)),
            Wrong(status=500),
            Wrong(status=502, raw=b"<html>"),
            Wrong(cut=True),
            Wrong(delay=5),
            Wrong(raw=b'{"choices": [{"mess'),
            Wrong(content=good[:40]),
            Wrong(content=good.replace("1", "7")),
            Wrong(content=""),
            Wrong(content=f"```json\n{good}\n```"),
            Wrong(content=f"<think>I wonder: {{4}}</think>{good}"),
            Wrong(content=f"{good} or rather {good.replace('2', '1')}"),
            Wrong(raw=stream(good), headers=EVENTS),
            Wrong(raw=stream(good)[:80], headers=EVENTS),
        ]
    )


class Spoiling:
    """Spoils three calls in ten, and everything that concerns the hopeless cases."""

    def __init__(self) -> None:
        self._chance = random.Random(11)
        self.spoilt = 0

    def __call__(self, call: Call) -> Wrong | None:
        if "Case 13:" in call.case or "Case 150:" in call.case:
            return Wrong(content='{"critical_finding_concordance": "four"}')
        if self._chance.random() >= 0.3:
            return None
        self.spoilt += 1
        return spoilt(call, self._chance)


def judge(server: Loopback, folder: Path, output: str) -> list[ResultRow]:
    patience = RetryPolicy(timeout_s=1, attempts=8)
    bench = bench_at(server.url, concurrency=32, patience=patience)
    results = ResultFolder(folder / output)
    source = open_source([folder / "pairs.csv"])
    run_judges(JudgeSettings(output=results.home), source, bench)
    return list(results)


def test_all_rows_are_each_right_or_missing_by_name_and_cost_nothing_again(
    loopback: Loopback, tmp_path: Path
) -> None:
    write_pairs(tmp_path / "pairs.csv", PAIRS)
    loopback.fault = spoiling = Spoiling()
    rows = judge(loopback, tmp_path, "out")
    assert spoiling.spoilt > 60
    assert [row.id for row in rows] == [pair.id for pair in PAIRS]
    for number, row in enumerate(rows):
        if row.errors:
            assert row.scores == {}
            assert row.errors[0].code in ("judge_unreadable", "judge_unreachable")
        else:
            parts = row.scores["judge_rubric4"].parts
            assert parts == dict(zip(CRITERIA, deserved(number), strict=True))
    missing = [row.id for row in rows if row.errors]
    assert {"case-13", "case-150"} <= set(missing)
    assert len(missing) < 30

    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    totals = summary["metrics"]["judge_rubric4"]["systems"]["candidate"]
    assert totals["scored"] == 200 - len(missing)
    assert totals["coverage"] == pytest.approx(1 - len(missing) / 200)
    assert summary["rows_with_errors"] == len(missing)

    lines = (tmp_path / "out" / "missing.jsonl").read_text("utf-8").splitlines()
    raw = {line["id"]: line["raw"] for line in map(json.loads, lines)}
    assert list(raw) == missing
    assert raw["case-13"] == ['{"critical_finding_concordance": "four"}'] * 2

    loopback.calls.clear()  # asked again only for what was not reached
    loopback.fault = lambda call: None
    second = {row.id: row for row in judge(loopback, tmp_path, "again")}
    unreached = {r.id for r in rows if r.errors and r.errors[0].code == "judge_unreachable"}
    assert len(loopback.calls) <= 2 * len(unreached)
    for row in rows:
        assert row.id in unreached or second[row.id] == row
