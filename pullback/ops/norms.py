"""Vector norms and distances between points.

The derivative where a norm is zero (or a difference is) is the subgradient torch chooses: zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ..core.kernel import kernel
from ..core.op import Op, linear, op
from ..kernels.like import brought, zeros
from ..kernels.thresholds import DISTANCES_BY_KERNEL
from .fusing import drop, number_for, zero_of
from .layouts import DISTANCE, MATRICES, along
from .matmul import adjoint, matmul
from .piecewise import sgn
from .rearranging import triu
from .reductions import sum_of_squares, with_reduced_axes
from .samples import Draw, Sample, arrays
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import Axes
    from ..core.basics.types import NumPyArray as Array


def _vector_norm(x: Array, order: float, axis: Axes, keepdims: bool) -> Array:
    size = x if order == 2 and x.dtype.kind == "f" else np.abs(x)
    kind = size.dtype
    if kind.itemsize == 2:
        size = size.astype(np.float32)
    if order == 0:
        out = np.add.reduce((size != 0).astype(size.dtype), axis=axis, keepdims=keepdims)  # type: ignore[call-overload]
    elif order == math.inf:
        out = np.maximum.reduce(size, axis=axis, keepdims=keepdims, initial=0)  # type: ignore[call-overload]
    elif order == -math.inf:
        out = np.minimum.reduce(size, axis=axis, keepdims=keepdims, initial=np.inf)  # type: ignore[call-overload]
    elif order == 1:
        out = np.add.reduce(size, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]
    elif order == 2:
        out = np.sqrt(sum_of_squares(size, axis, keepdims))
    else:
        out = np.add.reduce(size**order, axis=axis, keepdims=keepdims) ** (1 / order)  # type: ignore[call-overload]
    return in_order(out if out.dtype is kind else out.astype(kind))


def norm_pullback(g: Array, x: Array, out: Array, order: float, axis: Axes, keepdims: bool) -> Array:
    """Torch's subgradients: 0 where the norm, or for small orders the element, is 0; shared among equal maxima."""
    g, out = with_reduced_axes(g, axis, keepdims), with_reduced_axes(out, axis, keepdims)
    if order == 0:
        return np.where(False, g * x, 0)
    if order == 1:
        return sgn(x) * g
    if order == 2:
        none = out == zero_of(out)
        return drop(none, g) * (x / np.where(none, number_for(1, out), out))
    size = np.abs(x)
    if math.isinf(order):
        winners = (size == out) | (np.isnan(size) & np.isnan(out))
        return sgn(x) * np.where(winners, g / np.sum(winners, axis=axis, keepdims=True), 0)
    if order < 2:
        safe = np.where(size == 0, 1, size)
        power = np.where(size == 0, 0, safe ** (order - 1))
        rest = np.where(out == 0, 0, np.where(out == 0, 1, out) ** (1 - order))
        return sgn(x) * power * (g * rest)
    scale = np.where(out == 0, 0, g / np.where(out == 0, 1, out) ** (order - 1))
    safe = np.where(size == 0, 1, size)
    return x * np.where(size == 0, 0, safe ** (order - 2)) * scale


def _vector_norm_pullback(g: Array, x: Array, out: Array, order: float, axis: Axes, keepdims: bool) -> Array | None:
    if order == 0:
        return None  # a number of elements: torch has no gradient for it, not even zeros
    return norm_pullback(g, x, out, order, axis, keepdims)


vector_norm: Op = op(
    "LinalgVectorNormBackward0", _vector_norm, x=_vector_norm_pullback, batch=along("axis"), title="norm"
)


def _difference_norm_pullback(g: Array, a: Array, b: Array, out: Array, order: float) -> Array:
    axis = tuple(range(max(len(a.shape), len(b.shape))))
    return norm_pullback(g, a - b, out, order, axis, False)


distance: Op = op(
    "DistBackward0",
    lambda a, b, order: _vector_norm((a - b)[...], order, tuple(range(np.ndim(a - b))), False),
    a=_difference_norm_pullback,
    b=lambda g, a, b, out, order: -_difference_norm_pullback(g, a, b, out, order),
    batch=DISTANCE,
    samples=arrays((2, 3), (2, 3), order=3),
)


def _divided(g: Array, by: Array) -> Array:
    """g / by, zero where `by` is."""
    return np.where(by == 0, 0, g / np.where(by == 0, 1, by))


def _euclidean(a: Array, b: Array) -> Array:
    """|a_i - b_j| from one matrix product: |a|^2 + |b|^2 - 2 a.b."""
    squares = np.add.reduce(a * a, axis=-1, keepdims=True) + np.add.reduce(b * b, axis=-1)[..., None, :]
    return np.sqrt(np.maximum(squares - 2 * np.matmul(a, np.swapaxes(b, -1, -2)), 0))


def _euclidean_left(g: Array, a: Array, b: Array, out: Array) -> Array:
    ratio = _divided(g, out)
    return a * np.sum(ratio, axis=-1, keepdims=True) - matmul(ratio, b)


euclidean_distances: Op = op(
    "CdistBackward0",
    _euclidean,
    a=_euclidean_left,
    b=lambda g, a, b, out: _euclidean_left(adjoint(g), b, a, adjoint(out)),
    autocast="full",
    batch=MATRICES,
    aten="_cdist_forward",
    samples=arrays((2, 3), (4, 3)),
)


# --- the same from differences: exact, and of any order ---


def _differences(a: Array, b: Array) -> Array:
    return a[..., :, None, :] - b[..., None, :, :]


def _are_many(a: Array, b: Array, order: float) -> bool:
    """True if these are two large sets of points for which there is a kernel."""
    return (
        a.ndim == b.ndim == 2
        and order in (1, 2)
        and len(a) * len(b) >= DISTANCES_BY_KERNEL
        and a.dtype.kind == "f"
        and a.dtype.itemsize > 2
    )


def _kernels() -> ModuleType:
    from ..kernels import distances  # not part of every program

    return distances


def _distances(a: Array, b: Array, order: float) -> Array:
    size = np.abs(_differences(a, b))
    if order == 0:  # how many coordinates differ; whether nan does is not known
        return np.sum(np.minimum(np.ceil(size), 1), axis=-1)
    if math.isinf(order):
        return np.max(size, axis=-1)
    if order in (1, 2):
        return np.sum(size, axis=-1) if order == 1 else np.sqrt(np.sum(size * size, axis=-1))
    return np.sum(size**order, axis=-1) ** (1 / order)


def _fast_distances(a: Array, b: Array, order: float) -> Array:
    if _are_many(a, b, order):
        return _kernels().distances(a, b, order)
    difference = _differences(a, b)
    if order == 0:
        difference, order = np.minimum(np.ceil(np.abs(difference)), 1), 1
    return _vector_norm(difference, order, (difference.ndim - 1,), False)


def _fast_pair_distances(x: Array, order: float) -> Array:
    return _kernels().pair_distances(x, order) if _are_many(x, x, order) else _pairs(_fast_distances(x, x, order))


def _distances_left(g: Array, a: Array, b: Array, out: Array, order: float) -> Array:
    difference = _differences(a, b)
    last = len(difference.shape) - 1
    return np.sum(norm_pullback(g, difference, out, order, (last,), False), axis=last - 1)


def _distances_left_backward(g: Array, a: Array, b: Array, out: Array, order: float) -> Array:
    return _kernels().distances_backward(g, a, b, out, order) if _are_many(a, b, order) else NotImplemented


def _sets_of_points(draw: Draw, pairs: bool = False) -> Iterator[Sample]:
    for first, second in ((3, 4), (0, 2), (140, 100)):
        for order in (1.0, 2.0, 3.0):
            yield ((draw(first, 3),) if pairs else (draw(first, 3), draw(second, 3))), {"order": order}


distances_of: Op = op(
    "CdistBackward0",
    _distances,
    a=_distances_left,
    b=lambda g, a, b, out, order: _distances_left(np.swapaxes(g, -1, -2), b, a, np.swapaxes(out, -1, -2), order),
    kernel=kernel(
        _fast_distances,
        a=_distances_left_backward,
        b=lambda g, a, b, out, order: _distances_left_backward(g.T, b, a, out.T, order),
    ),
    autocast="full",
    batch=MATRICES,
    aten="_cdist_forward",
    samples=_sets_of_points,
)


def _pairs(matrix: Array) -> Array:
    """The elements above the diagonal, row by row."""
    rows, columns = brought(np.triu_indices(matrix.shape[-1], 1), matrix)
    return matrix[..., rows, columns]


def _symmetric(values: Array) -> Array:
    """The symmetric matrix with these numbers above the diagonal, row by row, and zeros on it."""
    size = (1 + math.isqrt(1 + 8 * values.shape[-1])) // 2
    out = zeros((*values.shape[:-1], size, size), values)
    rows, columns = brought(np.triu_indices(size, 1), values)
    out[..., rows, columns] = values
    return out + np.swapaxes(out, -1, -2)


def _fast_symmetric(values: Array) -> Array:
    from ..kernels.distances import symmetric

    return symmetric(values)


symmetric: Op = linear(
    "NotImplemented",
    _symmetric,
    values=lambda g: pairs_of(g + np.swapaxes(g, -1, -2)),
    kernel=kernel(_fast_symmetric),
    aten="floor_divide",
    samples=lambda draw: [((draw(*shape),), {}) for shape in ((6,), (2, 3), (0, 3), (2, 4950))],
)
pairs_of: Op = linear(
    "NotImplemented",
    _pairs,
    matrix=lambda g: triu(symmetric(g), diagonal=1),
    aten="floor_divide",
    samples=arrays((4, 4)),
)


pair_distances: Op = op(
    "PdistBackward0",
    lambda x, order: _pairs(_distances(x, x, order)),
    x=lambda g, x, out, order: _distances_left(symmetric(g), x, x, symmetric(out), order),
    kernel=kernel(
        _fast_pair_distances,
        x=lambda g, x, out, order: (
            _kernels().pair_distances_backward(g, x, out, order) if _are_many(x, x, order) else NotImplemented
        ),
    ),
    samples=lambda draw: _sets_of_points(draw, pairs=True),
)
