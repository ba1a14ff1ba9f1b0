"""Regular structures from sizes or vectors: tril_indices, cartesian_prod, combinations, vander.

Creation in general is in `functional/creation.py`, `meshgrid` in `joining.py`.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ..core.basics.dtypes import from_numpy_dtype
from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..ops import taking
from . import cumulative, joining, rearranging, shape
from .operands import need_int
from .refusals import complaint_for
from .registry import public


def _numpy_dtype(dtype: Any, default: Any = None) -> np.dtype:
    from .creation import numpy_dtype

    return default if dtype is None and default is not None else numpy_dtype(dtype)


def _triangle_indices(name: str, find: Any) -> None:
    def function(
        row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None,
        pin_memory: bool = False, requires_grad: bool = False,
    ) -> Tensor:  # fmt: skip
        from .creation import finish

        row, col = need_int(row, name, "row", 1), need_int(col, name, "col", 2)
        offset = need_int(offset, name, "offset", 3)
        for label, n in (("row", row), ("col", col)):
            if n < 0:
                raise RuntimeError(f"{label} must be non-negative, got {n}")
        kind = _numpy_dtype(dtype, np.dtype(np.int64))
        if kind not in (np.int64, np.int32):
            raise NotImplementedError(
                f"\"{name}\" not implemented for '{from_numpy_dtype(kind).type_name}'. Indices are int32 or int64."
            )
        offset = max(-row, min(offset, col))  # beyond the last diagonal there is nothing, or all
        indices = np.stack(find(row, offset, col))
        return finish(indices.astype(kind), requires_grad, device, layout=layout)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The rows and columns of the {'lower' if name.startswith('tril') else 'upper'} triangle."
    public(method=False, tensors=False)(function)


_triangle_indices("tril_indices", np.tril_indices)
_triangle_indices("triu_indices", np.triu_indices)


@public(method=False, direct=True, passed="")
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element from each vector, one row for each."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    try:
        for x in tensors:
            if x._array.ndim != 1:
                raise RuntimeError(f"Expect a 1D vector, but got shape {list(x._array.shape)}")
    except AttributeError as error:
        raise complaint_for(error) from None
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
    n = input._array.size
    count = math.comb(n + r - 1 if with_replacement else n, r) if n else 0
    if count * r > _MOST_ELEMENTS:
        raise RuntimeError(
            f"numel: integer multiplication overflow: {count} combinations of {r} elements are more than a tensor can have"
        )
    # Their number is known beforehand, so that there is room for them or none is drawn up.
    index = np.fromiter(itertools.chain.from_iterable(choose(range(n), r)), np.intp, count * r).reshape(count, r)
    return apply(taking.take, (input, wrap(index)))


_MOST_ELEMENTS = (1 << 63) - 1


@public(method=False)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector's elements as columns, highest first unless `increasing`."""
    if x._array.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x._array.size if N is None else N
    if count < 0:
        raise RuntimeError(f"N must be non-negative, got {count}")
    from .creation import empty, ones_like

    x = x.long() if x._array.dtype.kind in "biu" else x
    if not count:
        return empty((x._array.size, 0), dtype=x.dtype)
    if count == 1:
        return ones_like(x)[:, None]
    powers = cumulative.cumprod(shape.expand(x[:, None], (x._array.size, count - 1)), 1)
    powers = joining.cat([ones_like(x)[:, None], powers], 1)
    return powers if increasing else rearranging.flip(powers, (1,))
