"""What an image says, in words: verdicts, agreement, decoys and places, and never a cosine."""

from histoeval.pathgls.grounding.score import Opinion, combine
from histoeval.pathgls.results import Grounding
from histoeval.view.image_evidence import (
    claims_seen,
    grounding_of,
    organ_lines,
    organ_words,
    verdict_words,
)
from tests.support.groundings import FOR, judged_grounding


def test_the_organ_seen_stands_beside_those_that_fit_the_report() -> None:
    grounding = judged_grounding()
    assert verdict_words(grounding) == "contradicted"
    assert organ_words(grounding.organ) == "prostate (84% of patches)"
    assert list(organ_lines(grounding)) == [
        "organ seen: prostate (84% of patches); organs that fit the report: colon"
    ]
    assert organ_words(None) == ""


def test_each_claim_has_verdict_reason_agreement_decoy_and_places() -> None:
    supported, contradicted, unknown, unvalidated = claims_seen(judged_grounding())
    assert supported.verdict == "supported"
    assert list(supported.details()) == [
        "patches that agree: 120 of 337",
        "nearest decoy: renal tubules",
        "calibrated value: 0.90",
        "best tile for it: x 1,024, y 0",
        "best tile against it: x 0, y 448",
    ]
    assert (contradicted.verdict, contradicted.agreeing) == ("contradicted", "0 of 337")
    assert (unknown.verdict, unknown.why) == ("not known", "never seen")
    assert not list(unknown.details())
    assert unvalidated.verdict == "no verdict"
    assert "never validated" in unvalidated.why


def test_one_place_is_not_shown_as_for_and_against() -> None:
    grounding = judged_grounding()
    only = grounding.supports[0].model_copy(update={"against": FOR})
    (seen,) = claims_seen(grounding.model_copy(update={"supports": (only,)}))
    assert seen.against is None
    assert not any("against" in line for line in seen.details())


def test_of_a_panel_every_encoder_is_listed_and_patches_are_those_of_the_deciding_one() -> None:
    one = judged_grounding()
    lower = [
        each.model_copy(update={"value": None if each.value is None else each.value / 2})
        for each in one.supports
    ]
    changes = {
        "patches": 50,
        "supports": tuple(lower),
        "verdict": "not_known",
        "why": "too little to say",
        "signature": "grounding-2|other@9|patch=224",
        "organ": None,
    }
    panel = combine([Opinion("a", one), Opinion("b", one.model_copy(update=changes))])
    assert isinstance(panel, Grounding)
    _, first, second = organ_lines(panel)
    assert first.startswith("colours: contradicted, the tissue looks like prostate")
    assert second == "other: not known, too little to say"
    assert [seen.patches for seen in claims_seen(panel)][:2] == [50, 50]


def test_rows_without_grounding_have_nothing_to_show() -> None:
    assert grounding_of({}) is None
    kept = judged_grounding()
    assert grounding_of({"grounding": kept.model_dump(mode="json")}) == kept
