"""Products of matrices and vectors, with torch's shape and dtype checks."""

from __future__ import annotations

from typing import Any

from ..autograd.tape import apply
from ..ops import matmul as ops
from ..ops import shape as shapes
from ..tensor import Tensor
from .registry import public


def _same_dtype(a: Tensor, b: Tensor, function: str) -> None:
    if a._array.dtype is not b._array.dtype and a._array.dtype != b._array.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {a.dtype.short_name} != {b.dtype.short_name}. "
            f"Convert one of them, as in b.to(a.dtype)."
        )


@public("__matmul__", out=True)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product; 1-d tensors are vectors, leading dims are batches."""
    return multiply(input, other)


def multiply(a: Any, b: Any) -> Any:
    """`a @ b`."""
    if not isinstance(b, Tensor) or not isinstance(a, Tensor):
        from .operands import as_operand

        a, b = as_operand(a), as_operand(b)
        if not isinstance(b, Tensor) or not isinstance(a, Tensor):
            return NotImplemented
    x, y = a._array, b._array
    if x.dtype is not y.dtype:
        _same_dtype(a, b, "matmul")
    rows, columns = x.ndim, y.ndim
    if rows == 2 and columns == 2:
        if x.shape[1] != y.shape[0]:
            raise _mismatch(x.shape, y.shape)
        return apply(ops.mm, (a, b))
    if rows == 0 or columns == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {rows}D and {columns}D. Use * for scalars."
        )
    if rows == 1 and columns == 1:
        if x.shape != y.shape:
            raise RuntimeError(
                f"inconsistent tensor size, expected tensor [{x.shape[0]}] and src [{y.shape[0]}] to have the same number of "
                f"elements, but got {x.shape[0]} and {y.shape[0]} elements respectively"
            )
        return apply(ops.dot, (a, b))
    if columns == 1:
        if x.shape[-1] != y.shape[0]:
            raise RuntimeError(f"size mismatch, got input ({x.shape[-2]}), mat ({x.shape[-2]}x{x.shape[-1]}), vec ({y.shape[0]})")
        return apply(ops.mv, (a, b))
    if rows == 1:
        if x.shape[0] != y.shape[-2]:
            raise _mismatch((1, x.shape[0]), y.shape)
        product = multiply(apply(shapes.unsqueeze, (a,), {"axis": 0}), b)
        return apply(shapes.squeeze, (product,), {"shape": product._array.shape[:-2] + product._array.shape[-1:]})
    if x.shape[-1] != y.shape[-2]:
        if rows == columns == 3:
            raise RuntimeError(
                f"Expected size for first two dimensions of batch2 tensor to be: [{x.shape[0]}, {x.shape[2]}] but got: "
                f"[{y.shape[0]}, {y.shape[1]}]."
            )
        raise _mismatch((x.size // max(x.shape[-1], 1), x.shape[-1]), y.shape)
    try:
        return apply(ops.matmul, (a, b))
    except ValueError:
        from .operands import broadcast_error

        raise broadcast_error(x.shape[:-2], y.shape[:-2]) from None


def _mismatch(a: tuple, b: tuple) -> RuntimeError:
    return RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, a[-2:]))} and {'x'.join(map(str, b[-2:]))})"
    )


def reverse_multiply(a: Tensor, b: Any) -> Any:
    return multiply(b, a)


OPERATORS = {"__matmul__": multiply, "__rmatmul__": reverse_multiply}
