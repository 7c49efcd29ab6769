"""A trained joint reader as the folder that is shipped: ONNX with int8 weights, no torch.

Weights are rounded to int8 in small blocks, each with a scale of its own. What they are multiplied
with is rounded token by token, so that a token's result never depends on what it is run with.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from histoeval.extract.links import CODES, KINDS, LEVELS
from histoeval.extract.manifest import (
    ENCODER,
    LINKER,
    TOKENIZER,
    Manifest,
    hash_of,
    write_manifest,
)
from histoeval.extract.tagset import TAGS
from histoeval.train.joint import JointReader

OPSET = 18
BLOCK = 128
"""Weights that share a scale."""

_LEAST_ROUNDED = 4096
"""Smaller arrays stay as they are: there is nothing to be gained."""


class _Encode(nn.Module):  # type: ignore[misc]
    """One text of which nothing is padding."""

    def __init__(self, model: JointReader) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        found: tuple[Tensor, Tensor, Tensor] = self.model(tokens, torch.ones_like(tokens))
        return found


class _Link(nn.Module):  # type: ignore[misc]
    """The pairs of one text of which nothing is padding."""

    def __init__(self, model: JointReader) -> None:
        super().__init__()
        self.linker = model.linker

    def forward(
        self,
        encoded: Tensor,
        tags: Tensor,
        entities: Tensor,
        pairs: Tensor,
        kinds: Tensor,
        codes: Tensor,
    ) -> Tensor:
        mask = torch.ones_like(tags)
        return self.linker(encoded, mask, tags, entities, pairs, kinds, codes)


def write_reader(
    model: JointReader,
    tokenizer: Any,
    folder: Path,
    *,
    name: str,
    details: Mapping[str, Any],
    rounded: bool = True,
) -> None:
    """Write what `BuiltinReader` loads; not rounded, it is four times as large."""
    model = model.float().cpu().eval()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / TOKENIZER), pretty=False)
    _write(_encoder_graph(model), folder / ENCODER, rounded)
    _write(_linker_graph(model), folder / LINKER, rounded)
    hashes = {file: hash_of(folder / file) for file in (ENCODER, LINKER, TOKENIZER)}
    write_manifest(folder, Manifest(name=name, files=hashes, details=dict(details)))


def _encoder_graph(model: JointReader) -> Any:
    length = torch.export.Dim("length", min=2, max=_positions(model))
    return _exported(
        _Encode(model),
        {"tokens": torch.randint(5, 50, (1, 12))},
        {"tokens": {1: length}},
        ["encoded", "tags", "assertions"],
    )


def _linker_graph(model: JointReader) -> Any:
    length = torch.export.Dim("length", min=2, max=_positions(model))
    entities, pairs = torch.export.Dim("entities", min=2), torch.export.Dim("pairs", min=1)
    size = int(model.encoder.config.hidden_size)
    example = {
        "encoded": torch.zeros(1, 12, size),
        "tags": torch.randint(len(TAGS), (1, 12)),
        "entities": torch.tensor([[0, 1, 2], [0, 4, 4], [0, 7, 9]]),
        "pairs": torch.tensor([[0, 1], [2, 1], [0, 2], [1, 0]]),
        "kinds": torch.randint(len(KINDS), (4,)),
        "codes": torch.randint(LEVELS, (4, CODES)),
    }
    shapes = {
        "encoded": {1: length},
        "tags": {1: length},
        "entities": {0: entities},
        "pairs": {0: pairs},
        "kinds": {0: pairs},
        "codes": {0: pairs},
    }
    return _exported(_Link(model), example, shapes, ["related"])


def _positions(model: JointReader) -> int:
    return int(getattr(model.encoder.config, "max_position_embeddings", 512)) - 2


def _exported(
    module: Any, example: Mapping[str, Tensor], shapes: Mapping[str, Any], outputs: list[str]
) -> Any:
    with _silence():
        program = torch.onnx.export(
            module.eval(),
            tuple(example.values()),
            input_names=list(example),
            output_names=outputs,
            dynamic_shapes=dict(shapes),
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    return program.model_proto


@contextmanager
def _silence() -> Iterator[None]:
    """What the exporter has to say is for its own authors."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _write(graph: Any, path: Path, rounded: bool) -> None:
    _forget_origins(graph)
    if rounded:
        graph = _round_matrices(graph)
        _round_rows(graph.graph)
    onnx.save(graph, path)


def _round_matrices(graph: Any) -> Any:
    """Matrices in blocks of int8; what they are multiplied with is rounded row by row."""
    from onnxruntime.quantization import matmul_nbits_quantizer as rounding  # noqa: PLC0415

    settings = rounding.DefaultWeightOnlyQuantConfig(
        block_size=BLOCK, is_symmetric=True, accuracy_level=4, bits=8
    )
    with _silence():
        work = rounding.MatMulNBitsQuantizer(graph, algo_config=settings)
        work.process()
    return work.model.model


def _forget_origins(graph: Any) -> None:
    """Remove where in whose source code each node comes from."""
    del graph.metadata_props[:]
    del graph.graph.metadata_props[:]
    graph.doc_string = graph.graph.doc_string = ""
    values = (*graph.graph.value_info, *graph.graph.input, *graph.graph.output)
    for item in (*graph.graph.node, *graph.graph.initializer, *values):
        del item.metadata_props[:]
        item.doc_string = ""


def _round_rows(graph: Any) -> None:
    """What is left of large arrays as int8, each row with a scale, made whole when it is loaded."""
    kept, nodes = [], []
    for weight in graph.initializer:
        values = numpy_helper.to_array(weight)
        if values.dtype != np.float32 or values.ndim != 2 or values.size < _LEAST_ROUNDED:
            kept.append(weight)
            continue
        scale = np.abs(values).max(axis=1, keepdims=True).clip(1e-12) / 127
        stored = {
            "int8": np.rint(values / scale).astype(np.int8),
            "scale": scale.astype(np.float32),
        }
        kept += [numpy_helper.from_array(v, f"{weight.name}.{k}") for k, v in stored.items()]
        nodes += [
            onnx.helper.make_node(
                "Cast", [f"{weight.name}.int8"], [f"{weight.name}.float"], to=onnx.TensorProto.FLOAT
            ),
            onnx.helper.make_node(
                "Mul", [f"{weight.name}.float", f"{weight.name}.scale"], [weight.name]
            ),
        ]
    nodes += graph.node
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend(nodes)
