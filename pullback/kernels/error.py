"""The error function and its relatives: erf, erfc, erfcx, erfinv and the normal distribution's ndtr, log_ndtr, ndtri.

Two smooth functions carry the family. ``-log(erfc(x)) / x`` gives erf without a branch and without cancellation
at zero; ``erfcx(x) = exp(x^2) erfc(x)`` gives every tail. The tables interpolate them at Chebyshev nodes, computed
in 50-digit arithmetic, with relative error below one unit of the last place.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from pullback.kernels.blocks import Kernel, Table, by_region, horner, rational, run

# -log(erfc(x)) / x on [0, 6]; beyond 6, erf is 1 in double precision.
_ERF_NUMERATOR = (
    1.1283791670955126, 2.6535935850699865, 2.955020783925908, 2.007544217947986, 0.9022780880280362,
    0.2731111951797883, 0.0541977586415921, 0.0064863616741698904, 0.00038585545900484883, 7.538516137240559e-06,
)  # fmt: skip
_ERF_DENOMINATOR = (
    1.0, 1.7874965007499604, 1.519252229392244, 0.7761406921184943, 0.2538466730158895, 0.05271282037456765,
    0.006446060469994552, 0.00038577346531941403, 7.538881233419099e-06,
)  # fmt: skip
# (-log(erfc(x)) / x - 2 / sqrt(pi)) / x on [0, 4], enough for single precision: taking the leading term apart saves
# the two bits that rounding would cost.
_ERF_LEADING = 1.1283791670955126
_ERF_NUMERATOR_SINGLE = (0.636619765, 0.61020178, 0.246490489, 0.0392075192)
_ERF_DENOMINATOR_SINGLE = (1.0, 0.797067034, 0.288567893, 0.0392452419)

# (1 + 2x) erfcx(x) for x >= 0, as a polynomial in t = (x - 4) / (x + 4).
_ERFCX = (
    1.2329951186255526, -0.1396211168405625, 0.015379652102610162, 0.0680970542546862, -0.10103906603585294,
    0.09373283499865172, -0.06633036582050367, 0.0371675155318432, -0.01619773397992426, 0.005031970032548695,
    -0.0007577737141838885, -0.00019925700412184815, 0.0001506231178516207, -2.439811794207995e-05,
    -1.1225140354449658e-05, 5.707239573693257e-06, 2.980596055322769e-07, -8.218020654813044e-07,
    7.111912428010423e-08, 1.0683442926744586e-07, -1.6357383982124768e-08, -1.2544825403855518e-08,
    1.5712153638319064e-09, 9.655408225482863e-10,
)  # fmt: skip

# erfcx on [0, 10.2], enough for single precision, whose erfc is zero beyond.
_ERFCX_NUMERATOR_SINGLE = (1.00000001, 1.2392577, 0.732490264, 0.229640621, 0.0328848205)
_ERFCX_DENOMINATOR_SINGLE = (1.0, 2.36763745, 2.40407356, 1.32702248, 0.407053392, 0.0582861424)

# erfinv(x) / x in w = -log(1 - x^2) on [0, 16.7], which is as far as single precision goes.
_ERFINV_NUMERATOR_SINGLE = (0.886226942, 0.30769327, 0.0598937003, 0.00780788485, 0.000646903691, 2.37842771e-05)
_ERFINV_DENOMINATOR_SINGLE = (1.0, 0.0853958058, 0.0321919566, 0.00190802974, 0.000177560826, 1.250959500e-06)

# erfinv(x) / x on |x| <= 1/2, in x^2.
_ERFINV_NUMERATOR = (
    0.886226925452758, -2.1103279654637235, 1.758631887851003, -0.5999151947298844, 0.07249575820601115,
    -0.0015004541844739834,
)  # fmt: skip
_ERFINV_DENOMINATOR = (
    1.0, -2.643049499767473, 2.532420594953676, -1.0571628994482478, 0.1789023249783619, -0.008335081656624346,
)  # fmt: skip
# y / s where erfc(y) = exp(-s^2), for s in [0.83, 3.2), [3.2, 6.5) and [6.5, 27.5]; the smallest double has s = 27.3.
_TAIL_EDGES = (3.2, 6.5)
_TAIL_TABLES: tuple[Table, ...] = (
    (
        (
            4.347268340099659e-05, 0.8855128483076631, 2.4877589703888034, 5.210343512697494, 6.725497893460152,
            6.1183389015735425, 3.848914840621399, 0.6981041313455274, 0.01614660075855812, 3.843499342175053e-07,
        ),
        (
            1.0, 2.800922033215794, 6.408952779880152, 8.891616899644275, 9.911014968228805, 7.19354717831283,
            3.899892832620588, 0.6977458098613986, 0.01616431807636109,
        ),
    ),
    (
        (
            0.22460756915619934, -0.29960570767774325, 1.1324274996634571, -6.237897832558472, -4.558881227643254,
            -0.7204198159894322, -0.02418627602311679,
        ),
        (
            1.0, -1.797817857200654, -2.937423136367545, -7.367565542114737, -4.618764237625146, -0.7205952671770511,
            -0.024185383352983723,
        ),
    ),
    (
        (
            0.10390929270668038, 0.46450373473322915, 2.196222039807801, 1.3513547242367547, 0.2575922432691771,
            0.01757616123217366, 0.00041192108963407196, 2.5088411161419188e-06,
        ),
        (
            1.0, 1.6810227444338934, 2.5534922953350554, 1.384530995382519, 0.25860554387493884,
            0.01758442960713427, 0.0004119248047502866, 2.5088369480161697e-06,
        ),
    ),
)  # fmt: skip

_SQRT_HALF = math.sqrt(0.5)
_SQRT_TWO = math.sqrt(2.0)


def _erf(x: np.ndarray) -> np.ndarray:
    # erf(|x|) = -expm1(log(erfc(|x|))); rounding errors of the logarithm only ever shrink on the way through expm1.
    size = np.abs(x)
    if x.dtype == np.float32:
        np.minimum(size, np.float32(4.0), out=size)
        result = rational(_ERF_NUMERATOR_SINGLE, _ERF_DENOMINATOR_SINGLE, size)
        result *= size
        result += _ERF_LEADING
    else:
        np.minimum(size, 6.0, out=size)
        result = rational(_ERF_NUMERATOR, _ERF_DENOMINATOR, size)
    np.negative(size, out=size)
    result *= size
    np.expm1(result, out=result)
    # The result carries a minus sign everywhere; clearing it where x has none is copysign, four times as fast.
    bits, all_but_sign = (np.int32, 0x7FFFFFFF) if x.dtype == np.float32 else (np.int64, 0x7FFFFFFFFFFFFFFF)
    signs = np.bitwise_or(x.view(bits), all_but_sign)
    np.bitwise_and(result.view(bits), signs, out=signs)
    return signs.view(x.dtype)


def erfcx_positive(x: np.ndarray) -> np.ndarray:
    """``erfcx`` of a float64 block of non-negative numbers."""
    # Keep inf / inf out of t; the last division still sees the infinity.
    bounded = np.minimum(x, 1e300)
    t = bounded - 4.0
    bounded += 4.0
    t /= bounded
    result = horner(_ERFCX, t)
    np.multiply(x, 2.0, out=t)
    t += 1.0
    result /= t
    return result


def _erfcx_bounded(x: np.ndarray) -> np.ndarray:
    """``erfcx`` of a block of moderate non-negative numbers, in its own precision."""
    if x.dtype == np.float32:
        return rational(_ERFCX_NUMERATOR_SINGLE, _ERFCX_DENOMINATOR_SINGLE, x)
    return erfcx_positive(x)


def _exp_square(x: np.ndarray, factor: float) -> np.ndarray:
    """``exp(factor * x**2)`` without the rounding error of the square, which the exponential would magnify."""
    # Half of the bits of x square exactly.
    if x.dtype == np.float32:
        high = np.bitwise_and(x.view(np.int32), -0x1000).view(np.float32)
    else:
        high = x.astype(np.float32).astype(np.float64)
    low = x - high
    low *= x + high
    low *= factor
    high *= high
    high *= factor
    result = np.exp(high, out=high)
    result *= np.exp(low, out=low)
    return result


def _signs(x: np.ndarray) -> np.ndarray:
    """1 or -1 for each number, by the bits: faster than copysign."""
    bits, sign, one = (np.int32, -(2**31), 0x3F800000) if x.dtype == np.float32 else (np.int64, -(2**63), 0x3FF << 52)
    result = np.bitwise_and(x.view(bits), sign)
    result |= one
    return result.view(x.dtype)


def _on_either_side(tail: np.ndarray, sign: np.ndarray, half: float) -> np.ndarray:
    """``tail`` where the sign is 1, ``2 * half - tail`` where it is -1: choosing by arithmetic is faster."""
    tail *= sign
    sign *= -half
    sign += half
    tail += sign
    return tail


def _erfc(x: np.ndarray) -> np.ndarray:
    size = np.abs(x)
    np.minimum(size, 30.0, out=size)  # where it has long been zero
    tail = _erfcx_bounded(size)
    tail *= _exp_square(size, -1.0)
    return _on_either_side(tail, _signs(x), 1.0)


def _erfcx(x: np.ndarray) -> np.ndarray:
    result = erfcx_positive(np.abs(x))
    negative = np.flatnonzero(x < 0)
    if negative.size:
        result[negative] = 2.0 * _exp_square(np.maximum(x[negative], -1e4), 1.0) - result[negative]
    return result


def _ndtr(x: np.ndarray) -> np.ndarray:
    size = np.abs(x)
    np.minimum(size, 40.0, out=size)
    tail = _erfcx_bounded(size * _SQRT_HALF)
    tail *= _exp_square(size, -0.5)
    tail *= 0.5
    return _on_either_side(tail, _signs(-x), 0.5)


def _log_ndtr_left(x: np.ndarray) -> np.ndarray:
    return np.log(0.5 * erfcx_positive(-_SQRT_HALF * x)) - 0.5 * x * x


def _log_ndtr_right(x: np.ndarray) -> np.ndarray:
    return np.log1p(-_ndtr(-x))


def _log_ndtr(x: np.ndarray) -> np.ndarray:
    return by_region(x, (-1.0,), (_log_ndtr_left, _log_ndtr_right))


def _erfinv_centre(x: np.ndarray) -> np.ndarray:
    return x * rational(_ERFINV_NUMERATOR, _ERFINV_DENOMINATOR, x * x)


def _tail_quantile(table: Table, s: np.ndarray) -> np.ndarray:
    return s * rational(*table, s)


def _erfc_inverse(p: np.ndarray) -> np.ndarray:
    """The y with ``erfc(y) = p``, for 0 <= p <= 1/2; nan for p < 0."""
    s = np.sqrt(-np.log(p))
    result = by_region(s, _TAIL_EDGES, [partial(_tail_quantile, table) for table in _TAIL_TABLES])
    result[p == 0] = np.inf
    return result


def _erfinv(x: np.ndarray) -> np.ndarray:
    def outside(x: np.ndarray) -> np.ndarray:
        return np.copysign(_erfc_inverse(1.0 - np.abs(x)), x)

    if x.dtype == np.float32:
        return _erfinv_single(x)
    return by_region(np.abs(x), (0.5,), (_erfinv_centre, outside), x)


def _erfinv_single(x: np.ndarray) -> np.ndarray:
    w = 1.0 - x
    w *= 1.0 + x
    np.log(w, out=w)
    np.negative(w, out=w)
    result = rational(_ERFINV_NUMERATOR_SINGLE, _ERFINV_DENOMINATOR_SINGLE, w)
    result *= x
    ends = np.isinf(w)
    if ends.any():
        result[ends] = x[ends] * np.inf
    return result


def _ndtri(p: np.ndarray) -> np.ndarray:
    def low(p: np.ndarray) -> np.ndarray:
        return -_SQRT_TWO * _erfc_inverse(2.0 * p)

    def middle(p: np.ndarray) -> np.ndarray:
        return _SQRT_TWO * _erfinv_centre(2.0 * (p - 0.5))

    def high(p: np.ndarray) -> np.ndarray:
        return _SQRT_TWO * _erfc_inverse(2.0 * (1.0 - p))

    return by_region(p, (0.25, 0.75), (low, middle, high))


erf: Kernel = partial(run, _erf, single=True, scalar=math.erf)
"""Error function."""
erfc: Kernel = partial(run, _erfc, single=True, scalar=math.erfc)
"""Complementary error function ``1 - erf(x)``, with full relative accuracy in the tail."""
erfcx: Kernel = partial(run, _erfcx)
"""Scaled complementary error function ``exp(x**2) * erfc(x)``."""
erfinv: Kernel = partial(run, _erfinv, single=True)
"""Inverse of the error function; infinite at -1 and 1, nan outside."""
ndtr: Kernel = partial(run, _ndtr, single=True)
"""Distribution function of the standard normal distribution."""
log_ndtr: Kernel = partial(run, _log_ndtr)
"""Logarithm of the standard normal distribution function, finite far into the left tail."""
ndtri: Kernel = partial(run, _ndtri)
"""Inverse of ``ndtr``: the standard normal quantile."""
