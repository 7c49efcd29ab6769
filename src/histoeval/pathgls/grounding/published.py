"""Published image-text encoders, each by the library of its authors.

Transformers runs CLIP and SigLIP models, PLIP among them, and TITAN (extra [hf]); open_clip runs
QuiltNet; CONCH and MUSK have packages of their own. Each loads a model and says how patches and a
phrase are put to it. Phrases, and patches on a CPU, are run one at a time; where a GPU runs patches
in batches, these always have the same shape. So a vector never depends on the batch.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import HistoEvalError, MissingDependency, ModelError
from histoeval.pathgls.grounding.encoder import SIZE, Pixels, Vectors, of_length_one
from histoeval.pathgls.results import Spot
from histoeval.runtime.memo import Memory, Remade
from histoeval.runtime.transformer import (
    choose_device,
    fingerprint,
    note_download,
    only_here,
    require_hf,
)

PLIP = "vinid/plip"
SIGLIP = "siglip"  # how the type of such models begins
GPU_BATCH = 64

CONCH = "conch"
# Marks a folder that open_clip can load and Transformers cannot
OPEN_CLIP_CONFIG = "open_clip_config.json"
LOCAL = "local-dir:"

MUSK_ARCHITECTURE = "musk_large_patch16_384"
MUSK_SIDE = 384
MUSK_TOKENS = 100
MUSK_TOKENIZER = "tokenizer.spm"
MUSK_INSTALL = "pip install timm sentencepiece git+https://github.com/lilab-stanford/MUSK"
# Tokens of XLM-RoBERTa, which stand before the pieces of its vocabulary
BEGIN, PAD, END, UNKNOWN = range(4)

TITAN_SIDE = 512  # pixels along a side of TITAN's patches, at 0.5 µm/px; it scales them by itself
TITAN_METHODS = ("return_conch", "encode_slide_from_patch_features", "encode_text")


@dataclass(eq=False)
class PublishedEncoder(Remade):
    """An image tower and a text tower in one space; phrases that are too long are cut off."""

    name: str
    identity: str  # the model down to its weights, and what runs it
    size: int  # pixels along a side of the patches that it takes
    look: Callable[[Sequence[Pixels]], Any]  # a batch of patches to a tensor with a row for each
    read: Callable[[str], Any]  # a phrase to a tensor of one row
    batch: int = 1  # patches that are run together

    def __post_init__(self) -> None:
        self.on_gpu = self.batch > 1
        self._remembered = Memory(self._encode)

    def images(self, patches: Sequence[Pixels]) -> Vectors:
        return of_length_one(self.features(patches), self.name)

    def texts(self, phrases: Sequence[str]) -> Vectors:
        return of_length_one(np.array(self._remembered(phrases)), self.name)

    def _encode(self, phrases: Sequence[str]) -> list[NDArray[np.float32]]:
        return [_rows(self.read, phrase)[0] for phrase in phrases]

    def features(self, patches: Sequence[Pixels]) -> NDArray[np.float32]:
        rows: list[NDArray[np.float32]] = []
        for first in range(0, len(patches), self.batch):
            group = patches[first : first + self.batch]
            filled = [group[n % len(group)] for n in range(self.batch)]
            rows.extend(_rows(self.look, filled, self.batch)[: len(group)])
        return np.array(rows, np.float32)


def _rows(tower: Callable[[Any], Any], content: Any, count: int = 1) -> NDArray[np.float32]:
    import torch

    with torch.inference_mode():
        return np.asarray(tower(content).float().cpu().numpy().reshape(count, -1), np.float32)


# --- Transformers: CLIP and SigLIP ----------------------------------------------------------------


def clip_encoder(name: str | Path, device: str | None = None) -> PublishedEncoder:
    require_hf()
    import torch

    name, device = str(name), choose_device(device)
    model, tokenizer, scale = _load_clip(name)
    model.to(device)
    mean, std = (np.array(colours, np.float32) for colours in scale)
    options = {
        "truncation": True,
        "max_length": int(model.config.text_config.max_position_embeddings),
        "return_tensors": "pt",
    }
    if str(model.config.model_type).startswith(SIGLIP):
        # It learned from texts that were filled up to its length, and without a mask.
        options |= {
            "padding": "max_length",
            "return_attention_mask": False,
            "return_token_type_ids": False,
        }

    def look(patches: Sequence[Pixels]) -> Any:
        scaled = (np.stack(patches).astype(np.float32) / np.float32(255) - mean) / std
        pixels = torch.from_numpy(scaled.transpose(0, 3, 1, 2).copy()).to(device)
        return projected(model.get_image_features(pixel_values=pixels))

    def read(phrase: str) -> Any:
        return projected(model.get_text_features(**tokenizer(phrase, **options).to(device)))

    def projected(features: Any) -> Any:
        """Newer releases hand out projected vectors inside of an object."""
        return getattr(features, "pooler_output", features)

    identity = _transformers_identity(name, fingerprint(model, tokenizer, ()))
    side = int(model.config.vision_config.image_size)
    batch = GPU_BATCH if device.startswith("cuda") else 1
    return PublishedEncoder(name, identity, side, look, read, batch)


def _load_clip(name: str) -> tuple[Any, Any, tuple[list[float], list[float]]]:
    import transformers
    from safetensors import SafetensorError

    talk = transformers.utils.logging
    verbosity = talk.get_verbosity()
    talk.set_verbosity_error()
    talk.disable_progress_bar()
    try:
        local = only_here(name)
        model, info = transformers.AutoModel.from_pretrained(
            name, local_files_only=local, output_loading_info=True
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, local_files_only=local)
        pictures, _ = transformers.ImageProcessingMixin.get_image_processor_dict(
            name, local_files_only=local
        )
        mean, std = ([float(c) for c in pictures[key]] for key in ("image_mean", "image_std"))
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError) as error:
        raise ModelError(
            f"cannot load {name!r} as a CLIP model: {_reason(error)} Give 'builtin' for our own, "
            "a folder that holds config.json, weights, tokenizer and preprocessor_config.json, or, "
            f"where the network reaches it, the model's name on the hub, as in {PLIP}."
        ) from error
    finally:
        talk.set_verbosity(verbosity)
        talk.enable_progress_bar()
    if not hasattr(model, "get_image_features") or info["missing_keys"]:
        raise ModelError(f"{name} is no CLIP model: it has not both towers")
    return model.eval(), tokenizer, (mean, std)


def _transformers_identity(name: str, weights: str) -> str:
    libraries = f"torch{version('torch')}+transformers{version('transformers')}"
    return f"{Path(name).name}@{weights}/float32/{libraries}"


# --- Transformers: TITAN --------------------------------------------------------------------------


@dataclass(eq=False)
class SlideEncoder(PublishedEncoder):
    slide: Callable[[Any, Any, int], Any] = field(kw_only=True)

    def images(self, patches: Sequence[Pixels]) -> Vectors:
        return self.features(patches)

    def slides(self, features: NDArray[np.float32], spots: Sequence[Spot]) -> Vectors:
        import torch

        side, _ = Counter(spot.width for spot in spots).most_common(1)[0]
        coordinates = torch.tensor([[(spot.x, spot.y) for spot in spots]])
        patches = torch.from_numpy(np.asarray(features, np.float32))[None]
        with torch.inference_mode():
            row = self.slide(patches, coordinates, side)
        return of_length_one(np.asarray(row.cpu().numpy(), np.float32), self.name)


def titan_encoder(name: str | Path, device: str | None = None) -> SlideEncoder:
    """TITAN, or a model with its methods, from a folder or the hub by Transformers.

    Transformers runs the Python files that come with such a model, so that it is loaded by the name
    `titan` only, never because a folder happens to hold one.
    """
    require_hf()
    import torch
    import transformers

    name, device = str(name), choose_device(device)
    with _loading(name, "Transformers"):
        model = transformers.AutoModel.from_pretrained(
            name, local_files_only=only_here(name), trust_remote_code=True
        )
        if absent := [method for method in TITAN_METHODS if not hasattr(model, method)]:
            raise ModelError(f"{name} is no slide encoder: it has no {', '.join(absent)}")
        tower, prepare = model.return_conch()
    model, tower = model.to(device).eval(), tower.to(device).eval()

    def look(patches: Sequence[Pixels]) -> Any:
        from PIL import Image

        return tower(torch.stack([prepare(Image.fromarray(patch)) for patch in patches]).to(device))

    def read(phrase: str) -> Any:
        tokens = model.text_encoder.tokenizer([phrase])
        return model.encode_text(tokens.to(device), normalize=True)

    def slide(features: Any, coordinates: Any, side: int) -> Any:
        vector = model.encode_slide_from_patch_features(
            features.to(device), coordinates.to(device), side
        )
        return vector.float().reshape(1, -1) @ model.vision_encoder.proj.float()

    identity = _transformers_identity(name, _weights_hash(model, tower))
    return SlideEncoder(name, identity, TITAN_SIDE, look, read, slide=slide)


# --- open_clip, and CONCH by its own copy of it ---------------------------------------------------


def open_clip_encoder(name: str, device: str | None = None) -> PublishedEncoder:
    """A model that open_clip, or CONCH's own package, makes.

    Names are those of open_clip: `hf-hub:wisdomik/QuiltNet-B-32`, `local-dir:FOLDER`,
    `ViT-B-32@openai`, `ViT-B-32@FILE`. CONCH is `conch_ViT-B-16@FILE`.
    """
    require_hf()
    import torch

    device = choose_device(device)
    spec = f"{LOCAL}{name}" if Path(name, OPEN_CLIP_CONFIG).is_file() else name
    architecture, _, weights = spec.partition("@")
    is_conch = name.startswith(CONCH)
    library, package, source = (
        (CONCH, "conch.open_clip_custom", "git+https://github.com/Mahmoodlab/CONCH")
        if is_conch
        else ("open_clip", "open_clip", "open_clip_torch")
    )
    module = _library(library, package, needed_by=spec, install=f"pip install {source}")
    if not Path((weights or architecture).removeprefix(LOCAL)).exists():
        note_download(spec)
    with _loading(spec, library):
        if is_conch:
            model, prepare = module.create_model_from_pretrained(architecture, weights)
            tokenizer = module.get_tokenizer()
        else:
            pretrained = {"pretrained": weights} if weights else {}
            model, prepare = module.create_model_from_pretrained(architecture, **pretrained)
            tokenizer = module.get_tokenizer(architecture)
    model = model.to(device).eval()

    def look(patches: Sequence[Pixels]) -> Any:
        from PIL import Image

        pictures = [prepare(Image.fromarray(patch)) for patch in patches]
        return model.encode_image(torch.stack(pictures).to(device))

    def read(phrase: str) -> Any:
        if is_conch:  # whose tokenizer is an argument
            tokens = module.tokenize(texts=[phrase], tokenizer=tokenizer)
        else:
            tokens = tokenizer([phrase])
        return model.encode_text(tokens.to(device))

    side = getattr(getattr(model, "visual", None), "image_size", SIZE)
    side = int(side[0] if isinstance(side, list | tuple) else side)
    short_name = architecture.rstrip("/").split("/")[-1].removeprefix(LOCAL)
    identity = (
        f"{short_name}@{_weights_hash(model)}/{library}{getattr(module, '__version__', 'unknown')}"
    )
    return PublishedEncoder(short_name, identity, side, look, read)


# --- MUSK, whose package registers it with timm ---------------------------------------------------


def musk_encoder(weights: str, device: str | None = None) -> PublishedEncoder:
    """MUSK from its file of weights, or from `hf_hub:OWNER/NAME`.

    One transformer reads images and texts; the heads that align them are used, and no multiscale
    augmentation, as for zero-shot retrieval. The tokenizer is the `tokenizer.spm` beside the
    weights, or else the one in the package.
    """
    require_hf()
    import torch

    device = choose_device(device)
    timm, package, utils, _, pieces = (  # musk.modeling registers the model with timm
        _library(module.partition(".")[0], module, needed_by="musk", install=MUSK_INSTALL)
        for module in ("timm.models", "musk", "musk.utils", "musk.modeling", "sentencepiece")
    )
    with _loading(weights, "musk"):
        model = timm.create_model(MUSK_ARCHITECTURE)
        utils.load_model_and_may_interpolate(weights, model, "model|module", "")
        file = str(_musk_tokenizer(weights, Path(str(package.__file__)).parent))
        vocabulary = pieces.SentencePieceProcessor(model_file=file)
        model = model.to(device).eval()

    def look(patches: Sequence[Pixels]) -> Any:
        scaled = np.stack(patches).astype(np.float32) / np.float32(127.5) - np.float32(1)
        pixels = torch.from_numpy(scaled.transpose(0, 3, 1, 2).copy()).to(device)
        return model(image=pixels, with_head=True, out_norm=True)[0]

    def read(phrase: str) -> Any:
        tokens = musk_tokens(vocabulary.encode(phrase))
        return model(
            text_description=torch.tensor([tokens], device=device),
            padding_mask=torch.tensor([[int(token == PAD) for token in tokens]], device=device),
            with_head=True,
            out_norm=True,
        )[1]

    identity = f"musk@{_weights_hash(model)}/musk{getattr(package, '__version__', 'unknown')}"
    return PublishedEncoder("musk", identity, MUSK_SIDE, look, read)


def musk_tokens(pieces: Sequence[int]) -> list[int]:
    """The pieces of a phrase as XLM-RoBERTa numbers them, one higher than sentencepiece does."""
    numbers = [piece + 1 if piece else UNKNOWN for piece in pieces[: MUSK_TOKENS - 2]]
    tokens = [BEGIN, *numbers, END]
    return tokens + [PAD] * (MUSK_TOKENS - len(tokens))


def _musk_tokenizer(weights: str, package: Path) -> Path:
    folders = [] if weights.startswith("hf_hub:") else [Path(weights).parent]
    for folder in (*folders, package / "models"):
        if (file := folder / MUSK_TOKENIZER).is_file():
            return file
    raise ModelError(
        f"MUSK's {MUSK_TOKENIZER} lies neither beside its weights nor in the package musk; copy it "
        "from musk/models of its repository to the folder of the weights"
    )


# --- libraries ------------------------------------------------------------------------------------


def _library(package: str, module: str, *, needed_by: str, install: str) -> Any:
    """A module of a package that is not among our extras; or how to install it."""
    if find_spec(package) is None:
        raise MissingDependency(
            f"{package} is not installed, and {needed_by!r} needs it; run: {install}"
        )
    return import_module(module)


def _reason(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else repr(error)


@contextmanager
def _loading(name: str, library: str) -> Iterator[None]:
    """Turn whatever a library raises while it loads a model into one error of one line."""
    try:
        yield
    except HistoEvalError:
        raise
    except Exception as error:
        raise ModelError(f"{library} cannot load {name!r}: {_reason(error)}") from error


def _weights_hash(*models: Any) -> str:
    import torch

    digest = hashlib.sha256()
    for model in models:
        for name, tensor in sorted(model.state_dict().items()):
            digest.update(name.encode())
            flat = tensor.detach().cpu().contiguous().view(-1)
            digest.update(flat.view(torch.uint8).numpy())
    return digest.hexdigest()[:12]
