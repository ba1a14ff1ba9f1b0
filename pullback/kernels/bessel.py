"""Modified Bessel functions of order 0 and 1: i0, i0e, i1, i1e, k0, k1 and the scaled k0e, k1e.

Near zero they are polynomials in the square of the argument (plus a logarithm for K); far out, the exponential and
the square root are taken apart and the rest is smooth in 1 / x. Tables interpolate these at Chebyshev nodes in
50-digit arithmetic. The functions that oscillate, J, Y and Airy, live in ``oscillating``.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from pullback.kernels.blocks import Coefficients, Kernel, by_region, horner, rational, run

# I0(x) and I1(x) / x for |x| <= 8, in x^2.
_I0_NEAR = (
    1.0, 0.2500000000000002, 0.015624999999999676, 0.00043402777777794754, 6.7816840277310415e-06,
    6.78168402855519e-08, 4.709502788586949e-10, 2.402807613382039e-12, 9.385963563008623e-15,
    2.8969167561484535e-17, 7.24187672272501e-20, 1.4971317807155651e-22, 2.585792216220012e-25,
    3.9693964093519767e-28, 4.025388035510853e-31, 8.945227286481786e-34,
)  # fmt: skip
_I1_NEAR = (
    0.5, 0.06250000000000001, 0.0026041666666666574, 5.42534722222271e-05, 6.781684027764357e-07,
    5.651403356704746e-09, 3.3639305668982475e-11, 1.5017547367976848e-13, 5.214425120919993e-16,
    1.448455537254395e-18, 3.2918259018287706e-21, 6.2370206832638684e-24, 9.956969230500738e-27,
    1.408926251589232e-29, 1.3808181584914298e-32, 2.716505589516919e-35,
)  # fmt: skip
# sqrt(x) exp(-x) I(x) for x >= 8, in 16 / x - 1.
_I0_FAR = (
    0.4021765094450081, 0.0033605519836677235, 0.00013621607439187193, 1.1143033802583682e-05,
    1.4838475863096976e-06, 2.9735956581528157e-07, 8.872154618944625e-08, 3.932926571091252e-08,
    2.155681110989874e-08, 7.532386417555123e-09, -6.805980075129678e-09, -1.331979859201994e-08,
    -5.162517880939013e-09, 7.323310735122893e-09, 6.789790403895736e-09, -3.11851456121224e-09,
    -4.8482509221176966e-09, 1.0924527246468664e-09, 2.3981927228949238e-09, -2.748111637276033e-10,
    -7.473844621887592e-10, 3.525321019700796e-11, 1.0881994785468934e-10,
)  # fmt: skip
_I1_FAR = (
    0.38939845902587233, -0.009749577193235609, -0.000219235763833829, -1.503854721127423e-05,
    -1.8349101539664522e-06, -3.483853071371078e-07, -1.0001220638799958e-07, -4.31323156237458e-08,
    -2.3382691353601083e-08, -8.407326839577817e-09, 6.795073490187386e-09, 1.3952625102162603e-08,
    5.722677527454156e-09, -7.432535335623792e-09, -7.222524178953976e-09, 3.0717395650769477e-09,
    5.094016301574338e-09, -1.0476127785270019e-09, -2.5062162405593894e-09, 2.582169443152386e-10,
    7.79067217908059e-10, -3.2677656089803323e-11, -1.13288885034257e-10,
)  # fmt: skip
# K0(x) + log(x / 2) I0(x) and x * (K1(x) - log(x / 2) I1(x)) for x <= 2, in x^2.
_K0_NEAR = (
    -0.5772156649015329, 0.1056960837746168, 0.014418505235913403, 0.0005451899602573268, 1.021401413519616e-05,
    1.1570351012535374e-07, 8.819879035027937e-10, 4.8433399275830486e-12, 2.0062068689459318e-14,
    6.872289021185454e-17,
)  # fmt: skip
_K1_NEAR = (
    1.0, 0.03860783245076608, -0.042049020943651316, -0.0028371119837725905, -7.493042904491131e-05,
    -1.0892182678340606e-06, -1.0112901478345438e-08, -6.54047500248146e-11, -3.1149818492859936e-13,
    -1.2137166536221055e-15,
)  # fmt: skip
# sqrt(x) exp(x) K(x) for x >= 2, in 1 / x.
_K0_FAR = (
    (
        1.2533141373155003, 17.839286801948955, 91.00961204200307, 208.80174925979372, 221.6105971967132,
        100.34429248973977, 15.268826371267675, 0.36575918187294615,
    ),
    (
        1.0, 14.358691515009387, 74.3396882723511, 174.95579972717027, 194.4016495392893, 96.12333969212841,
        17.694592567628295, 0.75194036716857,
    ),
)  # fmt: skip
_K1_FAR = (
    (
        1.2533141373155003, 17.61663740701183, 89.738408016139, 210.3834435980117, 239.02756244968165,
        127.08662083049329, 27.519319807436105, 1.6092075797103762,
    ),
    (
        1.0, 13.681043000316974, 66.58768664198344, 144.39202716910302, 143.11399023691428, 59.52097799074346,
        8.082906612329504, 0.15407775344464797,
    ),
)  # fmt: skip


def _far_decayed(table: Coefficients, size: np.ndarray) -> np.ndarray:
    return horner(table, 16.0 / size - 1.0) / np.sqrt(size)


def _grown(size: np.ndarray, decayed: np.ndarray) -> np.ndarray:
    # exp(x) overflows a little before I(x) does; its two halves do not.
    half = np.exp(0.5 * size)
    return half * (half * decayed)


def _i0(x: np.ndarray) -> np.ndarray:
    return by_region(
        np.abs(x),
        (8.0,),
        (lambda size: horner(_I0_NEAR, size * size), lambda size: _grown(size, _far_decayed(_I0_FAR, size))),
    )


def _i0e(x: np.ndarray) -> np.ndarray:
    return by_region(
        np.abs(x),
        (8.0,),
        (lambda size: horner(_I0_NEAR, size * size) * np.exp(-size), lambda size: _far_decayed(_I0_FAR, size)),
    )


def _i1_size(size: np.ndarray) -> np.ndarray:
    return by_region(
        size,
        (8.0,),
        (lambda size: size * horner(_I1_NEAR, size * size), lambda size: _grown(size, _far_decayed(_I1_FAR, size))),
    )


def _i1(x: np.ndarray) -> np.ndarray:
    result = _i1_size(np.abs(x))
    return np.copysign(result, x, out=result)


def _i1e(x: np.ndarray) -> np.ndarray:
    result = by_region(
        np.abs(x),
        (8.0,),
        (lambda size: size * horner(_I1_NEAR, size * size) * np.exp(-size), lambda size: _far_decayed(_I1_FAR, size)),
    )
    return np.copysign(result, x, out=result)


def _k0_near(x: np.ndarray) -> np.ndarray:
    square = x * x
    return horner(_K0_NEAR, square) - np.log(0.5 * x) * horner(_I0_NEAR, square)


def _k1_near(x: np.ndarray) -> np.ndarray:
    square = x * x
    result = horner(_K1_NEAR, square) / x + np.log(0.5 * x) * (x * horner(_I1_NEAR, square))
    result[x == 0] = np.inf
    return result


def _k0e_far(x: np.ndarray) -> np.ndarray:
    return rational(*_K0_FAR, 1.0 / x) / np.sqrt(x)


def _k1e_far(x: np.ndarray) -> np.ndarray:
    return rational(*_K1_FAR, 1.0 / x) / np.sqrt(x)


def _k0(x: np.ndarray) -> np.ndarray:
    return by_region(x, (2.0,), (_k0_near, lambda x: _k0e_far(x) * np.exp(-x)))


def _k1(x: np.ndarray) -> np.ndarray:
    return by_region(x, (2.0,), (_k1_near, lambda x: _k1e_far(x) * np.exp(-x)))


def _k0e(x: np.ndarray) -> np.ndarray:
    return by_region(x, (2.0,), (lambda x: _k0_near(x) * np.exp(x), _k0e_far))


def _k1e(x: np.ndarray) -> np.ndarray:
    return by_region(x, (2.0,), (lambda x: _k1_near(x) * np.exp(x), _k1e_far))


i0: Kernel = partial(run, _i0)
"""Modified Bessel function of the first kind, order 0."""
i0e: Kernel = partial(run, _i0e)
"""``exp(-abs(x)) * i0(x)``."""
i1: Kernel = partial(run, _i1)
"""Modified Bessel function of the first kind, order 1."""
i1e: Kernel = partial(run, _i1e)
"""``exp(-abs(x)) * i1(x)``."""
k0: Kernel = partial(run, _k0)
"""Modified Bessel function of the second kind, order 0; nan for negative arguments."""
k1: Kernel = partial(run, _k1)
"""Modified Bessel function of the second kind, order 1; nan for negative arguments."""
k0e: Kernel = partial(run, _k0e)
"""``exp(x) * k0(x)``."""
k1e: Kernel = partial(run, _k1e)
"""``exp(x) * k1(x)``."""
