"""Arithmetic and elementary functions: one element in, one element out.

Operands arrive promoted to one dtype (Python numbers stay as they are: NumPy treats them as weak, as torch does).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import seams
from ..core.basics.constants import FLOAT32, FLOAT64, number
from ..core.basics.dtypes import kind_of, number_in
from ..core.basics.quiet import restore, silence, warning_settings
from ..core.kernel import kernel
from ..core.op import Op, conjugate, elementwise, fused, identity_rule, linear, op
from ..kernels.like import brought
from ..kernels.order import converted, ordered
from ..kernels.thresholds import SQUARED_BY_UFUNC
from .layouts import ELEMENTWISE, SAME
from .piecewise import zero_gradient
from .samples import arrays, reals
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import Number
    from ..core.basics.types import NumPyArray as Array
    from ..core.node import Node

_ONE, _ONE_DOUBLE = number(1, FLOAT32), number(1, FLOAT64)

# --- arithmetic ---

add: Op = linear(
    "AddBackward0",
    ordered(operator.add),
    a=identity_rule,
    b=identity_rule,
    batch=ELEMENTWISE,
    large="forward by blocks",
    aten="add.Tensor",
)
subtract: Op = linear(
    "SubBackward0",
    ordered(operator.sub),
    a=identity_rule,
    b=lambda g: -g,
    batch=ELEMENTWISE,
    large="forward by blocks",
    aten="sub.Tensor",
)
reverse_subtract: Op = linear(
    "RsubBackward1",
    lambda a, b: b - a,
    a=lambda g: -g,
    b=identity_rule,
    batch=ELEMENTWISE,
    large="forward by blocks",
    hidden_inputs=(1,),
    aten="rsub.Scalar",
)
reverse_subtract_tensors: Op = linear(
    "RsubBackward0",
    ordered(lambda a, b: b - a, (1, 0)),
    a=lambda g: -g,
    b=identity_rule,
    batch=ELEMENTWISE,
    large="forward by blocks",
    aten="rsub.Tensor",
    samples=arrays((2, 3), (3,)),
)


@ordered
def _add_scaled(a: Array, b: Array, alpha: Number) -> Array:
    kind = b.dtype
    if kind.itemsize == 2 and kind.kind in "fV":
        return (converted(a, np.float32) + converted(b, np.float32) * np.float32(kind.type(alpha))).astype(kind)
    return a + b * (number_in(alpha, kind) if kind.kind in "iu" else alpha)


add_scaled: Op = linear(
    "AddBackward0",
    _add_scaled,
    a=identity_rule,
    b=lambda g, alpha: g * np.conj(alpha),
    batch=ELEMENTWISE,
    aten="add.Tensor",
)
subtract_scaled: Op = linear(
    "SubBackward0",
    lambda a, b, alpha: _add_scaled(a, b, -alpha),
    a=identity_rule,
    b=lambda g, alpha: -g * np.conj(alpha),
    batch=ELEMENTWISE,
    aten="sub.Tensor",
    samples=arrays((2, 3), (3,), alpha=2),
)
reverse_subtract_scaled: Op = linear(
    "RsubBackward1",
    lambda a, b, alpha: _add_scaled(b, a, -alpha),
    a=lambda g, alpha: -g * np.conj(alpha),
    b=lambda g: g,
    batch=ELEMENTWISE,
    aten="rsub.Scalar",
    samples=arrays((2, 3), (3,), alpha=2),
)
multiply: Op = elementwise(
    "MulBackward0",
    operator.mul,
    a=lambda b: b,
    b=lambda a: a,
    real_rules={"a": operator.mul, "b": operator.mul},
    multiplies=True,
    series="product",
    aten="mul.Tensor",
)


def _as_torch_shows_it(node: Node) -> None:
    """A product of two tensors with a gradient for each, from what is saved in the same order."""
    node.plan = multiply.plan(3, 2, node.dtype.kind == "c")


# x * x: both operands are one tensor, which gets the sum of both gradients at once
multiply_itself: Op = op(
    "MulBackward0",
    operator.mul,
    kind="elementwise_pull",
    a=lambda g, b, a: g * conjugate(b + a),
    b=None,
    real_rules={"a": lambda g, b, a: g * (b + a)},
    hidden_inputs=(),
    differentiable_inputs=-1,
    rebuild=_as_torch_shows_it,
    aten="mul.Tensor",
)

divide: Op = op(
    "DivBackward0",
    operator.truediv,
    kind="elementwise_pull",
    a=lambda g, b: g / conjugate(b),
    b=lambda g, a, b: -g * conjugate((a / b) / b),
    multiplies=True,
    series="quotient",
    aten="div.Tensor",
)


def _in_single(operation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: operation(converted(a, np.float32), np.float32(b)).astype(a.dtype)


# Half precision with a number, which it need not be able to hold: computed in float32, as torch does.
multiply_by: Op = op(
    "MulBackward0",
    _in_single(operator.mul),
    kind="elementwise_pull",
    a=lambda g, b: multiply_by(g, b),
    b=None,
    aten="mul.Tensor",
)
divide_by: Op = op(
    "DivBackward0",
    _in_single(operator.truediv),
    kind="elementwise_pull",
    a=lambda g, b: divide_by(g, b),
    b=None,
    aten="div.Tensor",
)


def _with_number(operation: Callable[..., Any]) -> Callable[..., Any]:
    in_single = _in_single(operation)
    return lambda x, number: in_single(x, number) if x.dtype.itemsize == 2 else operation(x, number)


# Factors that are numbers for torch too, not tensors without dims: nothing is saved that a first pass would free.
multiply_by_number: Op = linear(
    "MulBackward1",
    _with_number(operator.mul),
    x=lambda g, number: multiply_by_number(g, number=number),
    batch=SAME,
    aten="mul.Scalar",
)
divide_by_number: Op = linear(
    "DivBackward1",
    _with_number(operator.truediv),
    x=lambda g, number: divide_by_number(g, number=number),
    batch=SAME,
    aten="div.Scalar",
)
negative: Op = linear("NegBackward0", operator.neg, x=lambda g: -g, batch=ELEMENTWISE, large="by blocks")
reciprocal: Op = elementwise("ReciprocalBackward0", lambda x: 1 / x, x=lambda out: -out * out)
identity: Op = linear(
    "AliasBackward0",
    lambda x: x,
    view=True,
    x=lambda g: g,
    batch=ELEMENTWISE,
    samples=arrays((2, 3)),
)


def identity_of(value: Any, leaf: Any) -> Any:
    """A tensor with the memory of `value` whose gradient goes to `leaf`."""
    result = seams.apply(identity, (leaf,))
    linked = seams.wrap(value._array)
    linked._node, linked._requires_grad = result._node, True
    return linked


# --- powers ---


def _scalar_power_pull(g: Array, x: Array, exponent: Number) -> Array:
    return zero_gradient(g) if exponent == 0 else g * conjugate(_scalar_power_partial(x, exponent))


def _scalar_power_partial(x: Array, exponent: Number) -> Array:
    if exponent == 0.5:
        return 0.5 / np.sqrt(x)  # as a power it would be 0 at -inf
    return exponent * x ** (exponent - 1)  # a power to the end: the derivative of a constant slope is 0


def _scalar_power_backward(g: Array, x: Array, exponent: Number) -> Array:
    if exponent == 2:
        return g * (x + x)
    if exponent == 3:
        return g * (3 * (x * x))
    return g * 1 if exponent == 1 else NotImplemented


def _power_scalar(x: Array, exponent: Number) -> Array:
    if exponent == 2:
        return x * x
    if x.dtype.itemsize == 2 and (x.dtype.kind == "f" or x.dtype.kind == "V" and exponent != 3):
        return _power_scalar(converted(x, np.float32), float(x.dtype.type(exponent))).astype(x.dtype)
    if exponent == 3:  # np.power is several times slower than products, and less accurate
        return x * x * x
    if exponent == 0.5:
        return np.sqrt(x)
    if exponent == -0.5:
        return 1 / np.sqrt(x)
    return x**exponent if exponent != 1 else +x


power_scalar: Op = op(
    "PowBackward0",
    _power_scalar,
    x=_scalar_power_pull,
    kind="elementwise_pull",
    kernel=kernel(x=_scalar_power_backward),
    series="power",
    aten="pow.Tensor_Scalar",
    samples=lambda draw: [sample for power in (1, 2, 3, 4) for sample in reals(exponent=power)(draw)],
)


def _power(a: Array, b: Array) -> Array:
    if a.dtype.kind in "iu" and a.dtype.kind == b.dtype.kind and np.any(b < 0):
        # Integers to negative powers: 0 except for bases 1 and -1, as in torch's kernel.
        small = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0))
        return np.where(b < 0, small, np.power(a, np.maximum(b, 0))).astype(a.dtype)
    return np.power(a, b)


def _power_exponent_partial(a: Array, b: Array, out: Array) -> Array:
    settled = (a == 0) & (np.real(b) >= 0)  # 0 to any power from 0 on stays where it is
    return np.where(settled, 0, out * np.log(np.where(settled, 1, a)))


power: Op = op(
    "PowBackward1",
    _power,
    kind="elementwise_pull",
    a=lambda g, a, b: np.where(b == 0, 0, g * conjugate(b * a ** np.where(b == 0, 1, b - 1))),
    b=lambda g, a, b, out: g * conjugate(_power_exponent_partial(a, b, out)),
    series="power_of_tensor",
    aten="pow.Tensor_Tensor",
)
power_of_scalar: Op = op(
    "PowBackward2",
    lambda x, base: in_order(_power(brought(np.asarray(base, dtype=x.dtype), x), x)),
    kind="elementwise_pull",
    x=lambda g, out, x, base: g * conjugate(_power_base_partial(out, x, base)),
    aten="pow.Scalar",
)


def _power_base_partial(out: Array, x: Array, base: Number) -> Array:
    if base == 0:
        return np.where(np.real(x) >= 0, 0 * out, out * -math.inf)
    logarithm = math.log(base) if not isinstance(base, complex) and base > 0 else complex(np.log(complex(base)))
    if isinstance(logarithm, complex) and kind_of(out) != "c":
        return out * math.nan
    return out * logarithm


square: Op = elementwise(
    "PowBackward0",
    lambda x: x * x,
    x=lambda x: _scalar_power_partial(x, 2),
    kernel=kernel(x=lambda g, x: g * (x + x)),
    shown_constants={"exponent": 2},
    aten="pow.Tensor_Scalar",
    samples=reals(),
)
sqrt: Op = elementwise("SqrtBackward0", np.sqrt, x=lambda out: 0.5 / out)


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x) if x.dtype.itemsize != 2 else _rsqrt(converted(x, np.float32)).astype(x.dtype)


rsqrt: Op = elementwise("RsqrtBackward0", _rsqrt, x=lambda out: -0.5 * out * out * out)

# --- exponentials and logarithms ---

exp: Op = elementwise("ExpBackward0", np.exp, x=lambda out: out, real_rules={"x": operator.mul})
exp2: Op = elementwise("Exp2Backward0", np.exp2, x=lambda out: out * math.log(2))
expm1: Op = elementwise("Expm1Backward0", np.expm1, x=lambda out: out + 1)
log: Op = elementwise("LogBackward0", np.log, x=lambda x: 1 / x, real_rules={"x": operator.truediv})
log2: Op = elementwise(
    "Log2Backward0", np.log2, x=lambda x: 1 / (x * math.log(2)), real_rules={"x": lambda g, x: g / (x * math.log(2))}
)
log10: Op = elementwise(
    "Log10Backward0",
    np.log10,
    x=lambda x: 1 / (x * math.log(10)),
    real_rules={"x": lambda g, x: g / (x * math.log(10))},
)


def _log1p(x: Array) -> Array:
    if x.dtype.kind != "c":
        return np.log1p(x)
    real, imaginary = x.real, x.imag  # NumPy adds 1 first, and what is small is gone
    out = np.asarray(np.log(1 + x))
    out.real = np.where(np.abs(x) < 0.5, 0.5 * np.log1p(real * (2 + real) + imaginary * imaginary), out.real)
    return out


log1p: Op = elementwise("Log1PBackward0", _log1p, x=lambda x: 1 / (x + 1))

# --- trigonometric and hyperbolic ---

sin: Op = elementwise("SinBackward0", np.sin, x=lambda x: np.cos(x))
cos: Op = elementwise("CosBackward0", np.cos, x=lambda x: -np.sin(x))
tan: Op = elementwise("TanBackward0", np.tan, x=lambda out: 1 + out * out)
asin: Op = elementwise("AsinBackward0", np.arcsin, x=lambda x: 1 / np.sqrt(1 - x * x))
acos: Op = elementwise("AcosBackward0", np.arccos, x=lambda x: -1 / np.sqrt(1 - x * x))
atan: Op = elementwise("AtanBackward0", np.arctan, x=lambda x: 1 / (1 + x * x))


def _scaled(x: Array, factor: float) -> Array:
    if x.dtype.kind == "c":
        raise RuntimeError("deg2rad and rad2deg are not supported for complex tensors.")
    return (x * factor).astype(x.dtype, copy=False)  # bfloat16 times a Python number is float32


deg2rad: Op = linear(
    "Deg2RadBackward0", lambda x: _scaled(x, math.pi / 180), x=lambda g: g * (math.pi / 180), batch=SAME
)
rad2deg: Op = linear(
    "Rad2DegBackward0", lambda x: _scaled(x, 180 / math.pi), x=lambda g: g * (180 / math.pi), batch=SAME
)

sinh: Op = elementwise("SinhBackward0", np.sinh, x=lambda x: np.cosh(x))
cosh: Op = elementwise("CoshBackward0", np.cosh, x=lambda x: np.sinh(x))


def _tanh_backward(g: Array, out: Array) -> Array:
    """Without temporaries: `tanh` is where small networks spend their time."""
    if out.itemsize < 4 or not out.ndim:
        return NotImplemented
    slope = out * out if out.size < SQUARED_BY_UFUNC else np.square(out)  # which is slower to call and faster to run
    np.subtract(_ONE if out.dtype is FLOAT32 else _ONE_DOUBLE, slope, slope)
    return np.multiply(g, slope, slope)


tanh: Op = elementwise(
    "TanhBackward0",
    np.tanh,
    x=lambda out: 1 - out * out,
    real_rules={"x": lambda g, out: tanh_pull(g, out)},
    kernel=kernel(x=_tanh_backward),
    samples=reals(),
)


def _pull_of(node_name: str, slope: Callable[..., Any], bend: Callable[..., Any]) -> Op:
    """A pullback `g * slope(out)` as an operation of its own: then a recorded pass records one node.

    `bend` is the derivative of the slope.
    """
    pulled: Op = op(
        node_name,
        lambda g, out: g * slope(out),
        kind="elementwise_pull",
        multiplies=True,
        g=lambda h, out: pulled(h, conjugate(out)),
        out=lambda h, g, out: h * conjugate(g * bend(out)),
        real_rules={"g": lambda h, out: pulled(h, out), "out": lambda h, g, out: h * (g * bend(out))},
    )
    return pulled


tanh_pull: Op = _pull_of("TanhBackwardBackward0", lambda out: 1 - out * out, bend=lambda out: -2 * out)
asinh: Op = elementwise("AsinhBackward0", np.arcsinh, x=lambda x: 1 / np.sqrt(x * x + 1))
acosh: Op = elementwise(
    "AcoshBackward0",
    np.arccosh,
    x=lambda x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1) if kind_of(x) == "c" else np.sqrt(x * x - 1)),
)
atanh: Op = elementwise("AtanhBackward0", np.arctanh, x=lambda x: 1 / (1 - x * x))


def _sigmoid_kernel(x: Array) -> Array:
    """1 / (1 + exp(-x)): exp may overflow to inf, which gives the right 0."""
    kind = x.dtype
    settings = warning_settings()
    try:
        silence()
        if not x.ndim or kind is not FLOAT32 and kind is not FLOAT64:
            return (
                1 / (1 + np.exp(-x)) if kind.itemsize != 2 else _sigmoid_kernel(converted(x, np.float32)).astype(kind)
            )
        one = _ONE if kind is FLOAT32 else _ONE_DOUBLE
        out = np.negative(x)
        np.add(np.exp(out, out), one, out)
        return np.divide(one, out, out)
    finally:
        restore(settings)


def _sigmoid_backward(g: Array, out: Array) -> Array:
    """As `_tanh_backward`."""
    if out.itemsize < 4 or not out.ndim:
        return NotImplemented
    slope = np.subtract(_ONE if out.dtype is FLOAT32 else _ONE_DOUBLE, out)
    np.multiply(slope, out, slope)
    return np.multiply(g, slope, slope)


sigmoid: Op = elementwise(
    "SigmoidBackward0",
    lambda x: 1 / (1 + np.exp(-x)),
    x=lambda out: out * (1 - out),
    real_rules={"x": lambda g, out: sigmoid_pull(g, out)},
    kernel=kernel(_sigmoid_kernel, x=_sigmoid_backward),
    samples=reals(),
)


sigmoid_pull: Op = _pull_of("SigmoidBackwardBackward0", lambda out: out * (1 - out), bend=lambda out: 1 - 2 * out)

# --- taking floating point numbers apart ---

frexp: Op = fused(
    "FrexpBackward0",
    np.frexp,
    inputs=("x",),
    joint=lambda g, extras: (g * 2.0 ** -extras[0],),
    batch=ELEMENTWISE,
    aten="frexp.Tensor",
    samples=arrays((2, 3)),
)
