"""Opens image-text encoders by their names: the shipped one, published ones, and panels of them."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from histoeval.errors import ModelError, SettingError, did_you_mean
from histoeval.pathgls.grounding.builtin import BuiltinEncoder, GroundingManifest
from histoeval.pathgls.grounding.encoder import ImageTextEncoder, weights_of
from histoeval.pathgls.grounding.published import (
    LOCAL,
    OPEN_CLIP_CONFIG,
    PLIP,
    clip_encoder,
    musk_encoder,
    open_clip_encoder,
    titan_encoder,
)
from histoeval.report import Noun
from histoeval.resources import load_toml
from histoeval.runtime.memo import Remade, remember

BUILTIN = "builtin"
BESIDE = "+"  # between the encoders of a panel

Loader = Literal["transformers", "open_clip", "conch", "musk", "titan"]
OPENERS: dict[Loader, Callable[[str, str | None], ImageTextEncoder]] = {
    "transformers": clip_encoder,
    "open_clip": open_clip_encoder,
    "conch": open_clip_encoder,
    "musk": musk_encoder,
    "titan": titan_encoder,
}
# They say which library opens what follows them
PREFIXES: dict[str, Loader] = {"open_clip:": "open_clip", "hf:": "transformers"}


class KnownEncoder(Noun):
    name: str
    title: str
    loads: Loader
    hub: str  # its name on the Hugging Face hub
    architecture: str = ""  # its name in the library that opens it, for weights in a file
    weights: str = ""  # the file of its folder that the library wants, where it wants a file
    size: Annotated[int, Field(ge=1)]  # pixels along a side of its patches
    slides: bool = False  # it has one vector for a slide and none for a patch
    licence: str
    gated: bool  # its terms must be accepted on the hub before it can be downloaded

    @property
    def advice(self) -> str:
        terms = (
            "accept its terms on the hub and log in (hf auth login), then " if self.gated else ""
        )
        return (
            f"To get {self.title} ({self.licence}): {terms}run: hf download {self.hub} --local-dir "
            f"{self.name}; copy that folder to this machine and give {self.name}=FOLDER."
        )


@cache
def known_encoders() -> dict[str, KnownEncoder]:
    content = load_toml("pathgls/grounding/data/encoders.toml")
    return {name: KnownEncoder(name=name, **entry) for name, entry in content.items()}


def open_encoder(spec: str | None, device: str | None = None) -> ImageTextEncoder:
    """An encoder by its name.

    None or "builtin" is the shipped one. A name of the catalogue ("plip", "conch") is fetched from
    the hub or its cache, and "plip=FOLDER" read from a folder or file. "hf:NAME", other names on
    the hub and folders are CLIP or SigLIP models of Transformers; "open_clip:NAME" is one of
    open_clip, as is a folder with its configuration.
    """
    encoder = _open(spec, device)
    if isinstance(encoder, Remade):
        remember(encoder, open_encoder, spec, device)
    return encoder


def _open(spec: str | None, device: str | None) -> ImageTextEncoder:
    if spec is None or spec == BUILTIN:
        return BuiltinEncoder(device=device)
    for prefix, loader in PREFIXES.items():
        if spec.startswith(prefix):
            return OPENERS[loader](spec.removeprefix(prefix), device)
    name, equals, path = spec.partition("=")
    if (entry := known_encoders().get(name.lower())) is not None:
        if equals and not path:
            raise SettingError(f"{spec!r} names no folder: give {name}=FOLDER, or {name} alone")
        if path and not Path(path).exists():
            raise ModelError(
                f"there is no file or folder {path!r} to read {entry.title} from. {entry.advice}"
            )
        try:
            return OPENERS[entry.loads](_library_name(entry, path), device)
        except ModelError as error:
            raise ModelError(f"{error} {entry.advice}") from error
    if Path(spec, GroundingManifest.home).is_file():
        return BuiltinEncoder(Path(spec), device=device)
    if Path(spec, OPEN_CLIP_CONFIG).is_file() and not Path(spec, "config.json").is_file():
        return OPENERS["open_clip"](spec, device)
    if "/" not in spec and not Path(spec).is_dir():
        # On the hub it would lack its owner.
        names = [BUILTIN, *known_encoders()]
        raise ModelError(
            f"there is no encoder {spec!r}{did_you_mean(spec.partition('=')[0], names)}: no folder "
            "has this name, and models on the hub are named with their owner, as in "
            f"{PLIP}. Give {', '.join(map(repr, names))}, NAME=FOLDER for one of them, a folder, "
            "a name on the hub, or open_clip:NAME"
        )
    return OPENERS["transformers"](spec, device)


def panel_names(specs: str | Sequence[str] | None) -> list[str | None]:
    """The encoders that are wanted, one by one: "a+b" are two, unless there is a file called so."""
    requested: list[str | None] = [specs] if isinstance(specs, str | None) else [*specs]
    names: list[str | None] = []
    for spec in requested or [None]:
        path = (spec or "").rpartition("=")[2].rpartition("@")[2]
        if spec is None or BESIDE not in spec or Path(path).exists():
            names.append(spec)
            continue
        parts = [part.strip() for part in spec.split(BESIDE)]
        if not all(parts):
            raise SettingError(f"{spec!r} lacks an encoder beside a '+': give two names, as in a+b")
        names += parts
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise SettingError(
            f"the encoder {twice[0] or BUILTIN!r} is named twice, and would have two votes; name "
            "each encoder of a panel once"
        )
    return names


def open_panel(
    specs: str | Sequence[str] | None, device: str | None = None
) -> tuple[ImageTextEncoder, ...]:
    encoders = tuple(open_encoder(name, device) for name in panel_names(specs))
    if len({weights_of(encoder.identity) for encoder in encoders}) < len(encoders):
        names = ", ".join(encoder.identity for encoder in encoders)
        raise SettingError(
            f"two encoders of the panel have the same weights and would have two votes ({names}); "
            "name each once"
        )
    return encoders


def _library_name(encoder: KnownEncoder, path: str) -> str:
    if encoder.loads in ("transformers", "titan"):
        return path or encoder.hub
    if encoder.loads == "open_clip":
        if not path:
            return f"hf-hub:{encoder.hub}"
        if Path(path).is_file():
            return f"{encoder.architecture}@{path}"
        if not Path(path, OPEN_CLIP_CONFIG).is_file():
            raise ModelError(
                f"{path} holds no {OPEN_CLIP_CONFIG}, which open_clip reads {encoder.title} by."
            )
        return f"{LOCAL}{path}"
    weights = f"hf_hub:{encoder.hub}"
    if path:
        weights = str(Path(path, encoder.weights) if Path(path).is_dir() else Path(path))
        if not Path(weights).is_file():
            raise ModelError(f"{path} holds no {encoder.weights}, the weights of {encoder.title}.")
    return f"{encoder.architecture}@{weights}" if encoder.architecture else weights
