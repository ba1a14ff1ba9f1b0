"""Operations whose pullbacks are operations of their own: derivatives of these, against torch, and in batches."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
import pullback.func
import pullback.nn.functional

torch = pytest.importorskip("torch")

THIRD = {
    "mm": (lambda T, a, b: T.mm(a, b).tanh(), ((3, 4), (4, 2))),
    "linear": (lambda T, a, b: T.nn.functional.linear(a, b).sigmoid(), ((3, 4), (2, 4))),
    "tanh": (lambda T, a, b: T.tanh(a) * b, ((5,), (5,))),
    "sigmoid": (lambda T, a, b: T.sigmoid(a) * b, ((5,), (5,))),
}


@pytest.mark.parametrize("code", ["float64", "complex128"])
@pytest.mark.parametrize("name", THIRD)
def test_third_derivatives(name, code):
    """Products and activations whose pullbacks are operations of their own: derivatives of these, and of those."""
    function, shapes = THIRD[name]
    rng = np.random.default_rng(0)
    arrays = [
        rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if code == "complex128" else 0)
        for shape in shapes
    ]
    found = []
    for library in (pullback, torch):
        tensors = [library.tensor(array, requires_grad=True) for array in arrays]
        value, orders = function(library, *tensors), []
        for _ in range(3):
            value = (value * value.conj()).real.sum() if code == "complex128" else (value * value).sum()
            gradients = library.autograd.grad(value, tensors, create_graph=True)
            orders += gradients
            value = sum(gradient.sum() for gradient in gradients)
        found.append(orders)
    for got, want in zip(*found):
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-9, atol=1e-9)


def test_second_derivatives_in_batches():
    """The same under vmap: each example as it is alone."""
    rng = np.random.default_rng(0)
    X, W = pullback.tensor(rng.standard_normal((3, 2, 4))), pullback.tensor(rng.standard_normal((4, 4)))
    inner = pullback.func.grad(lambda x: (pullback.sigmoid(pullback.tanh(x @ W) @ W) ** 2).sum())
    outer = pullback.func.grad(lambda x: (inner(x) ** 2).sum())
    both = pullback.func.vmap(outer)(X)
    for number in range(3):
        np.testing.assert_allclose(both[number].numpy(), outer(X[number]).numpy(), rtol=1e-10)


@pytest.mark.parametrize("power", ["x**1", "x**2", "x**3", "x**4", "x.square()", "t.pow(x, 2)", "2 * x**2 - x"])
def test_derivatives_of_powers_end_where_those_of_torch_do(power):
    """The derivative of a constant slope is 0, and is there to be asked for."""
    answers = []
    for t in (torch, pullback):
        x = t.tensor([0.0, 1.0, 2.0, -1.5], requires_grad=True)
        slope, found = eval(power, {"t": t, "x": x}), []
        while slope.requires_grad:
            (slope,) = t.autograd.grad(slope.sum(), x, create_graph=True)
            found.append(slope.tolist())
        answers.append(found)
    assert answers[0] == answers[1]
