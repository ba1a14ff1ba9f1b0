"""Regular structures from sizes or vectors: tril_indices, cartesian_prod, combinations, vander; given strides.

Creation in general is in `creation.py`.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ..autograd.mode import is_inference_mode_enabled
from ..autograd.tape import apply, wrap
from ..ops import scatter
from ..tensor import Tensor
from . import joining, shape
from .operands import sizes_of
from .registry import FUNCTIONS, METHODS, public


def _numpy_dtype(dtype: Any, default: Any = None) -> np.dtype:
    from ..creation import numpy_dtype

    return default if dtype is None and default is not None else numpy_dtype(dtype)


def _triangle_indices(name: str, find: Any) -> None:
    def function(
        row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None, **_: Any
    ) -> Tensor:
        from ..creation import finish

        for label, n in (("row", row), ("col", col)):
            if n < 0:
                raise RuntimeError(f"{label} must be non-negative, got {n}")
        indices = np.stack(find(row, offset, col))
        return finish(indices.astype(_numpy_dtype(dtype, np.dtype(np.int64))), False, device, layout=layout)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The rows and columns of the {'lower' if name.startswith('tril') else 'upper'} triangle."
    FUNCTIONS[name] = function


_triangle_indices("tril_indices", np.tril_indices)
_triangle_indices("triu_indices", np.triu_indices)


@public(method=False, wrap=False)
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element from each vector, one row for each."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    for x in tensors:
        if x._array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x._array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    grids = joining.meshgrid(*tensors, indexing="ij")
    return joining.stack([shape.reshape(grid, (grid._array.size,)) for grid in grids], 1)


@public(method=False)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of `r` elements of a vector, one row for each."""
    if input._array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input._array.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return wrap(np.empty(0, input._array.dtype))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input._array.size), r))
    index = wrap(np.array(rows, np.intp).reshape(len(rows), r))
    return apply(scatter.take, (input, index))


@public(method=False)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector's elements as columns, highest first unless `increasing`."""
    if x._array.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x._array.size if N is None else N
    if count < 0:
        raise RuntimeError(f"N must be non-negative, got {count}")
    from ..creation import empty, ones_like

    if not count:
        return empty((x._array.size, 0), dtype=x.dtype)
    x = x.long() if x._array.dtype.kind in "biu" else x
    columns = [ones_like(x)]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    return joining.stack(columns if increasing else columns[::-1], 1)


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write one value to the main diagonal; with `wrap`, a tall matrix has it again below."""
    sizes, ndim = self._array.shape, self._array.ndim
    if ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if ndim > 2 and len(set(sizes)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    from .copying import fill_
    from .subviews import as_strided

    strides = tuple(step // self._array.itemsize for step in self.memory().strides)
    step = sum(strides)
    fill_(as_strided(self, (min(sizes),), (step,)), fill_value)
    rows, columns = sizes[:2]
    if wrap and ndim == 2 and rows > columns + 1:
        # The diagonal goes on one row below where it left the matrix, again and again.
        for top in range(columns + 1, rows, columns + 1):
            fill_(self[top:].diagonal(), fill_value)
    return self


METHODS["fill_diagonal_"] = fill_diagonal_

# --- memory with given strides ---


def _strided(sizes: tuple, strides: tuple, kind: np.dtype) -> np.ndarray:
    if len(sizes) != len(strides):
        raise RuntimeError(
            f"Storage size calculation: dimensionality of sizes ({len(sizes)}) must match dimensionality of strides "
            f"({len(strides)})"
        )
    if any(n < 0 for n in sizes) or any(step < 0 for step in strides):
        raise RuntimeError(f"empty_strided: sizes {list(sizes)} and strides {list(strides)} must not be negative")
    places = sum((n - 1) * step for n, step in zip(sizes, strides, strict=True)) + 1 if 0 not in sizes else 0
    memory = np.empty(places, kind)
    if not places:
        return memory.reshape(sizes)
    from ..ops.striding import view_at

    return view_at(memory, sizes, tuple(step * kind.itemsize for step in strides))


@public(method=False, wrap=False)
def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """An uninitialised tensor with the given sizes and strides."""
    from ..creation import finish

    array = _strided(sizes_of((size,)), sizes_of((stride,)), _numpy_dtype(dtype))
    return finish(array, requires_grad, device, layout=layout)


@public(method=False, wrap=False)
def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """An uninitialised tensor whose dims lie in memory in the given order."""
    from ..creation import finish

    sizes, order = sizes_of((size,)), sizes_of((physical_layout,))
    if len(sizes) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(sizes)} is not equal to len(physical_layout) = {len(order)}"
        )
    if len(set(order)) != len(order):
        raise RuntimeError("Duplicate dim not allowed")
    for d in order:
        if not 0 <= d < len(sizes):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(sizes) - 1}, but got {d})")
    array = np.empty(tuple(sizes[d] for d in order), _numpy_dtype(dtype)).transpose(np.argsort(order))
    return finish(array, requires_grad, device, layout=layout)


def new_empty_strided(self: Tensor, size: Any, stride: Any, *, dtype: Any = None, **options: Any) -> Tensor:
    """An uninitialised tensor with the given sizes and strides, in the dtype of this one."""
    from ..creation import beside

    return beside(self, empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype, **options))


METHODS["new_empty_strided"] = new_empty_strided

# --- other memory for the same tensor ---


def _check_resize(self: Tensor) -> None:
    if self.requires_grad and not is_inference_mode_enabled():
        raise RuntimeError("cannot resize variables that require grad")


def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Give this tensor another size, on the memory it has if that is enough; new elements are uninitialised."""
    from ..autograd.views import bump, storage_of

    _check_resize(self)
    wanted = sizes_of(sizes)
    if any(n < 0 for n in wanted):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(wanted)}: {list(wanted)}")
    array = self.memory()
    if array.shape != wanted:
        count = math.prod(wanted)
        if count * array.itemsize >= 1 << 63:
            raise RuntimeError(f"Storage size calculation overflowed (integer overflow) with sizes={list(wanted)}")
        if math.prod(n for n in wanted if n) >= 1 << 63:
            raise RuntimeError(f"Stride calculation overflowed with sizes={list(wanted)}")
        flat, start = _memory_from(array)
        missing = start + count - flat.size
        if missing > 0:
            flat, start = np.concatenate([flat[start:], np.empty(missing, array.dtype)]), 0
        self._array = flat[start : start + count].reshape(wanted)
        bump(storage_of(self))
    return self


def _memory_from(array: np.ndarray) -> tuple[np.ndarray, int]:
    """The memory an array looks at as one row, and where in it the array begins."""
    from ..ops.striding import address, owner_of

    if not isinstance(array, np.ndarray):  # inside vmap, every example has memory of its own
        return array.reshape(-1), 0
    owner = owner_of(array)
    if array.size and owner.flags.c_contiguous and owner.dtype == array.dtype:
        return owner.reshape(-1), (address(array) - address(owner)) // array.itemsize
    return array.reshape(-1), 0


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give this tensor the size of another."""
    return resize_(self, the_template.shape)


def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = ()) -> Tensor:
    """Look at the memory of another tensor from now on (or at none)."""
    from ..autograd.views import anchor_of, bump, check_writable, current_mode, storage_of

    mode = current_mode()
    check_writable(self, mode, mode.grad and self._requires_grad)
    if source is None:
        self._array = np.empty(0, self._array.dtype)
    else:
        if not isinstance(source, Tensor):  # a storage: its bytes, read as elements of this tensor's dtype
            source = wrap(source.as_array(self.dtype))
            size = source.shape if size is None else size
        if source._array.dtype != self._array.dtype:
            raise RuntimeError(
                f"Could not set tensor of type {source.dtype.short_name} to a tensor of type {self.dtype.short_name}"
            )
        if size is not None:
            from .subviews import as_strided

            strides = stride or _plain_strides(sizes_of((size,)))
            source = as_strided(source, size, strides, storage_offset)
        self._array = source.memory()
    left = self._anchor  # graphs recorded before know the tensor by what it looked at then
    self._anchor = None
    if left is not None and left._hooks is not None:
        anchor_of(self)._hooks = left._hooks
    bump(storage_of(self))
    return self


def _plain_strides(sizes: tuple) -> tuple:
    steps, step = [], 1
    for n in reversed(sizes):
        steps.append(step)
        step *= max(n, 1)
    return tuple(reversed(steps))


METHODS.update(resize_=resize_, resize_as_=resize_as_, set_=set_)
