"""MUSK, through a stand-in with the signatures of its package and of timm."""

import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from histoeval.errors import MissingDependency, ModelError
from histoeval.pathgls.grounding import published
from histoeval.pathgls.grounding.load import open_encoder
from histoeval.pathgls.grounding.published import musk_tokens

pytestmark = pytest.mark.heavy


class _Musk(torch.nn.Module):  # type: ignore[misc,name-defined]
    """A picture is its mean colour; a text the mean of its tokens that are no padding."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(3))

    def forward(
        self,
        image: Any = None,
        text_description: Any = None,
        padding_mask: Any = None,
        return_global: bool = True,
        with_head: bool = True,
        out_norm: bool = True,
        ms_aug: bool = False,
    ) -> tuple[Any, Any]:
        assert with_head
        assert out_norm
        assert not ms_aug
        seen = None if image is None else image.mean(dim=(2, 3)) * self.scale
        if text_description is None:
            return seen, None
        kept = text_description * (1 - padding_mask)
        total = kept.float().sum(dim=1, keepdim=True)
        return seen, torch.cat([total, torch.ones_like(total), torch.ones_like(total)], dim=1)


def _package(name: str, **content: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    module.__path__ = []
    vars(module).update(content)
    return module


class _Pieces:
    def __init__(self, model_file: str) -> None:
        assert Path(model_file).is_file()

    def encode(self, text: str) -> list[int]:
        return [0 if letter == "?" else ord(letter) for letter in text]


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    calls: list[str] = []

    def load(ckpt_path: str, model: Any, model_key: str, model_prefix: str) -> None:
        assert (model_key, model_prefix) == ("model|module", "")
        calls.append(ckpt_path)

    home = tmp_path / "package"
    modules = {
        "timm": _package("timm"),
        "timm.models": _package("timm.models", create_model=lambda name, **_: _Musk()),
        "musk": _package("musk", __file__=str(home / "__init__.py")),
        "musk.utils": _package("musk.utils", load_model_and_may_interpolate=load),
        "musk.modeling": _package("musk.modeling"),
        "sentencepiece": _package("sentencepiece", SentencePieceProcessor=_Pieces),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return calls


def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "model.safetensors").touch()
    (folder / "tokenizer.spm").touch()
    return folder


def test_musk_is_read_from_its_folder(loaded: list[str], tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    encoder = open_encoder(f"musk={folder}", "cpu")
    assert loaded == [str(folder / "model.safetensors")]
    assert encoder.size == 384
    assert encoder.identity.startswith("musk@")
    white = np.full((384, 384, 3), 255, np.uint8)
    assert encoder.images([white])[0] == pytest.approx(np.ones(3) / np.sqrt(3))
    one, two = encoder.texts(["a", "ab"])
    assert one == pytest.approx(np.array([100, 1, 1]) / np.sqrt(100**2 + 2))
    assert not (one == two).all()


@pytest.mark.usefixtures("loaded")
def test_a_missing_tokenizer_is_said(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (folder / "tokenizer.spm").unlink()
    with pytest.raises(ModelError, match=r"tokenizer.spm lies neither beside.*hf download"):
        open_encoder(f"musk={folder}", "cpu")
    inside = tmp_path / "package" / "models"
    inside.mkdir(parents=True)
    (inside / "tokenizer.spm").touch()
    assert open_encoder(f"musk={folder}", "cpu").size == 384


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "find_spec", lambda _: None)
    with pytest.raises(MissingDependency, match="pip install timm sentencepiece git"):
        open_encoder("musk", "cpu")


def test_pieces_are_numbered_as_xlm_roberta_does() -> None:
    tokens = musk_tokens([7, 0, 12])
    assert tokens[:5] == [0, 8, 3, 13, 2]
    assert set(tokens[5:]) == {1}
    assert len(tokens) == len(musk_tokens(range(5, 500))) == 100
    assert musk_tokens(range(5, 500))[-1] == 2
