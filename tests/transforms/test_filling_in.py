"""Tensors that a function makes and fills in place, under every transform and pair of transforms, as torch does it."""

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")
X = np.array([[0.3, 0.9, -0.4], [1.3, -1.7, 0.8]])


def copied(M, x):
    y = M.zeros_like(x)
    y.copy_(x)
    return y


def one_element(M, x):
    y = M.zeros_like(x)
    y[0] = x[1]
    return y


def everything(M, x):
    y = M.empty_like(x)
    y[:] = x * 2
    return y


def padded(M, x):
    y = x.new_zeros(4)
    y[1:] = x
    return y


def started_from_ones(M, x):
    y = x.new_ones(3)
    y *= x
    return y


def started_from_a_number(M, x):
    y = M.full_like(x, 3.0)
    y.mul_(x).add_(x.new_full((3,), 2.0))
    return y


def with_strides(M, x):
    y = x.new_empty_strided((3, 2), (1, 3))
    y.copy_(x.unsqueeze(1))
    return y


def on_a_diagonal(M, x):
    y = x.new_zeros(3, 3)
    y.diagonal().copy_(x)
    return y


def scattered(M, x):
    y = M.zeros_like(x)
    y.scatter_(0, M.tensor([2, 1, 0]), x)
    y.index_add_(0, M.tensor([0, 1, 0]), x)
    y.index_put_((M.tensor([0]),), x[:1])
    return y


def at_places_of_its_own(M, x):
    y = M.zeros_like(x)
    y[x.argsort()] = x * 2
    return y


def a_row_at_places_of_its_own(M, x):
    y = x.new_zeros(2, 3)
    y[1, x.argsort()[:2]] = x[:2]
    y[:, x.argsort()[2:]] = x.new_full((1, 1), 7.0)
    return y * x


def by_a_mask(M, x):
    y = M.zeros_like(x)
    y.masked_fill_(x > 0.5, 1.0)
    return y * x


def a_clone(M, x):
    y = x.clone()
    y *= x
    y[0] *= x[1]
    return y


def from_another(M, x):
    y, z = x.clone(), M.zeros_like(x)
    z[1:] = 0.5
    y.copy_(z)
    y += z
    return y * x


def a_part_of_a_product(M, x):
    y = x * 1
    y[1:].mul_(x[:2])
    return y


def a_view_made_before(M, x):
    y = M.zeros_like(x)
    part = y[1:]
    y.copy_(x * x)
    return part * x[0]


FUNCTIONS = [value for value in globals().values() if getattr(value, "__module__", None) == __name__]


def of_the_leaf(M, function):
    x = M.tensor(X, requires_grad=True)
    (M.func.vmap(function)(x) ** 2 * x.new_ones(())).sum().backward()
    return x.grad


TRANSFORMS = {
    "vmap": lambda M, f: M.func.vmap(f)(M.tensor(X)),
    "vmap over another dim": lambda M, f: M.func.vmap(f, in_dims=1, out_dims=-1)(M.tensor(X.T.copy())),
    "vmap of vmap": lambda M, f: M.func.vmap(M.func.vmap(f))(M.tensor(np.stack([X, X + 2]))),
    "vmap of grad": lambda M, f: M.func.vmap(M.func.grad(lambda x: (f(x) ** 2).sum()))(M.tensor(X)),
    "grad of vmap": lambda M, f: M.func.grad(lambda x: (M.func.vmap(f)(x) ** 2).sum())(M.tensor(X)),
    "a leaf outside": of_the_leaf,
    "vmap of jvp": lambda M, f: M.func.vmap(lambda x, t: M.func.jvp(f, (x,), (t,))[1])(M.tensor(X), M.tensor(X + 1)),
    "jvp of vmap": lambda M, f: M.func.jvp(M.func.vmap(f), (M.tensor(X),), (M.tensor(X + 1),))[1],
    "jacfwd": lambda M, f: M.func.jacfwd(f)(M.tensor(X[0])),
    "jacrev": lambda M, f: M.func.jacrev(f)(M.tensor(X[0])),
    "jacrev, row by row": lambda M, f: M.func.jacrev(f, chunk_size=1)(M.tensor(X[0])),
    "hessian": lambda M, f: M.func.hessian(lambda x: (f(x) ** 3).sum())(M.tensor(X[0])),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_filled_in(function, transform):
    def run(M):
        return TRANSFORMS[transform](M, lambda x: function(M, x)).detach()

    np.testing.assert_allclose(run(pullback), run(torch), rtol=1e-12, atol=1e-14)


def test_a_tensor_that_is_not_mapped_over_is_refused():
    with pytest.raises(RuntimeError, match="`other` being vmapped over but `self` not being vmapped over"):
        pullback.vmap(lambda x: pullback.zeros(3).copy_(x))(pullback.ones(2, 3))


def test_the_memory_of_examples_is_their_own():
    seen = []
    pullback.vmap(lambda x: seen.append(pullback.zeros_like(x).add_(x)) or x)(pullback.tensor(X))
    np.testing.assert_array_equal(pullback.func.debug_unwrap(seen[0]), X)
