"""Judges are asked once for each question; a missing answer is told and never made up."""

import asyncio
from collections import Counter
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest

import histoeval
from histoeval.errors import EndpointError, Problem, SettingError
from histoeval.judges.choice import JudgeConfig
from histoeval.judges.panel import JudgePanel, JudgeSampling
from histoeval.judges.prompt import load_prompt
from histoeval.llm.access import RetryPolicy
from histoeval.metric import Score
from histoeval.metrics.judge import JudgeMetric
from histoeval.metrics.registry import create
from histoeval.report import Pair
from histoeval.run.judge import judge_metrics
from histoeval.run.models import Models
from tests.support.fake_server import CRITERIA, Call, Loopback, Wrong, right_answer, serving
from tests.support.judge_pairs import bench_at, deserved, make_pair

PAIRS = [make_pair(number) for number in range(40)]


def panel(bench: JudgePanel) -> JudgeMetric:
    return judge_metrics(bench, "rubric4")[-1]


def scored(bench: JudgePanel, pairs: list[Pair] = PAIRS) -> list[Score]:
    said = panel(bench).score(pairs)
    assert all(isinstance(each, Score) for each in said), said
    return [each for each in said if isinstance(each, Score)]


def test_parts_are_the_criteria_and_the_value_is_their_mean_height(loopback: Loopback) -> None:
    for number, score in enumerate(scored(bench_at(loopback.url))):
        expected = deserved(number)
        assert score.parts == dict(zip(CRITERIA, expected, strict=True))
        heights = [(s - 1) / (top - 1) for s, top in zip(expected, (4, 3, 3, 4), strict=True)]
        assert score.value == pytest.approx(sum(heights) / 4)
        assert score.evidence["reasoning"] == "as it deserves"


def test_equal_pairs_are_asked_about_once(loopback: Loopback) -> None:
    scored(bench_at(loopback.url), [PAIRS[0]] * 10 + [PAIRS[1]] * 10)
    assert len(loopback.calls) == 2


def test_what_was_answered_once_is_never_asked_again_and_needs_no_server() -> None:
    with serving(Loopback()) as server:
        first = scored(bench_at(server.url))
    again = bench_at(server.url)
    assert scored(again) == first
    (used,) = again.usage.values()
    assert (used.requests, used.cached) == (0, len(PAIRS))
    with pytest.raises(EndpointError, match="connection refused"):
        panel(bench_at(server.url)).score([make_pair(999)])


def test_another_model_prompt_seed_or_text_is_another_question(loopback: Loopback) -> None:
    scored(bench_at(loopback.url))
    before = len(loopback.calls)
    scored(bench_at(loopback.url, "another"))
    scored(bench_at(loopback.url, manner=JudgeSampling(seed=7)))
    scored(bench_at(loopback.url, manner=JudgeSampling(temperature=1)))
    assert len(loopback.calls) == 4 * before


def test_fields_of_a_request_are_added_removed_and_part_of_the_key(loopback: Loopback) -> None:
    body = {"max_tokens": 8000, "seed": None, "top_p": 0.5}
    bench = bench_at(loopback.url, manner=JudgeSampling(body=body))
    scored(bench, PAIRS[:1])
    sent = loopback.calls[0].body
    assert (sent["max_tokens"], sent["top_p"], sent["temperature"]) == (8000, 0.5, 0)
    assert "seed" not in sent
    assert '"top_p": 0.5' in bench.identity
    scored(bench_at(loopback.url), PAIRS[:1])
    assert len(loopback.calls) == 2


def test_no_more_are_asked_at_a_time_than_allowed(loopback: Loopback) -> None:
    loopback.delay = 0.1
    scored(bench_at(loopback.url, concurrency=5), PAIRS[:15])
    assert loopback.most_at_once == 5


def test_an_answer_that_is_wrong_is_repaired_once_with_its_error_shown(loopback: Loopback) -> None:
    bad = '{"critical_finding_concordance": 9}'
    loopback.fault = lambda call: None if call.repairs else Wrong(content=bad)
    scored(bench_at(loopback.url), PAIRS[:3])
    repairs = [call for call in loopback.calls if call.repairs]
    assert len(repairs) == 3
    assert repairs[0].body["messages"][2] == {"role": "assistant", "content": bad}
    complaint = repairs[0].body["messages"][3]["content"]
    assert "critical_finding_concordance: input should be less than or equal to 4" in complaint
    scored(bench_at(loopback.url), PAIRS[:3])
    assert len(loopback.calls) == 6, "a repair is kept as well"


def test_what_stays_unreadable_is_missing_and_not_a_number(loopback: Loopback) -> None:
    loopback.fault = lambda call: Wrong(content="3 out of 4") if "Case 7:" in call.case else None
    said = panel(bench_at(loopback.url)).score(PAIRS)
    (problem,) = [each for each in said if isinstance(each, Problem)]
    assert said.index(problem) == 7
    assert (problem.code, problem.metric) == ("judge_unreadable", "judge_rubric4")
    assert "no JSON object" in problem.message
    assert sum("Case 7:" in call.case for call in loopback.calls) == 2


def test_repeats_are_asked_with_the_next_seeds_and_give_mean_and_spread(loopback: Loopback) -> None:
    def wavering(call: Call) -> str:
        score = 1 + call.body["seed"] % 3
        return right_answer(call).replace('equivalence": 1', f'equivalence": {score}')

    loopback.say = wavering
    (score,) = scored(bench_at(loopback.url, manner=JudgeSampling(repeats=3, seed=30)), PAIRS[:1])
    assert [call.body["seed"] for call in loopback.calls] == [30, 31, 32]
    assert score.parts["overall_equivalence"] == pytest.approx(2)
    assert score.parts["overall_equivalence_spread"] == pytest.approx(stdev([1, 2, 3]))
    assert score.parts["spread"] == pytest.approx(stdev([1 / 12, 2 / 12, 0]))
    assert [answer["repeat"] for answer in score.evidence["answers"]] == [0, 1, 2]


def test_a_repeat_that_is_missing_leaves_no_score(loopback: Loopback) -> None:
    loopback.fault = lambda call: Wrong(content="?") if call.body["seed"] == 1 else None
    (said,) = panel(bench_at(loopback.url, manner=JudgeSampling(repeats=3))).score(PAIRS[:1])
    assert isinstance(said, Problem)
    assert said.message.startswith("m, repeat 2: ")


def test_a_panel_scores_the_mean_and_every_judge_has_a_column(loopback: Loopback) -> None:
    def of_two_minds(call: Call) -> str:
        scores = "1 1 1 1" if call.body["model"] == "strict" else "4 3 3 4"
        return right_answer(call._replace(body={"messages": [{}, {"content": f"scored {scores}"}]}))

    loopback.say = of_two_minds
    bench = bench_at(loopback.url, "strict", "mild")
    metrics = judge_metrics(bench, "rubric4")
    names = [metric.name for metric in metrics]
    assert names == ["judge_rubric4@strict", "judge_rubric4@mild", "judge_rubric4"]
    values = [each.value for m in metrics for each in m.score(PAIRS[:1]) if isinstance(each, Score)]
    assert values == pytest.approx([0, 1, 0.5])
    assert len(loopback.calls) == 2, "each judge is asked once, though three columns use it"
    assert Counter(call.body["model"] for call in loopback.calls) == {"strict": 1, "mild": 1}


def test_a_panel_without_one_judge_has_no_score_and_the_others_have(loopback: Loopback) -> None:
    loopback.fault = lambda call: Wrong(content="?") if call.body["model"] == "b" else None
    metrics = judge_metrics(bench_at(loopback.url, "a", "b"), "rubric4")
    answers = [metric.score(PAIRS[:1])[0] for metric in metrics]
    assert [type(answer) for answer in answers] == [Score, Problem, Problem]


def test_swapping_the_reports_is_a_check_and_no_part_of_the_score(loopback: Loopback) -> None:
    def swayed(call: Call) -> str:
        better = '"factual_accuracy": 3' if call.case.startswith("<<<CANDIDATE") else None
        usual = '"factual_accuracy": 1'
        return right_answer(call).replace(usual, better or usual)

    loopback.say = swayed
    (score,) = scored(bench_at(loopback.url, manner=JudgeSampling(check_order=True)), PAIRS[:1])
    assert score.parts == dict(zip(CRITERIA, deserved(0), strict=True))
    orders = {a["order"]: a["scores"]["factual_accuracy"] for a in score.evidence["answers"]}
    assert orders == {"usual": 1, "swapped": 3}


def test_scores_that_contradict_each_other_are_kept_and_named(loopback: Loopback) -> None:
    pair = Pair(id="x", reference="a", candidate="scored 1 3 3 4")
    (score,) = scored(bench_at(loopback.url), [pair])
    assert score.parts["overall_equivalence"] == 4
    (told,) = score.evidence["inconsistent"]
    assert told == "overall_equivalence 4 does not go with critical_finding_concordance 1"


def test_a_service_that_is_gone_stops_the_run_and_keeps_what_it_said(loopback: Loopback) -> None:
    loopback.fault = lambda call: Wrong(status=500) if len(loopback.calls) > 15 else None
    settings: dict[str, Any] = {"concurrency": 4, "patience": RetryPolicy(attempts=1)}
    with pytest.raises(EndpointError, match=r"requests in a row failed.* 500"):
        panel(bench_at(loopback.url, **settings)).score(PAIRS)
    assert len(loopback.calls) < 30
    loopback.fault = lambda call: None
    before = len(loopback.calls)
    scored(bench_at(loopback.url, **settings))
    assert len(loopback.calls) - before == len(PAIRS) - 15


def test_it_works_inside_a_running_loop_as_in_a_notebook(loopback: Loopback) -> None:
    async def cell() -> list[Score]:
        return scored(bench_at(loopback.url, keep=False))

    assert len(asyncio.run(cell())) == len(PAIRS)


def test_the_signature_pins_prompt_judge_and_manner(loopback: Loopback) -> None:
    told = str(panel(bench_at(loopback.url, manner=JudgeSampling(repeats=2))).signature)
    assert load_prompt("rubric4").hash in told
    assert f"m@{loopback.url}" in told
    assert "temperature=0,seed=0,repeats=2" in told


def test_judges_run_inside_score_from_python(loopback: Loopback, tmp_path: Path) -> None:
    choice = JudgeConfig(endpoints=(loopback.url,), models=("m",))
    results = histoeval.score(
        PAIRS, metrics="judge_rubric4,judge_expert5,bleu", models=Models(judge=choice)
    )
    rows = results.to_dicts()
    assert rows[5]["judge_rubric4.factual_accuracy"] == deserved(5)[1]
    assert results.summary["metrics"]["judge_rubric4"]["systems"]["candidate"]["coverage"] == 1
    assert "judge_unreadable" in rows[5]["problems"], "the server knows no scale from 0 to 5"


def test_an_endpoint_is_judge_enough_for_metrics(loopback: Loopback) -> None:
    endpoint = histoeval.Endpoint(url=loopback.url, model="m")
    for judge in (endpoint, [endpoint]):
        found = histoeval.score(PAIRS[:6], metrics="judge_rubric4", models=Models(judge=judge))
        assert found.to_dicts()[5]["judge_rubric4.factual_accuracy"] == deserved(5)[1]
    for nonsense in (loopback.url, object(), [loopback.url]):
        with pytest.raises(SettingError, match="is no judge: give an Endpoint"):
            histoeval.score(PAIRS, metrics="judge_errors", models=Models(judge=nonsense))


def test_without_a_judge_the_metric_says_how_to_name_one() -> None:
    assert "Models(judge=...)" in (create("judge_rubric4").unavailable_reason() or "")
    with pytest.raises(SettingError, match="rubric4"):
        create("judge:prompt=rubric9")


def test_whoever_listens_hears_of_every_answer(loopback: Loopback) -> None:
    bench = bench_at(loopback.url, "a", "b", manner=JudgeSampling(repeats=2, check_order=True))
    heard: list[int] = []
    bench.settled = lambda: heard.append(1)
    scored(bench, PAIRS[:5])
    assert len(heard) == 5 * bench.questions_a_pair == 5 * 2 * 3
