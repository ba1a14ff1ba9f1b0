"""Reductions over axes: sums, means, extrema, products, softmax and its relatives.

`axis` is a tuple of non-negative axes (all of them for a full reduction), `keepdims` a bool.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from math import prod
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import empty

from ..core.basics.constants import FLOAT32, FLOAT64, ones
from ..core.kernel import kernel
from ..core.mostly_zeros import Picked
from ..core.op import Op, linear, op
from ..kernels.like import largest
from ..kernels.products import total
from ..kernels.thresholds import EXACT_RUN, FOLDED_REDUCTION, SHARED_SUM, SHORT_REDUCTION
from .fusing import keep
from .layouts import ALL_ALONG, Layout, along
from .samples import Draw, Sample, reals, rows
from .shape import _expand, expand, reshape
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import Axes, Params, Shape
    from ..core.basics.types import NumPyArray as Array


def kept_shape(shape: Shape, axis: Axes) -> tuple[Any, ...]:
    return tuple(1 if i in axis else n for i, n in enumerate(shape))


def spread(g: Array, x_shape: Shape, axis: Axes, keepdims: bool) -> Array:
    """The cotangent of a reduction, repeated over what was reduced."""
    if not keepdims and len(axis) != len(x_shape):
        g = reshape(g, shape=kept_shape(x_shape, axis))
    return expand(g, shape=x_shape)


def _fast_spread(g: Array, x_shape: Shape, axis: Axes, keepdims: bool) -> Array:
    if not g.ndim:
        return _fast_spread_all(g, x_shape)
    return _expand(g if keepdims or len(axis) == len(x_shape) else g.reshape(kept_shape(x_shape, axis)), x_shape)


def _fast_spread_all(g: Array, x_shape: Shape) -> Array:
    if prod(x_shape) > SHORT_REDUCTION:
        return _expand(np.asarray(g), x_shape)
    whole = empty(x_shape, g.dtype)  # a view of one number would take longer to make
    whole.fill(g)
    return whole


def with_reduced_axes(value: Array, axis: Axes, keepdims: bool) -> Array:
    """Give a reduced value its size-1 axes (back), so that it broadcasts against the input."""
    if keepdims:
        return value
    for one in sorted(axis):
        value = value[(slice(None),) * one + (None,)]
    return value


def _sum(x: Array, axis: Axes, keepdims: bool) -> Array:
    kind = x.dtype
    if kind is FLOAT32 or kind is FLOAT64:
        if not keepdims and len(axis) == x.ndim:
            if x.size >= SHARED_SUM and type(x) is np.ndarray and x.flags.c_contiguous:
                return total(x)  # type: ignore[return-value]
            return np.add.reduce(x, None)  # the same, with less to look at
        if (
            x.ndim == 2
            and len(axis) == 1
            and x.shape[axis[0]] <= EXACT_RUN
            and x.size <= SHORT_REDUCTION
            and type(x) is np.ndarray
        ):
            out = x.dot(ones(x.shape[1], kind)) if axis[0] else ones(x.shape[0], kind).dot(x)
            return out if not keepdims else out[:, None] if axis[0] else out[None]
        out = np.add.reduce(x, axis, None, None, keepdims)  # type: ignore[call-overload]
        return out if out.ndim < 2 else in_order(out)
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        return in_order(np.add.reduce(x.astype(np.float32), axis=axis, keepdims=keepdims).astype(x.dtype))  # type: ignore[call-overload]
    return in_order(np.add.reduce(x, axis=axis, dtype=kind if kind.kind in "iu" else None, keepdims=keepdims))  # type: ignore[call-overload]


def sum_of_squares(x: Array, axis: Axes, keepdims: bool) -> Array:
    """The sum of the squares of real numbers over axes."""
    kind = x.dtype
    if not keepdims and len(axis) == x.ndim and x.size <= EXACT_RUN and (kind is FLOAT32 or kind is FLOAT64):
        flat = x.ravel()
        return flat.dot(flat)
    if x.size > SHORT_REDUCTION and (kind is FLOAT32 or kind is FLOAT64) and x.flags.c_contiguous:
        total = _squares_of_runs(x, axis)
        if total is not None:
            return total.reshape(kept_shape(x.shape, axis)) if keepdims else total
    return _sum(x * x, axis, keepdims)


def _squares_of_runs(x: Array, axis: Axes) -> Array | None:
    """The sums of squares over all axes, over the last ones or over the first, without an array of squares; else None.

    Long runs are cut, for sums that are as exact as pairwise ones.
    """
    kept = x.ndim - len(axis)
    if sorted(axis) == list(range(kept, x.ndim)):
        rows = x.reshape(*x.shape[:kept], -1)
        length = rows.shape[-1]
        if length <= 2 * EXACT_RUN:
            return np.vecdot(rows, rows)
        whole = length // EXACT_RUN * EXACT_RUN
        runs, rest = rows[..., :whole].reshape(*rows.shape[:-1], -1, EXACT_RUN), rows[..., whole:]
        return np.add.reduce(np.vecdot(runs, runs), axis=-1) + np.vecdot(rest, rest)
    if tuple(axis) == (0,) and x.ndim == 2 and len(x) <= 2 * EXACT_RUN:
        return np.einsum("ij,ij->j", x, x)
    return None


def _samples_over_axes(draw: Draw) -> Iterator[Sample]:
    """Sums over the first axis, the last and all, which are kept or not."""
    for (x,), params in rows()(draw):
        for axis in {(params["axis"],), tuple(range(x.ndim))}:
            for keepdims in (False, True):
                yield (x,), {"axis": axis, "keepdims": keepdims}


sum_axes: Op = linear(
    "SumBackward1",
    _sum,
    x=lambda g, x_shape, axis, keepdims: spread(g, x_shape, axis, keepdims),
    kernel=kernel(x=_fast_spread),
    batch=along("axis"),
    aten="sum.dim_IntList",
    samples=_samples_over_axes,
)


def _all_axes(shape: Shape) -> tuple[Any, ...]:
    return tuple(range(len(shape)))


def _sum_all(x: Array) -> Array:
    kind = x.dtype
    if (kind is FLOAT32 or kind is FLOAT64) and x.size <= EXACT_RUN and type(x) is np.ndarray:
        return ones(x.size, kind).dot(x if x.ndim == 1 else x.ravel())
    return _sum(x, _all_axes(x.shape), False)


def _all_of_each(reduction: Op) -> Layout:
    """The layout of a full reduction: the other one, over all axes but the batch's."""

    def batch(op: Op, values: list[Any], flags: list[bool], params: Params, size: int) -> Array:
        return reduction(values[0], axis=tuple(range(1, len(values[0].shape))), keepdims=False)

    return Layout(batch)


sum_all: Op = linear(
    "SumBackward0",
    _sum_all,
    x=lambda g, x_shape: expand(g, shape=x_shape),
    kernel=kernel(x=_fast_spread_all),
    batch=_all_of_each(sum_axes),
    samples=reals(),
)


def count_of(shape: Shape, axis: Axes) -> int:
    return math.prod(shape) if len(axis) == len(shape) else math.prod([shape[i] for i in axis])


def _mean(x: Array, axis: Axes, keepdims: bool) -> Array:
    count = count_of(x.shape, axis)
    if count == 0:
        return np.full(np.add.reduce(x, axis=axis, keepdims=keepdims).shape, math.nan, x.dtype)  # type: ignore[call-overload]
    return _sum(x, axis, keepdims) / count


def mean_transpose(g: Array, x_shape: Shape, axis: Axes, keepdims: bool) -> Array:
    return spread(g / max(count_of(x_shape, axis), 1), x_shape, axis, keepdims)


def _mean_backward(g: Array, x_shape: Shape, axis: Axes, keepdims: bool) -> Array:
    return _fast_spread(g / max(count_of(x_shape, axis), 1), x_shape, axis, keepdims)


mean_axes: Op = linear(
    "MeanBackward1",
    _mean,
    x=mean_transpose,
    kernel=kernel(x=_mean_backward),
    batch=along("axis"),
    aten="mean.dim",
    samples=_samples_over_axes,
)


def _mean_all(x: Array) -> Array:
    size = x.size
    return _sum_all(x) / size if size else _mean(x, _all_axes(x.shape), False)


mean_all: Op = linear(
    "MeanBackward0",
    _mean_all,
    x=lambda g, x_shape: expand(g / max(prod(x_shape), 1), shape=x_shape),
    kernel=kernel(x=lambda g, x_shape: _fast_spread_all(g / max(prod(x_shape), 1), x_shape)),
    batch=_all_of_each(mean_axes),
    samples=reals(),
)

# --- softmax ---


def _kernels() -> ModuleType:
    from ..kernels import softmax  # not part of every program

    return softmax


def _is_large(x: Array) -> bool:
    return x.size >= FOLDED_REDUCTION or x.dtype.itemsize == 2


def _softmax(x: Array, axis: int) -> Array:
    x = in_order(x)
    if _is_large(x):
        return _kernels().softmax(x, axis=axis)
    flat = x.ravel()
    # If the sum of squares is below 80 squared, no exponential overflows or vanishes, and the largest need not be found.
    powers = np.exp(x if flat.dot(flat) < 6400 else x - largest(x, axis))
    return powers / _sum(powers, (axis,), True)


def _softmax_backward(g: Array, out: Array, axis: int) -> Array:
    if _is_large(g) and g.dtype == out.dtype:
        return _kernels().softmax_backward(g, out, axis=axis)
    return (g - _sum(g * out, (axis,), True)) * out


def _softmax_formula(x: Array, axis: int) -> Array:
    powers = np.exp(x - largest(x, axis))
    return powers / np.sum(powers, axis=axis, keepdims=True)


softmax_pull: Op = op(
    "SoftmaxBackwardDataBackward0",
    lambda g, out, axis: (g - np.sum(g * out, axis=axis, keepdims=True)) * out,
    multiplies=True,
    g=lambda h, out, axis: softmax_pull(h, out, axis=axis),  # the Jacobian of softmax is symmetric
    out=lambda h, g, out, axis: (
        h * (g - np.sum(g * out, axis=axis, keepdims=True)) - g * np.sum(h * out, axis=axis, keepdims=True)
    ),
    kernel=kernel(_softmax_backward),
    batch=ALL_ALONG,
    aten="_softmax_backward_data",
    samples=rows(2),
)
softmax: Op = op(
    "SoftmaxBackward0",
    _softmax_formula,
    x=lambda g, out, axis: softmax_pull(g, out, axis=axis),
    kernel=kernel(_softmax, x=_softmax_backward),
    batch=along("axis"),
    aten="_softmax",
    samples=rows(),
)


def _log_softmax(x: Array, axis: int) -> Array:
    x = in_order(x)
    if _is_large(x):
        return _kernels().log_softmax(x, axis=axis)
    shifted = x - largest(x, axis)
    return shifted - np.log(_sum(np.exp(shifted), (axis,), True))


def _log_softmax_backward(g: Array, out: Array, axis: int) -> Array:
    if type(g) is Picked:
        if axis == 1 and out.dtype == g.dtype and out.flags.c_contiguous:
            return _kernels().log_softmax_backward_picked(g.values, g.places, out)
        g = g.dense()
    if _is_large(g) and g.dtype == out.dtype:
        return _kernels().log_softmax_backward(g, out, axis=axis)
    return g - np.exp(out) * _sum(g, (axis,), True)


def _log_softmax_formula(x: Array, axis: int) -> Array:
    shifted = x - largest(x, axis)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


log_softmax_pull: Op = op(
    "LogSoftmaxBackwardDataBackward0",
    lambda g, out, axis: g - np.exp(out) * np.sum(g, axis=axis, keepdims=True),
    multiplies=True,
    g=lambda h, out, axis: h - np.sum(h * np.exp(out), axis=axis, keepdims=True),
    out=lambda h, g, out, axis: -h * np.exp(out) * np.sum(g, axis=axis, keepdims=True),
    kernel=kernel(_log_softmax_backward),
    batch=ALL_ALONG,
    aten="_log_softmax_backward_data",
    samples=rows(2),
)
log_softmax: Op = op(
    "LogSoftmaxBackward0",
    _log_softmax_formula,
    x=lambda g, out, axis: log_softmax_pull(g, out, axis=axis),
    kernel=kernel(_log_softmax, x=_log_softmax_backward),
    batch=along("axis"),
    takes_picked=True,
    aten="_log_softmax",
    samples=rows(),
)

# --- extrema ---


def _shared(g: Array, winners: Array, axis: Axes) -> Array:
    """A cotangent, shared equally among ties."""
    return g * winners / np.sum(winners, axis=axis, keepdims=True)


def _fast_shared(g: Array, winners: Array, axis: Axes) -> Array:
    mask = winners.astype(g.dtype)
    return g * mask / _sum(mask, axis, True)


def _extreme_pullback(g: Array, x: Array, out: Array, axis: Axes, keepdims: bool) -> Array:
    """NaN where the result is: nothing equals it."""
    return _shared(with_reduced_axes(g, axis, keepdims), x == with_reduced_axes(out, axis, keepdims), axis)


def _fast_extreme_pullback(g: Array, x: Array, out: Array, axis: Axes, keepdims: bool) -> Array:
    return _fast_shared(with_reduced_axes(g, axis, keepdims), x == with_reduced_axes(out, axis, keepdims), axis)


def _whole_winners(x: Array, out: Array) -> Array:
    return (x == out) | (np.isnan(x) & np.isnan(out))


def _whole_extreme_pullback(g: Array, x: Array, out: Array, axis: Axes) -> Array:
    """If the result is NaN, shared among all that are. Others get 0, whatever the cotangent."""
    winners = _whole_winners(x, out)
    return keep(winners, _shared(g, winners, axis))


def _fast_whole_extreme_pullback(g: Array, x: Array, out: Array, axis: Axes) -> Array:
    winners = _whole_winners(x, out)
    return keep(winners, _fast_shared(np.asarray(g), winners, axis))


_largest: Any = np.maximum.reduce
_smallest: Any = np.minimum.reduce


def _fast_amax(x: Array, axis: Axes, keepdims: bool) -> Any:
    if _is_one_of_few(x, axis, keepdims):
        return x.ravel()[x.argmax()]  # NaN if there is one: it counts as the largest, and as the smallest
    return in_order(_largest(x, axis, None, None, keepdims))  # type: ignore[call-overload]


def _fast_amin(x: Array, axis: Axes, keepdims: bool) -> Array:
    if _is_one_of_few(x, axis, keepdims):
        return x.ravel()[x.argmin()]
    return in_order(_smallest(x, axis, None, None, keepdims))  # type: ignore[call-overload]


def _is_one_of_few(x: Array, axis: Axes, keepdims: bool) -> bool:
    """True if all axes of a small array are reduced: finding the place of the extreme is then quicker than a reduction."""
    return (
        not keepdims
        and len(axis) == x.ndim
        and 0 < x.size <= SHORT_REDUCTION
        and x.flags.c_contiguous
        and x.dtype.kind != "V"
    )


def _amax(x: Array, axis: Axes, keepdims: bool) -> Array:
    return np.max(x, axis=axis, keepdims=keepdims)


def _amin(x: Array, axis: Axes, keepdims: bool) -> Array:
    return np.min(x, axis=axis, keepdims=keepdims)


def _extreme_samples(draw: Draw) -> Iterator[Sample]:
    """Of many numbers some are equal; where these few are, slopes would not be those of difference quotients."""
    for shape, axis in (((5,), (0,)), ((2, 3), (1,)), ((3, 2, 4), (0, 2)), ((0, 3), (1,)), ((100, 90), (0,))):
        for keepdims in (True, False):
            x = draw(*shape)
            yield (np.round(x, 2) if x.size > 1000 else x,), {"axis": axis, "keepdims": keepdims}


def _whole_samples(draw: Draw) -> Iterator[Sample]:
    for shape in ((), (5,), (2, 3), (100, 90)):
        x = draw(*shape)
        yield (np.round(x, 2) if x.size > 1000 else x,), {"axis": tuple(range(len(shape))), "keepdims": False}
    yield (draw(0, 3),), {"axis": (1,), "keepdims": True}


def _extreme(node_name: str, formula: Callable[..., Any], fast: Callable[..., Any]) -> Op:
    """The gradient of an extreme along axes is shared among those that are it."""
    return op(
        node_name,
        formula,
        x=_extreme_pullback,
        kernel=kernel(fast, x=_fast_extreme_pullback),
        batch=along("axis"),
        samples=_extreme_samples,
    )


def _whole_extreme(node_name: str, formula: Callable[..., Any], fast: Callable[..., Any]) -> Op:
    """The same of all elements, where NaN is an extreme, too."""
    return op(
        node_name,
        formula,
        x=_whole_extreme_pullback,
        kernel=kernel(fast, x=_fast_whole_extreme_pullback),
        batch=along("axis"),
        samples=_whole_samples,
    )


amax: Op = _extreme("AmaxBackward0", _amax, _fast_amax)
amin: Op = _extreme("AminBackward0", _amin, _fast_amin)
max_all: Op = _whole_extreme("MaxBackward1", _amax, _fast_amax)
min_all: Op = _whole_extreme("MinBackward1", _amin, _fast_amin)


def _both_extremes(
    g: tuple[Array, ...], x: Array, outs: tuple[Array, ...], axis: Axes, keepdims: bool
) -> tuple[Any, ...]:
    return (sum(_extreme_pullback(slope, x, out, axis, keepdims) for slope, out in zip(g, outs, strict=True)),)


aminmax: Op = op(
    "AminmaxBackward0",
    lambda x, axis, keepdims: (_amin(x, axis, keepdims), _amax(x, axis, keepdims)),
    inputs=("x",),
    outputs=0,
    joint=_both_extremes,
    kernel=kernel(lambda x, axis, keepdims: (_fast_amin(x, axis, keepdims), _fast_amax(x, axis, keepdims))),
    batch=along("axis"),
    samples=_extreme_samples,
)
