"""Layers take different roads for small and large arrays, moderate and extreme numbers: all lead to torch's results."""

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

ROWS = {"few": (8, 32), "short": (300, 8), "many": (600, 96)}
PLANES = {"few": (2, 8, 4, 4), "flat": (6, 32, 1), "many": (8, 16, 16, 16)}
VALUES = {
    "moderate": lambda rng, shape: rng.standard_normal(shape),
    "far": lambda rng, shape: rng.standard_normal(shape) + 30,
    "wide": lambda rng, shape: rng.standard_normal(shape) * 60,
}

ON_ROWS = {
    "softmax": lambda F, x, w, y: F.softmax(x, -1),
    "log_softmax": lambda F, x, w, y: F.log_softmax(x, -1),
    "softmax over rows": lambda F, x, w, y: F.softmax(x, 0),
    "cross_entropy": lambda F, x, w, y: F.cross_entropy(x, y),
    "cross_entropy sum": lambda F, x, w, y: F.cross_entropy(x, y, reduction="sum"),
    "cross_entropy none": lambda F, x, w, y: F.cross_entropy(x, y, reduction="none"),
    "nll_loss": lambda F, x, w, y: F.nll_loss(x, y),
    "nll_loss none": lambda F, x, w, y: F.nll_loss(x, y, reduction="none"),
    "layer_norm": lambda F, x, w, y: F.layer_norm(x, (x.shape[1],), w, w),
    "layer_norm bare": lambda F, x, w, y: F.layer_norm(x, (x.shape[1],)),
    "rms_norm": lambda F, x, w, y: F.rms_norm(x, (x.shape[1],), w),
    "softplus": lambda F, x, w, y: F.softplus(x),
    "softplus sharp": lambda F, x, w, y: F.softplus(x, 2.5, 10),
    "silu": lambda F, x, w, y: F.silu(x),
    "gelu": lambda F, x, w, y: F.gelu(x),
    "gelu tanh": lambda F, x, w, y: F.gelu(x, approximate="tanh"),
    "bce": lambda F, x, w, y: F.binary_cross_entropy_with_logits(x, (x.detach() > 1).to(x.dtype)),
    "batch_norm": lambda F, x, w, y: F.batch_norm(x, None, None, w, w, True),
}
ON_PLANES = {
    "group_norm": lambda F, x, w: F.group_norm(x, 4, w, w),
    "group_norm bare": lambda F, x, w: F.group_norm(x, 2),
    "batch_norm": lambda F, x, w: F.batch_norm(x, None, None, w, w, True),
    "batch_norm bare": lambda F, x, w: F.batch_norm(x, None, None, training=True),
    "batch_norm given": lambda F, x, w: F.batch_norm(x, w.detach() - 1.5, w.detach(), w, w, False),
    "instance_norm": lambda F, x, w: F.instance_norm(x, weight=w, bias=w) if x.shape[2] > 1 else x * 1,
    "attention": lambda F, x, w: F.scaled_dot_product_attention(x, x.flip(0), x * 0.5) if x.ndim == 4 else x * 1,
    "causal": lambda F, x, w: F.scaled_dot_product_attention(x, x.flip(0), x, is_causal=True) if x.ndim == 4 else x * 1,
    "masked": lambda F, x, w: F.scaled_dot_product_attention(x, x, x.flip(1), x @ x.mT * 0.1) if x.ndim == 4 else x * 1,
    "max_pool2d": lambda F, x, w: F.max_pool2d(x, 2) if x.ndim == 4 else x * 1,
    "max_pool2d padded": lambda F, x, w: F.max_pool2d(x, 3, 2, 1) if x.ndim == 4 else x * 1,
    "avg_pool2d": lambda F, x, w: F.avg_pool2d(x, 2) if x.ndim == 4 else x * 1,
    "avg_pool2d padded": lambda F, x, w: F.avg_pool2d(x, 2, 2, 1) if x.ndim == 4 else x * 1,
    "avg_pool2d apart": lambda F, x, w: F.avg_pool2d(x, 2, 3) if x.ndim == 4 else x * 1,
}


def run(library, function, arrays, whole, direction):
    """Value and gradients (of everything floating) as arrays."""
    tensors = [library.tensor(a) for a in arrays]
    leaves = [t.requires_grad_() for t in tensors if t.is_floating_point()]
    out = function(library.nn.functional, *tensors, *whole(library))
    (out * library.tensor(direction(tuple(out.shape)).astype(arrays[0].dtype))).sum().backward()
    return [out.detach().numpy(), *[t.grad.numpy() for t in leaves if t.grad is not None]]


def compare(function, arrays, whole=lambda library: ()):
    def direction(shape):
        return np.random.default_rng(1).standard_normal(shape)

    ours, theirs = (run(library, function, arrays, whole, direction) for library in (pullback, torch))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.dtype == other.dtype and mine.shape == other.shape
        scale = max(float(np.abs(other).max()), 1e-3)
        tolerance = 2e-5 if mine.dtype == np.float32 else 1e-11
        np.testing.assert_allclose(mine, other, rtol=tolerance * 10, atol=tolerance * scale)


def compare_with_double(function, arrays):
    """Scores in the thousands keep three digits after the point in float32: no worse than torch is what can be asked."""

    def direction(shape):
        return np.random.default_rng(1).standard_normal(shape)

    ours, theirs = (run(library, function, arrays, lambda _: (), direction) for library in (pullback, torch))
    truth = run(torch, function, [a.astype(np.float64) for a in arrays], lambda _: (), direction)
    for mine, other, true in zip(ours, theirs, truth, strict=True):
        scale = float(np.abs(true).max())
        allowed = 4 * float(np.abs(other - true).max()) + 1e-5 * scale
        assert np.abs(mine - true).max() <= allowed and allowed < 0.1 * scale


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("size", ROWS)
@pytest.mark.parametrize("name", ON_ROWS)
def test_on_rows(name, size, values, dtype):
    rng = np.random.default_rng(0)
    shape = ROWS[size]
    x = VALUES[values](rng, shape).astype(dtype)
    targets = rng.integers(0, shape[1], shape[0])
    compare(ON_ROWS[name], [x, (1 + rng.random(shape[1])).astype(dtype)], lambda library: (library.tensor(targets),))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("size", PLANES)
@pytest.mark.parametrize("name", ON_PLANES)
def test_on_planes(name, size, values, dtype):
    rng = np.random.default_rng(0)
    shape = PLANES[size]
    arrays = [VALUES[values](rng, shape).astype(dtype), (1 + rng.random(shape[1])).astype(dtype)]
    if name in ("attention", "causal", "masked") and values != "moderate" and dtype == np.float32:
        compare_with_double(ON_PLANES[name], arrays)
    else:
        compare(ON_PLANES[name], arrays)


def test_group_norm_is_one_node():
    x = pullback.randn(2, 4, 3, requires_grad=True)
    assert pullback.nn.functional.group_norm(x, 2).grad_fn.name() == "NativeGroupNormBackward0"


def test_running_statistics_follow_torch():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 3, 5)).astype(np.float32)
    results = []
    for library in (pullback, torch):
        mean, variance = library.zeros(3), library.ones(3)
        library.nn.functional.batch_norm(library.tensor(x), mean, variance, training=True, momentum=0.3)
        assert mean._version == 0  # torch does not count this as a write
        results.append(np.stack([mean.numpy(), variance.numpy()]))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-6)
