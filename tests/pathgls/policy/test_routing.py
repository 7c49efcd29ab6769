"""Routing: what is certainly wrong is rejected, and what is not known is never deployed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.pathgls.fusion import Trust, fuse
from histoeval.pathgls.policy.policy import POLICIES, Policy, RejectIf, read_policy
from histoeval.pathgls.results import CancerCheck, Contradiction, ReportSpan

WITH, WITHOUT, TEXT = map(read_policy, POLICIES)

AGREES = CancerCheck(stated="malignant", verdict="agrees", why="the tissue looks malignant")

maybe = st.none() | st.floats(0, 1)
verdicts = st.sampled_from([None, "supported", "contradicted", "not_known"])


def trust(
    grounding: float | None,
    logic: float | None,
    stability: float | None = None,
    *,
    policy: Policy = WITHOUT,
    cancer: CancerCheck | None = AGREES,
    **beside: Any,
) -> Trust:
    return fuse(grounding, logic, stability, policy.weights, policy, cancer=cancer, **beside)


def clash(probability: float = 1.0, source: str = "rule:presence") -> Contradiction:
    first = ReportSpan(text="Necrosis is\npresent", start=0, end=19)
    second = ReportSpan(text="There is no necrosis", start=21, end=41)
    return Contradiction(first=first, second=second, probability=probability, source=source)


@pytest.mark.parametrize("name", POLICIES)
def test_a_certain_contradiction_rejects_a_report_of_which_nothing_else_is_known(name: str) -> None:
    found = trust(None, 0.0, policy=read_policy(name), contradictions=[clash()])
    assert found.route == "reject"
    assert found.reason == (
        "the report contradicts itself: “Necrosis is present” and “There is no necrosis” cannot "
        "both be true (by the rule presence; logic 0.000)"
    )
    assert trust(1.0, 0.0, 1.0, policy=read_policy(name)).route == "reject"


def test_one_certain_contradiction_among_three_pairs_is_enough() -> None:
    assert trust(1.0, 0.66, contradictions=[clash()]).route == "reject"
    assert trust(1.0, 0.66, contradictions=[clash(0.96, "nli")]).route == "reject"
    assert "by the NLI model" in trust(1.0, 0.66, contradictions=[clash(0.96, "nli")]).reason


def test_a_contradiction_that_is_not_certain_is_for_a_person() -> None:
    found = trust(1.0, 0.4, contradictions=[clash(0.6, "nli")])
    assert found.route == "review"
    assert trust(None, 0.4, contradictions=[clash(0.6, "nli")]).route == "review"


def test_a_long_place_is_quoted_by_its_beginning() -> None:
    place = ReportSpan(text="cells " * 60, start=0, end=360)
    long = clash().model_copy(update={"first": place})
    assert len(trust(None, 0.0, contradictions=[long]).reason) < 250


def test_what_the_image_contradicts_is_rejected_whatever_its_trust() -> None:
    found = trust(1.0, 1.0, 1.0, policy=WITH, image_verdict="contradicted")
    assert found.route == "reject"
    assert "the image contradicts" in found.reason
    assert trust(1.0, None, image_verdict="contradicted").route == "reject"


def test_what_the_image_neither_supports_nor_contradicts_is_for_a_person() -> None:
    found = trust(0.9, 1.0, image_verdict="not_known")
    assert found.route == "review"
    assert "whether the image supports the report is not known" in found.reason
    assert trust(0.9, 1.0, image_verdict="supported").route == "deploy"
    assert trust(0.9, 1.0).route == "deploy"


@pytest.mark.parametrize("verdict", [None, "not_checked", "undecided", "disagrees"])
@pytest.mark.parametrize("policy", [WITH, WITHOUT])
def test_nothing_is_deployed_where_the_image_does_not_confirm_benign_or_malignant(
    policy: Policy, verdict: Any
) -> None:
    check = None if verdict is None else AGREES.model_copy(update={"verdict": verdict})
    found = trust(1.0, 1.0, 1.0, policy=policy, cancer=check, image_verdict="supported")
    assert found.route == "review"
    assert ("cancer was not checked" in found.reason) == (verdict in (None, "not_checked"))


def test_a_policy_that_asks_for_no_image_deploys_nothing() -> None:
    weights = {"grounding": 0.0, "logic": 1.0, "stability": 0.0}
    logic_alone = Policy.model_validate(
        {"weights": weights, "deploy_from": 0.8, "reject_below": 0.3}
    )
    assert trust(None, 1.0, policy=logic_alone, cancer=None).route == "review"


def test_a_dimension_that_is_not_known_is_named_with_the_reason_in_plain_words() -> None:
    unknown = {"grounding": "the row names no image"}
    found = trust(None, 1.0, unknown=unknown)
    assert found.route == "review"
    assert found.reason == (
        "grounding is not known (the row names no image): the policy without_endpoint deploys "
        "nothing without grounding; trust lies between 0.430 and 1.000"
    )
    both = trust(None, None, unknown=dict.fromkeys(("grounding", "logic"), "an empty cell"))
    assert both.reason.startswith("grounding and logic are not known (an empty cell): ")


def test_what_rejects_at_once_can_be_switched_off_and_is_still_not_deployed() -> None:
    off = RejectIf(logic_below=None, image_contradicts=False)
    lenient = WITHOUT.model_copy(update={"reject_if": off})
    torn = trust(1.0, 0.0, policy=lenient, contradictions=[clash()])
    foreign = trust(1.0, 1.0, policy=lenient, image_verdict="contradicted")
    assert (torn.route, foreign.route) == ("review", "review")


def test_low_grounding_alone_rejects_nothing_where_there_is_no_model_to_ask() -> None:
    assert trust(0.0, 1.0).route == "review"
    assert trust(0.0, 0.7).route == "review"
    assert trust(0.0, 0.6).route == "reject"


@given(maybe, maybe, maybe, verdicts, st.sampled_from(POLICIES))
def test_nothing_is_deployed_that_the_policy_needs_and_does_not_know(
    grounding: float | None, logic: float | None, stability: float | None, verdict: Any, name: str
) -> None:
    policy = read_policy(name)
    found = trust(grounding, logic, stability, policy=policy, image_verdict=verdict)
    if found.route == "deploy":
        assert name != "text_only"
        assert found.missing == ()
        assert verdict in (None, "supported")
        assert None not in (grounding, logic)


@pytest.mark.parametrize("policy", [WITH, WITHOUT])
def test_each_policy_with_images_knows_all_three_verdicts(policy: Policy) -> None:
    values = [(0.9, 1.0, 1.0), (0.6, 0.9, 0.7), (0.9, 0.0, 0.9)]
    assert [trust(*each, policy=policy).route for each in values] == ["deploy", "review", "reject"]


def test_a_policy_for_text_rejects_or_leaves_it_to_a_person() -> None:
    assert trust(None, 1.0, policy=TEXT).route == "review"
    assert "deploys nothing by itself" in trust(None, 1.0, policy=TEXT).reason
    assert trust(None, 0.0, policy=TEXT).route == "reject"
