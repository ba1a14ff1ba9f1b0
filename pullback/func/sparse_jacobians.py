"""Sparse Jacobians and Hessians: as many sweeps as the pattern needs, not as many as there are unknowns.

The pattern comes from the graph (`sparsity.py`). Rows that have no column in common get the same colour and share one
backward sweep; columns that have no row in common, one forward sweep. Full rows may go backward and the others forward.
All colours of a kind are one batched sweep. A tridiagonal Jacobian takes three colours at any size, and so does an
arrow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import roots
from ..core.basics.types import Function
from ..core.grad_mode import inference_mode
from ..core.tape import wrap
from ..core.tensor import Tensor, anchor_of
from ..transforms.batched_grad import gradient_rows
from .sparsity import dependence


class Pattern:
    """The places where a matrix may differ from zero (row and column numbers, by rows), and a colouring of it.

    A row with a colour is read from the backward sweep of that colour, any other from the forward sweeps of its
    columns' colours; -1 means none.
    """

    rows: np.ndarray
    columns: np.ndarray
    shape: tuple[int, int]
    row_colours: np.ndarray
    column_colours: np.ndarray

    def __init__(self, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int], symmetric: bool = False) -> None:
        self.rows, self.columns, self.shape = rows, columns, shape
        self.symmetric: bool = symmetric
        if symmetric:
            self.row_colours = star_colouring(rows, columns, shape[0])
            self.column_colours = np.full(shape[1], -1)
        else:
            self.row_colours, self.column_colours = two_way_colouring(rows, columns, shape)

    @property
    def sweeps(self) -> int:
        """The number of directional derivatives that give the whole matrix."""
        return _count(self.row_colours) + _count(self.column_colours)

    def entries(self, backward: np.ndarray, forward: np.ndarray) -> np.ndarray:
        """The matrix's entries from the derivatives along the seeds."""
        if self.symmetric:
            return self._symmetric_entries(backward)
        answer = np.zeros(len(self.rows), np.result_type(backward, forward))
        by_row = self.row_colours[self.rows] >= 0
        rows, columns = self.rows[by_row], self.columns[by_row]
        answer[by_row] = backward[self.row_colours[rows], columns]
        rows, columns = self.rows[~by_row], self.columns[~by_row]
        answer[~by_row] = forward[self.column_colours[columns], rows]
        return answer

    def _symmetric_entries(self, compressed: np.ndarray) -> np.ndarray:
        """In row i, the colour of j tells the entry if no other column of the row has it; else (j, i) tells."""
        colours, sweeps = self.row_colours, self.sweeps
        keys = self.rows * sweeps + colours[self.columns]
        alone = np.bincount(keys, minlength=self.shape[0] * sweeps)[keys] == 1
        first = compressed[colours[self.columns], self.rows]
        return np.where(alone, first, compressed[colours[self.rows], self.columns])

    def __repr__(self) -> str:
        return f"Pattern({self.shape[0]} x {self.shape[1]}, {len(self.rows)} entries, {self.sweeps} sweeps)"


def _count(colours: np.ndarray) -> int:
    return int(colours.max(initial=-1)) + 1


def _seeds(colours: np.ndarray, like: Tensor) -> Tensor:
    """One row for each colour, in the shape of a tensor: ones at what has the colour."""
    rows = colours == np.arange(_count(colours))[:, None]
    return wrap(rows.astype(like._array.dtype).reshape(len(rows), *like._array.shape))


class SparseMatrix:
    """A matrix as triplets: `rows`, `columns` (ndarrays of int64) and `values` (a tensor), ordered by rows."""

    pattern: Pattern
    values: Tensor
    rows: np.ndarray
    columns: np.ndarray
    shape: tuple[int, int]

    def __init__(self, pattern: Pattern, values: Tensor) -> None:
        self.pattern, self.values = pattern, values
        self.rows, self.columns, self.shape = pattern.rows, pattern.columns, pattern.shape

    @property
    def sweeps(self) -> int:
        """The number of directional derivatives that were computed."""
        return self.pattern.sweeps

    def to_dense(self) -> Tensor:
        """The whole matrix as a tensor, zeros included."""
        array = np.zeros(self.shape, self.values._array.dtype)
        array[self.rows, self.columns] = self.values._array
        return wrap(array)

    def to_scipy(self) -> Any:
        """The matrix as `scipy.sparse.coo_array`."""
        from scipy.sparse import coo_array

        return coo_array((self.values.detach().numpy(), (self.rows, self.columns)), shape=self.shape)

    def __repr__(self) -> str:
        return f"SparseMatrix({self.shape[0]} x {self.shape[1]}, {len(self.rows)} entries from {self.sweeps} sweeps)"


def sparse_jacobian(f: Callable[[Tensor], Tensor], x: Tensor, *, pattern: Pattern | None = None) -> SparseMatrix:
    """The Jacobian of `f` at `x`, a row for each element of the result, a column for each element of `x`.

    The pattern holds for the path the program took at `x`. Pass that of an earlier result (`result.pattern`) to skip
    detection and colouring when the path is the same.
    """
    with inference_mode(False):
        leaf = x.detach().clone().requires_grad_()
        result = f(leaf)
        _check(result, "sparse_jacobian")
        pattern = pattern_of(result, leaf) if pattern is None else _fitting(pattern, result, leaf)
        backward = _along_rows(result, leaf, pattern)
        forward = _along_columns(f, x, pattern)
    return SparseMatrix(pattern, wrap(pattern.entries(backward, forward).astype(result._array.dtype, copy=False)))


def sparse_hessian(f: Callable[[Tensor], Tensor], x: Tensor, *, pattern: Pattern | None = None) -> SparseMatrix:
    """The Hessian at `x` of a function with one number as result; `pattern` as for `sparse_jacobian`."""
    with inference_mode(False):
        leaf = x.detach().clone().requires_grad_()
        result = f(leaf)
        _check(result, "sparse_hessian")
        if result._array.size != 1:
            raise RuntimeError(f"sparse_hessian() needs a result of one number, got the shape {tuple(result.shape)}")
        if result.requires_grad:
            (slope,) = roots.grad(result, [leaf], create_graph=True, allow_unused=True, materialize_grads=True)
        else:
            slope = wrap(np.zeros(leaf._array.shape, leaf._array.dtype))
        pattern = pattern_of(slope, leaf, symmetric=True) if pattern is None else _fitting(pattern, slope, leaf)
        compressed = _along_rows(slope, leaf, pattern)
    return SparseMatrix(pattern, wrap(pattern.entries(compressed, compressed[:0]).astype(x._array.dtype, copy=False)))


def pattern_of(result: Tensor, leaf: Tensor, symmetric: bool = False) -> Pattern:
    """The pattern of the Jacobian of a computed result with respect to a leaf, from its graph."""
    found = dependence(result, anchor_of(leaf))
    rows, columns = found.rows(), found.columns
    shape = (result._array.size, leaf._array.size)
    if symmetric:  # rounding in conservative rules must not make it lopsided
        keys = np.unique(np.concatenate([rows * shape[1] + columns, columns * shape[1] + rows]))
        rows, columns = keys // max(shape[1], 1), keys % max(shape[1], 1)
    return Pattern(rows, columns, shape, symmetric)


def _fitting(pattern: Pattern, result: Tensor, leaf: Tensor) -> Pattern:
    shape = (result._array.size, leaf._array.size)
    if pattern.shape != shape:
        raise ValueError(
            f"The pattern is that of a {pattern.shape} matrix, but the function's is {shape}. Leave it out."
        )
    return pattern


def _check(result: object, name: str) -> None:
    if not isinstance(result, Tensor):
        raise TypeError(f"{name}() needs a function that returns one tensor, got a {type(result).__name__}")


def _along_rows(result: Tensor, leaf: Tensor, pattern: Pattern) -> np.ndarray:
    seeds = _seeds(pattern.row_colours, result)
    if not len(seeds._array) or not result.requires_grad:
        return np.zeros((len(seeds._array), leaf._array.size))
    (found,) = gradient_rows([result], [leaf], [seeds])
    return np.asarray(found._array).reshape(len(seeds._array), -1)


def _along_columns(f: Function, x: Tensor, pattern: Pattern) -> np.ndarray:
    from ..func import jvp, vmap

    seeds = _seeds(pattern.column_colours, x)
    if not len(seeds._array):
        return np.zeros((0, pattern.shape[0]))
    point = x.detach()
    found = vmap(lambda direction: jvp(f, (point,), (direction,))[1])(seeds)
    return np.asarray(found.detach()._array).reshape(len(seeds._array), -1)


# --- colours ---------------------------------------------------------------------------------------------------------


def colouring(lines: np.ndarray, crossing: np.ndarray, count: int) -> np.ndarray:
    """A colour for each of `count` lines (rows), so that lines that cross the same line (column) differ; -1 if empty.

    Greedy, in order: optimal for bands. The colours met by a crossing line are the bits of one integer.
    """
    colours = np.full(count, -1, np.int64)
    order = np.argsort(lines, kind="stable")
    starts = np.searchsorted(lines[order], np.arange(count + 1)).tolist()
    crossed = crossing[order].tolist()
    taken: dict[int, int] = {}
    for line in range(count):
        mine = crossed[starts[line] : starts[line + 1]]
        if not mine:
            continue
        met = 0
        for other in mine:
            met |= taken.get(other, 0)
        lowest = ~met & (met + 1)
        colours[line] = lowest.bit_length() - 1
        for other in mine:
            taken[other] = taken.get(other, 0) | lowest
    return colours


def two_way_colouring(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Colours for the rows that are read backward, and for the columns of all other rows; as few as were found.

    Tried are all rows, none of them, and the fullest rows: 1, 2, 4, ... of those that are fuller than most.
    """
    none_of_the_rows, none_of_the_columns = np.full(shape[0], -1), np.full(shape[1], -1)
    best = none_of_the_rows, colouring(columns, rows, shape[1])
    by_rows = colouring(rows, columns, shape[0])
    if _count(by_rows) <= _count(best[1]):
        best = by_rows, none_of_the_columns
    fullness = np.bincount(rows, minlength=shape[0])
    fullest = np.argsort(-fullness, kind="stable")
    number, most = 1, int((fullness > 2 * np.median(fullness)).sum()) if len(rows) else 0
    while number <= most and _count(best[0]) + _count(best[1]) > 2:
        backward = np.isin(rows, fullest[:number])
        forward = colouring(columns[~backward], rows[~backward], shape[1])
        mixed = colouring(rows[backward], columns[backward], shape[0]), forward
        if _count(mixed[0]) + _count(mixed[1]) < _count(best[0]) + _count(best[1]):
            best = mixed
        number *= 2
    return best


def star_colouring(rows: np.ndarray, columns: np.ndarray, count: int) -> np.ndarray:
    """Colours for a symmetric pattern, where an entry may be read from either of its two places.

    Neighbours differ, and no path of four vertices has only two colours. An arrowhead takes two colours where
    `colouring` takes one for each row.
    """
    starts = np.searchsorted(rows, np.arange(count + 1)).tolist()
    listed = columns.tolist()
    neighbours = [[w for w in listed[starts[v] : starts[v + 1]] if w != v] for v in range(count)]
    plain = colouring(rows, columns, count)
    degree = max((len(near) for near in neighbours), default=0)
    if plain.max(initial=-1) <= 2 or len(listed) * degree > 50_000_000:
        return plain
    colours = [-1] * count
    for v in range(count):
        if starts[v] == starts[v + 1]:
            continue
        forbidden = set()
        for w in neighbours[v]:
            mine = colours[w]
            if mine >= 0:
                forbidden.add(mine)
            for x in neighbours[w]:
                other = colours[x]
                if x == v or other < 0 or other in forbidden:
                    continue
                if mine < 0 or any(y != w and colours[y] == mine for y in neighbours[x]):
                    forbidden.add(other)
        colour = 0
        while colour in forbidden:
            colour += 1
        colours[v] = colour
    found = np.array(colours, np.int64)
    return found if found.max(initial=-1) < plain.max(initial=-1) else plain
