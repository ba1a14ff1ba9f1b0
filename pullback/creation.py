"""Making tensors: `tensor`, `zeros`, `*_like`, `new_*`, and conversion from data.

Evenly spaced numbers are in `ranges.py`, random ones in `random.py`; sharing memory with other libraries in `interop/`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .autograd.mode import current_mode
from .autograd.tape import wrap
from .device import defaults, meta, place_of, require_cpu
from .dtypes import as_dtype, default_dtype, from_numpy_dtype, number_in, promote_types, scalar_dtype
from .dtypes import dtype as dtype_type
from .functional.operands import sizes_of
from .functional.registry import FUNCTIONS, METHODS
from .layout import dense_order
from .notices import warn_user
from .quiet import quiet
from .tensor import Tensor


def finish(
    array: np.ndarray, requires_grad: bool = False, device: Any = None, pin_memory: bool = False, layout: Any = None
) -> Tensor:
    """Wrap a fresh array as a leaf."""
    if (device is not None or defaults) and (defaults[-1] if device is None else place_of(device)) is meta:
        from .nn.meta import outlined

        return outlined(array, requires_grad)
    if layout is not None:
        from .layout import require_strided

        require_strided(layout)
    result = wrap(array)
    if requires_grad:
        if array.dtype.kind not in "fcV":
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients. This one would have dtype "
                f"{from_numpy_dtype(array.dtype)!r}: pass dtype=torch.float32, or write 1. instead of 1."
            )
        result._requires_grad = True
    if current_mode().inference:
        result._inference = True
    return result


def numpy_dtype(dtype: Any) -> np.dtype:
    """NumPy's dtype for torch's, the default one for None."""
    return (default_dtype() if dtype is None else as_dtype(dtype)).numpy


# --- from data ---


def tensor(
    data: Any, *, dtype: dtype_type | None = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new tensor that copies `data`: a number, nested lists, an array."""
    if type(data) is list and data and dtype is None and device is None and not defaults and _all_floats(data):
        try:
            array = np.array(data, default_dtype().numpy)
        except (TypeError, ValueError):
            pass  # mixed or nested: the careful way below says what is wrong
        else:
            if not current_mode().special:
                result = wrap(array)
                if requires_grad:
                    result._requires_grad = True
                return result
    if isinstance(data, Tensor):
        warn_user(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
        )
    return finish(array_from(data, dtype), requires_grad, device)


def _all_floats(data: list[Any]) -> bool:
    """Whether a list is of Python floats. Of a long one the ends are looked at: those are not written by hand."""
    if len(data) > _SHORT:
        return type(data[0]) is type(data[-1]) is float
    for item in data:
        if type(item) is not float:
            return False
    return True


def array_from(data: Any, dtype: Any = None) -> np.ndarray:
    """A fresh array in torch's idea of the data's dtype."""
    if type(data) is float:
        kind = (default_dtype() if dtype is None else as_dtype(dtype)).numpy
        return np.array(data, kind) if kind.kind == "f" and -65504 < data < 65504 else _number(data, kind)
    if isinstance(data, Tensor):
        array = np.array(data._array)
    elif isinstance(data, (np.ndarray, np.generic)):
        from_numpy_dtype(data.dtype)
        array = np.array(data, order="C")
    else:
        array, from_numbers = _from_python(data)
        if dtype is None and from_numbers and array.dtype.kind == "u":
            raise ValueError("Overflow when unpacking long long: the number does not fit in int64")
        if dtype is None and from_numbers:
            array = _typed(array)
    if dtype is not None:
        wanted = as_dtype(dtype).numpy
        if array.dtype.kind == "c" and wanted.kind not in "cb":
            raise TypeError("must be real number, not complex: take .real or .imag first")
        if array.dtype.kind == "O":
            return _checked_integers(array, wanted)
        if wanted.kind in "iu" and array.dtype != wanted and array.size and not isinstance(data, (Tensor, np.ndarray)):
            _check_range(array, wanted)
        with np.errstate(all="ignore"):
            array = array.astype(wanted, copy=False)
    elif array.dtype.kind == "O":
        raise RuntimeError("Overflow when unpacking long long: the number does not fit in int64")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _check_range(array: np.ndarray, wanted: np.dtype) -> None:
    """Numbers must fit into integers they are asked to be; arrays and tensors are cast, whatever becomes of them."""
    low, high = array.min(), array.max()
    if array.dtype.kind in "iu":
        for bound in (low, high):
            number_in(int(bound), wanted)
    elif array.dtype.kind == "f":
        limits = np.iinfo(wanted)
        if not (limits.min <= low and high <= limits.max):
            raise _overflow(wanted)


def _overflow(kind: np.dtype) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {kind.name} without overflow")


@quiet
def _number(value: float, kind: np.dtype) -> np.ndarray:
    if kind.kind in "iu":
        _check_range(np.array(value), kind)
    return np.array(value).astype(kind)


def _checked_integers(array: np.ndarray, wanted: np.dtype) -> np.ndarray:
    try:
        return array.astype(wanted)
    except OverflowError:
        raise _overflow(wanted) from None


def _from_python(data: Any) -> tuple[np.ndarray, bool]:
    """An array of a number or of nested sequences, and whether it was made of Python numbers (which have no dtype)."""
    if isinstance(data, (bool, int, float, complex)):
        return np.array(data), True
    if isinstance(data, (str, dict, set, frozenset)) or data is None or not hasattr(data, "__len__"):
        if hasattr(data, "__array__") or hasattr(data, "__dlpack__") or hasattr(data, "__array_interface__"):
            return np.array(np.asarray(data)), False
        if isinstance(data, str):
            raise TypeError("new(): invalid data type 'str'")
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    if type(_first_element(data)) in (bool, int, float, complex):
        try:
            array = np.array(data)
        except (ValueError, TypeError, RuntimeError):
            pass  # ragged, or mixed with tensors
        else:
            if array.dtype.kind in "bi" or array.dtype.kind in "fc" and not _holds_dtypes(data, array.size):
                return array, True
    return _element_by_element(data)


_DEEPEST = 64  # dims that an array can have
_SHORT = 32  # elements of a list that may be of several kinds


def _holds_dtypes(data: Any, size: int) -> bool:
    """Whether nested sequences hold scalars of NumPy or tensors, whose dtypes count. Of many elements the last is asked."""
    if not isinstance(data, (list, tuple)):
        return hasattr(data, "dtype")
    return any(_holds_dtypes(item, size) for item in (data if size <= _SHORT else data[-1:]))


def _first_element(data: Any) -> Any:
    depth = 0
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
        depth += 1
        if depth > _DEEPEST:
            raise ValueError(f"too many dimensions '{type(data).__name__}': a list that holds itself has no end")
    return data


def _element_by_element(data: Any) -> tuple[np.ndarray, bool]:
    shape = _shape_of(data)
    flat: list[Any] = []
    _flatten(data, shape, 0, flat)
    if not flat:
        return np.empty(shape, default_dtype().numpy), False
    if any(isinstance(item, (np.ndarray, np.generic)) for item in flat):
        kinds = {from_numpy_dtype(item.dtype) if hasattr(item, "dtype") else scalar_dtype(item) for item in flat}
        common = functools.reduce(promote_types, kinds)
        return np.array([np.asarray(item) for item in flat], common.numpy).reshape(shape), False
    return np.array(flat).reshape(shape), True


def _typed(array: np.ndarray) -> np.ndarray:
    """Python floats and complex numbers take the default dtype."""
    if array.dtype == np.float64:
        return array.astype(default_dtype().numpy)
    if array.dtype == np.complex128:
        return array.astype(default_dtype().to_complex().numpy)
    if array.dtype.kind in "US":
        raise ValueError("too many dimensions 'str'")
    return array


def _shape_of(data: Any) -> tuple:
    shape: list[int] = []
    while not isinstance(data, (str, bytes, np.generic)) and hasattr(data, "__len__"):
        if isinstance(data, Tensor) and shape and data.numel() == 1:
            break  # inside a list, a tensor of one element is a number whatever its shape
        if isinstance(data, (Tensor, np.ndarray)):
            shape.extend(data.shape)
            break
        shape.append(len(data))
        if len(data) == 0:
            break
        data = data[0]
    return tuple(shape)


def _flatten(data: Any, shape: tuple, depth: int, out: list) -> None:
    if isinstance(data, str):
        if depth and len(shape) == depth and out:
            raise TypeError("new(): invalid data type 'str'")
        raise ValueError("too many dimensions 'str'")
    if depth == len(shape):
        if isinstance(data, Tensor):
            data = data._array
        if isinstance(data, np.ndarray) and data.size == 1:
            data = data.reshape(())[()]
        if data is None:
            raise RuntimeError("Could not infer dtype of NoneType")
        if not isinstance(data, (bool, int, float, complex, np.generic)):
            if hasattr(data, "__len__"):
                raise TypeError(f"not a sequence of numbers: {type(data).__name__} at depth {depth}")
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
        out.append(data)
        return
    if not hasattr(data, "__len__"):
        raise TypeError(f"not a sequence: expected a sequence of length {shape[depth]} at dim {depth}, got {type(data).__name__}")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    if isinstance(data, Tensor):
        data = data._array
    for item in data:
        _flatten(item, shape, depth + 1, out)


def as_tensor(data: Any, dtype: dtype_type | None = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing memory where possible."""
    if device is not None:
        require_cpu(device)
    if isinstance(data, Tensor):
        return data if dtype is None or data.dtype is dtype else data.to(dtype)
    if isinstance(data, np.ndarray):
        from .interop import from_numpy

        result = from_numpy(data)
        return result if dtype is None else result.to(dtype)
    if hasattr(data, "__dlpack__"):
        from .interop import from_dlpack

        result = from_dlpack(data)
        return result if dtype is None else result.to(dtype)
    return tensor(data, dtype=dtype)


def asarray(
    obj: Any, *, dtype: dtype_type | None = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool | None = None
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
        return as_tensor(obj)
    if isinstance(obj, (list, tuple, np.generic, int, float, complex)):
        return None
    if type(obj).__name__ == "PyCapsule":
        from .interop import from_dlpack

        return from_dlpack(obj)
    try:
        memoryview(obj)
    except TypeError:
        return None
    from .functional.tensor_facts import frombuffer

    return frombuffer(obj, dtype=default_dtype() if dtype is None else dtype)


def scalar_tensor(
    s: Any, *, dtype: dtype_type | None = None, device: Any = None, requires_grad: bool = False, **_: Any
) -> Tensor:
    """A 0-d tensor of the default dtype."""
    return finish(np.array(s).astype(numpy_dtype(dtype)), requires_grad, device)


def legacy_tensor(cls: type[Any], *args: Any, **kwargs: Any) -> Tensor:
    """`Tensor(2, 3)` (sizes), `Tensor([1, 2])` (data) or `Tensor()`."""
    kwargs.pop("device", None)
    args = tuple(kwargs.pop("size")) if "size" in kwargs else args
    wanted = kwargs.pop("dtype", None) or default_dtype()
    kind = numpy_dtype(wanted)
    if not args or all(isinstance(a, int) and not isinstance(a, bool) for a in args):
        array = np.empty(args or (0,), kind)
    elif len(args) == 1 and type(args[0]).__name__ == "Size":
        array = np.empty(tuple(args[0]), kind)
    elif len(args) == 1 and isinstance(args[0], Tensor):
        array = args[0]._array
    elif len(args) == 1:
        if isinstance(args[0], (float, str)) or args[0] is None:
            raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
        array = array_from(args[0], wanted)
    else:
        raise TypeError(f"new() received an invalid combination of arguments - got ({', '.join(type(a).__name__ for a in args)})")
    result = object.__new__(cls)
    result._array = array
    return result


# --- filled ---


def _checked(args: tuple, size: Any) -> tuple:
    if size is not None:
        args = (size,)
    sizes = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
    for n in sizes:
        if type(n) is not int:
            sizes = sizes_of(args)
            break
    for n in sizes:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(sizes)}")
    return sizes


def allocate(function: Any, sizes: tuple[Any, ...], dtype: Any) -> np.ndarray:
    """Call a NumPy creation function; an absurd size is a clear error."""
    try:
        return function(sizes, numpy_dtype(dtype))
    except (ValueError, OverflowError):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(sizes)}: no machine has that much memory"
        ) from None


def _made(
    function: Any, args: tuple, size: Any, dtype: Any, requires_grad: bool, device: Any, layout: Any, out: Tensor | None
) -> Tensor:
    """A tensor on what a NumPy creation function gives for sizes and a dtype."""
    array = allocate(function, _checked(args, size), dtype if out is None else dtype_for(dtype, out))
    result = finish(array, requires_grad, device, layout=layout)
    return result if out is None else into(out, result)


def _filled_with_ones(sizes: Any, kind: np.dtype) -> np.ndarray:
    array = np.empty(sizes, kind)
    array.fill(1)  # NumPy's own `ones` looks at more, and takes four times as long for a few
    return array


def zeros(
    *args: Any, size: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, out: Tensor | None = None, names: Any = None
) -> Tensor:
    """A tensor of zeros."""
    return _made(np.zeros, args, size, dtype, requires_grad, device, layout, out)


def ones(
    *args: Any, size: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, out: Tensor | None = None, names: Any = None
) -> Tensor:
    """A tensor of ones."""
    return _made(_filled_with_ones, args, size, dtype, requires_grad, device, layout, out)


def empty(
    *args: Any, size: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, out: Tensor | None = None,
    names: Any = None
) -> Tensor:
    """A tensor whose elements are whatever was in memory."""
    return _made(np.empty, args, size, dtype, requires_grad, device, layout, out)


def full(
    size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, out: Tensor | None = None, names: Any = None
) -> Tensor:
    """A tensor of one value; its dtype follows the value."""
    value = fill_value.item() if isinstance(fill_value, (Tensor, np.generic)) else fill_value
    if dtype is None and out is None:
        dtype = None if type(value) is float else from_numpy_dtype(array_from(value).dtype)
    sizes = _checked((size,) if not isinstance(size, int) else ((size,),), None)
    kind = numpy_dtype(dtype_for(dtype, out))
    array = np.empty(sizes, kind)
    array.fill(number_in(value, kind))
    return into(out, finish(array, requires_grad, device, layout=layout))


def dtype_for(dtype: Any, out: Tensor | None) -> Any:
    """The dtype asked for, or else that of `out`; RuntimeError if they differ."""
    if out is None or dtype is out.dtype:
        return dtype
    if dtype is not None:
        raise RuntimeError(
            f"dtype {as_dtype(dtype).type_name} does not match dtype of out parameter ({out.dtype.type_name})"
        )
    return out.dtype


def into(out: Tensor | None, result: Tensor, in_order: bool = False) -> Tensor:
    """Write to `out`, which takes the new shape; `in_order`: memory of any shape that has the size is filled in order."""
    if out is None:
        return result
    from .functional.registry import write_out

    if in_order and out._array.size == result._array.size:
        result = result.reshape(out._array.shape)
    elif out._array.shape != result._array.shape:
        out.resize_(result._array.shape)
    write_out("creation", out, result)
    return out


def _like(function: Any, input: Tensor, dtype: Any, requires_grad: bool, device: Any, memory_format: Any) -> Tensor:
    array = input._array
    wanted = array.dtype if dtype is None else as_dtype(dtype).numpy
    if isinstance(array, (np.ndarray, np.generic)):
        if not array.flags.c_contiguous and 0 in array.strides:  # NumPy would put what was expanded innermost
            order = dense_order(array)
            array = np.empty([array.shape[axis] for axis in order], wanted)
            array = array.transpose([order.index(axis) for axis in range(array.ndim)])
        return finish(function(array, dtype=wanted), requires_grad, device)
    fresh = finish(function(np.empty(array.shape, wanted)), requires_grad, device or input.device)
    return fresh if input.is_meta else beside(input, fresh)


def beside(input: Tensor, fresh: Tensor) -> Tensor:
    """A fresh tensor; beside a batch, with memory for each example."""
    if isinstance(input._array, (np.ndarray, np.generic)):
        return fresh
    from .arrays.own_memory import room_for_examples

    result = wrap(room_for_examples(fresh._array, input._array))
    result._requires_grad = fresh._requires_grad
    return result


def _zeros_like(array: np.ndarray, dtype: np.dtype | None = None) -> np.ndarray:
    if type(array) is np.ndarray and array.flags.c_contiguous:
        return np.zeros(array.shape, dtype or array.dtype)  # NumPy's own takes five times as long for a few
    return np.zeros_like(array, dtype=dtype)


def zeros_like(
    input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    memory_format: Any = None, pin_memory: bool = False
) -> Tensor:
    """Zeros in the shape and dtype of another tensor."""
    return _like(_zeros_like, input, dtype, requires_grad, device, memory_format)


def ones_like(
    input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    memory_format: Any = None, pin_memory: bool = False
) -> Tensor:
    """Ones in the shape and dtype of another tensor."""
    return _like(np.ones_like, input, dtype, requires_grad, device, memory_format)


def empty_like(
    input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    memory_format: Any = None, pin_memory: bool = False
) -> Tensor:
    """An uninitialised tensor in the shape and dtype of another."""
    return _like(np.empty_like, input, dtype, requires_grad, device, memory_format)


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False
) -> Tensor:
    """One value in the shape and dtype of another tensor."""
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    kind = input._array.dtype if dtype is None else numpy_dtype(dtype)
    value = number_in(value, kind)
    return _like(
        lambda array, dtype=None: np.full_like(array, value, dtype=dtype), input, dtype, requires_grad, device, memory_format
    )


# --- methods that make tensors of the same kind ---


def _new(creator: Any) -> Any:
    def method(
        self: Tensor, *args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **kwargs: Any
    ) -> Tensor:
        kwargs.pop("layout", None), kwargs.pop("pin_memory", None)
        kind = self.dtype if dtype is None else dtype
        return beside(self, creator(*args, dtype=kind, device=device, requires_grad=requires_grad, **kwargs))

    method.__name__ = f"new_{creator.__name__}"
    method.__doc__ = f"`{creator.__name__}` in the dtype of this tensor unless told otherwise."
    return method


def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any
) -> Tensor:
    """A tensor from data, in the dtype of this one."""
    return tensor(data, dtype=self.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad)


def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor from sizes or data, in the dtype of this one, as the oldest constructor made it."""
    return legacy_tensor(Tensor, *args, **kwargs).to(self.dtype)


for _function in (zeros, ones, empty, full):
    METHODS[f"new_{_function.__name__}"] = _new(_function)
METHODS["new_tensor"] = new_tensor
METHODS["new"] = new
FUNCTIONS.update(
    {
        f.__name__: f
        for f in (
            tensor, as_tensor, asarray, scalar_tensor, zeros, ones, empty, full, zeros_like, ones_like, empty_like, full_like,
        )
    }
)  # fmt: skip
