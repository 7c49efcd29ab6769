"""Grounding: equation (1), what is known and what not, and the evidence."""

import math
import statistics
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.errors import Problem
from histoeval.pathgls.grounding.decoys import builtin_decoys, calibrated, standing
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage
from histoeval.pathgls.grounding.encoder import ClaimCalibration, ImageTextEncoder, Pixels, Vectors
from histoeval.pathgls.grounding.score import equation_1, ground
from histoeval.pathgls.results import Grounding, Spot
from histoeval.report import Assertion, EntityType
from tests.support.colour_encoder import NAMED, STRANGE, CautiousEncoder, ColourEncoder, claim

rows = st.integers(1, 6).flatmap(
    lambda n: st.lists(
        st.lists(st.floats(-1, 1, width=32), min_size=n, max_size=n), min_size=1, max_size=6
    )
)


def dot(one: list[float], other: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def bag_of(
    *colours: str, encoder: ColourEncoder | None = None, unknown: Sequence[str | None] = ()
) -> EmbeddedImage:
    """Patches of plain colours, side by side."""
    maker = encoder or ColourEncoder()
    patches = [np.full((224, 224, 3), NAMED[colour], np.uint8) for colour in colours]
    spots = tuple(Spot(x=224 * n, y=0, width=224, height=224) for n in range(len(colours)))
    reasons = tuple(unknown) or (None,) * len(colours)
    return EmbeddedImage(maker.images(patches), spots, (), reasons)


def grounded(
    bag: EmbeddedImage, claims: Sequence[object], encoder: ImageTextEncoder | None = None
) -> Grounding:
    made = [claim(each) if isinstance(each, str) else each for each in claims]
    found = ground(bag, made, encoder or ColourEncoder(), STRANGE)  # type: ignore[arg-type]
    assert isinstance(found, Grounding), found
    return found


@given(rows)
def test_equation_1_is_the_mean_over_claims_of_the_best_patch(cosines: list[list[float]]) -> None:
    total = sum(next(c for c in row if all(c >= other for other in row)) for row in cosines)
    assert equation_1(np.array(cosines)) == pytest.approx(total / len(cosines), abs=1e-6)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3,)])
def test_equation_1_needs_claims_and_patches(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="claims by patches"):
        equation_1(np.zeros(shape))


def test_the_raw_value_is_equation_1_by_a_plain_loop() -> None:
    encoder, bag = ColourEncoder(), bag_of("pink", "blue", "pink")
    phrases = ["blue nuclei", "pink matrix", "green bile"]
    found = grounded(bag, phrases)
    best = [
        max(dot(vector, patch) for patch in bag.vectors.tolist())
        for vector in encoder.texts(phrases).tolist()
    ]
    assert found.raw == pytest.approx(sum(best) / 3, abs=1e-6)
    assert [each.cosine for each in found.supports] == pytest.approx(best, abs=1e-6)
    assert found.value == pytest.approx(np.mean([each.value for each in found.supports]))


def test_the_value_of_a_claim_by_a_plain_restatement() -> None:
    encoder, bag = ColourEncoder(), bag_of("pink", "blue")

    def best(phrase: str) -> float:
        (vector,) = encoder.texts([phrase]).tolist()
        return max(dot(vector, row) for row in bag.vectors.tolist())

    foreign = [best(each.phrase) for each in STRANGE.phrases if each.type == EntityType.FINDING]
    z = (best("blue nuclei") - statistics.fmean(foreign)) / statistics.pstdev(foreign)
    found = grounded(bag, ["blue nuclei"])
    assert found.value == pytest.approx(1 / (1 + math.exp(-1.5 * (z - 0.75))), abs=1e-6)


def test_each_claim_is_supported_by_the_patch_that_shows_it() -> None:
    found = grounded(bag_of("pink", "blue"), ["blue nuclei", "pink matrix"])
    assert [each.spot.x for each in found.supports if each.spot] == [224, 0]


def test_measured_curves_are_used_and_that_of_the_kind_first() -> None:
    class Measured(ColourEncoder):
        calibration = ClaimCalibration(slope=0.0, midpoint=0.0)
        calibrations: ClassVar = {EntityType.SITE: ClaimCalibration(slope=9.0, midpoint=0.0)}

    claims = [claim("pink matrix"), claim("pink tissue", EntityType.SITE)]
    found = grounded(bag_of("pink"), claims, Measured())
    plain, own = (support.value or 0 for support in found.supports)
    assert plain == 0.5
    assert own > 0.99
    assert found.signature != grounded(bag_of("pink"), claims).signature


def test_what_all_images_have_in_common_is_no_support() -> None:
    """Where all images are pink, a pink one says no more for a pink claim than any other does."""

    class Pink(ColourEncoder):
        @property
        def centre(self) -> Vectors:
            mean: Vectors = self.texts(["pink"])[0]
            return mean

    claims = ["blue nuclei", "pink matrix"]
    bag = bag_of("pink", "blue")
    plain, centred = (grounded(bag, claims, each) for each in (ColourEncoder(), Pink()))
    assert plain.raw == centred.raw
    assert [each.cosine for each in plain.supports] == [each.cosine for each in centred.supports]
    assert plain.supports[1].value == pytest.approx(plain.supports[0].value, abs=0.05)
    blue, pink = (each.value for each in centred.supports)
    assert blue is not None
    assert pink is not None
    assert blue > pink + 0.05
    assert pink < plain.value


def test_values_do_not_change_when_cosines_of_an_encoder_lie_higher() -> None:
    """A third axis that all share lifts every cosine, as in many encoders."""

    class Narrow(ColourEncoder):
        def _lifted(self, rows: Vectors) -> Vectors:
            lifted = np.concatenate([rows, np.full((len(rows), 1), 2.0)], axis=1) / np.sqrt(5)
            return np.asarray(lifted, np.float32)

        def images(self, patches: Sequence[Pixels]) -> Vectors:
            return self._lifted(super().images(patches))

        def texts(self, phrases: Sequence[str]) -> Vectors:
            return self._lifted(super().texts(phrases))

    claims = ["pink matrix", "green bile"]
    wide = grounded(bag_of("pink"), claims)
    narrow = grounded(bag_of("pink", encoder=Narrow()), claims, Narrow())
    assert narrow.raw > wide.raw + 0.2
    assert narrow.value == pytest.approx(wide.value, abs=1e-4)


def test_denied_claims_are_kept_apart_and_open_ones_a_note_and_change_nothing() -> None:
    denied = claim("green bile", assertion=Assertion.ABSENT)
    unsure = claim("blue nuclei", assertion=Assertion.UNCERTAIN)
    with_denial = grounded(bag_of("pink"), ["pink matrix", denied, unsure])
    assert len(with_denial.supports) == 1
    assert any("blue nuclei" in note for note in with_denial.notes)
    alone = grounded(bag_of("pink"), ["pink matrix"])
    assert with_denial.denied == (denied,)
    assert with_denial.raw == alone.raw
    assert with_denial.value == pytest.approx(alone.value)


def test_unknown_claims_are_shown_with_their_reason_and_are_not_part_of_the_mean() -> None:
    found = grounded(bag_of("pink"), ["pink matrix", "green bile"], CautiousEncoder())
    known, unknown = found.supports
    assert (unknown.unknown, unknown.value, unknown.cosine) == ("green is not known", None, None)
    assert found.value == known.value
    assert any("1 of 2 claims" in note for note in found.notes)


def test_unknown_patches_support_nothing() -> None:
    bag = bag_of("pink", "blue", unknown=(None, "too blue"))
    found = grounded(bag, ["blue nuclei"])
    assert found.patches == 1
    assert found.supports[0].spot == bag.spots[0]


@pytest.mark.parametrize(
    ("bag", "claims", "code", "words"),
    [
        (bag_of("pink"), [], "no_claims", "no claim"),
        (bag_of("pink"), [claim("x", assertion=Assertion.ABSENT)], "only_denials", "only denies"),
        (
            bag_of("pink"),
            [claim("x", assertion=Assertion.ABSENT), claim("y", assertion=Assertion.UNCERTAIN)],
            "nothing_asserted",
            "leaves open",
        ),
        (bag_of("pink"), [claim("green bile")], "grounding_unknown", "green is not known"),
        (bag_of("green", unknown=("too green",)), [claim("x")], "grounding_unknown", "too green"),
    ],
)
def test_reasons(bag: EmbeddedImage, claims: list[object], code: str, words: str) -> None:
    found = ground(bag, claims, CautiousEncoder(), STRANGE)  # type: ignore[arg-type]
    assert isinstance(found, Problem)
    assert found.code == code
    assert words in found.message


class Dull(ColourEncoder):
    def texts(self, phrases: Sequence[str]) -> Vectors:
        return super().texts(["pink"] * len(phrases))


class Narrow(CautiousEncoder):
    def unknown_phrases(self, phrases: Sequence[str]) -> list[str | None]:
        return [None if "pink" in phrase else "never seen" for phrase in phrases]


@pytest.mark.parametrize(
    ("encoder", "words"), [(Dull(), "the same cosine"), (Narrow(), "decoy claims")]
)
def test_an_encoder_that_knows_no_decoys(encoder: ImageTextEncoder, words: str) -> None:
    found = ground(bag_of("pink"), [claim("pink matrix")], encoder, STRANGE)
    assert isinstance(found, Problem)
    assert words in found.message


def test_all_kinds_stand_in_where_the_encoder_knows_too_few_of_one() -> None:
    class Partial(CautiousEncoder):
        def unknown_phrases(self, phrases: Sequence[str]) -> list[str | None]:
            return ["never seen" if "tissue" in phrase else None for phrase in phrases]

    site = claim("pink area", EntityType.SITE)
    found = ground(bag_of("pink"), [site], Partial(), builtin_decoys())
    assert isinstance(found, Grounding)
    everything = Partial().texts([p for p in builtin_decoys().to([site]) if "tissue" not in p])
    best = everything.astype(np.float64) @ bag_of("pink").vectors[0].astype(np.float64)
    stands = standing(found.raw, best)
    assert stands is not None
    assert found.value == pytest.approx(calibrated(stands), abs=1e-6)


def test_the_order_of_claims_and_patches_changes_no_value() -> None:
    claims = [claim(each) for each in ("blue nuclei", "pink matrix", "green bile")]
    forth = grounded(bag_of("pink", "blue"), claims)
    back = grounded(bag_of("blue", "pink"), claims[::-1])
    assert [each.value for each in forth.supports] == [each.value for each in back.supports][::-1]
    assert forth.raw == pytest.approx(back.raw, abs=1e-12)
