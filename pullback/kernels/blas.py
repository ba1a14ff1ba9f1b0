"""Routines of the BLAS and LAPACK that NumPy is linked with, for what NumPy does not offer: triangular systems and LU.

They are found through NumPy's own extension module, under the names that its builds have, and tried on a small system
before they are trusted; where there are none, callers do without. `threads.py` and `random/shuffling.py` look for
others there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
_ROW_MAJOR, _LEFT, _RIGHT, _UPPER, _LOWER, _AS_IT_IS, _TRANSPOSED, _GENERAL, _UNIT = (
    101, 141, 142, 121, 122, 111, 112, 131, 132,
)  # fmt: skip

Solver = Callable[[np.ndarray, np.ndarray, bool, bool, bool], None]
Factorizer = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@cache
def library() -> Any:
    """NumPy's extension module, through which the functions of its BLAS are found; None where it cannot be opened."""
    try:
        import ctypes

        return ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
    except (ImportError, AttributeError, OSError):
        return None


def _routine(pattern_of_name: str, kind: str) -> tuple[Any, Any]:
    """A function for numbers of one type by its name in C, and the type of its integers; (None, None) if there is none."""
    if library() is None or kind not in _LETTERS:
        return None, None
    import ctypes

    name = pattern_of_name % _LETTERS[kind]
    for pattern, integer in (
        ("scipy_%s64_", ctypes.c_int64),
        ("%s64_", ctypes.c_int64),
        ("scipy_%s", ctypes.c_int32),
        ("%s", ctypes.c_int32),
    ):
        function = getattr(library(), pattern % name, None)
        if function is not None:
            return function, integer
    return None, None


@cache
def triangular_solver(kind: str) -> Solver | None:
    """Solves triangular systems of one type: matrices `a` (k, n, n), or one for all, and `b` (k, n, m), overwritten.

    The others say whether `a` is on the left, is upper, and has a diagonal of ones. All arrays are in order, `a`
    perhaps transposed.
    """
    function, integer = _routine("cblas_%strsm", kind)
    if function is None:
        return None
    import ctypes

    factor: Any = {"f": ctypes.c_float, "d": ctypes.c_double}.get(kind, ctypes.c_void_p)
    choice, memory = ctypes.c_int, ctypes.c_void_p
    function.argtypes = [choice] * 5 + [integer] * 2 + [factor, memory, integer, memory, integer]
    function.restype = None
    unscaled: Any = 1.0 if kind in "fd" else np.ones(1, kind).ctypes.data_as(memory)

    def solve(a: np.ndarray, b: np.ndarray, left: bool, upper: bool, unit: bool) -> None:
        transposed = not a.flags.c_contiguous
        size, columns = a.shape[-1], b.shape[-1]
        step = 0 if len(a) == 1 else a.strides[0]
        options = (
            _ROW_MAJOR, _LEFT if left else _RIGHT, _UPPER if upper != transposed else _LOWER,
            _TRANSPOSED if transposed else _AS_IT_IS, _UNIT if unit else _GENERAL, b.shape[-2], columns, unscaled,
        )  # fmt: skip
        place, target = a.ctypes.data, b.ctypes.data
        for _ in range(len(b)):
            function(*options, place, size, target, columns)
            place += step
            target += b.strides[0]

    def works(left: bool, upper: bool, transposed: bool) -> bool:
        full = (np.arange(9).reshape(1, 3, 3) % 4 + 3 * np.eye(3)).astype(kind)
        triangle = np.triu(full) if upper else np.tril(full)
        expected = np.arange(6).reshape((1, 3, 2) if left else (1, 2, 3)).astype(kind)
        b = triangle @ expected if left else expected @ triangle
        solve(np.swapaxes(np.swapaxes(full, 1, 2).copy(), 1, 2) if transposed else full, b, left, upper, False)
        return np.allclose(b, expected, atol=1e-4)

    flags = (False, True)
    return solve if all(works(a, b, c) for a in flags for b in flags for c in flags) else None


@cache
def lu_factorizer(kind: str) -> Factorizer | None:
    """Factors matrices of one type in place, each by columns: (k, columns, rows); returns pivots from 1, and info."""
    function, integer = _routine("%sgetrf_", kind)
    if function is None:
        return None
    import ctypes

    function.argtypes, function.restype = [ctypes.c_void_p] * 6, None

    def factorize(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pivots, info = np.zeros((len(a), min(a.shape[1:])), integer), np.zeros(len(a), integer)
        sizes = np.array([a.shape[2], a.shape[1]], integer)
        rows, columns = sizes.ctypes.data, sizes.ctypes.data + sizes.itemsize
        for i in range(len(a)):
            function(rows, columns, a[i].ctypes.data, rows, pivots[i].ctypes.data, info[i:].ctypes.data)
        return pivots, info

    matrix = np.array([[[1, 4, 2], [2, 2, 8]]], kind)  # of three rows and two columns
    pivots, info = factorize(matrix)
    expected = np.array([[[4, 0.5, 0.25], [2, 7, 1.5 / 7]]], kind)
    agrees = np.allclose(matrix, expected, atol=1e-4) and pivots.tolist() == [[2, 3]] and not info.any()
    return factorize if agrees else None
