"""`torch._foreach_*`: one operation on every tensor of a list. A plain loop; optimizers of other libraries use these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_PREFIX = "_foreach_"


def _nth(value: Any, index: int) -> Any:
    return value[index] if isinstance(value, (list, tuple)) else value


def find(name: str) -> Callable[..., Any] | None:
    """The function of that name, made from the tensor method it repeats; None if there is no such method."""
    from ..tensor import Tensor

    method = name.removeprefix(_PREFIX)
    if method == name:
        return None
    if method == "zero_":
        method_of: Callable = Tensor.zero_
    elif method.rstrip("_") == "norm":
        from ..linalg import vector_norm as method_of
    else:
        found = {"maximum_": "clamp_min_", "minimum_": "clamp_max_"}.get(method, method)
        if not hasattr(Tensor, found):
            return None
        method_of = getattr(Tensor, found)

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
