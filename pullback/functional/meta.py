"""Tensors on the "meta" device: a shape and a dtype without elements.

Models are built there to be counted, or to be filled later: `Module.to_empty` gives them memory, and
`load_state_dict(..., assign=True)` the tensors of a checkpoint. Operations give tensors of the shape that they would
have, writes do nothing, and what needs elements is refused. Loaded when a program first makes such a tensor; from then
on functions ask their arguments, as they do for every subclass (`shell/torch_function.py`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.basics.device import meta, place_of
from ..core.basics.dtypes import get_default_dtype
from ..core.tensor import Tensor
from ..nn.parameter import Parameter
from ..shell.torch_function import DisableTorchFunctionSubclass
from .copying import arguments_of_to

_NO_DATA = (
    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when "
    "moving module from meta to a different device. A tensor on the meta device has a shape and a dtype, and no elements."
)


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(_NO_DATA)


class Outline:
    """Stands for the array of a tensor without elements."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape: tuple[int, ...] = tuple(shape)
        self.dtype: np.dtype[Any] = dtype
        self.ndim: int = len(self.shape)
        self.size: int = math.prod(self.shape)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name) if name.startswith("_") else NotImplementedError(_NO_DATA)

    __array__ = __array_ufunc__ = __array_function__ = __getitem__ = _refuse


class MetaTensor(Tensor):
    """A tensor without elements."""

    _array: Any
    is_meta: bool = True
    is_cpu: bool = False

    @property
    def device(self) -> Any:
        return meta

    @property
    def data(self) -> Any:
        return outlined(self._array)

    @data.setter
    def data(self, value: Tensor) -> None:
        if not value.is_meta:
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
                "incompatible tensor type. The meta device has no room for elements."
            )
        self._array = value._array

    def detach(self) -> Tensor:
        return outlined(self._array)

    def data_ptr(self) -> int:
        return 0

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Another dtype; no other device, for there is nothing to copy."""
        device, wanted, *_ = arguments_of_to(args, kwargs)
        if device is not None and place_of(device) is not meta:
            _refuse()
        return self if wanted in (None, self.dtype) else outlined(Outline(self._array.shape, wanted._numpy))

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        result = memo[id(self)] = object.__new__(type(self))
        result._array, result._requires_grad = self._array, self._requires_grad
        return result

    def __repr__(self) -> str:
        from ..core.basics.printing import tensor_text

        text = tensor_text(
            self._array,
            self.dtype._name,
            requires_grad=self._requires_grad,
            device="meta",
            default_dtype_name=get_default_dtype()._name,
        )
        return f"Parameter containing:\n{text}" if isinstance(self, Parameter) else text

    def __format__(self, specification: str) -> str:
        return object.__format__(self, specification)

    __str__ = __repr__
    __reduce_ex__ = cpu = numpy = item = tolist = __float__ = __int__ = __bool__ = _refuse  # type: ignore[assignment]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run a function on zeros, whose memory is not touched until it is written to, and give its results' shapes."""
        kwargs, name = kwargs or {}, func.__name__
        with DisableTorchFunctionSubclass(), np.errstate(all="ignore"):
            if name in _OF_THE_OBJECT or getattr(func, "__self__", None) in [vars(Tensor)[name] for name in _STATE]:
                return func(*args, **kwargs)
            if name == "__setitem__" or name.endswith("_") and not name.endswith("__"):
                return args[0] if args else kwargs["tensor"]  # `nn.init` passes it by name
            place = meta if kwargs.get("device") is None else place_of(kwargs.pop("device"))
            result = func(*_zeros(args), **dict(zip(kwargs, _zeros(tuple(kwargs.values())))))
        return result if place is not meta else _outlines(result)


_OF_THE_OBJECT = frozenset(
    {
        "requires_grad_", "register_hook", "register_post_accumulate_grad_hook", "retain_grad", "storage",
        "untyped_storage", "typed_storage",
    }
)  # fmt: skip
_STATE = ("requires_grad", "grad", "grad_fn", "is_leaf")  # attributes, which are other objects while everything asks


class MetaParameter(MetaTensor, Parameter):  # type: ignore[misc]
    """A parameter without elements. Its type, called with a tensor that has elements, makes an ordinary parameter."""

    def __new__(cls, data: Tensor, requires_grad: bool = True) -> Any:
        if not data.is_meta:
            return Parameter(data, requires_grad)
        result = object.__new__(cls)
        result._array, result._requires_grad = data._array, requires_grad
        return result


def outlined(array: Any, requires_grad: bool = False) -> MetaTensor:
    """A tensor that has an array's shape and dtype."""
    result = object.__new__(MetaTensor)
    result._array = array if type(array) is Outline else Outline(array.shape, array.dtype)
    result._requires_grad = requires_grad
    return result


def _zeros(values: Any) -> Any:
    """Arguments with tensors of zeros instead of those without elements."""
    if isinstance(values, MetaTensor):
        result = object.__new__(Tensor)
        try:
            result._array = np.zeros(values._array.shape, values._array.dtype)
        except MemoryError:  # more than any machine has: most questions are about its shape
            result._array = np.broadcast_to(np.zeros((), values._array.dtype), values._array.shape)
        return result
    if isinstance(values, Tensor) and values.ndim:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, cpu and meta! " + _NO_DATA
        )
    return type(values)(map(_zeros, values)) if type(values) in (tuple, list) else values


def _outlines(result: Any) -> Any:
    """Results with tensors without elements instead of others."""
    if isinstance(result, Tensor):
        return outlined(result._array)
    if isinstance(result, (tuple, list)) and type(result).__name__ != "Size":
        parts = [_outlines(part) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result
