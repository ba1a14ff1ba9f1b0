"""The stand-in for the array of a wrapper: a tensor of a subclass whose elements are in tensors that it keeps.

Such subclasses answer operations themselves (`shell/dispatch_subclasses.py`), and nearly all code never meets their objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

if TYPE_CHECKING:
    from ...core.tensor import Tensor


class NoElements(AttributeError, NotImplementedError):
    """Somebody asked for the elements of a wrapper, or for what only arrays have."""


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise NoElements(
        "A wrapper tensor has a shape and a dtype, and no elements: those are in the tensors that it wraps. "
        "Its class has to answer this in __torch_dispatch__."
    )


_OF_THE_FORM = frozenset({"strides", "flags", "itemsize", "nbytes", "base"})


class WrapperForm:
    """Stands for the array of a wrapper: a shape, a dtype and strides.

    Who has only this finds the wrapper by it: `content` is a second object like the wrapper, if one was put here, and
    `owner()` the wrapper itself as long as it lives.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...] | None = None) -> None:
        if strides is None:
            steps = [dtype.itemsize]
            for size in reversed(shape[1:]):
                steps.append(steps[-1] * max(size, 1))
            strides = tuple(reversed(steps[: len(shape)]))
        self._form = as_strided(np.zeros((), dtype), shape, strides, writeable=False)
        self.shape, self.dtype, self.ndim, self.size = shape, dtype, self._form.ndim, self._form.size
        self.content: Tensor | None = None
        self.owner: Callable[[], Tensor | None] = lambda: None

    def again(self) -> WrapperForm:
        """Another one like this."""
        return WrapperForm(self.shape, self.dtype, self._form.strides)

    def __getattr__(self, name: str) -> Any:
        if name in _OF_THE_FORM:
            return getattr(self._form, name)
        raise AttributeError(name) if name.startswith("__") else NoElements(name)

    __array__ = __array_ufunc__ = __array_function__ = __getitem__ = __iter__ = __len__ = _refuse
    __bool__ = __int__ = __float__ = __complex__ = __index__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse  # type: ignore[assignment]
    __hash__ = object.__hash__


def is_form(array: object) -> bool:
    """True if this is the stand-in of a wrapper, whose class writes to the tensors inside itself."""
    return type(array) is WrapperForm
