"""`Array`: a tensor that behaves as the standard says where torch says otherwise.

The functions of this namespace make arrays, and their operators are these functions: 0-d arrays promote as all others
do, unsigned and signed integers mix, integer arrays of any width index. An Array is a Tensor in every other way, so all
of the library takes it; the operators themselves are in `_operators.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.basics.device import device as device_type
from ..core.basics.device import require_cpu
from ..core.basics.dtypes import dtype as dtype_type
from ..core.basics.dtypes import from_numpy_dtype, int64
from ..core.basics.quiet import restore, silence, warning_settings
from ..core.tape import wrap
from ..core.tensor import Tensor, disabled_torch_function
from ..functional import indexing
from ..functional.methods import alias_of, matrix_transposed, transposed
from ..shell.interop.numpy_functions import is_tracked


class Array(Tensor):
    """A tensor with the operators of the Array API standard."""

    __torch_function__ = disabled_torch_function  # type: ignore[assignment]

    @property
    def T(self) -> Array:
        """The matrix with rows and columns exchanged."""
        return as_arrays(transposed(self))

    @property
    def mT(self) -> Array:
        """The last two dims exchanged."""
        return as_arrays(matrix_transposed(self))

    def __getitem__(self, key: Any, /) -> Array:
        return as_arrays(indexing.getitem(self, self._places(key)))

    def __setitem__(self, key: Any, value: Any, /) -> None:
        if isinstance(value, Tensor) and value.dtype is not self.dtype:
            value = value.to(self.dtype)
        indexing.setitem(self, self._places(key), value)

    def _places(self, key: Any) -> Any:
        """A key as torch's indexing wants it. A mask may be empty along a dim that is not: it picks nothing."""
        if isinstance(key, Tensor) and key._array.dtype.kind == "b" and key.ndim <= self.ndim and not key.size:
            sizes = self.shape[: key.ndim]
            if all(have in (0, want) for have, want in zip(key.shape, sizes)):
                return wrap(np.zeros(sizes, bool))
        return _integer_places(key)

    def __iter__(self) -> Iterator[Array]:
        return map(as_arrays, Tensor.__iter__(self))

    def __format__(self, specification: str) -> str:
        return format(self.detach(), specification)


def _integer_places(key: Any) -> Any:
    """A key with int64 for integers of other widths, which torch takes for masks or refuses."""
    if isinstance(key, tuple):
        return tuple(map(_integer_places, key))
    if isinstance(key, Tensor) and key._array.dtype.kind in "iu":
        return key.to(int64) if key.ndim else key.__index__()
    return key


def as_arrays(value: Any) -> Any:
    """New tensors as arrays, in whatever they came: the same objects, with the standard's operators."""
    if isinstance(value, tuple):
        return type(value)(*map(as_arrays, value)) if hasattr(value, "_fields") else tuple(map(as_arrays, value))
    if type(value) is Tensor:
        value.__class__ = Array
    return value


def wrapped(value: Any) -> Any:
    """NumPy's results as arrays, in whatever they came."""
    if isinstance(value, tuple):
        return type(value)(*map(wrapped, value)) if hasattr(value, "_fields") else tuple(map(wrapped, value))
    return as_arrays(wrap(np.asarray(value)))


def numpy_dtype(value: Any) -> Any:
    """NumPy's dtype for one of ours; other values as they are."""
    return value._numpy if isinstance(value, dtype_type) else value


def plain(value: Any) -> Any:
    """Tensors as NumPy's arrays, dtypes as NumPy's, also inside lists and tuples."""
    if isinstance(value, Tensor):
        return value.memory()
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    return numpy_dtype(value)


def dispatched(function: Any, *args: Any, **kwargs: Any) -> Any:
    """NumPy's function on tensors through NumPy's protocols: gradients are kept, and views know whose memory they see."""
    result = function(*args, **kwargs)
    if isinstance(result, (tuple, list)) and not hasattr(result, "_fields"):
        return tuple(_own(value, args) for value in result)
    return _own(result, args)


def _own(result: Any, args: tuple[Any, ...]) -> Any:
    """A result as an array; an argument that came back as it is gives a view of it."""
    return as_arrays(alias_of(result) if any(result is value for value in args) else result)


def run(function: Any, *args: Any, **kwargs: Any) -> Any:
    """NumPy's function on tensors: on the arrays inside, or `dispatched` where a gradient is at stake."""
    if is_tracked(args) or kwargs and any(map(is_tracked, kwargs.values())):
        return dispatched(function, *args, **kwargs)
    return computed(function, *args, **kwargs)


def computed(function: Any, *args: Any, **kwargs: Any) -> Any:
    """NumPy's function on the arrays inside tensors."""
    settings = warning_settings()
    try:
        silence()
        arrays = [plain(value) for value in args]
        result = function(*arrays, **{key: plain(value) for key, value in kwargs.items()})
    finally:
        restore(settings)
    if type(result) is np.ndarray and (result.base is not None or any(result is array for array in arrays)):
        result = result.copy()  # memory of an argument, without the tape's knowledge
    return wrapped(result)


def run_discrete(function: Any, *args: Any, **kwargs: Any) -> Any:
    """`run` for a function whose results are counts, positions or truth values: no gradient passes."""
    return run(function, *map(_detached, args), **kwargs)


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def same_dtype(*values: Any) -> list[Any]:
    """Tensors and numbers in the dtype that the standard's promotion gives them all: torch's would spare 0-d tensors."""
    wanted = np.result_type(*map(plain, values))
    return [in_dtype(value, wanted) for value in values]


def in_dtype(value: Any, wanted: np.dtype) -> Tensor:
    """A tensor or a number as a tensor of a NumPy dtype."""
    if not isinstance(value, Tensor):
        return wrap(np.asarray(value, wanted))
    return value if value._array.dtype == wanted else value.to(from_numpy_dtype(wanted))


def check_device(device: Any) -> None:
    """Refuse devices other than the CPU."""
    if isinstance(device, (str, device_type)):
        require_cpu(device)
    elif device is not None:
        raise ValueError(f"device must be a device of this library, not {device!r}")
