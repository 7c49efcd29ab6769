"""The images of a laboratory: their centre, and what is unlike them, for any encoder."""

import numpy as np
import pytest

from histoeval.errors import InputError, ModelError
from histoeval.pathgls.grounding.encoder import Vectors, weights_of, why_unknown
from histoeval.pathgls.grounding.image_reference import ImageReference, measure_images, with_images
from tests.support.colour_encoder import CautiousEncoder, ColourEncoder

CASES = [f"case {n % 20}" for n in range(300)]


def _vectors(seed: int, count: int = 300, shift: float = 0.0) -> Vectors:
    """Around a centre, wide along two directions and narrow along thirty."""
    draw = np.random.default_rng(seed)
    spread = np.array([0.4, 0.3] + [0.05] * 30)
    rows = draw.normal(0, 1, (count, 32)) * spread
    rows[:, 2] += 1.0 + shift
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def test_new_images_of_the_laboratory_are_known_and_others_are_not() -> None:
    reference = measure_images("m@1", _vectors(1), CASES)
    near, far = reference.distances(_vectors(2)), reference.distances(-_vectors(3))
    assert (near < reference.limit).mean() > 0.95
    assert (far > reference.limit).all()
    assert near.mean() == pytest.approx(1.0, abs=0.15)


def test_more_dimensions_than_images_are_no_obstacle() -> None:
    draw = np.random.default_rng(5)
    base = draw.normal(0, 1, 512)
    rows = base + draw.normal(0, 0.3, (40, 512))
    vectors = np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
    reference = measure_images("m@1", vectors, [str(n % 10) for n in range(40)])
    other = draw.normal(0, 1, (10, 512))
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    assert (reference.distances(vectors) < reference.limit).all()
    assert (reference.distances(other.astype(np.float32)) > reference.limit).all()


def test_it_is_written_and_read_as_json() -> None:
    reference = measure_images("m@1", _vectors(1), CASES)
    again = ImageReference.model_validate_json(reference.model_dump_json())
    assert again == reference
    assert again.hash == reference.hash
    assert reference.hash != measure_images("m@1", _vectors(2), CASES).hash


def test_too_few_images_or_cases_and_equal_ones_are_refused() -> None:
    with pytest.raises(InputError, match="20 images of 20 cases are too few"):
        measure_images("m@1", _vectors(1)[:20], CASES[:20])
    with pytest.raises(InputError, match="300 images of 1 cases"):
        measure_images("m@1", _vectors(1), ["same"] * 300)
    with pytest.raises(InputError, match="equal vectors"):
        measure_images("m@1", np.repeat(_vectors(1)[:1], 300, axis=0), CASES)


def _colours(count: int) -> Vectors:
    """Pinks, as the colour encoder sees them."""
    draw = np.random.default_rng(9)
    rows = np.array([215, 120, 190]) - 128 + draw.normal(0, 6, (count, 3))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def test_any_encoder_gets_a_centre_and_a_scope() -> None:
    plain = ColourEncoder()
    reference = measure_images(plain.identity, _colours(60), [str(n % 6) for n in range(60)])
    encoder = with_images(plain, reference)
    assert encoder.centre == pytest.approx(_colours(60).mean(axis=0), abs=1e-3)
    assert encoder.size == plain.size
    pink, green = encoder.texts(["pink"]), encoder.texts(["green"])
    assert why_unknown(encoder, "images", pink) == [None]
    (reason,) = why_unknown(encoder, "images", green)
    assert reason is not None
    assert reason.startswith("not like the images that the encoder was validated on (distance ")
    assert encoder.identity == f"colours-1/images@{reference.hash}"
    assert encoder.calibration is None
    assert encoder.calibrations == {}
    assert encoder.unknown_phrases(["green"]) == [None]


def test_what_the_encoder_knows_by_itself_comes_first() -> None:
    cautious = CautiousEncoder()
    reference = measure_images(cautious.identity, _colours(60), [str(n % 6) for n in range(60)])
    encoder = with_images(cautious, reference)
    assert encoder.unknown_images(cautious.texts(["green"])) == ["too green"]
    assert encoder.unknown_phrases(["green"]) == ["green is not known"]


def test_images_measured_with_other_weights_are_refused() -> None:
    reference = measure_images("other@1", _vectors(1), CASES)
    with pytest.raises(ModelError, match=r"measured with other@1.*measure them again"):
        with_images(ColourEncoder(), reference)


def test_weights_are_the_same_whatever_the_folder_is_called() -> None:
    assert weights_of("plip@12ab/float32/torch2") == weights_of("my_copy@12ab/float32/torch3")
    assert weights_of("colours-1") == "colours-1"
