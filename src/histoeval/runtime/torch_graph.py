"""The shipped ONNX graphs on any device of torch, for callers that know onnxruntime's session.

A graph is read as it is written and run operator by operator in float32. What depends on constants
alone, such as weights that are stored in int8, is worked out once, at loading. A graph that was
written for one text takes several of equal length. Needs the extra [hf].
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray

from histoeval.errors import ModelError
from histoeval.runtime.torch_operators import OPERATORS, Operator, unpacked

_PACKED, _SHAPE = "MatMulNBits", "Shape"


@dataclass(frozen=True, slots=True)
class _Step:
    """One operator of a graph, what it reads, and the name of its result."""

    operator: Operator
    reads: tuple[str, ...]
    plain: frozenset[int]
    """Which of what it reads are shapes, axes or bounds."""
    result: str
    attributes: Mapping[str, Any]
    on_host: bool
    """Whether it reads only shapes and constants, so that no device has to be asked."""


class TorchSession:
    """A graph with the `run` of onnxruntime's session, on a device of torch."""

    def __init__(self, path: Path, device: str) -> None:
        self.device = torch.device(device)
        self._path = path
        graph = self._read()
        self._outputs = [output.name for output in graph.output]
        self._host: dict[str, Any] = {each.name: _tensor(each) for each in graph.initializer}
        self._host[""] = None
        with torch.inference_mode():
            self._steps = self._folded(graph.node)
        self._there = self._moved()
        self._plain = self._listed()

    def run(
        self, names: Sequence[str] | None, inputs: Mapping[str, NDArray[Any]]
    ) -> list[NDArray[Any]]:
        """The outputs of these names, or all of them."""
        found = self.start(inputs)
        return [found[name].cpu().numpy() for name in names or self._outputs]

    def start(self, inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
        """All outputs by name, left on the device, which may still be at work on them."""
        values: dict[str, Any] = {}
        with torch.inference_mode():
            for name, given in inputs.items():
                values[name] = torch.as_tensor(given).to(self.device, non_blocking=True)
            for step in self._steps:
                values[step.result] = self._call(step, values)
        return {name: values[name] for name in self._outputs}

    def __reduce__(self) -> tuple[type["TorchSession"], tuple[Path, str]]:
        """Pickled, it is the path of its file, and is opened again where it is unpickled."""
        return TorchSession, (self._path, str(self.device))

    def _read(self) -> Any:
        try:
            return onnx.load(str(self._path)).graph
        except Exception as error:  # protobuf and onnx have no common base for what they raise
            raise ModelError(f"{self._path} cannot be loaded: {error}") from error

    def _folded(self, nodes: Sequence[Any]) -> list[_Step]:
        """The steps that depend on an input; the others are worked out now, on the CPU."""
        left: list[_Step] = []
        shapes: set[str] = set()
        for node in nodes:
            step = self._step(node, shapes)
            if all(name in self._host for name in step.reads):
                given = [
                    _plain(self._host[name]) if n in step.plain else self._host[name]
                    for n, name in enumerate(step.reads)
                ]
                self._host[step.result] = step.operator(*given, **step.attributes)
                continue
            if step.on_host:
                shapes.add(step.result)
            left.append(step)
        return left

    def _step(self, node: Any, shapes: Collection[str]) -> _Step:
        if node.op_type not in OPERATORS:
            raise ModelError(
                f"{self._path} cannot run on {self.device}: its operator {node.op_type} is not "
                "known here; leave out --device, or give --device cpu"
            )
        operator, plain = OPERATORS[node.op_type]
        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        reads = tuple(node.input)
        if node.op_type == _PACKED:
            reads = (reads[0], self._unpacked(reads, attributes))
        known = all(name in self._host or name in shapes for name in reads)
        on_host = known or node.op_type == _SHAPE
        return _Step(operator, reads, plain, node.output[0], attributes, on_host)

    def _unpacked(self, reads: Sequence[str], attributes: Mapping[str, Any]) -> str:
        _, packed, scales = (self._host.get(name) for name in reads)
        name = f"{reads[1]} unpacked"
        self._host[name] = unpacked(packed, scales, **attributes)
        return name

    def _moved(self) -> dict[str, Any]:
        """The constants that steps on the device read, there; only those of other steps stay."""
        read = {
            (name, step.on_host)
            for step in self._steps
            for place, name in enumerate(step.reads)
            if place not in step.plain and name in self._host
        }
        there = {name: _to(self._host[name], self.device) for name, here in read if not here}
        kept = {
            name for step in self._steps for n, name in enumerate(step.reads) if n in step.plain
        }
        kept |= {name for name, here in read if here}
        self._host = {name: value for name, value in self._host.items() if name in kept}
        return there

    def _listed(self) -> dict[str, Any]:
        """The constants that are shapes, axes or bounds, as plain numbers."""
        return {
            name: _plain(self._host[name])
            for step in self._steps
            for place, name in enumerate(step.reads)
            if place in step.plain and name in self._host
        }

    def _call(self, step: _Step, values: Mapping[str, Any]) -> Any:
        given = []
        for place, name in enumerate(step.reads):
            if place in step.plain:
                given.append(self._plain[name] if name in self._plain else _plain(values[name]))
            elif step.on_host:
                given.append(self._host[name] if name in self._host else values[name])
            else:
                there = self._there[name] if name in self._there else values[name]
                given.append(_to(there, self.device))
        return step.operator(*given, **step.attributes)


def _tensor(initializer: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(onnx.numpy_helper.to_array(initializer)))


def _plain(value: torch.Tensor | None) -> Any:
    return None if value is None else value.tolist()


def _to(value: torch.Tensor | None, device: torch.device) -> torch.Tensor | None:
    return None if value is None else value.to(device)
