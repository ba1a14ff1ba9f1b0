"""Spreading inputs over devices and collecting outputs, for the one device there is."""

from __future__ import annotations

from typing import Any

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter(inputs: Any, target_gpus: Any = None, dim: int = 0) -> list[Any]:
    """One share: everything."""
    return [inputs]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Any = None, dim: int = 0
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """One share of positional and keyword arguments: everything."""
    return (tuple(inputs),), (kwargs or {},)


def gather(outputs: Any, target_device: Any = None, dim: int = 0) -> Any:
    """The outputs of the devices put together along `dim`."""
    from ...core.tensor import Tensor
    from ...functional.joining import cat

    first = outputs[0]
    if isinstance(first, Tensor):
        return cat([each.unsqueeze(0) if each.ndim == 0 else each for each in outputs], dim)
    if isinstance(first, dict):
        return type(first)((key, gather([each[key] for each in outputs], target_device, dim)) for key in first)
    if isinstance(first, (list, tuple)):
        return type(first)(gather(list(each), target_device, dim) for each in zip(*outputs, strict=True))
    return first
