"""Machinery shared by the special-function kernels.

``run`` feeds a core with flat blocks small enough to stay in the cache, in the precision the core wants, on all
threads, and gives back the caller's dtype and shape. ``horner`` and ``rational`` evaluate coefficient tables, and
``by_region`` sends each element to the formula that is accurate where it lies. A core sees one-dimensional
arrays, must not write into them, and may divide by zero or overflow freely: warnings are silenced here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from pullback.core.basics.quiet import quiet
from pullback.kernels.like import is_elsewhere, together
from pullback.kernels.order import in_common_order
from pullback.kernels.threads import parallel_tasks

from .thresholds import FUNCTION_BLOCK, FUNCTIONS_ONE_BY_ONE

Kernel = Callable[..., np.ndarray]
Coefficients = tuple[float, ...]
Table = tuple[Coefficients, Coefficients]


_DOUBLE = np.dtype(np.float64)
_SINGLE = np.dtype(np.float32)


def horner(coefficients: Coefficients, x: np.ndarray) -> np.ndarray:
    """Polynomial with the given coefficients, lowest power first, in a fresh array."""
    result = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        result += coefficient
        result *= x
    result += coefficients[0]
    return result


def rational(numerator: Coefficients, denominator: Coefficients, x: np.ndarray) -> np.ndarray:
    """Quotient of two polynomials, in a fresh array."""
    result = horner(numerator, x)
    result /= horner(denominator, x)
    return result


def by_region(
    key: np.ndarray, edges: Sequence[float], functions: Sequence[Callable[..., np.ndarray]], *arrays: np.ndarray
) -> np.ndarray:
    """Apply ``functions[i]`` to the elements whose key lies in ``[edges[i - 1], edges[i])``.

    The functions receive the matching elements of ``arrays`` (of ``key`` itself when none are given). A key that
    is nan goes to the first function. When one region holds everything, nothing is gathered or scattered.
    """
    arrays = arrays or (key,)
    region = np.zeros_like(key, np.int8)
    for edge in edges:
        region += key >= edge
    result = np.empty_like(arrays[0])
    for index, function in enumerate(functions):
        chosen = np.flatnonzero(region == index)
        if chosen.size == key.size:
            return function(*arrays)
        if chosen.size:
            result[chosen] = function(*(array[chosen] for array in arrays))
    return result


def _floating_dtype(arrays: list[np.ndarray]) -> np.dtype:
    """The dtype a kernel answers in: the operands' common one, or float64 when they are integers."""
    dtype = arrays[0].dtype if len(arrays) == 1 else np.result_type(*arrays)
    if dtype.kind == "c":
        raise RuntimeError(f"this function is not implemented for {dtype}. Apply it to the real and imaginary parts.")
    return _DOUBLE if dtype.kind in "biu" else dtype


@quiet
def _quietly(core: Callable[..., np.ndarray], flat: list[np.ndarray], work: np.dtype) -> np.ndarray:
    return core(*[array.astype(work, copy=False) for array in flat])


def run(
    core: Callable[..., np.ndarray],
    *operands: np.ndarray,
    single: bool = False,
    scalar: Callable[..., float] | None = None,
    block: int = FUNCTION_BLOCK,
) -> np.ndarray:
    """Evaluate ``core`` on the broadcast operands, block by block.

    Cores compute in float64; those that are accurate enough in float32 (``single=True``) stay there for float32
    and the 16-bit formats. A function of Python floats given as ``scalar`` serves a handful of elements. A call on
    NumPy scalars answers with a NumPy scalar. Arrays of another library are computed there, all at once.
    """
    for operand in operands:
        if type(operand) is not np.ndarray and is_elsewhere(operand):
            return _run(core, list(together(*operands)), single, None, sys.maxsize)
    arrays = [np.asarray(operand) for operand in operands]
    for array in arrays:
        if not array.flags.c_contiguous and array.ndim > 1:
            result = in_common_order(lambda *turned: _run(core, list(turned), single, scalar, block), arrays, {})
            break
    else:
        result = _run(core, arrays, single, scalar, block)
    return result if any(isinstance(operand, np.ndarray) for operand in operands) else result[()]


def _run(
    core: Callable[..., np.ndarray],
    arrays: list[np.ndarray],
    single: bool,
    scalar: Callable[..., float] | None,
    block: int,
) -> np.ndarray:
    dtype = _floating_dtype(arrays)
    shape = arrays[0].shape
    if any(array.shape != shape for array in arrays[1:]):
        arrays = list(np.broadcast_arrays(*arrays))
        shape = arrays[0].shape
    flat = [array.reshape(-1) for array in arrays]
    size = flat[0].size
    work = _SINGLE if single and dtype.itemsize <= 4 else _DOUBLE
    if scalar is not None and size <= FUNCTIONS_ONE_BY_ONE:
        result = np.fromiter(map(scalar, *[array.tolist() for array in flat]), _DOUBLE, size)
    elif size <= block:
        result = _quietly(core, flat, work)
    else:
        result = np.empty(size, dtype)

        def fill(start: int, stop: int) -> None:
            result[start:stop] = core(*[array[start:stop].astype(work, copy=False) for array in flat])

        parallel_tasks(fill, [(start, start + block) for start in range(0, size, block)])
    if result.dtype != dtype:
        with np.errstate(over="ignore"):
            result = result.astype(dtype)
    return result.reshape(shape)
