"""NaN, infinities, zeros of both signs and the ends of pieces: values, slopes and curvatures are torch's, sign by sign."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

NAN, INF = math.nan, math.inf
# ends of the pieces of hardtanh, hardswish, relu6, softshrink, softplus(x, 2, 3) and their like are among them
NUMBERS = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.1, -0.1, 1.5, 2.0, -2.0, 3.0, -3.0, 6.0, -6.0, 7.0, 1e20]

# `t` is the library, `f` its nn.functional, `x` the numbers above.
VALUES = """
t.relu(x)
f.relu6(x)
f.hardtanh(x)
f.hardtanh(x, 0.0, 1.0)
f.elu(x)
f.elu(x, 2.0)
f.celu(x, 2.0)
f.selu(x)
f.leaky_relu(x)
f.leaky_relu(x, 0.0)
f.leaky_relu(x, 1.0)
f.hardshrink(x)
f.hardswish(x)
t.clamp(x, min=0)
t.clamp(x, max=0)
t.clamp(x, 0, 1)
t.clamp(x, -1, 0.0)
x % 2
x % -2
t.remainder(x, -1.5)
t.fmod(x, 1.5)
x**0.5
x**-0.5
x**0
t.nan_to_num(x)
"""
SLOPES = """
f.relu6(x)
f.hardtanh(x)
f.elu(x)
f.elu(x, 2.0)
f.celu(x, 2.0)
f.selu(x)
f.leaky_relu(x, 0.0)
f.hardshrink(x)
f.softshrink(x)
f.hardswish(x)
f.softplus(x, 2.0, 3.0)
f.threshold(x, 1.0, -1.0)
x**0.5
x**0
x**1
t.nan_to_num(x)
t.logcumsumexp(x, 0)
t.remainder(x, x.flip(0).nan_to_num(2.0, 2.0, 2.0))
"""
CURVATURES = """
f.elu(x)
f.elu(x, 2.0)
f.celu(x, 2.0)
f.celu(x, 0.5)
f.selu(x)
f.softplus(x, 2.0, 3.0)
f.leaky_relu(x)
t.log2(x.abs() + 0.5)
t.atan(x.clamp(-1e15, 1e15))
t.fmod(x, x.flip(0))
t.remainder(x, x.flip(0))
"""


def rows(table):
    return [line.strip() for line in table.strip().splitlines()]


def derivatives(library, row, dtype, order, cotangent=1.0):
    x = library.tensor(np.array(NUMBERS * 16, dtype), requires_grad=True)  # torch's vectors and the rest differ on NaN
    value = eval(row, {"t": library, "f": library.nn.functional, "x": x})
    for _ in range(order):
        weight = library.full_like(value, cotangent)
        (value,) = library.autograd.grad(value, x, weight, create_graph=True)
        if not value.requires_grad:
            break
    return value.detach().numpy(force=True)


def assert_alike(row, dtype, order, cotangent=1.0, signs=False):
    got, want = (derivatives(library, row, dtype, order, cotangent) for library in (pullback, torch))
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * (order > 0))
    if signs:
        zeros = want == 0
        np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", rows(VALUES))
def test_values_and_signs_of_zeros(row, dtype):
    assert_alike(row, dtype, 0, signs=True)


@pytest.mark.parametrize("repeats", [1, 5000])
def test_zeros_keep_their_signs_in_small_and_large_arrays(repeats):
    """Other kernels run where there are many elements."""
    x = pullback.tensor([-0.0, 0.0, -1.0, NAN]).repeat(repeats)
    for function in (pullback.relu, lambda x: x.clamp(0, 1), lambda x: x.clamp(min=0)):
        out = function(x)
        assert pullback.signbit(out[:2]).tolist() == [True, False] and not pullback.signbit(out[2])
        assert pullback.isnan(out[3])
    assert pullback.signbit(pullback.remainder(x, 2.0)[:2]).tolist() == [True, False]


@pytest.mark.parametrize("size", [1, 5000])
def test_softshrink_keeps_the_sign_of_what_it_drops(size):
    """As torch's loop does; its vectorized one gives 0."""
    x = pullback.full((size,), -0.1)
    assert pullback.signbit(pullback.nn.functional.softshrink(x)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", rows(SLOPES))
def test_slopes(row, dtype):
    assert_alike(row, dtype, 1)


@pytest.mark.parametrize("cotangent", [NAN, INF, 0.0])
@pytest.mark.parametrize(
    "row", ["x**0", "t.nan_to_num(x)", "f.hardtanh(x)", "f.softshrink(x)", "f.selu(x)", "t.relu(x)"]
)
def test_slopes_times_special_cotangents(row, cotangent):
    assert_alike(row, "float64", 1, cotangent)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", rows(CURVATURES))
def test_curvatures(row, dtype):
    assert_alike(row, dtype, 2)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("values", [[NAN], [INF], [1.0], [NAN, 1.0], [INF, 1.0]])
@pytest.mark.parametrize("correction", [0, 1, 2, 3])
def test_spread_of_too_few_numbers(name, values, correction):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got, want = (getattr(t, name)(t.tensor(values), correction=correction).item() for t in (pullback, torch))
    np.testing.assert_equal(got, want)


def test_whether_unknown_coordinates_differ_is_unknown():
    """Distances of order 0 count coordinates that differ."""
    for t in (pullback, torch):
        x = t.tensor([[NAN, 1.0, 2.0], [0.0, 1.0, 2.0], [INF, 0.0, 1.0]])
        np.testing.assert_equal(t.pdist(x, 0).tolist(), [NAN, NAN, 3.0])
        np.testing.assert_equal(t.cdist(x[1:], x, 0).tolist(), [[NAN, 0.0, 3.0], [NAN, 3.0, NAN]])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bins", [1, 3, 7, 10, 100])
def test_points_at_the_edges_of_histograms(bins, dtype):
    for low, high in ((0.0, 1.0), (-1.0, 2.0), (0.001, 1.001), (-0.3, 0.4)):
        edges = np.linspace(low, high, bins + 1).astype(dtype)
        points = np.concatenate((edges, np.nextafter(edges, -INF, dtype=dtype), np.nextafter(edges, INF, dtype=dtype)))
        counts = []
        for t in (pullback, torch):
            x = t.tensor(points)
            counts.append(
                [
                    t.histc(x, bins, low, high).tolist(),
                    t.histogram(x, bins, range=(low, high))[0].tolist(),
                    t.histogram(x, bins, range=(low, high))[1].tolist(),
                    t.histogramdd(x.reshape(-1, 3), [bins, 2, 2], range=[low, high] * 3)[0].tolist(),
                ]
            )
        assert counts[0] == counts[1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_evenly_spaced_numbers_are_rounded_once(dtype):
    for steps in (2, 3, 8, 11, 50, 101):
        for low, high in ((-1, 2), (0, 0.7), (-3.3, 17)):
            got, want = (t.linspace(low, high, steps, dtype=getattr(t, dtype)).tolist() for t in (pullback, torch))
            assert got == want


@pytest.mark.parametrize("point", [0.0, 1e-310, 1e-9, 1e-3, 0.3, 1.9, 2.1, 3.0, 40.0, -0.7])
@pytest.mark.parametrize("name", ["sinc", "spherical_bessel_j0"])
def test_derivatives_of_sine_over_x(name, point):
    """At 0, and near it, where quotients of small differences say nothing: the third as well."""
    factor = math.pi if name == "sinc" else 1.0
    x = pullback.tensor(point, dtype=pullback.float64, requires_grad=True)
    value, found = getattr(pullback.special, name)(x), []
    for _ in range(3):
        (value,) = pullback.autograd.grad(value, x, create_graph=True)
        found.append(value.item())
    # sin(z) / z is the mean of cos(t z) over t from 0 to 1
    t, weights = np.polynomial.legendre.leggauss(200)
    t, weights, z = (t + 1) / 2, weights / 2, factor * point
    means = [np.sum(weights * part) for part in (-t * np.sin(t * z), -(t**2) * np.cos(t * z), t**3 * np.sin(t * z))]
    np.testing.assert_allclose(
        found, [factor ** (n + 1) * mean for n, mean in enumerate(means)], rtol=1e-11, atol=1e-13
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log_ndtr_is_flat_far_out(dtype):
    x = pullback.tensor([20.0, 50.0, 700.0, -3.0], dtype=getattr(pullback, dtype), requires_grad=True)
    (slope,) = pullback.autograd.grad(pullback.special.log_ndtr(x).sum(), x, create_graph=True)
    (bend,) = pullback.autograd.grad(slope.sum(), x)
    expected = -slope.detach() * (x.detach() + slope.detach())
    np.testing.assert_allclose(bend.numpy(), expected.numpy(), rtol=1e-5, atol=1e-12)
