"""Reducing elements into places: scatter_reduce and index_reduce with sum, prod, mean, amax and amin.

One index for each element of the source, as in `scatter.py`. The rules share a cotangent equally among elements that
tie for the largest or smallest, as torch's do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import seams
from ..core.kernel import kernel
from ..core.op import Op, op
from ..core.tensor import Tensor
from ..kernels.groups import accumulate
from ..kernels.like import NUMPYS, brought, combine_at, copy, full, is_elsewhere
from ..kernels.places import all_places, whole_slices
from .layouts import SAME, SCATTERED
from .samples import Draw, Sample
from .scatter import cut_to_index, gather, places_of, scatter_zero, spread

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array

_UFUNCS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _identity(reduce: str, kind: np.dtype) -> float:
    if reduce == "prod":
        return 1
    if reduce in ("sum", "mean"):
        return 0
    largest = reduce == "amin"
    if kind.kind == "b":
        return largest
    if kind.kind in "iu":
        return np.iinfo(kind).max if largest else np.iinfo(kind).min
    return np.inf if largest else -np.inf


def _reduced(x: Array, index: Array, src: Array, axis: int, reduce: str, include_self: bool) -> Array:
    out = copy(x, "C")
    row = np.reshape(out, -1)
    index = brought(index, out)
    places, values = np.reshape(places_of(index, x.shape, axis), -1), np.reshape(cut_to_index(src, index), -1)
    if not include_self:
        row[places] = _identity(reduce, out.dtype)
    combine_at(_UFUNCS[reduce], row, places, values.astype(out.dtype))
    if reduce == "mean":
        numbers = np.maximum(np.bincount(places, minlength=out.size) + include_self, 1)
        numbers = np.reshape(numbers, out.shape).astype(out.real.dtype if out.dtype.kind in "fc" else out.dtype)
        out = out // numbers if out.dtype.kind in "iub" else out / numbers
    return out


def _fast_reduced(x: Array, index: Array, src: Array, axis: int, reduce: str, include_self: bool) -> Array:
    shape, kind = x.shape, x.dtype
    x, index, src = np.atleast_1d(x), np.atleast_1d(index), np.atleast_1d(src)
    half = kind.kind == "V" or kind.char == "e"
    out = np.array(x, np.float32 if half else None, order="C")
    values = src[tuple(map(slice, index.shape))]
    target, slices = out, whole_slices(index, out.shape, axis)
    if slices is None:  # elements have places of their own, in the array as one row
        slices = all_places(index, out.shape, axis)
        target, values, axis = out.reshape(-1), values.reshape(-1), 0
    if not include_self:
        target[(*(slice(None),) * axis, slices)] = _identity(reduce, out.dtype)
    accumulate(_UFUNCS[reduce], target, slices, values, axis, fresh=not include_self)
    if reduce == "mean":
        numbers = np.maximum(np.bincount(slices, minlength=target.shape[axis]) + include_self, 1)
        numbers = numbers.astype(out.real.dtype if out.dtype.kind in "fc" else out.dtype)
        numbers = numbers.reshape(-1, *(1,) * (target.ndim - axis - 1))
        target[...] = target // numbers if out.dtype.kind in "iub" else target / numbers
    return out.astype(kind, copy=False).reshape(shape)


def _count(x: Array, index: Array, axis: int, include_self: bool) -> Array:
    """How many elements go to each place, in the dtype of x and at least 1."""
    one = full(index.shape, 1, x)
    return np.maximum(spread(one, index, shape=x.shape, axis=axis) + include_self, 1)


count: Op = op("ScatterReduceBackward0", _count, x=None, index=None, batch=SCATTERED, aten="scatter_reduce.two")


def _rule(
    g: Array,
    needs: tuple[bool, ...],
    x: Array,
    index: Array,
    src: Array,
    out: Array,
    axis: int,
    reduce: str,
    include_self: bool,
) -> tuple[Array | None, ...]:
    if reduce == "prod":
        for_x, for_src = _product_rule(g, x, index, src, out, axis, include_self)
    elif reduce in ("sum", "mean"):
        for_x = g if reduce == "sum" else g / count(x, index, axis=axis, include_self=include_self)
        for_src = gather(for_x, index, axis=axis)
    else:
        for_x, for_src = _extreme_rule(g, x, index, src, out, axis)
    if not include_self:
        for_x = scatter_zero(for_x, index, axis=axis)
    return for_x, None, _full(for_src, src)


def _full(for_src: Array, src: Array) -> Array:
    if tuple(for_src.shape) == tuple(src.shape):
        return for_src
    from .rearranging import pad

    after = tuple(n - m for n, m in zip(src.shape, for_src.shape, strict=True))
    return pad(for_src, before=(0,) * len(after), after=after, value=0)


def _extreme_rule(g: Array, x: Array, index: Array, src: Array, out: Array, axis: int) -> tuple[Array, Array]:
    src = cut_to_index(src, index)
    mine = x == out
    theirs = src == gather(out, index, axis=axis)
    tied = tie_count(g, mine, theirs, index, axis=axis)
    share = g / tied
    return mine * share, theirs * gather(share, index, axis=axis)  # NaN where nothing equals a result, which is NaN


def _tie_count(x: Array, mine: Array, theirs: Array, index: Array, axis: int) -> Array:
    """How many elements share the cotangent of each place, in the dtype of x. None where the result is NaN."""
    return spread(theirs.astype(x.dtype), index, shape=x.shape, axis=axis) + mine.astype(x.dtype)


tie_count: Op = op(
    "ScatterReduceBackward0",
    _tie_count,
    x=None,
    mine=None,
    theirs=None,
    index=None,
    batch=SCATTERED,
    aten="scatter_reduce.two",
)


ones_of: Op = op("OnesLikeBackward0", np.ones_like, inputs=("x",), x=None, batch=SAME)


def _product_rule(
    g: Array, x: Array, index: Array, src: Array, out: Array, axis: int, include_self: bool
) -> tuple[Array, Array]:
    """Products without the element itself; where one element is zero, dividing by it is no way to leave it out."""
    src = cut_to_index(src, index)
    shape = tuple(x.shape)
    x_without_zeros = np.where(x == 0, 1, x)
    others = scatter_reduce(x_without_zeros, index, src, axis=axis, reduce="prod", include_self=include_self)
    for_x = g * others / x_without_zeros
    zero = src == 0
    zeros = gather(spread(np.where(zero, ones_of(src), 0), index, shape=shape, axis=axis), index, axis=axis)
    recorded = isinstance(zeros, Tensor) and seams.is_grad_enabled()
    array: Any = getattr(zeros, "_array", None)  # inside a batch nothing is known of elements
    several = recorded and (isinstance(array, NUMPYS) or is_elsewhere(array)) and np.any(array > 1)
    single = zero & (zeros == 1)
    rest = scatter_reduce(x, index, np.where(single, 1, src), axis=axis, reduce="prod", include_self=include_self)
    for_src = np.where(
        single,
        gather(g * rest, index, axis=axis),
        gather(g * out, index, axis=axis) / np.where(zero, 1, src),
    )
    if several:  # the formula is right, but constant there, which its own derivative is not
        for_src = seams.DelayedError(
            "Double backward is unsupported for products (scatter_reduce and index_reduce with 'prod') in which several "
            "zeros meet in one place. Their first derivatives are fine.",
            1,
        )(for_src)
    return for_x, for_src


def _reducing_samples(draw: Draw) -> Iterator[Sample]:
    """With several elements for one place, and none."""
    for shape, index_shape, axis in (
        ((4,), (7,), 0),
        ((3, 2), (2, 2), 1),
        ((0, 3), (0, 2), 1),
        ((100, 90), (120, 90), 0),
    ):
        for reduce, include_self in itertools.product(_UFUNCS, (True, False)):
            given = draw(*shape), draw.whole(index_shape, shape[axis]), draw(*index_shape)
            yield given, {"axis": axis, "reduce": reduce, "include_self": include_self}


def _reducing(node_name: str, aten: str | None = None) -> Op:
    return op(
        node_name,
        _reduced,
        inputs=("x", "index", "src"),
        joint=_rule,
        kernel=kernel(_fast_reduced),
        batch=SCATTERED,
        samples=_reducing_samples,
        aten=aten,
    )


scatter_reduce: Op = _reducing("ScatterReduceBackward0", "scatter_reduce.two")
index_reduce: Op = _reducing("IndexReduceBackward0")
