"""Tensors of evenly spaced numbers (`arange`, `linspace`, `logspace`, the older `range`) and the identity matrix.

What other tensors are made of is in `functional/creation.py`; here live only the numbers, which are torch's to the last bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.basics.dtypes import default_dtype, from_numpy_dtype, number_in
from ..core.basics.notices import warn_user
from ..core.tensor import Tensor
from .creation import dtype_for, finish, numpy_dtype, write_to_out
from .operands import SMALLEST_TOO_LARGE
from .registry import public


@public(method=False, direct=True, tensors=False)
def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Numbers from `start` (0) up to, not including, `end`, in steps."""
    if end is None:
        start, end = 0, start
    if type(start) is type(end) is int and type(step) is int and start <= end and step > 0 and dtype is None is out:
        return finish(_whole(start, end, step), requires_grad, device)
    start, end, step = (v.item() if isinstance(v, (Tensor, np.generic)) else v for v in (start, end, step))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError(
            f"upper bound and lower bound inconsistent with step sign: start={start}, end={end}, step={step}"
        )
    if dtype is None and out is None and all(isinstance(v, int) for v in (start, end, step)):
        return finish(_whole(start, end, step), requires_grad, device)
    kind = numpy_dtype(dtype_for(dtype, out))
    if kind.kind in "bc":
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{from_numpy_dtype(kind).type_name}'")
    if kind == np.int64:
        start, end, step = (int(number_in(int(each), kind)) for each in (start, end, step))
        if step == 0:
            raise ValueError("step must be nonzero")
    count = max(0, math.ceil((end - start) / step))
    if count * kind.itemsize >= SMALLEST_TOO_LARGE:
        raise _too_many(start, end, step)
    if kind.kind in "iu":  # first the ends and the step become integers, then the numbers between
        array = (np.arange(count) * int(step) + int(start)).astype(kind)
    else:
        array = (np.arange(count, dtype=np.float64) * step + start).astype(kind)
    return write_to_out(out, finish(array, requires_grad, device), True)


def _whole(start: int, end: int, step: int) -> np.ndarray:
    limit = SMALLEST_TOO_LARGE
    if not (-limit <= start < limit and -limit <= end < limit and -limit <= step < limit):
        raise RuntimeError(
            f"value cannot be converted to type int64_t without overflow: arange({start}, {end}, {step})"
        )
    try:
        return np.arange(start, end, step, dtype=np.int64)
    except ValueError:
        raise _too_many(start, end, step) from None


def _too_many(start: Any, end: Any, step: Any) -> RuntimeError:
    return RuntimeError(f"invalid size, possible overflow? No machine has memory for arange({start}, {end}, {step})")


@public(name="range", method=False, direct=True, tensors=False)
def range_(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Like `arange`, but including the end (deprecated in torch, kept for old programs)."""
    warn_user(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's "
        "range builtin. Instead, use torch.arange, which produces values in [start, end).",
    )
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError(
            f"upper bound and lower bound inconsistent with step sign: start={start}, end={end}, step={step}"
        )
    count = int(np.floor((end - start) / step)) + 1
    array = (np.arange(count, dtype=np.float64) * step + start).astype(numpy_dtype(dtype_for(dtype, out)))
    return write_to_out(out, finish(array, requires_grad, device), True)


@public(method=False, tensors=False)
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """`steps` evenly spaced numbers from `start` to `end`, both included."""
    first, last, kind = _ends("linspace", start, end, steps, dtype, out)
    from ..kernels.spacing import evenly  # not part of every program

    return write_to_out(out, finish(evenly(first, last, steps, kind), requires_grad, device), True)


def _ends(name: str, start: Any, end: Any, steps: Any, dtype: Any, out: Tensor | None) -> tuple[Any, Any, np.dtype]:
    """The two ends as numbers, and the dtype between them."""
    first, last = _end(name, "start", start), _end(name, "end", end)
    _check_steps(name, steps)
    is_complex = isinstance(first, complex) or isinstance(last, complex)
    if dtype is None and is_complex and out is None:
        dtype = default_dtype().to_complex()
    kind = numpy_dtype(dtype_for(dtype, out))
    if kind.kind != "c" and is_complex:
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {default_dtype().to_complex().short_name} can't be safely cast to passed "
            f"dtype {dtype_for(dtype, out).type_name}"
        )
    if kind.kind == "b":
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    for value in (first, last):
        number_in(value, kind)
    return first, last, kind


def _end(name: str, which: str, value: Any) -> Any:
    if isinstance(value, Tensor) and value._array.ndim:
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got {which} with {value._array.ndim} "
            "dimension(s)."
        )
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


def _check_steps(name: str, steps: Any) -> None:
    if not hasattr(steps, "__index__"):
        raise TypeError(
            f"{name}() received an invalid combination of arguments: 'steps' must be an int, not {type(steps).__name__}"
        )
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")


@public(method=False, tensors=False)
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """`base` to the powers that `linspace` gives."""
    first, last, kind = _ends("logspace", start, end, steps, dtype, out)
    if kind.kind in "iu":  # the exponents at the ends are of the result's dtype, those between are not
        first, last = int(first), int(last)
    from ..kernels.spacing import evenly

    exponents = evenly(first, last, steps, np.dtype(np.complex128 if kind.kind == "c" else np.float64))
    with np.errstate(all="ignore"):
        powers = np.power(float(base), exponents)
    return write_to_out(out, finish(powers.astype(kind), requires_grad, device), True)


@public(method=False, direct=True, tensors=False)
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The identity matrix (n by m)."""
    if n < 0 or (m is not None and m < 0):
        raise RuntimeError(
            f"n must be greater or equal to 0, got {n}" if n < 0 else f"m must be greater or equal to 0, got {m}"
        )
    return write_to_out(out, finish(np.eye(n, m, dtype=numpy_dtype(dtype_for(dtype, out))), requires_grad, device))
