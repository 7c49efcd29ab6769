"""Models as ONNX with int8 weights, which are multiplied in float32 (`weight_only`)."""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor

from histoeval.reader.manifest import TOKENIZER, hash_of
from histoeval_research.train.core.weight_only import weight_only_int8

OPSET = 18


@dataclass(frozen=True, slots=True)
class OnnxPart:
    """A module with its inputs by name: an example, and which of their lengths may vary."""

    module: Any
    example: Mapping[str, Tensor]
    shapes: Mapping[str, Any]
    outputs: list[str]


class Unpadded(torch.nn.Module):  # type: ignore[misc]
    """A model of tokens and a mask, for rows of one length of which nothing is padding."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Any:
        """What the model gives for rows that need no mask."""
        return self.model(tokens, torch.ones_like(tokens))


def token_part(module: Any, tokens: int, outputs: list[str], *more: str) -> OnnxPart:
    """A module of rows of at most so many tokens, and of inputs of the same shape."""
    count = torch.export.Dim("count", min=1, max=1024)
    length = torch.export.Dim("length", min=2, max=tokens)
    example = torch.randint(5, 50, (3, 7))
    return OnnxPart(
        module,
        {"tokens": example, **{name: (example > 25).long() for name in more}},
        {name: {0: count, 1: length} for name in ("tokens", *more)},
        outputs,
    )


def write_parts(
    folder: Path,
    parts: Mapping[str, OnnxPart],
    tokenizer: Any,
    rounded: bool = True,
) -> dict[str, str]:
    """Write a tokenizer and each part as ONNX; the hash of each file.

    Not rounded, a model is four times as large.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / TOKENIZER), pretty=False)
    for file, part in parts.items():
        module = part.module.float().cpu()
        graph = exported(module, part.example, part.shapes, part.outputs)
        write_graph(graph, folder / file, rounded)
    return {file: hash_of(folder / file) for file in (*parts, TOKENIZER)}


def exported(
    module: Any, example: Mapping[str, Tensor], shapes: Mapping[str, Any], outputs: list[str]
) -> Any:
    """A module as an ONNX graph, its inputs and outputs by name."""
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


def write_graph(graph: Any, path: Path, rounded: bool) -> None:
    """Write a graph; not rounded, it is four times as large."""
    _forget_origins(graph)
    onnx.save(weight_only_int8(graph) if rounded else graph, path)


def _forget_origins(graph: Any) -> None:
    """Remove where in whose source code each node comes from."""
    del graph.metadata_props[:]
    del graph.graph.metadata_props[:]
    graph.doc_string = graph.graph.doc_string = ""
    values = (*graph.graph.value_info, *graph.graph.input, *graph.graph.output)
    for item in (*graph.graph.node, *graph.graph.initializer, *values):
        del item.metadata_props[:]
        item.doc_string = ""
