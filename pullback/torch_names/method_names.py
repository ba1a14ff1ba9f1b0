"""Functions of `torch` that are methods of tensors by another road: `torch.sin_(x)`, `torch._foreach_add(tensors, 1)`.

`_foreach_` functions repeat one operation on every tensor of a list, in a plain loop; optimizers of other libraries use
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_FOREACH = "_foreach_"


def find(name: str) -> Callable[..., Any] | None:
    """The function torch has under this name, or None."""
    if name.startswith(_FOREACH):
        return _for_each(name)
    from ..functional.registry import IN_PLACE
    from ..tensor import Tensor

    return getattr(Tensor, name) if name in IN_PLACE or name in ("as_strided_", "resize_as_") else None


def _for_each(name: str) -> Callable[..., Any] | None:
    """A function made from the tensor method it repeats; None if there is no such method."""
    from ..tensor import Tensor

    method = name.removeprefix(_FOREACH)
    method_of: Any = getattr(Tensor, {"maximum_": "clamp_min_", "minimum_": "clamp_max_"}.get(method, method), None)
    if method.rstrip("_") == "norm":  # the norms of vectors, however they are shaped
        from ..linalg import vector_norm as method_of
    if method_of is None:
        return None

    def function(self: Any, *args: Any, **kwargs: Any) -> Any:
        if method.startswith("addc") and len(args) == 3:
            kwargs, args = {**kwargs, "value": args[2]}, args[:2]
        results = []
        for index, tensor in enumerate(self):
            given = {key: _nth(value, index) for key, value in kwargs.items()}
            results.append(method_of(tensor, *(_nth(value, index) for value in args), **given))
        return self if method.endswith("_") else results

    function.__name__ = name
    function.__doc__ = f"`{method}` of every tensor in a list."
    return function


def _nth(value: Any, index: int) -> Any:
    return value[index] if isinstance(value, (list, tuple)) else value
