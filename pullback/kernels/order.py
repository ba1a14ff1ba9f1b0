"""In which order the dims of a result lie in memory.

NumPy and torch agree where all operands lie in memory alike. Where they do not, NumPy takes the order of the dims, and
torch that of the first operand that tells two dims apart; random numbers fill memory in order, so programs notice. A
function of single elements that runs over the dims in torch's order needs no copy: NumPy's result is then in its order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray


def common_order(shape: Sequence[int], all_steps: Sequence[Sequence[int]]) -> list[int]:
    """The dims of a result, outermost first, from the steps of each operand (0 where it is repeated).

    Of two dims the one with wider steps lies further out, says the first operand that has both. Where steps are equal, the
    longer dim does. Dims that no operand tells apart stay as they are.
    """
    order = list(range(len(shape)))[::-1]  # innermost first
    for start in range(1, len(order)):
        place = start
        for before in range(start - 1, -1, -1):
            inner, outer = order[before], order[place]
            verdict = 0
            for steps in all_steps:
                near, far = steps[inner], steps[outer]
                if not near or not far:
                    continue
                if near != far:
                    verdict = 1 if near > far else -1
                    break
                if shape[inner] > shape[outer]:
                    verdict = 1
                    break
            if verdict > 0:
                order[before], order[place] = outer, inner
                place = before
            elif verdict < 0:
                break
    return order[::-1]


def dense_order(array: Any) -> tuple[int, ...]:
    """The dims, outermost first, in which a new tensor of an array's layout lies in memory, without gaps."""
    return tuple(common_order(array.shape, (array.strides,)))


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """The transposition that undoes another."""
    undone = [0] * len(order)
    for place, dim in enumerate(order):
        undone[dim] = place
    return tuple(undone)


def in_dims(values: Any, order: Sequence[int]) -> Any:
    """An array whose dims lie in memory in an order, outermost first: itself if they do, else a copy."""
    return np.ascontiguousarray(values.transpose(order)).transpose(inverse(order))


def lies_in(array: Any, order: Sequence[int]) -> bool:
    """True if the dims of an array lie in memory in the given order, outermost first, without gaps."""
    return bool(array.transpose(order).flags.c_contiguous)


def empty_in(shape: Sequence[int], order: Sequence[int], dtype: Any) -> Any:
    """Memory for an array whose dims lie in an order, outermost first."""
    return np.empty([shape[dim] for dim in order], dtype).transpose(inverse(order))


def copied_in(array: Any, order: Sequence[int]) -> Any:
    """A copy whose dims lie in an order, outermost first."""
    return np.array(array.transpose(order), order="C").transpose(inverse(order))


def empty_like(array: Any, dtype: Any = None) -> Any:
    """Memory for an array of the same shape, in the order of its dims and without gaps."""
    if array.flags.c_contiguous or 0 not in array.strides:
        return np.empty_like(array, dtype, subok=False)
    return empty_in(array.shape, dense_order(array), dtype or array.dtype)  # NumPy puts what is repeated innermost


def converted(array: Any, dtype: Any) -> Any:
    """An array in another dtype, its dims in the order of a new tensor like it."""
    if array.ndim < 2 or type(array) is not ndarray or 0 not in array.strides:
        return array.astype(dtype)
    out = empty_like(array, dtype)
    np.copyto(out, array, casting="unsafe")
    return out


def like(values: Any, array: Any) -> Any:
    """Values that lie in memory as a new tensor like an array of their shape does: themselves, or a copy."""
    if values.ndim < 2 or values.flags.c_contiguous and array.flags.c_contiguous:
        return values
    return in_dims(values, dense_order(array))


def is_dense(array: Any) -> bool:
    """True if the elements of an array fill their memory without gaps, each its own place, in whatever order of dims."""
    if array.flags.forc:
        return True
    expected = array.itemsize
    for step, size in sorted((step, size) for step, size in zip(array.strides, array.shape, strict=True) if size != 1):
        if step != expected:
            return False
        expected *= size
    return True


def beside(values: Any, array: Any) -> Any:
    """A copy of values that lies as an array of their shape does if that is dense, else in the order of the dims."""
    out = np.empty_like(array, values.dtype, subok=False) if is_dense(array) else np.empty(values.shape, values.dtype)
    out[...] = values
    return out


def by_columns(matrices: Any) -> Any:
    """Matrices whose columns lie in memory one after the other, as LAPACK leaves them."""
    if type(matrices) is not ndarray or matrices.ndim < 3:
        return matrices.copy("F") if type(matrices) is ndarray and matrices.ndim == 2 else matrices
    return np.ascontiguousarray(np.swapaxes(matrices, -1, -2)).swapaxes(-1, -2)


def has_channels_last(x: Any) -> bool:
    """True if the channels of (samples, channels, *places) lie next to each other, as torch's `channels_last` has them."""
    if x.flags.c_contiguous or not x.strides[1]:
        return False
    least = 0
    for dim in (1, *range(x.ndim - 1, 1, -1), 0):
        size, step = x.shape[dim], x.strides[dim]
        if size == 1 and not step and dim + 1 < x.ndim:
            step = x.shape[dim + 1] * x.strides[dim + 1]  # a dim put in: torch gives it these steps, NumPy none
        if step < least or not size:
            return False
        least = step * size
    return True


def with_channels_last(x: Any) -> Any:
    """An array whose channels lie next to each other: itself, or a copy."""
    return in_dims(x, (0, *range(2, x.ndim), 1))


def keeping_channels(function: Callable[..., Any], *ranks: int, inputs: int = 1) -> Callable[..., Any]:
    """A function of (samples, channels, *places) that leaves channels next to each other where the first `inputs` have them so.

    `ranks` are the numbers of dims for which torch does that.
    """

    @functools.wraps(function)
    def run(x: Any, *others: Any, **params: Any) -> Any:
        found = function(x, *others, **params)
        if type(x) is not ndarray or x.flags.c_contiguous and (inputs == 1 or others[0].flags.c_contiguous):
            return found
        if x.ndim not in ranks or not any(map(has_channels_last, (x, *others)[:inputs])):
            return found
        if type(found) is not tuple:
            return with_channels_last(found)
        return tuple(with_channels_last(part) if part.ndim == x.ndim else part for part in found)

    return run


def with_steps_of(array: Any) -> Any:
    """A copy with the very steps of an array, gaps included, unless elements of it share memory."""
    reach = sum((size - 1) * abs(step) for size, step in zip(array.shape, array.strides, strict=True))
    repeated = any(step <= 0 and size > 1 for size, step in zip(array.shape, array.strides, strict=True))
    if array.flags.c_contiguous or not array.size or repeated:
        out = empty_like(array)
    else:
        out = np.ndarray(array.shape, array.dtype, np.empty(reach + array.itemsize, np.uint8), 0, array.strides)
    out[...] = array
    return out


def in_common_order(
    function: Callable[..., Any], arrays: Sequence[Any], params: dict[str, Any], deciding: Sequence[int] | None = None
) -> Any:
    """`function(*arrays, **params)`, of single elements, with a result that lies in memory as torch's does.

    Which dims come first is said by all arrays, or by those at the places `deciding`.
    """
    ndim = 0
    for array in arrays:
        if type(array) is ndarray:
            ndim = max(ndim, array.ndim)
        elif getattr(array, "ndim", 0):
            return function(*arrays, **params)  # batched, or of another library
    shape = np.broadcast_shapes(*[array.shape for array in arrays if type(array) is ndarray])
    many = [
        array for array in (arrays if deciding is None else [arrays[i] for i in deciding]) if type(array) is ndarray
    ]
    order = common_order(shape, [_steps(array, shape) for array in many])
    if order == list(range(ndim)):
        out = function(*arrays, **params)
        return out if out.flags.c_contiguous else out.copy()
    turned = [
        array[(None,) * (ndim - array.ndim)].transpose(order) if type(array) is ndarray and array.ndim else array
        for array in arrays
    ]
    out = function(*turned, **params)
    return (out if out.flags.c_contiguous else out.copy()).transpose(inverse(order))


def _steps(array: ndarray, shape: Sequence[int]) -> list[int]:
    """The steps of an array along the dims of a shape that it broadcasts to."""
    missing = len(shape) - array.ndim
    own = zip(array.shape, array.strides, shape[missing:], strict=True)
    return [0] * missing + [step if size == wide else 0 for size, step, wide in own]


def ordered(function: Callable[..., Any], deciding: Sequence[int] | None = None) -> Callable[..., Any]:
    """A function of single elements whose results lie in memory as torch's do.

    `deciding` are the places of the operands that say how; none, for results in the order of their dims.
    """

    def run(*arrays: Any, **params: Any) -> Any:
        for array in arrays:
            if type(array) is ndarray and not array.flags.c_contiguous and array.ndim > 1:
                return in_common_order(function, arrays, params, deciding)
        return function(*arrays, **params)

    run.__wrapped__ = function  # type: ignore[attr-defined]
    run.is_ordered = True  # type: ignore[attr-defined]
    run.deciding = deciding  # type: ignore[attr-defined]
    return run
