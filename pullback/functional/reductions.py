"""Sums, means, products, extrema and softmax: torch's arguments on top of `ops/reductions.py`.

Variances, norms, medians and quantiles are in `statistics.py`; scans in `cumulative.py`.
"""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

import numpy as np

from ..core.basics.dtypes import as_dtype
from ..core.basics.dtypes import dtype as dtype_type
from ..core.tape import apply, apply_unary, wrap
from ..core.tensor import Tensor
from ..ops import counting, statistics
from ..ops import reductions as ops
from ..ops.casting import cast
from ..ops.sorting import max_index, min_index
from ..return_types import declare_result, returned_by
from .checks import invalid_combination, need_first_tensor, not_implemented_for
from .operands import as_tensor, float_operand, need_bool, sizes_of, wrap_dim, wrap_dims
from .refusals import complaint_for
from .registry import public


def in_dtype(x: Tensor, dtype: Any) -> Tensor:
    """The tensor cast to a requested dtype, if one was requested."""
    if dtype is None:
        return x
    wanted = as_dtype(dtype)._numpy
    return x if x._array.dtype == wanted else cast(x, dtype=wanted)


def sum_operand(x: Tensor, dtype: Any) -> Tensor:
    """Sums and products of integers and booleans are int64."""
    if dtype is None and x._array.dtype.kind in "biu":
        return cast(x, dtype=np.dtype(np.int64))
    return in_dtype(x, dtype)


@public(out="cast")
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None) -> Tensor:
    """Sum of all elements, or over the dims given."""
    if dtype is None and type(input) is Tensor and input._array.dtype.kind == "f":
        x = input
    else:
        x = sum_operand(as_tensor(input), dtype)
        if x._array.dtype.kind == "b":  # as was asked for: whether there is anything to add
            return sum(x, dim, keepdim) != 0
    if dim is None and not keepdim:
        return apply_unary(ops.sum_all, x)
    if type(keepdim) is not bool:
        need_bool(keepdim, "sum")
    return apply_unary(ops.sum_axes, x, {"axis": wrap_dims(dim, x._array.ndim), "keepdims": keepdim})


@public(out="cast")
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None) -> Tensor:
    """Mean of all elements, or over the dims given. Needs a floating point dtype."""
    if dim is None and dtype is None and not keepdim and type(input) is Tensor and input._array.dtype.kind == "f":
        return apply_unary(ops.mean_all, input)
    x = in_dtype(as_tensor(input), dtype)
    if x._array.dtype.kind in "biu":
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {x.dtype.type_name}. Convert first, as in x.float().mean()."
        )
    if dim is None and not keepdim:
        return apply_unary(ops.mean_all, x)
    if type(keepdim) is not bool:
        need_bool(keepdim, "mean")
    return apply_unary(ops.mean_axes, x, {"axis": wrap_dims(dim, x._array.ndim), "keepdims": keepdim})


@public(out="same")
def softmax(input: Any, dim: int, dtype: dtype_type | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dim."""
    x = in_dtype(as_tensor(input), dtype)
    _needs_float(x, "softmax_lastdim_kernel_impl")
    return apply_unary(ops.softmax, x, {"axis": wrap_dim(dim, x._array.ndim)}) if x._array.ndim else x * 0 + 1


@public(out="same")
def log_softmax(input: Any, dim: int, dtype: dtype_type | None = None) -> Tensor:
    """log(softmax(x)) along a dim, computed without overflow."""
    x = in_dtype(as_tensor(input), dtype)
    _needs_float(x, "log_softmax_lastdim_kernel_impl")
    return apply_unary(ops.log_softmax, x, {"axis": wrap_dim(dim, x._array.ndim)}) if x._array.ndim else x * 0


def _needs_float(x: Tensor, kernel: str) -> None:
    if x._array.dtype.kind in "biuc":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{x.dtype.type_name}'. Convert first: x.float().")


class ValuesIndices(NamedTuple):
    """The result of `max`, `sort` and others: values and where they were found."""

    values: Tensor
    indices: Tensor


def _named(name: str) -> type[ValuesIndices]:
    return declare_result(name, ValuesIndices)


MaxResult: type[ValuesIndices]
MinResult: type[ValuesIndices]
SortResult: type[ValuesIndices]
TopkResult: type[ValuesIndices]
MaxResult, MinResult, SortResult, TopkResult = _named("max"), _named("min"), _named("sort"), _named("topk")
MedianResult: type[ValuesIndices]
ModeResult: type[ValuesIndices]
NanmedianResult: type[ValuesIndices]
MedianResult, NanmedianResult, ModeResult = _named("median"), _named("nanmedian"), _named("mode")
CummaxResult: type[ValuesIndices]
CumminResult: type[ValuesIndices]
KthvalueResult: type[ValuesIndices]
KthvalueResult, CummaxResult, CumminResult = _named("kthvalue"), _named("cummax"), _named("cummin")


@returned_by("aminmax")
class AminmaxResult(NamedTuple):
    """The result of `aminmax`."""

    min: Tensor
    max: Tensor


# --- products, sums without NaN, log-sum-exp ---


@public(out="cast")
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None) -> Tensor:
    """Product of all elements, or along a dim. The gradient is right where elements are zero."""
    x = sum_operand(as_tensor(input), dtype)
    if x._array.dtype.kind == "b":
        return all(x, dim, keepdim)
    ndim = x._array.ndim
    if dim is None:
        return apply_unary(statistics.product_all, x, {"axis": tuple(range(ndim)), "keepdims": keepdim})
    return apply_unary(
        statistics.product_axes, x, {"axis": wrap_dims(dim, ndim), "keepdims": need_bool(keepdim, "prod")}
    )


@public(out="cast")
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None) -> Tensor:
    """Sum of the elements that are not NaN."""
    given = as_tensor(input)
    x = sum_operand(given, dtype)
    if x._array.dtype.kind == "c" or given._array.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if x._array.dtype.kind in "biu":
        return sum(given if given._array.dtype.kind in "biu" else _without_nan(given), dim, keepdim, dtype=dtype)
    return apply_unary(
        statistics.nansum, x, {"axis": wrap_dims(dim, x._array.ndim), "keepdims": need_bool(keepdim, "nansum")}
    )


@public(out="cast")
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None) -> Tensor:
    """Mean of the elements that are not NaN."""
    x = as_tensor(input)
    if x._array.dtype.kind in "biu":
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {x.dtype.type_name}"
        )
    dtype = None if dtype is None else as_dtype(dtype)
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. "
            f"Got: {dtype.type_name}"
        )
    axis = wrap_dims(dim, x._array.ndim)
    count = np.sum(~np.isnan(x._array), axis=axis, keepdims=keepdim)
    total = nansum(x, dim, keepdim, dtype=dtype) if x._array.dtype.kind != "c" else sum(_without_nan(x), dim, keepdim)
    return total / wrap(count.astype(total._array.dtype))


def _without_nan(x: Tensor) -> Tensor:
    from .ternary import where

    return where(wrap(np.isnan(x._array)), 0.0, x)


@public(out="cast")
def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) over dims, computed without overflow."""
    x = float_operand(input, "input", "logsumexp")
    return apply_unary(
        statistics.logsumexp, x, {"axis": wrap_dims(dim, x._array.ndim), "keepdims": need_bool(keepdim, "logsumexp")}
    )


@public(function=False)
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """Sum over dims so that the result has the given size, which must broadcast to this tensor's."""
    want, have = sizes_of(size), input._array.shape
    extra = len(have) - len(want)
    if extra < 0 or builtins.any(w not in (1, h) for w, h in zip(want, have[extra:], strict=True)):
        raise RuntimeError(f"size {{{list(want)}}} is not expandable to size {{{list(have)}}}.")
    axis = (*range(extra), *(i + extra for i, w in enumerate(want) if w == 1 != have[i + extra]))
    if not axis and have:
        return input
    total = sum(input, axis, True)
    return total.reshape(want) if extra else total


# --- extrema ---


def _check_not_empty(x: Tensor, axis: tuple, name: str) -> None:
    for one in axis:
        if x._array.shape[one] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {one} to have non-zero size.")


def _need_order(x: Tensor, name: str) -> None:
    if x._array.dtype.kind == "c":
        raise not_implemented_for(name, x)


def _need_dim_if_empty(x: Tensor, name: str, error: type[Exception] = RuntimeError) -> None:
    if x._array.size == 0:
        raise error(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            "the 'dim' argument."
        )


def _extreme(op: Any, name: str, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    _need_order(input, f"{name}_values_cpu")
    axis = wrap_dims(dim, input._array.ndim)
    if dim == () or dim is None or dim == []:
        _need_dim_if_empty(input, name)
    _check_not_empty(input, axis, name)
    return apply_unary(op, input, {"axis": axis, "keepdims": need_bool(keepdim, name)})


@public(out="same")
def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Largest element over dims; the gradient is shared among ties."""
    return _extreme(ops.amax, "amax", input, dim, keepdim)


@public(out="same")
def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Smallest element over dims; the gradient is shared among ties."""
    return _extreme(ops.amin, "amin", input, dim, keepdim)


@public(direct=True)
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None) -> AminmaxResult:
    """Smallest and largest elements, of the whole tensor or along a dim."""
    try:
        _need_order(input, "aminmax_cpu")
    except AttributeError as error:
        raise complaint_for(error) from None
    if dim is None and input._array.size == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    axis = wrap_dims(dim, input._array.ndim)
    for one in axis:
        if input._array.shape[one] == 0:
            raise IndexError(f"aminmax: Expected reduction dim {one} to have non-zero size.")
    if out is not None:
        from .out_argument import store

        for target in out:
            if target.dtype is not input.dtype:
                raise RuntimeError(
                    f"Expected out tensor to have dtype {input.dtype!r}, but got {target.dtype!r} instead"
                )
        return store("aminmax", lambda x: aminmax(x, dim=dim, keepdim=keepdim), (input,), {}, out)
    return AminmaxResult(*apply(ops.aminmax, (input,), {"axis": axis, "keepdims": keepdim}))


def _by_arguments(
    name: str, whole: Any, along: Any, result_type: Any, args: tuple, dim: Any, keepdim: Any, other: Any
) -> Any:
    """The three meanings of max and min: of everything, along a dim, of two tensors."""
    need_first_tensor(name, *args)
    input = args[0]
    if len(args) > 1:
        if (
            isinstance(args[1], Tensor)
            and args[1]._array.dtype.kind != "b"
            and len(args) == 2
            or not isinstance(args[1], int)
        ):
            other = args[1]
        else:
            dim = args[1]
        if len(args) > 2:
            keepdim = args[2]
    if other is not None:
        from . import pairwise

        if not isinstance(other, Tensor):
            raise invalid_combination(name, input, other)
        return (pairwise.maximum if name == "max" else pairwise.minimum)(input, other)
    _need_order(input, f"{name}_all")
    if dim is None:
        _need_dim_if_empty(input, name)
        return apply_unary(whole, input, {"axis": tuple(range(input._array.ndim)), "keepdims": False})
    axis = wrap_dim(dim, input._array.ndim)
    if input._array.ndim == 0:
        return result_type(input.clone(), wrap(np.zeros((), np.int64)))
    _check_not_empty(input, (axis,), name)
    return result_type(*apply(along, (input,), {"axis": axis, "keepdims": need_bool(keepdim, name)}))


@public(out="same")
def max(input: Any, *args: Any, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    """The largest element; with a dim, (values, indices) along it; with another tensor, the larger of the two."""
    if not args and dim is None and other is None and isinstance(input, Tensor) and input._array.dtype.kind == "f":
        _need_dim_if_empty(input, "max")
        return apply_unary(ops.max_all, input, {"axis": tuple(range(input._array.ndim)), "keepdims": False})
    return _by_arguments("max", ops.max_all, max_index, MaxResult, (input, *args), dim, keepdim, other)


@public(out="same")
def min(input: Any, *args: Any, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    """The smallest element; with a dim, (values, indices) along it; with another tensor, the smaller of the two."""
    if not args and dim is None and other is None and isinstance(input, Tensor) and input._array.dtype.kind == "f":
        _need_dim_if_empty(input, "min")
        return apply_unary(ops.min_all, input, {"axis": tuple(range(input._array.ndim)), "keepdims": False})
    return _by_arguments("min", ops.min_all, min_index, MinResult, (input, *args), dim, keepdim, other)


# --- counts and truth ---


def _logical_reduction(op: Any, input: Any, dim: Any, keepdim: bool) -> Tensor:
    x = as_tensor(input)
    axis = () if type(dim) in (tuple, list) and not dim else wrap_dims(dim, x._array.ndim)
    return apply(op, (x,), {"axis": axis, "keepdims": need_bool(keepdim, op.name.lower())})


@public(out="bool")
def all(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """True where all elements (along dims) are non-zero."""
    return _logical_reduction(counting.all_axes, input, dim, keepdim)


@public(out="bool")
def any(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """True where any element (along dims) is non-zero."""
    return _logical_reduction(counting.any_axes, input, dim, keepdim)


@public()
def count_nonzero(input: Any, dim: Any = None) -> Tensor:
    """How many elements (along dims) are not zero."""
    x = as_tensor(input)
    return apply(counting.count_nonzero, (x,), {"axis": wrap_dims(dim, x._array.ndim)})


def _arg(op: Any, input: Any, dim: int | None, keepdim: bool, name: str) -> Tensor:
    x = as_tensor(input)
    _need_order(x, f"{name}_cpu")
    ndim = x._array.ndim
    if x._array.dtype.kind == "b":
        raise RuntimeError(f"{name}(): does not support bool input. Convert first: x.int().")
    if dim is None:
        _need_dim_if_empty(x, name, IndexError)
        found = apply(op, (x if ndim == 1 else x.reshape(-1),), {"axis": 0, "keepdims": False})
        return found.reshape((1,) * ndim) if keepdim else found
    axis = wrap_dim(dim, ndim)
    if ndim == 0:
        return wrap(np.zeros((), np.int64))
    _check_not_empty(x, (axis,), name)
    return apply(op, (x,), {"axis": axis, "keepdims": need_bool(keepdim, name)})


@public(out="same")
def argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index of the largest element, of the flattened tensor or along a dim."""
    return _arg(counting.argmax, input, dim, keepdim, "argmax")


@public(out="same")
def argmin(input: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index of the smallest element, of the flattened tensor or along a dim."""
    return _arg(counting.argmin, input, dim, keepdim, "argmin")
