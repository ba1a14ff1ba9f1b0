"""Copies, casts and fills: clone, to, copy_, fill_, zero_, contiguous, the dtype methods, detach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import seams, writes
from ..core.basics.device import cpu, meta, place_of
from ..core.basics.device import device as device_type
from ..core.basics.dtypes import ALIASES, BOOL, FLOAT, INTEGER, LARGEST_HALF, as_dtype, bfloat16, int8, number_in, uint8
from ..core.basics.dtypes import dtype as dtype_type
from ..core.basics.layout import dims_of
from ..core.basics.notices import warn_user
from ..core.basics.storage import storage_of
from ..core.tape import apply, apply_unary, wrap
from ..core.tensor import Tensor
from ..core.views import is_broken
from ..kernels.order import has_channels_last, lies_in
from ..ops import casting as ops
from ..ops import piecewise
from .checks import ONE_VALUE, invalid_combination
from .operands import NUMBERS, as_operand, common_shape
from .refusals import must_be_tensor
from .registry import public
from .writing import plain_operands


@public()
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with its own memory; gradients flow through it."""
    order = dims_of(memory_format, input._array.ndim)
    return apply_unary(ops.clone, input) if order is None else _cloned_in(input, order)


def _cloned_in(input: Tensor, order: tuple[int, ...]) -> Tensor:
    """A copy whose dims lie in an order."""
    if order == tuple(range(len(order))) or type(input._array) is not np.ndarray:
        return apply_unary(ops.clone_contiguous, input)
    return apply_unary(ops.clone_in, input, {"order": order})


def to_dtype(x: Tensor, dtype: dtype_type, copy: bool = False) -> Tensor:
    """The tensor in another dtype; itself if it has that dtype already."""
    if x.dtype is dtype:
        return apply_unary(ops.clone, x) if copy else x
    if x._array.dtype.kind == "c" and dtype._category in (INTEGER, FLOAT):
        warn_user("Casting complex values to real discards the imaginary part")
    if x._view is not None and dtype._category in (BOOL, INTEGER) and is_broken(x):
        x = x.detach()  # its history is not needed any more
    return apply_unary(ops.cast, x, {"dtype": dtype._numpy})


@public(function=False, direct=True)
def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """To another dtype, device or both, given as dtype, device, or a tensor to be like."""
    if not kwargs and len(args) == 1:
        kind = type(args[0])
        if kind is dtype_type:
            return to_dtype(input, args[0])
        if kind is device_type and args[0] is cpu or kind is str and args[0] == "cpu":
            return input
    device, dtype, _, copy, memory_format = arguments_of_to(args, kwargs)
    order = dims_of(memory_format, input._array.ndim)
    if order is not None:
        result = to(input, device, dtype, copy=copy)
        if result is not input:
            return contiguous(result, memory_format)
        return input if _has_dims_in(input._array, order) else _cloned_in(input, order)
    if place_of(device) is meta:
        return seams.outlined(input._array).to(input.dtype if dtype is None else dtype)
    if dtype is None:
        return apply_unary(ops.clone, input) if copy else input
    return to_dtype(input, dtype, copy)


def arguments_of_to(args: tuple, kwargs: dict) -> tuple[Any, dtype_type | None, bool, bool, Any]:
    """Device, dtype, `non_blocking`, `copy` and memory format, from the arguments of `to` in any of its forms."""
    first = args[0] if args else kwargs.get("tensor")
    form = _like if isinstance(first, Tensor) else _in_dtype if isinstance(first, (dtype_type, type)) else _at_place
    try:
        device, dtype, non_blocking, copy, memory_format = form(*args, **kwargs)
        dtype = as_dtype(dtype) if dtype in (float, int, bool, complex) else dtype
        known = isinstance(device, (str, int, device_type, type(None))) and isinstance(dtype, (dtype_type, type(None)))
        if known and type(device) is not bool and type(non_blocking) is type(copy) is bool:
            return device, dtype, non_blocking, copy, memory_format
    except TypeError:
        pass
    wanted = "expected one of: (device, dtype, non_blocking, copy), (dtype, non_blocking, copy), (tensor, non_blocking, copy)"
    raise invalid_combination("to", *args, *kwargs.values(), wanted=wanted)


def _like(tensor: Tensor, non_blocking: Any = False, copy: Any = False, *, memory_format: Any = None) -> tuple:
    return tensor.device, tensor.dtype, non_blocking, copy, memory_format


def _in_dtype(dtype: Any, non_blocking: Any = False, copy: Any = False, *, memory_format: Any = None) -> tuple:
    return None, dtype, non_blocking, copy, memory_format


def _at_place(
    device: Any = None, dtype: Any = None, non_blocking: Any = False, copy: Any = False, *, memory_format: Any = None
) -> tuple:
    return device, dtype, non_blocking, copy, memory_format


def _cast_method(name: str, dtype: dtype_type) -> None:
    def method(input: Tensor, memory_format: Any = None) -> Tensor:
        return to_dtype(input, dtype) if memory_format is None else to(input, dtype, memory_format=memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The tensor as {dtype!r}."
    public(function=False, direct=True)(method)


for _name, _dtype in (*ALIASES.items(), ("bfloat16", bfloat16), ("byte", uint8), ("char", int8)):
    _cast_method(_name, _dtype)


@public(function=False, direct=True)
def chalf(input: Tensor, memory_format: Any = None) -> Tensor:
    """Refused: NumPy has no complex numbers of half precision."""
    raise RuntimeError("complex32 is not supported: NumPy has no such type. Use x.cfloat() for complex64.")


@public(function=False)
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """In the dtype of another tensor."""
    return to_dtype(input, other.dtype)


@public(function=False)
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """Itself if its elements lie in order in memory, else a copy that does."""
    array = input._array
    if memory_format is not None and (order := dims_of(memory_format, array.ndim)) is not None:
        lies = array.flags.c_contiguous if type(array) is not np.ndarray else lies_in(array, order)
        return input if lies else _cloned_in(input, order)
    if memory_format is not None:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator: there is nothing to do")
    if isinstance(array, np.generic) or array.flags.c_contiguous:
        return input
    return apply_unary(ops.clone_contiguous, input)


def _has_dims_in(array: Any, order: tuple[int, ...]) -> bool:
    """True if torch sees an array's dims in this order, with gaps or without, so that `to` has nothing to do."""
    if type(array) is not np.ndarray:
        return True
    last = array.ndim in (4, 5) and has_channels_last(array)
    return last == (order != tuple(range(array.ndim)))


@public(function=False, direct=True)
def copy_(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write the elements of `src` (broadcast, cast) over this tensor."""
    if isinstance(src, Tensor) and src._array.shape == input._array.shape:
        arrays = plain_operands(input, (src,))
        if arrays is not None:
            writes.bump(storage_of(input))
            arrays[0][...] = arrays[1]
            return input
    source = None if isinstance(src, np.ndarray) else as_operand(src)
    if source is None:
        raise must_be_tensor(src, "copy_", "other")
    if not isinstance(source, Tensor):
        source = wrap(np.asarray(source))
    shape, given = input._array.shape, source._array.shape
    if given != shape:
        writes.check_early(input, source)
        common = common_shape(shape, given)
        if common != shape:
            raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(common)}")
    return writes.write_in_place(input, ops.copy_into, (source,), {}, ops.copy_over, overlap=source is input)


@public(method=False)
@public(function=False, direct=True)
def fill_(input: Tensor, value: Any) -> Tensor:
    """Write one value everywhere."""
    if (type(value) is float or type(value) is int) and -LARGEST_HALF < value < LARGEST_HALF:
        arrays = plain_operands(input, ())
        if arrays is not None:
            writes.bump(storage_of(input))
            arrays[0].fill(value)
            return input
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions."
            )
        return writes.write_in_place(input, piecewise.fill_from, (value,), {}, ops.copy_over)
    if not isinstance(value, (*NUMBERS, np.generic)):
        raise invalid_combination("fill_", value, wanted=ONE_VALUE)
    if isinstance(value, NUMBERS):
        value = number_in(value, input._array.dtype)
    return writes.write_in_place(input, piecewise.fill, (), {"value": value}, _fill_over, overlap=True)


def _fill_over(array: Any, value: Any) -> None:
    array.fill(value)


@public(method=False)
@public(function=False, direct=True)
def zero_(input: Tensor) -> Tensor:
    """Write zeros everywhere."""
    arrays = plain_operands(input, ())
    if arrays is not None:
        writes.bump(storage_of(input))
        arrays[0].fill(0)
        return input
    return writes.write_in_place(input, piecewise.zero, (), {}, _zero_over, overlap=True)


def _zero_over(array: Any) -> None:
    array.fill(0)


@public()
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of one value in the shape of this one."""
    if isinstance(value, Tensor):
        return apply(piecewise.fill_from, (input, value))
    number_in(value, input._array.dtype)
    return apply(piecewise.fill, (input,), {"value": value})


# --- without the history ---


@public(method=False)
def detach(input: Tensor) -> Tensor:
    """The same memory without the history."""
    return input.detach()


@public(method=False, direct=True)
def detach_(input: Tensor) -> Tensor:
    """Forget this tensor's history."""
    return input.detach_()


# --- functions of Python numbers, element by element ---


def _refuse_grad(input: Tensor, name: str) -> None:
    if input.requires_grad:
        raise TypeError(f"Can't call {name} on a Variable that requires grad. Use var.detach().{name}() instead.")


@public(function=False, direct=True)
def apply_(input: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace every element by `callable(element)`. Slow: for small tensors."""
    _refuse_grad(input, "apply_()")
    array = input.memory()
    values = [callable(element) for element in array.ravel().tolist()]
    if any(isinstance(value, str) for value in values):
        raise TypeError("must be real number, not str")
    result = np.array(values, array.dtype).reshape(array.shape)
    writes.bump(storage_of(input))
    array[...] = result
    return input


@public(function=False, direct=True)
def map_(input: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace every element by `callable(element, element of tensor)`. Slow: for small tensors."""
    _refuse_grad(input, "map_()")
    array = input.memory()
    other = tensor.expand(array.shape)._array
    writes.bump(storage_of(input))
    for place in np.ndindex(array.shape):
        array[place] = callable(array[place].item(), other[place].item())
    return input
