"""Checks of the inputs of torch.linalg, and the error it raises when a matrix has no such factorization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..core.tensor import Tensor
from ..core.views import as_own
from ..functional.gate import NUMPY
from ..functional.operands import common_shape
from ..functional.registry import public_in
from ..kernels.order import by_columns
from ..transforms.arrays.batched import all_values

F = TypeVar("F", bound=Callable[..., Any])

# Torch names the same arguments differently from function to function; here every spelling is understood.
_SPELLINGS = {
    **NUMPY, "input": ("A", "x"), "A": ("input", "x"), "x": ("input", "A"), "other": ("B", "y"), "b": ("B",),
    "B": ("b", "other"),
}  # fmt: skip


def linalg_function(out: str = "cast", autocast: str | None = None) -> Callable[[F], F]:
    """Announce a function of torch.linalg; of its arguments see `registry.public`."""
    return public_in("torch.linalg", out=out, autocast=autocast, spellings=_SPELLINGS)


class _LinAlgError(RuntimeError):
    """A matrix is singular, or not positive-definite, or an iteration did not converge."""


LinAlgError = _LinAlgError  # torch shows the private name in tracebacks


def floating(x: Tensor, function: str, low_precision: bool = False) -> Tensor:
    """Complain about integers and (usually) half precision."""
    dtype = x._array.dtype
    if dtype.kind not in "fcV":
        raise RuntimeError(
            f"{function}: Expected a floating point or complex tensor as input. Got {x.dtype.type_name}. Convert "
            "first: x.float()."
        )
    if dtype.itemsize == 2 and not low_precision:
        raise RuntimeError(
            f"{function}: Low precision dtypes not supported. Got {x.dtype.type_name}. Convert first: x.float()."
        )
    return x


def matrix(x: Tensor, function: str, name: str = "A") -> Tensor:
    """At least two dims."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{function}(): argument '{name}' must be Tensor, not {type(x).__name__}")
    if x._array.ndim < 2:
        raise RuntimeError(
            f"{function}: The input tensor {name} must have at least 2 dimensions. It has {x._array.ndim}."
        )
    return x


def float_matrix(x: Tensor, function: str, name: str = "A") -> Tensor:
    """Batches of matrices of floats."""
    return floating(matrix(x, function, name), function)


def square(x: Tensor, function: str, name: str = "A") -> Tensor:
    """Batches of square matrices."""
    matrix(x, function, name)
    rows, columns = x._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{function}: {name} must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    return x


def float_square(x: Tensor, function: str, name: str = "A") -> Tensor:
    """Batches of square matrices of floats."""
    return floating(square(x, function, name), function)


def same_dtype(a: Tensor, b: Tensor, function: str, names: str = "A and B") -> None:
    """Refuse two tensors of different dtypes."""
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(
            f"{function}: Expected {names} to have the same dtype, but found {a.dtype.type_name} and "
            f"{b.dtype.type_name} instead"
        )


def check_fit(A: Tensor, B: Tensor, left: bool, function: str) -> None:
    """Shapes for which A X = B (or X A = B) makes sense."""
    if B._array.ndim < 2:
        raise RuntimeError(f"{function}: The input tensor B must have at least 2 dimensions.")
    if B._array.shape[-2 if left else -1] != A._array.shape[-1]:
        raise RuntimeError(
            f"{function}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({'x'.join(map(str, A._array.shape[-2:]))} and {'x'.join(map(str, B._array.shape[-2:]))})"
        )
    common_shape(A._array.shape[:-2], B._array.shape[:-2])


def raise_on(info: Tensor, function: str, explain: Any) -> None:
    """LinAlgError for the first matrix of a batch that failed; `explain(number)` says how."""
    values = all_values(info._array)
    if not values.any():
        return
    position = int(np.flatnonzero(values)[0])
    where = f"(Batch element {position}): " if values.ndim else ""
    raise LinAlgError(f"{function}: {where}{explain(int(values.reshape(-1)[position]))}")


def call_lapack(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function; where LAPACK does not converge in it, raise torch's error."""
    try:
        return function(*args, **kwargs)
    except np.linalg.LinAlgError as error:
        arrays = [value._array for value in (args[1] if len(args) > 1 else args) if isinstance(value, Tensor)]
        if not all(np.isfinite(array).all() for array in arrays):
            raise LinAlgError(
                f"{name}: The algorithm failed to converge because the input matrix contained non-finite values."
            ) from None
        raise LinAlgError(
            f"{name}: The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
            f"repeated singular values or eigenvalues ({error})."
        ) from None


def needs_no_derivative(x: Tensor) -> bool:
    """True if no derivative can be asked for, so that a cheaper routine without vectors will do."""
    return type(x._array) is np.ndarray and not x._requires_grad and not x._tangent


def in_column_order(result: Tensor) -> Tensor:
    """A fresh result, with matrices that lie in memory by columns, as LAPACK leaves them in torch."""
    if type(result._array) is np.ndarray:
        result._array = by_columns(result._array)
    return as_own(result)
