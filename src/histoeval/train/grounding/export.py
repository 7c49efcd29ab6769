"""A trained grounding model as the folder that is shipped: ONNX with int8 weights, no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from histoeval.evaluate.tile_labels import TileConcept
from histoeval.evaluate.tiles import SIDE
from histoeval.extract.manifest import hash_of
from histoeval.runtime.onnx import cores, open_session
from histoeval.train.core.onnx_int8 import exported, write_graph
from histoeval.train.grounding.model import ImageTowerModel
from histoeval.train.grounding.scope import Vectors, WhiteningScope, wordings_of
from histoeval.train.grounding.text_tower import PhraseTower
from histoeval.train.grounding.vit import MEAN, STD
from histoeval.trust.grounding import manifest as manifests


def write_towers(
    image: ImageTowerModel, text: PhraseTower, tokenizer: Any, folder: Path, *, tokens: int
) -> None:
    """Write both towers and the tokenizer; pictures go through one at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / manifests.TOKENIZER), pretty=False)
    pixels = {"pixels": torch.randn(1, 3, SIDE, SIDE)}
    graph = exported(image.float().cpu().eval(), pixels, {"pixels": None}, ["vectors"])
    write_graph(graph, folder / manifests.IMAGE, rounded=True)
    length = torch.export.Dim("length", min=2, max=tokens)
    count = torch.export.Dim("count", min=1, max=1024)
    graph = exported(
        text.float().cpu().eval(),
        {"tokens": torch.randint(5, 50, (3, 7))},
        {"tokens": {0: count, 1: length}},
        ["vectors", "meanings"],
    )
    write_graph(graph, folder / manifests.TEXT, rounded=True)


def seen_by(folder: Path, pixels: npt.NDArray[np.uint8]) -> Vectors:
    """The vectors of tiles (colours first), as the written tower gives them."""
    session = open_session(folder / manifests.IMAGE)
    mean, std = (np.array(v, np.float32).reshape(3, 1, 1) for v in (MEAN, STD))

    def run(tile: npt.NDArray[np.uint8]) -> Vectors:
        """One tile at a time, as it will be looked at later."""
        scaled = (tile.astype(np.float32) / np.float32(255) - mean) / std
        (rows,) = session.run(None, {"pixels": scaled[None]})
        return np.asarray(rows[0], np.float32)

    with ThreadPoolExecutor(cores()) as pool:
        return np.stack(list(pool.map(run, pixels)))


def said_by(
    folder: Path, entries: Sequence[TileConcept], tokens: Mapping[str, Sequence[int]]
) -> tuple[Vectors, Vectors]:
    """For each entry the mean vector of its wordings, and the meaning of each wording."""
    session = open_session(folder / manifests.TEXT)
    wordings, owners = wordings_of(entries)
    ran = [session.run(None, {"tokens": np.array([tokens[p]], np.int64)}) for p in wordings]
    vectors = np.concatenate([rows for rows, _ in ran])
    means = np.stack([vectors[owners == place].mean(axis=0) for place in range(len(entries))])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    return means.astype(np.float32), np.concatenate([rows for _, rows in ran]).astype(np.float32)


def write_known(
    folder: Path,
    entries: Sequence[TileConcept],
    vectors: Vectors,
    meanings: Vectors,
    scope: WhiteningScope,
) -> None:
    """Keep what the model has learned of: entries, their wordings, and usual images."""
    wordings, owners = wordings_of(entries)
    np.savez(
        folder / manifests.KNOWN,
        entries=np.array([entry.name for entry in entries]),
        groups=np.array([entry.group for entry in entries]),
        vectors=vectors.astype(np.float16),
        wordings=np.array(wordings),
        owners=owners.astype(np.int32),
        meanings=meanings.astype(np.float16),
        centre=scope.centre,
        whitening=scope.whitening,
    )


@dataclass(frozen=True, slots=True)
class ManifestFields:
    """What a manifest says beside limits and curves."""

    name: str
    dimension: int
    temperature: float
    tokens: int
    details: Mapping[str, Any]


def write_manifest(
    folder: Path,
    described: ManifestFields,
    *,
    scope: manifests.ScopeLimits,
    calibrations: Mapping[str, manifests.LogisticCalibration],
) -> None:
    """Write the manifest, with the hashes of what stands beside it."""
    manifests.write_grounding_manifest(
        folder,
        manifests.GroundingManifest(
            name=described.name,
            files={file: hash_of(folder / file) for file in manifests.FILES},
            image=manifests.ImageTowerSpec(size=SIDE, mean=MEAN, std=STD),
            text=manifests.TextTower(max_tokens=described.tokens),
            dimension=described.dimension,
            temperature=described.temperature,
            scope=scope,
            calibrations=dict(calibrations),
            details=dict(described.details),
        ),
    )
