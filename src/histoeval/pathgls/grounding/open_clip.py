"""Models of open_clip: QuiltNet and others by name or folder, and CONCH by its own package.

Names are those of open_clip: `hf-hub:wisdomik/QuiltNet-B-32`, `local-dir:FOLDER`, `ViT-B-32@openai`
for a model with weights of that name, and `ViT-B-32@FILE` for weights of one's own. CONCH is a CoCa
model that its authors load with a copy of open_clip: `conch_ViT-B-16@FILE`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from histoeval.pathgls.grounding.encoder import SIZE, Pixels
from histoeval.pathgls.grounding.towers import (
    TowerEncoder,
    TwoTowers,
    library_of,
    loading,
    release_of,
)
from histoeval.runtime.hub import note_download
from histoeval.runtime.transformer import choose_device, require_hf

CONCH = "conch"
CONFIG = "open_clip_config.json"
"""What tells a folder that open_clip can load from one of Transformers."""
LOCAL = "local-dir:"


class OpenClipEncoder(TowerEncoder):
    """A model that open_clip, or CONCH's own package, makes."""

    def __init__(self, name: str, device: str | None = None) -> None:
        require_hf()
        spec = f"{LOCAL}{name}" if Path(name, CONFIG).is_file() else name
        load = _conch if name.startswith(CONCH) else _open_clip
        super().__init__(_shown(spec), load(spec, choose_device(device)))


def _open_clip(spec: str, device: str) -> TwoTowers:
    module = library_of(
        "open_clip", "open_clip", needed_by=spec, install="pip install open_clip_torch"
    )
    name, _, weights = spec.partition("@")
    if not Path((weights or name).removeprefix(LOCAL)).exists():
        note_download(spec)
    with loading(spec, "open_clip"):
        model, prepare = module.create_model_from_pretrained(
            name, **({"pretrained": weights} if weights else {})
        )
        tokenize = module.get_tokenizer(name)
    return _towers(model, prepare, tokenize, device, f"open_clip{release_of(module)}")


def _conch(spec: str, device: str) -> TwoTowers:
    module = library_of(
        CONCH,
        "conch.open_clip_custom",
        needed_by=spec,
        install="pip install git+https://github.com/Mahmoodlab/CONCH",
    )
    name, _, weights = spec.partition("@")
    if not Path((weights or name).removeprefix(LOCAL)).exists():
        note_download(spec)
    with loading(spec, CONCH):
        model, prepare = module.create_model_from_pretrained(name, weights)
        tokenizer = module.get_tokenizer()

    def tokenize(phrases: Sequence[str]) -> Any:
        """CONCH's way, which wants its tokenizer with the texts."""
        return module.tokenize(texts=list(phrases), tokenizer=tokenizer)

    return _towers(model, prepare, tokenize, device, f"conch{release_of(module)}")


def _towers(model: Any, prepare: Any, tokenize: Any, device: str, library: str) -> TwoTowers:
    model = model.to(device).eval()

    def look(patch: Pixels) -> Any:
        from PIL import Image

        return model.encode_image(prepare(Image.fromarray(patch)).unsqueeze(0).to(device))

    def read(phrase: str) -> Any:
        return model.encode_text(tokenize([phrase]).to(device))

    size = getattr(getattr(model, "visual", None), "image_size", SIZE)
    side = int(size[0] if isinstance(size, list | tuple) else size)
    return TwoTowers(model, side, look, read, library)


def _shown(spec: str) -> str:
    """The name without the folder that a model lies in."""
    return spec.partition("@")[0].rstrip("/").split("/")[-1].removeprefix(LOCAL)
