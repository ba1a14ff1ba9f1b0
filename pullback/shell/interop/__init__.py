"""At home where arrays are: NumPy's protocols, DLPack, and sharing memory.

Where a gradient is involved, `np.sin(t)`, `np.concatenate([t, u])` and `array + t` reach the functions of `functional/` and
stay in the graph; so do those that rules call in recorded passes. Where none is, NumPy computes as it does with torch's
tensors (`functional/numpy_operands.py`). Converting a tensor that requires grad to a bare array is refused, as in torch, so
that no gradient is lost silently.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.basics.device import require_cpu
from ...core.basics.dtypes import from_numpy_dtype
from ...core.basics.notices import warn_user
from ...core.basics.storage import storage_of
from ...core.mode import is_grad_enabled
from ...core.tape import wrap
from ...core.tensor import Tensor
from ...functional.registry import public_in
from .dlpack import dlpack, dlpack_device, from_dlpack, to_dlpack

__all__ = ["from_dlpack", "from_numpy", "to_dlpack"]


@public_in("torch", direct=True, asks="modes")
def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares the memory of an ndarray.

    NumPy's functions of tensors give tensors: `from_numpy(np.stack(tensors))` is one without history, as in torch.
    """
    if isinstance(array, Tensor):
        return array.detach()
    if not isinstance(array, np.ndarray):
        kind = type(array)
        given = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise TypeError(f"expected np.ndarray (got {given}). Lists and numbers become tensors with torch.tensor(...).")
    kind = from_numpy_dtype(array.dtype)._numpy
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )
    if not array.flags.c_contiguous and any(step % array.itemsize for step in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory."
        )
    if not array.flags.writeable:
        warn_user(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to "
            "this tensor will result in undefined behavior. You may want to copy the array to protect its data or make it "
            "writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program.",
        )
    # A view: the array may be given another shape, and a matrix would multiply as one. Operations know dtypes by NumPy's own
    # objects for them, and pickled arrays have others.
    result = wrap(array.view(np.ndarray) if array.dtype is kind else array.view(kind, np.ndarray))
    if array.base is not None:
        result._lender = array  # it lives as long as the tensor, as in torch, though the memory is another's
    return result


def to_numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """An ndarray that shares this tensor's memory."""
    if self._array.dtype.kind == "V":
        raise TypeError(f"Got unsupported ScalarType {self.dtype.type_name}. Convert first, as in x.float().numpy().")
    if not force and self.requires_grad and is_grad_enabled():
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if self._storage is None:
        storage_of(self)
    array = self.memory()
    if not isinstance(array, np.ndarray) and hasattr(array, "value"):
        return array.value(
            "Cannot access data pointer of Tensor that doesn't have storage. vmap: NumPy would need the values of one "
            'example. vmap(..., fallback="loop") runs the function example by example, where numpy() works.'
        )
    return array[...]  # a view: the program may give it another shape, or make it read-only


def array_protocol(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """`__array__`: what `np.asarray` gets."""
    array = to_numpy(self)
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


def wrap_protocol(self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Any:
    """`__array_wrap__`: what NumPy's own functions of a tensor give."""
    from .numpy_functions import as_numpy_wraps

    return as_numpy_wraps(array)


def ufunc_protocol(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """`__array_ufunc__`: NumPy's ufuncs on tensors."""
    from .numpy_functions import call_ufunc

    return call_ufunc(ufunc, method, inputs, kwargs)


def function_protocol(self: Tensor, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
    """`__array_function__`: NumPy's functions on tensors."""
    from .numpy_functions import call_function

    return call_function(function, types, args, kwargs)


def array_namespace(self: Tensor, /, *, api_version: str | None = None) -> Any:
    """The Array API standard's functions for tensors."""
    from ... import array_api

    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"the Array API of {api_version} is not known here: 2024.12 is the newest")
    return array_api


def to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """This tensor, which is on the only device there is."""
    require_cpu(device)
    return self


# Of the class Tensor: `functional/methods.py` puts them there.
PROTOCOLS: dict[str, Any] = {
    "__array_namespace__": array_namespace, "to_device": to_device, "numpy": to_numpy, "__array__": array_protocol,
    "__array_wrap__": wrap_protocol, "__dlpack__": dlpack, "__dlpack_device__": dlpack_device,
    "__array_ufunc__": ufunc_protocol, "__array_function__": function_protocol,
}  # fmt: skip
