"""The tape's edge: give a cotangent the shape and dtype of what it is the gradient of.

Undoing broadcasting and promotion is done here, once, so that no rule has to. The forms for arrays and for tensors
do the same; a tensor's is recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from ..kernels.products import sum_of_rows
from ..kernels.thresholds import PRODUCT_ON_ONE_THREAD
from .basics.constants import FLOAT32, FLOAT64, ones
from .mostly_zeros import Picked
from .tensor import Tensor

if TYPE_CHECKING:
    from .basics.types import Array, DType, Gradient, Shape

add_reduce: Any = np.add.reduce


def dense(gradient: Tensor) -> Tensor:
    """A gradient that somebody gave as a sparse tensor, with its zeros."""
    return gradient.to_dense() if type(gradient) is not Tensor and gradient.is_sparse else gradient


def unbroadcast_array(gradient: Gradient, shape: Shape, dtype: DType) -> Gradient:
    """Sum a gradient over the axes that were broadcast, and cast it."""
    have = gradient.shape
    if have != shape:
        if (
            len(have) == 2
            and have[1:] == shape
            and type(gradient) is ndarray
            and gradient.size <= PRODUCT_ON_ONE_THREAD
        ):
            kind = gradient.dtype
            if kind is dtype and (kind is FLOAT32 or kind is FLOAT64):  # a bias, usually
                return ones(have[0], kind).dot(gradient)
        gradient = gradient.dense() if type(gradient) is Picked else sum_to(gradient, shape)
    if gradient.dtype != dtype:
        if gradient.dtype.kind == "c" and dtype.kind != "c":
            gradient = gradient.real
        gradient = gradient.astype(dtype)
    return gradient


def sum_to(gradient: Gradient, shape: Shape) -> Gradient:
    """The transpose of broadcasting `shape` to the gradient's shape."""
    if type(gradient) is not np.ndarray and not isinstance(gradient, np.generic):
        return _sum_tensor_to(gradient, shape)
    have: Any = gradient.shape
    extra = len(have) - len(shape)
    if extra == 1 and len(have) == 2 and have[1:] == shape and (gradient.dtype is FLOAT32 or gradient.dtype is FLOAT64):
        return sum_of_rows(gradient, ones(have[0], gradient.dtype))  # a bias, usually
    if extra < 0 or any(want not in (1, have) for want, have in zip(shape, have[extra:], strict=True)):
        _check_fits(have, shape)
        return np.broadcast_to(gradient, shape)  # a constant rule, such as the derivative of a sum
    kind = gradient.dtype
    if have[extra:] == shape and kind.char != "e" and kind.kind != "V":
        if not extra:
            return gradient
        if len(shape) == 1 and gradient.size and gradient.flags.c_contiguous and (kind is FLOAT32 or kind is FLOAT64):
            return sum_to(gradient.reshape(-1, shape[0]), shape)
        return add_reduce(gradient, axis=0 if extra == 1 else tuple(range(extra)))  # only leading axes
    axes = (*range(extra), *(i + extra for i, want in enumerate(shape) if want == 1 != gradient.shape[i + extra]))
    if axes:
        if kind.char == "e" or kind.kind == "V":  # half precision: sum in float32, as torch does
            gradient = add_reduce(gradient.astype(np.float32), axis=axes, keepdims=True).astype(kind)
        else:
            gradient = add_reduce(gradient, axis=axes, keepdims=True)
    return gradient.reshape(shape)


def _check_fits(have: Shape, shape: Shape) -> None:
    """RuntimeError if a gradient can be neither summed nor spread to a shape."""
    extra = len(shape) - len(have)
    if extra < 0 or any(n not in (1, want) for n, want in zip(have, shape[extra:], strict=True)):
        raise RuntimeError(
            f"The size of a gradient, {list(have)}, must match that of the tensor it is for, {list(shape)}. If the "
            "tensor's `.data` was replaced after the forward pass, run that again."
        )


def _sum_tensor_to(gradient: Gradient, shape: Shape) -> Gradient:
    from ..ops.reductions import sum_axes
    from ..ops.shape import expand, reshape

    have = tuple(gradient.shape)
    extra = len(have) - len(shape)
    if extra < 0 or any(want not in (1, size) for want, size in zip(shape, have[extra:], strict=True)):
        _check_fits(have, shape)
        return expand(gradient, shape=tuple(shape))
    axes = (*range(extra), *(i + extra for i, want in enumerate(shape) if want == 1 != have[i + extra]))
    if axes:
        gradient = sum_axes(gradient, axis=axes, keepdims=True)
    return reshape(gradient, shape=tuple(shape)) if extra else gradient


def unbroadcast_tensor(gradient: Gradient, shape: Shape, dtype: DType) -> Gradient:
    """`unbroadcast_array` for a recorded pass."""
    if isinstance(gradient, Tensor):
        array = gradient._array
        if array.dtype is dtype and array.shape == shape:
            return gradient
    from ..ops.casting import cast, real

    if not isinstance(gradient, Tensor):
        from .tape import wrap

        gradient = wrap(np.asarray(gradient))
    array = gradient._array
    if array.shape != shape:
        gradient = _sum_tensor_to(gradient, shape)
    if array.dtype != dtype:
        if array.dtype.kind == "c" and dtype.kind != "c":
            gradient = real(gradient)
        gradient = cast(gradient, dtype=dtype)
    return gradient


def zeros_array(shape: Shape, dtype: DType) -> Array:
    """Zeros as an array."""
    return np.zeros(shape, dtype)


def zeros_tensor(shape: Shape, dtype: DType) -> Tensor:
    """Zeros as a tensor."""
    from .tape import wrap

    return wrap(np.zeros(shape, dtype))
