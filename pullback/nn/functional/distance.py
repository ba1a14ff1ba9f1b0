"""Distances and similarities between vectors, bilinear forms and one-hot vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.basics.dtypes import promote_types
from ...core.tape import apply
from ...core.tensor import Tensor
from ...functional.checks import is_known_true, need_tensor
from ...functional.contraction import einsum
from ...functional.index_parsing import largest_unsigned
from ...functional.matmul import linear
from ...functional.operands import common_shape
from ...ops.norms import pair_distances
from ...ops.piecewise import clamp_min_scalar
from ._common import constant, layer_function

__all__ = ["bilinear", "cosine_of_last", "cosine_similarity", "linear", "one_hot", "pairwise_distance", "pdist"]


def in_one_shape(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both expanded to the shape they broadcast to, which comes before their dtype: dims of an operand then count."""
    if a._array.shape == b._array.shape:
        return a, b
    shape = common_shape(a._array.shape, b._array.shape)
    return a.expand(shape), b.expand(shape)


@layer_function()
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between vectors along a dim; lengths below eps count as eps."""
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    a, b = in_one_shape(x1, x2)
    common = promote_types(a.dtype, b.dtype)
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common.type_name}")
    a, b = (x if x.is_floating_point() else x.to(common) for x in (a, b))  # each is divided in its own
    return (_unit(a, dim, eps) * _unit(b, dim, eps)).sum(dim)


def _unit(x: Tensor, dim: int, eps: float) -> Tensor:
    """Vectors divided by their length; the floor of the length takes no part in the gradient."""
    length = x.norm(2, dim, True)
    sizes = length._array
    if type(sizes) is np.ndarray and sizes.size and sizes.item(sizes.argmin()) >= eps:  # no floor is needed
        return x / length
    missing = clamp_min_scalar(length.detach(), minimum=eps, maximum=None) - length.detach()
    return x / (length + missing)


def cosine_of_last(a: Tensor, b: Tensor) -> Tensor:
    """The cosine that `cosine_embedding_loss` uses: 1e-12 added to both squared lengths."""
    product = (a * b).sum(-1)
    squares = ((a * a).sum(-1) + 1e-12) * ((b * b).sum(-1) + 1e-12)
    return product / squares.sqrt()


@layer_function()
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """p-norm of x1 - x2 + eps over the last dim."""
    x1, x2 = need_tensor(x1, "pairwise_distance", "x1"), need_tensor(x2, "pairwise_distance", "x2", 2)
    difference = x1 - x2 + eps
    return difference.norm(p, -1, keepdim)


@layer_function()
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """Distances between all pairs of rows, the pair (i, j) with i < j in the order of i, then j."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if input._array.dtype.kind not in "fV":
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if input.shape[0] < 2:
        return input[:0].sum(1)
    return apply(pair_distances, (input,), {"order": p})


@layer_function(autocast="as given")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1 @ weight[k] @ input2 for each output k, plus bias."""
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for i, (a, b) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if a != b:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {a} and {b}")
    for name, value, axis in (("input1", input1, 1), ("input2", input2, 2)):
        if value.shape[-1] != weight.shape[axis]:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {value.shape[-1]} but expected "
                f"{weight.shape[axis]}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
    out = einsum("...i,kij,...j->...k", input1, weight, input2).contiguous()
    return out if bias is None else out + bias


@layer_function(compiled=True)
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A new last dim with 1 at the position each class number names, 0 elsewhere."""
    array: Any = need_tensor(tensor, "one_hot")._array
    if array.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if array.size == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return constant(np.zeros((*array.shape, num_classes), np.int64))
    if type(array) is not np.ndarray or num_classes < 1 or largest_unsigned(array) >= num_classes:
        if is_known_true(array.min() < 0):
            raise RuntimeError("Class values must be non-negative.")
        if num_classes == -1:
            num_classes = int(array.max()) + 1
        elif is_known_true(array.max() >= num_classes):
            raise RuntimeError("Class values must be smaller than num_classes.")
    if type(array) is not np.ndarray:
        return constant((array[..., None] == np.arange(num_classes)).astype(np.int64, order="C"))
    out = np.zeros((*array.shape, num_classes), np.int64)
    out.reshape(-1)[np.arange(0, out.size, num_classes) + array.reshape(-1)] = 1
    return constant(out)
