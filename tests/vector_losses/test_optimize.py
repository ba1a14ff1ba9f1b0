"""The bridge to SciPy: every method finds the minimum, and parameters come back as they were given."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as P
from pullback import optimize

pytest.importorskip("scipy")

METHODS = [
    None, "BFGS", "L-BFGS-B", "CG", "Newton-CG", "trust-ncg", "trust-krylov", "trust-exact", "dogleg", "trust-constr",
    "TNC", "SLSQP", "Nelder-Mead", "Powell",
]  # fmt: skip


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_minimum(method):
    start = P.tensor([0.9, 0.8, 0.7], dtype=P.float64)
    function = (lambda x: (x.cosh() + x**2).sum()) if method == "dogleg" else rosenbrock  # dogleg wants convexity
    options = {"maxfun": 2000} if method == "TNC" else {"maxiter": 2000}
    found = optimize.minimize(function, start, method=method, options=options)
    assert isinstance(found.x, P.Tensor) and found.x.dtype == P.float64
    np.testing.assert_allclose(found.x.numpy(), 0.0 if method == "dogleg" else 1.0, atol=2e-3)


def test_structures_dtypes_and_arguments():
    x0 = {"w": P.zeros(2, 2), "b": [P.zeros(3, dtype=P.float64)]}
    target = P.arange(4.0).reshape(2, 2)

    def loss(x, scale):
        return scale * ((x["w"] - target) ** 2).sum() + (x["b"][0] - 1).pow(4).sum()

    seen = []
    found = optimize.minimize(loss, x0, (3.0,), "BFGS", tol=1e-10, callback=seen.append)
    assert found.x["w"].dtype == P.float32 and found.x["w"].shape == (2, 2) and found.x["b"][0].dtype == P.float64
    np.testing.assert_allclose(found.x["w"].numpy(), target.numpy(), atol=1e-3)
    assert set(found.jac) == {"w", "b"} and seen and set(seen[0]) == {"w", "b"}
    assert x0["w"].abs().sum() == 0 and not x0["w"].requires_grad


def test_gradient_products_and_hessian():
    from pullback.func import hessian

    x = P.tensor([0.3, -0.2, 0.5], dtype=P.float64)
    objective = optimize.Objective(rosenbrock, x)
    flat = objective.flat(x)
    expected = hessian(rosenbrock)(x).numpy()
    value, slope = objective.value_and_gradient(flat)
    step = 1e-6
    for i in range(3):
        moved = flat + step * np.eye(3)[i]
        assert abs((objective.value(moved) - value) / step - slope[i]) < 1e-3
    np.testing.assert_allclose(objective.hessian(flat), expected)
    np.testing.assert_allclose(objective.product(flat, np.array([1.0, 2.0, 3.0])), expected @ [1.0, 2.0, 3.0])
    linear = optimize.Objective(lambda x: x.sum(), x)
    assert not linear.hessian(flat).any() and linear.gradient(flat).tolist() == [1.0, 1.0, 1.0]


def test_one_evaluation_for_each_point():
    calls = []

    def counted(x):
        calls.append(1)
        return rosenbrock(x)

    found = optimize.minimize(counted, P.zeros(3, dtype=P.float64), method="Newton-CG")
    assert len(calls) <= found.nfev + 2


def test_bounds_and_refusals():
    found = optimize.minimize(rosenbrock, P.zeros(2, dtype=P.float64), method="L-BFGS-B", bounds=[(0, 0.5)] * 2)
    assert float(found.x.max()) <= 0.5
    with pytest.raises(RuntimeError, match="one number"):
        optimize.minimize(lambda x: x, P.zeros(2))
    with pytest.raises(TypeError, match="floating point"):
        optimize.minimize(lambda x: x.sum(), P.zeros(2, dtype=P.int64))


@pytest.mark.parametrize("mode", [P.no_grad, P.inference_mode])
@pytest.mark.parametrize("method", [None, "Newton-CG", "trust-exact"])
def test_grad_mode_outside_does_not_matter(mode, method):
    with mode():
        found = optimize.minimize(lambda x: ((x - 1) ** 2).sum(), P.zeros(2), method=method)
    np.testing.assert_allclose(found.x.numpy(), 1.0, atol=1e-4)
