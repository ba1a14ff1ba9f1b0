"""Scans and their relatives: cumulative sums and products, trapezoids, differences and numerical gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.basics.dtypes import bool_
from ..core.basics.dtypes import dtype as dtype_type
from ..core.tape import apply, apply_unary, wrap
from ..core.tensor import Tensor
from ..ops import cumulative as ops
from ..ops.pointwise import divide_by_number, multiply_by_number
from ..ops.sorting import cummax as cummax_op
from ..ops.sorting import cummin as cummin_op
from .checks import not_implemented_for
from .joining import cat
from .operands import NUMBERS, as_tensor, wrap_dim
from .reductions import CummaxResult, CumminResult, ValuesIndices, sum_operand
from .registry import public
from .subviews import narrow


def _accumulated(function: str, input: Any, dtype: Any) -> Tensor:
    """The operand of running sums and products, in the dtype they are made in; bool is none."""
    x = sum_operand(as_tensor(input), dtype)
    if x._array.dtype.kind == "b":
        raise not_implemented_for(f"{function}_out_cpu", x)
    return x


@public(in_place=True, out="cast")
def cumsum(input: Any, dim: int, *, dtype: dtype_type | None = None) -> Tensor:
    """Running sums along a dim; integers are summed in int64."""
    x = _accumulated("cumsum", input, dtype)
    axis = wrap_dim(dim, x._array.ndim)
    if x._array.ndim == 0:
        return x.clone()
    return apply_unary(ops.cumsum, x, {"axis": axis, "reverse": False})


@public(in_place=True, out="cast")
def cumprod(input: Any, dim: int, *, dtype: dtype_type | None = None) -> Tensor:
    """Running products along a dim; integers are multiplied in int64."""
    x = _accumulated("cumprod", input, dtype)
    axis = wrap_dim(dim, x._array.ndim)
    return apply_unary(ops.cumprod, x, {"axis": axis}) if x._array.ndim else x.clone()


@public(out="same")
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """Logarithm of the running sums of exponentials along a dim."""
    axis = wrap_dim(dim, input._array.ndim)
    if input._array.dtype.kind in "biu":
        raise not_implemented_for("logcumsumexp_out_cpu", input)
    return apply_unary(ops.logcumsumexp, input, {"axis": axis}) if input._array.ndim else input.clone()


def _extremes_so_far(op: Any, result_type: Any, input: Tensor, dim: int) -> Any:
    axis = wrap_dim(dim, input._array.ndim)
    if input._array.dtype.kind == "c":
        raise not_implemented_for("cummax_cpu" if op is cummax_op else "cummin_cpu", input)
    if input._array.ndim == 0:
        return result_type(input.clone(), wrap(np.zeros((), np.int64)))
    return result_type(*apply(op, (input,), {"axis": axis, "keepdims": True}))


@public(out="same")
def cummax(input: Tensor, dim: int) -> ValuesIndices:
    """Running maxima along a dim and their indices."""
    return _extremes_so_far(cummax_op, CummaxResult, input, dim)


@public(out="same")
def cummin(input: Tensor, dim: int) -> ValuesIndices:
    """Running minima along a dim and their indices."""
    return _extremes_so_far(cummin_op, CumminResult, input, dim)


# --- trapezoids ---


def _neighbours(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    length = x._array.shape[dim]
    pairs = max(length - 1, 0)
    return narrow(x, dim, 0, pairs), narrow(x, dim, length - pairs, pairs)


def _widths(x: Tensor, y: Tensor, dim: int, function: str) -> Tensor:
    """Distances between sample points, shaped to multiply the trapezoids of `y`."""
    if x._array.ndim == 0:
        raise IndexError(f"{function}: Expected `x` to have at least one dim, got a 0-dim tensor")
    if x._array.ndim == 1:
        if x._array.shape[0] != y._array.shape[dim]:
            raise RuntimeError(f"{function}: There must be one `x` value for each sample point")
        first, second = _neighbours(x, 0)
        shape = [1] * y._array.ndim
        shape[dim] = -1
        return (second - first).reshape(shape)
    while x._array.ndim < y._array.ndim:
        x = x.unsqueeze(0)
    first, second = _neighbours(x, dim)
    return second - first


def _trapezoids(y: Tensor, x: Any, dx: Any, axis: int, function: str) -> Tensor:
    if any(getattr(values, "dtype", None) is bool_ for values in (y, x)):
        raise RuntimeError(
            f"{function}: received a bool input for {'`y`' if x is None else '`x` or `y`'}, but bool is not supported. "
            "Convert it first: y.float()."
        )
    if x is not None and dx is not None:
        raise RuntimeError(f"{function}(): got both 'x' and 'dx'. Give one of them.")
    first, second = _neighbours(y, axis)
    if x is not None:
        return (first + second) * _widths(as_tensor(x), y, axis, function) / 2.0
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{function}: Currently, we only support dx as a real number.")
    return _times(first + second, (1.0 if dx is None else dx) / 2.0)


def _times(x: Tensor, factor: Any) -> Tensor:
    if isinstance(factor, (int, float)) and x._array.dtype.kind in "fcV":
        return apply(multiply_by_number, (x,), {"number": float(factor)})
    return x * factor


def _divided(x: Tensor, divisor: Any) -> Tensor:
    if isinstance(divisor, (int, float)) and x._array.dtype.kind in "fcV":
        return apply(divide_by_number, (x,), {"number": float(divisor)})
    return x / divisor


@public("trapz", method=False)
def trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral along a dim by the trapezoidal rule, at points `x` or spaced by `dx`."""
    axis = wrap_dim(dim, y._array.ndim)
    if y._array.ndim == 0 or y._array.shape[axis] == 0:
        return y.new_zeros(y.shape[:axis] + y.shape[axis + 1 :])
    return _trapezoids(y, x, dx, axis, "trapezoid").sum(axis)


@public(method=False)
def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """Running integrals along a dim by the trapezoidal rule."""
    axis = wrap_dim(dim, y._array.ndim)
    if y._array.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor: cumulative_trapezoid needs values along a dim.")
    return cumsum(_trapezoids(y, x, dx, axis, "cumulative_trapezoid"), axis)


# --- differences ---


@public(out="cast")
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """The n-th differences of neighbours along a dim."""
    if input._array.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = wrap_dim(dim, input._array.ndim)
    if n == 0:
        return input.clone()
    for piece in (prepend, append):
        if piece is not None:
            _check_beside(input._array.shape, piece._array.shape, axis)
    pieces = [piece for piece in (prepend, input, append) if piece is not None]
    x = cat(pieces, axis) if len(pieces) > 1 else input
    for _ in range(n):
        if x._array.shape[axis] == 0:
            break
        first, second = _neighbours(x, axis)
        x = second != first if x._array.dtype.kind == "b" else second - first
    return x


def _check_beside(shape: tuple[int, ...], other: tuple[int, ...], axis: int) -> None:
    if len(shape) != len(other):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for dim, (size, given) in enumerate(zip(shape, other, strict=True)):
        if dim != axis and size != given:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension; input.size({dim}) = {size}, but got tensor.size({dim}) = {given}"
            )


def _spacings(spacing: Any, dims: list[int]) -> list:
    if spacing is None:
        return [1.0] * len(dims)
    if isinstance(spacing, NUMBERS):
        return [spacing] * len(dims)
    spacings = list(spacing)
    if len(spacings) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have "
            f"the same length, but got a spacing argument of length {len(spacings)} and a dim argument of length "
            f"{len(dims)}."
        )
    return spacings


def _gradient_along(x: Tensor, spacing: Any, dim: int, edge_order: int) -> Tensor:
    """Second-order differences inside (exact for parabolas on uneven points), one-sided ones at the edges."""
    length = x._array.shape[dim]
    if length < edge_order + 1:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")

    def part(start: int, size: int) -> Tensor:
        return narrow(x, dim, start, size)

    def steps(start: int, size: int) -> Any:
        if isinstance(spacing, NUMBERS):
            return spacing
        shape = [1] * x._array.ndim
        shape[dim] = -1
        distances = narrow(spacing, 0, 1, length - 1) - narrow(spacing, 0, 0, length - 1)
        return narrow(distances, 0, start, size).reshape(shape)

    before, after = steps(0, length - 2), steps(1, length - 2)
    if isinstance(spacing, NUMBERS):
        middle = _divided(part(2, length - 2) - part(0, length - 2), 2 * spacing)
    else:
        a, c = -after / (before * (before + after)), before / (after * (before + after))
        middle = (
            a * part(0, length - 2)
            + (after - before) / (before * after) * part(1, length - 2)
            + c * part(2, length - 2)
        )
    first, last = steps(0, 1), steps(length - 2, 1)
    if edge_order == 1:
        start = _divided(part(1, 1) - part(0, 1), first)
        end = _divided(part(length - 1, 1) - part(length - 2, 1), last)
    else:
        second, previous = steps(1, 1), steps(length - 3, 1)
        start = _one_sided(part(0, 1), part(1, 1), part(2, 1), first, second)
        end = -_one_sided(part(length - 1, 1), part(length - 2, 1), part(length - 3, 1), last, previous)
    return cat([start, middle, end], dim)


def _one_sided(f0: Tensor, f1: Tensor, f2: Tensor, h1: Any, h2: Any) -> Tensor:
    """The derivative at the first of three points h1 and h2 apart."""
    factors = -(2 * h1 + h2) / (h1 * (h1 + h2)), (h1 + h2) / (h1 * h2), h1 / (h2 * (h1 + h2))
    a, b, c = map(_times, (f0, f1, f2), factors)
    return a + b - c


@public(method=False)
def gradient(
    input: Tensor, *, spacing: Any = None, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """Numerical derivatives along dims of samples at points `spacing` (or `spacing` apart)."""
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    ndim = input._array.ndim
    dims = list(range(ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [wrap_dim(one, ndim) for one in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"dim {dims[0]} appears multiple times in the list of dims")
    spacings = _spacings(spacing, dims)
    return tuple(_gradient_along(input, step, one, edge_order) for step, one in zip(spacings, dims, strict=True))
