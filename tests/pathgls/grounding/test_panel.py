"""Panels: the majority of those that know decides, whatever the threshold."""

from itertools import product

import pytest

from histoeval.errors import Problem
from histoeval.pathgls.grounding.score import (
    Opinion,
    combine,
    majority_value,
    majority_verdict,
    panel_identity,
)
from histoeval.pathgls.results import Grounding, GroundingVerdict, OrganSeen, Spot, Support
from tests.support.colour_encoder import claim

FIRST, SECOND = claim("pink stroma"), claim("blue nuclei")


def _grounding(name: str, *values: float | None, notes: tuple[str, ...] = ()) -> Opinion:
    supports = tuple(
        Support(claim=each, unknown=f"{name} never saw {each.phrase}")
        if value is None
        else Support(
            claim=each, cosine=0.2, value=value, spot=Spot(x=len(name), y=0, width=9, height=9)
        )
        for each, value in zip((FIRST, SECOND), values, strict=False)
    )
    known = [value for value in values if value is not None]
    found = Grounding(
        value=sum(known) / max(1, len(known)),
        raw=0.1 * len(name),
        patches=10 + len(name),
        supports=supports,
        notes=notes,
        signature=f"grounding-1|{name}",
    )
    return Opinion(f"{name}@123/library", found)


@pytest.mark.parametrize("known", [1, 2, 3, 4, 5])
def test_the_value_reaches_a_threshold_exactly_where_a_majority_does(known: int) -> None:
    for values in product([0.1, 0.5, 0.9], repeat=known):
        for threshold in (0.1, 0.3, 0.5, 0.7, 0.9):
            reached = sum(value >= threshold for value in values) > known / 2
            found = majority_value([*values, None])
            assert found is not None
            assert (found >= threshold) is reached
    assert majority_value([None] * known) is None


@pytest.mark.parametrize(
    ("votes", "verdict"),
    [
        ([], None),
        ([None], None),
        (["supported", "contradicted", "supported"], "supported"),
        (["supported", None, None], "supported"),
        (["supported", "contradicted"], "not_known"),
        (["contradicted", "contradicted", None], "contradicted"),
        # otherwise each further encoder would be one more chance to vouch for a foreign report
        (["supported", "not_known", "not_known"], "not_known"),
        (["supported", "not_known"], "not_known"),
    ],
)
def test_a_verdict_needs_more_than_half_of_those_that_have_a_vote(
    votes: list[GroundingVerdict | None], verdict: GroundingVerdict | None
) -> None:
    assert majority_verdict(votes) == verdict


def _judged(opinion: Opinion, verdicts: tuple[GroundingVerdict, ...], organ: str) -> Opinion:
    found = opinion.outcome
    assert isinstance(found, Grounding)
    supports = tuple(
        support.model_copy(update={"verdict": verdict, "decoy": f"decoy of {opinion.encoder[0]}"})
        for support, verdict in zip(found.supports, verdicts, strict=True)
    )
    seen = OrganSeen(likeliest=organ, share=0.5, margin=0.1)
    changes = {"supports": supports, "verdict": verdicts[0], "organ": seen}
    return opinion._replace(outcome=found.model_copy(update=changes))


def test_verdicts_are_combined_claim_by_claim_and_for_the_report() -> None:
    found = combine(
        [
            _judged(_grounding("a", 0.9, None), ("supported", "not_known"), "colon"),
            _judged(_grounding("b", 0.6, 0.1), ("not_known", "contradicted"), "lung"),
            _judged(_grounding("c", 0.8, 0.2), ("supported", "contradicted"), "colon"),
        ]
    )
    assert isinstance(found, Grounding)
    assert [support.verdict for support in found.supports] == ["supported", "contradicted"]
    assert [support.decoy for support in found.supports] == ["decoy of c", "decoy of b"]
    assert "3 encoders with a vote 2 support it, 0 contradict" in found.supports[0].why
    assert found.supports[1].why.startswith("of 2 encoders with a vote 0 support it, 2")
    assert found.verdict == "supported"
    assert found.organ is not None
    assert found.organ.likeliest == "colon"
    assert "the encoders do not see the same organ: a colon, b lung, c colon" in found.notes


def test_a_claim_that_no_validated_encoder_knows_is_not_known() -> None:
    one = _judged(_grounding("a", 0.9, None), ("supported", "not_known"), "colon")
    other = _judged(_grounding("b", 0.8, None), ("supported", "not_known"), "lung")
    found = combine([one, other])
    assert isinstance(found, Grounding)
    assert found.supports[1].verdict == "not_known"
    assert "b never saw blue nuclei" in found.supports[1].why
    assert found.organ is None


def test_two_encoders_must_agree_and_each_is_kept() -> None:
    one, other = _grounding("one", 0.9, 0.8), _grounding("other", 0.2, 0.95)
    found = combine([one, other])
    assert isinstance(found, Grounding)
    assert [support.value for support in found.supports] == [0.2, 0.8]
    assert [support.spot.x for support in found.supports if support.spot] == [5, 3]
    assert [support.cosine for support in found.supports] == [None, None]
    assert found.value == pytest.approx(0.5)
    assert found.members == (one.outcome, other.outcome)
    assert found.verdict is None, "none of them was validated"
    assert [support.verdict for support in found.supports] == [None, None]
    assert found.patches == 13
    assert found.signature == "panel-1|majority|[grounding-1|one]|[grounding-1|other]"


def test_those_that_do_not_know_a_claim_have_no_vote_on_it() -> None:
    opinions = [_grounding("a", 0.9, None), _grounding("b", None, None), _grounding("c", 0.7, None)]
    found = combine(opinions)
    assert isinstance(found, Grounding)
    first, second = found.supports
    assert (first.value, first.unknown) == (0.7, None)
    assert second.value is None
    assert second.unknown == (
        "a never saw blue nuclei; b never saw blue nuclei; c never saw blue nuclei"
    )
    assert found.notes == ("1 of 2 claims are not known to any encoder of the panel",)


def test_an_encoder_that_cannot_ground_is_named_with_the_reason() -> None:
    blind = Opinion("blind@9/x", Problem("grounding_unknown", "not like its images"))
    found = combine([_grounding("one", 0.9, 0.8, notes=("seen",)), blind])
    assert isinstance(found, Grounding)
    assert found.value == pytest.approx(0.85)
    assert found.notes == ("one: seen", "blind has no vote: not like its images")
    assert "[blind@9/x|no vote]" in found.signature


def test_what_keeps_all_from_grounding_is_the_problem_of_the_panel() -> None:
    none = Problem("no_claims", "nothing to see")
    assert combine([Opinion("a@1", none), Opinion("b@2", none)]) == none
    small = Problem("image_too_small", "100 px")
    both = combine([Opinion("a@1", none), Opinion("b@2", small)])
    assert both == Problem("grounding_unknown", "a: nothing to see; b: 100 px")
    with pytest.raises(ValueError, match="needs an encoder"):
        combine([])


def test_the_identity_names_all() -> None:
    assert panel_identity(["a@1"]) == "a@1"
    assert panel_identity(["a@1", "b@2"]) == "panel(a@1 + b@2)"
