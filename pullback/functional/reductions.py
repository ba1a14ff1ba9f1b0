"""Sums, means, extrema and softmax: torch's arguments on top of `ops/reductions.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..autograd.tape import apply, apply_unary, wrap
from ..dtypes import as_dtype, dtype as dtype_type
from ..ops import reductions as ops
from ..ops.casting import cast
from ..tensor import Tensor
from .operands import as_tensor, float_operand, wrap_dim, wrap_dims
from .registry import public


def in_dtype(x: Tensor, dtype: Any) -> Tensor:
    """The tensor cast to a requested dtype, if one was requested."""
    if dtype is None:
        return x
    wanted = as_dtype(dtype).numpy
    return x if x._array.dtype == wanted else cast(x, dtype=wanted)


def sum_operand(x: Tensor, dtype: Any) -> Tensor:
    """Sums and products of integers and booleans are int64."""
    if dtype is None and x._array.dtype.kind in "biu":
        return cast(x, dtype=np.dtype(np.int64))
    return in_dtype(x, dtype)


@public(out=True)
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None) -> Tensor:
    """Sum of all elements, or over the dims given."""
    x = sum_operand(as_tensor(input), dtype)
    ndim = x._array.ndim
    if dim is None and not keepdim:
        return apply_unary(ops.sum_all, x, {"axis": tuple(range(ndim)), "keepdims": False})
    return apply_unary(ops.sum_axes, x, {"axis": wrap_dims(dim, ndim), "keepdims": keepdim})


@public(out=True)
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None) -> Tensor:
    """Mean of all elements, or over the dims given. Needs a floating point dtype."""
    x = in_dtype(as_tensor(input), dtype)
    if x._array.dtype.kind in "biu":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{x.dtype.type_name}. Convert first, as in x.float().mean()."
        )
    ndim = x._array.ndim
    if dim is None and not keepdim:
        return apply_unary(ops.mean_all, x, {"axis": tuple(range(ndim)), "keepdims": False})
    return apply_unary(ops.mean_axes, x, {"axis": wrap_dims(dim, ndim), "keepdims": keepdim})


@public()
def softmax(input: Any, dim: int, *, dtype: dtype_type | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dim."""
    x = in_dtype(as_tensor(input), dtype)
    _needs_float(x, "softmax_lastdim_kernel_impl")
    return apply(ops.softmax, (x,), {"axis": wrap_dim(dim, x._array.ndim)}) if x._array.ndim else x * 0 + 1


@public()
def log_softmax(input: Any, dim: int, *, dtype: dtype_type | None = None) -> Tensor:
    """log(softmax(x)) along a dim, computed without overflow."""
    x = in_dtype(as_tensor(input), dtype)
    _needs_float(x, "log_softmax_lastdim_kernel_impl")
    return apply(ops.log_softmax, (x,), {"axis": wrap_dim(dim, x._array.ndim)}) if x._array.ndim else x * 0


def _needs_float(x: Tensor, kernel: str) -> None:
    if x._array.dtype.kind in "biu":
        raise NotImplementedError(f'"{kernel}" not implemented for \'{x.dtype.type_name}\'. Convert first: x.float().')


def _check_not_empty(x: Tensor, axis: tuple, name: str) -> None:
    for one in axis:
        if x._array.shape[one] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {one} to have non-zero size.")


@public(out=True)
def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Largest element over dims; the gradient is shared among ties."""
    axis = wrap_dims(dim, input._array.ndim)
    _check_not_empty(input, axis, "amax")
    return apply(ops.amax, (input,), {"axis": axis, "keepdims": keepdim})


@public(out=True)
def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Smallest element over dims; the gradient is shared among ties."""
    axis = wrap_dims(dim, input._array.ndim)
    _check_not_empty(input, axis, "amin")
    return apply(ops.amin, (input,), {"axis": axis, "keepdims": keepdim})


def _logical_reduction(ufunc: np.ufunc, input: Any, dim: Any, keepdim: bool) -> Tensor:
    array = as_tensor(input)._array
    axis = wrap_dims(dim, array.ndim)
    result = ufunc.reduce(array, axis=axis, keepdims=keepdim)
    return wrap(result.astype(np.uint8 if array.dtype == np.uint8 else bool))


@public(out=True)
def all(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether all elements (along dims) are non-zero."""
    return _logical_reduction(np.logical_and, input, dim, keepdim)


@public(out=True)
def any(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether any element (along dims) is non-zero."""
    return _logical_reduction(np.logical_or, input, dim, keepdim)


def _arg(function: Any, input: Any, dim: int | None, keepdim: bool, name: str) -> Tensor:
    array = as_tensor(input)._array
    if dim is None:
        if array.size == 0:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.")
        result = np.asarray(function(array))
        return wrap(result.reshape((1,) * array.ndim) if keepdim else result)
    axis = wrap_dim(dim, array.ndim)
    if array.ndim == 0:
        return wrap(np.zeros((), np.int64))
    _check_not_empty(wrap(array), (axis,), name)
    return wrap(np.asarray(function(array, axis=axis, keepdims=keepdim)))


@public(out=True)
def argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index of the largest element, of the flattened tensor or along a dim."""
    return _arg(np.argmax, input, dim, keepdim, "argmax")


@public(out=True)
def argmin(input: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index of the smallest element, of the flattened tensor or along a dim."""
    return _arg(np.argmin, input, dim, keepdim, "argmin")


class ValuesIndices(NamedTuple):
    """What `max`, `sort` and others return: torch's named pair."""

    values: Tensor
    indices: Tensor


__all__ = ["ValuesIndices", "float_operand"]
