"""Functions that oscillate: Bessel J and Y of order 0 and 1, and the Airy function Ai.

Near the origin they are rational functions (J with its zeros taken out, Y with its logarithm). Far out they are an
amplitude times ``P cos + Q sin``, with P and Q smooth in the inverse square of the phase; the shift of the phase is
resolved by the addition theorem, so that no bit of a large argument is lost to it. Tables interpolate at Chebyshev
nodes in 50-digit arithmetic.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from pullback.kernels.blocks import Kernel, Table, by_region, horner, rational, run

# The first two zeros of J0 and J1, each as a sum of two doubles.
_J0_ZEROS = ((2.404825557695773, -1.176691651530894e-16), (5.520078110286311, 8.088597146146722e-17))
_J1_ZEROS = ((3.8317059702075125, -1.5269184090088067e-16), (7.015586669815619, -9.414165653410389e-17))
# J0(x) and J1(x) / x for |x| <= 5, divided by (x^2 - zero^2) for both zeros, in x^2.
_J0_NEAR = (
    (
        0.005674693325155617, -0.0001879291745325269, 2.3247855826186743e-06, -1.3805763587060335e-08,
        4.047102979992843e-11, -4.8230883849825103e-14,
    ),
    (
        1.0, 0.011150061508420385, 6.015323154581745e-05, 2.0051619095661044e-07, 4.249648971509663e-10,
        4.77669299642607e-13,
    ),
)  # fmt: skip
_J1_NEAR = (
    (
        0.0006919228366408253, -1.8253714157160932e-05, 1.8522806086675606e-07, -9.242405319241069e-10,
        2.322454235947709e-12, -2.4131034291237636e-15,
    ),
    (
        1.0, 0.010190529274624572, 4.986921477582658e-05, 1.494336693572822e-07, 2.81476306760138e-10,
        2.7685529185922663e-13,
    ),
)  # fmt: skip
# Y0(x) - 2/pi log(x) J0(x) and (Y1(x) - 2/pi (log(x) J1(x) - 1/x)) / x for x <= 5, in x^2.
_Y0_NEAR = (
    (
        -0.0738042951086872, 0.17651236980442586, -0.01345038146170433, 0.00032014465828278995,
        -3.2048239078933388e-06, 1.4280298506210739e-08, -2.3707566101741026e-11,
    ),
    (
        1.0, 0.014818203507402752, 0.00011131517291268265, 5.544890902304587e-07, 1.987671433920876e-09,
        5.064733031194228e-12, 7.685803935797017e-15,
    ),
)  # fmt: skip
_Y1_NEAR = (
    (
        -0.196057090646239, 0.05185608008339316, -0.00227987342145021, 3.8316855284267594e-05,
        -2.993576859127936e-07, 1.1150520839420665e-09, -1.6365061571597053e-12,
    ),
    (
        1.0, 0.012713684921577933, 7.926355783475741e-05, 3.105305356935884e-07, 7.910519880810905e-10,
        1.1054656753663183e-12,
    ),
)  # fmt: skip
# P and x * Q of order 0 and 1 for x >= 5, in 1 / x^2.
_P0 = (
    (
        1.0, 129.28297792007032, 5201.895510911329, 79099.0878331084, 440042.16610520723, 720162.8216697688,
        170138.84571370613,
    ),
    (
        1.0, 129.35329042007018, 5210.878512044706, 79451.54298651089, 445112.1727928832, 744856.6265510018,
        197628.94542179545,
    ),
)  # fmt: skip
_Q0 = (
    (
        -0.125, -22.53699865410304, -1323.7809556098905, -31299.380635345504, -297412.34991862514,
        -973229.5954904191, -644265.0039921711, 69211.6004512123,
    ),
    (
        1.0, 180.88192673282393, 10694.416284811789, 256346.4885795707, 2512376.5942707295, 8909132.210067213,
        7918870.046987346,
    ),
)  # fmt: skip
_P1 = (
    (
        1.0, 127.2597263688096, 5020.756210982876, 74478.9419006944, 401986.7904805285, 639808.9884966733,
        164197.9837173994,
    ),
    (
        1.0, 127.14253886880977, 5006.000890265464, 73909.9579682608, 393968.1704284755, 601664.9956322445,
        122784.17141869139,
    ),
)  # fmt: skip
_Q1 = (
    (
        0.375, 63.64079404237376, 3515.247917610211, 78160.89825808116, 700575.7822685207, 2194297.9285896113,
        1519974.189723247, -75250.83690813508,
    ),
    (
        1.0, 169.9822216129961, 9419.733756826914, 210884.26505765342, 1919724.2062219684, 6259622.899327836,
        5001721.646353622,
    ),
)  # fmt: skip

# Ai(x) on [-5, -2], in x + 7/2, and on [-2, 2], in x.
_AIRY_MIDDLE = (
    -0.37553382314043193, -0.34344343345404815, 0.6571841904957558, 0.1377530323247902, -0.22029900834909724,
    0.008752428867940852, 0.030293318718195433, -0.00597458355678314, -0.0017370390471091062, 0.0007111716827269472,
    1.1672563530022912e-06, -3.8419453687165865e-05, 5.356715014425754e-06, 8.69456980089265e-07,
    -3.1411049848089613e-07, 1.1017517241599303e-08, 8.204162144952337e-09, -1.2967595444005702e-09,
    -5.815466301727107e-11, 3.732551990246274e-11, -2.776729091810947e-12, -4.655916939878173e-13,
    8.402157839669846e-14,
)  # fmt: skip
_AIRY_NEAR = (
    (
        0.3550280538878172, -0.040729634855778934, -0.07267095039784484, 0.01970908282731158, 0.0026904879811219884,
        -0.0016808115570637922, 0.00014205640870635356, 3.742822189009736e-05, -8.716316426096594e-06,
        3.168223223316534e-07, 9.356908543214327e-08, -1.2711966405643297e-08, 5.193640406715656e-10,
    ),
    (
        1.0, 0.6142888330901887, 0.24313267133084668, 0.0660939136840499, 0.014130894972341846,
        0.0023637780651564375, 0.00032267531539119626, 3.4509510935759994e-05, 2.9101478647998798e-06,
        1.6691800395162584e-07, 5.936088770086034e-09, -6.299561128298089e-11,
    ),
)  # fmt: skip
# 2 sqrt(pi) x^(1/4) exp(phase) Ai(x) for x >= 2, in 1 / phase, where phase = 2/3 |x|^(3/2).
_AIRY_FAR = (
    (
        1.0, 13.48931312126751, 65.09282942076696, 141.13088796410202, 141.7813102864674, 61.260832154890394,
        9.154808075618172, 0.25020688994480517,
    ),
    (
        1.0, 13.558757565711923, 65.99727631962722, 145.24854125482273, 149.8747950107872, 68.11710433784046,
        11.31612193066131, 0.4133289604985632,
    ),
)  # fmt: skip
# The cosine part and phase times the sine part of Ai(x) for x <= -5, in 1 / phase^2.
_AIRY_COSINE = (
    (
        1.0, 86.14965278837039, 1934.8074777020904, 12123.396740015025, 14587.21030273895, -207.6114114437695,
    ),
    (
        1.0, 86.18678627602459, 1937.9502444761717, 12190.68258407889, 14950.223668202942,
    ),
)  # fmt: skip
_AIRY_SINE = (
    (
        0.06944444444444445, 10.468209942578133, 478.25498494147234, 7827.812448406015, 41542.268957516164,
        43907.26193487655, -5984.461612583699,
    ),
    (
        1.0, 151.28932322456455, 6967.9703531562445, 116292.38509406008, 651917.3441305702, 859694.0616440176,
    ),
)  # fmt: skip


def _near(zeros: tuple[tuple[float, float], ...], table: Table, x: np.ndarray) -> np.ndarray:
    result = rational(*table, x * x)
    for high, low in zeros:
        result *= (x - high) - low
        result *= x + high
    return result


def _j0_near(x: np.ndarray) -> np.ndarray:
    return _near(_J0_ZEROS, _J0_NEAR, x)


def _j1_near(x: np.ndarray) -> np.ndarray:
    return x * _near(_J1_ZEROS, _J1_NEAR, x)


def _y0_near(x: np.ndarray) -> np.ndarray:
    return rational(*_Y0_NEAR, x * x) + (2.0 / math.pi) * np.log(x) * _j0_near(x)


def _y1_near(x: np.ndarray) -> np.ndarray:
    result = x * rational(*_Y1_NEAR, x * x) + (2.0 / math.pi) * (np.log(x) * _j1_near(x) - 1.0 / x)
    result[x == 0] = -np.inf
    return result


def _far_parts(table_p: Table, table_q: Table, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """P and Q with the amplitude in them, then sine plus cosine and sine minus cosine of x."""
    inverse = 1.0 / x
    square = inverse * inverse
    amplitude = np.sqrt(inverse / math.pi)
    sine, cosine = np.sin(x), np.cos(x)
    p = amplitude * rational(*table_p, square)
    q = amplitude * inverse * rational(*table_q, square)
    return p, q, sine + cosine, sine - cosine


def _j0_far(x: np.ndarray) -> np.ndarray:
    p, q, total, difference = _far_parts(_P0, _Q0, x)
    return p * total - q * difference


def _y0_far(x: np.ndarray) -> np.ndarray:
    p, q, total, difference = _far_parts(_P0, _Q0, x)
    return p * difference + q * total


def _j1_far(x: np.ndarray) -> np.ndarray:
    p, q, total, difference = _far_parts(_P1, _Q1, x)
    return p * difference + q * total


def _y1_far(x: np.ndarray) -> np.ndarray:
    p, q, total, difference = _far_parts(_P1, _Q1, x)
    return q * difference - p * total


def _j0(x: np.ndarray) -> np.ndarray:
    return by_region(np.abs(x), (5.0,), (_j0_near, _j0_far))


def _j1(x: np.ndarray) -> np.ndarray:
    result = by_region(np.abs(x), (5.0,), (_j1_near, _j1_far))
    return np.where(np.signbit(x), -result, result)


def _y0(x: np.ndarray) -> np.ndarray:
    return by_region(x, (5.0,), (_y0_near, _y0_far))


def _y1(x: np.ndarray) -> np.ndarray:
    return by_region(x, (5.0,), (_y1_near, _y1_far))


def _airy_oscillating(x: np.ndarray) -> np.ndarray:
    size = -x
    root = np.sqrt(size)
    phase = (2.0 / 3.0) * size * root
    square = 1.0 / (phase * phase)
    sine, cosine = np.sin(phase), np.cos(phase)
    in_phase = rational(*_AIRY_COSINE, square) * (sine + cosine)
    out_of_phase = rational(*_AIRY_SINE, square) / phase * (cosine - sine)
    return (in_phase - out_of_phase) / (math.sqrt(2.0 * math.pi) * np.sqrt(root))


def _airy_far(x: np.ndarray) -> np.ndarray:
    root = np.sqrt(x)
    phase = (2.0 / 3.0) * x * root
    result = rational(*_AIRY_FAR, 1.0 / phase) * np.exp(-phase) / (2.0 * math.sqrt(math.pi) * np.sqrt(root))
    result[np.isinf(x)] = np.nan
    return result


def _airy_ai(x: np.ndarray) -> np.ndarray:
    return by_region(
        x,
        (-5.0, -2.0, 2.0),
        (
            _airy_oscillating,
            lambda x: horner(_AIRY_MIDDLE, x + 3.5),
            lambda x: rational(*_AIRY_NEAR, x),
            _airy_far,
        ),
    )


bessel_j0: Kernel = partial(run, _j0)
"""Bessel function of the first kind, order 0."""
bessel_j1: Kernel = partial(run, _j1)
"""Bessel function of the first kind, order 1."""
bessel_y0: Kernel = partial(run, _y0)
"""Bessel function of the second kind, order 0; nan for negative arguments."""
bessel_y1: Kernel = partial(run, _y1)
"""Bessel function of the second kind, order 1; nan for negative arguments."""
airy_ai: Kernel = partial(run, _airy_ai)
"""Airy function Ai."""
