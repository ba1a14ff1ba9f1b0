"""Operations that give a tensor itself another shape: squeeze_, unsqueeze_, transpose_, t_ and relatives."""

from __future__ import annotations

from typing import Any

from ..core import writes
from ..core.tensor import Tensor
from ..ops import shape as ops
from .operands import wrap_dim
from .registry import public
from .shape import matrix_axes, ones, swapped_axes


@public(function=False, direct=True)
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """Give this tensor a new dim of size 1."""
    axis = wrap_dim(dim, self._array.ndim + 1)
    return writes.reshape_in_place(
        self, ops.unsqueeze_in_place, {"axis": axis}, (ops.select, {"index": (*(slice(None),) * axis, 0)})
    )


@public(function=False, direct=True)
def squeeze_(self: Tensor, dim: Any = None) -> Tensor:
    """Take dims of size 1 away from this tensor."""
    axes = ones(self._array.shape, dim)
    several = ops.squeeze_several_in_place
    op = ops.squeeze_all_in_place if dim is None else ops.squeeze_in_place if isinstance(dim, int) else several
    back = tuple(None if i in axes else slice(None) for i in range(self._array.ndim))
    return writes.reshape_in_place(self, op, {"axes": axes}, (ops.slice_, {"index": back}))


@public("swapaxes_", "swapdims_", function=False, direct=True)
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dims of this tensor."""
    axes = swapped_axes(self._array.ndim, dim0, dim1)
    return writes.reshape_in_place(self, ops.transpose_in_place, {"axes": axes}, (ops.permute, {"axes": axes}))


@public(function=False, direct=True)
def t_(self: Tensor) -> Tensor:
    """Transpose this matrix."""
    writes.check_early(self)
    axes = matrix_axes(self, "t_")
    return writes.reshape_in_place(self, ops.matrix_transpose_in_place, {"axes": axes}, (ops.permute, {"axes": axes}))
