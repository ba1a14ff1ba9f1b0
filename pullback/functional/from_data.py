"""Arrays made of Python data: numbers, nested lists, arrays and tensors become one fresh array of torch's dtype for them.

`functional/creation.py` makes tensors of these arrays. What cannot be an array is refused here, in torch's words.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..core.basics.dtypes import (
    LARGEST_HALF,
    as_dtype,
    default_dtype,
    from_numpy_dtype,
    number_in,
    promote_types,
    scalar_dtype,
)
from ..core.basics.notices import warn_history_lost
from ..core.basics.quiet import quiet
from ..core.tensor import Tensor
from ..ops.casting import ready_for

_DEEPEST = 64  # dims that an array can have
_SHORT = 32  # elements of a list that may be of several kinds


def all_floats_between(data: list[Any]) -> bool:
    """True if a list that begins and ends with Python floats has no others. A long list is not read: True."""
    if len(data) > _SHORT:
        return True
    for item in data:
        if type(item) is not float:
            return False
    return True


def array_from(data: Any, dtype: Any = None) -> np.ndarray:
    """A fresh array in torch's idea of the data's dtype."""
    if type(data) is float:
        kind = (default_dtype() if dtype is None else as_dtype(dtype))._numpy
        return np.array(data, kind) if kind.kind == "f" and -LARGEST_HALF < data < LARGEST_HALF else _number(data, kind)
    if isinstance(data, Tensor):
        array = np.array(data._array)
    elif isinstance(data, (np.ndarray, np.generic)):
        kind = from_numpy_dtype(data.dtype)._numpy
        array = np.array(data, order="C")
        if array.dtype is not kind:  # operations know dtypes by NumPy's own objects, and pickled arrays have others
            array = array.astype(kind)
    else:
        array, from_numbers = _from_python(data, dtype is not None and as_dtype(dtype)._numpy.kind in "biu")
        if dtype is None and from_numbers and array.dtype.kind == "u":
            raise ValueError("Overflow when unpacking long long: the number does not fit in int64")
        if dtype is None and from_numbers:
            array = _typed(array)
    if dtype is not None:
        wanted = as_dtype(dtype)._numpy
        if array.dtype.kind == "c" and wanted.kind not in "cb":
            raise TypeError("must be real number, not complex: take .real or .imag first")
        if array.dtype.kind == "O":
            return _checked_integers(array, wanted)
        if wanted.kind in "iu" and array.dtype != wanted and array.size and not isinstance(data, (Tensor, np.ndarray)):
            _check_range(array, wanted)
        with np.errstate(all="ignore"):
            array = ready_for(wanted, array).astype(wanted, copy=False)
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
    return ready_for(kind, np.array(value)).astype(kind)


def _checked_integers(array: np.ndarray, wanted: np.dtype) -> np.ndarray:
    try:
        return array.astype(wanted)
    except OverflowError:
        raise _overflow(wanted) from None


def _from_python(data: Any, whole: bool) -> tuple[np.ndarray, bool]:
    """An array of a number or of nested sequences, and whether it was made of Python numbers (which have no dtype).

    Where `whole` numbers are wanted, Python's fractions are cut, and those of tensors and NumPy refused, as torch does.
    """
    if isinstance(data, (bool, int, float, complex)):
        return np.array(data), True
    if not isinstance(data, (list, tuple)):
        if hasattr(data, "__dlpack__") and not hasattr(data, "__array__"):
            from ..shell.interop import from_dlpack

            return np.array(from_dlpack(data)._array), False
        if not _is_sequence(data):
            if hasattr(data, "__array__") or hasattr(data, "__array_interface__"):
                return np.array(np.asarray(data)), False
            raise _no_number(data)
    if type(_first_element(data)) in (bool, int, float, complex):
        try:
            array = np.array(data)
        except (ValueError, TypeError, RuntimeError):
            pass  # ragged, or mixed with tensors
        else:
            if array.dtype.kind in "bi" or array.dtype.kind in "fc" and not _holds_dtypes(data, array.size):
                return array, True
    return _element_by_element(data, whole)


def _is_sequence(data: Any) -> bool:
    return hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes, dict))


def _no_number(data: Any) -> Exception:
    kind = type(data).__name__
    if isinstance(data, (str, bytes)):
        return TypeError(f"new(): invalid data type '{kind}'")
    return RuntimeError(f"Could not infer dtype of {kind}")


def _holds_dtypes(data: Any, size: int) -> bool:
    """True if nested sequences hold NumPy scalars or tensors, whose dtypes count. Of many elements only the last is looked at."""
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


def _element_by_element(data: Any, whole: bool) -> tuple[np.ndarray, bool]:
    shape = _shape_of(data)
    flat: list[Any] = []
    _flatten(data, shape, 0, flat)
    if whole:
        for item in flat:
            _refuse_fractions(item)
    flat = [_number_in(item) if isinstance(item, Tensor) else item for item in flat]
    if not flat:
        return np.empty(shape, default_dtype()._numpy), False
    if any(isinstance(item, (np.ndarray, np.generic)) for item in flat):
        kinds = {from_numpy_dtype(item.dtype) if hasattr(item, "dtype") else scalar_dtype(item) for item in flat}
        common = functools.reduce(promote_types, kinds)
        return np.array([np.asarray(item) for item in flat], common._numpy).reshape(shape), False
    return np.array(flat).reshape(shape), True


def _typed(array: np.ndarray) -> np.ndarray:
    """Python floats and complex numbers take the default dtype."""
    if array.dtype == np.float64:
        return array.astype(default_dtype()._numpy)
    if array.dtype == np.complex128:
        return array.astype(default_dtype().to_complex()._numpy)
    if array.dtype.kind in "US":
        raise ValueError("too many dimensions 'str'")
    return array


def _shape_of(data: Any) -> tuple:
    shape: list[int] = []
    while not isinstance(data, np.generic) and _is_sequence(data):
        if isinstance(data, Tensor) and shape:
            break  # inside a list, a tensor of one element is a number whatever its shape
        if isinstance(data, (Tensor, np.ndarray)):
            shape.extend(data.shape)
            break
        shape.append(len(data))
        if len(data) == 0:
            break
        try:
            data = data[0]
        except Exception:
            raise ValueError(f"could not determine the shape of object type '{type(data).__name__}'") from None
    return tuple(shape)


def _number_in(tensor: Tensor) -> Any:
    """Return the one element of a tensor inside a list."""
    if tensor._array.size != 1:
        raise ValueError(
            "only one element tensors can be converted to Python scalars. To make one tensor of several: torch.stack(tensors), "
            "which also keeps their gradients."
        )
    if tensor._requires_grad:
        warn_history_lost(" torch.stack(tensors) makes one tensor of several and keeps it.")
    return tensor._array.reshape(())[()]


def _refuse_fractions(item: Any) -> None:
    if isinstance(item, Tensor) and item._array.dtype.kind not in "biu":
        raise TypeError(
            "only integer tensors of a single element can be converted to an index. To cut fractions: .long() of each, or of "
            "the whole tensor."
        )
    if isinstance(item, np.inexact) and not isinstance(item, (float, complex)):  # float64 is one of Python's
        raise TypeError(f"'numpy.{type(item).__name__}' object cannot be interpreted as an integer")


def _flatten(data: Any, shape: tuple, depth: int, out: list) -> None:
    if isinstance(data, str):
        if depth and len(shape) == depth and out:
            raise TypeError("new(): invalid data type 'str'")
        raise ValueError("too many dimensions 'str'")
    if depth == len(shape):
        if isinstance(data, np.ndarray) and data.size == 1:
            data = data.reshape(())[()]
        if not isinstance(data, (bool, int, float, complex, np.generic, Tensor)):
            if _is_sequence(data):
                raise TypeError(f"not a sequence of numbers: {type(data).__name__} at depth {depth}")
            raise _no_number(data)
        out.append(data)
        return
    if not _is_sequence(data):
        if not isinstance(data, (bool, int, float, complex, np.generic)):
            raise _no_number(data)
        raise TypeError(
            f"not a sequence: expected a sequence of length {shape[depth]} at dim {depth}, got {type(data).__name__}"
        )
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    for item in data:
        _flatten(item, shape, depth + 1, out)
