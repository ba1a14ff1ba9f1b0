"""Scans along one axis: cumulative sums, products, extrema and log-sum-exps.

Products are differentiated through a first-order linear recurrence, y[i] = a[i] * y[i-1] + b[i], whose derivative is
another recurrence run backwards: correct with zeros and to any order. Where there are no zeros a quotient is faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.kernel import kernel
from ..core.op import Op, conjugate, linear, op
from ..kernels.like import NUMPYS, copy, empty, full, is_elsewhere, running, zeros
from ..kernels.thresholds import WIDE_RUNNING_TOTALS
from .layouts import ALL_ALONG, along
from .pairs import complex_logaddexp
from .samples import arrays, rows
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array


def _slices(axis: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """(all but the last, all but the first) along an axis."""
    lead = (slice(None),) * axis
    return (*lead, slice(None, -1)), (*lead, slice(1, None))


# What torch accumulates in: half precision in single, single in double.
_WIDER = {("f", 2): np.float32, ("V", 2): np.float32, ("f", 4): np.float64, ("c", 8): np.complex128}


def _running(ufunc: np.ufunc, x: Array, axis: int, reverse: bool = False) -> Array:
    """Accumulate along an axis in the wider types of torch's running totals; from the end if `reverse`."""
    wider = _WIDER.get((x.dtype.kind, x.dtype.itemsize), x.dtype)
    found = running(ufunc, (np.flip(x, axis) if reverse else x).astype(wider), axis).astype(x.dtype)
    return np.flip(found, axis) if reverse else found


def _fast_running(ufunc: np.ufunc, x: Array, axis: int, reverse: bool = False) -> Array:
    """`ufunc.accumulate` in blocks, where totals are wider."""
    x, wider = in_order(x), _WIDER.get((x.dtype.kind, x.dtype.itemsize))
    if not reverse and (wider is None or x.size <= WIDE_RUNNING_TOTALS):
        return ufunc.accumulate(x if wider is None else x.astype(wider), axis).astype(x.dtype, copy=False)
    out = np.empty(x.shape, x.dtype)
    both: tuple[Any, Any] = (np.flip(x, axis), np.flip(out, axis)) if reverse else (x, out)
    source, target = both
    if wider is None:
        ufunc.accumulate(source, axis, out=target)
        return out
    total: Any = None
    count = max(1, WIDE_RUNNING_TOTALS * len(source) // max(1, x.size))
    for start in range(0, len(source), count):
        part = source[start : start + count].astype(wider)
        if axis == 0 and start:
            part[0] = ufunc(total, part[0])
        part = ufunc.accumulate(part, axis)
        target[start : start + count], total = part, part[-1]
    return out


# --- sums ---


cumsum: Op = linear(
    "CumsumBackward0",
    lambda x, axis, reverse: _running(np.add, x, axis, reverse),
    x=lambda g, axis, reverse: cumsum(g, axis=axis, reverse=not reverse),
    kernel=kernel(lambda x, axis, reverse: _fast_running(np.add, x, axis, reverse)),
    batch=along("axis"),
    samples=lambda draw: [
        (given, {**params, "reverse": reverse}) for given, params in rows()(draw) for reverse in (False, True)
    ],
)

# --- the recurrence ---


def _recurrence(a: Array, b: Array, axis: int, reverse: bool) -> Array:
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    out = empty(b.shape, b, np.result_type(a, b))
    length = b.shape[0]
    order = range(length - 1, -1, -1) if reverse else range(length)
    previous: Any = 0
    for i in order:
        previous = a[i] * previous + b[i]
        out[i] = previous
    return np.moveaxis(out, 0, axis)


def _shifted(x: Array, axis: int, reverse: bool) -> Array:
    """Each element replaced by its predecessor in the direction of the scan; the first becomes zero."""
    return shift(x, axis=axis, reverse=reverse)


def _shift(x: Array, axis: int, reverse: bool) -> Array:
    out = zeros(x.shape, x)
    head, tail = _slices(axis)
    if reverse:
        out[head] = x[tail]
    else:
        out[tail] = x[head]
    return out


shift: Op = linear(
    "SliceBackward0",
    _shift,
    x=lambda g, axis, reverse: shift(g, axis=axis, reverse=not reverse),
    batch=along("axis"),
    aten="slice.Tensor",
)


def _recurrence_rule(
    g: Array, a: Array, out: Array, needs: tuple[bool, ...], axis: int, reverse: bool
) -> tuple[Array | None, ...]:
    back = recurrence(_shifted(conjugate(a), axis, not reverse), g, axis=axis, reverse=not reverse)
    return (back * conjugate(_shifted(out, axis, reverse)) if needs[0] else None), back


recurrence: Op = op("CumprodBackward0", _recurrence, inputs=("a", "b"), joint=_recurrence_rule, batch=ALL_ALONG)

# --- products ---


def _products_before(x: Array, axis: int, reverse: bool) -> Array:
    """For each element, the product of those that come before it in the scan."""
    out = full(x.shape, 1, x)
    head, tail = _slices(axis)
    if reverse:
        out[head] = np.flip(np.multiply.accumulate(np.flip(x[tail], axis), axis=axis), axis)
    else:
        out[tail] = np.multiply.accumulate(x[head], axis=axis)
    return out


def _products_before_pullback(g: Array, x: Array, out: Array, axis: int, reverse: bool) -> Array:
    x = conjugate(x)
    later = recurrence(_shifted(x, axis, not reverse), _shifted(g, axis, not reverse), axis=axis, reverse=not reverse)
    return conjugate(out) * later


products_before: Op = op(
    "ProdBackward1",
    _products_before,
    x=_products_before_pullback,
    batch=along("axis"),
    aten="prod.dim_int",
    samples=arrays((2, 3), axis=1, reverse=False),
)


def has_zeros(x: Array) -> bool:
    """True if an array, or the array inside a tensor, has zeros; also for array types that are unknown."""
    array = getattr(x, "_array", x)
    return not (isinstance(array, NUMPYS) or is_elsewhere(array)) or not np.all(array)


def _cumprod_pullback(g: Array, x: Array, out: Array, axis: int) -> Array:
    if x.shape[axis] == 1:
        return g
    if not has_zeros(x):
        return cumsum(g * conjugate(out), axis=axis, reverse=True) / conjugate(x)
    inner = recurrence(_shifted(conjugate(x), axis, True), g, axis=axis, reverse=True)
    return conjugate(products_before(x, axis=axis, reverse=False)) * inner


cumprod: Op = op(
    "CumprodBackward0",
    lambda x, axis: _running(np.multiply, x, axis),
    x=_cumprod_pullback,
    kernel=kernel(lambda x, axis: _fast_running(np.multiply, x, axis)),
    batch=along("axis"),
    samples=rows(),
)

# --- log-sum-exp ---


def _logcumsumexp(x: Array, axis: int) -> Array:
    if x.dtype.kind != "c":
        return _running(np.logaddexp, x, axis)
    parts = np.moveaxis(x, axis, 0)
    out = copy(parts)
    for i in range(1, len(out)):  # one after the other: the imaginary part adds up, it is not an angle
        out[i] = complex_logaddexp(out[i - 1], parts[i])
    return in_order(np.moveaxis(out, 0, axis))


def _logcumsumexp_pullback(g: Array, x: Array, out: Array, axis: int) -> Array:
    """x[i] gets the sum over k >= i of g[k] exp(x[i] - out[k]); as a recurrence no factor exceeds 1."""
    x, out = conjugate(x), conjugate(out)
    _, tail = _slices(axis)
    following = np.concatenate([out[tail], out[(*tail[:-1], slice(-1, None))]], axis=axis)
    present = np.real(out) != -np.inf  # infinity upwards and nan leave nothing to tell the terms apart by
    both = present & (np.real(following) != -np.inf)
    factor = np.where(both, np.exp(np.where(both, out - following, 0)), 0)
    total = recurrence(factor, g, axis=axis, reverse=True)
    return total * np.where(present, np.exp(np.where(present, x - out, 0)), 0)


logcumsumexp: Op = op(
    "LogcumsumexpBackward0",
    _logcumsumexp,
    x=_logcumsumexp_pullback,
    kernel=kernel(lambda x, axis: NotImplemented if x.dtype.kind == "c" else _fast_running(np.logaddexp, x, axis)),
    batch=along("axis"),
    samples=rows(),
)
