"""Batches that are written in place with something outside the batch that is differentiated."""

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")
X = np.array([[0.3, 0.9, -0.4], [1.3, -1.7, 0.8]])
W = np.array([0.7, -0.2, 1.1])


def a_clone(M, x, w):
    y = x.clone()
    y += w * x
    return y


def one_element(M, x, w):
    y = x.clone()
    y[0] = w[0] * x[1]
    return y


def a_product(M, x, w):
    y = x * 2
    y.mul_(w)
    y.sub_(w)
    return y


def a_view_made_before(M, x, w):
    y = x * 1
    part = y[1:]
    other = y[:2]
    part.add_(w[:2])
    return y.sum() * other


def a_view_returned(M, x, w):
    y = x * 1
    part = y[1:]
    y.copy_(w * x)
    return part


def a_view_of_a_view(M, x, w):
    y = x.expand(2, 3).clone()
    row = y[1]
    row[1:] *= w[:2]
    y[0] += row
    return y


FUNCTIONS = [value for value in globals().values() if getattr(value, "__module__", None) == __name__]
TRANSFORMS = {
    "grad": lambda M, f: M.func.grad(lambda w: (f(w) ** 2).sum())(M.tensor(W)),
    "jacrev": lambda M, f: M.func.jacrev(f)(M.tensor(W)),
    "jvp": lambda M, f: M.func.jvp(f, (M.tensor(W),), (M.tensor(W * 2),))[1],
    "jacfwd": lambda M, f: M.func.jacfwd(f)(M.tensor(W)),
    "hessian": lambda M, f: M.func.hessian(lambda w: (f(w) ** 3).sum())(M.tensor(W)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_written(function, transform):
    def run(M):
        x = M.tensor(X)
        return TRANSFORMS[transform](M, lambda w: M.func.vmap(lambda x: function(M, x, w))(x)).detach()

    np.testing.assert_allclose(run(pullback), run(torch), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("jacobian", ["jacrev", "functional"])
def test_a_custom_backward_that_looks_at_values(jacobian):
    """Row by row it may: jacrev with chunk_size=1, and autograd.functional.jacobian as it is."""

    def run(M):
        def backward(ctx, gradient):
            return gradient * len(gradient.nonzero())

        body = {"forward": lambda x: x * 1, "setup_context": lambda ctx, inputs, output: None, "backward": backward}
        looks = type("Looks", (M.autograd.Function,), {name: staticmethod(value) for name, value in body.items()})
        if jacobian == "jacrev":
            return M.func.jacrev(looks.apply, chunk_size=1)(M.tensor(W))
        return M.autograd.functional.jacobian(looks.apply, M.tensor(W))

    np.testing.assert_array_equal(run(pullback), run(torch))


OUTSIDE = {
    "vjp": lambda M, f, x: M.func.vjp(f, x)[0],
    "vjp with aux": lambda M, f, x: M.func.vjp(lambda x: (f(x), f(x) + 1), x, has_aux=True)[::2],
    "vjp, called": lambda M, f, x: M.func.vjp(f, x)[1](M.ones_like(x)),
    "grad_and_value": lambda M, f, x: M.func.grad_and_value(lambda x: f(x).sum())(x),
    "grad with aux": lambda M, f, x: M.func.grad(lambda x: (f(x).sum(), f(x)), has_aux=True)(x),
    "jacrev with aux": lambda M, f, x: M.func.jacrev(lambda x: (f(x), f(x)), has_aux=True)(x),
    "jvp": lambda M, f, x: M.func.jvp(f, (x,), (x,)),
    "jacfwd": lambda M, f, x: M.func.jacfwd(f)(x),
    "hessian": lambda M, f, x: M.func.hessian(lambda x: f(x).sum())(x),
    "linearize": lambda M, f, x: M.func.linearize(f, x)[0],
    "linearize, called": lambda M, f, x: M.func.linearize(f, x)[1](x),
    "vmap": lambda M, f, x: M.vmap(f)(M.stack([x, x])),
    "vmap of grad_and_value": lambda M, f, x: M.vmap(M.func.grad_and_value(lambda x: f(x).sum()))(M.stack([x, x])),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("name", OUTSIDE)
def test_what_a_transform_returns_is_recorded_as_what_is_around_it(name, recorded):
    """A transform records inside, also under no_grad; its results then have no history."""

    def histories(M):
        w = M.tensor(W, requires_grad=True)
        with M.set_grad_enabled(recorded):
            found = OUTSIDE[name](M, lambda x: x * x * w, M.tensor(W * 2))
        return [value.requires_grad for value in torch.utils._pytree.tree_flatten(found)[0]]

    assert histories(pullback) == histories(torch)
    assert any(histories(pullback)) is recorded
