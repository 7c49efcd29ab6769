"""ONNX models with weights stored as int8 and multiplied in float32.

What a weight is multiplied with is not rounded, so that processors whose float32 sums differ in
their last bits give the same answer to about a millionth. Where activations are rounded too, such
a bit decides between two steps of int8, and answers differ in the third digit. The files are as
small as those with rounded activations; onnxruntime makes the weights whole once, at loading.
"""

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from histoeval.reader.manifest import hash_of

BLOCK = 128
"""Weights of one column that share a scale, at most."""

_LEAST_BLOCK = 32
"""Shorter blocks would have too many scales to be worth it."""

_LEAST_ROUNDED = 4096
"""Smaller arrays stay as they are: there is nothing to be gained."""

_PARTS = ("int8", "scale", "float", "blocks", "shape")
"""What stands behind the name of a rounded array in the names of its pieces."""


def weight_only_int8(model: Any) -> Any:
    """The same model with all its large matrices as int8, and float32 arithmetic.

    Takes a model in float32, or one with `MatMulNBits`, whose int8 weights are kept as they are.
    """
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    _unfold_products(changed.graph)
    _round_factors(changed.graph)
    _round_rows(changed.graph)
    _look_up_first(changed.graph)
    used = {node.domain for node in changed.graph.node}
    domains = [opset for opset in changed.opset_import if opset.domain in used]
    del changed.opset_import[:]
    changed.opset_import.extend(domains)
    return changed


def convert_folder(folder: Path) -> None:
    """Rewrite the ONNX files of a model folder, and their hashes in its manifest."""
    (manifest,) = (path for path in folder.glob("*.json") if "files" in _content(path))
    content = _content(manifest)
    for name in content["files"]:
        if name.endswith(".onnx"):
            onnx.save(weight_only_int8(onnx.load(folder / name)), folder / name)
            content["files"][name] = hash_of(folder / name)
    text = json.dumps(content, indent=1, ensure_ascii=False)
    manifest.write_text(f"{text}\n", encoding="utf-8")


def _content(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _round_rows(graph: Any) -> None:
    """Large float32 matrices as int8, each row with a scale of its own."""
    names = {weight.name for weight in graph.initializer if _is_large(weight)}
    _round(graph, names, lambda values: values)


def _look_up_first(graph: Any) -> None:
    """Rows that are looked up are made whole after that, and the others not at all."""
    makers = {node.output[0]: node for node in graph.node}
    uses = Counter(name for node in graph.node for name in node.input)
    nodes, spare = [], set()
    for node in graph.node:
        whole = makers.get(node.input[0]) if node.op_type == "Gather" else None
        if whole is None or whole.op_type != "Mul" or uses[whole.output[0]] > 1:
            nodes.append(node)
            continue
        cast, scale = makers[whole.input[0]], whole.input[1]
        spare |= {whole.output[0], cast.output[0]}
        found = node.output[0]
        part = {end: f"{found}.{end}" for end in ("int8", "float", "scale")}
        make = onnx.helper.make_node
        nodes += [
            make("Gather", [cast.input[0], node.input[1]], [part["int8"]]),
            make("Gather", [scale, node.input[1]], [part["scale"]]),
            make("Cast", [part["int8"]], [part["float"]], to=onnx.TensorProto.FLOAT),
            make("Mul", [part["float"], part["scale"]], [found]),
        ]
    _replace(graph, [n for n in nodes if spare.isdisjoint(n.output)], graph.initializer)


def _round_factors(graph: Any) -> None:
    """The constant right-hand sides of products as int8, in blocks of each column."""
    uses = Counter(name for node in graph.node for name in node.input)
    factors = {n.input[1] for n in graph.node if n.op_type == "MatMul" and uses[n.input[1]] == 1}
    names = {
        weight.name
        for weight in graph.initializer
        if weight.name in factors and _is_large(weight) and _block(weight.dims[0]) >= _LEAST_BLOCK
    }
    _round(graph, names, lambda w: w.reshape(-1, _block(len(w)), w.shape[-1]))


def _block(rows: int, most: int = BLOCK) -> int:
    """The longest block of which a column of so many rows is made."""
    return gcd(rows, most)


def _is_large(weight: Any) -> bool:
    return (
        weight.data_type == onnx.TensorProto.FLOAT
        and len(weight.dims) == 2
        and int(np.prod(weight.dims)) >= _LEAST_ROUNDED
        and not weight.name.endswith(".scale")
    )


def _round(graph: Any, names: set[str], in_blocks: Any) -> None:
    """Round these arrays; values along the second axis of what `in_blocks` makes share a scale."""
    kept, nodes = [], []
    for weight in graph.initializer:
        if weight.name not in names:
            kept.append(weight)
            continue
        values = numpy_helper.to_array(weight)
        blocks = in_blocks(values)
        scale = (np.abs(blocks).max(axis=1, keepdims=True).clip(1e-12) / 127).astype(np.float32)
        rounded = np.rint(blocks / scale).astype(np.int8)
        pieces, steps = _made_whole(weight.name, rounded, scale, values.shape)
        kept += pieces
        nodes += steps
    _replace(graph, [*nodes, *graph.node], kept)


def _unfold_products(graph: Any) -> None:
    """Products with rounded activations (`MatMulNBits`) as float32 products, weights unchanged."""
    constants = {weight.name: weight for weight in graph.initializer}
    nodes, added = [], []
    spare: set[str] = set()
    for node in graph.node:
        if node.op_type != "MatMulNBits":
            nodes.append(node)
            continue
        given, stored, scales = node.input[:3]
        settings = {attribute.name: attribute.i for attribute in node.attribute}
        if settings["bits"] != 8 or any(node.input[3:]):
            raise ValueError(f"{node.name}: only symmetric int8 can be unfolded")
        columns, blocks, size = constants[stored].dims
        rows = settings["K"]
        block = _block(rows, size)  # the last of their blocks may be a part of one
        packed = numpy_helper.to_array(constants[stored]).reshape(columns, -1)[:, :rows]
        rounded = (packed.astype(np.int16) - 128).astype(np.int8)
        scale = _values(constants, scales).reshape(columns, blocks).repeat(size // block, axis=1)
        name = f"{stored}.weight"
        pieces, steps = _made_whole(
            name,
            rounded.T.reshape(-1, block, columns),
            scale.T[: rows // block, None, :],
            (rows, columns),
        )
        spare |= {stored, scales, *(f"{scales}.{part}" for part in _PARTS)}
        added += pieces
        nodes += [*steps, onnx.helper.make_node("MatMul", [given, name], list(node.output))]
    _replace(
        graph,
        [node for node in nodes if spare.isdisjoint(node.output)],
        [*(weight for weight in graph.initializer if weight.name not in spare), *added],
    )


def _values(constants: Mapping[str, Any], name: str) -> NDArray[np.float32]:
    """A constant in float32; one that is itself rounded row by row is made whole."""
    if name in constants:
        return np.asarray(numpy_helper.to_array(constants[name]))
    rounded, scale = (numpy_helper.to_array(constants[f"{name}.{p}"]) for p in ("int8", "scale"))
    return np.asarray(rounded.astype(np.float32) * scale)


def _made_whole(
    name: str, rounded: NDArray[np.int8], scale: NDArray[np.float32], shape: Sequence[int]
) -> tuple[list[Any], list[Any]]:
    """The pieces of a rounded array as they are stored, and the steps that put it together."""
    part = {end: f"{name}.{end}" for end in _PARTS}
    blocked = rounded.ndim > len(shape)
    whole = part["blocks"] if blocked else name
    pieces = {part["int8"]: rounded, part["scale"]: scale}
    make = onnx.helper.make_node
    steps = [
        make("Cast", [part["int8"]], [part["float"]], to=onnx.TensorProto.FLOAT),
        make("Mul", [part["float"], part["scale"]], [whole]),
    ]
    if blocked:
        pieces[part["shape"]] = np.array(shape, np.int64)
        steps.append(make("Reshape", [whole, part["shape"]], [name]))
    stored = [numpy_helper.from_array(np.ascontiguousarray(v), k) for k, v in pieces.items()]
    return stored, steps


def _replace(graph: Any, nodes: Sequence[Any], weights: Sequence[Any]) -> None:
    nodes, weights = list(nodes), list(weights)
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(weights)


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description="Let a model folder compute in float32.")
    reader.add_argument("folder", type=Path)
    convert_folder(reader.parse_args().folder)
