"""Making tensors: `tensor`, `zeros`, `*_like`, `new_*`.

What data becomes is in `from_data.py`, evenly spaced numbers in `ranges.py`, random ones in `random.py`; sharing memory
with other libraries in `shell/interop/`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import seams
from ..core.basics import dtypes
from ..core.basics.device import defaults, meta, place_of, require_cpu
from ..core.basics.dtypes import as_dtype, default_dtype, from_numpy_dtype, number_in
from ..core.basics.dtypes import dtype as dtype_type
from ..core.basics.layout import dims_of, require_strided
from ..core.basics.notices import warn_user
from ..core.basics.size import Size
from ..core.basics.unwritten import filled
from ..core.basics.unwritten import settings as unwritten
from ..core.mode import current_mode
from ..core.tensor import Tensor, wrap
from ..kernels.order import dense_order, empty_in, in_dims
from .from_data import all_floats_between, array_from
from .operands import sizes_of
from .out_argument import write_out
from .refusals import complaint_for, must_be_tensor
from .registry import public


def _is_meta(device: Any) -> bool:
    """True if a tensor for this device, or for the one that is the default now, has no elements."""
    return (defaults[-1] if device is None and defaults else place_of(device)) is meta


def finish(
    array: np.ndarray, requires_grad: bool = False, device: Any = None, pin_memory: bool = False, layout: Any = None
) -> Tensor:
    """Wrap a fresh array as a leaf."""
    mode = current_mode()
    if device is layout is None and not requires_grad and not defaults and not mode.inference:
        return wrap(array)
    if (device is not None or defaults) and _is_meta(device):
        return seams.outlined(array, requires_grad)
    if layout is not None:
        require_strided(layout)
    result = wrap(array)
    if requires_grad:
        if array.dtype.kind not in "fcV":
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients. This one would have dtype "
                f"{from_numpy_dtype(array.dtype)!r}: pass dtype=torch.float32, or write 1. instead of 1."
            )
        result._requires_grad = True
    if mode.inference:
        result._inference = True
    return result


def numpy_dtype(dtype: Any) -> np.dtype:
    """NumPy's dtype for torch's, the default one for None."""
    return (default_dtype() if dtype is None else as_dtype(dtype))._numpy


# --- from data ---


@public(method=False, direct=True, asks="modes")
def tensor(
    data: Any,
    *,
    dtype: dtype_type | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor that copies `data`: a number, nested lists, an array.

    Floats become float32 (the default dtype), integers int64; arrays keep their dtype. `requires_grad=True` asks for
    gradients. `as_tensor` and `from_numpy` share memory instead of copying.
    """
    if (
        type(data) is list and data and type(data[0]) is float is type(data[-1]) and dtype is None and device is None
        and not defaults and (len(data) < 3 or all_floats_between(data))
    ):  # fmt: skip
        try:
            array = np.array(data, dtypes.default._numpy)
        except (TypeError, ValueError):
            pass  # mixed or nested: the careful way below says what is wrong
        else:
            if not current_mode().special:
                result = wrap(array)
                if requires_grad:
                    result._requires_grad = True
                    result._anchor = result._grad = None  # asked for soon, and read faster from the instance
                return result
    if isinstance(data, Tensor):
        warn_user(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
        )
    elif type(data) is not list and hasattr(data, "untyped"):
        return finish(_of_storage(data, dtype), requires_grad, device)
    return finish(array_from(data, dtype), requires_grad, device)


def _of_storage(storage: Any, dtype: Any) -> np.ndarray:
    """The memory of a storage, not a copy: its own elements, or the bytes of an untyped one as elements of any dtype."""
    return storage.as_array(getattr(storage, "dtype", dtypes.uint8) if dtype is None else as_dtype(dtype))


@public(method=False, direct=True, asks="modes")
def as_tensor(data: Any, dtype: dtype_type | None = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing memory where possible: a tensor of this dtype is returned as it is."""
    if device is not None:
        require_cpu(device)
    if isinstance(data, Tensor):
        return data if dtype is None or data.dtype is dtype else data.to(dtype)
    if isinstance(data, np.ndarray):
        from ..shell.interop import from_numpy

        result = from_numpy(data)
        return result if dtype is None else result.to(dtype)
    if hasattr(data, "__dlpack__") and not hasattr(data, "untyped"):
        from ..shell.interop import from_dlpack

        result = from_dlpack(data)
        return result if dtype is None else result.to(dtype)
    return tensor(data, dtype=dtype)


@public(method=False, direct=True, asks="modes")
def asarray(
    obj: Any,
    *,
    dtype: dtype_type | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """`obj` as a tensor; `copy=True` never shares memory, `copy=False` must.

    A tensor keeps its history unless `requires_grad=False`.
    """
    shared = _sharing(obj, dtype)
    if shared is None:
        if copy is False:
            error = RuntimeError if isinstance(obj, np.generic) else ValueError
            what = "NumPy scalars" if isinstance(obj, np.generic) else "arbitrary sequence into a tensor"
            raise error(f"can't alias {what}: {type(obj).__name__} has no memory to share")
        result = tensor(obj, dtype=dtype, device=device)
    elif copy is False and dtype is not None and shared.dtype is not dtype:
        raise ValueError(
            f"can't alias tensor with dtype '{shared.dtype.type_name}' into dtype '{as_dtype(dtype).type_name}'."
        )
    else:
        result = shared if dtype is None else shared.to(dtype)
        result = result.clone() if copy and result is shared else result
    if device is not None:
        require_cpu(device)
    if requires_grad is not None and requires_grad != result.requires_grad:
        result = (result.detach() if result is obj or not requires_grad else result).requires_grad_(requires_grad)
    return result


def _sharing(obj: Any, dtype: Any) -> Tensor | None:
    """A tensor in the memory of `obj`, if that has memory of a kind we know."""
    if isinstance(obj, (Tensor, np.ndarray)) or not isinstance(obj, np.generic) and hasattr(obj, "__dlpack__"):
        return as_tensor(obj, dtype if hasattr(obj, "untyped") else None)
    if isinstance(obj, (list, tuple, np.generic, int, float, complex)):
        return None
    if type(obj).__name__ == "PyCapsule":
        from ..shell.interop import from_dlpack

        return from_dlpack(obj)
    try:
        memoryview(obj)
    except TypeError:
        return None
    from .from_memory import frombuffer

    return frombuffer(obj, dtype=default_dtype() if dtype is None else dtype)


@public(method=False, direct=True, tensors=False)
def scalar_tensor(
    s: Any, *, dtype: dtype_type | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A 0-d tensor of the default dtype."""
    kind = numpy_dtype(dtype)
    return finish(
        np.array(number_in(s, kind) if isinstance(s, (int, float)) else s).astype(kind), requires_grad, device
    )


def legacy_tensor(cls: type[Any], *args: Any, **kwargs: Any) -> Tensor:
    """`Tensor(2, 3)` (sizes), `Tensor([1, 2])` (data) or `Tensor()`."""
    kwargs.pop("device", None)
    args = tuple(kwargs.pop("size")) if "size" in kwargs else args
    wanted = kwargs.pop("dtype", None) or default_dtype()
    kind = numpy_dtype(wanted)
    if not args or all(isinstance(a, int) and not isinstance(a, bool) for a in args):
        array = filled(np.empty(args or (0,), kind))
    elif len(args) == 1 and isinstance(args[0], Size):
        array = filled(np.empty(tuple(args[0]), kind))
    elif len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].as_subclass(cls)
    elif len(args) == 1 and hasattr(args[0], "untyped"):  # a storage: its memory, not a copy
        array = _of_storage(args[0], wanted)
    elif len(args) == 1:
        if isinstance(args[0], (float, str)) or args[0] is None:
            raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
        array = array_from(args[0], wanted)
    else:
        raise TypeError(
            f"new() received an invalid combination of arguments - got ({', '.join(type(a).__name__ for a in args)})"
        )
    result = object.__new__(cls)
    result._array = array
    return result


# --- filled ---


def _checked(args: tuple, size: Any) -> tuple:
    if size is not None:
        args = (size,)
    sizes = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
    for n in sizes:
        if type(n) is not int or n < 0:
            break
    else:
        return sizes
    sizes = sizes_of(args)
    for n in sizes:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(sizes)}")
    return sizes


def _made(
    function: Any, args: tuple, size: Any, dtype: Any, requires_grad: bool, device: Any, layout: Any, out: Tensor | None
) -> Tensor:
    """A tensor on what a NumPy creation function gives for sizes and a dtype; an absurd size is a clear error."""
    sizes = _checked(args, size)
    if out is not None:
        dtype = dtype_for(dtype, out)
    if (device is not None or defaults) and _is_meta(device):
        function = _without_memory
    try:
        array = function(sizes, default_dtype()._numpy if dtype is None else as_dtype(dtype)._numpy)
    except (ValueError, OverflowError):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(sizes)}: no machine has that much memory"
        ) from None
    result = finish(array, requires_grad, device, False, layout)
    return result if out is None else write_to_out(out, result)


def _without_memory(sizes: Any, kind: np.dtype) -> np.ndarray:
    return np.broadcast_to(np.zeros((), kind), sizes)


def _filled_with_ones(sizes: Any, kind: np.dtype) -> np.ndarray:
    array = np.empty(sizes, kind)
    array.fill(1)  # NumPy's own `ones` looks at more, and takes four times as long for a few
    return array


@public(method=False, direct=True, tensors=False)
def zeros(
    *args: Any,
    size: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    out: Tensor | None = None,
    names: Any = None,
) -> Tensor:
    """A tensor of zeros: `zeros(2, 3)` or `zeros((2, 3))`."""
    return _made(np.zeros, args, size, dtype, requires_grad, device, layout, out)


@public(method=False, direct=True, tensors=False)
def ones(
    *args: Any,
    size: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    out: Tensor | None = None,
    names: Any = None,
) -> Tensor:
    """A tensor of ones: `ones(2, 3)` or `ones((2, 3))`."""
    return _made(_filled_with_ones, args, size, dtype, requires_grad, device, layout, out)


@public(method=False, direct=True, tensors=False)
def empty(
    *args: Any,
    size: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
    out: Tensor | None = None,
    names: Any = None,
) -> Tensor:
    """A tensor whose elements are whatever was in memory, to be filled: `empty(2, 3)`."""
    made = _made(np.empty, args, size, dtype, requires_grad, device, layout, out)
    if unwritten.deterministic:
        filled(made._array)
    if memory_format is not None and type(made._array) is np.ndarray and out is None:
        made._array = in_dims(made._array, dims_of(memory_format, made._array.ndim) or range(made._array.ndim))
    return made


@public(method=False, direct=True, tensors=False)
def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    out: Tensor | None = None,
    names: Any = None,
) -> Tensor:
    """A tensor of one value; its dtype follows the value: `full((2, 3), 1.0)`."""
    value = fill_value.item() if isinstance(fill_value, (Tensor, np.generic)) else fill_value
    if dtype is None and out is None:
        dtype = None if type(value) is float else from_numpy_dtype(array_from(value).dtype)
    sizes = _checked((size,) if not isinstance(size, int) else ((size,),), None)
    kind = numpy_dtype(dtype_for(dtype, out))
    array = np.empty(sizes, kind)
    array.fill(number_in(value, kind))
    return write_to_out(out, finish(array, requires_grad, device, False, layout))


def dtype_for(dtype: Any, out: Tensor | None) -> Any:
    """The dtype asked for, or else that of `out`; RuntimeError if they differ."""
    if out is None or dtype is out.dtype:
        return dtype
    if dtype is not None:
        raise RuntimeError(
            f"dtype {as_dtype(dtype).type_name} does not match dtype of out parameter ({out.dtype.type_name})"
        )
    return out.dtype


def write_to_out(out: Tensor | None, result: Tensor, in_order: bool = False) -> Tensor:
    """Write to `out`, which takes the new shape; `in_order`: memory of any shape that has the size is filled in order."""
    if out is None:
        return result
    if in_order and out._array.size == result._array.size:
        result = result.reshape(out._array.shape)
    elif out._array.shape != result._array.shape:
        out.resize_(result._array.shape)
    write_out("creation", out, result)
    return out


def _like(function: Any, input: Tensor, dtype: Any, requires_grad: bool, device: Any, memory_format: Any) -> Tensor:
    if not isinstance(input, Tensor):
        raise must_be_tensor(input)
    array = input._array
    wanted = array.dtype if dtype is None else as_dtype(dtype)._numpy
    if isinstance(array, (np.ndarray, np.generic)):
        order = dims_of(memory_format, array.ndim)
        if order is None and not array.flags.c_contiguous and 0 in array.strides:
            order = dense_order(array)  # NumPy would put what was expanded innermost
        if order is not None:
            array = empty_in(array.shape, order, wanted)
        return finish(function(array, wanted), requires_grad, device)
    fresh = finish(function(np.empty(array.shape, wanted)), requires_grad, device or input.device)
    return fresh if input.is_meta else with_batch_memory(input, fresh)


def with_batch_memory(input: Tensor, fresh: Tensor) -> Tensor:
    """A fresh tensor; beside a batch, with memory for each example."""
    if isinstance(input._array, (np.ndarray, np.generic)):
        return fresh
    from ..transforms.arrays.own_memory import room_for_examples

    result = wrap(room_for_examples(fresh._array, input._array))
    result._requires_grad = fresh._requires_grad
    return result


def _zeros_like(array: np.ndarray, dtype: np.dtype | None = None) -> np.ndarray:
    if type(array) is np.ndarray and array.flags.c_contiguous:
        return np.zeros(array.shape, dtype or array.dtype)  # NumPy's own takes five times as long for a few
    return np.zeros_like(array, dtype=dtype)


@public(method=False, direct=True)
def zeros_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """Zeros in the shape and dtype of another tensor."""
    return _like(_zeros_like, input, dtype, requires_grad, device, memory_format)


@public(method=False, direct=True)
def ones_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """Ones in the shape and dtype of another tensor."""
    return _like(np.ones_like, input, dtype, requires_grad, device, memory_format)


@public(method=False, direct=True)
def empty_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """An uninitialised tensor in the shape and dtype of another."""
    made = _like(np.empty_like, input, dtype, requires_grad, device, memory_format)
    if unwritten.deterministic:
        filled(made._array)
    return made


@public(method=False, direct=True)
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """One value in the shape and dtype of another tensor."""
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    try:
        kind = input._array.dtype if dtype is None else numpy_dtype(dtype)
    except AttributeError as error:
        raise complaint_for(error) from None
    value = number_in(value, kind)
    return _like(
        lambda array, dtype=None: np.full_like(array, value, dtype=dtype),
        input,
        dtype,
        requires_grad,
        device,
        memory_format,
    )


# --- methods that make tensors of the same kind ---


def _new(creator: Any) -> None:
    def method(
        self: Tensor, *args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **kwargs: Any
    ) -> Tensor:
        kwargs.pop("layout", None), kwargs.pop("pin_memory", None)
        kind = self.dtype if dtype is None else dtype
        return with_batch_memory(self, creator(*args, dtype=kind, device=device, requires_grad=requires_grad, **kwargs))

    method.__name__ = f"new_{creator.__name__}"
    method.__doc__ = f"`{creator.__name__}` in the dtype of this tensor unless told otherwise."
    public(function=False, direct=True)(method)


@public(function=False, direct=True)
def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor from data, in the dtype of this one."""
    return tensor(data, dtype=self.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad)


@public(function=False, direct=True)
def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor from sizes or data, in the dtype of this one, as the oldest constructor made it."""
    return legacy_tensor(Tensor, *args, **{"dtype": self.dtype, **kwargs}).to(self.dtype)


for _function in (zeros, ones, empty, full):
    _new(_function)
