"""Variances, norms, medians, quantiles and covariances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.basics.dtypes import as_dtype, get_default_dtype
from ..core.basics.dtypes import dtype as dtype_type
from ..core.basics.notices import warn_user
from ..core.tape import apply, apply_unary, wrap
from ..core.tensor import Tensor
from ..core.views import as_own
from ..ops import norms as norm_ops
from ..ops import sorting
from ..ops import statistics as ops
from ..transforms.arrays.batched import all_values
from .checks import apply_broadcast, is_known_true, not_implemented_for
from .operands import as_tensor, need_bool, promote, wrap_dim, wrap_dims
from .out_argument import store
from .reductions import KthvalueResult, MedianResult, ModeResult, NanmedianResult, ValuesIndices, in_dtype
from .registry import FUNCTIONS, public
from .ternary import lerp, where

# --- variance ---


def _spread(op: Any, name: str, args: tuple, dim: Any, unbiased: Any, correction: Any, keepdim: bool) -> Any:
    """The signatures of var and std: (dim, unbiased, keepdim), (unbiased) or keywords with `correction`."""
    x = args[0]
    if len(args) > 1:
        if isinstance(args[1], bool):
            unbiased = args[1]
        else:
            dim = args[1]
            if len(args) > 2:
                unbiased = need_bool(args[2], name, "unbiased")
            if len(args) > 3:
                keepdim = args[3]
    if x._array.dtype.kind in "biu":
        subject = name if name.endswith("_mean") else "std and var"
        raise RuntimeError(
            f"{subject} only support floating point and complex dtypes. This tensor has dtype {x.dtype!r}."
        )
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    axis = wrap_dims(dim, x._array.ndim)
    if math.prod([x._array.shape[i] for i in axis]) - correction <= 0:
        warn_user(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel).",
        )
    params = {"axis": axis, "keepdims": need_bool(keepdim, name), "correction": correction}
    return apply_unary(op, x, params) if op.outputs == 1 else apply(op, (x,), params)


@public(out="cast")
def var(
    input: Tensor, *args: Any, dim: Any = None, unbiased: Any = None, correction: Any = None, keepdim: bool = False
) -> Tensor:
    """Variance over dims; `correction` (1) is subtracted from the count."""
    return _spread(ops.variance, "var", (input, *args), dim, unbiased, correction, keepdim)


@public(out="cast")
def std(
    input: Tensor, *args: Any, dim: Any = None, unbiased: Any = None, correction: Any = None, keepdim: bool = False
) -> Tensor:
    """Standard deviation over dims; `correction` (1) is subtracted from the count."""
    return _spread(ops.deviation, "std", (input, *args), dim, unbiased, correction, keepdim)


@public(method=False)
def var_mean(
    input: Tensor, *args: Any, dim: Any = None, unbiased: Any = None, correction: Any = None, keepdim: bool = False
) -> tuple[Any, ...]:
    """Variance and mean over dims."""
    return _spread(ops.variance_mean, "var_mean", (input, *args), dim, unbiased, correction, keepdim)


@public(method=False)
def std_mean(
    input: Tensor, *args: Any, dim: Any = None, unbiased: Any = None, correction: Any = None, keepdim: bool = False
) -> tuple[Any, ...]:
    """Standard deviation and mean over dims."""
    return _spread(ops.deviation_mean, "std_mean", (input, *args), dim, unbiased, correction, keepdim)


@public()
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """Covariance matrix of variables in rows, observations in columns, optionally weighted.

    `correction` (1) is subtracted from the number of observations; `fweights` says how often each was made,
    `aweights` how much it counts.
    """
    if input._array.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input. Convert it first: x.float().")
    if input._array.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input._array.ndim} "
            "dimensions"
        )
    x = input.reshape(1, -1) if input._array.ndim < 2 else input
    x = x if x._array.dtype.kind in "fcV" else x.to(get_default_dtype())
    weights = _weights(x._array.shape[1], fweights, aweights)
    if weights is None:
        total: Any = x._array.shape[1]
        mean = x.sum(1, True) / total
        norm: Any = total - correction
    else:
        total = weights.sum()
        mean = (x * weights).sum(1, True) / total
        norm = total - correction
        if correction != 0 and aweights is not None:
            norm = total - correction * (weights * aweights).sum() / total
    if not isinstance(norm, Tensor):
        norm = max(norm, 0)
    elif np.any(all_values(norm._array) <= 0):
        norm = norm * (norm > 0)
    centered = x - mean
    scaled = centered if weights is None else centered * weights
    result = centered.matmul(scaled.mH if x._array.dtype.kind == "c" else scaled.t()) / norm
    return result.squeeze()


def _weights(count: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor | None:
    for name, weights, kinds, what in (
        ("fweights", fweights, "iu", "integral"),
        ("aweights", aweights, "fV", "floating point"),
    ):
        if weights is None:
            continue
        if weights._array.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights._array.ndim} "
                "dimensions"
            )
        if weights._array.dtype.kind not in kinds:
            raise RuntimeError(
                f"cov(): expected {name} to have {what} dtype but got {name} with {weights.dtype.type_name} dtype"
            )
        if weights._array.size != count:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                f"{weights._array.size} != {count}"
            )
        if np.any(all_values(weights._array) < 0):
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if fweights is None or aweights is None:
        return fweights if aweights is None else aweights
    return fweights * aweights


@public()
def corrcoef(input: Tensor) -> Tensor:
    """Matrix of correlation coefficients of variables in rows."""
    if input._array.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input._array.ndim} "
            "dimensions"
        )
    matrix = cov(input)
    if matrix._array.ndim == 0:
        return matrix / matrix
    deviation = matrix.diagonal().real.sqrt() if matrix._array.dtype.kind == "c" else matrix.diagonal().sqrt()
    matrix = matrix / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if matrix._array.dtype.kind != "c":
        return matrix.clamp(-1, 1)
    return FUNCTIONS["complex"](matrix.real.clamp(-1, 1), matrix.imag.clamp(-1, 1))


# --- norms ---


def check_identity(x: Tensor, axis: tuple, order: float, whole: bool) -> None:
    """The smallest or largest of no elements does not exist."""
    for one in axis:
        if x._array.shape[one] == 0:
            where = "an empty tensor because" if whole else f"the dimension {one} because this dimension is empty and"
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {order:g} norm on {where} the operation does not have an identity"
            )


def vector_norm(x: Tensor, order: float, dim: Any, keepdim: bool) -> Tensor:
    """(sum |x|**order)**(1/order) over dims; order 0 counts, infinite orders take extrema."""
    axis = wrap_dims(dim, x._array.ndim)
    if order == math.inf or order < 0:
        check_identity(x, axis, order, dim is None)
    return apply_unary(
        norm_ops.vector_norm, x, {"order": float(order), "axis": axis, "keepdims": need_bool(keepdim, "norm")}
    )


@public(passed="input, p dim keepdim out dtype", passed_by_method="input, p dim keepdim dtype")
def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: dtype_type | None = None,
    out: Any = None,
) -> Tensor:
    """Norm of a tensor as one vector, or over dims; p is a number, "fro" or "nuc"."""
    if out is not None:
        return store("norm", lambda x: norm(x, p, dim, keepdim, dtype), (input,), {}, out, "same")
    if dtype is not None and as_dtype(dtype).is_complex and input._array.dtype.kind != "c":
        raise RuntimeError(
            f"linalg.vector_norm: dtype should be real for real inputs, but got {as_dtype(dtype).type_name}"
        )
    x = in_dtype(input, dtype)
    if x._array.dtype.kind in "biu":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype.type_name}"
        )
    if p == "nuc":
        from ..linalg import matrix_norm

        return matrix_norm(x, "nuc", (-2, -1) if dim is None else dim, keepdim)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    return vector_norm(x, 2.0 if p in ("fro", None) else p, dim, keepdim)


@public(method=False, out="cast")
def frobenius_norm(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The square root of the sum of squares over dims."""
    return norm(input, 2.0, None if dim == () else dim, keepdim)


@public(method=False, out="cast")
def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of a matrix."""
    return norm(input, "nuc", dim, keepdim)


@public(method=False)
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dims but one, which keeps its size (-1: over all)."""
    if dim == -1:
        return norm(v, pow)
    axis = wrap_dim(dim, v._array.ndim)
    return vector_norm(v, pow, tuple(i for i in range(v._array.ndim) if i != axis), True)


@public()
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of `input - other`."""
    a, b = promote(as_tensor(input), as_tensor(other))
    if a._array.dtype.kind in "biu":
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {a.dtype.type_name} instead."
        )
    if p == math.inf or p < 0:
        for x in (a, b):
            check_identity(x, tuple(range(x._array.ndim)), p, True)
    return apply_broadcast(norm_ops.distance, (a, b), {"order": float(p)})


@public(in_place=True, out="same")
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Scale down each slice along `dim` whose p-norm exceeds `maxnorm`."""
    ndim = input._array.ndim
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {ndim} dimensions")
    axis = wrap_dim(dim, ndim)
    others = tuple(i for i in range(ndim) if i != axis)
    norms = vector_norm(input, p, others, True)
    too_long = wrap(norms._array > maxnorm)
    return (input * where(too_long, maxnorm / (norms + 1e-7), 1.0)).contiguous()


# --- medians, quantiles, mode ---


def _order_statistic(op: Any, whole: Any, result_type: Any, name: str, input: Tensor, dim: Any, keepdim: bool) -> Any:
    if input._array.dtype.kind in "cb":
        raise not_implemented_for(f"{name}_cpu", input)
    if dim is None:
        return apply_unary(whole, input)
    axis = wrap_dim(dim, input._array.ndim)
    return _selected(op, result_type, name, input, axis, keepdim)


def _selected(op: Any, result_type: Any, name: str, x: Tensor, axis: int, keepdim: bool, **params: Any) -> Any:
    if x._array.ndim == 0:
        return result_type(x.clone(), wrap(np.zeros((), np.int64)))
    if x._array.shape[axis] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    return result_type(*apply(op, (x,), {"axis": axis, "keepdims": need_bool(keepdim, name), **params}))


@public(out="same")
def median(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The lower median, of everything or along a dim; NaN if there is one."""
    return _order_statistic(sorting.median, ops.median_of_all, MedianResult, "median", input, dim, keepdim)


@public(out="same")
def nanmedian(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The lower median of what is not NaN."""
    return _order_statistic(sorting.nanmedian, ops.nanmedian_of_all, NanmedianResult, "nanmedian", input, dim, keepdim)


@public(out="same")
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> ValuesIndices:
    """The most frequent value along a dim (the smallest of several) and the index of one occurrence."""
    return _selected(sorting.mode, ModeResult, "mode", input, wrap_dim(dim, input._array.ndim), keepdim)


@public(out="same")
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> ValuesIndices:
    """The k-th smallest element (from 1) along a dim and its index."""
    axis = wrap_dim(dim, input._array.ndim)
    size = input._array.shape[axis] if input._array.ndim else 1
    if size == 0:
        raise IndexError(f"kthvalue(): Expected reduction dim {axis} to have non-zero size.")
    if not 1 <= k <= size:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    return _selected(sorting.kthvalue, KthvalueResult, "kthvalue", input, axis, keepdim, k=k)


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(input: Tensor, q: Any, dim: Any, keepdim: bool, interpolation: str, skip_nan: bool) -> Tensor:
    name = "nanquantile" if skip_nan else "quantile"
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if input._array.dtype.kind != "f":
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if input._array.size == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    levels = _levels(q, input, name)
    keepdim = need_bool(keepdim, name)
    ndim = input._array.ndim
    axis = None if dim is None else wrap_dim(dim, ndim)
    x = input.reshape(-1) if axis is None or ndim == 0 else input.movedim(axis, -1)
    ordered, _ = apply(sorting.sort, (x,), {"axis": x._array.ndim - 1, "descending": False, "keepdims": True})
    ranks = _ranks(x._array, levels.reshape((-1,)), skip_nan)
    result = _interpolated(ordered, ranks, interpolation)
    if axis is None or ndim == 0:
        result = result.reshape((-1,) + (1,) * ndim if keepdim else (-1,))
    else:
        result = result.movedim(-1, 0)
        result = result.unsqueeze(axis + 1) if keepdim else result
    return as_own(result.squeeze(0) if levels._array.ndim == 0 else result)


def _levels(q: Any, input: Tensor, name: str) -> Tensor:
    if isinstance(q, Tensor):
        if q._array.dtype != input._array.dtype:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
        if q._array.ndim > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    levels = q if isinstance(q, Tensor) else wrap(np.asarray(q, input._array.dtype))
    if is_known_true(np.any(~((levels._array >= 0) & (levels._array <= 1)))):
        if isinstance(q, Tensor):
            raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
        raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
    return levels


def _ranks(x: Any, levels: Tensor, skip_nan: bool) -> Tensor:
    """Where in the sorted row each quantile lies, as fractional positions (rows..., levels)."""
    missing = np.isnan(x)
    last = x.shape[-1] - 1
    if skip_nan:
        present = np.sum(~missing, axis=-1, keepdims=True)
        return levels * wrap(np.maximum(present - 1, 0).astype(x.dtype))
    ranks = levels * wrap(np.full((*x.shape[:-1], 1), last, x.dtype))
    incomplete = np.any(missing, axis=-1, keepdims=True)
    if isinstance(incomplete, np.ndarray) and not incomplete.any():
        return ranks
    return where(wrap(incomplete), float(last), ranks)


def _interpolated(ordered: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    axis = ordered._array.ndim - 1
    positions = ranks._array
    if interpolation in ("lower", "higher", "nearest"):
        rounding: dict[str, Any] = {"lower": np.floor, "higher": np.ceil, "nearest": np.round}
        return _taken(ordered, rounding[interpolation](positions), axis)
    below = np.floor(positions)
    weight = ranks - wrap(below) if interpolation == "linear" else wrap(positions * 0 + 0.5)
    return lerp(_taken(ordered, below, axis), _taken(ordered, np.ceil(positions), axis), weight)


def _taken(ordered: Tensor, positions: Any, axis: int) -> Tensor:
    return apply(sorting.take_along, (ordered, wrap(positions.astype(np.int64))), {"axis": axis})


@public(out="same", autocast="full")
def quantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Quantiles of everything or along a dim, interpolated between neighbours; NaN if there is one.

    `q` is a number from 0 to 1, or a tensor of several, which makes a first dim. `interpolation` is "linear",
    "lower", "higher", "midpoint" or "nearest".
    """
    return _quantile(input, q, dim, keepdim, interpolation, False)


@public(out="same", autocast="full")
def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Quantiles of what is not NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, True)
