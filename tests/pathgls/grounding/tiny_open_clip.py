"""Tiny models of open_clip's architectures, in folders as the hub has them."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

VISION = {"image_size": 224, "layers": 1, "width": 64, "head_width": 32, "patch_size": 56}
TEXT = {"context_length": 24, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1}
COLOURS = {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.25, 0.3]}
CLIP: dict[str, Any] = {"embed_dim": 8, "vision_cfg": VISION, "text_cfg": TEXT}
"""As QuiltNet is."""
COCA: dict[str, Any] = {
    "embed_dim": 16,
    "multimodal_cfg": TEXT | {"heads": 2, "layers": 1, "attn_pooler_heads": 2},
    "vision_cfg": VISION
    | {
        "attentional_pool": True,
        "attn_pooler_heads": 2,
        "attn_pooler_queries": 4,
        "output_tokens": True,
    },
    "text_cfg": TEXT | {"embed_cls": True, "output_tokens": True},
    "custom_text": True,
}
"""As CONCH is."""


def write_open_clip(folder: Path, config: dict[str, Any], seed: int = 1) -> Any:
    """A folder with open_clip's configuration and random weights; and the model."""
    import torch

    open_clip = import_module("open_clip")
    torch.manual_seed(seed)
    folder.mkdir(parents=True)
    written = {"model_cfg": config, "preprocess_cfg": COLOURS}
    (folder / "open_clip_config.json").write_text(json.dumps(written))
    kind = open_clip.CoCa if "multimodal_cfg" in config else open_clip.CLIP
    model = kind(**{name: value for name, value in config.items() if name != "custom_text"})
    torch.save(model.state_dict(), folder / "open_clip_pytorch_model.bin")
    return model.eval()
