"""Functions of the Array API namespace keep the graph: values as without one, gradients as finite differences say."""

import numpy as np
import pytest

from pullback import array_api as xp

GENERATOR = np.random.default_rng(5)
A = GENERATOR.uniform(0.2, 0.8, (3, 3))
B = GENERATOR.uniform(0.2, 0.8, (3, 3))
M = A + 3 * np.eye(3)
UNARY = """abs acos asin asinh atan atanh conj cos cosh exp expm1 log log10 log1p log2 negative positive real reciprocal sin
    sinh sqrt square tan tanh sort sum prod max min mean std var flip tril triu matrix_transpose unique_values fft.fftshift
    linalg.det linalg.inv linalg.matrix_norm linalg.vector_norm linalg.svdvals linalg.trace linalg.diagonal""".split()
BINARY = """add atan2 copysign divide hypot logaddexp maximum minimum multiply pow remainder subtract matmul vecdot
    linalg.solve linalg.cross""".split()


def complex_of(a):
    return xp.astype(a, xp.complex128)


def in_place(a):
    y = a * 1
    y += xp.asarray(0.5)
    y *= a
    y[0] = a[1] * 2
    return y


CASES = {
    "acosh": lambda a: xp.acosh(a + 1),
    "broadcast": lambda a: xp.broadcast_arrays(a, xp.ones((2, 3, 3)))[0],
    "clip": lambda a: xp.clip(a, xp.asarray(B) * 0.5, 0.7),
    "concat": lambda a: xp.concat([a, xp.asarray(B)], axis=1),
    "cumulative_sum": lambda a: xp.cumulative_sum(a, axis=0, include_initial=True),
    "cumulative_prod": lambda a: xp.cumulative_prod(a, axis=1),
    "diff": lambda a: xp.diff(a, axis=0, n=2, prepend=a[:1] * 2, append=xp.ones((1, 3))),
    "expand_dims": lambda a: xp.squeeze(xp.expand_dims(a, axis=(0, 2)), 0),
    "fft": lambda a: xp.abs(xp.fft.fft(complex_of(a), n=4, norm="ortho")),
    "irfftn": lambda a: xp.fft.irfftn(complex_of(a), s=(4,), axes=(0,)),
    "rfftn": lambda a: xp.abs(xp.fft.rfftn(a, s=(2, 4))),
    "indexing": lambda a: a[::-1, None, xp.asarray([0, 2], dtype=xp.uint8)],
    "in place": in_place,
    "mask": lambda a: a[a > 0.5],
    "meshgrid": lambda a: xp.meshgrid(a[0], a[1])[1],
    "moveaxis": lambda a: xp.moveaxis(a, 0, 1),
    "number first": lambda a: xp.subtract(0.7, a) / xp.add(0.3, a),
    "outer": lambda a: xp.linalg.outer(a[0], a[1]),
    "permute": lambda a: xp.permute_dims(a, (1, 0)).T,
    "qr": lambda a: xp.linalg.qr(a).R,
    "repeat": lambda a: xp.repeat(a, xp.asarray([1, 0, 2]), axis=1),
    "reshape": lambda a: xp.reshape(a, (9,), copy=True),
    "roll": lambda a: xp.roll(a, (1, 2), axis=(0, 1)),
    "slogdet": lambda a: xp.linalg.slogdet(a).logabsdet,
    "sort descending": lambda a: xp.sort(a, axis=0, descending=True),
    "stack": lambda a: xp.stack(xp.unstack(a, axis=1)[:2]),
    "take": lambda a: xp.take_along_axis(xp.take(a, xp.asarray([0, 2]), axis=1), xp.asarray([[1, 0]]), axis=1),
    "tensordot": lambda a: xp.tensordot(a, xp.asarray(B), axes=((0,), (1,))),
    "tile": lambda a: xp.tile(a, (2, 1)),
    "where": lambda a: xp.where(a > 0.5, a, 0.0),
    "zero-d": lambda a: a * xp.asarray(2.0) ** xp.mean(a),
}
for _name in UNARY:
    _space, _, _rest = _name.rpartition(".")
    CASES[_name] = getattr(getattr(xp, _space) if _space else xp, _rest)
for _name in BINARY:
    _space, _, _rest = _name.rpartition(".")
    _function = getattr(getattr(xp, _space) if _space else xp, _rest)
    CASES[_name] = lambda a, f=_function: f(a, xp.asarray(B)) + f(xp.asarray(B + np.eye(3)), a)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_kept(name):
    function, start = CASES[name], M if "linalg" in name or name in ("qr", "slogdet") else A
    x = xp.asarray(start, copy=True)
    x.requires_grad_()
    result, plain = function(x), function(xp.asarray(start))
    assert type(result) is type(plain) is xp.Array and result.requires_grad and not plain.requires_grad
    assert result.dtype is plain.dtype
    np.testing.assert_allclose(result.detach().numpy(), plain.numpy(), rtol=1e-10)
    weights, direction = GENERATOR.standard_normal(plain.shape), GENERATOR.standard_normal(A.shape)
    xp.sum(result * xp.asarray(weights)).backward()
    ahead, behind = (np.sum(function(xp.asarray(start + s * direction)).numpy() * weights) for s in (1e-6, -1e-6))
    np.testing.assert_allclose(np.sum(x.grad.numpy() * direction), (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-6)


def test_dtypes_are_the_standards_with_and_without_a_gradient():
    x = xp.asarray([1.0, 2.0], dtype=xp.float32)
    strong = xp.asarray(2.0)
    for tracked in (False, True):
        x.requires_grad_(tracked)
        assert (x * strong).dtype is xp.float64 and (x * 2.0).dtype is xp.float32
        assert xp.where(x > 1, x, strong).dtype is xp.float64 and xp.concat([x, xp.ones(1)]).dtype is xp.float64
        assert xp.sum(x, dtype=xp.float64).dtype is xp.float64
    xp.sum(x * strong).backward()
    assert x.grad.dtype is xp.float32 and x.grad.tolist() == [2.0, 2.0]


def test_counts_and_positions_have_no_gradient():
    x = xp.asarray(A)
    x.requires_grad_()
    for result in (xp.argsort(x), xp.argmax(x), xp.nonzero(x)[0], xp.isnan(x), x > 0.5, xp.count_nonzero(x), xp.all(x)):
        assert not result.requires_grad
