"""Models as ONNX, with weights stored as int8 and multiplied in float32.

What a weight is multiplied with is not rounded, so that processors whose float32 sums differ in
their last bits give the same answer to about a millionth. Where activations are rounded too, such
a bit decides between two steps of int8, and answers differ in the third digit. The files are as
small as those with rounded activations; onnxruntime makes the weights whole once, at loading.
"""

import logging
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import gcd
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor

from histoeval.reader.manifest import TOKENIZER, hash_of

OPSET = 18

BLOCK = 128  # weights of one column that share a scale, at most

_LEAST_BLOCK = 32  # shorter blocks would have too many scales to be worth it

_LEAST_ROUNDED = 4096  # smaller arrays stay as they are: there is nothing to be gained


class OnnxPart(NamedTuple):
    """A module with its inputs by name: an example, and which of their lengths may vary."""

    module: Any
    example: Mapping[str, Tensor]
    shapes: Mapping[str, Any]
    outputs: list[str]


class Unpadded(torch.nn.Module):  # type: ignore[misc]
    """A model of tokens, at times their kinds, and a mask, for rows of which nothing is padding."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, kinds: Tensor | None = None) -> Any:
        mask = torch.ones_like(tokens)
        return self.model(tokens, mask) if kinds is None else self.model(tokens, kinds, mask)


def token_part(module: Any, tokens: int, outputs: list[str], *more: str) -> OnnxPart:
    count = torch.export.Dim("count", min=1, max=1024)
    length = torch.export.Dim("length", min=2, max=tokens)
    example = torch.randint(5, 50, (3, 7))
    return OnnxPart(
        module,
        {"tokens": example, **{name: (example > 25).long() for name in more}},
        {name: {0: count, 1: length} for name in ("tokens", *more)},
        outputs,
    )


def write_parts(folder: Path, parts: Mapping[str, OnnxPart], tokenizer: Any) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / TOKENIZER), pretty=False)
    for file, part in parts.items():
        onnx.save(weight_only_int8(exported(part)), folder / file)
    return {file: hash_of(folder / file) for file in (*parts, TOKENIZER)}


def exported(part: OnnxPart) -> Any:
    """A module as an ONNX graph, without a word on whose source code each node comes from."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # what the exporter has to say is for its own authors
    try:
        with warnings.catch_warnings(action="ignore"):
            program = torch.onnx.export(
                part.module.float().cpu().eval(),
                tuple(part.example.values()),
                input_names=list(part.example),
                output_names=part.outputs,
                dynamic_shapes=dict(part.shapes),
                opset_version=OPSET,
                dynamo=True,
                verbose=False,
            )
    finally:
        logging.disable(before)
    model = program.model_proto
    graph = model.graph
    del model.metadata_props[:], graph.metadata_props[:]
    model.doc_string = graph.doc_string = ""
    values = (*graph.value_info, *graph.input, *graph.output)
    for item in (*graph.node, *graph.initializer, *values):
        del item.metadata_props[:]
        item.doc_string = ""
    return model


def weight_only_int8(model: Any) -> Any:
    """A float32 model with all its large matrices as int8, and float32 arithmetic."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    large = {
        weight.name: weight.dims[0]
        for weight in graph.initializer
        if weight.data_type == onnx.TensorProto.FLOAT
        and len(weight.dims) == 2
        and int(np.prod(weight.dims)) >= _LEAST_ROUNDED
        and not weight.name.endswith(".scale")
    }
    uses = Counter(name for node in graph.node for name in node.input)
    # The constant right-hand sides of products, in blocks of each column; all others row by row.
    factors = {n.input[1] for n in graph.node if n.op_type == "MatMul" and uses[n.input[1]] == 1}
    in_blocks = {
        name for name, rows in large.items() if name in factors and gcd(rows, BLOCK) >= _LEAST_BLOCK
    }
    _round(graph, in_blocks, lambda w: w.reshape(-1, gcd(len(w), BLOCK), w.shape[-1]))
    _round(graph, large.keys() - in_blocks, lambda values: values)
    _look_up_first(graph)
    used = {node.domain for node in graph.node}
    domains = [opset for opset in changed.opset_import if opset.domain in used]
    del changed.opset_import[:]
    changed.opset_import.extend(domains)
    return changed


def _round(graph: Any, names: set[str], blocks_of: Callable[[Any], Any]) -> None:
    """Round these arrays; values along the second axis of what `blocks_of` makes share a scale."""
    weights, nodes = [], []
    make = onnx.helper.make_node
    for weight in graph.initializer:
        name = weight.name
        if name not in names:
            weights.append(weight)
            continue
        values = numpy_helper.to_array(weight)
        blocks = blocks_of(values)
        scale = (np.abs(blocks).max(axis=1, keepdims=True).clip(1e-12) / 127).astype(np.float32)
        arrays = {"int8": np.rint(blocks / scale).astype(np.int8), "scale": scale}
        is_blocked = blocks.ndim > values.ndim
        whole = f"{name}.blocks" if is_blocked else name
        nodes += [
            make("Cast", [f"{name}.int8"], [f"{name}.float"], to=onnx.TensorProto.FLOAT),
            make("Mul", [f"{name}.float", f"{name}.scale"], [whole]),
        ]
        if is_blocked:
            arrays["shape"] = np.array(values.shape, np.int64)
            nodes.append(make("Reshape", [whole, f"{name}.shape"], [name]))
        weights += [
            numpy_helper.from_array(np.ascontiguousarray(array), f"{name}.{part}")
            for part, array in arrays.items()
        ]
    _replace(graph, [*nodes, *graph.node], weights)


def _look_up_first(graph: Any) -> None:
    """Make rows that are looked up whole after that, and the others not at all."""
    makers = {node.output[0]: node for node in graph.node}
    uses = Counter(name for node in graph.node for name in node.input)
    make = onnx.helper.make_node
    nodes, spare = [], set()
    for node in graph.node:
        whole = makers.get(node.input[0]) if node.op_type == "Gather" else None
        if whole is None or whole.op_type != "Mul" or uses[whole.output[0]] > 1:
            nodes.append(node)
            continue
        cast, scale = makers[whole.input[0]], whole.input[1]
        spare |= {whole.output[0], cast.output[0]}
        rows, output = node.input[1], node.output[0]
        int8, scales, floats = (f"{output}.{part}" for part in ("int8", "scale", "float"))
        nodes += [
            make("Gather", [cast.input[0], rows], [int8]),
            make("Gather", [scale, rows], [scales]),
            make("Cast", [int8], [floats], to=onnx.TensorProto.FLOAT),
            make("Mul", [floats, scales], [output]),
        ]
    _replace(graph, [n for n in nodes if spare.isdisjoint(n.output)], graph.initializer)


def _replace(graph: Any, nodes: Sequence[Any], weights: Sequence[Any]) -> None:
    nodes, weights = list(nodes), list(weights)
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(weights)
