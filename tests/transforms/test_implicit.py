"""Derivatives of solutions, against closed forms and difference quotients."""

from __future__ import annotations

import numpy as np

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
