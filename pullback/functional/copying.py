"""Copies, casts and fills: clone, to, copy_, fill_, zero_, contiguous and the dtype methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import views
from ..autograd.tape import apply, wrap
from ..device import device as device_type
from ..device import require_cpu
from ..dtypes import ALIASES, bfloat16, int8, uint8
from ..dtypes import dtype as dtype_type
from ..ops import casting as ops
from ..ops import pointwise
from ..tensor import Tensor
from .operands import as_operand, broadcast_error
from .registry import METHODS, public


@public()
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with its own memory; gradients flow through it."""
    return apply(ops.clone, (input,))


def to_dtype(x: Tensor, dtype: dtype_type, copy: bool = False) -> Tensor:
    """The tensor in another dtype; itself if it has that dtype already."""
    if x.dtype is dtype:
        return apply(ops.clone, (x,)) if copy else x
    if x._array.dtype.kind == "c" and dtype.category < 3 and dtype.name != "bool":
        import warnings

        warnings.warn(
            "Casting complex values to real discards the imaginary part", UserWarning, stacklevel=4
        )
    return apply(ops.cast, (x,), {"dtype": dtype.numpy})


@public(function=False, wrap=False)
def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """To another dtype, device or both, given as dtype, device, or a tensor to be like."""
    dtype = kwargs.get("dtype")
    copy = kwargs.get("copy", False)
    if kwargs.get("device") is not None:
        require_cpu(kwargs["device"])
    if isinstance(kwargs.get("other"), Tensor):
        dtype = kwargs["other"].dtype
    for position, value in enumerate(args):
        if isinstance(value, dtype_type):
            dtype = value
        elif isinstance(value, Tensor):
            dtype = value.dtype
        elif isinstance(value, (str, device_type)) or isinstance(value, int) and not isinstance(value, bool):
            require_cpu(value)
        elif isinstance(value, type) and value in (float, int, bool, complex):
            from ..dtypes import as_dtype

            dtype = as_dtype(value)
        elif isinstance(value, bool) and position >= 2 + (not isinstance(args[0], (dtype_type, Tensor))):
            copy = value
        elif value is not None and not isinstance(value, bool):
            raise TypeError(
                f"to() received an invalid combination of arguments - got ({', '.join(type(a).__name__ for a in args)}). "
                "Pass a dtype, a device, or a tensor."
            )
    if dtype is None:
        return apply(ops.clone, (input,)) if copy else input
    return to_dtype(input, dtype, copy)


def _cast_method(name: str, dtype: dtype_type) -> Any:
    def method(input: Tensor, memory_format: Any = None) -> Tensor:
        return to_dtype(input, dtype)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The tensor as {dtype!r}."
    METHODS[name] = method
    return method


for _name, _dtype in (*ALIASES.items(), ("bfloat16", bfloat16), ("byte", uint8), ("char", int8)):
    _cast_method(_name, _dtype)


@public(function=False)
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """In the dtype of another tensor."""
    return to_dtype(input, other.dtype)


@public(function=False)
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """Itself if its elements lie in order in memory, else a copy that does."""
    array = input._array
    if isinstance(array, np.generic) or array.flags.c_contiguous:
        return input
    return apply(ops.clone_contiguous, (input,))


def copy_(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write the elements of `src` (broadcast, cast) over this tensor."""
    source = as_operand(src)
    if not isinstance(source, Tensor):
        source = wrap(np.asarray(source))
    return _in_place_copy(input, source)


def _in_place_copy(target: Tensor, source: Tensor) -> Tensor:
    shape = target._array.shape
    try:
        fits = np.broadcast_shapes(shape, source._array.shape) == shape
    except ValueError:
        raise broadcast_error(shape, source._array.shape) from None
    if not fits:
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(np.broadcast_shapes(shape, source._array.shape))}")
    return views.in_place(target, lambda x, s: apply(ops.copy_into, (x, s)), source)


METHODS["copy_"] = copy_


def fill_(input: Tensor, value: Any) -> Tensor:
    """Write one value everywhere."""
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions.")
        return views.in_place(input, lambda x, v: apply(pointwise.fill_from, (x, v)), value)
    return views.in_place(input, lambda x: apply(pointwise.fill, (x,), {"value": value}))


def zero_(input: Tensor) -> Tensor:
    """Write zeros everywhere."""
    return views.in_place(input, lambda x: apply(pointwise.zero, (x,)))


METHODS["fill_"] = fill_
METHODS["zero_"] = zero_


@public()
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of one value in the shape of this one."""
    if isinstance(value, Tensor):
        return apply(pointwise.fill_from, (input, value))
    return apply(pointwise.fill, (input,), {"value": value})
