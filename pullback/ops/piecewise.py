"""Functions of straight pieces: signs, rounding, relu, the larger of two, clamping, `where`, filling.

Between their kinks and steps the derivative is constant, so second derivatives are zero; but they are there, as in torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.constants import FLOAT32, FLOAT64
from ..core.basics.dtypes import finfo, from_numpy_dtype, kind_of
from ..core.kernel import kernel, rule_names
from ..core.op import Op, elementwise, op
from ..kernels import rectifier
from ..kernels.like import copy, full
from ..kernels.order import converted, ordered
from ..kernels.thresholds import MASKED_BY_BITS, MAYBE_BLOCKED, RECTIFIED_BY_BITS
from .fusing import choose, drop, in_blocks, keep, limited, number_for, zero_of
from .layouts import FILLED_WITH
from .samples import arrays, reals

if TYPE_CHECKING:
    from ..core.basics.types import Number
    from ..core.basics.types import NumPyArray as Array

# --- signs, rounding: derivative zero almost everywhere ---


def zero_gradient(g: Array) -> Array:
    """The rule of a function that is constant around each point: zeros, even where the cotangent is infinite."""
    return np.where(np.False_, g, 0)


def piecewise_rule(
    node_name: str,
    pullback: Callable[..., Any],
    fast: Callable[..., Any] | None = None,
    aten: str | None = None,
    **others: Any,
) -> Callable[..., Any]:
    """Make an operation of `pullback(g, x, ...)`, with `fast` as its kernel, and return a rule that calls it.

    In recorded passes it is a node, as in torch, whose derivative by x is zero. `others` are the rules for inputs after x
    that can have a gradient.
    """
    names = rule_names(pullback)
    arrays, params = names[: 1 + len(others)], names[1 + len(others) :]

    def rule(g: Array, *values: Array) -> Array:
        return pulled(g, *values[: len(arrays)], **dict(zip(params, values[len(arrays) :], strict=True)))

    rule.names = names  # type: ignore[attr-defined]
    rules: dict[str, Any] = {"g": rule, names[0]: zero_gradient, **others}
    quick = None if fast is None else kernel(fast)
    pulled: Op = op(node_name, pullback, kind="elementwise_pull", kernel=quick, aten=aten, **rules)
    return rule


def _abs_pullback(g: Array, x: Array) -> Array:
    return g * sign(x) if kind_of(x) != "c" else g * sgn(x)


absolute: Op = op("AbsBackward0", np.abs, kind="real_pull", x=_abs_pullback)


def _sign(x: Array) -> Array:
    if x.dtype.kind == "c":
        raise RuntimeError("Unlike NumPy, torch.sign doesn't allow complex input. Use torch.sgn() instead.")
    if x.dtype.kind in "fV":  # NaN has no sign: torch says 0
        work = x.dtype if x.dtype.kind == "f" else np.float32
        return np.subtract(x > 0, x < 0, dtype=work).astype(x.dtype, copy=False)
    return copy(x) if x.dtype.kind == "b" else np.sign(x)


sign: Op = op("SignBackward0", _sign, kind="elementwise_pull", x=zero_gradient)


def _sgn(x: Array) -> Array:
    if x.dtype.kind != "c":
        return _sign(x)
    size = np.abs(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size)).astype(x.dtype)


def _sgn_pullback(g: Array, x: Array) -> Array:
    if kind_of(x) != "c":
        return zero_gradient(g)
    size = np.abs(x)
    safe = np.where(size == 0, 1, size)
    unit = x / safe
    return np.where(size == 0, 0, (g - np.real(np.conj(unit) * g) * unit) / safe)


sgn: Op = op("SgnBackward0", _sgn, kind="real_pull", x=_sgn_pullback)
ceil: Op = op(
    "CeilBackward0",
    np.ceil,
    kind="elementwise_pull",
    x=zero_gradient,
    samples=arrays((2, 3)),
)
floor: Op = op("FloorBackward0", np.floor, kind="elementwise_pull", x=zero_gradient)
round_: Op = op(
    "RoundBackward0",
    np.round,
    inputs=("x",),
    kind="elementwise_pull",
    x=zero_gradient,
    samples=arrays((2, 3)),
)
round_to: Op = op(
    "RoundBackward1",
    lambda x, decimals: _round_to(x, decimals),
    kind="elementwise_pull",
    x=zero_gradient,
    aten="round.decimals",
    samples=arrays((2, 3), decimals=1),
)
trunc: Op = op(
    "TruncBackward0",
    np.trunc,
    kind="elementwise_pull",
    x=zero_gradient,
    samples=arrays((2, 3)),
)
frac: Op = elementwise("FracBackward0", lambda x: x - np.trunc(x), x=lambda: 1)


def _round_to(x: Array, decimals: int) -> Array:
    scale, kind = 10.0 ** abs(decimals), x.dtype
    x = converted(x, np.float32) if kind.itemsize == 2 else x  # the scaled number may overflow half precision
    rounded = np.round(x * scale) / scale if decimals > 0 else np.round(x / scale) * scale
    return rounded.astype(kind, copy=False)


def _nan_to_num(x: Array, nan: float | None, posinf: float | None, neginf: float | None) -> Array:
    if x.dtype.kind == "V":
        largest = finfo(from_numpy_dtype(x.dtype)).max
        posinf, neginf = largest if posinf is None else posinf, -largest if neginf is None else neginf
        return _nan_to_num(converted(x, np.float32), nan, posinf, neginf).astype(x.dtype)
    return np.nan_to_num(x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


nan_to_num: Op = op(
    "NanToNumBackward0", ordered(_nan_to_num), kind="elementwise_pull", x=lambda g, x: g * np.isfinite(x)
)

# --- kinks ---


def _relu(x: Array) -> Array:
    kind = x.dtype.kind
    if kind in "bc":
        raise RuntimeError(f"{'Boolean' if kind == 'b' else 'Complex'} inputs not supported for relu")
    return np.maximum(0, x)


def _relu_kernel(x: Array) -> Array:
    kind = x.dtype
    if kind is FLOAT32 or kind is FLOAT64:
        return rectifier.positive_part(x, zero_of(x)) if x.size < RECTIFIED_BY_BITS else rectifier.rectified(x)
    if kind.char == "e" and x.size >= RECTIFIED_BY_BITS:
        return rectifier.rectified(x)
    return np.maximum(kind.type(0), x) if kind.kind not in "bc" else NotImplemented


def _relu_pullback(g: Array, out: Array) -> Array:
    """Gradients pass where the result is nan."""
    return drop(out <= 0, g)


def _relu_backward(g: Array, out: Array) -> Array:
    if g.size >= RECTIFIED_BY_BITS and g.shape == out.shape and g.dtype in rectifier.BITS:
        return rectifier.rectified_backward(g, out)
    return drop(out <= zero_of(out), g)


relu: Op = op(
    "ReluBackward0",
    _relu,
    x=piecewise_rule("ThresholdBackwardBackward0", _relu_pullback, _relu_backward),
    kind="elementwise_pull",
    kernel=kernel(_relu_kernel, x=_relu_backward),
    large="nothing",  # its kernels see to large arrays themselves
    samples=reals(),
)
maximum: Op = op(
    "MaximumBackward0",
    np.maximum,
    kind="elementwise_pull",
    a=lambda g, b, a: _share_of_winner(g, a < b, a == b),
    b=lambda g, b, a: _share_of_winner(g, a > b, a == b),
)
minimum: Op = op(
    "MinimumBackward0",
    np.minimum,
    kind="elementwise_pull",
    a=lambda g, b, a: _share_of_winner(g, a > b, a == b),
    b=lambda g, b, a: _share_of_winner(g, a < b, a == b),
    samples=arrays((2, 3), (3,)),
)


def _share_of_winner(g: Array, lost: Array, tied: Array) -> Array:
    """Nothing where the other won, a half where they tie, all elsewhere: where one is NaN, both get it."""
    return drop(lost, choose(tied, g * 0.5, g))


def _clamp(x: Array, minimum: Number | None, maximum: Number | None) -> Array:
    if x.size < MAYBE_BLOCKED:
        return _clamp_block(x, minimum, maximum)
    return in_blocks(_clamp_block, x, minimum=minimum, maximum=maximum)


def _clamp_block(x: Array, minimum: Number | None, maximum: Number | None) -> Array:
    low, high = number_for(minimum, x), number_for(maximum, x)
    if low is None:
        out = x if high is None else np.minimum(high, x)
    else:
        out = np.maximum(low, x) if high is None else limited(x, low, high)
    return out if x.dtype.kind != "V" else out.astype(x.dtype, copy=False)


def _inside(x: Array, minimum: Number | None, maximum: Number | None) -> Array:
    low, high = number_for(minimum, x), number_for(maximum, x)
    if high is None:
        return x >= low
    return x <= high if low is None else (x >= low) & (x <= high)


def _kept_inside(g: Array, x: Array, minimum: Number | None, maximum: Number | None) -> Array:
    return keep(_inside(x, minimum, maximum), g)


def _clamp_backward(g: Array, x: Array, minimum: Number | None, maximum: Number | None) -> Array:
    if g.size >= MAYBE_BLOCKED:
        return in_blocks(_kept_inside, g, x, minimum=minimum, maximum=maximum)
    return keep(_inside(x, minimum, maximum), g)


def _clamping(node_name: str, minimum: Number | None, maximum: Number | None) -> Op:
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
    x=zero_gradient,
    aten="fill_.Scalar",
    samples=arrays((2, 3), value=2.0),
)
fill_from: Op = op(
    "FillBackward3",
    lambda x, value: full(x.shape, value, x),
    x=zero_gradient,
    value=lambda g: np.sum(g),
    batch=FILLED_WITH,
    aten="fill_.Tensor",
    samples=arrays((2, 3), ()),
)
zero: Op = op(
    "ZeroBackward0",
    lambda x: np.zeros_like(x),
    kind="elementwise_pull",
    x=zero_gradient,
    samples=arrays((2, 3)),
)
