"""The shipped ONNX graphs on any device of torch, for callers that know onnxruntime's session.

A graph is read as it is written and run operator by operator in float32. What depends on constants
alone, such as weights that are stored in int8, is worked out once, at loading. A graph that was
written for one text takes several; where they are padded to one length, the mask that the graph
makes for itself is replaced by theirs. Needs the extra [hf].
"""

from collections.abc import Callable, Mapping, Sequence
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
# types of numbers as ONNX counts them
_TYPES = {1: torch.float32, 3: torch.int8, 6: torch.int32, 7: torch.int64, 9: torch.bool}


def _reshape(x: Tensor, shape: list[int], *, allowzero: int = 0) -> Tensor:
    """Reshape; a first axis that was fixed at one text or image takes several."""
    if not allowzero:
        shape = [x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)]
    if -1 not in shape:
        shape = [shape[0] * (x.numel() // prod(shape)), *shape[1:]] if shape else shape
    elif shape[0] == 1:
        shape = [x.shape[0], *shape[1:]]
    return x.reshape(shape)


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
    slices: list[slice] = [slice(None)] * x.dim()
    cuts = zip(starts, ends, axes or range(len(starts)), steps or [1] * len(starts), strict=True)
    for start, end, axis, step in cuts:
        size = x.shape[axis]
        slices[axis] = slice(max(start, -size), min(end, size), step)
    return x[tuple(slices)]


def _gather(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    if axis == 0:
        return x[indices]
    rows = x.index_select(axis, indices.reshape(-1))
    return rows.reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])


def _gather_nd(x: Tensor, indices: Tensor, *, batch_dims: int = 0) -> Tensor:
    assert batch_dims == 0, "no graph of ours gathers within batches"
    return x[indices.unbind(-1)]


def _concat(*parts: Tensor, axis: int) -> Tensor:
    """Concatenate; a constant of one row is repeated for several texts."""
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
    first, second = (x.T if transA else x), (y.T if transB else y)
    return torch.addmm(bias, first, second, beta=beta, alpha=alpha)


def _convolve(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    *,
    strides: list[int],
    kernel_shape: list[int],
    **_: Any,
) -> Tensor:
    """Convolve patches that do not overlap, as a product, whose precision cuDNN cannot lower."""
    assert strides == kernel_shape, "our graphs cut images into patches that do not overlap"
    height, width = (size // step for size, step in zip(x.shape[2:], strides, strict=True))
    patches = functional.unfold(x, kernel_shape, stride=strides).transpose(1, 2)
    product = functional.linear(patches, weight.flatten(1), bias).transpose(1, 2)
    return product.unflatten(-1, (height, width))


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

    def along(x: Tensor, axes: Sequence[int], *, keepdims: int = 1, **_: int) -> Tensor:
        return work(x, dim=tuple(axes), keepdim=bool(keepdims))

    return along


def _divide(x: Tensor, y: Tensor) -> Tensor:
    return x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc")


# for each operator what computes it, and which of its places hold plain numbers
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
        ("GatherElements", lambda x, indices, *, axis=0: x.gather(axis, indices), ()),
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
        (
            "ReduceL2",
            _reduced(lambda x, dim, keepdim: x.square().sum(dim, keepdim=keepdim).sqrt()),
            (1,),
        ),
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
        ("Squeeze", lambda x, axes=None: x.squeeze(tuple(axes or range(x.dim()))), (1,)),
        ("Sub", torch.sub, ()),
        ("Tanh", torch.tanh, ()),
        ("Transpose", lambda x, *, perm: x.permute(perm), ()),
        ("Unsqueeze", _unsqueeze, (1,)),
        ("Where", torch.where, ()),
    ]
}


_MASK = "ones_like"  # what the exporter calls the mask of a text without padding


class _Step(NamedTuple):
    """One operator of a graph and its arguments: constants, with gaps for other results."""

    result: str
    operator: Operator
    given: list[Any]
    # place, the result that fills it, and how that is made plain or brought to the device
    gaps: list[tuple[int, str, Callable[[Any], Any]]]


class TorchSession:
    """A graph with the `run` of onnxruntime's session, on a device of torch."""

    def __init__(self, path: Path, device: str) -> None:
        self.device = torch.device(device)
        self._path = path
        try:
            graph = onnx.load(str(path)).graph
        except Exception as error:  # protobuf and onnx have no common base for what they raise
            raise ModelError(f"{path} cannot be loaded: {error}") from error
        self._outputs = [output.name for output in graph.output]
        constants: dict[str, Any] = {
            tensor.name: torch.from_numpy(np.array(onnx.numpy_helper.to_array(tensor)))
            for tensor in graph.initializer
        }
        with torch.inference_mode():
            self._steps = self._planned(graph.node, constants | {"": None})
        self._spent = self._last_read()
        scores = {node.input[0] for node in graph.node if node.op_type == "Softmax"}
        biases = {node.input[1] for node in graph.node if node.output[0] in scores}
        # the name of what is added before each softmax
        self._bias = biases.pop() if len(biases) == 1 else ""

    def __reduce__(self) -> tuple[type["TorchSession"], tuple[Path, str]]:
        """Pickle the path of the file, which is opened again on unpickling."""
        return TorchSession, (self._path, str(self.device))

    def run(
        self, names: Sequence[str] | None, inputs: Mapping[str, NDArray[Any]]
    ) -> list[NDArray[Any]]:
        outputs = self.start(inputs)
        return [outputs[name].cpu().numpy() for name in names or self._outputs]

    def start(
        self, inputs: Mapping[str, Any], lengths: Sequence[int] | None = None
    ) -> dict[str, torch.Tensor]:
        """Return all outputs by name, left on the device, which may still be computing them.

        Args:
            inputs: by name; rows of tokens may be padded at their ends.
            lengths: how many tokens of each row are no padding; all where left out.
        """
        values: dict[str, Any] = {}
        with torch.inference_mode():
            for name, array in inputs.items():
                values[name] = torch.as_tensor(array).to(self.device, non_blocking=True)
            if lengths is not None and min(lengths) < max(lengths):
                values |= self._masks(lengths)
            masks = values.keys() - inputs.keys()
            for step, unneeded in zip(self._steps, self._spent, strict=True):
                if step.result not in masks:
                    arguments = step.given.copy()
                    for index, name, convert in step.gaps:
                        arguments[index] = convert(values[name])
                    values[step.result] = step.operator(*arguments)
                for name in unneeded:
                    del values[name]
        return {name: values[name] for name in self._outputs}

    def _masks(self, lengths: Sequence[int]) -> dict[str, torch.Tensor]:
        if not self._bias:
            raise ModelError(f"{self._path} has no mask that is known here: it takes no padding")
        row_lengths = torch.tensor(lengths)
        mask = torch.arange(int(row_lengths.max())) < row_lengths[:, None]
        bias = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)[:, None, None]
        return {_MASK: mask.long(), self._bias: bias.to(self.device, non_blocking=True)}

    def _planned(self, nodes: Sequence[Any], constants: dict[str, Any]) -> list[_Step]:
        """Return the steps that depend on an input; the others are computed now, on the CPU.

        What reads only shapes and constants is done on the host, so that no device is asked.
        """
        steps: list[_Step] = []
        on_host = {*constants}
        for node in nodes:
            if node.op_type not in OPERATORS:
                raise ModelError(
                    f"{self._path} cannot run on {self.device}: its operator {node.op_type} is not "
                    "known here; leave out --device, or give --device cpu"
                )
            operator, plain = OPERATORS[node.op_type]
            settings = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            operator, result = partial(operator, **settings), node.output[0]
            is_constant = all(name in constants for name in node.input)
            is_on_host = node.op_type == "Shape" or all(name in on_host for name in node.input)
            step = _Step(result, operator, [], [])
            for index, name in enumerate(node.input):
                convert = _unchanged
                if index in plain:
                    convert = _plain
                elif name in on_host and not is_on_host:
                    convert = self._to_device
                step.given.append(convert(constants.get(name)))
                if name not in constants:
                    step.gaps.append((index, name, convert))
            if is_constant:
                constants[result] = operator(*step.given)
            else:
                steps.append(step)
            if is_on_host:
                on_host.add(result)
        return steps

    def _to_device(self, value: torch.Tensor | None) -> torch.Tensor | None:
        return None if value is None else value.to(self.device)

    def _last_read(self) -> list[list[str]]:
        needed = {*self._outputs}
        unneeded = []
        for step in reversed(self._steps):
            last_reads = {step.result, *(name for _, name, _ in step.gaps)} - needed
            needed |= last_reads
            unneeded.append(sorted(last_reads))
        return unneeded[::-1]


def _plain(value: torch.Tensor | None) -> Any:
    return None if value is None else value.tolist()


def _unchanged(value: Any) -> Any:
    return value
