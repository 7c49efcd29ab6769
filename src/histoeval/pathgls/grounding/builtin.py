"""The grounding encoder as it is shipped: images and phrases into one space, and what it knows.

onnxruntime and tokenizers, no network, and no torch on a CPU. There each image and each phrase is
run by itself, so that its vector is the same to the bit whatever it is run with; another device
runs images, and phrases of as many tokens, together.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field

from histoeval.align.builtin import shortened
from histoeval.errors import InputError
from histoeval.pathgls.grounding.decisions import Decisions
from histoeval.pathgls.grounding.encoder import ClaimCalibration, Pixels, Vectors
from histoeval.reader.manifest import ModelManifest
from histoeval.report import EntityType, Noun
from histoeval.resources import resource_path
from histoeval.runtime.memo import Memory
from histoeval.runtime.onnx import TokenRows, on_cpu, on_gpu, open_session, open_tokenizer, runner
from histoeval.runtime.threads import cores

IMAGE: Final = "image.onnx"
TEXT: Final = "text.onnx"
TOKENIZER: Final = "tokenizer.json"
KNOWN: Final = "known.npz"
FILES = (IMAGE, TEXT, TOKENIZER, KNOWN)

Colours = tuple[float, float, float]


class ImageTowerSpec(Noun):
    file: Literal["image.onnx"] = IMAGE
    size: Annotated[int, Field(ge=1)] = 224
    mean: Colours
    std: Colours


class TextTower(Noun):
    file: Literal["text.onnx"] = TEXT
    tokenizer: Literal["tokenizer.json"] = TOKENIZER
    max_tokens: Annotated[int, Field(ge=4)] = 32


class Limit(Noun):
    """The limit of the known, by something kept in a file: beyond the threshold it is unknown."""

    file: Literal["known.npz"] = KNOWN
    threshold: float


class ScopeLimits(Noun):
    """The limits of the model: distances of images, likeness of phrases to known ones."""

    # Unknown from this distance on, in which 1 is what a usual image of the training has
    image: Limit
    # Unknown from where another stain is so much likelier than H&E, as a difference of cosines
    stain: Limit
    phrases: Limit  # unknown below this cosine with the nearest wording that was learned


class GroundingManifest(ModelManifest):
    home, parts, what = "manifest.json", FILES, "a grounding model"

    kind: Literal["grounding"] = "grounding"
    image: ImageTowerSpec
    text: TextTower
    dimension: Annotated[int, Field(ge=2)]
    temperature: float  # what cosines were divided by while learning
    scope: ScopeLimits
    # A curve for each kind of claim: site, diagnosis, finding
    calibrations: dict[str, ClaimCalibration]
    # When answers count: missing where only one laboratory or too few cases were learned
    decisions: Decisions | None = None


_REMEMBERED = 20_000
_TOGETHER_ON_DEVICE = 64

HE = "H&E"


class ImageScope(NamedTuple):
    known: bool
    distance: float
    stain: float  # how much likelier another stain is than H&E, as a difference of cosines


class PhraseScope(NamedTuple):
    known: bool
    likeness: float
    nearest: str
    group: str


class TrainingSummary(NamedTuple):
    entries: list[str]  # what can be claimed, by name
    groups: list[str]  # for each of them organ, concept, family, site, behaviour or stain
    vectors: Vectors  # for each of them its place in the space of images
    wordings: list[str]
    owners: npt.NDArray[np.int64]  # for each wording its entry
    meanings: Vectors
    centre: Vectors
    whitening: Vectors  # image vectors less the centre, times this, have length 1 in the usual case

    @classmethod
    def read(cls, path: Path) -> Self:
        with np.load(path) as arrays:
            lists = {name: arrays[name].tolist() for name in ("entries", "groups", "wordings")}
            floats = ("vectors", "meanings", "centre", "whitening")
            rows = {name: arrays[name].astype(np.float32) for name in floats}
            return cls(owners=arrays["owners"].astype(np.int64), **lists, **rows)


class BuiltinEncoder:
    """Embeds with a grounding model from a folder; the shipped one when none is named."""

    def __init__(
        self, folder: Path | None = None, *, threads: int | None = None, device: str | None = None
    ) -> None:
        home = folder or resource_path("models/grounding")
        self.manifest = GroundingManifest.read(home)
        self.name, self.dimension = self.manifest.name, self.manifest.dimension
        self.size = self.manifest.image.size
        self.identity = f"{self.manifest.identity}/{runner(device)}"
        self.known = TrainingSummary.read(home / KNOWN)
        self._tokenizer = open_tokenizer(home / TOKENIZER)
        self._image = open_session(home / IMAGE, device)
        self._text = TokenRows(home / TEXT, ("tokens",), device, threads)
        self.on_gpu = on_gpu(device)
        self._threads = threads if on_cpu(device) else 1
        self._most = 1 if on_cpu(device) else _TOGETHER_ON_DEVICE
        self._remembered = Memory(self._phrases, most=_REMEMBERED)

    @property
    def calibrations(self) -> dict[EntityType, ClaimCalibration]:
        return {EntityType(kind): curve for kind, curve in self.manifest.calibrations.items()}

    @property
    def calibration(self) -> ClaimCalibration:
        """The curve of diagnoses, for claims of any kind."""
        return self.calibrations[EntityType.DIAGNOSIS]

    @property
    def decisions(self) -> Decisions | None:
        return self.manifest.decisions

    def organ_vectors(self, organs: Sequence[str]) -> Vectors:
        """The vector of each organ: the mean over all wordings that were learned of it."""
        entries = zip(self.known.groups, self.known.entries, strict=True)
        rows = {name: row for row, (group, name) in enumerate(entries) if group == "organ"}
        if missing := [organ for organ in organs if organ not in rows]:
            raise InputError(f"{self.name} has not learned the organ {missing[0]}")
        return self.known.vectors[[rows[organ] for organ in organs]]

    def images(self, images: Sequence[Pixels]) -> Vectors:
        """One unit-length row for each image, which must have the size of the manifest."""
        side, most = self.size, self._most
        for image in images:
            if image.shape != (side, side, 3) or image.dtype != np.uint8:
                raise InputError(
                    f"an image for {self.name} has {side} x {side} pixels of three bytes; "
                    f"this has shape {image.shape} of {image.dtype}"
                )
        if not images:
            return np.zeros((0, self.dimension), np.float32)
        groups = [images[first : first + most] for first in range(0, len(images), most)]
        with ThreadPoolExecutor(self._threads or cores()) as pool:
            return np.concatenate(list(pool.map(self._run_images, groups)))

    def texts(self, phrases: Sequence[str]) -> Vectors:
        if not phrases:
            return np.zeros((0, self.dimension), np.float32)
        return np.stack([vector for vector, _ in self._remembered(phrases)])

    def image_scope(self, vectors: Vectors) -> list[ImageScope]:
        moved = (vectors - self.known.centre) @ self.known.whitening
        distances = np.linalg.norm(moved.astype(np.float64), axis=1)
        cosines = vectors.astype(np.float64) @ self.known.vectors.T
        stains = stain_scores(cosines, self.known.groups, self.known.entries)
        limits = self.manifest.scope
        is_known = (distances < limits.image.threshold) & (stains < limits.stain.threshold)
        columns = is_known.tolist(), distances.tolist(), stains.tolist()
        return [ImageScope(*row) for row in zip(*columns, strict=True)]

    def phrase_scope(self, phrases: Sequence[str]) -> list[PhraseScope]:
        scopes = []
        for _, meaning in self._remembered(phrases):
            cosines = self.known.meanings @ meaning
            best = int(np.argmax(cosines))
            owner, likeness = int(self.known.owners[best]), float(cosines[best])
            is_known = likeness >= self.manifest.scope.phrases.threshold
            entry, group = self.known.entries[owner], self.known.groups[owner]
            scopes.append(PhraseScope(is_known, likeness, entry, group))
        return scopes

    def unknown_images(self, vectors: Vectors) -> list[str | None]:
        limit = self.manifest.scope.stain.threshold
        return [
            None
            if scope.known
            else "not stained with H&E, as far as the model can tell"
            if scope.stain >= limit
            else "not like the H&E histology that the model has seen"
            for scope in self.image_scope(vectors)
        ]

    def unknown_phrases(self, phrases: Sequence[str]) -> list[str | None]:
        return [
            None
            if scope.known
            else f"is not among the phrases that the model was trained on; closest: {scope.nearest}"
            for scope in self.phrase_scope(phrases)
        ]

    def _run_images(self, images: Sequence[Pixels]) -> Vectors:
        settings = self.manifest.image
        mean, std = np.array(settings.mean, np.float32), np.array(settings.std, np.float32)
        pixels = (np.stack(images).astype(np.float32) / np.float32(255) - mean) / std
        (rows,) = self._image.run(None, {"pixels": pixels.transpose(0, 3, 1, 2)})
        return np.asarray(rows, np.float32)

    def _phrases(self, phrases: Sequence[str]) -> list[tuple[Vectors, Vectors]]:
        most = self.manifest.text.max_tokens
        whole = (phrase.encode("utf-8", "replace").decode("utf-8") for phrase in phrases)
        tokens = [(tuple(shortened(self._tokenizer.encode(p).ids, most)),) for p in whole]
        return [(vector, meaning) for vector, meaning in self._text.rows(tokens)]


def stain_scores(
    cosines: npt.NDArray[np.float64], groups: Sequence[str], names: Sequence[str]
) -> npt.NDArray[np.float64]:
    """Margin of the likeliest other stain over H&E in each row."""
    stains = [n for n, group in enumerate(groups) if group == "stain"]
    he_stains = [n for n in stains if names[n] == HE]
    other_stains = [n for n in stains if names[n] != HE]
    if not other_stains or not he_stains:
        return np.full(len(cosines), -2.0)
    scores = cosines[:, other_stains].max(axis=1) - cosines[:, he_stains].max(axis=1)
    return np.asarray(scores, np.float64)
