"""`torch.special` against torch, and derivatives torch lacks against difference quotients."""

from __future__ import annotations

import numpy as np
import pytest
from against_torch import assert_same, compare, torch

import pullback
from pullback.autograd import gradcheck, gradgradcheck

RANDOM = np.random.default_rng(2)
TABLE = [
    *(
        (name, -2.5, 2.5)
        for name in (
            "erf",
            "erfc",
            "erfcx",
            "i0",
            "i0e",
            "i1",
            "i1e",
            "ndtr",
            "log_ndtr",
            "sinc",
            "expit",
            "exp2",
            "expm1",
            "round",
        )
    ),
    *((name, 0.1, 4.0) for name in ("entr", "gammaln", "digamma", "psi", "log1p")),
    *((name, 0.1, 0.9) for name in ("logit", "ndtri", "erfinv")),
]


@pytest.mark.parametrize(("name", "low", "high"), TABLE)
def test_with_torch(name: str, low: float, high: float) -> None:
    names = name not in ("round", "ndtr")
    compare(lambda t, x: getattr(t.special, name)(x), RANDOM.uniform(low, high, (3, 5)), names=names)
    compare(
        lambda t, x: getattr(t.special, name)(x), RANDOM.uniform(low, high, 4).astype(np.float32), order=1, names=names
    )
    if name != "round":
        integers = np.array([0] if high < 1 else [1, 2])
        compare(lambda t, x: getattr(t.special, name)(x), integers)


@pytest.mark.parametrize("n", range(4))
def test_polygamma(n: int) -> None:
    x = RANDOM.uniform(0.2, 4, 6)
    compare(lambda t, x: t.polygamma(n, x), x, order=1, names=n > 0)
    compare(lambda t, x: x.polygamma(n), x, order=1, names=n > 0)


def test_two_operands() -> None:
    x, y = RANDOM.uniform(0.2, 3, 6), RANDOM.uniform(0.2, 3, 6)
    compare(lambda t, x, y: t.special.xlogy(x, y), x, y)
    compare(lambda t, x, y: t.special.xlog1py(x, y), x, y)
    compare(lambda t, x, y: t.igamma(x.detach(), y), x, y)
    compare(lambda t, x, y: t.igammac(x.detach(), y), x, y)
    compare(lambda t, y: t.special.zeta(3.0, y), y + 0.5)
    compare(lambda t, x: t.special.multigammaln(x + 3, 3), x, names=False)
    compare(lambda t, x: t.special.xlogy(x, 2.0), np.array([0.0, 1.0]), order=1, names=False)


def test_derivatives_in_the_order() -> None:
    """Torch has none: finite differences, to second order and forwards, and known values far out."""
    a, x = (pullback.tensor(values, requires_grad=True) for values in ([0.6, 1.5, 9.0], [0.2, 2.5, 12.0]))
    a, x = a.double().detach().requires_grad_(), x.double().detach().requires_grad_()
    for function in (pullback.igamma, pullback.igammac, lambda a, x: pullback.special.zeta(a + 1, x)):
        assert gradcheck(function, (a, x), check_forward_ad=True)
        assert gradgradcheck(function, (a, x))
    order = pullback.tensor([300.0, 0.5, 3.0, 3.0], dtype=pullback.float64, requires_grad=True)
    pullback.igamma(order, pullback.tensor([290.0, 0.0, 2000.0, 1e-8], dtype=pullback.float64)).sum().backward()
    # d/da P(300, 290) by high-precision differences; nothing is left to vary at 0 and far beyond the shape
    np.testing.assert_allclose(order.grad[:3].numpy(), [-0.0197596242769840, 0, 0], rtol=1e-9, atol=1e-15)


EXTRA = [
    *(
        (name, 0.3, 6.0)
        for name in (
            "bessel_j0",
            "bessel_j1",
            "bessel_y0",
            "bessel_y1",
            "modified_bessel_i0",
            "modified_bessel_i1",
            "modified_bessel_k0",
            "modified_bessel_k1",
            "scaled_modified_bessel_k0",
            "scaled_modified_bessel_k1",
            "spherical_bessel_j0",
            "airy_ai",
        )
    ),
]
POLYNOMIALS = (
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
)


def slope(function, x: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """A derivative from differences of order four."""
    return (8 * (function(x + step) - function(x - step)) - (function(x + 2 * step) - function(x - 2 * step))) / (
        12 * step
    )


@pytest.mark.parametrize(("name", "low", "high"), EXTRA)
def test_derivatives_torch_lacks(name: str, low: float, high: float) -> None:
    function = getattr(pullback.special, name)
    values = RANDOM.uniform(low, high, 7)
    x = pullback.tensor(values, requires_grad=True)
    (first,) = pullback.autograd.grad(function(x).sum(), x, create_graph=True)
    plain = lambda v: function(pullback.tensor(v)).numpy()
    np.testing.assert_allclose(first.detach().numpy(), slope(plain, values), rtol=1e-6, atol=1e-7)
    (second,) = pullback.autograd.grad(first.sum(), x)
    gradient = lambda v: first_derivative(function, v)
    np.testing.assert_allclose(second.numpy(), slope(gradient, values), rtol=1e-6, atol=1e-6)
    assert_same(function(pullback.tensor(values).float()), getattr(torch.special, name)(torch.tensor(values).float()))


def first_derivative(function, values: np.ndarray) -> np.ndarray:
    x = pullback.tensor(values, requires_grad=True)
    return pullback.autograd.grad(function(x).sum(), x)[0].numpy()


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name: str) -> None:
    function = getattr(pullback.special, name)
    values, orders = RANDOM.uniform(0.1, 0.9, 8), np.arange(8)
    call = lambda v: function(pullback.tensor(v), pullback.tensor(orders)).numpy()
    reference = getattr(torch.special, name)(torch.tensor(values), torch.tensor(orders)).numpy()
    np.testing.assert_allclose(call(values), reference, rtol=1e-8)
    x = pullback.tensor(values, requires_grad=True)
    (first,) = pullback.autograd.grad(function(x, pullback.tensor(orders)).sum(), x)
    np.testing.assert_allclose(first.numpy(), slope(call, values), rtol=1e-6, atol=1e-6)


def test_ends_of_the_interval() -> None:
    """At -1 and 1 the formulas divide nothing by nothing; the limits are known."""
    for name in ("chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "legendre_polynomial_p"):
        function = getattr(pullback.special, name)
        for end in (-1.0, 1.0):
            for order in range(5):
                exact = first_derivative(lambda x, n=order: function(x, n), np.array([end]))
                near = slope(lambda v, n=order: function(pullback.tensor(v), n).numpy(), np.array([end]))
                np.testing.assert_allclose(exact, near, rtol=1e-5, atol=1e-5, err_msg=f"{name} {order} at {end}")


def test_ufuncs_of_scipy() -> None:
    special = pytest.importorskip("scipy.special")
    x = pullback.tensor(RANDOM.uniform(0.2, 0.8, 4), requires_grad=True)
    for name in ("erf", "gammaln", "expit", "j0", "k1", "ndtr", "psi", "i0e", "logit", "entr"):
        result = getattr(special, name)(x)
        np.testing.assert_allclose(result.detach().numpy(), getattr(special, name)(x.detach().numpy()), rtol=1e-10)
        assert result.requires_grad
