"""Functions with writes, norms and contractions under three and more transforms, followed by tapes and tangents outside."""

from __future__ import annotations

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
X, W = RNG.standard_normal(4), RNG.standard_normal((4, 4)) / 2


def written(M, x):
    y = x.clone()
    y[1:] = x[:-1] * 2
    y.mul_(x.cos())
    return y


def filled(M, x):
    y = M.zeros_like(x)
    y[0] = x[1]
    y += x * x
    y[2].mul_(x[0])
    return y


def seen_before(M, x):
    y = x.clone()
    view = y[1:]
    y.mul_(x.cos())
    return y * view.sum()


def through_views(M, x):
    y = x.clone()
    view, other = y[1:], y.reshape(2, 2).T
    view.mul_(x[0])
    other.add_((x * x).reshape(2, 2))
    return y * view.sum() + other.reshape(4)


FUNCTIONS = {
    "seen before": seen_before,
    "through views": through_views,
    "written": written,
    "filled": filled,
    "contraction": lambda M, x: M.einsum("i,ij,j->i", x, M.tensor(W), x),
    "norm": lambda M, x: (
        x / (1 + (x.norm() if M is pullback else (x * x).sum().sqrt()))
    ),  # torch's fails at the third order
    "stopped": lambda M, x: x.sin() * x.detach() * x,
    "linear": lambda M, x: x.flip(0).cumsum(0) * 2,
    "product": lambda M, x: M.tensor(W) @ x * x.sum(),
}
NESTINGS = {
    "grad": lambda M, f: M.func.grad(lambda x: f(x).sum()),
    "jacrev": lambda M, f: lambda x: M.func.jacrev(f)(x).sum(0),
    "jacfwd": lambda M, f: lambda x: M.func.jacfwd(f)(x).sum(1),
    "jvp": lambda M, f: lambda x: M.func.jvp(f, (x,), (x.cos(),))[1],
    "vjp": lambda M, f: lambda x: M.func.vjp(f, x)[1](x.sin())[0],
    "vmap": lambda M, f: lambda x: M.vmap(f)(M.stack([x, x * 0.5])).sum(0),
    "vmap of a closure": lambda M, f: (
        lambda x: M.vmap(lambda s: f(x * s))(M.tensor([1.0, 0.5, -0.3], dtype=M.float64)).sum(0)
    ),
    "value": lambda M, f: lambda x: M.func.grad_and_value(lambda x: f(x).sin().sum())(x)[1] * x,
}


def _followed(M, f, way):
    x = M.tensor(X)
    if way == "tape":
        y = f(x.requires_grad_())
        return M.autograd.grad((y * y).sum(), x, materialize_grads=True)[0] if y.requires_grad else y * 0
    if way == "tangent" and M is torch:  # which has no jvp inside a dual level
        return M.func.jvp(f, (x,), (x.cos(),))[1]
    if way == "tangent":
        forward = M.autograd.forward_ad
        with forward.dual_level():
            found = forward.unpack_dual(f(forward.make_dual(x, x.cos())))
            return found.primal * 0 if found.tangent is None else found.tangent
    with M.no_grad() if way == "no_grad" else M.enable_grad():
        return f(x)


CHAINS = [
    ("grad", "vmap", "vmap"), ("value", "vmap", "vmap"), ("jvp", "jvp", "vmap"), ("jacrev", "jacrev"), ("grad", "jvp"),
    ("jacrev", "jacrev", "jvp"), ("vmap of a closure", "grad", "jvp"), ("vmap of a closure", "jvp", "grad"),
    ("jvp", "grad", "vmap"), ("vjp", "vmap"), ("grad", "vmap of a closure", "jacrev"), ("jacfwd", "jacrev", "grad"),
    ("vmap", "vjp", "jvp"), ("jacfwd", "vmap"), ("jacfwd", "vmap", "vmap"), ("jacrev", "jacfwd", "vmap"),
]  # fmt: skip


@pytest.mark.parametrize("way", ["plain", "no_grad", "tape", "tangent"])
@pytest.mark.parametrize("chain", CHAINS, ids=[", ".join(chain) for chain in CHAINS])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nested(name, chain, way):
    answers = []
    for M in (pullback, torch):
        f = lambda x, M=M: FUNCTIONS[name](M, x)
        for step in chain:
            f = NESTINGS[step](M, f)
        answers.append(_followed(M, f, way).detach().numpy())
    np.testing.assert_allclose(*answers, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("program", ["vjp", "linearize"])
def test_weights_from_outside_a_batch_are_followed(program):
    """The function is linear, so only the cotangents or tangents that it is given lead anywhere."""

    def product(row):
        point = pullback.ones(4, dtype=pullback.float64)
        if program == "vjp":
            return pullback.func.vjp(lambda s: s * 3, point)[1](row)[0]
        return pullback.func.linearize(lambda s: s * 3, point)[1](row)

    x = pullback.tensor(W, requires_grad=True)
    (gradient,) = pullback.autograd.grad((pullback.vmap(product)(x) ** 2).sum(), x)
    np.testing.assert_allclose(gradient.numpy(), 18 * W)


def _product_of(M):
    class Product(M.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x**2 * y, x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs, *output)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g, h):
            x, y, first, _ = ctx.saved_tensors
            return 2 * x * y * g + 3 * h, first / y * g

        @staticmethod
        def jvp(ctx, s, t):
            x, y = ctx.saved_tensors
            return 2 * x * y * s + x**2 * t, 3 * s

    return Product


@pytest.mark.parametrize(
    "around",
    [
        lambda M, f: lambda x: M.func.jvp(M.func.grad(f), (x,), (x,))[1],
        lambda M, f: M.func.jacfwd(M.func.jacrev(f)),
        lambda M, f: M.func.jacfwd(M.func.jacrev(M.func.jacrev(f))),
        lambda M, f: lambda x: M.vmap(M.func.jacfwd(M.func.jacrev(f)))(M.stack([x, x * 0.5])),
    ],
)
def test_what_a_custom_function_saved_has_its_tangents(around):
    """Forward over reverse: its inputs are results of something else."""
    answers = []
    for M in (pullback, torch):

        def f(x, M=M):
            first, second = _product_of(M).apply(x.sin(), x.cos() + 2)
            return (first * second.sin()).sum()

        answers.append(around(M, f)(M.tensor(X)).numpy())
    np.testing.assert_allclose(*answers, rtol=1e-9)


@pytest.mark.parametrize(
    "names", [("jacrev", "jacfwd", "jacfwd"), ("jacfwd", "jacfwd"), ("jacfwd", "jacfwd", "jacrev"), ("grad", "vmap")]
)
def test_a_custom_function_of_what_all_examples_share(names):
    """The Jacobian's examples are its tangents: the values themselves are the same for all. Torch is wrong here."""

    def custom(x):
        first, second = _product_of(pullback).apply(x.sin(), x.cos() + 2)
        return (first * second.sin()).sum()

    def written_out(x):
        return (x.sin() ** 2 * (x.cos() + 2) * (3 * x.sin()).sin()).sum()

    answers = []
    for f in (custom, written_out):
        for name in names:
            f = NESTINGS["vmap of a closure"](pullback, f) if name == "vmap" else getattr(pullback.func, name)(f)
        answers.append(f(pullback.tensor(X)).numpy())
    np.testing.assert_allclose(*answers, rtol=1e-9, atol=1e-12)
