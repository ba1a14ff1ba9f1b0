"""Special functions with their derivatives; the values come from `kernels/special.py`.

A derivative is written with the same operations, so it can be differentiated again: the second derivative of erf
is the derivative of exp. Functions torch has no gradient for (Bessel, Airy, polynomials, zeta) have one here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.constants import FLOAT32
from ..core.basics.quiet import quiet
from ..core.op import Op, conjugate, elementwise, op
from ..kernels import special as kernels
from ..kernels.thresholds import LOGARITHMS_AT_ONCE
from .fusing import drop, zero_of
from .samples import arrays
from .special_orders import lower_gamma_by_shape, zeta_by_exponent
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_ROOT_TWO = math.sqrt(2)

# --- error function and normal distribution ---

erf: Op = elementwise("ErfBackward0", kernels.erf, x=lambda x: _TWO_OVER_ROOT_PI * np.exp(-x * x))
erfc: Op = elementwise("ErfcBackward0", kernels.erfc, x=lambda x: -_TWO_OVER_ROOT_PI * np.exp(-x * x))
erfcx: Op = elementwise("SpecialErfcxBackward0", kernels.erfcx, x=lambda x, out: 2 * x * out - _TWO_OVER_ROOT_PI)
erfinv: Op = elementwise("ErfinvBackward0", kernels.erfinv, x=lambda x: np.exp(erfinv(x) ** 2) / _TWO_OVER_ROOT_PI)
ndtr: Op = elementwise(
    "MulBackward1",
    kernels.ndtr,
    x=lambda x: np.exp(-0.5 * x * x) / _ROOT_TWO_PI,
    copies_before_writes=True,
    aten="mul.Scalar",
)
ndtri: Op = elementwise("SpecialNdtriBackward0", kernels.ndtri, x=lambda out: _ROOT_TWO_PI * np.exp(0.5 * out * out))
# exp(-x^2/2) / ndtr(x) without the quotient of two vanishing numbers in the left tail.
_normal_hazard: Op = elementwise(
    "SpecialLogNdtrBackward0",
    lambda x: ((_TWO_OVER_ROOT_PI / _ROOT_TWO) / kernels.erfcx(x / -_ROOT_TWO)).astype(x.dtype, copy=False),
    x=lambda x, out: -out * (x + out),
)
log_ndtr: Op = elementwise("SpecialLogNdtrBackward0", kernels.log_ndtr, x=lambda x: _normal_hazard(x))

# --- gamma function and relatives ---

polygamma: Op = elementwise(
    "PolygammaBackward0", lambda x, n: kernels.polygamma(n, x), x=lambda x, n: polygamma(x, n=n + 1)
)
digamma: Op = elementwise("DigammaBackward0", kernels.digamma, x=lambda x: polygamma(x, n=1))
lgamma: Op = elementwise("LgammaBackward0", kernels.lgamma, x=lambda x: digamma(x))


def _multigamma_partial(x: Array, p: int) -> Array:
    total = digamma(x)
    for i in range(1, p):
        total = total + digamma(x - 0.5 * i)
    return total


multigammaln: Op = elementwise(
    "MvlgammaBackward0", lambda x, p: in_order(kernels.multigammaln(x, p)), x=_multigamma_partial
)


def _gamma_density(a: Array, x: Array) -> Array:
    return np.exp((a - 1) * np.log(x) - x - lgamma(a))


igamma: Op = op(
    "IgammaBackward0",
    kernels.gammainc,
    kind="elementwise_pull",
    a=lambda g, a, x: g * lower_gamma_by_shape(a, x),
    x=lambda g, a, x: g * _gamma_density(a, x),
    samples=arrays((3,), (3,), between=(0.5, 2)),
)
igammac: Op = op(
    "IgammacBackward0",
    kernels.gammaincc,
    kind="elementwise_pull",
    a=lambda g, a, x: -g * lower_gamma_by_shape(a, x),
    x=lambda g, a, x: -g * _gamma_density(a, x),
    samples=arrays((3,), (3,), between=(0.5, 2)),
)
zeta: Op = op(
    "SpecialZetaBackward0",
    kernels.zeta,
    kind="elementwise_pull",
    x=lambda g, x, q: g * zeta_by_exponent(x, q),
    q=lambda g, x, q: g * -x * zeta(x + 1, q),
    aten="special_zeta.other_scalar",
    samples=arrays((3,), (3,), between=(1.2, 3)),
)
zeta_of_number: Op = op(
    "SpecialZetaBackward1",
    lambda q, x: kernels.zeta(np.asarray(x, q.dtype), q),
    kind="elementwise_pull",
    q=lambda g, q, x: g * -x * zeta_of_number(q, x=x + 1),
    aten="special_zeta.self_scalar",
    samples=arrays((3,), between=(0.5, 2), x=2.5),
)

# --- modified Bessel functions: derivatives are combinations of neighbours ---


def _ratio(top: Array, bottom: Array, limit: Any) -> Array:
    """top / bottom, and its known limit where `bottom` is zero."""
    return np.where(bottom == 0, limit, top / np.where(bottom == 0, 1, bottom))


_BESSEL = {1: (kernels.i0, kernels.i1), -1: (kernels.bessel_j0, kernels.bessel_j1)}


def _bessel_quotient(x: Array, order: int, sign: int) -> Array:
    """I_k(x) / x**k (sign 1) or J_k(x) / x**k (sign -1): by the power series near 0, elsewhere from the two orders below."""
    wide = x.astype(np.float64)
    near = np.abs(wide) < 2 * order + 2
    small, large = np.where(near, wide, 0), np.where(near, 2 * order + 2, wide)
    term = np.full_like(wide, 0.5**order / math.factorial(order))
    series = term
    for m in range(1, 3 * order + 20):
        term = term * (sign * small * small / (4 * m * (m + order)))
        series = series + term
    first, second = (kernel(large) for kernel in _BESSEL[sign])
    lower, quotient = first, second / large
    for k in range(1, order):
        lower, quotient = quotient, sign * (lower - 2 * k * quotient) / (large * large)
    return np.where(near, series, quotient).astype(x.dtype)


bessel_quotient: Op = elementwise(
    "SpecialI1Backward0",
    quiet(_bessel_quotient),
    x=lambda x, order, sign: sign * x * bessel_quotient(x, order=order + 1, sign=sign),
)
i0: Op = elementwise("I0Backward0", kernels.i0, x=lambda x: i1(x))


def _i1_slope(x: Any, out: Any) -> Any:
    small = np.abs(x) < 0.05  # there the series, as quotients of small numbers lose digits in later derivatives
    return i0(x) - np.where(small, bessel_quotient(x, order=1, sign=1), out / np.where(small, 1, x))


i1: Op = elementwise("SpecialI1Backward0", kernels.i1, x=_i1_slope)
i0e: Op = elementwise("SpecialI0EBackward0", kernels.i0e, x=lambda x, out: i1e(x) - np.sign(x) * out)
i1e: Op = elementwise(
    "SpecialI1EBackward0", kernels.i1e, x=lambda x, out: i0e(x) - np.sign(x) * out - _ratio(out, x, 0.5)
)
modified_bessel_i0: Op = elementwise(
    "ModifiedBesselI0Backward0",
    kernels.i0,
    x=lambda x: i1(x),
    samples=arrays((3,)),
)
modified_bessel_i1: Op = elementwise(
    "ModifiedBesselI1Backward0",
    kernels.i1,
    x=lambda x: i0(x) - bessel_quotient(x, order=1, sign=1),
    samples=arrays((3,)),
)
k0: Op = elementwise("ModifiedBesselK0Backward0", kernels.k0, x=lambda x: -k1(x))
k1: Op = elementwise("ModifiedBesselK1Backward0", kernels.k1, x=lambda x, out: -k0(x) - out / x)
k0e: Op = elementwise(
    "ScaledModifiedBesselK0Backward0",
    kernels.k0e,
    x=lambda x, out: out - k1e(x),
    samples=arrays((3,), between=(0.5, 2)),
)
k1e: Op = elementwise(
    "ScaledModifiedBesselK1Backward0",
    kernels.k1e,
    x=lambda x, out: out - k0e(x) - out / x,
    samples=arrays((3,), between=(0.5, 2)),
)

# --- Bessel functions of the first and second kind ---

bessel_j0: Op = elementwise("BesselJ0Backward0", kernels.bessel_j0, x=lambda x: -bessel_j1(x))
bessel_j1: Op = elementwise(
    "BesselJ1Backward0", kernels.bessel_j1, x=lambda x: bessel_j0(x) - bessel_quotient(x, order=1, sign=-1)
)
bessel_y0: Op = elementwise("BesselY0Backward0", kernels.bessel_y0, x=lambda x: -bessel_y1(x))
bessel_y1: Op = elementwise("BesselY1Backward0", kernels.bessel_y1, x=lambda x, out: bessel_y0(x) - out / x)


def _sine_quotient(x: Array, order: int) -> Array:
    """The derivative of this order of sin(x) / x: by its power series near 0, elsewhere from the order below."""
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    near = np.abs(wide) < order + 1
    small, large = np.where(near, wide, 0), np.where(near, order + 1, wide)
    series = np.zeros_like(wide)
    for k in range((order + 1) // 2, order + 20):
        power = 2 * k - order
        series += (-1) ** k / (math.factorial(power) * (2 * k + 1)) * small**power
    sine, cosine = np.sin(large), np.cos(large)
    quotient = sine / large
    for n in range(1, order + 1):
        quotient = ((sine, cosine, -sine, -cosine)[n % 4] - n * quotient) / large
    return np.where(near, series, quotient).astype(x.dtype)


sine_quotient: Op = elementwise(
    "SincBackward0", quiet(_sine_quotient), x=lambda x, order: sine_quotient(x, order=order + 1)
)
spherical_bessel_j0: Op = elementwise(
    "SphericalBesselJ0Backward0",
    kernels.spherical_bessel_j0,
    x=lambda x: sine_quotient(x, order=1),
    samples=arrays((3,), between=(0.5, 2)),
)

# --- elementary ones ---


def _sinc(x: Array) -> Array:
    return np.sinc(x) if x.dtype.kind == "c" else kernels.sinc(x)


sinc: Op = elementwise("SincBackward0", _sinc, x=lambda x: math.pi * sine_quotient(math.pi * x, order=1))
entr: Op = elementwise("SpecialEntrBackward0", kernels.entr, x=lambda x: np.where(x < 0, math.nan, -np.log(x) - 1))


def _logit_pullback(g: Array, x: Array, eps: float | None) -> Array:
    low, high = (0.0, 1.0) if eps is None else (eps, 1.0 - eps)
    inside = (x >= low) & (x <= high)
    return np.where(inside, g / (x * (1 - x)), math.nan if eps is None else 0)


logit: Op = op("LogitBackward0", lambda x, eps: kernels.logit(x, eps), kind="elementwise_pull", x=_logit_pullback)


def _xlogy(x: Array, y: Array) -> Array:
    kind = x.dtype
    if kind.kind == "c" or y.dtype.kind == "c":
        return np.where((x == 0) & ~np.isnan(y), 0, x * np.log(y))
    return (
        _few_xlogy(x, y)
        if x.size <= LOGARITHMS_AT_ONCE and x.shape == y.shape and kind is y.dtype is FLOAT32
        else kernels.xlogy(x, y)
    )


@quiet
def _few_xlogy(x: Array, y: Array) -> Array:
    return drop((x == zero_of(x)) & ~np.isnan(y), x * np.log(y))


xlogy: Op = op(
    "XlogyBackward0",
    _xlogy,
    kind="elementwise_pull",
    x=lambda g, x, y: np.where((x == 0) & (np.real(y) <= 0), 0, xlogy(g, conjugate(y))),
    y=lambda g, x, y: g * conjugate(x / y),
    aten="xlogy.Tensor",
)
xlog1py: Op = op(
    "SpecialXlog1PyBackward0",
    kernels.xlog1py,
    kind="elementwise_pull",
    x=lambda g, x, y: np.where((x == 0) & (y <= -1), 0, xlog1py(g, y)),
    y=lambda g, x, y: g * x / (y + 1),
)

# --- Airy, and orthogonal polynomials by their order n (an integer array) ---


def _airy_ai_partial(x: Array) -> Array:
    """Ai' through modified Bessel functions is singular at 0, so it is an operation of its own."""
    return airy_ai_derivative(x)


def _airy_derivative(x: Array) -> Array:
    """Ai'(x) by a central difference of order eight in float64: Ai is entire and evaluated to full precision."""
    wide = x.astype(np.float64)
    step = 0.0625 / np.maximum(1.0, np.sqrt(np.abs(wide)))
    total = 0 * wide
    for offset, weight in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280)):
        total = total + weight * (kernels.airy_ai(wide + offset * step) - kernels.airy_ai(wide - offset * step))
    return (total / step).astype(x.dtype)


airy_ai: Op = elementwise(
    "AiryAiBackward0",
    kernels.airy_ai,
    x=_airy_ai_partial,
    samples=arrays((3,)),
)
airy_ai_derivative: Op = elementwise(
    "AiryAiBackward0",
    _airy_derivative,
    x=lambda x: x * airy_ai(x),
    samples=arrays((3,)),
)


def _polynomial(node_name: str, kernel: Callable[..., Any], derivative: Callable[..., Any]) -> Op:
    return op(
        node_name,
        kernel,
        kind="elementwise_pull",
        x=lambda g, x, n: g * derivative(x, np.maximum(n, 0)),
        n=None,
        samples=lambda draw: [((draw(3, low=0.1, high=0.9), np.array([4, 1, 0])), {})],
    )


recurrence_slope: Op = op(
    "ChebyshevPolynomialUBackward0",
    kernels.recurrence_slope,
    kind="elementwise_pull",
    x=lambda g, x, n, kind, times: g * recurrence_slope(x, n, kind=kind, times=times + 1),
    n=None,
    samples=lambda draw: [((draw(3), np.array(4)), {"kind": "u", "times": 1})],
)


def _by_recurrence(node_name: str, kernel: Callable[..., Any], kind: str) -> Op:
    """Formulas in the polynomials themselves divide by what is 0 where the domain ends."""
    return _polynomial(node_name, kernel, lambda x, n: recurrence_slope(x, n, kind=kind, times=1))


def _lower(n: int) -> Array:
    return np.where(n >= 1, n - 1, 0)


chebyshev_polynomial_t: Op = _polynomial(
    "ChebyshevPolynomialTBackward0",
    kernels.chebyshev_polynomial_t,
    lambda x, n: n * chebyshev_polynomial_u(x, _lower(n)),
)
hermite_polynomial_h: Op = _polynomial(
    "HermitePolynomialHBackward0", kernels.hermite_polynomial_h, lambda x, n: 2 * n * hermite_polynomial_h(x, _lower(n))
)
hermite_polynomial_he: Op = _polynomial(
    "HermitePolynomialHeBackward0", kernels.hermite_polynomial_he, lambda x, n: n * hermite_polynomial_he(x, _lower(n))
)


chebyshev_polynomial_u: Op = _by_recurrence("ChebyshevPolynomialUBackward0", kernels.chebyshev_polynomial_u, "u")
chebyshev_polynomial_v: Op = _by_recurrence("ChebyshevPolynomialVBackward0", kernels.chebyshev_polynomial_v, "v")
chebyshev_polynomial_w: Op = _by_recurrence("ChebyshevPolynomialWBackward0", kernels.chebyshev_polynomial_w, "w")
laguerre_polynomial_l: Op = _by_recurrence("LaguerrePolynomialLBackward0", kernels.laguerre_polynomial_l, "l")
legendre_polynomial_p: Op = _by_recurrence("LegendrePolynomialPBackward0", kernels.legendre_polynomial_p, "p")


def _shifted(node_name: str, kernel: Callable[..., Any], plain: Op) -> Op:
    rule = plain.rules["x"]
    assert rule is not None
    return _polynomial(node_name, kernel, lambda x, n: 2 * rule(1, 2 * x - 1, n))


shifted_chebyshev_polynomial_t: Op = _shifted(
    "ShiftedChebyshevPolynomialTBackward0", kernels.shifted_chebyshev_polynomial_t, chebyshev_polynomial_t
)
shifted_chebyshev_polynomial_u: Op = _shifted(
    "ShiftedChebyshevPolynomialUBackward0", kernels.shifted_chebyshev_polynomial_u, chebyshev_polynomial_u
)
shifted_chebyshev_polynomial_v: Op = _shifted(
    "ShiftedChebyshevPolynomialVBackward0", kernels.shifted_chebyshev_polynomial_v, chebyshev_polynomial_v
)
shifted_chebyshev_polynomial_w: Op = _shifted(
    "ShiftedChebyshevPolynomialWBackward0", kernels.shifted_chebyshev_polynomial_w, chebyshev_polynomial_w
)
