"""Arithmetic and elementary functions: one element in, one element out.

Operands arrive promoted to one dtype (Python numbers stay as they are: NumPy treats them as weak, as torch does).
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..core import seams
from ..core.basics.constants import FLOAT32, FLOAT64, number
from ..core.basics.dtypes import finfo, from_numpy_dtype, kind_of, number_in
from ..core.basics.quiet import restore, silence, warning_settings
from ..core.kernel import kernel, rule_names
from ..core.op import Op, conjugate, elementwise, fused, linear, op, passed_on
from ..kernels import rectifier
from ..kernels.like import brought, copy, empty, full
from ..kernels.order import converted, ordered
from ..kernels.thresholds import MASKED_BY_BITS, MAYBE_BLOCKED, RECTIFIED_BY_BITS, SQUARED_BY_UFUNC
from .fusing import choose, drop, in_blocks, keep, limited, number_for, zero_of
from .layouts import ELEMENTWISE, FILLED_WITH, SAME
from .samples import arrays, reals
from .striding import in_order

_ONE, _ONE_DOUBLE = number(1, FLOAT32), number(1, FLOAT64)

# --- arithmetic ---

add: Op = linear(
    "AddBackward0",
    ordered(operator.add),
    a=passed_on,
    b=passed_on,
    batch=ELEMENTWISE,
    large="forward by blocks",
    aten="add.Tensor",
)
subtract: Op = linear(
    "SubBackward0",
    ordered(operator.sub),
    a=passed_on,
    b=lambda g: -g,
    batch=ELEMENTWISE,
    large="forward by blocks",
    aten="sub.Tensor",
)
reverse_subtract: Op = linear(
    "RsubBackward1",
    lambda a, b: b - a,
    a=lambda g: -g,
    b=passed_on,
    batch=ELEMENTWISE,
    large="forward by blocks",
    hidden_inputs=(1,),
    aten="rsub.Scalar",
)
reverse_subtract_tensors: Op = linear(
    "RsubBackward0",
    ordered(lambda a, b: b - a, (1, 0)),
    a=lambda g: -g,
    b=passed_on,
    batch=ELEMENTWISE,
    large="forward by blocks",
    aten="rsub.Tensor",
    samples=arrays((2, 3), (3,)),
)


@ordered
def _add_scaled(a: Any, b: Any, alpha: Any) -> Any:
    kind = b.dtype
    if kind.itemsize == 2 and kind.kind in "fV":
        return (converted(a, np.float32) + converted(b, np.float32) * np.float32(kind.type(alpha))).astype(kind)
    return a + b * (number_in(alpha, kind) if kind.kind in "iu" else alpha)


add_scaled: Op = linear(
    "AddBackward0",
    _add_scaled,
    a=passed_on,
    b=lambda g, alpha: g * np.conj(alpha),
    batch=ELEMENTWISE,
    aten="add.Tensor",
)
subtract_scaled: Op = linear(
    "SubBackward0",
    lambda a, b, alpha: _add_scaled(a, b, -alpha),
    a=passed_on,
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


def _as_torch_shows_it(node: Any) -> None:
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


def _in_single(operation: Any) -> Any:
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


def _with_number(operation: Any) -> Any:
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


def _scalar_power_pull(g: Any, x: Any, exponent: Any) -> Any:
    return flat(g) if exponent == 0 else g * conjugate(_scalar_power_partial(x, exponent))


def _scalar_power_partial(x: Any, exponent: Any) -> Any:
    if exponent == 0.5:
        return 0.5 / np.sqrt(x)  # as a power it would be 0 at -inf
    return exponent * x ** (exponent - 1)  # a power to the end: the derivative of a constant slope is 0


def _scalar_power_backward(g: Any, x: Any, exponent: Any) -> Any:
    if exponent == 2:
        return g * (x + x)
    if exponent == 3:
        return g * (3 * (x * x))
    return g * 1 if exponent == 1 else NotImplemented


def _power_scalar(x: Any, exponent: Any) -> Any:
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


def _power(a: Any, b: Any) -> Any:
    if a.dtype.kind in "iu" and a.dtype.kind == b.dtype.kind and np.any(b < 0):
        # Integers to negative powers: 0 except for bases 1 and -1, as in torch's kernel.
        small = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0))
        return np.where(b < 0, small, np.power(a, np.maximum(b, 0))).astype(a.dtype)
    return np.power(a, b)


def _power_exponent_partial(a: Any, b: Any, out: Any) -> Any:
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


def _power_base_partial(out: Any, x: Any, base: Any) -> Any:
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


def _rsqrt(x: Any) -> Any:
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


def _log1p(x: Any) -> Any:
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
sinh: Op = elementwise("SinhBackward0", np.sinh, x=lambda x: np.cosh(x))
cosh: Op = elementwise("CoshBackward0", np.cosh, x=lambda x: np.sinh(x))


def _tanh_backward(g: Any, out: Any) -> Any:
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


def _pull_of(node_name: str, slope: Any, bend: Any) -> Op:
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


def _sigmoid_kernel(x: Any) -> Any:
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


def _sigmoid_backward(g: Any, out: Any) -> Any:
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

# --- signs, rounding: derivative zero almost everywhere ---


def flat(g: Any) -> Any:
    """The pullback of what is constant around each point: zero, even of a cotangent that is infinite."""
    return np.where(np.False_, g, 0)


def straight(node_name: str, pullback: Any, fast: Any = None, aten: str | None = None, **others: Any) -> Any:
    """The rule of a function of straight pieces: `pullback(g, x, ...)` as an operation of its own, with `fast` as its kernel.

    Its slope is the same around each x, so second derivatives are zero; but they are there, as in torch. `others` are
    the rules for what follows x and can have a gradient itself.
    """
    names = rule_names(pullback)
    arrays, params = names[: 1 + len(others)], names[1 + len(others) :]

    def again(h: Any, *values: Any) -> Any:
        return pulled(h, *values[: len(arrays)], **dict(zip(params, values[len(arrays) :], strict=True)))

    again.names = names  # type: ignore[attr-defined]
    rules: dict[str, Any] = {"g": again, names[0]: flat, **others}
    quick = None if fast is None else kernel(fast)
    pulled: Op = op(node_name, pullback, kind="elementwise_pull", kernel=quick, aten=aten, **rules)
    return again


def _abs_pullback(g: Any, x: Any) -> Any:
    return g * sign(x) if kind_of(x) != "c" else g * sgn(x)


absolute: Op = op("AbsBackward0", np.abs, kind="real_pull", x=_abs_pullback)


def _sign(x: Any) -> Any:
    if x.dtype.kind == "c":
        raise RuntimeError("Unlike NumPy, torch.sign doesn't allow complex input. Use torch.sgn() instead.")
    if x.dtype.kind in "fV":  # NaN has no sign: torch says 0
        work = x.dtype if x.dtype.kind == "f" else np.float32
        return np.subtract(x > 0, x < 0, dtype=work).astype(x.dtype, copy=False)
    return copy(x) if x.dtype.kind == "b" else np.sign(x)


sign: Op = op("SignBackward0", _sign, kind="elementwise_pull", x=flat)


def _sgn(x: Any) -> Any:
    if x.dtype.kind != "c":
        return _sign(x)
    size = np.abs(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size)).astype(x.dtype)


def _sgn_pullback(g: Any, x: Any) -> Any:
    if kind_of(x) != "c":
        return flat(g)
    size = np.abs(x)
    safe = np.where(size == 0, 1, size)
    unit = x / safe
    return np.where(size == 0, 0, (g - np.real(np.conj(unit) * g) * unit) / safe)


sgn: Op = op("SgnBackward0", _sgn, kind="real_pull", x=_sgn_pullback)
ceil: Op = op(
    "CeilBackward0",
    np.ceil,
    kind="elementwise_pull",
    x=flat,
    samples=arrays((2, 3)),
)
floor: Op = op("FloorBackward0", np.floor, kind="elementwise_pull", x=flat)
round_: Op = op(
    "RoundBackward0",
    np.round,
    inputs=("x",),
    kind="elementwise_pull",
    x=flat,
    samples=arrays((2, 3)),
)
round_to: Op = op(
    "RoundBackward1",
    lambda x, decimals: _round_to(x, decimals),
    kind="elementwise_pull",
    x=flat,
    aten="round.decimals",
    samples=arrays((2, 3), decimals=1),
)
trunc: Op = op(
    "TruncBackward0",
    np.trunc,
    kind="elementwise_pull",
    x=flat,
    samples=arrays((2, 3)),
)
frac: Op = elementwise("FracBackward0", lambda x: x - np.trunc(x), x=lambda: 1)


def _round_to(x: Any, decimals: int) -> Any:
    scale, kind = 10.0 ** abs(decimals), x.dtype
    x = converted(x, np.float32) if kind.itemsize == 2 else x  # the scaled number may overflow half precision
    rounded = np.round(x * scale) / scale if decimals > 0 else np.round(x / scale) * scale
    return rounded.astype(kind, copy=False)


def _scaled(x: Any, factor: float) -> Any:
    if x.dtype.kind == "c":
        raise RuntimeError("deg2rad and rad2deg are not supported for complex tensors.")
    return (x * factor).astype(x.dtype, copy=False)  # bfloat16 times a Python number is float32


deg2rad: Op = linear(
    "Deg2RadBackward0", lambda x: _scaled(x, math.pi / 180), x=lambda g: g * (math.pi / 180), batch=SAME
)
rad2deg: Op = linear(
    "Rad2DegBackward0", lambda x: _scaled(x, 180 / math.pi), x=lambda g: g * (180 / math.pi), batch=SAME
)

# --- parts of complex numbers ---

conj_physical: Op = op(
    "ConjPhysicalBackward0",
    np.conj,
    kind="real_linear",
    x=lambda g: np.conj(g),
    batch=ELEMENTWISE,
    samples=arrays((2, 3)),
)


def _angle(x: Any) -> Any:
    if x.dtype.kind == "c":
        return in_order(np.angle(x))
    return np.where(np.isnan(x), x, np.where(x < 0, x.dtype.type(math.pi), x.dtype.type(0)))


def _angle_pullback(g: Any, x: Any) -> Any:
    if kind_of(x) != "c":
        return flat(g)
    square = np.real(x * np.conj(x))
    return np.where(square == 0, 0, g * (1j * x) / np.where(square == 0, 1, square))


angle: Op = op("AngleBackward0", _angle, kind="real_pull", x=_angle_pullback)


def _complex(a: Any, b: Any) -> Any:
    kind = np.complex128 if a.dtype.itemsize == 8 else np.complex64
    out = empty(np.broadcast_shapes(a.shape, b.shape), a, kind)
    out.real, out.imag = a, b
    return out


make_complex: Op = op(
    "ComplexBackward0",
    ordered(_complex, (0, 1)),
    kind="real_linear",
    a=lambda g: np.real(g),
    b=lambda g: np.real(g * -1j),
    batch=ELEMENTWISE,
)
polar: Op = op(
    "PolarBackward0",
    ordered(lambda size, angle: _complex(size * np.cos(angle), size * np.sin(angle)), (0, 1)),
    kind="real_pull",
    size=lambda g, angle: np.real(np.conj(g) * make_complex(np.cos(angle), np.sin(angle))),
    angle=lambda g, out: np.real(np.conj(g) * (out * 1j)),
    copies_before_writes=True,
)

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


def _nan_to_num(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if x.dtype.kind == "V":
        largest = finfo(from_numpy_dtype(x.dtype)).max
        posinf, neginf = largest if posinf is None else posinf, -largest if neginf is None else neginf
        return _nan_to_num(converted(x, np.float32), nan, posinf, neginf).astype(x.dtype)
    return np.nan_to_num(x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


nan_to_num: Op = op(
    "NanToNumBackward0", ordered(_nan_to_num), kind="elementwise_pull", x=lambda g, x: g * np.isfinite(x)
)

# --- kinks ---


def _relu(x: Any) -> Any:
    kind = x.dtype.kind
    if kind in "bc":
        raise RuntimeError(f"{'Boolean' if kind == 'b' else 'Complex'} inputs not supported for relu")
    return np.maximum(0, x)


def _relu_kernel(x: Any) -> Any:
    kind = x.dtype
    if kind is FLOAT32 or kind is FLOAT64:
        return rectifier.positive_part(x, zero_of(x)) if x.size < RECTIFIED_BY_BITS else rectifier.rectified(x)
    if kind.char == "e" and x.size >= RECTIFIED_BY_BITS:
        return rectifier.rectified(x)
    return np.maximum(kind.type(0), x) if kind.kind not in "bc" else NotImplemented


def _relu_pullback(g: Any, out: Any) -> Any:
    """Gradients pass where the result is nan."""
    return drop(out <= 0, g)


def _relu_backward(g: Any, out: Any) -> Any:
    if g.size >= RECTIFIED_BY_BITS and g.shape == out.shape and g.dtype in rectifier.BITS:
        return rectifier.rectified_backward(g, out)
    return drop(out <= zero_of(out), g)


relu: Op = op(
    "ReluBackward0",
    _relu,
    x=straight("ThresholdBackwardBackward0", _relu_pullback, _relu_backward),
    kind="elementwise_pull",
    kernel=kernel(_relu_kernel, x=_relu_backward),
    large="nothing",  # its kernels see to large arrays themselves
    samples=reals(),
)
maximum: Op = op(
    "MaximumBackward0",
    np.maximum,
    kind="elementwise_pull",
    a=lambda g, b, a: _share(g, a < b, a == b),
    b=lambda g, b, a: _share(g, a > b, a == b),
)
minimum: Op = op(
    "MinimumBackward0",
    np.minimum,
    kind="elementwise_pull",
    a=lambda g, b, a: _share(g, a > b, a == b),
    b=lambda g, b, a: _share(g, a < b, a == b),
    samples=arrays((2, 3), (3,)),
)


def _share(g: Any, lost: Any, tied: Any) -> Any:
    """Nothing where the other won, a half where they tie, all elsewhere: where one is NaN, both get it."""
    return drop(lost, choose(tied, g * 0.5, g))


def _clamp(x: Any, minimum: Any, maximum: Any) -> Any:
    if x.size < MAYBE_BLOCKED:
        return _clamp_block(x, minimum, maximum)
    return in_blocks(_clamp_block, x, minimum=minimum, maximum=maximum)


def _clamp_block(x: Any, minimum: Any, maximum: Any) -> Any:
    low, high = number_for(minimum, x), number_for(maximum, x)
    if low is None:
        out = x if high is None else np.minimum(high, x)
    else:
        out = np.maximum(low, x) if high is None else limited(x, low, high)
    return out if x.dtype.kind != "V" else out.astype(x.dtype, copy=False)


def _inside(x: Any, minimum: Any, maximum: Any) -> Any:
    low, high = number_for(minimum, x), number_for(maximum, x)
    if high is None:
        return x >= low
    return x <= high if low is None else (x >= low) & (x <= high)


def _kept_inside(g: Any, x: Any, minimum: Any, maximum: Any) -> Any:
    return keep(_inside(x, minimum, maximum), g)


def _clamp_backward(g: Any, x: Any, minimum: Any, maximum: Any) -> Any:
    if g.size >= MAYBE_BLOCKED:
        return in_blocks(_kept_inside, g, x, minimum=minimum, maximum=maximum)
    return keep(_inside(x, minimum, maximum), g)


def _clamping(node_name: str, minimum: Any, maximum: Any) -> Op:
    return op(
        node_name,
        _clamp_block,
        x=_kept_inside,
        kind="elementwise_pull",
        kernel=kernel(_clamp, x=_clamp_backward),
        samples=reals(minimum=minimum, maximum=maximum),
    )


clamp_scalar: Op = _clamping("ClampBackward1", -0.5, 1.0)
clamp_min_scalar: Op = _clamping("ClampMinBackward0", -0.5, None)
clamp_max_scalar: Op = _clamping("ClampMaxBackward0", None, 1.0)
clamp_min: Op = op(
    "ClampMinBackward1",
    np.maximum,
    kind="elementwise_pull",
    a=lambda g, a, b: keep(a >= b, g),
    b=lambda g, a, b: keep(a < b, g),
    aten="clamp_min.Tensor",
    samples=arrays((2, 3), (3,)),
)
clamp_max: Op = op(
    "ClampMaxBackward1",
    np.minimum,
    kind="elementwise_pull",
    a=lambda g, a, b: keep(a <= b, g),
    b=lambda g, a, b: keep(a > b, g),
    aten="clamp_max.Tensor",
    samples=arrays((2, 3), (3,)),
)
clamp_between: Op = op(
    "ClampBackward0",
    lambda x, low, high: np.minimum(np.maximum(x, low), high),
    kind="elementwise_pull",
    x=lambda g, x, low, high: keep((x >= low) & (x <= high), g),
    low=lambda g, x, low, high: keep((low < high) & (x < low), g),
    high=lambda g, x, low, high: keep((high < low) | (x > high), g),
    aten="clamp.Tensor",
    samples=arrays((2, 3), (3,), (3,)),
)
clamp_below: Op = op(
    "ClampBackward0",
    np.maximum,
    kind="elementwise_pull",
    a=clamp_min.rules["a"],
    b=clamp_min.rules["b"],
    aten="clamp.Tensor",
    samples=arrays((2, 3), (3,)),
)
clamp_above: Op = op(
    "ClampBackward0",
    np.minimum,
    kind="elementwise_pull",
    a=clamp_max.rules["a"],
    b=clamp_max.rules["b"],
    aten="clamp.Tensor",
    samples=arrays((2, 3), (3,)),
)
fmax: Op = op(
    "FmaxBackward0",
    np.fmax,
    kind="elementwise_pull",
    a=lambda g, a, b: keep((a >= b) | np.isnan(b), g),
    b=lambda g, a, b: drop((a >= b) | np.isnan(b), g),
    samples=arrays((2, 3), (3,)),
)
fmin: Op = op(
    "FminBackward0",
    np.fmin,
    kind="elementwise_pull",
    a=lambda g, a, b: keep((a <= b) | np.isnan(b), g),
    b=lambda g, a, b: drop((a <= b) | np.isnan(b), g),
)
where: Op = op(
    "WhereBackward0",
    lambda condition, a, b: (
        np.where(condition, a, b) if condition.size < MASKED_BY_BITS else in_blocks(choose, condition, a, b)
    ),
    kind="elementwise_pull",
    condition=None,
    a=lambda g, condition: keep(condition, g),
    b=lambda g, condition: drop(condition, g),
    aten="where.self",
)

# --- filling: the old value is forgotten ---

fill: Op = op(
    "FillBackward2",
    lambda x, value: full(x.shape, value, x),
    kind="elementwise_pull",
    x=flat,
    aten="fill_.Scalar",
    samples=arrays((2, 3), value=2.0),
)
fill_from: Op = op(
    "FillBackward3",
    lambda x, value: full(x.shape, value, x),
    x=flat,
    value=lambda g: np.sum(g),
    batch=FILLED_WITH,
    aten="fill_.Tensor",
    samples=arrays((2, 3), ()),
)
zero: Op = op(
    "ZeroBackward0",
    lambda x: np.zeros_like(x),
    kind="elementwise_pull",
    x=flat,
    samples=arrays((2, 3)),
)
