"""A wrapper of two tensors: every operation runs on both."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor, disabled_torch_function
from ...utils._python_dispatch import return_and_correct_aliasing
from ...utils._pytree import tree_flatten, tree_map, tree_unflatten


class TwoTensor(Tensor):
    """Two tensors of one shape that go the same way."""

    a: Tensor
    b: Tensor
    __torch_function__ = disabled_torch_function  # type: ignore[assignment]

    def __new__(
        cls,
        a: Tensor,
        b: Tensor,
        outer_size: Any = None,
        outer_stride: Any = None,
        *,
        requires_grad: bool | None = None,
    ) -> Any:
        assert a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride()
        wanted = a.requires_grad if requires_grad is None else requires_grad
        result = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            a.size() if outer_size is None else outer_size,
            strides=a.stride() if outer_stride is None else outer_stride,
            dtype=a.dtype,
            requires_grad=wanted,
        )
        result.a, result.b = a, b
        return result

    def __repr__(self) -> str:
        return f"TwoTensor({self.a!r}, {self.b!r})"

    __str__ = __repr__

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(
        inner_tensors: dict[str, Tensor], meta: Any, outer_size: Any, outer_stride: Any
    ) -> TwoTensor:
        return TwoTensor(inner_tensors["a"], inner_tensors["b"], outer_size, outer_stride)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def side(name: str) -> Any:
            def inside(value: Any) -> Any:
                return getattr(value, name) if isinstance(value, TwoTensor) else value

            return func(*tree_map(inside, args), **tree_map(inside, kwargs or {}))

        first, spec = tree_flatten(side("a"))
        second, _ = tree_flatten(side("b"))
        both = [cls(a, b) if isinstance(a, Tensor) else a for a, b in zip(first, second, strict=True)]
        return return_and_correct_aliasing(func, args, kwargs or {}, tree_unflatten(both, spec))
