"""Tiles of our own making, a tiny trunk in ONNX, and settings that learn them in seconds."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

KINDS = {
    ("colon", "colon adenocarcinoma", "malignant"): (150, 40, 160),
    ("colon", "melanosis coli", "benign"): (230, 190, 210),
    ("liver", "hepatocellular carcinoma", "malignant"): (120, 90, 60),
    ("liver", "peliosis of the liver", "benign"): (200, 60, 60),
}
WIDTH = 12


def write_tiles(folder: Path, cases: int = 4) -> Path:
    """Two tiles of each of some cases of each kind, told apart by their colour."""
    from PIL import Image

    draws = np.random.default_rng(0)
    rows = []
    with tarfile.open(folder / "shard-000.tar", "w") as shard:
        for (organ, concept, behaviour), colour in KINDS.items():
            for number in range(2 * cases):
                key = f"{organ}-{behaviour}-{number}"
                noise = draws.normal(0, 12, (224, 224, 3)) + np.array(colour)
                content = io.BytesIO()
                picture = Image.fromarray(noise.clip(0, 255).astype(np.uint8))
                picture.save(content, "JPEG", quality=80)
                member = tarfile.TarInfo(f"{key}.jpg")
                member.size = len(content.getvalue())
                shard.addfile(member, io.BytesIO(content.getvalue()))
                case = f"{organ}-{behaviour}-{number // 2}"
                rows.append(row_of(key, organ, concept, behaviour, case, number // 2 == cases - 1))
    (folder / "index.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return folder


def row_of(
    key: str, organ: str, concept: str, behaviour: str, case: str, last: bool
) -> dict[str, Any]:
    """A row of the index; the last case of each kind is tested on."""
    return {
        "key": key,
        "organ": organ,
        "concept": concept,
        "benign_or_malignant": behaviour,
        "stain": "H&E",
        "slide_or_patient": case,
        "case_group": case,
        "split": "test" if last else "train",
    }


def write_trunk(path: Path, depth: int = 1) -> dict[str, Any]:
    """An ONNX file that holds tensors as the package with the start weights does."""
    import onnx
    from onnx import numpy_helper

    draws = np.random.default_rng(1)

    def some(*shape: int) -> Any:
        return draws.normal(0, 0.2, shape).astype(np.float32)

    named = {
        "backbone.embeddings.patch_embeddings.projection.weight": some(WIDTH, 3, 14, 14),
        "backbone.embeddings.patch_embeddings.projection.bias": some(WIDTH),
        "backbone.embeddings.cls_token": some(1, 1, WIDTH),
        "backbone.layernorm.weight": some(WIDTH) + 1,
        "backbone.layernorm.bias": some(WIDTH),
        "onnx::Concat_1": some(1, 1, WIDTH),
        "onnx::Reshape_2": some(1, 256, WIDTH),
    }
    for layer in range(depth):
        place = f"backbone.encoder.layer.{layer}"
        for name in ("norm1", "norm2"):
            named[f"{place}.{name}.weight"] = some(WIDTH) + 1
            named[f"{place}.{name}.bias"] = some(WIDTH)
        for name in ("query", "key", "value"):
            named[f"{place}.attention.attention.{name}.bias"] = some(WIDTH)
        named[f"{place}.attention.output.dense.bias"] = some(WIDTH)
        named[f"{place}.layer_scale1.lambda1"] = some(WIDTH)
        named[f"{place}.layer_scale2.lambda1"] = some(WIDTH)
        named[f"{place}.mlp.fc1.bias"] = some(4 * WIDTH)
        named[f"{place}.mlp.fc2.bias"] = some(WIDTH)
        for number, (one, two) in enumerate([(1, 1)] * 4 + [(1, 4), (4, 1)]):
            named[f"onnx::MatMul_{10 * layer + number}"] = some(one * WIDTH, two * WIDTH)
    tensors = [numpy_helper.from_array(value, name) for name, value in named.items()]
    graph = onnx.helper.make_graph([], "trunk", [], [], initializer=tensors)
    onnx.save(onnx.helper.make_model(graph), str(path))
    return named


def settings_of(folder: Path, encoder: Path, teacher: Path, **others: Any) -> dict[str, Any]:
    views = {"stain": 0.0, "light": 0.0, "smallest": 1.0, "blurred": 0.0, "grey": 0.0}
    return {
        "tiles": str(folder),
        "trunk": str(folder / "trunk.onnx"),
        "encoder": str(encoder),
        "teacher": str(teacher),
        "layers": 1,
        "least_pieces": 1,
        "depth": 1,
        "dimension": 8,
        "stain_match": False,
        "folds": 2,
        "distillation": {"steps": 3, "batch": 32},
        "learning": {"epochs": 12, "batch": 8, "rate": 0.01, "trunk_rate": 1e-3, "views": views},
        **others,
    }
