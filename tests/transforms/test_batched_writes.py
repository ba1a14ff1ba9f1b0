"""Writes through views, strided views and fills inside batches: Jacobians in one sweep, vmap as a loop, no warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pullback as P
from pullback.func import grad, hessian, jacrev, vmap

X = P.tensor(np.random.default_rng(0).random((20, 6)) + 0.3)


def every_other(x):
    y = x.clone()
    y[::2] = y[::2] * 3
    return y.sqrt()


def views_of_views(x):
    y = x.clone()
    y.view(2, -1)[0].mul_(2)
    tail = y[1:]
    tail.add_(x[0])
    return y * tail.sum()


def turned(x):
    y = x.clone()
    y[1:3] = x[0]
    y.reshape(2, -1).t()[1] = x[:2]
    return y**2


def strided(x):
    return (x * 1.0).as_strided((2, 2), (2, 1), 1) ** 2


def overlapping(x):
    windows = (x * 1.0).as_strided((3, 2), (1, 1), 0)
    return (windows * windows).sum(1)


def written_strided(x):
    y = x.clone()
    y.as_strided((2,), (2,), 1).mul_(x[:2])
    return y.sin()


def filled(x):
    y = x.clone()
    y[1:].zero_()
    y[0:2].fill_(2.0)
    y[3:].copy_(x[:3])
    return y * x


FUNCTIONS = [every_other, views_of_views, turned, strided, overlapping, written_strided, filled]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_a_loop(function):
    def total(x):
        return (function(x) ** 2).sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing runs example by example
        rows = jacrev(function)(X[0])
        values, gradients = vmap(function)(X), vmap(grad(total))(X)
    one_by_one = [grad(lambda x, n=n: function(x).reshape(-1)[n])(X[0]) for n in range(function(X[0]).numel())]
    np.testing.assert_allclose(rows.reshape(len(one_by_one), -1).numpy(), np.stack([np.asarray(r) for r in one_by_one]))
    np.testing.assert_allclose(values.numpy(), np.stack([function(x).numpy() for x in X]))
    np.testing.assert_allclose(gradients.numpy(), np.stack([grad(total)(x).numpy() for x in X]))


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_further_derivatives(function):
    def total(x):
        return (function(x) ** 2).sum()

    rows = jacrev(lambda x: P.stack([grad(lambda z, n=n: function(z).reshape(-1)[n])(x) for n in range(3)]))(X[0])
    np.testing.assert_allclose(
        jacrev(jacrev(lambda x: function(x).reshape(-1)))(X[0])[:3].numpy(), rows.numpy(), atol=1e-12
    )
    np.testing.assert_allclose(vmap(hessian(total))(X[:3])[1].numpy(), hessian(total)(X[1]).numpy(), atol=1e-12)
    together = grad(lambda batch: (vmap(function)(batch) ** 2).sum())(X)
    np.testing.assert_allclose(together.numpy(), vmap(grad(total))(X).numpy(), atol=1e-12)
