"""Batching rules of operations that move axes, and of products.

A rule for a batch is the operation itself with other parameters: the batch axis is axis 0, so an axis counts one more, a
shape begins with the number of examples, an index with a full slice.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...core import seams
from ...core.op import conjugate
from .batched import multiply, raw
from .batching_rules import (
    Rule,
    align_axes,
    batch_elementwise,
    example_by_example,
    is_tensor,
    ndim_of,
    with_batch_axes,
    with_batch_axis,
)

if TYPE_CHECKING:
    from ...core.basics.types import Array, Axis, Params, Result
    from ...core.op import Op

_ALL = slice(None)


# --- parameters of one array ---


def rule_for_parameters(**kinds: str) -> Rule:
    """The rule for one array with these parameters: an 'axis' (or several), a 'shape', an 'index', or a 'zero' per axis."""

    def rule(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
        changed = {
            name: _shift_parameter(value, kinds[name], size) if name in kinds else value
            for name, value in params.items()
        }
        value = values[0]
        return op.forward(value, **changed) if type(value) is np.ndarray else op(value, **changed)

    return rule


def rule_for_axes(**axes: str) -> Rule:
    """The rule for one array and the axes in these parameters: all others are treated alike, and the batch is one more."""
    shifted = rule_for_parameters(**axes)

    def rule(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
        ndim = ndim_of(values[0], True)
        known = all(_is_inside(params.get(name), ndim) for name in axes)
        return (shifted if known else example_by_example)(op, values, flags, params, size)

    return rule


def _is_inside(axis: Axis, ndim: int) -> bool:
    """True if an axis, or each of a tuple of axes, is a number from 0 to ndim - 1; False for None, which means all axes."""
    return isinstance(axis, int) and 0 <= axis < ndim or isinstance(axis, tuple) and all(0 <= a < ndim for a in axis)


def _shift_parameter(value: Array, kind: str, size: int) -> Array:
    if kind == "axis":
        return value + 1 if isinstance(value, int) else tuple([axis + 1 for axis in value])
    return (_ALL if kind == "index" else size if kind == "shape" else int(kind == "one"), *value)


def batch_reshape(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    (value,) = values
    shape = (size, *params["shape"])
    if is_tensor(value):
        return seams.reshape_tensor(value, shape)
    return op.forward(value, shape=shape) if type(value) is np.ndarray else op(value, shape=shape)


def batch_permute(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    axes = (0, *[axis + 1 for axis in params["axes"]])
    return op.forward(values[0], axes=axes) if type(values[0]) is np.ndarray else op(values[0], axes=axes)


def batch_expand(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    shape = params["shape"]
    return op(align_axes(values[0], True, len(shape)), shape=(size, *shape))


def batch_repeat(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    repeats = params["repeats"]
    return op(align_axes(values[0], True, len(repeats)), repeats=(1, *repeats))


def batch_several_along_axis(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Join several arrays along an axis: all of them need the batch axis."""
    full = with_batch_axes(values, flags, size)
    return op(*full, **{**params, "axis": params["axis"] + 1})


def batch_replace_slice(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Replace a slice of an array: of the region that the index takes, the examples are the first axis."""
    index = (_ALL, *params["index"])
    x = with_batch_axis(values[0], flags[0], size)
    region = np.broadcast_to(0, raw(x).shape)[(*index, ...)].ndim - 1
    return op(x, align_axes(values[1], flags[1], region), index=index)


def batch_block_diagonal(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Put matrices along the diagonal of one: each with zeros beside it, one below the other."""
    from ...ops.rearranging import pad

    full = with_batch_axes(values, flags, size)
    widths = [raw(value).shape[2] for value in full]
    rows = [
        pad(value, before=(0, 0, sum(widths[:number])), after=(0, 0, sum(widths[number + 1 :])), value=0)
        for number, value in enumerate(full)
    ]
    return np.concatenate(rows, axis=1)


def batch_median(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """The median of all elements of an example is one along an axis, for plain arrays; others have other gradients at ties."""
    from ...ops import sorting, statistics

    count = math.prod(raw(values[0]).shape[1:])
    if type(values[0]) is not np.ndarray or not count:
        return example_by_example(op, values, flags, params, size)
    along_axis = sorting.median if op is statistics.median_of_all else sorting.nanmedian
    return along_axis.forward(values[0].reshape(size, count), axis=1, keepdims=False)[0]


def batch_replace_diagonal(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    full = with_batch_axes(values, flags, size)
    changed = {**params, "axis1": params["axis1"] + 1, "axis2": params["axis2"] + 1}
    return op(*full, **changed)


def batch_unchanged(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Run the operation as it is: no parameter counts axes from the front, or only the last axes matter."""
    (value,) = values
    return op.forward(value, **params) if type(value) is np.ndarray else op(value, **params)


def batch_matrices(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Run the operation on two operands whose axes before the last two broadcast."""
    ndim = max(ndim_of(value, flag) for value, flag in zip(values, flags, strict=True))
    full = with_batch_axes(values, flags, size)
    return op(*[align_axes(value, True, ndim) for value in full], **params)


def batch_matrix_and_vector(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Run the operation on a matrix and a vector, which has one axis less."""
    if ndim_of(values[0], flags[0]) != ndim_of(values[1], flags[1]) + 1:
        return example_by_example(op, values, flags, params, size)
    return op(*with_batch_axes(values, flags, size), **params)


def batch_fill_all(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Fill whole arrays with one number for each example."""
    x, value = values
    if not flags[1]:
        return op(x, value, **params)
    shape = tuple(raw(x).shape[int(flags[0]) :])
    return np.broadcast_to(align_axes(value, True, len(shape)), (size, *shape))


# --- products ---


def product_with_batch_axis(a: Array, a_flag: bool, b: Array, b_flag: bool) -> Array:
    """`a @ b` with the batch axis in front."""
    if type(a) is np.ndarray is type(b) and a.ndim == b.ndim == 2 and a_flag != b_flag:
        return a.dot(b) if a_flag else b.dot(a.T)  # one matrix for a batch of vectors
    a_ndim, b_ndim = ndim_of(a, a_flag), ndim_of(b, b_flag)
    if a_ndim == 1 and b_ndim == 1:
        if a_flag and b_flag:
            return np.sum(a * b, axis=-1)
        return np.matmul(a, b) if a_flag else np.matmul(b, a)
    if b_ndim == 1:
        if not b_flag:
            return np.matmul(a, b)
        if not a_flag and a_ndim == 2:
            return np.matmul(b, np.swapaxes(a, 0, 1))
        return np.matmul(a, b[..., None] if a_ndim == 2 else _as_column(b, a_ndim))[..., 0]
    if a_ndim == 1:
        if not a_flag:
            return np.matmul(a, b)
        if not b_flag and b_ndim == 2:
            return np.matmul(a, b)
        return np.matmul(np.reshape(a, (raw(a).shape[0],) + (1,) * (b_ndim - 1) + (raw(a).shape[1],)), b)[..., 0, :]
    if a_flag and not b_flag and b_ndim == 2:
        shape = tuple(raw(a).shape)
        return np.reshape(
            np.matmul(np.reshape(a, (math.prod(shape[:-1]), shape[-1])), b), (*shape[:-1], raw(b).shape[-1])
        )
    if a_flag and b_flag and a_ndim == 2 == b_ndim and raw(a).shape[-1] == 1:
        return multiply(a, b)  # outer products
    if not a_flag and a_ndim == 2 and b_ndim == 2 and raw(b).shape[-1] == 1:
        return np.matmul(b[..., 0], np.swapaxes(a, 0, 1))[..., None]
    ndim = max(a_ndim, b_ndim)
    return np.matmul(align_axes(a, a_flag, ndim), align_axes(b, b_flag, ndim))


def _as_column(b: Array, ndim: int) -> Array:
    shape = tuple(raw(b).shape)
    return np.reshape(b, (shape[0],) + (1,) * (ndim - 2) + (shape[1], 1))


def batch_matmul(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Matrix products of every kind."""
    return product_with_batch_axis(values[0], flags[0], values[1], flags[1])


def batch_times_transposed(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    return product_with_batch_axis(values[0], flags[0], np.swapaxes(values[1], -1, -2), flags[1])


def batch_transposed_times(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    return product_with_batch_axis(np.swapaxes(values[0], -1, -2), flags[0], values[1], flags[1])


def batch_vdot(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    return product_with_batch_axis(conjugate(values[0]), flags[0], values[1], flags[1])


def batch_add_product(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """beta * x + alpha * (a @ b)."""
    x, a, b = values
    own = flags[1] or flags[2]  # each example has a product of its own
    result = product_with_batch_axis(a, flags[1], b, flags[2]) if own else np.matmul(a, b)
    if params["alpha"] != 1:
        result = result * params["alpha"]
    if params["beta"] == 0:
        return with_batch_axis(result, own, size)
    x = align_axes(x, flags[0], ndim_of(result, own))
    return result + (x if params["beta"] == 1 else x * params["beta"])


def batch_add_products(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """beta * x + alpha * (the sum of the products a[i] @ b[i], or of the outer product of two vectors)."""
    x, a, b = with_batch_axes(values, flags, size)
    if raw(a).dtype.kind == "b":
        return example_by_example(op, values, flags, params, size)
    result = np.sum(np.matmul(a, b), axis=1) if ndim_of(a, True) == 3 else a[:, :, None] * b[:, None, :]
    result = result if params["alpha"] == 1 else result * params["alpha"]
    if params["beta"] == 0:
        return result
    x = align_axes(x, True, 2)
    return result + (x if params["beta"] == 1 else x * params["beta"])


def batch_trace(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    from ...ops.shape import diagonal

    return np.sum(diagonal(values[0], offset=0, axis1=1, axis2=2), axis=1)


def batch_distance(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Take the norm of all elements of a difference."""
    from ...ops.norms import vector_norm

    ndim = max(ndim_of(value, flag) for value, flag in zip(values, flags, strict=True))
    if not ndim:
        return example_by_example(op, values, flags, params, size)
    a, b = (align_axes(value, flag, ndim) for value, flag in zip(values, flags, strict=True))
    return vector_norm(a - b, order=params["order"], axis=tuple(range(1, ndim + 1)), keepdims=False)


def batch_pseudo_inverse(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    single = not np.ndim(params["atol"]) and not np.ndim(params["rtol"])
    return (batch_unchanged if single else example_by_example)(op, values, flags, params, size)


def batch_linear(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """x @ weight.T (+ bias)."""
    x, weight = values[:2]
    if not any(flags[1:]):
        return op(*values)
    weight_ndim = ndim_of(weight, flags[1])
    if weight_ndim == 2:
        transposed = np.swapaxes(weight, -1, -2)
        if ndim_of(x, flags[0]) == 1 and flags[0] and flags[1]:
            result = np.matmul(weight, x[..., None])[..., 0]
        else:
            result = (
                product_with_batch_axis(x, flags[0], transposed, flags[1])
                if flags[0] or flags[1]
                else np.matmul(x, transposed)[None]
            )
    else:
        ndim = ndim_of(x, flags[0])
        result = np.sum(x * align_axes(weight, flags[1], ndim), axis=-1)
        result = result if flags[0] or flags[1] else result[None]
    if len(values) < 3:
        return result
    return result + align_axes(values[2], flags[2], ndim_of(result, True))


def batch_contraction(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    left, right, out = params["labels"]
    taken, number = {*left, *right, *out}, 0
    while ("batch", number) in taken:  # a pass over the record of another batched one
        number += 1
    label = ("batch", number)
    return op(
        *values,
        labels=((label, *left) if flags[0] else left, (label, *right) if flags[1] else right, (label, *out)),
    )


def batch_masked_fill(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Put a value where a mask is set. The operation takes one value for all, so a batch of values goes by `where`."""
    if not flags[2]:
        return batch_elementwise(op, values, flags, params, size)
    ndim = max(ndim_of(value, flag) for value, flag in zip(values[:2], flags[:2], strict=True))
    x, mask, value = (align_axes(value, flag, ndim) for value, flag in zip(values, flags, strict=True))
    return np.where(mask, value, x)


_along_axis, _window = rule_for_axes(axis="axis"), rule_for_parameters(axis="axis", shape="shape")


def batch_windows(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Take windows along an axis; a number has none, and its examples go one by one."""
    return (_along_axis if ndim_of(values[0], True) else example_by_example)(op, values, flags, params, size)


def batch_join_windows(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Add windows into one array, the transpose of taking them."""
    return (_window if params["shape"] else example_by_example)(op, values, flags, params, size)


def batch_copy_into(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Write values to all of an array."""
    x, source = values
    return op(with_batch_axis(x, flags[0], size), align_axes(source, flags[1], ndim_of(x, flags[0])))
