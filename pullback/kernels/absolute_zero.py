"""Products in which zero is absolute: 0 * inf and 0 * nan are 0, and so is 0 / 0.

While `autograd.safe_gradients` is on, operations that multiply or divide compute with these inside derivative rules: their
formulas run on arrays of one more kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.basics.quiet import quiet


def _zero_where(mask: Any, out: Any) -> Any:
    return np.where(mask, out.dtype.type(0), out)


def _product(a: Any, b: Any) -> Any:
    out = np.multiply(a, b)
    return out if np.isfinite(out).all() else _zero_where((a == 0) | (b == 0), out)


def _quotient(a: Any, b: Any) -> Any:
    out = np.true_divide(a, b)
    return out if np.isfinite(out).all() else _zero_where(np.broadcast_to(a == 0, out.shape), out)


class _Absolute(np.ndarray):
    """An array whose products and quotients are 0 wherever a factor or the dividend is."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        given = [value.view(np.ndarray) if type(value) is _Absolute else value for value in inputs]
        if method == "__call__" and ufunc in (np.multiply, np.true_divide):
            return np.asarray((_product if ufunc is np.multiply else _quotient)(*given)).view(_Absolute)
        return np.asarray(getattr(ufunc, method)(*given, **options)).view(_Absolute)


def with_absolute_zeros(formula: Callable[..., Any]) -> Callable[..., Any]:
    """A formula, run on such arrays."""

    @quiet
    def run(*arrays: Any, **params: Any) -> Any:
        given = [np.asarray(value).view(_Absolute) if hasattr(value, "dtype") else value for value in arrays]
        return formula(*given, **params).view(np.ndarray)

    return run


def sum_of_products(bilinear: Callable[..., Any]) -> Callable[..., Any]:
    """A bilinear function that leaves out the products of zeros with what is not finite."""

    @quiet
    def leaving_out(a: Any, b: Any, **params: Any) -> Any:
        out = bilinear(a, b, **params)
        if np.isfinite(out).all():
            return out
        bad_a, bad_b = ~np.isfinite(a), ~np.isfinite(b)
        finite = bilinear(_zero_where(bad_a, a), _zero_where(bad_b, b), **params)
        # Sums that hold a product of something not finite with something that is not zero stay as they are.
        spoiled = bilinear(bad_a.astype(a.dtype), (b != 0).astype(b.dtype), **params)
        spoiled = spoiled + bilinear((a != 0).astype(a.dtype), bad_b.astype(b.dtype), **params)
        return np.where(spoiled == 0, finite, out)

    return leaving_out
