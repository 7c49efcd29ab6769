"""Opens an image-text encoder by its name."""

from difflib import get_close_matches
from pathlib import Path

from histoeval.errors import ModelError
from histoeval.pathgls.grounding.builtin import BuiltinEncoder
from histoeval.pathgls.grounding.clip import PLIP, ClipEncoder
from histoeval.pathgls.grounding.encoder import ImageTextEncoder
from histoeval.pathgls.grounding.manifest import MANIFEST
from histoeval.pathgls.grounding.open_clip import OpenClipEncoder

BUILTIN = "builtin"
NAMES = {"plip": PLIP}
"""Short names of models on the hub."""
OPEN_CLIP = "open_clip:"


def open_encoder(spec: str | None, device: str | None = None) -> ImageTextEncoder:
    """An encoder by its name.

    None or "builtin" is the shipped one; "plip", other names on the hub and folders are CLIP models
    of Transformers; "open_clip:NAME" is one of open_clip.
    """
    if spec is None or spec == BUILTIN:
        return BuiltinEncoder()
    if spec.startswith(OPEN_CLIP):
        return OpenClipEncoder(spec.removeprefix(OPEN_CLIP), device)
    if Path(spec, MANIFEST).is_file():
        return BuiltinEncoder(Path(spec))
    name = NAMES.get(spec.lower(), spec)
    if "/" not in name and not Path(name).is_dir():
        raise ModelError(_not_found(spec))
    return ClipEncoder(name, device)


def _not_found(spec: str) -> str:
    """The message for a name that is no folder, and on the hub would lack its owner."""
    near = get_close_matches(spec.lower(), [BUILTIN, *NAMES], n=1)
    guess = f" (did you mean {near[0]!r}?)" if near else ""
    return (
        f"there is no encoder {spec!r}{guess}: no folder has this name, and models on the hub are "
        f"named with their owner, as in {PLIP}. Give {BUILTIN!r}, 'plip', a folder, a name on the "
        f"hub, or {OPEN_CLIP}NAME"
    )
