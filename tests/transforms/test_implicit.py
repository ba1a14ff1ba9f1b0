"""Derivatives of solutions, against closed forms and difference quotients."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as P
from pullback import implicit
from pullback.autograd import gradcheck, gradgradcheck


def _leaf(values):
    return P.tensor(values, dtype=P.float64, requires_grad=True)


def test_root_of_a_polynomial_and_its_derivatives():
    a = _leaf([2.0, 3.0])
    x = implicit.root(lambda x, a: x**2 - a, P.ones(2, dtype=P.float64), a)
    np.testing.assert_allclose(x.detach().numpy(), np.sqrt([2.0, 3.0]))
    (first,) = P.autograd.grad(x.sum(), a, create_graph=True)
    np.testing.assert_allclose(first.detach().numpy(), 0.5 / np.sqrt([2.0, 3.0]))
    (second,) = P.autograd.grad(first.sum(), a)
    np.testing.assert_allclose(second.numpy(), -0.25 * np.array([2.0, 3.0]) ** -1.5)


def test_root_of_a_system():
    def system(x, m, b):
        return m @ x + 0.1 * x**3 - b

    m = _leaf([[3.0, 1.0], [0.5, 2.0]])
    b = _leaf([1.0, -1.0])
    start = P.zeros(2, dtype=P.float64)
    assert gradcheck(lambda m, b: implicit.root(system, start, m, b), (m, b))
    assert gradgradcheck(lambda m, b: implicit.root(system, start, m, b), (m, b))


def test_fixed_point():
    w = _leaf([[0.1, 0.2], [-0.3, 0.1]])
    b = _leaf([0.5, 0.2])
    start = P.zeros(2, dtype=P.float64)
    assert gradcheck(lambda w, b: implicit.fixed_point(lambda x, w, b: (w @ x + b).tanh(), start, w, b), (w, b))
    with pytest.raises(RuntimeError, match="no convergence"):
        implicit.fixed_point(lambda x: 2 * x + 1, P.ones(2), max_iters=20)


@pytest.mark.parametrize("symmetric", [True, False])
def test_linear_solve_without_a_matrix(symmetric):
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((5, 5))
    matrix = matrix @ matrix.T + 5 * np.eye(5) if symmetric else matrix + 4 * np.eye(5)
    a, b = _leaf(matrix), _leaf(rng.standard_normal(5))

    def apply(x, a):
        return (a + a.T) @ x / 2 if symmetric else a @ x

    x = implicit.linear_solve(apply, b, a, symmetric=symmetric)
    np.testing.assert_allclose(x.detach().numpy(), np.linalg.solve(matrix, b.detach().numpy()))
    assert gradcheck(lambda a, b: implicit.linear_solve(apply, b, a, symmetric=symmetric), (a, b))


@pytest.mark.parametrize("method", ["L-BFGS-B", "BFGS", "trust-ncg", "Newton-CG"])
def test_minimize_trees_with_scipy(method):
    pytest.importorskip("scipy")

    def rosenbrock(tree):
        x, y = tree["x"], tree["y"][0]
        return ((1 - x) ** 2 + 100 * (y - x**2) ** 2).sum()

    start = {"x": P.tensor([-1.0, 0.5], dtype=P.float64), "y": [P.tensor([1.0, 0.3], dtype=P.float64)]}
    result = implicit.minimize(rosenbrock, start, method=method)
    np.testing.assert_allclose(result.tree["x"].numpy(), 1, atol=1e-4)
    np.testing.assert_allclose(result.tree["y"][0].numpy(), 1, atol=1e-4)
