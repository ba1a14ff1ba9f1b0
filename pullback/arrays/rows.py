"""`Rows`: the gradient of a table of which few rows were used, as those rows and their gradients.

`embedding(..., sparse=True)` sends it to its leaf. On the way it only has to be added to its like, which puts rows
together, or to an ordinary gradient, which makes an ordinary one; whoever else asks gets the dense array. At the leaf
it becomes a sparse tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Rows:
    """Gradients `values` of the rows with these numbers; rows may come several times, and then add up."""

    ndim: int = 2
    size: int = 0  # never so large that it is worth dividing
    base: Any = ()  # no memory that a leaf could take over

    def __init__(self, numbers: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> None:
        self.numbers: np.ndarray = numbers
        self.values: np.ndarray = values
        self.shape: tuple[int, int] = shape
        self.dtype: np.dtype[Any] = values.dtype

    def dense(self) -> np.ndarray:
        """The whole table."""
        out = np.zeros(self.shape, self.dtype)
        np.add.at(out, self.numbers, self.values)
        return out

    def sparse(self) -> Any:
        """A sparse tensor of the rows, each as often as it was used, in memory of its own."""
        from ..autograd.tape import wrap
        from ..sparse.tensor import make

        return make(wrap(np.array(self.numbers[None])), wrap(np.array(self.values)), self.shape)

    def astype(self, dtype: Any) -> Rows:
        return Rows(self.numbers, self.values.astype(dtype), self.shape)

    def __add__(self, other: Any) -> Any:
        if type(other) is not Rows:
            return self.dense() + other
        numbers = np.concatenate([self.numbers, other.numbers])
        return Rows(numbers, np.concatenate([self.values, other.values]), self.shape)

    def __radd__(self, other: Any) -> Any:
        return other + self.dense()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.dense() if dtype is None else self.dense().astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        given = [value.dense() if type(value) is Rows else value for value in inputs]
        return getattr(ufunc, method)(*given, **options)
