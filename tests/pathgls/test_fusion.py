"""The sum of the paper, its bounds, and the verdict: what is not known is never deployed."""

from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.pathgls.fusion import Trust, fuse
from histoeval.pathgls.policy.policy import (
    PAPER,
    POLICIES,
    DimensionWeights,
    Floors,
    Policy,
    RejectIf,
    read_policy,
)
from histoeval.pathgls.results import CancerCheck, Contradiction, ReportSpan

POLICY = Policy(weights=PAPER, deploy_from=0.75, reject_below=0.5)
TWO = DimensionWeights(grounding=0.6, logic=0.4, stability=0.0)
WITH, WITHOUT, TEXT = map(read_policy, POLICIES)
AGREES = CancerCheck(stated="malignant", verdict="agrees", why="the tissue looks malignant")

shares = st.floats(0, 1)
maybe = st.none() | shares
parts = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted)
verdicts = st.sampled_from([None, "supported", "contradicted", "not_known"])


def trust(
    grounding: float | None,
    logic: float | None,
    stability: float | None = None,
    *,
    policy: Policy = POLICY,
    cancer: CancerCheck | None = AGREES,
    **beside: Any,
) -> Trust:
    return fuse(grounding, logic, stability, policy.weights, policy, cancer=cancer, **beside)


routed = partial(trust, policy=WITHOUT)


def clash(probability: float = 1.0, source: str = "rule:presence") -> Contradiction:
    first = ReportSpan(text="Necrosis is\npresent", start=0, end=19)
    second = ReportSpan(text="There is no necrosis", start=21, end=41)
    return Contradiction(first=first, second=second, probability=probability, source=source)


@given(shares, shares, shares, parts)
def test_trust_is_the_sum_of_the_paper(g: float, lo: float, s: float, cut: list[int]) -> None:
    of_20 = (cut[0], cut[1] - cut[0], 20 - cut[1])
    names = ("grounding", "logic", "stability")
    weights = DimensionWeights(**{n: w / 20 for n, w in zip(names, of_20, strict=True)})
    exact = sum(Fraction(x) * Fraction(w, 20) for x, w in zip((g, lo, s), of_20, strict=True))
    found = fuse(g, lo, s, weights, POLICY, cancer=AGREES)
    assert found.value == pytest.approx(float(exact), abs=1e-12)
    assert found.low == found.high == found.value


@pytest.mark.parametrize(
    ("dimensions", "printed"),
    [((0.38, 0.96, 0.30), 0.53), ((0.49, 0.91, 0.40), 0.59), ((0.73, 0.97, 0.75), 0.80)],
)
def test_the_published_table(dimensions: tuple[float, float, float], printed: float) -> None:
    assert trust(*dimensions).value == pytest.approx(printed, abs=0.011)


@given(shares, shares, shares)
def test_a_missing_dimension_leaves_bounds(g: float, lo: float, s: float) -> None:
    whole, part = trust(g, lo, s), trust(g, None, s)
    assert (part.value, part.missing) == (None, ("logic",))
    assert part.low - 1e-12 <= whole.low <= part.high + 1e-12
    assert part.high - part.low == pytest.approx(0.3)
    assert part.route != "deploy"


def test_with_everything_missing_a_person_looks() -> None:
    found = trust(None, None, None)
    assert (found.value, found.low, found.high, found.route) == (None, 0.0, 1.0, "review")
    assert found.missing == ("grounding", "logic", "stability")


def test_what_is_too_low_whatever_is_missing_is_rejected() -> None:
    found = trust(0.1, 0.2, None)
    assert found.high == pytest.approx(0.4)
    assert found.route == "reject"
    assert "stability" in found.reason
    assert trust(0.9, 0.9, None).route == "review"


@pytest.mark.parametrize(
    ("dimensions", "policy", "route"),
    [
        # thresholds are met at their very value
        ((0.75, 0.75, 0.75), POLICY, "deploy"),
        ((0.7499, 0.75, 0.75), POLICY, "review"),
        ((0.5, 0.5, 0.5), POLICY, "review"),
        ((0.4999, 0.5, 0.5), POLICY, "reject"),
        # each policy with images knows all three verdicts
        *(((0.9, 1.0, 1.0), policy, "deploy") for policy in (WITH, WITHOUT)),
        *(((0.6, 0.9, 0.7), policy, "review") for policy in (WITH, WITHOUT)),
        *(((0.9, 0.0, 0.9), policy, "reject") for policy in (WITH, WITHOUT)),
        # low grounding alone rejects nothing where there is no model to ask
        ((0.0, 1.0, None), WITHOUT, "review"),
        ((0.0, 0.7, None), WITHOUT, "review"),
        ((0.0, 0.6, None), WITHOUT, "reject"),
        # a policy for text rejects, or leaves it to a person
        ((None, 1.0, None), TEXT, "review"),
        ((None, 0.0, None), TEXT, "reject"),
        # a dimension that the policy does not ask is not missed
        ((0.9, 0.9, None), Policy(weights=TWO, deploy_from=0.8, reject_below=0.5), "deploy"),
    ],
)
def test_the_thresholds(dimensions: tuple[float | None, ...], policy: Policy, route: str) -> None:
    assert trust(*dimensions, policy=policy).route == route


def test_a_floor_keeps_a_report_from_being_deployed_and_says_so() -> None:
    floored = POLICY.model_copy(update={"floors": Floors(logic=0.5)})
    assert trust(1.0, 0.4, 1.0).route == "deploy"
    found = trust(1.0, 0.4, 1.0, policy=floored)
    assert found.route == "review"
    assert "logic 0.400 is below its floor 0.5" in found.reason
    assert trust(1.0, 0.5, 1.0, policy=floored).route == "deploy"


def test_a_floor_on_a_dimension_without_weight_must_be_known_to_be_met() -> None:
    floors = Floors(stability=0.5)
    policy = Policy(weights=TWO, deploy_from=0.8, reject_below=0.5, floors=floors)
    found = trust(0.9, 0.9, None, policy=policy)
    assert (found.missing, found.route) == (("stability",), "review")
    assert found.value == pytest.approx(0.9)


def test_weights_given_beside_the_policy_are_used() -> None:
    weights = DimensionWeights(grounding=1.0, logic=0.0, stability=0.0)
    found = fuse(1.0, 0.2, 0.0, weights, POLICY, cancer=AGREES)
    assert (found.value, found.route) == (1.0, "deploy")


def test_few_known_claims_do_not_deploy_a_report() -> None:
    careful = partial(trust, policy=POLICY.model_copy(update={"claims_known": 0.5}))
    few = careful(1.0, 1.0, 1.0, claims_known=0.25)
    assert (few.route, few.value) == ("review", 1.0)
    assert "only 25% of the claims" in few.reason
    assert careful(1.0, 1.0, 1.0, claims_known=0.5).route == "deploy"
    assert careful(1.0, 1.0, 1.0).route == "deploy"
    assert careful(0.1, 0.1, 0.1, claims_known=0.25).route == "reject"


# --- what is certainly wrong is rejected ----------------------------------------------------------


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
    assert routed(1.0, 0.66, contradictions=[clash()]).route == "reject"
    by_model = routed(1.0, 0.66, contradictions=[clash(0.96, "nli")])
    assert by_model.route == "reject"
    assert "by the NLI model" in by_model.reason
    for grounding in (1.0, None):
        assert routed(grounding, 0.4, contradictions=[clash(0.6, "nli")]).route == "review"


def test_a_long_place_is_quoted_by_its_beginning() -> None:
    place = ReportSpan(text="cells " * 60, start=0, end=360)
    long = clash().model_copy(update={"first": place})
    assert len(routed(None, 0.0, contradictions=[long]).reason) < 250


def test_what_the_image_contradicts_is_rejected_whatever_its_trust() -> None:
    found = trust(1.0, 1.0, 1.0, policy=WITH, image_verdict="contradicted")
    assert found.route == "reject"
    assert "the image contradicts" in found.reason
    assert routed(1.0, None, image_verdict="contradicted").route == "reject"


def test_what_the_image_neither_supports_nor_contradicts_is_for_a_person() -> None:
    found = routed(0.9, 1.0, image_verdict="not_known")
    assert found.route == "review"
    assert "whether the image supports the report is not known" in found.reason
    assert routed(0.9, 1.0, image_verdict="supported").route == "deploy"
    assert routed(0.9, 1.0).route == "deploy"


@pytest.mark.parametrize("verdict", [None, "not_checked", "undecided", "disagrees"])
@pytest.mark.parametrize("policy", [WITH, WITHOUT])
def test_nothing_is_deployed_where_cancer_is_unconfirmed(policy: Policy, verdict: Any) -> None:
    check = None if verdict is None else AGREES.model_copy(update={"verdict": verdict})
    found = trust(1.0, 1.0, 1.0, policy=policy, cancer=check, image_verdict="supported")
    assert found.route == "review"
    assert ("cancer was not checked" in found.reason) == (verdict in (None, "not_checked"))


def test_a_policy_that_asks_for_no_image_deploys_nothing() -> None:
    weights = DimensionWeights(grounding=0.0, logic=1.0, stability=0.0)
    logic_alone = Policy(weights=weights, deploy_from=0.8, reject_below=0.3)
    assert trust(None, 1.0, policy=logic_alone, cancer=None).route == "review"
    assert "deploys nothing by itself" in trust(None, 1.0, policy=TEXT).reason


def test_a_dimension_that_is_not_known_is_named_with_the_reason_in_plain_words() -> None:
    found = routed(None, 1.0, unknown={"grounding": "the row names no image"})
    assert found.route == "review"
    assert found.reason == (
        "grounding is not known (the row names no image): the policy without_endpoint deploys "
        "nothing without grounding; trust lies between 0.430 and 1.000"
    )
    both = routed(None, None, unknown=dict.fromkeys(("grounding", "logic"), "an empty cell"))
    assert both.reason.startswith("grounding and logic are not known (an empty cell): ")


def test_what_rejects_at_once_can_be_switched_off_and_is_still_not_deployed() -> None:
    off = RejectIf(logic_below=None, image_contradicts=False)
    lenient = partial(trust, policy=WITHOUT.model_copy(update={"reject_if": off}))
    assert lenient(1.0, 0.0, contradictions=[clash()]).route == "review"
    assert lenient(1.0, 1.0, image_verdict="contradicted").route == "review"


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
