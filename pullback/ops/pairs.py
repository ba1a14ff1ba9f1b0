"""Functions of two or three operands beyond arithmetic: atan2, hypot, lerp, logaddexp, addcmul, remainders and more.

Operands arrive promoted to one floating or complex dtype; broadcasting is undone at the tape's edge.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.constants import FLOAT32, FLOAT64, number
from ..core.op import Op, conjugate, linear, op
from ..kernels.order import ordered
from ..kernels.thresholds import MAYBE_BLOCKED, PAIRS_BY_NUMPY
from .fusing import choose, in_blocks, number_for
from .layouts import ELEMENTWISE
from .piecewise import zero_gradient
from .pointwise import sigmoid
from .samples import arrays

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array


def _by_kernel(name: str, exact: np.ufunc) -> Callable[[Any, Any], Any]:
    """A function of two arrays that has a kernel for many elements, and NumPy's for few."""

    def function(a: Array, b: Array) -> Array:
        if max(getattr(a, "size", 1), getattr(b, "size", 1)) < PAIRS_BY_NUMPY:
            return exact(a, b)
        from ..kernels import pairs as kernels  # not part of every program

        return getattr(kernels, name)(a, b)

    return function


# --- division with rounding ---


_unsigned_remainder, _fmod = _by_kernel("remainder", np.remainder), _by_kernel("fmod", np.fmod)
_floored = _by_kernel("floor_divide", np.floor_divide)


def _remainder(a: Array, b: Array) -> Array:
    """NumPy gives a remainder of 0 the sign of the divisor, torch that of the dividend."""
    out = _unsigned_remainder(a, b)
    return np.copysign(out, np.where(out == 0, a, out)) if out.dtype.kind == "f" else out


remainder: Op = op(
    "RemainderBackward1",
    _remainder,
    kind="elementwise_pull",
    a=lambda g: g,
    b=lambda g, a, b: -g * divide_floor(a, b),
    aten="remainder.Tensor",
    samples=arrays((2, 3), (3,), between=(0.5, 2)),
)
remainder_scalar: Op = op(
    "RemainderBackward0", _remainder, kind="elementwise_pull", a=lambda g: g, b=None, aten="remainder.Scalar"
)
fmod: Op = op(
    "FmodBackward1",
    _fmod,
    kind="elementwise_pull",
    a=lambda g: g,
    b=lambda g, a, b: -g * divide_trunc(a, b),
    aten="fmod.Tensor",
    samples=arrays((2, 3), (3,), between=(0.5, 2)),
)
fmod_scalar: Op = op(
    "FmodBackward0",
    _fmod,
    kind="elementwise_pull",
    a=lambda g: g,
    b=None,
    aten="fmod.Scalar",
    samples=lambda draw: [((draw(2, 3), 0.7), {})],
)


def _truncated_quotient(a: Array, b: Array) -> Array:
    if np.result_type(a, b).kind in "iu":
        quotient = np.floor_divide(a, b)
        return quotient + ((quotient < 0) & (quotient * b != a))
    return np.trunc(a / b)


def _floor_quotient(a: Array, b: Array) -> Array:
    """`floor_divide` that is infinite, not nan, for a finite number over zero."""
    quotient = _floored(a, b)
    if quotient.dtype.kind != "f":
        return quotient
    return np.where(np.equal(b, 0), np.true_divide(a, b), quotient)[()]


divide_floor: Op = op(
    "DivBackward2",
    _floor_quotient,
    kind="elementwise_pull",
    a=zero_gradient,
    b=zero_gradient,
    aten="div.Tensor_mode",
    samples=arrays((2, 3), (3,), between=(0.5, 2)),
)
divide_trunc: Op = op(
    "DivBackward2",
    _truncated_quotient,
    kind="elementwise_pull",
    a=zero_gradient,
    b=zero_gradient,
    aten="div.Tensor_mode",
    samples=arrays((2, 3), (3,), between=(0.5, 2)),
)
floor_divide: Op = op(
    "torch::autograd::NotImplemented",
    _floor_quotient,
    kind="elementwise_pull",
    a=zero_gradient,
    b=zero_gradient,
    aten="floor_divide",
    samples=arrays((2, 3), (3,), between=(0.5, 2)),
)

# --- angles, lengths, signs ---


def _over_square_length(g: Array, top: Array, a: Array, b: Array) -> Array:
    square = a * a + b * b
    return g * (top * np.where(square == 0, 0, 1 / np.where(square == 0, 1, square)))


atan2: Op = op(
    "Atan2Backward0",
    np.arctan2,
    kind="elementwise_pull",
    a=lambda g, a, b: _over_square_length(g, b, a, b),
    b=lambda g, a, b: _over_square_length(g, -a, a, b),
)
hypot: Op = op(
    "HypotBackward0",
    np.hypot,
    kind="elementwise_pull",
    a=lambda g, a, out: g * (a / out),
    b=lambda g, b, out: g * (b / out),
)
copysign: Op = op(
    "CopysignBackward0",
    np.copysign,
    kind="elementwise_pull",
    a=lambda g, a, out: np.where(a == 0, 0, g * (out / np.where(a == 0, 1, a))),
    b=zero_gradient,
    aten="copysign.Tensor",
)
copysign_scalar: Op = op(
    "CopysignBackward1",
    np.copysign,
    kind="elementwise_pull",
    a=copysign.rules["a"],
    b=None,
    aten="copysign.Scalar",
    samples=lambda draw: [((draw(2, 3), -1.0), {})],
)
nextafter: Op = op(
    "NextafterBackward0",
    np.nextafter,
    kind="elementwise_pull",
    a=lambda g, a, b: np.where(a == b, 0, g),
    b=zero_gradient,
    samples=arrays((2, 3), (3,)),
)
heaviside: Op = op(
    "torch::autograd::NotImplemented",
    lambda x, values: np.where(x == 0, values, (x > 0).astype(x.dtype)),
    kind="elementwise_pull",
    x=zero_gradient,
    values=lambda g, x: np.where(x == 0, g, 0),
    aten="floor_divide",
    samples=arrays((2, 3), (3,)),
)


def _ldexp(a: Array, b: Array) -> Array:
    """a * 2**b, where 2**b alone may be too large or too small: in two halves, a whole number first."""
    half = np.trunc(b * 0.5) if b.dtype.kind != "c" else b * 0.5
    rest = np.where(half == b, half, b - half)  # of an infinity, both halves are one
    return (a * np.exp2(half) * np.exp2(rest)).astype(a.dtype, copy=False)


ldexp: Op = op(
    "LdexpBackward0",
    _ldexp,
    kind="elementwise_pull",
    a=lambda g, b: g * conjugate(2.0**b),
    b=lambda g, out: g * conjugate(out) * 0.6931471805599453,
    aten="ldexp.Tensor",
    samples=arrays((2, 3), (3,)),
)

# --- sums of exponentials ---


log_add_exp = _by_kernel("log_add_exp", np.logaddexp)


def complex_logaddexp(a: Array, b: Array) -> Array:
    """log(exp(a) + exp(b)) of complex numbers, on the branch of the one with the larger real part."""
    a_first = np.real(a) >= np.real(b)
    high, low = np.where(a_first, a, b), np.where(a_first, b, a)
    both_infinite = np.isinf(np.real(high)) & (np.real(a) == np.real(b))
    apart = high + np.log1p(np.exp(low - np.where(both_infinite, 0, high)))
    return np.where(both_infinite, np.where(np.real(high) < 0, low, np.log(np.exp(a) + np.exp(b))), apart)


logaddexp: Op = op(
    "LogaddexpBackward0",
    lambda a, b: log_add_exp(a, b) if a.dtype.kind != "c" else complex_logaddexp(a, b),
    kind="elementwise_pull",
    a=lambda g, a, b: g * conjugate(sigmoid(a - b)),
    b=lambda g, a, b: g * conjugate(sigmoid(b - a)),
)
_LOG_2 = math.log(2)
logaddexp2: Op = op(
    "Logaddexp2Backward0",
    _by_kernel("log_add_exp2", np.logaddexp2),
    kind="elementwise_pull",
    a=lambda g, a, b: g * sigmoid((a - b) * _LOG_2),
    b=lambda g, a, b: g * sigmoid((b - a) * _LOG_2),
)

# --- three operands ---


def _lerp(a: Array, b: Array, weight: Array) -> Array:
    """Counted from the nearer end, so that weight 1 gives `b` exactly."""
    if a.dtype.itemsize == 2:
        wide = weight if isinstance(weight, (float, complex, int)) else weight.astype(np.float32)
        return _lerp(a.astype(np.float32), b.astype(np.float32), wide).astype(a.dtype)
    if isinstance(weight, (float, complex, int)):
        kind = a.dtype
        if type(weight) is float and (kind is FLOAT32 or kind is FLOAT64):
            weight = number(weight, kind).item()  # as torch has it: 1 - weight is of the rounded weight
            return (
                a + number_for(weight, a) * (b - a) if -0.5 < weight < 0.5 else b - (b - a) * number_for(1 - weight, a)
            )
        out = a + weight * (b - a) if abs(weight) < 0.5 else b - (b - a) * (1 - weight)
        return out if out.dtype is a.dtype else out.astype(a.dtype)
    near_start = np.abs(weight) < 0.5
    return choose(near_start, a + weight * (b - a), b - (b - a) * (1 - weight))


lerp_scalar: Op = linear(
    "LerpBackward0",
    ordered(
        lambda a, b, weight: _lerp(a, b, weight) if a.size < MAYBE_BLOCKED else in_blocks(_lerp, a, b, weight=weight)
    ),
    a=lambda g, weight: g * np.conj(1 - weight),
    b=lambda g, weight: g * np.conj(weight),
    batch=ELEMENTWISE,
    aten="lerp.Scalar",
    samples=arrays((2, 3), (3,), weight=0.3),
)
lerp: Op = op(
    "LerpBackward1",
    _lerp,
    kind="elementwise_pull",
    a=lambda g, weight: g * conjugate(1 - weight),
    b=lambda g, weight: g * conjugate(weight),
    weight=lambda g, a, b: g * conjugate(b - a),
    aten="lerp.Tensor",
)


def _added(x: Array, a: Array, b: Array, value: Array, operation: Callable[..., Any]) -> Array:
    """`x + value * operation(a, b)`; half precision is rounded once, at the end."""
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        a, b, wide = a.astype(np.float32), b.astype(np.float32), x.astype(np.float32)
        return (wide + operation(np.float32(value) * a, b)).astype(x.dtype)
    return (x + value * operation(a, b)).astype(x.dtype, copy=False)


addcmul: Op = op(
    "AddcmulBackward0",
    lambda x, a, b, value: x + a * b if value == 1 and x.dtype.itemsize != 2 else _added(x, a, b, value, operator.mul),
    kind="elementwise_pull",
    x=lambda g: g,
    a=lambda g, b, value: g * conjugate(b * value),
    b=lambda g, a, value: g * conjugate(a * value),
)
addcdiv: Op = op(
    "AddcdivBackward0",
    lambda x, a, b, value: _added(x, a, b, value, operator.truediv),
    kind="elementwise_pull",
    x=lambda g: g,
    a=lambda g, b, value: g * conjugate(value / b),
    b=lambda g, a, b, value: -g * conjugate(value * a / (b * b)),
)
