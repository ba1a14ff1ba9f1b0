"""Special-function and window kernels against SciPy, torch and mpmath: accuracy, edges, dtypes, shapes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pullback.kernels import signal_windows, special
from pullback.kernels.thresholds import FUNCTION_BLOCK, FUNCTIONS_ONE_BY_ONE

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

INF, NAN = np.inf, np.nan
EDGES = [0.0, -0.0, 1.0, -1.0, 2.0, -0.5, 0.5, -1.5, INF, -INF, NAN, 800.0, -800.5, 1e10, 1e-30, -1e-30]


def spread(*pieces: tuple[float, float], count: int = 400) -> np.ndarray:
    """Points in each interval, and the neighbours of its ends, where kernels change formula."""
    generator = np.random.default_rng(0)
    parts = []
    for low, high in pieces:
        parts += [generator.uniform(low, high, count), np.nextafter([low, high], [INF, -INF]), [low, high]]
    return np.concatenate(parts)


def in_crowd(function, x: np.ndarray) -> np.ndarray:
    """The function of x as part of a larger array, for kernels that treat a handful of elements one by one."""
    return function(np.concatenate([x, np.full(FUNCTIONS_ONE_BY_ONE + 1, 0.25, x.dtype)]))[: len(x)]


LINE = spread((-30.0, 30.0), (-6.0, 6.0), (-1.0, 1.0), (-1e-3, 1e-3))
POSITIVE = spread((0.0, 0.5), (0.5, 1.5), (1.5, 3.0), (3.0, 4.0), (4.0, 8.0), (8.0, 10.0), (10.0, 1e3), (1e-12, 1e-3))
TINY = 10.0 ** -np.concatenate([np.linspace(1, 15, 99), np.linspace(16, 300, 300)])
UNIT = np.concatenate([spread((0.0, 1.0), (0.25, 0.75)), TINY, 1 - TINY[:99]])

# kernel, scipy's name, points, relative tolerance, absolute tolerance (where scipy or the zeros ask for one)
UNARY = [
    ("erf", "erf", LINE, 4e-15, 0),
    ("erfc", "erfc", LINE[LINE < 26], 1e-13, 0),
    ("erfcx", "erfcx", LINE[LINE > -5], 4e-15, 0),
    ("erfinv", "erfinv", np.concatenate([UNIT, -UNIT]), 4e-15, 0),
    ("ndtr", "ndtr", LINE, 3e-13, 0),
    ("log_ndtr", "log_ndtr", np.concatenate([LINE, 1000 * LINE]), 3e-13, 1e-300),
    ("ndtri", "ndtri", UNIT, 4e-15, 2e-16),
    ("lgamma", "gammaln", POSITIVE[(POSITIVE > 1e-300) | (POSITIVE == 0)], 4e-15, 1e-15),
    ("lgamma", "gammaln", -spread((0.0, 30.0)), 4e-15, 1e-13),
    ("digamma", "digamma", POSITIVE, 4e-15, 1e-15),
    ("digamma", "digamma", -spread((0.0, 30.0)) - 0.01234, 1e-12, 1e-13),
    ("i0", "i0", LINE, 4e-15, 0),
    ("i0e", "i0e", 20 * LINE, 4e-15, 0),
    ("i1", "i1", LINE, 6e-15, 0),
    ("i1e", "i1e", 20 * LINE, 6e-15, 0),
    ("k0", "k0", POSITIVE[POSITIVE < 700], 4e-15, 0),
    ("k1", "k1", POSITIVE[POSITIVE < 700], 4e-15, 0),
    ("k0e", "k0e", POSITIVE, 4e-15, 0),
    ("k1e", "k1e", POSITIVE, 4e-15, 0),
    ("bessel_j0", "j0", 3 * LINE, 4e-15, 2e-15),
    ("bessel_j1", "j1", 3 * LINE, 4e-15, 2e-15),
    ("bessel_y0", "y0", POSITIVE[POSITIVE < 100], 4e-15, 2e-15),
    ("bessel_y1", "y1", POSITIVE[POSITIVE < 100], 4e-15, 2e-15),
    ("spherical_bessel_j0", "spherical_jn", LINE, 4e-15, 2e-16),
    ("airy_ai", "airy", spread((-5.0, -2.0), (-2.0, 2.0), (2.0, 9.0), (-30.0, -5.0)), 3e-14, 4e-15),
    ("log_sigmoid", "log_expit", 25 * LINE, 4e-15, 1e-308),
    ("entr", "entr", POSITIVE, 4e-15, 0),
    ("logit", "logit", UNIT, 4e-15, 1e-15),
]


def scipy_values(name: str, x: np.ndarray) -> np.ndarray:
    scipy_special = pytest.importorskip("scipy.special")
    with np.errstate(all="ignore"):
        if name == "spherical_jn":
            return scipy_special.spherical_jn(0, x)
        result = getattr(scipy_special, name)(x)
    return result[0] if name == "airy" else result


@pytest.mark.parametrize("kernel,name,points,relative,absolute", UNARY, ids=lambda v: v if isinstance(v, str) else "")
def test_double_precision_matches_scipy(kernel, name, points, relative, absolute):
    got = getattr(special, kernel)(points)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, scipy_values(name, points), rtol=relative, atol=absolute)


@pytest.mark.parametrize("kernel,name,points,relative,absolute", UNARY, ids=lambda v: v if isinstance(v, str) else "")
def test_single_precision_is_within_two_units(kernel, name, points, relative, absolute):
    x = points.astype(np.float32)
    got = getattr(special, kernel)(x)
    assert got.dtype == np.float32
    with np.errstate(over="ignore"):
        want = scipy_values(name, x.astype(np.float64)).astype(np.float32)
    # The largest error allowed is that of NumPy's own float32 exp, log and expm1, about two units, or twice that.
    np.testing.assert_allclose(
        got,
        want,
        rtol=6e-7 if kernel in ("erfc", "ndtr") else 3e-7,
        atol=max(absolute, 1.5e-45, IN_SINGLE.get(kernel, 0)),
    )


# These stay in float32 and pass through zeros, as torch's own do.
IN_SINGLE = {"spherical_bessel_j0": 3e-8, "entr": 3e-8, "logit": 1.5e-7}

MPMATH = {
    "erf": (lambda m, x: m.erf(x), LINE[::40]),
    "erfc": (lambda m, x: m.erfc(x), LINE[LINE < 26][::40]),
    "erfcx": (lambda m, x: m.exp(x * x) * m.erfc(x), LINE[LINE > -26][::40]),
    "ndtr": (lambda m, x: m.ncdf(x), LINE[LINE > -30][::40]),
    "log_ndtr": (lambda m, x: m.log1p(-m.ncdf(-x)) if x > 0 else m.log(m.ncdf(x)), LINE[::40]),
    "lgamma": (lambda m, x: m.loggamma(x), POSITIVE[POSITIVE > 0][::40]),
    "digamma": (lambda m, x: m.psi(0, x), POSITIVE[POSITIVE > 0][::40]),
    "trigamma": (lambda m, x: m.psi(1, x), np.concatenate([POSITIVE[POSITIVE > 0][::40], [-1.2, -30.7, -1e-5]])),
    "i1": (lambda m, x: m.besseli(1, x), LINE[::80]),
    "bessel_j0": (lambda m, x: m.besselj(0, x), np.array([0.3, 2.4048255, 4.9999, 5.0, 1e3, 1e6])),
    "bessel_j1": (lambda m, x: m.besselj(1, x), np.array([0.3, 3.831706, 4.9999, 5.0, 1e3, 1e6])),
    "bessel_y1": (lambda m, x: m.bessely(1, x), np.array([1e-9, 0.3, 4.9999, 5.0, 1e3, 1e6])),
    "airy_ai": (lambda m, x: m.airyai(x), np.array([-4.999, -3.0, -1.0, 0.0, 1.9999, 2.0, 7.0])),
}


@pytest.mark.parametrize("kernel", MPMATH)
def test_against_many_digits(kernel):
    mpmath = pytest.importorskip("mpmath")
    reference, points = MPMATH[kernel]
    with mpmath.workdps(40):
        want = np.array([float(mpmath.re(reference(mpmath, mpmath.mpf(float(x))))) for x in points])
    np.testing.assert_allclose(in_crowd(getattr(special, kernel), points), want, rtol=4e-15, atol=1e-300)
    np.testing.assert_allclose(getattr(special, kernel)(points), want, rtol=4e-15, atol=1e-15)


ON_TORCH = {
    "lgamma": "gammaln",
    "k0": "modified_bessel_k0",
    "k1": "modified_bessel_k1",
    "k0e": "scaled_modified_bessel_k0",
    "k1e": "scaled_modified_bessel_k1",
}
EDGE_KERNELS = sorted({row[0] for row in UNARY} - {"log_sigmoid"} | {"sinc"})


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", EDGE_KERNELS)
def test_edges_match_torch(kernel, dtype):
    torch = pytest.importorskip("torch")
    x = np.array(EDGES, dtype)
    want = getattr(torch.special, ON_TORCH.get(kernel, kernel))(torch.from_numpy(x)).numpy()
    # torch loses the digits of large phases: no edge, and nothing to imitate.
    kept = (np.abs(x) < (1e9 if dtype == np.float64 else 800)) | ~np.isfinite(x)
    if not kernel.startswith(("bessel", "airy")):
        kept[:] = True
    tolerance = {np.float64: 2e-13, np.float32: 5e-6}[dtype]
    for got in (getattr(special, kernel)(x), in_crowd(getattr(special, kernel), x)):
        np.testing.assert_allclose(got[kept], want[kept], rtol=tolerance, atol=tolerance if kernel[0] in "abs" else 0)
        if kernel == "erf":
            np.testing.assert_array_equal(np.signbit(got[:2]), [False, True])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_activations_match_torch(dtype):
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    x = np.concatenate([np.array(EDGES, dtype), np.linspace(-120, 120, 4001, dtype=dtype)])
    tensor = torch.from_numpy(x)
    tolerance = {np.float64: 1e-14, np.float32: 1e-6}[dtype]
    want = functional.logsigmoid(tensor).numpy()
    np.testing.assert_allclose(special.log_sigmoid(x), want, rtol=tolerance, atol=1e-37)
    for beta, threshold in ((1.0, 20.0), (0.5, 3.0), (-2.0, 20.0)):
        want = functional.softplus(tensor, beta, threshold).numpy()
        np.testing.assert_allclose(special.softplus(x, beta, threshold), want, rtol=tolerance, atol=1e-30)
    p = np.linspace(-0.1, 1.1, 101, dtype=dtype)
    for eps in (None, 1e-3, 0.2):
        want = torch.logit(torch.from_numpy(p), eps).numpy()
        np.testing.assert_allclose(special.logit(p, eps), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kernel", ["zeta", "gammainc", "gammaincc", "xlogy", "xlog1py"])
def test_binary_edges_match_torch(kernel):
    torch = pytest.importorskip("torch")
    values = np.array([0.0, -0.0, 0.5, 1.0, 2.0, 3.0, 30.0, 200.0, -1.0, -1.5, -2.0, -7.3, INF, -INF, NAN])
    a, b = np.meshgrid(values, values, indexing="ij")
    want = getattr(torch.special, kernel)(torch.from_numpy(a.copy()), torch.from_numpy(b.copy())).numpy()
    # torch's incomplete gamma functions are wrong in the tenth digit at (30, 30).
    relative = 2e-9 if kernel.startswith("gamma") else 1e-12
    np.testing.assert_allclose(getattr(special, kernel)(a, b), want, rtol=relative, atol=1e-300)
    np.testing.assert_array_equal(getattr(special, kernel)(values[:, None], values), getattr(special, kernel)(a, b))


def test_complex_numbers():
    torch = pytest.importorskip("torch")
    generator = np.random.default_rng(5)
    z = (generator.normal(size=50) + 1j * generator.normal(size=50)).astype(np.complex64)
    z[0] = 0
    got = special.sinc(z)
    assert got.dtype == np.complex64
    np.testing.assert_allclose(got, torch.special.sinc(torch.from_numpy(z)).numpy(), rtol=1e-6, atol=1e-6)
    with pytest.raises(RuntimeError, match="not implemented for"):
        special.erf(z)


def test_zeta_and_polygamma():
    scipy_special = pytest.importorskip("scipy.special")
    torch = pytest.importorskip("torch")
    generator = np.random.default_rng(1)
    s, q = generator.uniform(1.01, 40, 2000), 10 ** generator.uniform(-2, 4, 2000)
    np.testing.assert_allclose(special.zeta(s, q), scipy_special.zeta(s, q), rtol=8e-15)
    negative = -generator.uniform(0, 40, 500)
    for n in (0, 1, 2, 3, 6, 20):
        np.testing.assert_allclose(special.polygamma(n, q), scipy_special.polygamma(n, q), rtol=8e-15, atol=1e-300)
        want = torch.special.polygamma(n, torch.from_numpy(negative)).numpy()
        # torch's reflection formulas lose digits close to the poles, so the bound follows the size of the values.
        np.testing.assert_allclose(special.polygamma(n, negative), want, rtol=1e-6, atol=1e-9 * np.abs(want).max())
    edges = np.array([0.0, INF, -INF, NAN, 2.0])
    want = torch.special.polygamma(2, torch.from_numpy(edges)).numpy()
    np.testing.assert_allclose(special.polygamma(2, edges), want, rtol=1e-13)
    assert special.trigamma(np.array([-1.0, -2.0, 0.0])).tolist() == [INF, INF, INF]
    with pytest.raises(RuntimeError, match="does not support negative n"):
        special.polygamma(-1, q)


def test_multigammaln():
    torch = pytest.importorskip("torch")
    x = np.concatenate([np.linspace(2.1, 50, 301), [1.0, -1.5, INF, NAN]])
    for p in (1, 2, 3, 5):
        want = torch.special.multigammaln(torch.from_numpy(x), p).numpy()
        np.testing.assert_allclose(special.multigammaln(x, p), want, rtol=1e-13, atol=1e-13)


def test_incomplete_gamma_matches_scipy():
    scipy_special = pytest.importorskip("scipy.special")
    generator = np.random.default_rng(2)
    a = 10 ** generator.uniform(-3, 5, 4000)
    x = a * np.concatenate([10 ** generator.uniform(-2, 2, 2000), generator.uniform(0.6, 1.5, 2000)])
    for kernel in ("gammainc", "gammaincc"):
        want = getattr(scipy_special, kernel)(a, x)
        got = getattr(special, kernel)(a, x)
        body = want > 1e-10
        np.testing.assert_allclose(got[body], want[body], rtol=1e-12)
        # Far in the tails scipy itself has lost digits to the exponent.
        np.testing.assert_allclose(got[~body], want[~body], rtol=1e-10, atol=1e-290)
    np.testing.assert_allclose(special.gammainc(a, x) + special.gammaincc(a, x), 1.0, rtol=1e-14)


POLYNOMIALS = [name for name in special.__all__ if "polynomial" in name]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", POLYNOMIALS)
def test_polynomials_match_torch(kernel, dtype):
    torch = pytest.importorskip("torch")
    points = np.concatenate([np.linspace(-1.5, 1.5, 61), [0.0, 1.0, -1.0, 0.5, INF, -INF, NAN, 1e-20, -1 + 1e-16]])
    orders = np.array([-3, -1, 0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 15, 24, 2.9, -0.5])
    x, n = (grid.astype(dtype) for grid in np.meshgrid(points, orders, indexing="ij"))
    want = getattr(torch.special, kernel)(torch.from_numpy(x), torch.from_numpy(n)).numpy()
    got = getattr(special, kernel)(x, n)
    assert got.dtype == dtype
    tolerance = {np.float64: 2e-11, np.float32: 5e-3}[dtype]
    finite = np.isfinite(want)
    scale = np.maximum(1, np.abs(np.where(finite, want, 0)).max(axis=0, initial=1, where=np.abs(x) <= 1))
    np.testing.assert_array_equal(np.where(finite, 0, got), np.where(finite, 0, want))
    difference = np.abs(got[finite] - want[finite])
    assert (difference <= (tolerance * np.maximum(scale, np.abs(want)))[finite]).all()
    np.testing.assert_array_equal(getattr(special, kernel)(x[:, 4], 2), got[:, 4])
    np.testing.assert_array_equal(getattr(special, kernel)(x[:, 12], np.int64(15)), got[:, 12])


def test_polynomials_match_scipy():
    scipy_special = pytest.importorskip("scipy.special")
    x = np.linspace(-2, 2, 101)
    names = {
        "chebyshev_polynomial_t": "eval_chebyt",
        "chebyshev_polynomial_u": "eval_chebyu",
        "shifted_chebyshev_polynomial_t": "eval_sh_chebyt",
        "shifted_chebyshev_polynomial_u": "eval_sh_chebyu",
        "hermite_polynomial_h": "eval_hermite",
        "hermite_polynomial_he": "eval_hermitenorm",
        "laguerre_polynomial_l": "eval_laguerre",
        "legendre_polynomial_p": "eval_legendre",
    }
    for kernel, name in names.items():
        for n in range(12):
            want = getattr(scipy_special, name)(n, x)
            np.testing.assert_allclose(getattr(special, kernel)(x, n), want, rtol=1e-11, atol=1e-11, err_msg=kernel)


def test_high_orders_and_exponents():
    """Orders in the millions take a second and lose no digits; exponents so large that only the first term is left."""
    scipy_special = pytest.importorskip("scipy.special")
    x = np.array([0.0, 0.5, 3.0, 501.0, -0.001, -50.0])
    orders = np.array([5_000_000, 2_000_000, 100_001, 1_000_000, 4097, 70_000])
    want = scipy_special.eval_laguerre(orders, x)
    want[-1] = np.nan  # it overflows on the way, which torch's recurrence does not survive
    np.testing.assert_allclose(special.laguerre_polynomial_l(x, orders), want, rtol=1e-8)
    exponent = np.full(5, 1e20)
    got = special.zeta(exponent, np.array([0.5, 1.0, 2.0, 1e15, -2.5]))
    np.testing.assert_array_equal(got, [np.inf, 1, np.nan, np.nan, np.inf])


SHAPED = [*EDGE_KERNELS, "log_sigmoid", "softplus", "trigamma"]


@pytest.mark.parametrize("kernel", SHAPED)
def test_dtypes_shapes_and_blocks(kernel):
    function = getattr(special, kernel)
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    x = np.random.default_rng(4).uniform(0.05, 0.95, FUNCTION_BLOCK + 1000)
    whole = function(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in (np.float16, bfloat16, np.float32, np.float64):
            few = x[:300].astype(dtype)
            got = function(few)
            assert got.dtype == dtype and type(got) is np.ndarray
            want = function(few.astype(np.float64))
            step = {2: 2.0**-7 if dtype == bfloat16 else 2.0**-10, 4: 4e-7, 8: 0}[np.dtype(dtype).itemsize]
            np.testing.assert_allclose(got.astype(np.float64), want, rtol=step, atol=step / 4)
            scalar = function(few[3])
            assert np.shape(scalar) == () and np.asarray(scalar).dtype == dtype
            assert function(few[3:4].reshape(())).shape == ()
            assert function(few[:0].reshape(0, 3)).shape == (0, 3)
        function(np.array(EDGES))
    copy = x.copy()
    grid = x[:900].reshape(30, 30)
    want = whole[:900].reshape(30, 30).T[::2, ::-3]
    np.testing.assert_allclose(function(grid.T[::2, ::-3]), want, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(function(x[FUNCTION_BLOCK:]), whole[FUNCTION_BLOCK:], rtol=1e-14)
    np.testing.assert_array_equal(x, copy)


WINDOWS = {
    "bartlett": [{}],
    "blackman": [{}],
    "cosine": [{}],
    "exponential": [{}, {"tau": 3.5}, {"center": 2.0, "tau": 2.0, "sym": False}],
    "gaussian": [{}, {"std": 2.5}],
    "general_cosine": [{"a": [0.46, 0.23, 0.31]}, {"a": (1.0,)}],
    "general_hamming": [{}, {"alpha": 0.6}],
    "hamming": [{}],
    "hann": [{}],
    "kaiser": [{}, {"beta": 0.0}, {"beta": 3.0}],
    "nuttall": [{}],
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_match_torch(name):
    torch = pytest.importorskip("torch")
    for length in (0, 1, 2, 3, 8, 33):
        for options in WINDOWS[name]:
            for sym in (True, False):
                keywords = {"sym": sym, **options}
                for dtype, tolerance in ((np.float64, 1e-14), (np.float32, 3e-6)):
                    want = getattr(torch.signal.windows, name)(
                        length, dtype=torch.from_numpy(np.empty(0, dtype)).dtype, **keywords
                    ).numpy()
                    got = getattr(signal_windows, name)(length, dtype=dtype, **keywords)
                    assert got.dtype == want.dtype
                    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance / 10, err_msg=str(keywords))


@pytest.mark.parametrize("shape", ["bartlett", "blackman", "hamming", "hann", "kaiser"])
def test_older_windows_match_torch(shape):
    name = f"{shape}_window"
    torch = pytest.importorskip("torch")
    extra = {"hamming_window": [(0.6,), (0.5, 0.4)], "kaiser_window": [(3.0,)]}.get(name, [])
    for length in (0, 1, 2, 3, 8, 33):
        for periodic in (True, False):
            for arguments in [(), *extra]:
                want = getattr(torch, name)(length, periodic, *arguments, dtype=torch.float64).numpy()
                got = getattr(signal_windows, name)(length, periodic, *arguments, dtype=np.float64)
                np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-15)
        assert getattr(signal_windows, name)(length).dtype == np.float32


def test_window_errors():
    cases = [
        (ValueError, "general_cosine requires non-negative window length, got M=-1", lambda w: w.hann(-1)),
        (ValueError, "expects float32 or float64 dtypes", lambda w: w.hann(3, dtype=np.int64)),
        (ValueError, "Center must be None for symmetric", lambda w: w.exponential(5, center=1.0)),
        (ValueError, "Tau must be positive", lambda w: w.exponential(5, tau=0.0)),
        (ValueError, "Standard deviation must be positive", lambda w: w.gaussian(5, std=-1.0)),
        (ValueError, "beta must be non-negative", lambda w: w.kaiser(5, beta=-1.0)),
        (ValueError, "Coefficients cannot be empty", lambda w: w.general_cosine(5, [])),
        (TypeError, "Coefficients must be a list/tuple", lambda w: w.general_cosine(5, 3.0)),
        (RuntimeError, "hann_window requires non-negative window_length", lambda w: w.hann_window(-1)),
        (RuntimeError, "expects floating point dtypes", lambda w: w.hann_window(5, dtype=np.int64)),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call(signal_windows)
