"""`linearize`: the function runs once, its Jacobian as often as one likes, under every other transform."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
from pullback.func import grad, jacfwd, jacrev, jvp, linearize, vjp, vmap

X = pullback.tensor([0.3, -1.2, 2.0], dtype=pullback.float64)
V = pullback.tensor([1.0, 0.5, -2.0], dtype=pullback.float64)
Z = pullback.tensor([1 + 2j, 3 - 1j])
W = pullback.tensor(np.random.default_rng(0).standard_normal((3, 3)))

FUNCTIONS = {
    "product": lambda x: pullback.sin(x) * x.sum(),
    "matrix": lambda x: pullback.tanh(W @ x) @ W,
    "tree": lambda x: {"a": x.exp(), "b": [x.cumsum(0), (x > 0).sum()]},
    "constant": lambda x: (x, pullback.ones(2, dtype=pullback.float64)),
    "indexed": lambda x: x[[0, 0, 2]] * x[1:].prod(),
    "written": lambda x: pullback.zeros(3, dtype=pullback.float64).copy_(x).mul_(x),
}


def leaves(tree):
    return [np.asarray(leaf) for leaf in pullback.utils._pytree.tree_leaves(tree)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_equals_jvp_and_runs_once(name):
    runs = []

    def function(x):
        runs.append(1)
        return FUNCTIONS[name](x)

    value, push = linearize(function, X)
    pushed = [push(V), push(X)]
    assert len(runs) == 1
    for tangent, found in zip((V, X), pushed, strict=True):
        expected_value, expected = jvp(FUNCTIONS[name], (X,), (tangent,))
        for a, b in zip(leaves((value, found)), leaves((expected_value, expected)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    assert not any(leaf.requires_grad for leaf in pullback.utils._pytree.tree_leaves((value, pushed)))


def test_complex_and_not_holomorphic():
    def function(z):
        return (z.conj() * z * z).real + z.imag * 1j

    np.testing.assert_allclose(linearize(function, Z)[1](Z), jvp(function, (Z,), (Z,))[1], rtol=1e-6)


AROUND = {
    "vmap of the tangents": lambda f: vmap(linearize(f, X)[1])(W),
    "vmap of both": lambda f: vmap(lambda x, v: linearize(f, x)[1](v))(W, W * 2),
    "grad": lambda f: grad(lambda x: (linearize(f, x)[1](x) ** 2).sum())(X),
    "jacrev": lambda f: jacrev(linearize(f, X)[1])(V),
    "jacfwd": lambda f: jacfwd(linearize(f, X)[1])(V),
    "jvp": lambda f: jvp(lambda x: linearize(f, x)[1](x), (X,), (V,)),
    "vjp": lambda f: vjp(linearize(f, X)[1], V)[1](X),
    "itself": lambda f: linearize(lambda x: linearize(f, x)[1](V), X)[1](X),
}
BY_JVP = {
    "vmap of the tangents": lambda f: vmap(lambda v: jvp(f, (X,), (v,))[1])(W),
    "vmap of both": lambda f: vmap(lambda x, v: jvp(f, (x,), (v,))[1])(W, W * 2),
    "grad": lambda f: grad(lambda x: (jvp(f, (x,), (x,))[1] ** 2).sum())(X),
    "jacrev": lambda f: jacrev(lambda v: jvp(f, (X,), (v,))[1])(V),
    "jacfwd": lambda f: jacfwd(lambda v: jvp(f, (X,), (v,))[1])(V),
    "jvp": lambda f: jvp(lambda x: jvp(f, (x,), (x,))[1], (X,), (V,)),
    "vjp": lambda f: vjp(lambda v: jvp(f, (X,), (v,))[1], V)[1](X),
    "itself": lambda f: jvp(lambda x: jvp(f, (x,), (V,))[1], (X,), (X,))[1],
}


@pytest.mark.parametrize("function", ["product", "matrix", "indexed"])
@pytest.mark.parametrize("name", AROUND)
def test_under_other_transforms(name, function):
    found, expected = AROUND[name](FUNCTIONS[function]), BY_JVP[name](FUNCTIONS[function])
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    assert not any(leaf.requires_grad for leaf in pullback.utils._pytree.tree_leaves(found))


def test_custom_functions_use_their_own_jvp():
    class Twice(pullback.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 7  # wrong on purpose: it shows who was asked

    np.testing.assert_array_equal(linearize(Twice.apply, X)[1](V), 7 * np.asarray(V))


def test_errors():
    _, push = linearize(pullback.sin, X)
    with pytest.raises(RuntimeError, match="same argspec as the primals"):
        push(V, V)
    with pytest.raises(RuntimeError, match="tangent:0 with shape .* doesn't match the shape"):
        push(W)
    with pytest.raises(RuntimeError, match="tangent:0 with dtype .* doesn't match the dtype"):
        push(V.float())


def test_batch_norms_lose_their_running_statistics():
    model = pullback.nn.Sequential(pullback.nn.Linear(3, 3), pullback.nn.BatchNorm1d(3))
    assert pullback.func.replace_all_batch_norm_modules_(model) is model
    assert model[1].running_mean is None and not model[1].track_running_stats
    parameters = dict(model.named_parameters())
    samples = vmap(lambda x: pullback.func.functional_call(model, parameters, (x,)))(pullback.randn(4, 5, 3))
    assert samples.shape == (4, 5, 3)


def test_a_function_that_writes_over_what_a_backward_pass_needs():
    """Its values can be pushed forward all the same."""

    def f(x):
        y = x * 1
        first = y[:2]
        y[1:3] += first * x[0]
        return y

    x = pullback.tensor([1.0, 2.0, 3.0, 4.0])
    value, jvp_fn = linearize(f, x)
    assert value.tolist() == [1.0, 3.0, 5.0, 4.0]
    assert pullback.allclose(jvp_fn(x), jvp(f, (x,), (x,))[1])
