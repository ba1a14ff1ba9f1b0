"""Nothing, and far too much: a zero in each dim, and numbers no memory has room for. Torch's shapes, or its kind of error."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

# `t` is the library, `f` its nn.functional, `nn` its modules, `x` a tensor that wants a gradient and has a zero in its shape.
MATRICES = """
list(x)
x.unbind(0)
x.unbind(1)
t.histogramdd(x.detach(), [2] * x.shape[1])[0]
t.histogramdd(x.detach(), [2] * x.shape[1], range=[0.0, 1.0] * x.shape[1])[0]
t.cdist(x, x)
t.cdist(x, x, 1)
f.cross_entropy(x, t.zeros(x.shape[0], dtype=t.int64), reduction="sum")
f.cross_entropy(x, t.zeros(x.shape[0], dtype=t.int64), label_smoothing=0.1)
f.cross_entropy(x, x.detach())
f.nll_loss(x, t.zeros(x.shape[0], dtype=t.int64))
f.layer_norm(x, x.shape[1:])
x.norm(math.inf)
x.norm(math.inf, 1)
x.norm(-math.inf, 0)
x.median()
x.amax(1)
x.std(1)
x.logsumexp(1)
t.kron(x, x)
t.einsum("ij,kj->ik", x, x)
f.ctc_loss(t.zeros(0, 2, 3), t.zeros(2, 0, dtype=t.int64), t.tensor([0, 0]), t.tensor([0, 0]))
nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.PackedSequence(x, t.zeros(0, dtype=t.int64)))
"""
IMAGES = """
f.conv2d(x, t.ones(2, x.shape[1], 1, 1))
f.conv2d(x, t.ones(2, x.shape[1], 3, 3), t.ones(2), padding=1, stride=2)
f.batch_norm(x, None, None, training=True)
f.instance_norm(x)
f.group_norm(x, 1)
f.adaptive_avg_pool2d(x, 1)
f.max_pool2d(x, 2)
f.avg_pool2d(x, 2, ceil_mode=True)
f.pad(x, (1, 1, 1, 1), mode="circular")
f.cross_entropy(x, t.zeros(x.shape[0], *x.shape[2:], dtype=t.int64), reduction="sum")
f.scaled_dot_product_attention(x, x, x)
nn.BatchNorm2d(2)(x)
"""
CASES = [(row, shape) for row in MATRICES.strip().splitlines() for shape in ((0, 3), (3, 0), (0, 0), (1, 0))]
CASES += [
    (row, shape)
    for row in IMAGES.strip().splitlines()
    for shape in ((0, 2, 4, 4), (2, 0, 4, 4), (2, 2, 0, 4), (2, 2, 4, 0), (0, 0, 4, 4))
    # torch asks for element 0 of statistics, which are none, and refuses batches of nothing of nothing
    if not ("atch" in row and "orm" in row and 0 in shape[1:] or "max_pool2d" in row and shape == (0, 0, 4, 4))
]


def outcome(library, row, shape):
    x = library.ones(shape, requires_grad=True)
    names = {"t": library, "f": library.nn.functional, "nn": library.nn, "math": math, "x": x}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(row, names)
    except Exception as error:
        return type(error).__name__
    parts = [result] if isinstance(result, library.Tensor) else list(result)
    found = [(tuple(part.shape), str(part.dtype), part.isnan().any().item()) for part in parts]
    if parts and parts[0].requires_grad:
        (slope,) = library.autograd.grad(parts[0].sum(), x)
        found.append(tuple(slope.shape))
    return found


@pytest.mark.parametrize("row, shape", CASES)
def test_a_zero_in_each_dim(row, shape):
    want = outcome(torch, row, shape)
    assert outcome(pullback, row, shape) == want


# What is done with sizes beyond everything: quickly, and as torch does it.
SAME = """
f.avg_pool1d(t.ones(1, 2, 8), 10**9, ceil_mode=True)
f.avg_pool1d(t.ones(1, 2, 8), 10**9, ceil_mode=True, padding=5)
t.tril(t.ones(3, 3), -(2**63))
t.triu(t.ones(3, 3), 2**63 - 1)
t.tril(t.ones(3, 3), 2**40)
t.tril_indices(2, 3, 2**40)
t.triu_indices(2, 3, -(2**62))
t.triu_indices(2, 3, 2**62)
t.diff(t.ones(3), 2**40)
t.special.hermite_polynomial_h(t.tensor([0.1, 0.5, 30.0]), 5 * 10**6)
t.special.hermite_polynomial_he(t.tensor([0.1, 30.0]), t.tensor([5e6, 6e6]))
t.special.chebyshev_polynomial_t(t.tensor([1.1, -2.0]), 5 * 10**6)
t.special.shifted_chebyshev_polynomial_w(t.tensor([1.1, -2.0]), 5 * 10**6)
t.ones(3)[: 2**63]
t.ones(3)[2**63 :]
"""
REFUSED = """
t.combinations(t.ones(100), 50)
t.tensor_split(t.ones(3), 2**40)
t.eye(2**64)
t.diag(t.ones(3), 2**100)
t.ones(3)[2**63]
t.ones(3)[-(2**63)]
t.nn.functional.unfold(t.ones(1, 2, 4, 4), 2**31)
t.nn.functional.pad(t.ones(1, 2, 4, 4), (2**64, 1))
t.nn.functional.interpolate(t.ones(1, 2, 4, 4), size=2**64)
t.nn.functional.adaptive_avg_pool2d(t.ones(1, 2, 4, 4), 2**62)
t.nn.functional.adaptive_avg_pool3d(t.ones(2, 4, 4, 4), (2**31, 2**31, 1))
t.nn.functional.adaptive_max_pool1d(t.ones(2, 2, 2), 2**62 - 1)
t.nn.functional.adaptive_max_pool2d(t.ones(1, 2, 4, 4), (2**31, 2**31))
t.nn.functional.adaptive_max_pool1d(t.ones(1, 2, 4), 2**45)
t.mvlgamma(t.ones(3) * 1e12, 2**31)
t.special.laguerre_polynomial_l(t.ones(3), 2**31)
t.special.legendre_polynomial_p(t.ones(3), 2**31)
t.special.chebyshev_polynomial_t(t.ones(3), 2**31)
t.quasirandom.SobolEngine(2).draw(2**31)
t.quasirandom.SobolEngine(2).fast_forward(2**31)
"""


@pytest.mark.parametrize("row", SAME.strip().splitlines())
def test_absurd_sizes_take_no_time(row):
    got, want = (eval(row, {"t": t, "f": t.nn.functional}).tolist() for t in (pullback, torch))
    np.testing.assert_allclose(got, want)


@pytest.mark.parametrize("row", REFUSED.strip().splitlines())
def test_absurd_sizes_are_refused(row):
    with pytest.raises((RuntimeError, ValueError, IndexError, MemoryError)):
        eval(row, {"t": pullback})


def test_counts_of_an_infinite_rate_are_infinite():
    assert pullback.poisson(pullback.tensor([1e300, 0.0])).tolist() == [math.inf, 0.0]


@pytest.mark.parametrize("shape, output", [((2, 3, 7), (5,)), ((2, 3, 9, 8), (7, 3)), ((2, 2, 5, 4, 6), (4, 3, 9))])
def test_largest_of_overlapping_windows(shape, output):
    """Ties go to the first of a window, and nan wins."""
    x = np.random.default_rng(0).integers(0, 3, shape).astype(np.float32)
    x.reshape(-1)[::23] = math.nan
    name = f"adaptive_max_pool{len(output)}d"
    results = [getattr(t.nn.functional, name)(t.tensor(x), output, return_indices=True) for t in (pullback, torch)]
    for got, want in zip(*results, strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy())
