"""Operands on their way in: anything a user may pass becomes tensors of one dtype, or weak Python numbers.

The helpers every family module uses: `as_operand`, `promote`, `float_operand`, and checks of dims and shapes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.basics.constants import FLOAT32, FLOAT64, number
from ..core.basics.dtypes import (
    FLOAT,
    INTEGER,
    LARGEST_HALF,
    default_dtype,
    dtype,
    from_numpy_dtype,
    number_in,
    result_dtype,
    scalar_dtype,
)
from ..core.tape import wrap
from ..core.tensor import Tensor
from ..ops.casting import cast
from .refusals import must_be_sizes, must_be_tensor

NUMBERS: tuple[Any, ...] = (int, float, complex)  # bool is an int
_PLAIN = (float, int)
SMALLEST_TOO_LARGE: int = 2**63  # for sizes, dims and places, which have 64 bits


def as_tensor(value: Any, name: str = "input", function: str | None = None) -> Tensor:
    """A tensor from a tensor, a number or a list of numbers (torch accepts only the first)."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (*NUMBERS, np.generic, list, tuple)) and not _holds_tensors(value):
        from .creation import tensor

        return tensor(value)
    if function is None:
        raise must_be_tensor(value)
    if isinstance(value, np.ndarray):
        raise must_be_tensor(value, function, name)
    raise TypeError(
        f"{function}(): argument '{name}' (position 1) must be Tensor, not {type(value).__name__}. "
        "Numbers and lists are converted; other objects are not."
    )


def _holds_tensors(values: Any) -> bool:
    # Joined without a word they would lose their history, and a forgotten [0] would go unnoticed.
    return isinstance(values, (list, tuple)) and any(
        isinstance(value, Tensor) or _holds_tensors(value) for value in values
    )


def as_operand(value: Any) -> Any:
    """A tensor or a Python number; None if it can be neither."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.generic):  # before numbers: np.float64 is a float, and would widen a float32 array
        if value.dtype.kind in "biufc":
            return value.item()
        return float(value) if value.dtype.kind == "V" and not isinstance(value, np.void) else None  # of ml_dtypes
    if isinstance(value, NUMBERS):
        return value
    # Classes made from lists and tuples have operators of their own.
    if isinstance(value, np.ndarray) or type(value) is list or type(value) is tuple:
        from .creation import tensor

        return None if _holds_tensors(value) else tensor(value)
    if hasattr(value, "_pullback_apply"):  # a batch, in a rule that runs on tensors
        return wrap(value)
    if hasattr(value, "__dlpack__") or hasattr(value, "__array__"):
        from .creation import as_tensor as convert

        return convert(value)
    return None


def operand(value: Any) -> Any:
    """A tensor or a Python number; torch's complaint about anything else, also about an array: operators take those."""
    found = None if isinstance(value, np.ndarray) else as_operand(value)
    if found is None:
        raise must_be_tensor(value)
    return found


def _strength(value: Any) -> tuple[dtype, int]:
    if isinstance(value, Tensor):
        return from_numpy_dtype(value._array.dtype), 2 if value._array.ndim else 1
    if not isinstance(value, NUMBERS):
        raise must_be_tensor(value)
    return scalar_dtype(value), 0


def result_type(*values: Any) -> dtype:
    """The dtype an operation on these tensors and numbers gives."""
    return result_dtype(*[_strength(value) for value in values])


def promote(*values: Any, floating: bool = False) -> tuple[Any, ...]:
    """Tensors cast to the common dtype; Python numbers stay weak where that dtype can hold them."""
    first = values[0]
    if isinstance(first, Tensor) and first._array.dtype.kind in "fc":
        kind = first._array.dtype
        for value in values:
            if not isinstance(value, Tensor) or value._array.dtype is not kind:
                break
        else:
            return values
    common = result_type(*values)
    if floating and common._category < FLOAT:
        common = default_dtype()
    wanted = common._numpy
    return tuple(_converted(value, wanted, common) for value in values)


def _converted(value: Any, wanted: np.dtype, common: dtype) -> Any:
    if isinstance(value, Tensor):
        return value if value._array.dtype == wanted else cast(value, dtype=wanted)
    if common._category == INTEGER and not isinstance(value, bool):
        return np.asarray(value).astype(wanted)[()]  # a number too large wraps, as in torch
    if wanted.kind == "V":  # bfloat16 is not weak to NumPy
        return np.asarray(value).astype(wanted)[()]
    return value


def float_operand(value: Any, name: str = "input", function: str | None = None) -> Tensor:
    """A tensor of floating point or complex dtype: integers become the default dtype."""
    tensor = value if isinstance(value, Tensor) else as_tensor(value, name, function)
    if tensor._array.dtype.kind in "biu":
        return cast(tensor, dtype=default_dtype()._numpy)
    return tensor


def number_tensor(value: Any, like: Tensor) -> Tensor:
    """A Python number as a 0-d tensor in the dtype of another."""
    kind = like._array.dtype
    if (kind is FLOAT32 or kind is FLOAT64) and type(value) in _PLAIN and -LARGEST_HALF < value < LARGEST_HALF:
        return wrap(number(value, kind) if value else np.array(value, kind))
    return wrap(np.asarray(number_in(value, kind) if isinstance(value, NUMBERS) else value, kind))


# --- dims and shapes ---


def wrap_dim(dim: Any, ndim: int, scalar_ok: bool = True) -> int:
    """A dim as a non-negative number; IndexError in torch's words if there is no such dim."""
    if type(dim) is not int:
        dim = _index(dim)
    size = ndim if ndim or not scalar_ok else 1
    if not -size <= dim < size:
        if size == 0:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})")
    return dim + size if dim < 0 else dim


def _index(value: Any) -> int:
    if hasattr(value, "__index__") and type(value) is not bool:  # True is a forgotten keepdim=, largest=, ...
        return value.__index__()
    raise TypeError(f"argument 'dim' must be int, not {type(value).__name__}")


def need_int(value: Any, function: str, name: str, position: int) -> int:
    """A whole number. 2.0 is none, as in torch: a length or a place was computed with fractions."""
    if type(value) is int:
        return value if -SMALLEST_TOO_LARGE <= value < SMALLEST_TOO_LARGE else in_64_bits(value, function, name)
    if hasattr(value, "__index__") and type(value) is not bool:
        return in_64_bits(value.__index__(), function, name)
    raise TypeError(f"{function}(): argument '{name}' (position {position}) must be int, not {type(value).__name__}")


def in_64_bits(value: int, function: str, name: str) -> int:
    """A whole number that sizes and places can be counted with; ValueError in torch's words if it is too large for that."""
    if -SMALLEST_TOO_LARGE <= value < SMALLEST_TOO_LARGE:
        return value
    raise ValueError(f"Overflow when unpacking long long: {function}() cannot take {value} as '{name}'")


def need_room(value: Any, kind: np.dtype) -> None:
    """Refuse a number that elements of a dtype cannot hold, as torch does: it would be infinite there."""
    if value is not None and not -LARGEST_HALF <= value <= LARGEST_HALF:
        number_in(value, kind)


def need_room_inside(value: Any, kind: np.dtype) -> None:
    """The same where torch's kernels compute with float32 inside whatever is narrower."""
    if abs(value) > LARGEST_HALF and kind.kind in "fV" and kind.itemsize <= 4:
        number_in(value, FLOAT32)


def need_bool(value: Any, function: str, name: str = "keepdim") -> bool:
    """A switch, which must be a bool: the 1 in `x.mean(0, 1)` was meant as a second dim."""
    if type(value) is not bool:
        help = " Several dims go together: dim=(0, 1)." if name == "keepdim" else ""
        raise TypeError(f"{function}(): argument '{name}' (position 2) must be bool, not {type(value).__name__}.{help}")
    return value


def wrap_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """A dim, several, or None (all) as a tuple of distinct non-negative dims."""
    if dim is None:
        return tuple(range(ndim))
    if isinstance(dim, (tuple, list)):
        dims = tuple([wrap_dim(d, ndim) for d in dim])
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"dim {_repeated(dims)} appears multiple times in the list of dims")
        if ndim == 0:
            return ()
        return dims or tuple(range(ndim))
    one = wrap_dim(dim, ndim)
    return (one,) if ndim else ()


def _repeated(dims: tuple) -> int:
    return next(d for i, d in enumerate(dims) if d in dims[:i])


def sizes_of(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given as separate numbers or as one sequence."""
    given = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
    for n in given:
        if type(n) is not int:
            break
    else:
        return tuple(given)
    if len(args) == 1 and isinstance(args[0], (tuple, list, np.ndarray)):
        args = tuple(args[0])
    elif len(args) == 1 and isinstance(args[0], Tensor) and args[0]._array.ndim == 1:
        args = tuple(args[0].tolist())
    return tuple([n if type(n) is int else _size(n) for n in args])


def _size(value: Any) -> int:
    if hasattr(value, "__index__") and type(value) is not bool:
        return value.__index__()
    raise must_be_sizes(value)


def common_shape(first: tuple[Any, ...], *others: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that all of these broadcast to; if there is none, an error in torch's words."""
    for other in others:
        try:
            first = np.broadcast_shapes(first, other)
        except ValueError:
            raise broadcast_error(first, other) from None
    return tuple(first)


def broadcasts_to(shape: tuple[Any, ...], wide: tuple[Any, ...]) -> bool:
    """True if a shape can be broadcast to a wider one."""
    try:
        return np.broadcast_shapes(shape, wide) == wide
    except ValueError:
        return False


def broadcast_error(a: tuple[Any, ...], b: tuple[Any, ...]) -> RuntimeError:
    """Torch's complaint about two shapes that do not broadcast."""
    for back in range(1, min(len(a), len(b)) + 1):
        x, y = a[-back], b[-back]
        if x != y and 1 not in (x, y):
            dim = max(len(a), len(b)) - back
            return RuntimeError(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {dim}. "
                f"The shapes are {tuple(a)} and {tuple(b)}."
            )
    return RuntimeError(f"shapes {tuple(a)} and {tuple(b)} cannot be combined")
