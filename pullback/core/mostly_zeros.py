"""Gradients that are zero nearly everywhere, as the few values that are not.

`Rows` is that of a table of which few rows were used: `embedding(..., sparse=True)` sends it to its leaf, where it
becomes a sparse tensor. `Picked` is that of a matrix of which one element in each row was used: a classifier's loss
sends it to `log_softmax`, which goes on with the few values. Whoever else asks gets the dense array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import seams

if TYPE_CHECKING:
    from .basics.types import Array, Cotangent, DType, Edge, Gradient, Operand, Rule
    from .engine import Sweep
    from .node import Node
    from .tensor import Tensor


class MostlyZeros:
    """A short form of an array. Arithmetic with it gives what arithmetic with the whole array gives."""

    dtype: DType
    size: int = 0  # never so large that it is worth dividing

    def dense(self) -> np.ndarray:
        """The whole array."""
        raise NotImplementedError

    def copy(self) -> MostlyZeros:
        """The same object: what is added to it makes another one."""
        return self

    def __add__(self, other: Gradient) -> Gradient:
        return self.dense() + other

    def __radd__(self, other: Gradient) -> Gradient:
        return other + self.dense()

    def __array__(self, dtype: DType | None = None, copy: bool | None = None) -> np.ndarray:
        return self.dense() if dtype is None else self.dense().astype(dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Operand, **options: Any) -> Array:
        given = [value.dense() if isinstance(value, MostlyZeros) else value for value in inputs]
        return getattr(ufunc, method)(*given, **options)


class Rows(MostlyZeros):
    """Gradients `values` of the rows with these numbers; rows may come several times, and then add up."""

    ndim: int = 2
    base: Any = ()  # no memory that a leaf could take over

    def __init__(self, numbers: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> None:
        self.numbers: np.ndarray = numbers
        self.values: np.ndarray = values
        self.shape: tuple[int, int] = shape
        self.dtype: DType = values.dtype

    def dense(self) -> np.ndarray:
        """The whole table."""
        out = np.zeros(self.shape, self.dtype)
        np.add.at(out, self.numbers, self.values)
        return out

    def sparse(self) -> Tensor:
        """A sparse tensor of the rows, each as often as it was used, in memory of its own."""
        return seams.make_sparse(
            seams.wrap(np.array(self.numbers[None])), seams.wrap(np.array(self.values)), self.shape
        )

    def astype(self, dtype: DType) -> Rows:
        return Rows(self.numbers, self.values.astype(dtype), self.shape)

    def __add__(self, other: Gradient) -> Gradient:
        if type(other) is not Rows:
            return super().__add__(other)
        numbers = np.concatenate([self.numbers, other.numbers])
        return Rows(numbers, np.concatenate([self.values, other.values]), self.shape)


class Picked(MostlyZeros):
    """Zeros of `matrix_shape`, but for `values` at `places`: one in each row, counted through all rows."""

    ndim: int = -1
    shape: tuple[int, ...] = ()  # not that of the matrix, so that the engine looks whether its target takes this form

    def __init__(self, values: np.ndarray, places: np.ndarray, matrix_shape: tuple[int, int]) -> None:
        self.values: np.ndarray = values
        self.places: np.ndarray = places
        self.matrix_shape: tuple[int, int] = matrix_shape
        self.dtype: DType = values.dtype

    def dense(self) -> np.ndarray:
        """The whole matrix."""
        from ..kernels.large import zeros  # not part of every program

        out = zeros(self.matrix_shape, self.dtype)
        out.put(self.places, self.values)
        return out


class Placed:
    """Zeros but for `values` at an index: the cotangent of a selection, before the zeros are made.

    Of many selections of one tensor only the first makes zeros; the others add to them.
    """

    __slots__ = ("values", "index", "rule")
    shape: Any = ...  # no array's, so that the engine looks what arrived
    dtype: Any = None

    def __init__(self, values: np.ndarray, index: tuple[Any, ...], rule: Rule) -> None:
        self.values: np.ndarray = values
        self.index: tuple[Any, ...] = index
        self.rule: Rule = rule

    def dense(self) -> Array:
        """The zeros with the values."""
        return self.rule(self.values)

    def into(self, target: Edge, waiting: dict[Node, Cotangent], placed: set[Node]) -> Cotangent:
        """The zeros with the values, for a node; None if they were added to what waits there."""
        if target in placed and target in waiting:
            waiting[target][(*self.index, ...)] += self.values
            return None
        if target not in waiting and target.dtype is self.values.dtype:
            placed.add(target)
        return self.dense()

    def into_leaf(self, leaf: Edge, sweep: Sweep) -> Gradient:
        """The same for a leaf."""
        present = sweep.owned.get(leaf)
        if type(present) is np.ndarray and present.dtype is self.values.dtype and sweep.arrivals is None:
            present[(*self.index, ...)] += self.values
            return None
        return self.dense()
