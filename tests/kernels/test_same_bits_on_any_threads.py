"""How work is cut depends on shapes alone: the same bits on one thread, two, three and eight, forward and backward.

BLAS has one thread while the tests run: where its own threads share a product they decide the bits (docs/howto/speed.md).
"""

import functools

import numpy as np
import pytest

import pullback
from pullback import nn
from pullback.kernels import threads

F = nn.functional
COUNTS = (1, 2, 3, 8)


@functools.cache
def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def leaves(*shapes, dtype=pullback.float32):
    return [pullback.tensor(numbers(i, *shape)).to(dtype).requires_grad_() for i, shape in enumerate(shapes)]


def bits(function, *tensors):
    """The bytes of what a function gives and of all gradients."""
    pullback.manual_seed(0)
    out = function(*tensors)
    out = out[0] if isinstance(out, tuple) else out
    found = [out]
    if out.requires_grad:
        seed = pullback.tensor(np.resize(numbers(99, 1 << 16), tuple(out.shape))).to(out.dtype)
        found += [g for g in pullback.autograd.grad(out, tensors, seed, allow_unused=True) if g is not None]
    return [np.ascontiguousarray(one.detach().numpy()).tobytes() for one in found]


ROWS = (900, 1203)
LONG = (7, 150_001)
IMAGES = (9, 16, 45, 45)

OF_ROWS = {
    "softmax": lambda x: x.softmax(-1),
    "softmax of large numbers in some rows": lambda x: (x * pullback.linspace(0.1, 99, len(x))[:, None]).softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "log_softmax of large numbers in some rows": lambda x: (
        x * pullback.linspace(0.1, 99, len(x))[:, None]
    ).log_softmax(-1),
    "softmax of columns": lambda x: x.softmax(0),
    "log_softmax of columns": lambda x: x.log_softmax(0),
    "cross_entropy": lambda x: F.cross_entropy(x, pullback.arange(len(x)) % 7),
    "logsumexp": lambda x: x.logsumexp(-1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[1:]),
    "normalize": lambda x: F.normalize(x),
    "sum": lambda x: x.sum(),
    "sum of columns": lambda x: x.sum(0),
    "mean of rows": lambda x: x.mean(1),
    "var": lambda x: x.var(0),
    "norm": lambda x: x.norm(),
    "cumsum": lambda x: x.cumsum(1),
    "gelu": F.gelu,
    "silu": F.silu,
    "softplus": F.softplus,
    "sigmoid": pullback.sigmoid,
    "tanh": pullback.tanh,
    "relu": pullback.relu,
    "erf": pullback.erf,
    "exp": lambda x: x.clamp(max=3).exp(),
    "power": lambda x: (x.abs() + 0.1) ** 1.5,
    "dropout": lambda x: F.dropout(x, 0.3),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda x: F.group_norm(x[:, :1200], 4),
    "sort": lambda x: x.sort(-1)[0],
    "prod": lambda x: (1 + x / 100).prod(1),
    "mse": lambda x: F.mse_loss(x, x.detach().flip(0)),
    "bce": lambda x: F.binary_cross_entropy_with_logits(x, x.detach().sigmoid()),
    "half": lambda x: F.layer_norm(x.half().float(), x.shape[1:]).half(),
}


def same_bits(monkeypatch, function, *tensors):
    want = None
    for count in COUNTS:
        monkeypatch.setattr(threads, "_thread_count", count)
        got = bits(function, *tensors)
        want = want or got
        assert [one == other for one, other in zip(want, got)] == [True] * len(want), f"{count} threads"


@pytest.mark.parametrize("shape", [ROWS, LONG, (30_001, 33)], ids=str)
@pytest.mark.parametrize("name", OF_ROWS)
def test_rows(monkeypatch, name, shape):
    if name == "group_norm" and shape[1] < 1200:
        pytest.skip("too few channels")
    same_bits(monkeypatch, OF_ROWS[name], *leaves(shape))


OF_SEVERAL = {
    "linear": (lambda x, w, b: F.linear(x, w, b), (3001, 300), (257, 300), (257,)),
    "linear of few outputs": (lambda x, w, b: F.linear(x, w, b), (60_001, 50), (10, 50), (10,)),
    "linear of few inputs": (lambda x, w, b: F.linear(x, w, b), (60_001, 10), (70, 10), (70,)),
    "bias": (lambda x, b: x + b, (5001, 301), (301,)),
    "columns times rows": (lambda x, y: x.T @ y, (70_001, 17), (70_001, 19)),
    "columns times wider rows": (lambda x, y: x.T @ y, (20_003, 64), (20_003, 130)),
    "large product": (lambda x, y: x @ y, (517, 611), (611, 703)),
    "product by a vector": (lambda x, y: x @ y, (2001, 1003), (1003,)),
    "batched product": (lambda x, y: x @ y, (5, 203, 301), (5, 301, 150)),
    "one large in a batch": (lambda x, y: x @ y, (1, 603, 501), (1, 501, 350)),
    "convolution": (lambda x, w, b: F.conv2d(x, w, b), IMAGES, (24, 16, 3, 3), (24,)),
    "convolution with padding": (lambda x, w: F.conv2d(x, w, padding=1), IMAGES, (6, 16, 3, 3)),
    "strided convolution": (lambda x, w: F.conv2d(x, w, stride=2), IMAGES, (24, 16, 3, 3)),
    "pointwise convolution": (lambda x, w: F.conv2d(x, w), IMAGES, (24, 16, 1, 1)),
    "depthwise convolution": (lambda x, w: F.conv2d(x, w, groups=16), IMAGES, (16, 1, 3, 3)),
    "convolution of one large image": (lambda x, w: F.conv2d(x, w), (1, 3, 300, 301), (8, 3, 5, 5)),
    "convolution of sequences": (lambda x, w: F.conv1d(x, w, padding=2), (17, 20, 1000), (30, 20, 5)),
    "transposed convolution": (lambda x, w: F.conv_transpose2d(x, w, stride=2), IMAGES, (16, 7, 3, 3)),
    "layer norm with weights": (lambda x, w, b: F.layer_norm(x, (603,), w, b), (2001, 603), (603,), (603,)),
    "rms norm with weights": (lambda x, w: F.rms_norm(x, (603,), w), (2001, 603), (603,)),
    "group norm with weights": (lambda x, w, b: F.group_norm(x, 4, w, b), IMAGES, (16,), (16,)),
    "batch norm with weights": (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), IMAGES, (16,), (16,)),
    "attention": (F.scaled_dot_product_attention, (2, 5, 300, 32), (2, 5, 300, 32), (2, 5, 300, 32)),
    "causal attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        *[(3, 700, 32)] * 3,
    ),
    "embedding": (lambda w: F.embedding(pullback.arange(40_000) % 997, w), (1000, 60)),
    "max pooling": (lambda x: F.max_pool2d(x, 3, 2), IMAGES),
    "average pooling": (lambda x: F.avg_pool2d(x, 3, 2), IMAGES),
    "interpolation": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), IMAGES),
    "distances": (pullback.cdist, (700, 20), (800, 20)),
    "prelu": (F.prelu, (900, 40, 33), (40,)),
    "outer product": (lambda x, y: x[:, None] * y, (1500,), (1501,)),
    "einsum": (lambda x, y: pullback.einsum("bij,bkj->ik", x, y), (30, 150, 70), (30, 160, 70)),
}


@pytest.mark.parametrize("dtype", [pullback.float32, pullback.float64], ids=str)
@pytest.mark.parametrize("name", OF_SEVERAL)
def test_several_inputs(monkeypatch, name, dtype):
    function, *shapes = OF_SEVERAL[name]
    same_bits(monkeypatch, function, *leaves(*shapes, dtype=dtype))
