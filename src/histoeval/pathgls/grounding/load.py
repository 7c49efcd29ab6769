"""Opens image-text encoders by their names."""

from collections.abc import Sequence
from pathlib import Path

from histoeval.errors import ModelError, SettingError, did_you_mean
from histoeval.pathgls.grounding.builtin import BuiltinEncoder
from histoeval.pathgls.grounding.catalogue import KnownEncoder, known_encoders
from histoeval.pathgls.grounding.clip import PLIP, ClipEncoder
from histoeval.pathgls.grounding.encoder import ImageTextEncoder, weights_of
from histoeval.pathgls.grounding.manifest import MANIFEST
from histoeval.pathgls.grounding.musk import MuskEncoder
from histoeval.pathgls.grounding.open_clip import CONFIG, LOCAL, OpenClipEncoder
from histoeval.pathgls.grounding.slide_encoder import TitanEncoder
from histoeval.runtime.recipe import Remade, remember

BUILTIN = "builtin"
OPEN_CLIP = "open_clip:"
TRANSFORMERS = "hf:"
BESIDE = "+"
"""Between the encoders of a panel."""


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
    if spec.startswith(OPEN_CLIP):
        return OpenClipEncoder(spec.removeprefix(OPEN_CLIP), device)
    if spec.startswith(TRANSFORMERS):
        return ClipEncoder(spec.removeprefix(TRANSFORMERS), device)
    name, named, place = spec.partition("=")
    if (known := known_encoders().get(name.lower())) is not None:
        if named and not place:
            raise SettingError(f"{spec!r} names no folder: give {name}=FOLDER, or {name} alone")
        return _open_known(known, place, device)
    return _open_unnamed(spec, device)


def panel_names(specs: str | Sequence[str] | None) -> list[str | None]:
    """The encoders that are wanted, one by one: "a+b" are two, unless there is a file called so."""
    given: list[str | None] = [specs] if isinstance(specs, str | None) else [*specs]
    names = [name for spec in given or [None] for name in _parted(spec)]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise SettingError(
            f"the encoder {twice[0] or BUILTIN!r} is named twice, and would have two votes; name "
            "each encoder of a panel once"
        )
    return names


def open_panel(
    specs: str | Sequence[str] | None, device: str | None = None
) -> tuple[ImageTextEncoder, ...]:
    """Each of the encoders that are wanted; several make a panel."""
    encoders = tuple(open_encoder(name, device) for name in panel_names(specs))
    weights = [weights_of(encoder.identity) for encoder in encoders]
    if len(set(weights)) < len(weights):
        names = ", ".join(encoder.identity for encoder in encoders)
        raise SettingError(
            f"two encoders of the panel have the same weights and would have two votes ({names}); "
            "name each once"
        )
    return encoders


def _parted(spec: str | None) -> list[str | None]:
    if spec is None:
        return [None]
    place = spec.rpartition("=")[2].rpartition("@")[2]
    if BESIDE not in spec or Path(place).exists():
        return [spec]
    parts = [part.strip() for part in spec.split(BESIDE)]
    if not all(parts):
        raise SettingError(f"{spec!r} lacks an encoder beside a '+': give two names, as in a+b")
    return [*parts]


def _open_unnamed(spec: str, device: str | None) -> ImageTextEncoder:
    """A folder by what lies in it, or a name on the hub."""
    if Path(spec, MANIFEST).is_file():
        return BuiltinEncoder(Path(spec), device=device)
    if Path(spec, CONFIG).is_file() and not Path(spec, "config.json").is_file():
        return OpenClipEncoder(spec, device)
    if "/" not in spec and not Path(spec).is_dir():
        raise ModelError(_not_found(spec))
    return ClipEncoder(spec, device)


def _open_known(known: KnownEncoder, place: str, device: str | None) -> ImageTextEncoder:
    """A published encoder from a folder or file, or from the hub where none is given."""
    if place and not Path(place).exists():
        raise ModelError(
            f"there is no file or folder {place!r} to read {known.title} from. {known.advice}"
        )
    try:
        match known.loads:
            case "transformers":
                return ClipEncoder(place or known.hub, device)
            case "titan":
                return TitanEncoder(place or known.hub, device)
            case "musk":
                return MuskEncoder(_weights(known, place), device)
            case "conch":
                spec = f"{known.architecture}@{_weights(known, place)}"
                return OpenClipEncoder(spec, device)
            case "open_clip":
                return OpenClipEncoder(_open_clip_name(known, place), device)
    except ModelError as error:
        raise ModelError(f"{error} {known.advice}") from error


def _weights(known: KnownEncoder, place: str) -> str:
    """The file of weights; as CONCH and MUSK name the hub where none is given."""
    if not place:
        return f"hf_hub:{known.hub}"
    file = Path(place, known.weights) if Path(place).is_dir() else Path(place)
    if not file.is_file():
        raise ModelError(f"{place} holds no {known.weights}, the weights of {known.title}.")
    return str(file)


def _open_clip_name(known: KnownEncoder, place: str) -> str:
    if not place:
        return f"hf-hub:{known.hub}"
    if Path(place).is_file():
        return f"{known.architecture}@{place}"
    if not Path(place, CONFIG).is_file():
        raise ModelError(f"{place} holds no {CONFIG}, which open_clip reads {known.title} by.")
    return f"{LOCAL}{place}"


def _not_found(spec: str) -> str:
    """The message for a name that is no folder, and on the hub would lack its owner."""
    names = [BUILTIN, *known_encoders()]
    guess = did_you_mean(spec.partition("=")[0], names)
    listed = ", ".join(map(repr, names))
    return (
        f"there is no encoder {spec!r}{guess}: no folder has this name, and models on the hub are "
        f"named with their owner, as in {PLIP}. Give {listed}, NAME=FOLDER for one of "
        f"them, a folder, a name on the hub, or {OPEN_CLIP}NAME"
    )
