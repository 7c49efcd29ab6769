"""Trust in words for those who act on it: every reason has some, and none has a number or code."""

import re
from typing import Any, get_args

import pytest

from histoeval.pathgls.fusion import ReasonKind, fuse
from histoeval.pathgls.grounding.score import UNKNOWN_CLAIMS, UNKNOWN_IMAGE
from histoeval.pathgls.policy.policy import Policy, read_policy
from histoeval.pathgls.results import CancerCheck
from histoeval.resources import load_toml
from histoeval.run.trust.rows import MissingReason, TrustRow, policy_of, reasons_of
from histoeval.view.trust_words import (
    TrustTally,
    changes_when_asked_again,
    missing_words,
    plain_why,
    verdict_meanings,
    worded_reasons,
    worst_first,
)
from tests.support.groundings import judged_grounding

WITH, WITHOUT = read_policy("with_endpoint"), read_policy("without_endpoint")
TEXT = read_policy("text_only")
NO_IMAGE, NO_CANCER = "there is no image", "cancer was not checked"


def judged(policy: Policy, grounding: Any, logic: Any, stability: Any, row: int = 1) -> TrustRow:
    agrees = CancerCheck(stated="malignant", verdict="agrees", why="")
    seen = judged_grounding().model_copy(update={"verdict": "supported", "cancer": agrees})
    cancer = None if grounding is None else agrees
    trust = fuse(grounding, logic, stability, policy.weights, policy, cancer=cancer)
    found: dict[str, Any] = {
        "trust": trust.model_dump(mode="json", include={"low", "high", "reason", "missing"})
    }
    if grounding is not None:
        found["grounding"] = seen.model_dump(mode="json")
    return TrustRow(
        id=f"report {row}",
        row=row,
        grounding=grounding,
        logic=logic,
        stability=stability,
        trust=trust.value,
        route=trust.route,
        evidence=found,
        errors=tuple(
            MissingReason(dimension=name, code=code, message="as --an-option says")
            for name, code, value in (
                ("grounding", "no_image", grounding),
                ("stability", "no_attacked_reports", stability),
            )
            if value is None
        ),
    )


def briefs(row: TrustRow, policy: Policy) -> list[str]:
    return [each.brief for each in worded_reasons(row, policy)]


def test_each_kind_of_reason_has_words_without_numbers_options_and_codes() -> None:
    table = load_toml("view/trust_words.toml")
    assert {*get_args(ReasonKind)} - {"missing"} <= {*table["reasons"]}
    for each in (*table["reasons"].values(), *table["missing"].values()):
        for text in each.values():
            assert re.search(r"\d|--|[a-z]_[a-z]", text) is None, text


@pytest.mark.parametrize(
    ("policy", "values", "reasons"),
    [
        (WITHOUT, (0.95, 0.95, None), ["all checks passed"]),
        (WITHOUT, (0.1, 0.3, None), ["too little speaks for the report"]),
        (WITHOUT, (0.9, 0.0, None), ["the report contradicts itself"]),
        (WITHOUT, (None, 0.9, None), [NO_IMAGE, NO_CANCER]),
        (WITHOUT, (0.6, 0.8, None), ["the checks together are not good enough"]),
        (WITH, (1.0, 1.0, 0.4), ["stability alone falls short"]),
        (WITH, (None, 1.0, None), [NO_IMAGE, "the model was not asked again", NO_CANCER]),
        (TEXT, (None, 1.0, None), ["this policy leaves every report to a person"]),
    ],
)
def test_reasons_follow_the_policy(policy: Policy, values: Any, reasons: list[str]) -> None:
    assert briefs(judged(policy, *values), policy) == reasons


def test_the_gravest_reason_is_the_one_that_the_file_has() -> None:
    row = judged(WITH, None, 1.0, 0.4)
    first, *_ = reasons_of(row, policy_of({"policy": WITH.content()}))
    assert first.text == row.evidence["trust"]["reason"]


def test_a_verdict_that_the_rules_no_longer_give_points_to_the_details() -> None:
    row = judged(WITHOUT, 0.95, 0.95, None).model_copy(update={"route": "reject"})
    assert briefs(row, WITHOUT) == ["another reason"]


def test_an_image_that_says_something_else_is_named() -> None:
    row = judged(WITHOUT, 0.5, 0.9, None)
    seen = judged_grounding().model_dump(mode="json")
    row = row.model_copy(
        update={"route": "reject", "evidence": {**row.evidence, "grounding": seen}}
    )
    assert briefs(row, WITHOUT) == ["the image shows something else"]


@pytest.mark.parametrize(
    ("dimension", "code", "message", "brief"),
    [
        ("grounding", "grounding_unknown", UNKNOWN_IMAGE, "does not know this kind of image"),
        ("grounding", "grounding_unknown", UNKNOWN_CLAIMS, "was not trained on what the report"),
        ("logic", "a_code_of_later", "ValueError", "a check failed"),
        (None, "not_utf8", "column report", "the report itself cannot be read"),
    ],
)
def test_codes_are_explained(dimension: str | None, code: str, message: str, brief: str) -> None:
    error = MissingReason(dimension=dimension, code=code, message=message)
    row = judged(WITHOUT, 0.9, 0.9, None).model_copy(update={"errors": (error,)})
    (missing,) = missing_words(row, dimension or "logic")
    assert brief in missing.brief


def test_verdicts_and_reasons_are_counted_and_lead_to_next_steps() -> None:
    tally = TrustTally(WITH)
    rows = [judged(WITH, None, 1.0, None, 1), judged(WITH, 0.9, 1.0, None, 2)]
    rows += [judged(WITH, 1.0, 1.0, 1.0, 3), judged(WITH, 0.9, 0.0, 0.9, 4)]
    for row in rows:
        tally.add(row)
    counted = [("the model was not asked again", 2), (NO_CANCER, 1), (NO_IMAGE, 1)]
    assert tally.commonest("review") == counted
    assert tally.verdicts == {"review": 2, "deploy": 1, "reject": 1}
    steps = tally.next_steps()
    assert [step.split("(")[0] for step in steps[:3]] == [
        "Do not use the rejected reports ",
        "Have a pathologist read the reports to review ",
        "The cleared reports ",
    ]
    assert steps[3].startswith("To have stability checked")
    assert [row.row for row in sorted(rows, key=worst_first)] == [4, 2, 1, 3]


def test_a_policy_without_words_gets_the_usual_ones() -> None:
    bare = WITH.model_copy(update={"meaning": None})
    assert list(verdict_meanings(bare)) == ["reject", "review", "deploy"]
    assert verdict_meanings(bare)["review"].startswith("A pathologist reads")


def test_changes_under_attack_are_told_in_words() -> None:
    shifts = [
        {"attack": "stain", "kind": "visual", "distance": 0.0, "report": "x"},
        {
            "attack": "false_history",
            "kind": "semantic",
            "distance": 1.0,
            "report": "y",
            "changed": ["gone: 'dysplasia' (absent)", "new: 'carcinoma'"],
        },
    ]
    found = {"value": 0.5, "shifts": shifts, "worst": "prompt", "signature": "s"}
    assert list(changes_when_asked_again({"stability": found})) == [
        ("With the stain of the image changed", ["nothing changed"]),
        (
            "With a misleading request (false history)",
            ["no longer said: 'dysplasia' (said to be absent)", "newly said: 'carcinoma'"],
        ),
    ]


def test_reasons_of_the_image_have_no_option_and_no_cosine() -> None:
    why = "the encoder was never validated: run `evaluate --calibration FILE`"
    assert "--" not in plain_why(why)
    assert (
        plain_why("less than glands (0.31) to the encoder") == "less than glands to the image check"
    )
