"""`histoeval judge` as people use it: files, resume, costs, and nothing that tells secrets."""

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.support.command import histoeval
from tests.support.fake_server import CRITERIA, Call, Wrong, right_answer
from tests.support.judge_command import Here
from tests.support.judge_pairs import deserved
from tests.support.paths import EXAMPLES

KEY = "sk-very-secret-0123456789"
FILES = ["missing.jsonl", "run.json", "scores.jsonl", "summary.json", "texts.jsonl", "usage.json"]


def test_a_file_is_judged_and_the_folder_holds_what_score_would_leave(here: Here) -> None:
    outcome = here.judge()
    assert (outcome.code, outcome.err) == (0, "")
    assert "judge_rubric4" in outcome.out
    assert sorted(path.name for path in (here.folder / "out").iterdir()) == FILES
    rows = here.lines("scores.jsonl")
    assert [row["id"] for row in rows] == [f"case-{n}" for n in range(30)]
    for number, row in enumerate(rows):
        found = row["scores"]["judge_rubric4"]
        assert found["parts"] == dict(zip(CRITERIA, deserved(number), strict=True))
        assert row["errors"] == []
    summary = here.read("summary.json")
    assert summary["judge"]["prompt"]["name"] == "rubric4"
    (used,) = here.read("usage.json").values()
    assert (used["requests"], used["tokens_in"], used["cost"]) == (30, 27_000, 0)


def test_missing_answers_are_named_and_the_exit_code_tells(here: Here) -> None:
    here.server.fault = lambda call: Wrong(content="four") if "Case 3:" in call.case else None
    outcome = here.judge()
    assert (outcome.code, "29 of 30" in outcome.out) == (1, True)
    row = here.lines("scores.jsonl")[3]
    (error,) = row["errors"]
    found = (row["scores"], error["code"], error["metric"])
    assert found == ({}, "judge_unreadable", "judge_rubric4")
    (kept,) = here.lines("missing.jsonl")
    assert (kept["id"], kept["raw"]) == ("case-3", ["four", "four"])


def test_a_dry_run_counts_and_asks_nothing(here: Here, tmp_path: Path) -> None:
    prices = '[[price]]\nmodel = "m*"\ninput = 2.0\noutput = 8.0\n'
    (tmp_path / "prices.toml").write_text(prices, "utf-8")
    dry = ("--dry-run", "--repeats", "2", "--prices", "prices.toml")
    asked = here.judge(*dry)
    assert (asked.code, here.server.calls, (here.folder / "out").exists()) == (0, [], False)
    assert "USD" in asked.out
    assert "unknown" in asked.out, "nobody knows yet how long it takes"
    here.judge("--prices", "prices.toml")
    (used,) = here.read("usage.json").values()
    assert used["cost"] == pytest.approx((27_000 * 2 + 1_500 * 8) / 1e6)
    lines = here.judge(*dry).out.splitlines()
    counts = ["pairs 30", "questions 60", "cached 30", "to ask 30"]
    assert [" ".join(line.split()) for line in lines[-8:-4]] == counts
    assert len(here.server.calls) == 30


def test_repeats_judges_and_orders_are_compared_in_the_summary(here: Here) -> None:
    def wavering(call: Call) -> str:
        answer = right_answer(call)
        return answer.replace(": 2,", ": 1,") if call.body["seed"] == 1 else answer

    here.server.say = wavering
    more = ("--model", "n", "--repeats", "2", "--check-order")
    outcome = here.judge(*more)
    assert outcome.code == 0
    told = here.read("summary.json")["judge"]
    assert set(told["repeats"]) == {f"m@{here.server.url}", f"n@{here.server.url}"}
    alpha = told["repeats"][f"m@{here.server.url}"]["factual_accuracy"]["alpha"]
    assert alpha["low"] <= alpha["value"] <= alpha["high"] < 1
    assert told["between_judges"]["factual_accuracy"]["alpha"]["value"] == pytest.approx(1)
    assert told["order"][f"n@{here.server.url}"]["overall_equivalence"]["mean_shift"] == 0
    assert Counter(c.body["model"] for c in here.server.calls) == {"m": 90, "n": 90}
    assert "Between judges" in outcome.out


def test_score_finds_judges_by_environment(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("score", "pairs.csv", "--metrics", "judge_rubric4,bleu", "--output")
    assert here(*arguments, "one", *here.who).code == 0
    monkeypatch.setenv("HISTOEVAL_JUDGE_ENDPOINT", here.server.url)
    monkeypatch.setenv("HISTOEVAL_JUDGE_MODEL", "m")
    assert here(*arguments, "two").code == 0
    assert here.lines("scores.jsonl", "one") == here.lines("scores.jsonl", "two")
    assert len(here.server.calls) == 30


def test_agree_has_a_judge_among_its_metrics(here: Here) -> None:
    """A judge who says what the expert of each row said agrees in full."""

    def as_the_expert(call: Call) -> str:
        return json.dumps({"score": int(call.case.split("worth ")[1][0]), "reasoning": "as said"})

    here.server.say = as_the_expert
    with (here.folder / "sheet.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "system", "reference", "candidate", "expert"])
        for number in range(24):
            texts = (f"Case {number}: tubular adenoma.", f"Case {number}: worth {number % 6}.")
            writer.writerow([number, "s", *texts, number % 6])
    outcome = here(
        "agree", "sheet.csv", "--metrics", "judge_expert5,bleu", "--rater", "expert", *here.who,
        "--output", "agreed", "--resamples", "200", "--permutations", "100",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    told = json.loads((here.folder / "agreed/agreement.json").read_text("utf-8"))
    found = next(each for each in told["metrics"] if each["metric"] == "judge_expert5")
    assert (found["n"], found["coverage"]) == (24, 1)
    assert found["spearman"]["value"] == pytest.approx(1)
    assert f"m@{here.server.url}" in found["signature"]
    assert len(here.server.calls) == 24


def test_a_prompt_of_ones_own_is_named_by_its_file(here: Here) -> None:
    example = EXAMPLES / "judge" / "synoptic.yaml"
    here.server.say = lambda call: '{"staging": 2, "biomarkers": 1, "reasoning": "one missing"}'
    assert here.judge("--prompt", str(example)).code == 0
    row = here.lines("scores.jsonl")[0]["scores"]["judge_synoptic"]
    assert (row["value"], row["parts"]) == (0.75, {"staging": 2, "biomarkers": 1})
    assert "synoptic-1-" in (here.folder / "out/summary.json").read_text("utf-8")


def test_replies_are_listed_exported_and_cleared(here: Here) -> None:
    here.judge()
    assert "m@http://127.0.0.1" in here("judge", "cache", "list").out
    assert here("judge", "cache", "export", "replies.jsonl").code == 0
    lines = (here.folder / "replies.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 30
    assert "30 replies deleted" in here("judge", "cache", "clear").out
    here.judge("--overwrite")
    assert len(here.server.calls) == 60


def test_without_a_cache_nothing_is_kept(here: Here) -> None:
    here.judge("--no-cache")
    here.judge("--no-cache", output="again")
    assert len(here.server.calls) == 60
    kept = {path.name for path in (here.folder / "cache").iterdir()}
    assert kept == {"commands.jsonl", "sent.jsonl"}


def test_a_judge_is_checked_and_the_verdict_is_written(here: Here) -> None:
    outcome = here("judge", "check", *here.who, "--output", "verdicts.jsonl")
    assert outcome.code == 1
    assert "what it may be used for" in outcome.out
    lines = (here.folder / "verdicts.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["criterion"] for line in lines] == list(CRITERIA)


def test_no_key_header_or_report_is_told_anywhere(here: Here, tmp_path: Path) -> None:
    """Even when the server echoes both in its errors, and some answers are missing."""

    def echoing(call: Call) -> Wrong | None:
        said = json.dumps({"error": {"message": f"{call.headers} {call.case}"}}).encode()
        status = {"Case 4:": 422, "Case 5:": 500}.get(call.case.split("\n")[1][:7])
        return None if status is None else Wrong(status=status, raw=said)

    here.server.fault = echoing
    (tmp_path / "key").write_text(KEY, "utf-8")
    outcome = histoeval(
        "judge", "pairs.csv", *here.who, "--output", "out", "--key-file", "key",
        "--attempts", "2", "--cache", "cache.sqlite",
        cwd=here.folder, PYTHONDEVMODE="1",
    )  # fmt: skip
    assert outcome.code == 1
    assert all(call.headers["authorization"] == f"Bearer {KEY}" for call in here.server.calls)
    told = outcome.out + outcome.err
    for secret in ("tubular adenoma", "somewhere in the colon", KEY, "Bearer", "uthorization"):
        assert secret not in told
    files = [*(here.folder / "out").iterdir(), *here.folder.glob("cache.sqlite*")]
    assert len(files) >= 6
    for file in files:
        assert KEY.encode() not in file.read_bytes(), file
        is_kept = file.name == "texts.jsonl"  # what the page shows, and nothing else
        assert (b"tubular adenoma" in file.read_bytes()) == is_kept, file


def test_the_page_of_judges_shows_criteria_costs_and_reasons(here: Here) -> None:
    here.judge("--repeats", "2")
    assert here("report", "out").out == "Written: out/report.html\n"
    page = (here.folder / "out" / "report.html").read_text("utf-8")
    assert "Repeats of" in page
    assert 'id="errors"' not in page
    assert here("report", "out", "--to", "json").code == 0
    assert here.read("report.json")["kind"] == "judge"
