"""Rows looked up in a table, and rows put together in bags. Linear in the table; indices are plain arrays.

`lookup` and `collect` are each other's transposes, up to what padding and frequencies take away from a gradient.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.kernel import kernel
from ..core.mostly_zeros import Rows
from ..core.op import Op, fused, linear
from ..kernels.embedding import embedding_backward
from ..kernels.groups import accumulate
from ..kernels.like import brought, combine_at, counted, full, zeros
from ..kernels.thresholds import ADDED_BY_ELEMENTS, ADDED_UNSORTED
from .casting import cast
from .fusing import in_single
from .layouts import BAGS, COLLECTED, ROWS_OF_TABLE, SPARSE_ROWS_OF_TABLE
from .pooling import scatter_planes
from .samples import Draw, Sample

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array
    from ..core.basics.types import Shape


def _inside(indices: Array, rows: int) -> bool:
    if indices.dtype.char == "l" and type(indices) is np.ndarray:  # negative numbers are huge without their sign
        numbers = indices.view(np.uintp)
        return numbers.item(numbers.argmax()) < rows
    return bool(indices.min() >= 0 and indices.max() < rows)


def _check_inside(indices: Array, shape: tuple[int, ...]) -> None:
    rows = shape[0]
    if indices.size and not _inside(indices, rows):
        if 0 in shape:
            raise RuntimeError(
                "index_select(): self indexing axis dim should be positive, and the INDICES element is out of DATA bounds: "
                f"the table has the shape {list(shape)}."
            )
        raise IndexError(
            f"index out of range in self: indices go from {indices.min()} to {indices.max()}, and the table has "
            f"{rows} rows"
        )


def _lookup(weight: Array, indices: Array, padding: int | None, by_frequency: bool) -> Array:
    indices = brought(indices, weight)
    _check_inside(indices, weight.shape)
    return weight[indices]


def _fast_lookup(weight: Array, indices: Array, padding: int | None, by_frequency: bool) -> Array:
    indices = np.asarray(indices)
    if not indices.size:
        return weight[indices]
    if not _inside(indices, weight.shape[0]):
        _check_inside(indices, weight.shape)
    return weight.take(indices, 0)


def _collect(x: Array, indices: Array, size: int, padding: int | None, by_frequency: bool) -> Array:
    width, indices = x.shape[-1], np.reshape(brought(indices, x), -1)
    out = add_rows(x, indices, size)
    if by_frequency:
        out = out / np.maximum(np.bincount(indices, minlength=size), 1).astype(out.dtype)[:, None]
    if padding is not None:
        out[padding] = 0
    return np.reshape(out, (size, width))


def add_rows(x: Array, numbers: Array, size: int) -> Array:
    """An array of `size` rows, to which rows have been added by their numbers."""
    width = x.shape[-1]
    out = zeros((size * width,), x)
    places = np.reshape(numbers, (-1, 1)) * width + counted(width, out)
    np.add.at(out, np.reshape(places, -1), np.reshape(x, -1))
    return np.reshape(out, (size, width))


def _fast_collect(x: Array, indices: Array, size: int, padding: int | None, by_frequency: bool) -> Array:
    indices = np.asarray(indices)
    if indices.size == 0:
        return np.zeros((size, x.shape[-1]), x.dtype)
    if x.size <= ADDED_BY_ELEMENTS and padding is None and not by_frequency and x.dtype.itemsize > 2:
        width = x.shape[-1]  # too few to sort: on one row of numbers `add.at` is as fast as an assignment
        out = np.zeros(size * width, x.dtype)
        np.add.at(out, (indices.reshape(-1, 1) * width + np.arange(width)).reshape(-1), x.reshape(-1))
        return out.reshape(size, width)
    return embedding_backward(x, indices, size=size, padding_index=padding, scale_by_frequency=by_frequency)


def _collect_transpose(g: Array, indices: Array, size: int, padding: int | None, by_frequency: bool) -> Array:
    """Rows read back: nothing where the index is padding, less where it is frequent."""
    rows = lookup(g, indices, padding=None, by_frequency=False)
    factors = row_factors(indices, size=size, padding=padding, by_frequency=by_frequency)
    return rows if factors is None else rows * factors


def row_factors(indices: Array, size: int, padding: int | None, by_frequency: bool) -> Array | None:
    """The factors by which the gradients of looked-up rows are multiplied; None if all are 1."""
    if padding is None and not by_frequency:
        return None
    indices = getattr(indices, "_array", indices)
    if not by_frequency:
        return cast(indices != padding, dtype=np.dtype(np.float32))[..., None]
    factors = 1 / np.bincount(np.reshape(indices, -1), minlength=size)[indices].astype(np.float32)
    if padding is not None:
        factors = np.where(indices == padding, 0, factors)
    return factors[..., None]


def _lookup_transpose(g: Array, weight_shape: Shape, indices: Array, padding: int | None, by_frequency: bool) -> Array:
    return collect(g, indices, size=weight_shape[0], padding=padding, by_frequency=by_frequency)


def _rows_used(
    g: Array, weight_shape: tuple[int, int], indices: Array, padding: int | None, by_frequency: bool
) -> Array | Rows:
    """The gradient as the rows that were used, on its way to a leaf."""
    numbers, values = np.asarray(indices, np.int64).reshape(-1), g.reshape(np.size(indices), weight_shape[1])
    if padding is not None:
        numbers, values = numbers[numbers != padding], values[numbers != padding]
    return Rows(numbers, values, weight_shape)


def _tables(draw: Draw) -> Iterator[tuple[Array, Array]]:
    """Tables, and numbers of rows, in several shapes."""
    for shape, count in (
        ((3, 2), (4,)),
        ((5, 1), (2, 3)),
        ((4, 3), (0,)),
        ((4, 0), (2,)),
        ((7, 3), ()),
        ((200, 50), (300,)),
    ):
        yield draw(*shape), draw.whole(count, shape[0])


def _params_of(table: Array) -> list[dict[str, Any]]:
    """With padding, and less for what is frequent, a gradient is not that of the lookup: not for few rows."""
    wide = (False, True) if table.size > 1000 else (False,)
    return [{"padding": 1 if padded else None, "by_frequency": often} for padded in wide for often in wide]


lookup: Op = linear(
    "EmbeddingBackward0",
    _lookup,
    weight=_lookup_transpose,
    indices=None,
    kernel=kernel(_fast_lookup),
    batch=ROWS_OF_TABLE,
    samples=lambda draw: [(given, params) for given in _tables(draw) for params in _params_of(given[0])],
)
lookup_rows: Op = linear(
    "EmbeddingBackward0",
    _lookup,
    weight=_lookup_transpose,
    indices=None,
    kernel=kernel(_fast_lookup, weight=_rows_used),
    batch=SPARSE_ROWS_OF_TABLE,
    gives_arrays=False,
    samples=lambda draw: [(given, {"padding": None, "by_frequency": False}) for given in _tables(draw)],
)
collect: Op = linear(
    "EmbeddingDenseBackwardBackward0",
    _collect,
    x=_collect_transpose,
    indices=None,
    kernel=kernel(_fast_collect),
    batch=COLLECTED,
    samples=lambda draw: [
        ((draw(*numbers.shape, table.shape[1]), numbers), {"size": table.shape[0], **params})
        for table, numbers in _tables(draw)
        for params in _params_of(table)
    ],
)

# --- bags: `bags` numbers the bag of each row, in ascending order ---


def _sum_bags(x: Array, bags: Array, count: int) -> Array:
    if x.shape[0] == 0:
        return np.zeros((count, *x.shape[1:]), x.dtype)
    out = np.zeros((count, *x.shape[1:]), x.dtype)
    length = x.shape[0] // max(count, 1)
    if x.size <= ADDED_UNSORTED:
        np.add.at(out, bags, x)
    elif length * count == x.shape[0] and np.array_equal(bags, np.repeat(np.arange(count), length)):  # all alike
        np.add.reduce(x.reshape(count, length, *x.shape[1:]), axis=1, out=out)
    else:
        accumulate(np.add, out, np.asarray(bags), x, fresh=True)
    return out


def _sum_bags_formula(x: Array, bags: Array, count: int) -> Array:
    out = zeros((count, *x.shape[1:]), x)
    np.add.at(out, bags, x)
    return out


def _sum_bags_transpose(g: Array, bags: Array) -> Array:
    return lookup(g, bags, padding=None, by_frequency=False)


def _bag_samples(draw: Draw, sizes: bool = False) -> Iterator[Sample]:
    """Rows in 4 bags of which one is empty, in bags of one size, and without rows."""
    for bags in (
        np.array([0, 0, 2, 3]),
        np.repeat(np.arange(4), 700),
        np.sort(draw.whole((3000,), 4)),
        np.zeros(0, int),
    ):
        parts = (draw(4, 1, low=1),) if sizes else ()
        yield (draw(len(bags), 3), bags, *parts), {"count": 4}


sum_bags: Op = linear(
    "EmbeddingBagBackward0",
    _sum_bags_formula,
    x=_sum_bags_transpose,
    bags=None,
    kernel=kernel(in_single(_sum_bags)),
    batch=BAGS,
    aten="_embedding_bag",
    samples=_bag_samples,
)
mean_bags: Op = linear(
    "EmbeddingBagBackward0",
    lambda x, bags, sizes, count: _sum_bags_formula(x, bags, count) / sizes,
    x=lambda g, bags, sizes: _sum_bags_transpose(g / sizes, bags),
    bags=None,
    sizes=None,
    kernel=kernel(in_single(lambda x, bags, sizes, count: _sum_bags(x, bags, count) / sizes)),
    batch=BAGS,
    aten="_embedding_bag",
    samples=lambda draw: _bag_samples(draw, sizes=True),
)


def _max_bags(x: Array, bags: Array, count: int) -> tuple[Array, Array]:
    """Largest value of each column in each bag, and the row it stands in (columns first); 0 for empty bags."""
    rows, width = x.shape
    values, places = np.zeros((count, width), x.dtype), np.zeros((width, count), np.int64)
    edges = np.searchsorted(bags, np.arange(count + 1))
    for bag, (start, stop) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        if start < stop:
            best = np.argmax(x[start:stop], axis=0)
            values[bag] = x[start:stop][best, np.arange(width)]
            places[:, bag] = best + start
    return values, places


def _max_bags_formula(x: Array, bags: Array, count: int) -> tuple[Array, Array]:
    rows, width = x.shape
    bags = brought(bags, x)
    places = np.reshape(bags[:, None] * width + counted(width, x), -1)
    largest, first = full((count * width,), -math.inf, x), full((count * width,), rows, x, np.int64)
    combine_at(np.maximum, largest, places, np.reshape(x, -1))
    wins = (x == np.reshape(largest, (count, width))[bags]) | np.isnan(x)
    combine_at(np.minimum, first, places, np.reshape(np.where(wins, counted(rows, x)[:, None], rows), -1))
    largest, first = np.reshape(largest, (count, width)), np.reshape(first, (count, width))
    return np.where(first < rows, largest, 0), np.swapaxes(np.where(first < rows, first, 0), 0, 1)


def _max_bags_pullback(
    g: Array, x_shape: Shape, bags: Array, extras: tuple[Any, ...], count: int
) -> tuple[Array, Array | None]:
    if x_shape[0] == 0:  # every bag is empty
        return g[:0], None
    filled = (np.bincount(getattr(bags, "_array", bags), minlength=count) > 0)[:, None]
    by_column = np.swapaxes(g * filled, 0, 1)
    return np.swapaxes(scatter_planes(by_column, extras[0], spatial=(x_shape[0],)), 0, 1), None


max_bags: Op = fused(
    "EmbeddingBagBackward0",
    _max_bags_formula,
    joint=_max_bags_pullback,
    inputs=("x", "bags"),
    kernel=kernel(_max_bags),
    batch=BAGS,
    aten="_embedding_bag",
    samples=_bag_samples,
)
