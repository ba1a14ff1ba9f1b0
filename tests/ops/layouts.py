"""The same numbers in several memory layouts, and what a call leaves in memory: for both libraries."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

FOUR = ((0, 1, 2, 3), (0, 2, 3, 1), (3, 2, 1, 0), (1, 0, 2, 3), (0, 1, 3, 2))  # of the orders of four dims


def layouts(ndim: int) -> list[tuple[str, Any]]:
    """Ways in which a tensor can lie in memory: orders of its dims, with gaps, repeated along a dim."""
    orders = itertools.permutations(range(ndim)) if ndim < 4 else FOUR
    ways: list[tuple[str, Any]] = [("order", order) for order in orders]
    return [*ways, ("gaps", False), ("gaps", True), *(("expanded", dim) for dim in range(ndim))]


def placed(library: Any, values: np.ndarray, layout: tuple[str, Any]) -> Any:
    """A tensor of these values in a memory layout (repeated values where it is expanded)."""
    kind, detail = layout
    if kind == "order":
        turned = library.tensor(np.ascontiguousarray(values.transpose(detail)))
        return turned.permute(*[detail.index(dim) for dim in range(values.ndim)])
    if kind == "gaps":
        inner = values.T if detail else values
        wide = np.zeros((*inner.shape[:-1], inner.shape[-1] * 2), values.dtype)
        wide[..., ::2] = inner
        result = library.tensor(wide)[..., ::2]
        return result.permute(*range(values.ndim - 1, -1, -1)) if detail else result
    return library.tensor(np.ascontiguousarray(values.take([0], detail))).expand(*values.shape)


def tensors_in(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [one for part in result for one in tensors_in(part)]
    return [result] if hasattr(result, "stride") else []


def steps(tensor: Any) -> tuple[int, ...] | None:
    """The strides that tell where elements lie: those of dims with more than one."""
    if not tensor.numel():
        return None
    return tuple(step for step, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1)
