"""The shipped ONNX graphs on any device of torch, for callers that know onnxruntime's session.

A graph is read as it is written and run operator by operator in float32. What depends on constants
alone, such as weights that are stored in int8, is worked out once, at loading. A graph that was
written for one text takes several; where they are padded to one length, the mask that the graph
makes for itself is replaced by theirs. Needs the extra [hf].
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from histoeval.errors import ModelError

Operator = Callable[..., Tensor]

_TYPES = {1: torch.float32, 3: torch.int8, 6: torch.int32, 7: torch.int64, 9: torch.bool}
"""Types of numbers as ONNX counts them."""


def _reshape(x: Tensor, shape: list[int], *, allowzero: int = 0) -> Tensor:
    """The first axis of a graph that was written for one text or image has room for several."""
    if not allowzero:
        shape = [x.shape[place] if size == 0 else size for place, size in enumerate(shape)]
    if -1 not in shape:
        shape = [shape[0] * (x.numel() // prod(shape)), *shape[1:]] if shape else shape
    elif shape[0] == 1:
        shape = [x.shape[0], *shape[1:]]
    return x.reshape(shape)


def _squeeze(x: Tensor, axes: list[int] | None = None) -> Tensor:
    return x.squeeze() if axes is None else x.squeeze(tuple(axes))


def _unsqueeze(x: Tensor, axes: list[int]) -> Tensor:
    rank = x.dim() + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


def _slice(
    x: Tensor,
    starts: list[int],
    ends: list[int],
    axes: list[int] | None = None,
    steps: list[int] | None = None,
) -> Tensor:
    places: list[slice] = [slice(None)] * x.dim()
    given = zip(starts, ends, axes or range(len(starts)), steps or [1] * len(starts), strict=True)
    for start, end, axis, step in given:
        size = x.shape[axis]
        places[axis] = slice(max(start, -size), min(end, size), step)
    return x[tuple(places)]


def _gather(x: Tensor, places: Tensor, *, axis: int = 0) -> Tensor:
    if axis == 0:
        return x[places]
    found = x.index_select(axis, places.reshape(-1))
    return found.reshape(*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])


def _gather_nd(x: Tensor, places: Tensor, *, batch_dims: int = 0) -> Tensor:
    assert batch_dims == 0, "no graph of ours gathers within batches"
    return x[places.unbind(-1)]


def _concat(*parts: Tensor, axis: int) -> Tensor:
    """Several texts beside what is the same for each of them."""
    count = max(part.shape[0] for part in parts)
    if axis % parts[0].dim():
        parts = tuple(p.expand(count, *p.shape[1:]) if p.shape[0] == 1 else p for p in parts)
    return torch.cat(parts, axis)


def _layer_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    axis: int,
    epsilon: float,
    stash_type: int,  # noqa: ARG001
) -> Tensor:
    assert axis == -1, "our graphs normalise over the last axis"
    return functional.layer_norm(x, x.shape[-1:], weight, bias, epsilon)


def _gemm(
    x: Tensor,
    y: Tensor,
    bias: Tensor,
    *,
    alpha: float,
    beta: float,
    transA: int,  # noqa: N803
    transB: int,  # noqa: N803
) -> Tensor:
    one, other = (x.T if transA else x), (y.T if transB else y)
    return torch.addmm(bias, one, other, beta=beta, alpha=alpha)


def _convolve(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    *,
    strides: list[int],
    kernel_shape: list[int],
    **_: Any,
) -> Tensor:
    """Patches that do not overlap, as a product, which no setting of cuDNN makes less exact."""
    assert strides == kernel_shape, "our graphs cut images into patches that do not overlap"
    height, width = (size // step for size, step in zip(x.shape[2:], strides, strict=True))
    patches = functional.unfold(x, kernel_shape, stride=strides).transpose(1, 2)
    found = functional.linear(patches, weight.flatten(1), bias).transpose(1, 2)
    return found.unflatten(-1, (height, width))


def _pad(x: Tensor, pads: list[int], *, mode: bytes) -> Tensor:
    assert mode == b"constant", "our graphs pad with zeros"
    half = len(pads) // 2
    around = [side for axis in reversed(range(half)) for side in (pads[axis], pads[half + axis])]
    return functional.pad(x, around)


def _cumsum(x: Tensor, axis: int, *, exclusive: int, reverse: int) -> Tensor:
    assert not exclusive, "our graphs count what they are at"
    assert not reverse, "our graphs add from the left"
    return x.cumsum(axis)


def _reduced(work: Callable[..., Tensor]) -> Operator:
    """An operator that works along axes, which it reads as plain numbers."""

    def along(x: Tensor, axes: Sequence[int], *, keepdims: int = 1, **_: int) -> Tensor:
        return work(x, dim=tuple(axes), keepdim=bool(keepdims))

    return along


def _length(x: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor:
    return x.square().sum(dim, keepdim=keepdim).sqrt()


def _divide(x: Tensor, y: Tensor) -> Tensor:
    return x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc")


OPERATORS: dict[str, tuple[Operator, frozenset[int]]] = {
    name: (operator, frozenset(plain))
    for name, operator, plain in [
        ("Add", torch.add, ()),
        ("And", torch.logical_and, ()),
        ("Cast", lambda x, *, to: x.to(_TYPES[to]), ()),
        ("Clip", torch.clamp, (1, 2)),
        ("Concat", _concat, ()),
        ("Conv", _convolve, ()),
        ("CumSum", _cumsum, (1,)),
        ("Div", _divide, ()),
        ("Erf", torch.erf, ()),
        ("Exp", torch.exp, ()),
        ("Expand", lambda x, shape: x.expand(torch.broadcast_shapes(x.shape, tuple(shape))), (1,)),
        ("Gather", _gather, ()),
        ("GatherElements", lambda x, places, *, axis=0: x.gather(axis, places), ()),
        ("GatherND", _gather_nd, ()),
        ("Gemm", _gemm, ()),
        ("GreaterOrEqual", torch.greater_equal, ()),
        ("IsNaN", torch.isnan, ()),
        ("LayerNormalization", _layer_norm, ()),
        ("Log", torch.log, ()),
        ("MatMul", torch.matmul, ()),
        ("Max", lambda *tensors: reduce(torch.maximum, tensors), ()),
        ("Mul", torch.mul, ()),
        ("Neg", torch.neg, ()),
        ("Pad", _pad, (1,)),
        ("Pow", torch.pow, ()),
        ("Range", torch.arange, (0, 1, 2)),
        ("ReduceL2", _reduced(_length), (1,)),
        ("ReduceMax", _reduced(torch.amax), (1,)),
        ("ReduceMean", _reduced(torch.mean), (1,)),
        ("ReduceMin", _reduced(torch.amin), (1,)),
        ("ReduceSum", _reduced(torch.sum), (1,)),
        ("Reshape", _reshape, (1,)),
        ("Shape", lambda x, *, start=0, end=None: torch.tensor(x.shape[start:end]), ()),
        ("Sigmoid", torch.sigmoid, ()),
        ("Slice", _slice, (1, 2, 3, 4)),
        ("Softmax", lambda x, *, axis: x.softmax(axis), ()),
        ("Sqrt", torch.sqrt, ()),
        (
            "Squeeze",
            _squeeze,
            (1,),
        ),
        ("Sub", torch.sub, ()),
        ("Tanh", torch.tanh, ()),
        ("Transpose", lambda x, *, perm: x.permute(perm), ()),
        ("Unsqueeze", _unsqueeze, (1,)),
        ("Where", torch.where, ()),
    ]
}
"""For each operator what computes it, and which of its places hold plain numbers."""


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
