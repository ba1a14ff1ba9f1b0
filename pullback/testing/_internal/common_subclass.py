"""Tensor subclasses of several kinds, each with the way to make one of a shape, for tests that all of them have to pass."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

from ...core.tensor import Tensor
from ...functional.creation import zeros
from ...functional.random_sampling import randn
from ...utils._pytree import tree_map
from .logging_tensor import LoggingTensor


class WrapperTensor(Tensor):
    """The base of wrappers: they have the size of the tensor inside, unless they say otherwise."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        inside, options = cls.get_wrapper_properties(*args, **kwargs)
        options = {"size": inside.size(), "dtype": inside.dtype, **options}
        return Tensor._make_wrapper_subclass(cls, options.pop("size"), **options)  # type: ignore[attr-defined]

    @classmethod
    def get_wrapper_properties(cls, *args: Any, **kwargs: Any) -> tuple[Tensor, dict[str, Any]]:
        """The tensor inside, and how the wrapper differs from it."""
        raise NotImplementedError

    def inside(self) -> Tensor:
        """An ordinary tensor of the same elements."""
        raise NotImplementedError

    @classmethod
    def around(cls, result: Any) -> Any:
        """A result as the class gives it."""
        raise NotImplementedError

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented

        def opened(value: Any) -> Any:
            return value.inside() if isinstance(value, cls) else value

        return tree_map(cls.around, func(*tree_map(opened, args), **tree_map(opened, kwargs or {})))


class _Holding(WrapperTensor):
    """Holds one tensor, `t`."""

    t: Any

    @classmethod
    def get_wrapper_properties(cls, t: Tensor, requires_grad: bool = False) -> tuple[Tensor, dict[str, Any]]:
        return t, {"requires_grad": requires_grad}

    def __init__(self, t: Tensor, requires_grad: bool = False) -> None:
        self.t = t

    def inside(self) -> Tensor:
        return self.t

    @classmethod
    def around(cls, result: Any) -> Any:
        return cls(result) if isinstance(result, Tensor) else result

    def __repr__(self) -> str:
        return Tensor.__repr__(self, tensor_contents=f"t={self.t}")  # type: ignore[call-arg]


class WrapperTensorWithCustomSizes(_Holding):
    """Torch asks this one for its sizes each time."""


class WrapperTensorWithCustomStrides(_Holding):
    """Torch asks this one for its strides each time."""


class DiagTensorBelow(WrapperTensor):
    """A diagonal matrix, of which it holds the diagonal."""

    diag: Any

    @classmethod
    def get_wrapper_properties(cls, diag: Tensor, requires_grad: bool = False) -> tuple[Tensor, dict[str, Any]]:
        return diag, {"size": diag.size() + diag.size(), "requires_grad": requires_grad}

    def __init__(self, diag: Tensor, requires_grad: bool = False) -> None:
        self.diag = diag

    def inside(self) -> Tensor:
        return self.diag.diag()

    @classmethod
    def around(cls, result: Any) -> Any:
        if isinstance(result, Tensor) and result.ndim == 1:
            return cls(result)
        if isinstance(result, Tensor) and result.ndim == 2 and result.count_nonzero() == result.diag().count_nonzero():
            return cls(result.diag())
        return result

    def __repr__(self) -> str:
        return Tensor.__repr__(self, tensor_contents=f"diag={self.diag}")  # type: ignore[call-arg]


class SparseTensor(WrapperTensor):
    """Holds the elements that are not 0, and where they are."""

    values: Any
    indices: Any

    @classmethod
    def get_wrapper_properties(
        cls, size: Any, values: Tensor, indices: Tensor, requires_grad: bool = False
    ) -> tuple[Tensor, dict[str, Any]]:
        return values, {"size": size, "requires_grad": requires_grad}

    def __init__(self, size: Any, values: Tensor, indices: Tensor, requires_grad: bool = False) -> None:
        self.values, self.indices = values, indices

    @staticmethod
    def from_dense(t: Tensor) -> SparseTensor:
        """The same elements, held otherwise."""
        indices = t.nonzero()
        return SparseTensor(t.size(), t[indices.unbind(1)], indices)

    def inside(self) -> Tensor:
        dense = zeros(self.size(), dtype=self.values.dtype)
        dense[self.indices.unbind(1)] = self.values
        return dense

    @classmethod
    def around(cls, result: Any) -> Any:
        return cls.from_dense(result) if isinstance(result, Tensor) else result

    def __repr__(self) -> str:
        contents = f"values={self.values}, indices={self.indices}"
        return Tensor.__repr__(self, tensor_contents=contents)  # type: ignore[call-arg]


class NonWrapperTensor(Tensor):
    """An ordinary tensor that remembers which function made it."""

    extra_state: dict[str, Any]

    def __new__(cls, data: Tensor) -> Any:
        made = Tensor._make_subclass(cls, data)  # type: ignore[attr-defined]
        made.extra_state = {"last_func_called": None}
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_function__(func, types, args, kwargs)
        if isinstance(result, cls):
            if func is Tensor.__deepcopy__:  # type: ignore[attr-defined]
                result.extra_state = deepcopy(args[0].extra_state)
            else:
                result.extra_state = {"last_func_called": func.__name__}
        return result

    def new_empty(self, shape: Any) -> NonWrapperTensor:  # type: ignore[override]
        """Return the tensor that copies start from."""
        return type(self)(zeros(shape))


class SubclassInfo(NamedTuple):
    """One kind of subclass in the tests."""

    name: str
    create_fn: Callable[..., Any]
    closed_under_ops: bool = True  # whether results of operations are of the same class


subclass_db: dict[type, SubclassInfo] = {
    Tensor: SubclassInfo("base_tensor", randn),
    NonWrapperTensor: SubclassInfo("non_wrapper_tensor", lambda shape: NonWrapperTensor(randn(shape))),
    LoggingTensor: SubclassInfo("logging_tensor", lambda shape: LoggingTensor(randn(shape))),
    SparseTensor: SubclassInfo("sparse_tensor", lambda shape: SparseTensor.from_dense(randn(shape).relu())),
    DiagTensorBelow: SubclassInfo("diag_tensor_below", lambda shape: DiagTensorBelow(randn(shape)), False),
    WrapperTensorWithCustomSizes: SubclassInfo(
        "wrapper_with_custom_sizes", lambda shape: WrapperTensorWithCustomSizes(randn(shape)), False
    ),
    WrapperTensorWithCustomStrides: SubclassInfo(
        "wrapper_with_custom_strides", lambda shape: WrapperTensorWithCustomStrides(randn(shape)), False
    ),
}
