"""The operators of the shipped ONNX graphs, as torch computes them in float32.

Each takes what the operator of that name reads, in its order, and its attributes by name. Places
that are named in `OPERATORS` hold shapes, axes or bounds and come as plain numbers.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

Operator = Callable[..., Tensor]

_TYPES = {1: torch.float32, 3: torch.int8, 6: torch.int32, 7: torch.int64, 9: torch.bool}
"""Types of numbers as ONNX counts them."""


def _cast(x: Tensor, *, to: int) -> Tensor:
    return x.to(_TYPES[to])


def _reshape(x: Tensor, shape: list[int], *, allowzero: int = 0) -> Tensor:
    """The first axis of a graph that was written for one text or image has room for several."""
    if not allowzero:
        shape = [x.shape[place] if size == 0 else size for place, size in enumerate(shape)]
    if -1 not in shape:
        shape = [shape[0] * (x.numel() // prod(shape)), *shape[1:]] if shape else shape
    elif shape[0] == 1:
        shape = [x.shape[0], *shape[1:]]
    return x.reshape(shape)


def _shape(x: Tensor, *, start: int = 0, end: int | None = None) -> Tensor:
    return torch.tensor(x.shape[start:end])


def _expand(x: Tensor, shape: list[int]) -> Tensor:
    return x.expand(torch.broadcast_shapes(x.shape, tuple(shape)))


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


def _gather_elements(x: Tensor, places: Tensor, *, axis: int = 0) -> Tensor:
    return x.gather(axis, places)


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


def _range(start: int, limit: int, step: int) -> Tensor:
    return torch.arange(start, limit, step)


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


def _clip(x: Tensor, least: float | None = None, most: float | None = None) -> Tensor:
    return x.clamp(least, most)


def _transpose(x: Tensor, *, perm: list[int]) -> Tensor:
    return x.permute(perm)


def _softmax(x: Tensor, *, axis: int) -> Tensor:
    return x.softmax(axis)


def _largest(*given: Tensor) -> Tensor:
    return reduce(torch.maximum, given)


OPERATORS: dict[str, tuple[Operator, frozenset[int]]] = {
    name: (operator, frozenset(plain))
    for name, operator, plain in [
        ("Add", torch.add, ()),
        ("And", torch.logical_and, ()),
        ("Cast", _cast, ()),
        ("Clip", _clip, (1, 2)),
        ("Concat", _concat, ()),
        ("Conv", _convolve, ()),
        ("CumSum", _cumsum, (1,)),
        ("Div", _divide, ()),
        ("Erf", torch.erf, ()),
        ("Exp", torch.exp, ()),
        ("Expand", _expand, (1,)),
        ("Gather", _gather, ()),
        ("GatherElements", _gather_elements, ()),
        ("GatherND", _gather_nd, ()),
        ("Gemm", _gemm, ()),
        ("GreaterOrEqual", torch.greater_equal, ()),
        ("IsNaN", torch.isnan, ()),
        ("LayerNormalization", _layer_norm, ()),
        ("Log", torch.log, ()),
        ("MatMul", torch.matmul, ()),
        ("Max", _largest, ()),
        ("Mul", torch.mul, ()),
        ("Neg", torch.neg, ()),
        ("Pad", _pad, (1,)),
        ("Pow", torch.pow, ()),
        ("Range", _range, (0, 1, 2)),
        ("ReduceL2", _reduced(_length), (1,)),
        ("ReduceMax", _reduced(torch.amax), (1,)),
        ("ReduceMean", _reduced(torch.mean), (1,)),
        ("ReduceMin", _reduced(torch.amin), (1,)),
        ("ReduceSum", _reduced(torch.sum), (1,)),
        ("Reshape", _reshape, (1,)),
        ("Shape", _shape, ()),
        ("Sigmoid", torch.sigmoid, ()),
        ("Slice", _slice, (1, 2, 3, 4)),
        ("Softmax", _softmax, ()),
        ("Sqrt", torch.sqrt, ()),
        ("Squeeze", _squeeze, (1,)),
        ("Sub", torch.sub, ()),
        ("Tanh", torch.tanh, ()),
        ("Transpose", _transpose, ()),
        ("Unsqueeze", _unsqueeze, (1,)),
        ("Where", torch.where, ()),
    ]
}
"""For each operator what computes it, and which of its places hold plain numbers."""
