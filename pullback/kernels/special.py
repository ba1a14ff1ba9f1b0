"""Every special function by its name, and the kernels of the elementary ones.

Here live the functions that need no coefficient table: sigmoid and its logarithm, softplus, logit, entropy,
``x log y``, sinc. The families are re-exported from ``error``, ``gamma``, ``incomplete_gamma``, ``bessel``,
``oscillating`` and ``polynomials``. Every kernel takes NumPy arrays or scalars of any floating dtype and answers in it,
needs no SciPy, and lets no NumPy warning out.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from pullback.kernels.bessel import i0, i0e, i1, i1e, k0, k0e, k1, k1e
from pullback.kernels.blocks import Kernel, run
from pullback.kernels.error import erf, erfc, erfcx, erfinv, log_ndtr, ndtr, ndtri
from pullback.kernels.gamma import digamma, lgamma, multigammaln, polygamma, trigamma, zeta
from pullback.kernels.incomplete_gamma import gammainc, gammaincc
from pullback.kernels.oscillating import airy_ai, bessel_j0, bessel_j1, bessel_y0, bessel_y1
from pullback.kernels.polynomials import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    recurrence_slope,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t", "chebyshev_polynomial_u",
    "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "gammainc",
    "gammaincc", "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e", "k0", "k0e", "k1", "k1e",
    "laguerre_polynomial_l", "legendre_polynomial_p", "lgamma", "log_ndtr", "log_sigmoid", "logit", "multigammaln",
    "ndtr", "ndtri", "polygamma", "recurrence_slope", "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sinc", "softplus", "spherical_bessel_j0",
    "trigamma", "xlog1py", "xlogy", "zeta",
]  # fmt: skip


def _log_sigmoid(x: np.ndarray) -> np.ndarray:
    result = np.abs(x)
    np.negative(result, out=result)
    np.exp(result, out=result)
    np.log1p(result, out=result)
    return np.subtract(np.minimum(x, 0), result, out=result)


def _sine_quotient(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    result = numerator / denominator
    result[denominator == 0] = 1
    return result


def _sinc(x: np.ndarray) -> np.ndarray:
    scaled = x * math.pi
    result = _sine_quotient(np.sin(scaled), scaled)
    result[x == 0] = 1
    return result


def _spherical_bessel_j0(x: np.ndarray) -> np.ndarray:
    result = _sine_quotient(np.sin(x), x)
    result[np.isinf(x)] = 0
    return result


def _xlogy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    result = x * np.log(y)
    result[(x == 0) & ~np.isnan(y)] = 0
    return result


def _xlog1py(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    result = x * np.log1p(y)
    result[(x == 0) & ~np.isnan(y)] = 0
    return result


def _entr(x: np.ndarray) -> np.ndarray:
    result = -x * np.log(x)
    result[x == 0] = 0
    result[x < 0] = -np.inf
    return result


log_sigmoid: Kernel = partial(run, _log_sigmoid, single=True)
"""Logarithm of the sigmoid, without overflow on either side."""


def softplus(x: np.ndarray, beta: float = 1.0, threshold: float = 20.0) -> np.ndarray:
    """``log(1 + exp(beta * x)) / beta``, and x itself where ``beta * x`` exceeds the threshold."""

    def core(x: np.ndarray) -> np.ndarray:
        scaled = x * beta
        result = np.exp(scaled)
        np.log1p(result, out=result)
        result /= beta
        linear = scaled > threshold
        if linear.any():
            np.copyto(result, x, where=linear)
        return result

    return run(core, x, single=True)


def logit(x: np.ndarray, eps: float | None = None) -> np.ndarray:
    """``log(x / (1 - x))``, with x first clamped to ``[eps, 1 - eps]`` when eps is given; nan outside [0, 1]."""

    def core(x: np.ndarray) -> np.ndarray:
        if eps is not None:
            x = np.clip(x, eps, 1.0 - eps)
        return np.log(x / (1 - x))

    return run(core, x, single=True)


entr: Kernel = partial(run, _entr, single=True)
"""Entropy ``-x * log(x)``: zero at zero, minus infinity below."""
xlogy: Kernel = partial(run, _xlogy, single=True)
"""``x * log(y)``, zero where x is zero and y is not nan."""
xlog1py: Kernel = partial(run, _xlog1py, single=True)
"""``x * log1p(y)``, zero where x is zero and y is not nan."""


def sinc(x: np.ndarray) -> np.ndarray:
    """Normalised sinc ``sin(pi x) / (pi x)``, one at zero; of complex numbers too."""
    if np.iscomplexobj(x):
        with np.errstate(all="ignore"):
            return _sinc(np.atleast_1d(x)).reshape(np.shape(x))
    return run(_sinc, x, single=True)


spherical_bessel_j0: Kernel = partial(run, _spherical_bessel_j0, single=True)
"""Spherical Bessel function of order 0, ``sin(x) / x``: one at zero, zero at infinity."""
