"""CLIP and SigLIP models of Transformers: tiny ones, against what the library itself gives."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from histoeval.errors import ModelError
from histoeval.pathgls.grounding.encoder import Pixels
from histoeval.pathgls.grounding.load import open_encoder
from histoeval.pathgls.grounding.published import PublishedEncoder, clip_encoder

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders

pytestmark = pytest.mark.heavy

MEAN, STD = [0.5, 0.4, 0.3], [0.2, 0.25, 0.3]


@pytest.fixture(scope="module")
def folder(tiny_models: ModelFolders, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import AutoTokenizer, CLIPConfig, CLIPModel

    home: Path = tmp_path_factory.mktemp("clip") / "tiny"
    tokenizer = AutoTokenizer.from_pretrained(tiny_models.aligner)
    small = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    text = small | {
        "num_hidden_layers": 1,
        "vocab_size": len(tokenizer),
        "max_position_embeddings": 24,
        "eos_token_id": tokenizer.sep_token_id,
        "bos_token_id": tokenizer.cls_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    vision = small | {"num_hidden_layers": 1, "image_size": 224, "patch_size": 56}
    torch.manual_seed(1)
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)
    CLIPModel(config).save_pretrained(home)
    tokenizer.save_pretrained(home)
    about = {"image_processor_type": "CLIPImageProcessor", "image_mean": MEAN, "image_std": STD}
    (home / "preprocessor_config.json").write_text(json.dumps(about))
    return home


@pytest.fixture(scope="module")
def encoder(folder: Path) -> PublishedEncoder:
    return clip_encoder(folder, "cpu")


def patches(count: int) -> list[Pixels]:
    draw = np.random.default_rng(5)
    return list(draw.integers(0, 256, (count, 224, 224, 3), dtype=np.uint8))


def test_vectors_are_those_of_the_library(encoder: PublishedEncoder, folder: Path) -> None:
    from transformers import AutoTokenizer, CLIPModel

    model = CLIPModel.from_pretrained(folder).eval()
    (patch,) = patches(1)
    planes = [(patch[:, :, c] / 255 - MEAN[c]) / STD[c] for c in range(3)]
    tokens = AutoTokenizer.from_pretrained(folder)(["tumour seen"], return_tensors="pt")
    with torch.inference_mode():
        pixels = torch.tensor(np.stack(planes)[None], dtype=torch.float32)
        given = model(pixel_values=pixels, **tokens)
    assert encoder.images([patch]) == pytest.approx(given.image_embeds.numpy(), abs=1e-5)
    assert encoder.texts(["tumour seen"]) == pytest.approx(given.text_embeds.numpy(), abs=1e-5)


def test_vectors_do_not_depend_on_the_batch(encoder: PublishedEncoder) -> None:
    several = patches(5)
    together = encoder.images(several)
    assert together.shape == (5, 8)
    assert (np.concatenate([encoder.images([each]) for each in several]) == together).all()
    phrases = ["left breast", "invasion", "tumour " * 90]
    both = encoder.texts(phrases)
    assert (both == encoder.texts(phrases[::-1])[::-1]).all()
    assert np.linalg.norm(both, axis=1) == pytest.approx(np.ones(3), abs=1e-6)


def test_batches_of_one_shape_give_what_single_patches_give(folder: Path) -> None:
    """As a GPU is given them: filled up to the same number each time."""
    single, filled = clip_encoder(folder, "cpu"), clip_encoder(folder, "cpu")
    filled.batch = 4
    several = patches(6)
    assert filled.images(several) == pytest.approx(single.images(several), abs=1e-5)


def test_size_and_identity_of_the_model(encoder: PublishedEncoder, folder: Path) -> None:
    assert encoder.size == 224
    assert encoder.identity.startswith("tiny@")
    assert str(folder.parent) not in encoder.identity
    assert open_encoder(str(folder), "cpu").identity == encoder.identity


def test_other_models_are_refused(tiny_models: ModelFolders, folder: Path, tmp_path: Path) -> None:
    no_pictures = tmp_path / "no"
    shutil.copytree(tiny_models.aligner, no_pictures)
    shutil.copy(folder / "preprocessor_config.json", no_pictures)
    with pytest.raises(ModelError, match="no CLIP model"):
        clip_encoder(no_pictures, "cpu")
    with pytest.raises(ModelError, match="cannot load"):
        clip_encoder(tmp_path / "absent", "cpu")


def test_phrases_are_filled_up_for_siglip(tiny_models: ModelFolders, tmp_path: Path) -> None:
    from transformers import AutoTokenizer, SiglipConfig, SiglipModel

    tokenizer = AutoTokenizer.from_pretrained(tiny_models.aligner)
    small = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    text = small | {
        "num_hidden_layers": 1,
        "vocab_size": len(tokenizer),
        "max_position_embeddings": 12,
        "projection_size": 16,
    }
    vision = small | {"num_hidden_layers": 1, "image_size": 64, "patch_size": 32}
    torch.manual_seed(3)
    model = SiglipModel(SiglipConfig(text_config=text, vision_config=vision)).eval()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    about = {"image_processor_type": "SiglipImageProcessor", "image_mean": MEAN, "image_std": STD}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(about))
    encoder = open_encoder(f"medsiglip={tmp_path}", "cpu")
    filled = tokenizer(["tumour seen"], padding="max_length", max_length=12, return_tensors="pt")
    (patch,) = np.random.default_rng(4).integers(0, 256, (1, 64, 64, 3), dtype=np.uint8)
    pixels = ((patch / 255 - MEAN) / STD).transpose(2, 0, 1)[None]
    with torch.inference_mode():
        given = model(
            input_ids=filled["input_ids"], pixel_values=torch.tensor(pixels, dtype=torch.float32)
        )
    assert encoder.size == 64
    assert encoder.texts(["tumour seen"]) == pytest.approx(given.text_embeds.numpy(), abs=1e-5)
    assert encoder.images([patch]) == pytest.approx(given.image_embeds.numpy(), abs=1e-5)
    assert open_encoder(f"hf:{tmp_path}", "cpu").identity == encoder.identity
