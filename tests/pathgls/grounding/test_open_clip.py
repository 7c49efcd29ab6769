"""Models of open_clip, through a stand-in for a package that is not installed here."""

from __future__ import annotations

import sys
import types
from importlib.machinery import ModuleSpec
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("PIL")

from histoeval.errors import MissingDependency, ModelError
from histoeval.pathgls.grounding import open_clip as openclip
from histoeval.pathgls.grounding.load import open_encoder
from histoeval.pathgls.grounding.open_clip import OpenClipEncoder


class _Model(torch.nn.Module):  # type: ignore[misc,name-defined]
    """A picture is its mean colour; a text the colour that its three numbers are."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(3))
        self.visual = types.SimpleNamespace(image_size=(224, 224))

    def encode_image(self, pictures: Any) -> Any:
        return pictures.mean(dim=(2, 3)) * self.scale

    def encode_text(self, tokens: Any) -> Any:
        return tokens.float() * self.scale


def _stand_in(asked: list[tuple[Any, ...]]) -> types.ModuleType:
    module = types.ModuleType("open_clip")
    module.__spec__ = ModuleSpec("open_clip", None)
    module.__version__ = "9.9"  # type: ignore[attr-defined]

    def create(name: str, **settings: str) -> tuple[Any, Any]:
        asked.append((name, settings))
        if name == "unknown":
            raise RuntimeError("Model config for unknown not found.")
        return _Model(), lambda picture: torch.from_numpy(np.array(picture)).permute(2, 0, 1) / 255

    def tokenizer(name: str) -> Any:
        return lambda phrases: torch.tensor([[ord(c) for c in p[:3]] for p in phrases])

    module.create_model_from_pretrained = create  # type: ignore[attr-defined]
    module.get_tokenizer = tokenizer  # type: ignore[attr-defined]
    return module


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setitem(sys.modules, "open_clip", _stand_in(calls))
    return calls


def test_names_of_the_hub_and_of_weights_reach_open_clip(asked: list[tuple[Any, ...]]) -> None:
    quilt = open_encoder("open_clip:hf-hub:wisdomik/QuiltNet-B-32", "cpu")
    plain = open_encoder("open_clip:ViT-B-32@openai", "cpu")
    assert asked == [
        ("hf-hub:wisdomik/QuiltNet-B-32", {}),
        ("ViT-B-32", {"pretrained": "openai"}),
    ]
    assert quilt.identity.startswith("QuiltNet-B-32@")
    assert plain.identity.endswith("open_clip9.9")
    assert quilt.size == 224


@pytest.mark.usefixtures("asked")
def test_patches_and_phrases_meet_in_one_space() -> None:
    encoder = OpenClipEncoder("any", "cpu")
    red = np.zeros((224, 224, 3), np.uint8)
    red[:, :, 0] = 200
    assert encoder.images([red, red]) == pytest.approx(np.array([[1, 0, 0]] * 2))
    texts = encoder.texts(["abc", "zzz"])
    assert texts[1] == pytest.approx(np.ones(3) / np.sqrt(3))
    assert (texts[:1] == encoder.texts(["abc"])).all()


@pytest.mark.usefixtures("asked")
def test_what_open_clip_cannot_load_is_said_in_one_line() -> None:
    with pytest.raises(ModelError, match="cannot load 'unknown': Model config"):
        OpenClipEncoder("unknown", "cpu")


@pytest.mark.parametrize(
    ("name", "package"), [("ViT-B-32", "open_clip"), ("conch_ViT-B-16", "conch")]
)
def test_a_missing_package_is_named_with_how_to_install_it(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openclip, "find_spec", lambda _: None)
    with pytest.raises(MissingDependency, match=f"{package} is not installed.*pip install"):
        OpenClipEncoder(name)
