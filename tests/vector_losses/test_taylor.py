"""Taylor mode against nested forward mode and against known series."""

from __future__ import annotations

import gc
import math
import sys

import numpy as np
import pytest

import pullback as P
from pullback.func import series


def _x(*shape):
    return P.tensor(np.random.default_rng(0).random(shape) * 0.6 + 0.2)


def _d(*shape):
    return P.tensor(np.random.default_rng(1).standard_normal(shape))


W = P.tensor(np.random.default_rng(2).standard_normal((4, 4)))
ONE_PASS = {
    name: getattr(P, name)
    for name in (
        "sin cos tan exp log sqrt rsqrt reciprocal tanh sinh cosh atan asin sigmoid square erf log1p expm1 neg abs "
        "relu lgamma digamma exp2 log2 asinh atanh"
    ).split()
} | {
    "power": lambda x: x**3.5,
    "cube": lambda x: x**3,
    "quotient": lambda x: x.sin() / (1 + x * x),
    "power of itself": lambda x: x**x,
    "tensor over": lambda x: W[0] / x.exp(),
    "over one number": lambda x: x / x[0],
    "number over": lambda x: 2 / x,
    "softplus": P.nn.functional.softplus,
    "silu": P.nn.functional.silu,
    "gelu": P.nn.functional.gelu,
    "slices": lambda x: (x[1:] * x[:-1]).cumsum(0),
    "joined": lambda x: P.cat([x.sin(), x.flip(0)]).reshape(2, -1).sum(0),
    "matrix": lambda x: (W @ x).tanh() @ W,
    "quadratic": lambda x: x @ W @ x,
    "mean and variance": lambda x: P.stack([x.mean(), x.var()]),
    "softmax": lambda x: x.softmax(0),
    "log softmax": lambda x: x.log_softmax(0),
    "norm": lambda x: x.norm(),
    "logsumexp": lambda x: x.logsumexp(0),
    "product": lambda x: x.prod(),
    "where": lambda x: P.where(x > 0.4, x.exp(), x**2),
    "network": lambda x: P.nn.functional.linear(P.nn.functional.linear(x, W, W[0]).tanh(), W).exp().sum(),
    "constant": lambda x: P.ones(3, dtype=x.dtype),
    "largest": lambda x: x.max() ** 2,
}


def _ours_and_nested(f, x, d, order):
    return P.taylor(f, x, d, order), series._nested(f, x, d, order)


@pytest.mark.parametrize("name", ONE_PASS)
def test_derivatives_are_those_of_nested_forward_mode(name, monkeypatch):
    f, x, d = ONE_PASS[name], _x(4), _d(4)
    expected = series._nested(f, x, d, 4)
    monkeypatch.setattr(series, "_nested", None)  # one pass, or it fails
    found = P.taylor(f, x, d, 4)
    assert len(found) == 5
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-8, atol=1e-9)


def test_a_node_called_as_products_are_is_no_product():
    """RMS norm, of what it normalizes and of the weights: torch calls its node MulBackward0, too."""
    found, expected = _ours_and_nested(lambda x: P.nn.functional.rms_norm(x, x.shape, x * x, 1e-5), _x(4), _d(4), 3)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-8)


def test_known_series_to_high_order():
    x, d = P.tensor(0.0, dtype=P.float64), P.tensor(1.0, dtype=P.float64)
    cases = {
        "exp": (P.exp, [1.0] * 13),
        "sin": (P.sin, [0.0, 1.0, 0.0, -1.0] * 3 + [0.0]),
        "geometric": (lambda x: 1 / (1 - x), [float(math.factorial(k)) for k in range(13)]),
    }
    for f, expected in cases.values():
        found = [float(value) for value in P.taylor(f, x, d, 12)]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_broadcasting_structures_and_order_zero():
    x, d = {"a": _x(3), "b": [_x(2, 1)]}, {"a": _d(3), "b": [_d(2, 1)]}

    def f(x):
        product = x["a"] * x["b"][0]
        return product.sin(), [product / x["a"]]

    found, expected = _ours_and_nested(f, x, d, 3)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got[0].numpy(), want[0].numpy(), atol=1e-10)
        np.testing.assert_allclose(got[1][0].numpy(), want[1][0].numpy(), atol=1e-10)
    assert len(P.taylor(P.sin, _x(2), _d(2), 0)) == 1


class Cube(P.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * t


def test_what_cannot_be_followed_is_nested(monkeypatch):
    asked = []
    monkeypatch.setattr(series, "_nested", lambda *args: asked.append(args) or ["fallback"])
    assert P.taylor(Cube.apply, _x(2), _d(2), 2) == ["fallback"] and len(asked) == 1


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="direction"):
        P.taylor(P.sin, _x(3), _d(2), 2)
    with pytest.raises(ValueError, match="order"):
        P.taylor(P.sin, _x(3), _d(3), -1)


@pytest.mark.parametrize("name", ONE_PASS)
def test_cost_grows_with_the_square_of_the_order_at_most(name):
    f, x, d = ONE_PASS[name], _x(4), _d(4)

    def calls(order):
        count = 0

        def count_up(frame, event, argument):
            nonlocal count
            count += 1

        gc.disable()  # what others left behind is not to be counted
        sys.setprofile(count_up)
        try:
            P.taylor(f, x, d, order)
        finally:
            sys.setprofile(None)
            gc.enable()
        return count

    P.taylor(f, x, d, 2)  # first uses import things
    assert calls(12) <= 4.5 * calls(6)


POWERS = {
    "of itself": (lambda x: x**x, lambda x: (x * x.log()).exp()),
    "of a tensor": (lambda x: x ** W[0], lambda x: (W[0] * x.log()).exp()),
    "a tensor to": (lambda x: W[0].abs() ** x, lambda x: (x * W[0].abs().log()).exp()),
    "a number to": (lambda x: 1.5**x, lambda x: (x * math.log(1.5)).exp()),
    "negative": (lambda x: x**-3, lambda x: 1 / (x * x * x)),
    "fraction": (lambda x: x**1.5, lambda x: x * x.sqrt()),
    "of negative numbers": (lambda x: (-x) ** -2, lambda x: 1 / (x * x)),
}


@pytest.mark.parametrize("name", POWERS)
def test_powers_of_high_order(name):
    f, same = POWERS[name]
    x, d = _x(4), _d(4)
    for got, want in zip(P.taylor(f, x, d, 9), P.taylor(same, x, d, 9), strict=True):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-7, atol=1e-9)


def test_powers_at_zero():
    x, d = P.tensor([0.0, 1.0, -2.0], dtype=P.float64), P.ones(3, dtype=P.float64)
    found = [value.tolist() for value in P.taylor(lambda x: x**2, x, d, 4)]
    assert found == [[0, 1, 4], [0, 2, -4], [2, 2, 2], [0, 0, 0], [0, 0, 0]]
    assert [v.tolist()[0] for v in P.taylor(lambda x: x**2.5, x.abs(), d, 2)] == [0, 0, 0]


def test_long_graphs_do_not_recurse():
    def f(x):
        for _ in range(2000):
            x = x * 1.0001 + 0.0001
        return x.sin()

    assert len(P.taylor(f, _x(1), _d(1), 2)) == 3


BY_PRODUCTS = {
    "layer norm": lambda x: P.nn.functional.layer_norm(P.stack([x, x * x, x.sin()], 1), (3,)),
    "batch norm": lambda x: P.nn.functional.batch_norm(P.stack([x, x * x, x.sin()]), None, None, training=True),
    "attention": lambda x: P.nn.functional.scaled_dot_product_attention(*[P.stack([x, x * x])] * 3),
    "convolution": lambda x: P.nn.functional.conv1d(P.stack([x, x * x]), x.reshape(1, 2, 1)),
    "cross entropy": lambda x: P.nn.functional.cross_entropy(P.stack([x, x * x]), P.tensor([0, 1])),
}


@pytest.mark.parametrize("name", BY_PRODUCTS)
def test_rules_that_look_at_by_products(name):
    f, x, d = BY_PRODUCTS[name], _x(2), _d(2)
    slope = P.func.grad(lambda s: f(x + s * d).sin().sum())
    found = P.taylor(lambda x: f(x).sin().sum(), x, d, 3)[1:]
    at = P.zeros((), dtype=x.dtype)
    expected = [slope(at), P.func.grad(slope)(at), P.func.grad(P.func.grad(slope))(at)]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-9)
