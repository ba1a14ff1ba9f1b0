"""`Parameter` and `Buffer`: tensors that a Module registers when they are assigned to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.basics.dtypes import as_dtype, bfloat16, float16, float32, float64
from ..core.tensor import Tensor, disabled_torch_function, fields, wrap


class _ParameterMeta(type):
    """Tensors of other classes that were made parameters count as such."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (
            cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)
        )


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A leaf tensor that is a parameter of the module it is assigned to; it requires grad unless told otherwise."""

    __torch_function__ = disabled_torch_function  # type: ignore[assignment]

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            array = np.empty(0, np.float32)
        else:
            array = data.detach()._array
            if data.is_meta:
                from ..functional.meta import MetaParameter

                return MetaParameter.__new__(MetaParameter, data, requires_grad)
            if _takes_operations_over(type(data)) and not data.is_sparse:
                return _of_its_class(data, requires_grad)
        result = wrap(None, cls)
        result._array = array
        if requires_grad and array.dtype.kind not in "fcV":
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients. "
                "For integer values, use register_buffer, or Parameter(..., requires_grad=False)."
            )
        result._requires_grad = requires_grad
        return result

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        """A parameter with memory of its own and no gradient yet."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return "Parameter containing:\n" + Tensor.__repr__(self)

    __str__ = __repr__


def _takes_operations_over(kind: type) -> bool:
    """True if a class takes operations on its tensors over: its parameters have to be of that class."""
    return not issubclass(kind, Parameter) and kind is not Tensor and (
        kind.__torch_function__ is not disabled_torch_function  # type: ignore[attr-defined]
        or kind.__torch_dispatch__ is not Tensor.__torch_dispatch__  # type: ignore[attr-defined]
    )  # fmt: skip


def _of_its_class(data: Tensor, requires_grad: bool) -> Any:
    """A parameter that stays an object of its own class; `isinstance(..., Parameter)` is true of it."""
    result: Any = data.detach().requires_grad_(requires_grad)
    if type(result) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
            f"instance of the same type, but return type {type(result).__name__} was found instead. To use the type as a "
            "Parameter, please correct the detach() semantics defined by its __torch_dispatch__() implementation."
        )
    result._is_param = True
    return result


class Buffer(Tensor):
    """A tensor that is a buffer of the module it is assigned to."""

    __torch_function__ = disabled_torch_function  # type: ignore[assignment]
    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        result = wrap(None, cls)
        result._array = np.empty(0, np.float32) if data is None else data.detach()._array
        result.persistent = persistent
        return result

    def __repr__(self) -> str:
        return repr(self.as_subclass(Tensor))

    __str__ = __repr__


class _Unshaped:
    """Stands for the array of a tensor whose shape is not known yet: it has a dtype and nothing else."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype: np.dtype[Any] = dtype

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ValueError(
            "Attempted to use an uninitialized parameter. This error happens when you are using a `LazyModule` or "
            "explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When using LazyModules call "
            "`forward` with a dummy batch to initialize the parameters before calling torch functions"
        )

    def __add__(self, *others: Any) -> Any:
        return self.size  # which says why not

    def __array_function__(self, *call: Any) -> Any:
        return self.size

    __sub__ = __mul__ = __truediv__ = __add__


class UninitializedTensorMixin:
    """A tensor whose shape is not known yet (lazy modules); it has none of a tensor's uses until `materialize`."""

    cls_to_become: type[Any] = Tensor
    _array: Any

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give the tensor a shape, and turn it into an ordinary one."""
        wanted = self._array.dtype if dtype is None else as_dtype(dtype)._numpy
        self._array = np.empty(shape, wanted)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` "
            "when trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the "
            "parameters before accessing their attributes."
        )

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Another dtype or device, still without a shape."""
        result, empty = object.__new__(type(self)), object.__new__(Tensor)
        fields(result).update(fields(self))
        empty._array = np.empty(0, self._array.dtype)
        result._array = _Unshaped(empty.to(*args, **kwargs)._array.dtype)
        return result

    def memory(self) -> Any:
        return self._array

    def __reduce_ex__(self, protocol: Any) -> Any:
        state = {name: value for name, value in fields(self).items() if name not in ("_array", "_anchor")}
        return _unshaped, (type(self), state, self._array.dtype)

    def cpu(self, memory_format: Any = None) -> Any:
        return self

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def half(self, memory_format: Any = None) -> Any:
        return self.to(float16)

    def float(self, memory_format: Any = None) -> Any:
        return self.to(float32)

    def double(self, memory_format: Any = None) -> Any:
        return self.to(float64)

    def bfloat16(self, memory_format: Any = None) -> Any:
        return self.to(bfloat16)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    __str__ = __repr__


def _unshaped(kind: type[Any], state: dict[str, Any], dtype: np.dtype[Any]) -> Any:
    """A tensor without a shape, out of a pickle."""
    result = object.__new__(kind)
    fields(result).update(state, _array=_Unshaped(dtype))
    return result


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A Parameter whose shape is not known yet."""

    cls_to_become: type[Any] = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        from ..functional.creation import numpy_dtype

        result = object.__new__(cls)
        result._array = _Unshaped(numpy_dtype(dtype))
        result._requires_grad = requires_grad
        return result

    def __deepcopy__(self, memo: dict[Any, Any]) -> UninitializedParameter:
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self._requires_grad)
        memo[id(self)] = result
        return result


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A Buffer whose shape is not known yet."""

    cls_to_become: type[Any] = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        from ..functional.creation import numpy_dtype

        result = object.__new__(cls)
        result._array = _Unshaped(numpy_dtype(dtype))
        result.persistent = persistent
        return result


def is_lazy(param: Any) -> bool:
    """True if a parameter or buffer still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)
