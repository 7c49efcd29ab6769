"""Statements and errors by a language model that a loopback server stands for."""

import json
from typing import Any

import pytest

from histoeval import Problem, Score
from histoeval.judges.choice import JudgeConfig
from histoeval.judges.listing import load_list_prompt
from histoeval.llm.replies import Unreadable
from histoeval.metric import Metric
from histoeval.report import Pair
from histoeval.run.models import Models, load_metrics
from tests.support.fake_server import Loopback
from tests.support.judge_fixtures import _alone, loopback  # noqa: F401

REFERENCE = "Colon, biopsy: Adenocarcinoma, grade 2.\nMargins are free."
CANDIDATE = "Colon, biopsy: Adenocarcinoma, grade 3.\nMargins are free.\nUlceration is seen."
PAIR = Pair(id="1", reference=REFERENCE, candidate=CANDIDATE)
VERDICTS: dict[str, Any] = {
    "reference": [
        {"n": 1, "verdict": "contradicted", "by": [1]},
        {"n": 2, "verdict": "supported", "by": [2]},
    ],
    "candidate": [
        {"n": 1, "verdict": "contradicted", "by": [1]},
        {"n": 2, "verdict": "supported", "by": [2]},
        {"n": 3, "verdict": "neither", "by": []},
    ],
}
GRADE = {
    "kind": "wrong_grade",
    "severity": "major",
    "reference": "grade 2",
    "candidate": "Grade 3",
    "message": "another grade",
}
ADDED = GRADE | {
    "kind": "invention",
    "severity": "minor",
    "reference": None,
    "candidate": "Ulceration",
}
AGREED = {"part": "diagnosis", "reference": "Adenocarcinoma", "candidate": "Adenocarcinoma"}
LISTED: dict[str, Any] = {"agreed": [AGREED], "errors": [GRADE, ADDED]}


def metric_of(server: Loopback, name: str) -> Metric:
    judge = JudgeConfig(endpoints=(server.url,), models=("m",))
    (metric,) = load_metrics([name], Models(judge=judge))
    return metric


def test_statements_are_numbered_asked_once_and_counted(loopback: Loopback) -> None:  # noqa: F811
    loopback.say = lambda call: json.dumps(VERDICTS)
    metric = metric_of(loopback, "judge_statements")
    score = metric(REFERENCE, CANDIDATE)
    assert score.parts["precision"] == pytest.approx(1 / 3)
    assert score.parts["recall"] == 0.5
    assert score.value == score.parts["f1"]
    assert score.evidence["candidate"][1]["by"] == "Margins are free."
    (call,) = loopback.calls[-1:]
    assert "2. Margins are free." in call.case
    assert "supported" in str(call.body["messages"][0]["content"])
    metric.score([PAIR])
    assert len([c for c in loopback.calls if c.path.endswith("completions")]) == 1
    assert "prompt:statements-1-" in str(metric.signature)


def test_errors_weigh_as_offline(loopback: Loopback) -> None:  # noqa: F811
    loopback.say = lambda call: json.dumps(LISTED)
    score = metric_of(loopback, "judge_errors")(REFERENCE, CANDIDATE)
    assert dict(score.parts) == {"correct": 1.0, "missed": 0.0, "false": 0.1, "attribute": 0.5}
    assert score.value == pytest.approx(1 / 1.6)
    assert [error["class"] for error in score.evidence["errors"]] == ["attribute", "false"]


def test_a_broken_list_is_repaired_once_and_else_a_problem(loopback: Loopback) -> None:  # noqa: F811
    short = VERDICTS | {"candidate": VERDICTS["candidate"][:2]}
    loopback.say = lambda call: json.dumps(VERDICTS if call.repairs else short)
    (score,) = metric_of(loopback, "judge_statements").score([PAIR])
    assert isinstance(score, Score)
    loopback.say = lambda call: "no lists"
    other = PAIR.model_copy(update={"candidate": f"{CANDIDATE} Necrosis."})
    (problem,) = metric_of(loopback, "judge_statements").score([other])
    assert isinstance(problem, Problem)
    assert problem.code == "judge_unreadable"


def test_a_report_that_states_nothing_is_not_asked_about(loopback: Loopback) -> None:  # noqa: F811
    metric = metric_of(loopback, "judge_statements")
    (score,) = metric.score([PAIR.model_copy(update={"candidate": "🔬"})])
    assert isinstance(score, Score)
    assert score.value == 0
    assert loopback.calls == []


@pytest.mark.parametrize(
    ("prompt", "answer", "complaint"),
    [
        ("statements", {"reference": []}, "candidate: field required"),
        ("statements", VERDICTS | {"reference": []}, "one entry for each of 2"),
        ("statements", VERDICTS | {"more": 1}, "not asked for"),
        (
            "statements",
            VERDICTS
            | {"reference": [VERDICTS["reference"][0] | {"by": [9]}, VERDICTS["reference"][1]]},
            "does not have",
        ),
        ("errors", {"agreed": [], "errors": [GRADE | {"severity": "awful"}]}, "severity"),
        ("errors", {"agreed": [], "errors": [GRADE | {"kind": "typo"}]}, "kind must be one of"),
        (
            "errors",
            {"agreed": [], "errors": [GRADE | {"reference": "grade 7"}]},
            "not in the reference",
        ),
        ("errors", {"agreed": [], "errors": [ADDED | {"candidate": None}]}, "cannot both be null"),
        ("errors", {"agreed": [], "errors": []}, "nothing was compared"),
    ],
)
def test_lists_are_read_strictly(prompt: str, answer: dict[str, Any], complaint: str) -> None:
    with pytest.raises(Unreadable, match=complaint):
        load_list_prompt(prompt).read(json.dumps(answer), REFERENCE, CANDIDATE)


def test_without_a_judge_it_is_told_how_to_name_one() -> None:
    for name in ("judge_statements", "judge_errors"):
        (metric,) = load_metrics([name])
        assert "needs a judge" in str(metric.unavailable_reason())
