"""Custom functions under every pair of transforms: as the formula they stand for, with rules made or given."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as P
from pullback.func import grad, jacfwd, jacrev, jvp, linearize, vmap

X, W = P.tensor([1.0, 2.0, 3.0], dtype=P.float64), P.tensor(2.0, dtype=P.float64)
MANY = P.tensor([[1.0, 0.5], [-1.0, 2.0], [0.3, 0.1]], dtype=P.float64)


class Generated(P.autograd.Function):
    """exp(x) w, which saves its output."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, w):
        return x.exp() * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs, output)

    @staticmethod
    def backward(ctx, g):
        x, w, out = ctx.saved_tensors
        return out * g, (x.exp() * g).sum() if not w.ndim else x.exp() * g

    @staticmethod
    def jvp(ctx, x_tangent, w_tangent):
        x, w, out = ctx.saved_tensors
        return out * x_tangent + x.exp() * w_tangent


class Given(Generated):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x, w):
        x = x if in_dims[0] is None else x.movedim(in_dims[0], 0)
        return Given.apply(x, w if in_dims[1] is None else w.reshape(-1, *(1,) * (x.ndim - 1))), 0


class Straight(P.autograd.Function):
    """sign(x) with the gradient of the identity: forward's own derivative would be zero."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sign()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g

    @staticmethod
    def jvp(ctx, tangent):
        return tangent


class Pair(P.autograd.Function):
    """Two outputs, one of them the same for all examples."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, w):
        return x * w, w * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g, h):
        x, w = ctx.saved_tensors
        return g * w, (g * x).sum() + 2 * w * h


PROGRAMS = {
    "grad of vmap": lambda f: grad(lambda x: vmap(f, in_dims=(0, None))(x, W).sum())(X),
    "grad of vmap, shared": lambda f: grad(lambda w: vmap(f, in_dims=(0, None))(X, w).sum())(W),
    "grad of vmap, vectors": lambda f: grad(lambda x: (vmap(f, in_dims=(0, None))(x, W) ** 2).sum())(MANY),
    "backward through vmap": lambda f: _backward(lambda x: vmap(f, in_dims=(0, None))(x, W)),
    "vmap of grad": lambda f: vmap(grad(f), in_dims=(0, None))(X, W),
    "vmap of grad, shared": lambda f: vmap(grad(f, argnums=1), in_dims=(0, None))(X, W),
    "jacrev twice": lambda f: jacrev(jacrev(lambda x: f(x, W)))(X),
    "jvp of vmap": lambda f: jvp(lambda x: vmap(f, in_dims=(0, None))(x, W), (X,), (X,)),
    "vmap of jvp": lambda f: vmap(lambda x: jvp(lambda z: f(z, W), (x,), (x,)))(X),
    "jacfwd of jacrev": lambda f: jacfwd(jacrev(lambda x: f(x, W)))(X),
    "jacfwd twice": lambda f: jacfwd(jacfwd(lambda x: f(x, W)))(X),
    "jacrev of jacfwd": lambda f: jacrev(jacfwd(lambda x: f(x, W)))(X),
    "vmap of a hessian": lambda f: vmap(jacrev(jacrev(lambda x: f(x, W))))(X),
    "grad of vmap of grad": lambda f: grad(lambda w: vmap(grad(f), in_dims=(0, None))(X, w).sum())(W),
    "grad of grad of vmap": lambda f: grad(lambda w: grad(lambda v: vmap(f, in_dims=(0, None))(X, v).pow(2).sum())(w))(
        W
    ),
    "hessian of vmap": lambda f: jacrev(jacrev(lambda x: vmap(f, in_dims=(0, None))(x, W).pow(2).sum()))(X),
    "vmap of vmap": lambda f: grad(lambda x: vmap(vmap(f, (0, None)), (0, None))(x, W).sum())(MANY),
    "linearize": lambda f: linearize(lambda x: f(x, W), X)[1](X),
}


def _backward(f):
    x = X.clone().requires_grad_()
    f(x).sum().backward()
    return x.grad


@pytest.mark.parametrize("function", [Generated, Given], ids=["generated", "given"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_the_formula(name, function):
    found, expected = PROGRAMS[name](function.apply), PROGRAMS[name](lambda x, w: x.exp() * w)
    for got, want in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, expected)), strict=True):
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-10)


def test_its_own_gradient_counts_not_that_of_its_forward():
    for program in (
        lambda: grad(lambda x: (vmap(Straight.apply)(x) * X).sum())(X), lambda: vmap(grad(Straight.apply))(X) * X,
        lambda: jvp(vmap(Straight.apply), (X,), (X,))[1], lambda: _backward(lambda x: vmap(Straight.apply)(x) * X),
    ):  # fmt: skip
        np.testing.assert_array_equal(program().numpy(), X.numpy())


def test_several_outputs():
    def total(f):
        return grad(lambda w: sum((part * part).sum() for part in vmap(f, in_dims=(0, None))(X, w)))(W)

    np.testing.assert_allclose(total(Pair.apply).numpy(), total(lambda x, w: (x * w, w * w)).numpy())


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_its_own_vmap_sees_the_dims_that_were_given(dim):
    seen = []

    class Doubled(P.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def vmap(info, in_dims, x):
            seen.append((in_dims, info.batch_size, tuple(x.shape)))
            return Doubled.apply(x), in_dims[0]

    x = P.randn(2, 3, 4)
    found = vmap(Doubled.apply, in_dims=dim)(x)
    assert seen == [((dim % 3,), x.shape[dim], (2, 3, 4))]
    np.testing.assert_allclose(found.numpy(), 2 * np.moveaxis(x.numpy(), dim, 0))
    seen.clear()
    vmap(lambda x: Doubled.apply(x.sin()), in_dims=dim)(x)  # a result: torch may have it anywhere, here it is in front
    assert seen[0][0] == (0,)
