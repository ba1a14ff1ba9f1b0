"""`torch.masked`: reductions and normalizations over the elements that a boolean mask selects.

An element that is masked out is replaced by the value that does not change the result (0 for sums, 1 for products,
-inf for maxima); where nothing is selected that value, or NaN, is the result. Masked tensors as a type are not here.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from .core.basics.dtypes import as_dtype, float32
from .core.basics.on_demand import names_on_demand
from .core.tape import wrap
from .core.tensor import Tensor
from .functional.registry import FUNCTIONS as _torch
from .functional.statistics import vector_norm as _vector_norm

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip


def _mask_for(input: Tensor, mask: Tensor) -> Tensor:
    """The mask as booleans in the shape of the input."""
    if mask._array.ndim > input._array.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input): "
            f"{mask._array.ndim} dims for an input of {input._array.ndim}"
        )
    return wrap(np.broadcast_to(mask._array.astype(bool), input._array.shape))


def _lowest(input: Tensor) -> Any:
    kind = input._array.dtype
    return -math.inf if kind.kind in "fV" else False if kind.kind == "b" else int(np.iinfo(kind).min)


def _highest(input: Tensor) -> Any:
    kind = input._array.dtype
    return math.inf if kind.kind in "fV" else True if kind.kind == "b" else int(np.iinfo(kind).max)


def _with(input: Tensor, mask: Tensor | None, neutral: Any) -> Tensor:
    """The input with `neutral` where it is masked out."""
    if mask is None:
        return input
    fill = wrap(np.asarray(neutral).astype(input._array.dtype))
    return _torch["where"](_mask_for(input, mask), input, fill)


def _dims(dim: Any, ndim: int) -> Any:
    """Dims as a tuple; () and None mean all of them."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    return dim if isinstance(dim, (tuple, list)) else (dim,)


# --- reductions ---


def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Sum of the selected elements."""
    return _torch["sum"](_with(input, mask, 0), _dims(dim, input.ndim), bool(keepdim), dtype=dtype)


def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Product of the selected elements."""
    result = _with(input, mask, 1)
    if dtype is None and input._array.dtype.kind in "biu":
        dtype = as_dtype(int)
    result = result if dtype is None else result.to(as_dtype(dtype))
    for one in sorted((d % builtins.max(input.ndim, 1) for d in _dims(dim, input.ndim)), reverse=True):
        result = _torch["prod"](result, one, bool(keepdim))
    return result


def amax(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Largest selected element."""
    return _cast(_torch["amax"](_with(input, mask, _lowest(input)), _dims(dim, input.ndim), bool(keepdim)), dtype)


def amin(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Smallest selected element."""
    return _cast(_torch["amin"](_with(input, mask, _highest(input)), _dims(dim, input.ndim), bool(keepdim)), dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Index of the largest selected element, in the dtype of the input as in torch."""
    found = _torch["argmax"](_with(input, mask, _lowest(input)), dim, bool(keepdim))
    return found.to(input.dtype if dtype is None else dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Index of the smallest selected element, in the dtype of the input as in torch."""
    found = _torch["argmin"](_with(input, mask, _highest(input)), dim, bool(keepdim))
    return found.to(input.dtype if dtype is None else dtype)


def _cast(result: Tensor, dtype: Any) -> Tensor:
    return result if dtype is None else result.to(dtype)


def _count(input: Tensor, dim: Any, keepdim: Any, mask: Tensor | None) -> Tensor:
    selected = np.ones(input._array.shape, bool) if mask is None else _mask_for(input, mask)._array
    axes = _axes(dim, input.ndim)
    return _torch["sum"](wrap(selected), axes, keepdim) if axes else wrap(selected).long()


def _axes(dim: Any, ndim: int) -> tuple:
    return tuple(d % ndim for d in _dims(dim, ndim)) if ndim else ()


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Mean of the selected elements."""
    wanted = input.dtype if dtype is None else as_dtype(dtype)
    if not (wanted.is_floating_point or wanted.is_complex):
        source = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
            f"Got: {wanted!r}"
        )
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dim, bool(keepdim), mask)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Lower median of the selected elements along a dim."""
    floating = input._array.dtype.kind in "fV"
    x = input if floating else input.to(float32)
    found = _torch["nanmedian"](_with(x, mask, math.nan), dim, keepdim)[0]
    if floating:
        return found
    if np.isnan(found._array).any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(input.dtype if dtype is None else dtype)


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """log(sum(exp(x))) of the selected elements."""
    x = _with(input, mask, -math.inf if input._array.dtype.kind in "fcV" else _lowest(input))
    return _torch["logsumexp"](x, _dims(dim, input.ndim), keepdim).to(input.dtype if dtype is None else dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Vector norm of the selected elements."""
    x = _with(input, mask, math.inf if ord == -math.inf else 0)
    if dtype is not None:
        wanted = as_dtype(dtype)
        if not (wanted.is_floating_point or wanted.is_complex):
            raise RuntimeError(
                f"linalg.vector_norm: dtype should be floating point or complex, but got {wanted.type_name}"
            )
        x = x.to(wanted)
    return _vector_norm(x, 2.0 if ord is None else ord, _dims(dim, input.ndim), bool(keepdim))


def _variance(
    input: Tensor, dim: Any, unbiased: bool | None, correction: Any, keepdim: Any, dtype: Any, mask: Tensor | None
) -> Tensor:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    wanted = input.dtype if dtype is None else as_dtype(dtype)
    if not (wanted.is_floating_point or wanted.is_complex):
        wanted = float32
    x = input if input.dtype is wanted else input.to(wanted)
    count = _count(input, dim, True, mask)
    deviation = x - sum(x, dim, keepdim=True, mask=mask) / count
    square = (deviation * deviation.conj()).real if wanted.is_complex else deviation * deviation
    total = sum(square, dim, keepdim=keepdim, mask=mask)
    divisor = (count - correction).clamp(min=0).to(total.dtype).reshape(total.shape)
    return (total / divisor).to(wanted) if wanted.is_complex else total / divisor


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Variance of the selected elements."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Standard deviation of the selected elements."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


# --- scans and normalizations ---


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Running sums of the selected elements."""
    return _torch["cumsum"](_with(input, mask, 0), dim, dtype=input.dtype if dtype is None else dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Running products of the selected elements."""
    return _torch["cumprod"](_with(input, mask, 1), dim, dtype=input.dtype if dtype is None else dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Softmax over the selected elements; zero elsewhere."""
    return _torch["softmax"](_with(input, mask, _lowest(input)), dim, dtype=input.dtype if dtype is None else dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Logarithm of the softmax over the selected elements; -inf elsewhere."""
    return _torch["log_softmax"](_with(input, mask, _lowest(input)), dim, dtype=input.dtype if dtype is None else dtype)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Softmax of the negated selected elements; zero elsewhere."""
    return _torch["softmax"](-_with(input, mask, _highest(input)), dim, dtype=input.dtype if dtype is None else dtype)


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Selected elements divided by their norm (at least eps); zero elsewhere."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _with(input, mask, 0) / _torch["maximum"](length, wrap(np.asarray(eps, length._array.dtype)))


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(a) + exp(b)) with what is masked out left out."""
    a, b = _with(input, input_mask, -math.inf), _with(other, other_mask, -math.inf)
    return _torch["logaddexp"](a, b).to(input.dtype if dtype is None else dtype)


names_on_demand(__name__)
