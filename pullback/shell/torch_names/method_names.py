"""Functions of `torch` that are methods of tensors under another name: `torch.sin_(x)`, `torch._foreach_add(tensors, 1)`.

`_foreach_` functions repeat one operation on every tensor of a list, in a plain loop; optimizers of other libraries use
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

_FOREACH = "_foreach_"


def find(name: str) -> Callable[..., Any] | None:
    """The function torch has under this name, or None."""
    if name.startswith(_FOREACH):
        return _for_each(name)
    from ...core.tensor import Tensor
    from ...functional.gate import with_own_name
    from ...functional.registry import IN_PLACE

    known = name in IN_PLACE or name in ("as_strided_", "resize_as_")
    return with_own_name(getattr(Tensor, name), name, "torch") if known else None


def _for_each(name: str) -> Callable[..., Any] | None:
    """A function made from the tensor method it repeats; None if there is no such method."""
    method = name.removeprefix(_FOREACH)
    method_of = _repeated(method)
    if method_of is None:
        return None

    def function(self: Any, *args: Any, **kwargs: Any) -> Any:
        if method == "pow" and not isinstance(self, (list, tuple)):  # a number to the power of each tensor
            return tuple(self**exponent for exponent in args[0])
        if method.startswith("addc") and len(args) == 3:
            kwargs, args = {**kwargs, "value": args[2]}, args[:2]
        count = len(self)
        if not count:
            raise RuntimeError("Tensor list must have at least one tensor.")
        each = [_spread(value, count) for value in args]
        named = {key: _spread(value, count, packed=key == "value") for key, value in kwargs.items()}
        results = [
            method_of(tensor, *[values[index] for values in each], **{key: named[key][index] for key in named})
            for index, tensor in enumerate(self)
        ]
        return self if method.endswith("_") else tuple(results)

    function.__name__ = name
    function.__doc__ = f"`{method}` of every tensor in a list."
    return function


def _repeated(method: str) -> Any:
    """Return the function that is applied to each tensor: mostly its method of that name."""
    from ...core.tensor import Tensor

    if method == "norm":  # the norms of vectors, however they are shaped
        from ...linalg import vector_norm

        return vector_norm
    if method == "powsum":
        return lambda tensor, ord=2: tensor.abs().pow(ord).sum()
    if method in ("maximum", "minimum"):  # which take numbers here
        from ...functional import creation

        def bounded(tensor: Tensor, other: Any) -> Tensor:
            return getattr(tensor, method)(other if isinstance(other, Tensor) else creation.tensor(other))

        return bounded
    return getattr(Tensor, {"maximum_": "clamp_min_", "minimum_": "clamp_max_"}.get(method, method), None)


def _spread(value: Any, count: int, packed: bool = False) -> Sequence[Any]:
    """A value for each of `count` tensors: from a list, from a tensor of numbers (`packed`), or the same for all."""
    from ...core.tensor import Tensor

    if packed and isinstance(value, Tensor):
        if value.dim() != 1:
            raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {value.dim()} instead.")
        if len(value) != count:
            raise RuntimeError(
                f"Expected length of scalars to match input of length {count} but got {len(value)} instead."
            )
        return value.tolist()
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        if value and isinstance(value[0], Tensor):
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(value)}")
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return value
