"""The gamma family: lgamma, digamma, trigamma, polygamma, the multivariate lgamma and the Hurwitz zeta function.

Positive arguments are cut into a few intervals; on each, what is left after taking out the singular part, the zero
or the leading asymptotic term is a rational function whose table was interpolated at Chebyshev nodes in 50-digit
arithmetic. Negative arguments go through the reflection formulas. The regularised incomplete gamma functions live in
``incomplete_gamma``.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from pullback.kernels.blocks import Coefficients, Kernel, by_region, horner, rational, run

# lgamma(x) / (x - 1) on [1/2, 3/2], in x - 1/2.
_LGAMMA_ONE = (
    (
        -1.1447298858494002, -6.389684713169108, -12.65209117372217, -9.299357712811084, 1.052530246084468,
        4.73854534539211, 2.0992840203276835, 0.29883287667897995, 0.009833989295645303,
    ),
    (
        1.0, 7.012348583488641, 19.63393576418803, 28.044240715056397, 21.671923979633803, 8.870227218345343,
        1.7511252632632948, 0.1346287570686646, 0.002296013403961344,
    ),
)  # fmt: skip
# lgamma(x) / (x - 2) on [3/2, 3], in x - 2.
_LGAMMA_TWO = (
    (
        0.42278433509846713, 0.9363190038801358, 0.7356943522888568, 0.26297642691710865, 0.04374135902006534,
        0.0029785441178616667, 5.3928584197069066e-05,
    ),
    (
        1.0, 1.4519269506829182, 0.7920068200465161, 0.20055177741428276, 0.023456935064698727,
        0.0010755108980922432, 1.1408803600849272e-05,
    ),
)  # fmt: skip
# lgamma(x) on [3, 8], in x - 3.
_LGAMMA_MIDDLE = (
    (
        0.6931471805599453, 1.6055273951747298, 1.36444984146796, 0.5594461436851624, 0.12014737194353346,
        0.013489648407758043, 0.0007348237099318046, 1.6118348860330076e-05, 8.788636116561071e-08,
    ),
    (
        1.0, 0.9849900269733797, 0.3722866487260895, 0.067934247159585, 0.006187225658091405,
        0.000262494229054563, 4.242609475296525e-06, 1.499021419294003e-08,
    ),
)  # fmt: skip
# x * (lgamma(x) - Stirling's leading terms) for x >= 8, in 1 / x^2.
STIRLING: Coefficients = (
    0.08333333333333333, -0.002777777777773988, 0.0007936507897524059, -0.0005952365845057049,
    0.0008414700852503147, -0.001890382993887715, 0.005065905360156132,
)  # fmt: skip

# The positive zero of digamma, as a sum of two doubles, and digamma(x) / (x - zero) on [1, 3], in x - 1.
_DIGAMMA_ZERO = (1.4616321449683622, 9.549995429965697e-17)
_DIGAMMA_NEAR = (
    (
        1.2503801375034054, 1.8387753795509882, 0.9331740790032944, 0.2003826798290935, 0.017517142327802167,
        0.0004707235506849432, 7.74186591037906e-07,
    ),
    (
        1.0, 2.1541199027127322, 1.6169624939335345, 0.5406544759322229, 0.08296742574249387,
        0.005251210319945628, 9.569103272025694e-05,
    ),
)  # fmt: skip
# x * (digamma(x) - log(x)) for x >= 3, in 1 / x.
_DIGAMMA_FAR = (
    (
        -0.5, -1.691133258935897, -4.217340606952994, -5.3913297420741575, -4.569098942205074, -2.0353969149762676,
        -0.4169463515891874, -0.003628077014712712,
    ),
    (
        1.0, 3.215599851205138, 7.898747905369573, 9.48286816676307, 7.611313180067731, 2.9259511127089053,
        0.4787581786731149,
    ),
)  # fmt: skip
# trigamma(x) on [1, 4], in x - 1, and x * trigamma(x) for x >= 4, in 1 / x.
_TRIGAMMA_NEAR = (
    (
        1.6449340668482264, 4.567657928339148, 5.397398899960935, 3.452745880779763, 1.2604248760378165,
        0.24958353971927044, 0.02104692908703695, -1.7390282789000287e-11,
    ),
    (
        1.0, 4.238328985438664, 7.501731939984092, 7.218373471450633, 4.102880808752147, 1.3869704549738564,
        0.26010701369193445, 0.02104692850120883,
    ),
)  # fmt: skip
_TRIGAMMA_FAR = (
    (
        1.0, 2.004285542060695, 5.180449371476318, 4.925136445342968, 4.151457903871727, 1.68349787692333,
        0.381649451515792,
    ),
    (
        1.0, 1.5042855420606969, 4.261639933778678, 2.5436022215188245, 2.2027167995669505, 0.2083487869831267,
        0.028597124909995088,
    ),
)  # fmt: skip

# Euler-Maclaurin summation: terms summed one by one, then B(2j) / (2j)! for the correction.
_DIRECT_TERMS = 10
_BERNOULLI_OVER_FACTORIAL = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000, 43867 / 5109094217170944000, -174611 / 802857662698291200000,
    77683 / 14101100039391805440000, -236364091 / 1693824136731743669452800000,
)  # fmt: skip


def _pole_distance(x: np.ndarray) -> np.ndarray:
    """Exact signed distance to the nearest integer, so that ``sin(pi * x)`` keeps its accuracy for any x."""
    return x - np.rint(x)


def _lgamma_small(x: np.ndarray) -> np.ndarray:
    return x * rational(*_LGAMMA_ONE, x + 0.5) - np.log(x)


def _lgamma_one(x: np.ndarray) -> np.ndarray:
    # Adding zero makes the zero at 1 a positive one.
    return (x - 1.0) * rational(*_LGAMMA_ONE, x - 0.5) + 0.0


def _lgamma_two(x: np.ndarray) -> np.ndarray:
    offset = x - 2.0
    return offset * rational(*_LGAMMA_TWO, offset)


def _lgamma_middle(x: np.ndarray) -> np.ndarray:
    return rational(*_LGAMMA_MIDDLE, x - 3.0)


def _lgamma_large(x: np.ndarray) -> np.ndarray:
    inverse = 1.0 / x
    result = np.log(x)
    result -= 1.0
    result *= x - 0.5
    result += horner(STIRLING, inverse * inverse) * inverse
    result += 0.5 * math.log(2.0 * math.pi) - 0.5
    return result


def lgamma_positive(x: np.ndarray) -> np.ndarray:
    """``log(gamma(x))`` for a float64 block of non-negative numbers."""
    functions = (_lgamma_small, _lgamma_one, _lgamma_two, _lgamma_middle, _lgamma_large)
    return by_region(x, (0.5, 1.5, 3.0, 8.0), functions)


def _lgamma_negative(x: np.ndarray) -> np.ndarray:
    distance = _pole_distance(x)
    result = np.log(math.pi / np.abs(np.sin(math.pi * distance))) - lgamma_positive(1.0 - x)
    result[(distance == 0) | np.isinf(x)] = np.inf
    return result


def _lgamma(x: np.ndarray) -> np.ndarray:
    return by_region(x, (0.0,), (_lgamma_negative, lgamma_positive))


def _lgamma_of_float(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


def _digamma_near(x: np.ndarray) -> np.ndarray:
    distance = x - _DIGAMMA_ZERO[0]
    distance -= _DIGAMMA_ZERO[1]
    return distance * rational(*_DIGAMMA_NEAR, x - 1.0)


def _digamma_small(x: np.ndarray) -> np.ndarray:
    return (1.0 - _DIGAMMA_ZERO[0] + x) * rational(*_DIGAMMA_NEAR, x) - 1.0 / x


def _digamma_far(x: np.ndarray) -> np.ndarray:
    inverse = 1.0 / x
    return np.log(x) + inverse * rational(*_DIGAMMA_FAR, inverse)


def _digamma_positive(x: np.ndarray) -> np.ndarray:
    return by_region(x, (1.0, 3.0), (_digamma_small, _digamma_near, _digamma_far))


def _digamma_negative(x: np.ndarray) -> np.ndarray:
    distance = _pole_distance(x)
    result = _digamma_positive(1.0 - x) - math.pi / np.tan(math.pi * distance)
    result[distance == 0] = np.nan
    return result


def _digamma(x: np.ndarray) -> np.ndarray:
    result = by_region(x, (0.0,), (_digamma_negative, _digamma_positive))
    zero = x == 0
    if zero.any():
        result[zero] = np.copysign(np.inf, -x[zero])
    return result


def _trigamma_small(x: np.ndarray) -> np.ndarray:
    return rational(*_TRIGAMMA_NEAR, x) + 1.0 / (x * x)


def _trigamma_near(x: np.ndarray) -> np.ndarray:
    return rational(*_TRIGAMMA_NEAR, x - 1.0)


def _trigamma_far(x: np.ndarray) -> np.ndarray:
    inverse = 1.0 / x
    return inverse * rational(*_TRIGAMMA_FAR, inverse)


def _trigamma_positive(x: np.ndarray) -> np.ndarray:
    return by_region(x, (1.0, 4.0), (_trigamma_small, _trigamma_near, _trigamma_far))


def _trigamma_negative(x: np.ndarray) -> np.ndarray:
    cosecant = math.pi / np.sin(math.pi * _pole_distance(x))
    return cosecant * cosecant - _trigamma_positive(1.0 - x)


def _trigamma(x: np.ndarray) -> np.ndarray:
    return by_region(x, (0.0,), (_trigamma_negative, _trigamma_positive))


_LARGEST_EXPONENT = 2.5e13  # its 23rd power is the last that is finite


def _zeta_positive(s: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Hurwitz zeta by Euler-Maclaurin summation, for s > 1 and q >= 0."""
    result = np.power(q, -s)
    for step in range(1, _DIRECT_TERMS):
        term = np.power(q + step, -s)
        result += term
    settled = np.where((result > 0) & (term < 1e-17 * result), result, np.nan)
    start = q + _DIRECT_TERMS
    power = np.power(start, 1.0 - s)
    result += power / (s - 1.0)
    power /= start
    result += 0.5 * power
    factor = s * power / start
    inverse_square = 1.0 / (start * start)
    for index, coefficient in enumerate(_BERNOULLI_OVER_FACTORIAL):
        result += coefficient * factor
        order = 2.0 * index + 1.0
        factor *= (s + order) * (s + (order + 1.0))
        factor *= inverse_square
    return np.where(np.isnan(settled), result, settled)


def _zeta_negative(s: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Hurwitz zeta for q < 0, which only integer s make real.

    The terms with a negative base are, up to sign, a finite stretch of the same sum: a difference of two zetas.
    """
    count = np.ceil(-q)
    smallest = -q - (count - 1.0)
    finite = _zeta_positive(s, smallest) - _zeta_positive(s, 1.0 - q)
    result = _zeta_positive(s, q + count) + np.where(s % 2 == 0, finite, -finite)
    result[np.isinf(s) & (q < 0)] = np.inf
    result[s != np.floor(s)] = np.nan
    result[q == np.floor(q)] = np.inf
    return result


def _zeta_regular(s: np.ndarray, q: np.ndarray) -> np.ndarray:
    result = _zeta_positive(s, q)
    result[(result == 0) & (s > _LARGEST_EXPONENT)] = np.nan  # as torch, whose correction terms overflow
    endless = np.isinf(s)
    if endless.any():
        result[endless] = np.where(q == 1, 1.0, np.where(q < 1, np.inf, np.nan))[endless]
    result[np.isinf(q)] = np.nan
    result[q == 0] = np.inf
    return result


def _zeta(s: np.ndarray, q: np.ndarray) -> np.ndarray:
    result = by_region(q, (0.0,), (_zeta_negative, _zeta_regular), s, q)
    result[s < 1] = np.nan
    result[s == 1] = np.inf
    return result


lgamma: Kernel = partial(run, _lgamma, scalar=_lgamma_of_float)
"""Logarithm of the absolute value of the gamma function; infinite at its poles."""
digamma: Kernel = partial(run, _digamma)
"""Logarithmic derivative of the gamma function; nan at negative integers, signed infinity at signed zero."""
trigamma: Kernel = partial(run, _trigamma)
"""Derivative of digamma; infinite at its poles."""
zeta: Kernel = partial(run, _zeta)
"""Hurwitz zeta function, the sum of ``(q + k) ** -x`` over k >= 0."""


def polygamma(n: int, x: np.ndarray) -> np.ndarray:
    """The n-th derivative of digamma."""
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n. n is {n}: pass 0, 1, 2, ...")
    if n == 0:
        return digamma(x)
    if n == 1:
        return trigamma(x)
    factor = float(math.factorial(n)) if n <= 170 else math.inf
    factor = factor if n % 2 else -factor

    def core(x: np.ndarray) -> np.ndarray:
        return factor * _zeta(np.full_like(x, n + 1.0), x)

    return run(core, x)


def multigammaln(x: np.ndarray, p: int) -> np.ndarray:
    """Logarithm of the multivariate gamma function of dimension p."""

    def core(x: np.ndarray) -> np.ndarray:
        result = np.full_like(x, 0.25 * p * (p - 1) * math.log(math.pi))
        for index in range(p):
            result += _lgamma(x - 0.5 * index)
        return result

    return run(core, x)
