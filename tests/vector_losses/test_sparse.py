"""Sparse Jacobians and Hessians: equal to dense ones, and with a number of sweeps that does not grow with the size."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pullback as P
from pullback.func import hessian, jacrev


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def tridiagonal(x):
    left = P.cat([P.zeros(1, dtype=x.dtype), x[:-1]])
    right = P.cat([x[1:], P.zeros(1, dtype=x.dtype)])
    return x**3 - 2 * left.sin() * right + x * right


def heat(x):
    padded = P.nn.functional.pad(x, (1, 1))
    return padded[2:] - 2 * padded[1:-1] + padded[:-2] + x.exp()


def by_matrix(x):
    count = len(x)
    matrix = P.eye(count, dtype=x.dtype) * 2 - P.diag(P.ones(count - 1, dtype=x.dtype), 1)
    return (matrix @ x).tanh()


def grid(x):
    side = int(len(x) ** 0.5)
    square = x[: side * side].reshape(side, side)
    return P.stack([(square.roll(1, 0) - square).flatten(), square.flatten() ** 2], 1)


def laplacian(x, width):
    """Differences to the four neighbours on a grid."""
    padded = P.nn.functional.pad(x.reshape(1, 1, -1, width), (1, 1, 1, 1))[0, 0]
    neighbours = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2]
    return (neighbours - 4 * padded[1:-1, 1:-1]).flatten()


# name: (function, the most sweeps at any size)
JACOBIANS = {
    "elementwise": (lambda x: x.sin() * x, 1),
    "tridiagonal": (tridiagonal, 3),
    "heat": (heat, 3),
    "by matrix": (by_matrix, 2),
    "rolled": (lambda x: x * x.roll(2), 3),
    "flipped": (lambda x: x.flip(0).exp(), 1),
    "picked": (lambda x: x[P.arange(0, len(x), 3)] ** 2, 1),
    "gathered twice": (lambda x: x[P.zeros(4, dtype=P.int64)] * x[:4], 2),
    "blocks": (lambda x: x.reshape(-1, 2).softmax(1).flatten(), 2),
    "block sums": (lambda x: (x.reshape(-1, 4) ** 2).sum(1), 1),
    "block norms": (lambda x: x.reshape(-1, 4).norm(dim=1), 1),
    "one dense row": (lambda x: P.cat([x**2, x.prod()[None]]), 2),
    "one dense column": (lambda x: x**2 + x[0], 2),
    "split": (lambda x: P.cat([part.sin() for part in x.split(2)]), 1),
    "unbound": (lambda x: P.stack([a * b for a, b in zip(x.unbind(), x.roll(1).unbind())]), 2),
    "expanded": (lambda x: (x[:, None] * P.ones(3, dtype=x.dtype)).sin(), 3),
    "upper half": (lambda x: P.where(P.arange(len(x)) > 3, x, 2 * x.roll(1)), 2),
    "grid": (grid, None),
    "sums so far": (lambda x: x.cumsum(0), None),
    "strided": (lambda x: x.as_strided((4,), (2,)) ** 2, 1),
    "constant": (lambda x: P.ones(3, dtype=x.dtype), 0),
    "no computation": (lambda x: x, 1),
    "layers": (lambda x: P.nn.functional.linear(x.reshape(-1, 2), _WEIGHT, _WEIGHT[0]).relu(), 2),
    "convolution": (lambda x: P.conv1d(x[None, None], P.ones(1, 1, 3, dtype=x.dtype))[0, 0] ** 2, None),
    "channels": (lambda x: P.conv1d(x.reshape(2, -1), P.ones(2, 2, 3, dtype=x.dtype)), None),
    "written": (lambda x: _written(x), 1),
    "arrow": (lambda x: P.cat([(x**2).sum()[None], x[1:] ** 2 * x[0]]), 3),
    "two dense rows, one dense column": (
        lambda x: P.cat([P.stack([x.sum() ** 2, x.prod()]), (x[1:] - x[:-1]).sin() * x[0]]),
        6,
    ),
    "laplacian of a square": (lambda x: laplacian(x, len(x) // 4) + x**3, 8),
    "blocks and borders": (lambda x: P.cat([(x.reshape(-1, 4) ** 2).cumsum(1).flatten(), x.cos().sum()[None]]), 5),
}
_WEIGHT = P.tensor([[1.0, 2.0], [0.0, 3.0]], dtype=P.float64)


def _written(x):
    y = x.clone()
    y[::2] = y[::2] * 3
    return y.sqrt()


def _point(count):
    return P.tensor(np.random.default_rng(count).random(count) + 0.3)


@pytest.mark.parametrize("name", JACOBIANS)
def test_sparse_jacobian_is_the_dense_one(name):
    function, most = JACOBIANS[name]
    for count in (16, 36):
        x = _point(count)
        found = P.sparse_jacobian(function, x)
        dense = jacrev(function)(x).reshape(-1, count).numpy()
        np.testing.assert_allclose(found.to_dense().numpy(), dense, rtol=1e-10, atol=1e-12)
        if most is not None:
            assert found.sweeps <= most, found
        again = P.sparse_jacobian(function, x + 0.1, pattern=found.pattern)
        np.testing.assert_allclose(
            again.to_dense().numpy(), jacrev(function)(x + 0.1).reshape(-1, count).numpy(), rtol=1e-10, atol=1e-12
        )


HESSIANS = {
    "rosenbrock": (rosenbrock, 3),
    "diagonal": (lambda x: (x**4).sum(), 1),
    "linear": (lambda x: (3 * x).sum(), 0),
    "quadratic of neighbours": (lambda x: (x[1:] * x[:-1]).sum(), 3),
    "arrowhead": (lambda x: (x[0] * x[1:] ** 2).sum() + x[0] ** 3, 2),
    "energy": (lambda x: (x[2:] - 2 * x[1:-1] + x[:-2]).cosh().sum(), 5),
    "full": (lambda x: x.sum() ** 3, None),
    "log sum exp": (lambda x: x.logsumexp(0), None),
    "pairs": (lambda x: (x.reshape(-1, 2).prod(1)).sum(), 2),
    "surface": (lambda x: (laplacian(x, 2) * x).sum() + (x**4).sum(), 6),
}


@pytest.mark.parametrize("name", HESSIANS)
def test_sparse_hessian_is_the_dense_one(name):
    function, most = HESSIANS[name]
    for count in (8, 30):
        x = _point(count)
        found = P.sparse_hessian(function, x)
        np.testing.assert_allclose(found.to_dense().numpy(), hessian(function)(x).numpy(), rtol=1e-9, atol=1e-10)
        if most is not None:
            assert found.sweeps <= most, found


def test_the_number_of_sweeps_does_not_grow():
    for count in (50, 500, 5000):
        assert P.sparse_hessian(rosenbrock, _point(count)).sweeps == 3
        found = P.sparse_jacobian(tridiagonal, _point(count))
        assert found.sweeps == 3 and len(found.values) == 3 * count - 2
        assert P.sparse_jacobian(JACOBIANS["arrow"][0], _point(count)).sweeps == 3
        assert P.sparse_jacobian(lambda x: laplacian(x, 10), _point(count)).sweeps <= 8


def test_triplets_and_scipy():
    scipy = pytest.importorskip("scipy.sparse")
    found = P.sparse_jacobian(heat, _point(6))
    assert scipy.issparse(found.to_scipy()) and found.to_scipy().shape == (6, 6)
    np.testing.assert_array_equal(found.to_scipy().toarray(), found.to_dense().numpy())
    assert (np.diff(found.rows) >= 0).all() and "6 x 6" in repr(found)


def test_random_patterns_are_recovered():
    rng = np.random.default_rng(0)
    for _ in range(20):
        mask = rng.random((9, 9)) < 0.3
        matrix = P.tensor(np.where(mask, rng.standard_normal((9, 9)), 0))
        symmetric = matrix + matrix.t()
        x = _point(9)
        np.testing.assert_allclose(P.sparse_jacobian(lambda x, m=matrix: m @ x, x).to_dense().numpy(), matrix.numpy())
        bordered = matrix * 1.0
        bordered[3], bordered[:, 5] = 1.5, 2.5
        np.testing.assert_allclose(
            P.sparse_jacobian(lambda x, m=bordered: m @ x, x).to_dense().numpy(), bordered.numpy()
        )
        found = P.sparse_hessian(lambda x, m=symmetric: 0.5 * (x * (m @ x)).sum(), x)
        np.testing.assert_allclose(found.to_dense().numpy(), symmetric.numpy(), atol=1e-12)


def test_wrong_functions_are_refused():
    with pytest.raises(RuntimeError, match="one number"):
        P.sparse_hessian(lambda x: x, _point(3))
    with pytest.raises(TypeError, match="one tensor"):
        P.sparse_jacobian(lambda x: (x, x), _point(3))


@pytest.mark.parametrize("f, shape", [(lambda x: x[:0], (0, 5)), (lambda x: P.ones(3, dtype=P.float64), (3, 5))])
def test_nothing_to_compute(f, shape):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = P.sparse_jacobian(f, _point(5))
    assert found.shape == shape and found.sweeps == 0 and not found.to_dense().any()
    assert P.sparse_hessian(lambda x: x.sum(), _point(0)).shape == (0, 0)
    nothing = _point(5).requires_grad_()[:0] * 2
    assert P.jacobian(nothing, nothing).shape == P.multi.gramian(nothing).shape == (0, 0)


def test_a_pattern_of_another_size():
    pattern = P.sparse_jacobian(lambda x: x[:3], _point(5)).pattern
    with pytest.raises(ValueError, match=r"\(3, 5\) matrix, but the function's is \(5, 5\)"):
        P.sparse_jacobian(lambda x: x, _point(5), pattern=pattern)


@pytest.mark.parametrize("mode", [P.no_grad, P.inference_mode])
def test_grad_mode_outside_does_not_matter(mode):
    with mode():
        x = _point(4)
        assert P.allclose(P.sparse_jacobian(heat, x).to_dense(), P.func.jacrev(heat)(x))
        assert P.allclose(P.sparse_hessian(rosenbrock, x).to_dense(), P.func.hessian(rosenbrock)(x))
        assert P.allclose(P.taylor(P.sin, x, x, 2)[2], -x.sin() * x * x)
