"""The shipped ONNX graphs on any device of torch, for callers that know onnxruntime's session.

A graph is read as it is written and run operator by operator in float32. What depends on constants
alone, such as weights that are stored in int8, is worked out once, at loading. A graph that was
written for one text takes several; where they are padded to one length, the mask that the graph
makes for itself is replaced by theirs. Needs the extra [hf].
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from numpy.typing import NDArray

from histoeval.errors import ModelError
from histoeval.runtime.torch_operators import OPERATORS, Operator

_SHAPE = "Shape"

_SOFTMAX = OPERATORS["Softmax"][0]

_MASK = "ones_like"
"""What the exporter calls the mask of a text without padding."""


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


class _Planned(NamedTuple):
    """A step as it is run: what it reads, but for the gaps, which hold results of other steps."""

    result: str
    operator: Operator
    given: list[Any]
    gaps: list[tuple[int, str, Callable[[Any], Any] | None]]
    """Its place, whose result it is, and how that is made plain or brought to the device."""
    spent: list[str]
    """What no later step reads."""


class TorchSession:
    """A graph with the `run` of onnxruntime's session, on a device of torch."""

    def __init__(self, path: Path, device: str) -> None:
        self.device = torch.device(device)
        self._path = path
        graph = self._read()
        self._outputs = [output.name for output in graph.output]
        self._constants: dict[str, Any] = {each.name: _tensor(each) for each in graph.initializer}
        self._constants[""] = None
        with torch.inference_mode():
            self._steps = self._folded(graph.node)
        self._plans = self._planned()
        self._bias = self._attention_bias()
        del self._constants, self._steps

    def run(
        self, names: Sequence[str] | None, inputs: Mapping[str, NDArray[Any]]
    ) -> list[NDArray[Any]]:
        """The outputs of these names, or all of them."""
        found = self.start(inputs)
        return [found[name].cpu().numpy() for name in names or self._outputs]

    def start(
        self, inputs: Mapping[str, Any], lengths: Sequence[int] | None = None
    ) -> dict[str, torch.Tensor]:
        """All outputs by name, left on the device, which may still be at work on them.

        Args:
            inputs: by name; rows of tokens may be padded at their ends.
            lengths: how many tokens of each row are no padding; all where left out.
        """
        values: dict[str, Any] = {}
        with torch.inference_mode():
            for name, given in inputs.items():
                values[name] = torch.as_tensor(given).to(self.device, non_blocking=True)
            if lengths is not None and min(lengths) < max(lengths):
                values |= self._masks(lengths)
            masks = values.keys() - inputs.keys()
            for result, operator, constants, gaps, spent in self._plans:
                if result not in masks:
                    given = constants.copy()
                    for place, name, convert in gaps:
                        value = values[name]
                        given[place] = value if convert is None else convert(value)
                    values[result] = operator(*given)
                for name in spent:
                    del values[name]
        return {name: values[name] for name in self._outputs}

    def _masks(self, lengths: Sequence[int]) -> dict[str, torch.Tensor]:
        """Which tokens are no padding, as the graph counts them and as attention adds it."""
        if not self._bias:
            raise ModelError(f"{self._path} has no mask that is known here: it takes no padding")
        ends = torch.tensor(lengths)
        mask = torch.arange(int(ends.max())) < ends[:, None]
        bias = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)[:, None, None]
        moved = [mask.long(), bias.to(self.device, non_blocking=True)]
        return dict(zip((_MASK, self._bias), moved, strict=True))

    def _attention_bias(self) -> str:
        """The name of what is added before each softmax."""
        scores = {step.reads[0] for step in self._steps if step.operator is _SOFTMAX}
        names = {step.reads[1] for step in self._steps if step.result in scores}
        return names.pop() if len(names) == 1 else ""

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
            if all(name in self._constants for name in step.reads):
                given = [
                    _plain(self._constants[name]) if n in step.plain else self._constants[name]
                    for n, name in enumerate(step.reads)
                ]
                self._constants[step.result] = step.operator(*given, **step.attributes)
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
        known = all(name in self._constants or name in shapes for name in reads)
        on_host = known or node.op_type == _SHAPE
        return _Step(operator, reads, plain, node.output[0], attributes, on_host)

    def _planned(self) -> list[_Planned]:
        """Each step with the constants that it reads: plain numbers, or tensors where it works."""
        on_host = {step.result for step in self._steps if step.on_host} | self._constants.keys()
        needed = {*self._outputs, *self._constants}
        plans = []
        for step in reversed(self._steps):
            spent = {step.result, *step.reads} - needed
            needed |= spent
            plans.append(self._plan(step, on_host, sorted(spent)))
        return plans[::-1]

    def _plan(self, step: _Step, on_host: Collection[str], spent: list[str]) -> _Planned:
        given: list[Any] = []
        gaps = []
        for place, name in enumerate(step.reads):
            convert = self._conversion(step, place, name in on_host)
            value = self._constants.get(name)
            given.append(value if convert is None else convert(value))
            if name not in self._constants:
                gaps.append((place, name, convert))
        operator = partial(step.operator, **step.attributes)
        return _Planned(step.result, operator, given, gaps, spent)

    def _conversion(self, step: _Step, place: int, on_host: bool) -> Callable[[Any], Any] | None:
        """What is to be done with a value before a step can read it."""
        if place in step.plain:
            return _plain
        return partial(_to, device=self.device) if on_host and not step.on_host else None


def _tensor(initializer: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(onnx.numpy_helper.to_array(initializer)))


def _plain(value: torch.Tensor | None) -> Any:
    return None if value is None else value.tolist()


def _to(value: torch.Tensor | None, device: torch.device) -> torch.Tensor | None:
    return None if value is None else value.to(device)
