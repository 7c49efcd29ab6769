"""Models of open_clip: tiny ones by the library where it is installed, else by a stand-in.

The stand-ins have the signatures of open_clip 3.3 and of CONCH's package.
"""

import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("PIL")

from histoeval.errors import MissingDependency, ModelError
from histoeval.pathgls.grounding import published
from histoeval.pathgls.grounding.load import open_encoder
from histoeval.pathgls.grounding.published import open_clip_encoder
from tests.pathgls.grounding.tiny_open_clip import CLIP, COCA, write_open_clip

pytestmark = pytest.mark.heavy


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


def _prepared(picture: Any) -> Any:
    return torch.from_numpy(np.array(picture)).permute(2, 0, 1) / 255


def _stand_in(asked: list[tuple[Any, ...]]) -> types.ModuleType:
    module = types.ModuleType("open_clip")
    module.__spec__ = ModuleSpec("open_clip", None)
    module.__version__ = "9.9"  # type: ignore[attr-defined]

    def create(
        model_name: str, pretrained: str | None = None, precision: str = "fp32", **more: Any
    ) -> tuple[Any, Any]:
        asked.append((model_name, pretrained))
        if model_name == "unknown":
            raise RuntimeError("Model config for unknown not found.")
        return _Model(), _prepared

    def tokenizer(model_name: str = "", context_length: int | None = None, **more: Any) -> Any:
        return lambda texts: torch.tensor([[ord(c) for c in text[:3]] for text in texts])

    module.create_model_from_pretrained = create  # type: ignore[attr-defined]
    module.get_tokenizer = tokenizer  # type: ignore[attr-defined]
    return module


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setitem(sys.modules, "open_clip", _stand_in(calls))
    return calls


@pytest.mark.usefixtures("asked")
def test_what_open_clip_cannot_load_is_said_in_one_line() -> None:
    with pytest.raises(ModelError, match="cannot load 'unknown': Model config"):
        open_clip_encoder("unknown", "cpu")


@pytest.mark.parametrize(
    ("name", "package"), [("ViT-B-32", "open_clip"), ("conch_ViT-B-16", "conch")]
)
def test_missing_packages(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "find_spec", lambda _: None)
    with pytest.raises(MissingDependency, match=f"{package} is not installed.*pip install"):
        open_clip_encoder(name)


def test_where_quiltnet_is_read_from(asked: list[tuple[Any, ...]], tmp_path: Path) -> None:
    (tmp_path / "open_clip_config.json").write_text("{}")
    (tmp_path / "mine.pt").touch()
    open_encoder("quiltnet", "cpu")
    open_encoder(f"QuiltNet-b16={tmp_path}", "cpu")
    open_encoder(f"quiltnet={tmp_path / 'mine.pt'}", "cpu")
    by_its_content = open_encoder(str(tmp_path), "cpu")
    plain = open_encoder("open_clip:ViT-B-32@openai", "cpu")
    assert asked == [
        ("hf-hub:wisdomik/QuiltNet-B-32", None),
        (f"local-dir:{tmp_path}", None),
        ("ViT-B-32", str(tmp_path / "mine.pt")),
        (f"local-dir:{tmp_path}", None),
        ("ViT-B-32", "openai"),
    ]
    assert plain.identity.endswith("open_clip9.9")
    assert plain.size == 224
    assert by_its_content.identity.startswith(f"{tmp_path.name}@")


@pytest.mark.usefixtures("asked")
def test_a_folder_without_an_open_clip_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no open_clip_config.json.*hf download wisdomik"):
        open_encoder(f"quiltnet={tmp_path}", "cpu")


def _conch(asked: list[tuple[Any, ...]]) -> types.ModuleType:
    module = types.ModuleType("conch.open_clip_custom")

    def create(
        model_cfg: str, checkpoint_path: str | None = None, device: str = "cpu", **more: Any
    ) -> tuple[Any, Any]:
        asked.append((model_cfg, checkpoint_path))
        return _Model(), _prepared

    def tokenize(tokenizer: Any, texts: list[str]) -> Any:
        return torch.tensor([tokenizer(text) for text in texts])

    module.create_model_from_pretrained = create  # type: ignore[attr-defined]
    module.get_tokenizer = lambda: lambda text: [ord(c) for c in text[:3]]  # type: ignore[attr-defined]
    module.tokenize = tokenize  # type: ignore[attr-defined]
    return module


def test_conch_has_its_own_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[Any, ...]] = []
    package = types.ModuleType("conch")
    package.__spec__ = ModuleSpec("conch", None)
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "conch", package)
    monkeypatch.setitem(sys.modules, "conch.open_clip_custom", _conch(asked))
    (tmp_path / "pytorch_model.bin").touch()
    encoder = open_encoder(f"conch={tmp_path}", "cpu")
    open_encoder("conch", "cpu")
    assert asked == [
        ("conch_ViT-B-16", str(tmp_path / "pytorch_model.bin")),
        ("conch_ViT-B-16", "hf_hub:MahmoodLab/CONCH"),
    ]
    assert encoder.texts(["zzz"])[0] == pytest.approx(np.ones(3) / np.sqrt(3))
    assert encoder.identity.startswith("conch_ViT-B-16@")
    (tmp_path / "pytorch_model.bin").unlink()
    with pytest.raises(ModelError, match=r"no pytorch_model.bin.*accept its terms"):
        open_encoder(f"conch={tmp_path}", "cpu")


@pytest.mark.parametrize("config", [CLIP, COCA], ids=["clip as QuiltNet", "coca as CONCH"])
def test_vectors_are_those_of_the_library(config: dict[str, Any], tmp_path: Path) -> None:
    open_clip = pytest.importorskip("open_clip")
    model = write_open_clip(tmp_path / "tiny", config)
    encoder = open_encoder(f"quiltnet={tmp_path / 'tiny'}", "cpu")
    (patch,) = np.random.default_rng(2).integers(0, 256, (1, 224, 224, 3), dtype=np.uint8)
    mean, std = np.array([0.5, 0.4, 0.3]), np.array([0.2, 0.25, 0.3])
    pixels = ((patch / 255 - mean) / std).transpose(2, 0, 1)[None]
    tokens = open_clip.get_tokenizer(f"local-dir:{tmp_path / 'tiny'}")(["tumour seen"])
    with torch.inference_mode():
        seen = model.encode_image(torch.tensor(pixels, dtype=torch.float32), normalize=True)
        read = model.encode_text(tokens, normalize=True)
    assert encoder.size == 224
    assert encoder.images([patch]) == pytest.approx(seen.numpy(), abs=1e-5)
    assert encoder.texts(["tumour seen"]) == pytest.approx(read.numpy(), abs=1e-5)
    several = encoder.texts(["tumour seen", "word " * 90])
    assert (several[:1] == encoder.texts(["tumour seen"])).all()
