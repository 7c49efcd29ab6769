"""Slide encoders: a tiny one with TITAN's methods, loaded by Transformers with its own code."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("PIL")

from histoeval.errors import ModelError
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage, as_slide
from histoeval.pathgls.grounding.encoder import SlideTextEncoder
from histoeval.pathgls.grounding.image_reference import (
    ReferencedSlideEncoder,
    measure_images,
    with_images,
)
from histoeval.pathgls.grounding.load import open_encoder
from histoeval.pathgls.grounding.published import SlideEncoder
from histoeval.pathgls.results import Spot
from tests.pathgls.grounding.tiny_titan import write_titan
from tests.support.colour_encoder import ColourEncoder

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> SlideEncoder:
    folder = write_titan(tmp_path_factory.mktemp("models") / "tiny_titan")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_MODULES_CACHE", str(folder.parent / "modules"))
        opened = open_encoder(f"titan={folder}", "cpu")
    assert isinstance(opened, SlideEncoder)
    return opened


def _spots(*places: tuple[int, int]) -> tuple[Spot, ...]:
    return tuple(Spot(x=x, y=y, width=512, height=512) for x, y in places)


def test_a_slide_is_one_vector_of_its_patches_and_their_places(encoder: SlideEncoder) -> None:
    patches = [np.full((512, 512, 3), shade, np.uint8) for shade in (90, 210)]
    features = encoder.images(patches)
    assert features == pytest.approx(np.array([[90.0] * 3, [210.0] * 3]))
    spots = _spots((0, 0), (1024, 512))
    slide = encoder.slides(features, spots)
    assert slide == pytest.approx(np.array([[1, 1, 1, 0]]) / np.sqrt(3), abs=1e-6)
    uneven = encoder.slides(np.array([[3.0, 0.0, 0.0]] * 2, np.float32), spots)
    moved = encoder.slides(np.array([[3.0, 0.0, 0.0]] * 2, np.float32), _spots((0, 0), (9999, 0)))
    assert not (uneven == moved).all()


def test_the_image_becomes_one_spot_with_a_note(encoder: SlideEncoder) -> None:
    features = np.array([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0]], np.float32)
    image = EmbeddedImage(features, _spots((100, 200), (1124, 200)), ("seen",), (None, None))
    whole = as_slide(image, encoder)
    assert whole.vectors.shape == (1, 4)
    assert whole.spots == (Spot(x=100, y=200, width=1536, height=512),)
    assert whole.notes[0] == "seen"
    assert "one vector for the slide, from 2 patches" in whole.notes[1]
    assert whole.unknown == (None,)
    assert as_slide(image, ColourEncoder()) is image


def test_phrases_and_slides_meet_in_one_space(encoder: SlideEncoder) -> None:
    row = encoder.texts(["abcd"])
    wanted = np.array([[97, 98, 99, 100]])
    assert row == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-6)
    assert encoder.size == 512
    assert encoder.identity.startswith("tiny_titan@")
    assert isinstance(encoder, SlideTextEncoder)


def test_slides_unlike_those_measured_are_unknown(encoder: SlideEncoder) -> None:
    draw = np.random.default_rng(7)
    rows = draw.normal([5, 5, 5, 0.1], 0.3, (40, 4))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    reference = measure_images(encoder.identity, rows, [str(n % 8) for n in range(40)])
    measured = with_images(encoder, reference)
    far = EmbeddedImage(np.array([[-3.0, 1.0, 0.0]], np.float32), _spots((0, 0)), (), (None,))
    near = far._replace(vectors=np.array([[3.0, 3.0, 3.0]], np.float32))
    assert measured.unknown_images(far.vectors) == [None]
    (reason,) = as_slide(far, measured).unknown
    assert reason is not None
    assert "not like the images" in reason
    assert as_slide(near, measured).unknown == (None,)
    assert isinstance(measured, ReferencedSlideEncoder)
    assert measured.unknown_slides(as_slide(near, measured).vectors) == [None]


def test_a_model_without_titans_methods_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no file or folder.*hf download MahmoodLab/TITAN"):
        open_encoder(f"titan={tmp_path / 'absent'}", "cpu")
    from transformers import CLIPConfig, CLIPModel

    small = {"hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 1}
    layers = small | {"num_hidden_layers": 1}
    text = layers | {"vocab_size": 9}
    vision = layers | {"image_size": 32, "patch_size": 16}
    CLIPModel(CLIPConfig(text_config=text, vision_config=vision)).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="no slide encoder: it has no return_conch"):
        open_encoder(f"titan={tmp_path}", "cpu")
