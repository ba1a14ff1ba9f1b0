"""Fused kernels (softmax, losses, norms, activations, embedding, attention, updates) against torch."""

import itertools

import numpy as np
import pytest

from pullback.kernels import activations, attention, embedding, large, normalization, rectifier, softmax

torch = pytest.importorskip("torch")
functional = torch.nn.functional
TOLERANCE = {"float16": 4e-3, "float32": 3e-6, "float64": 1e-13}


def values(shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(ours, reference, dtype, factor=1.0):
    reference = reference.detach().numpy()
    assert ours.shape == reference.shape and ours.dtype == reference.dtype
    finite = np.isfinite(reference)
    np.testing.assert_array_equal(ours[~finite], reference[~finite])
    scale = max(np.abs(reference[finite]).max(initial=0), 1)
    difference = np.abs(ours[finite].astype("float64") - reference[finite].astype("float64"))
    assert difference.max(initial=0) <= TOLERANCE[dtype] * scale * factor


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((4, 7), 1),
        ((4, 7), 0),
        ((2, 5, 3), 1),
        ((2, 5, 3), -1),
        ((600, 700), 1),
        ((600, 700), 0),
        ((3, 900, 400), 1),
        ((5,), 0),
        ((), 0),
        ((0, 3), 1),
    ],
)
def test_softmax_family(dtype, shape, axis):
    x, g = values(shape, dtype), values(shape, dtype, 1)
    for name in ("softmax", "log_softmax"):
        tx = torch.from_numpy(x).requires_grad_()
        expected = getattr(torch, name)(tx, axis)
        out = getattr(softmax, name)(x, axis=axis)
        close(out, expected, dtype)
        (gradient,) = torch.autograd.grad(expected, tx, torch.from_numpy(g))
        close(getattr(softmax, name + "_backward")(g, out, axis=axis), gradient, dtype, 4)


@pytest.mark.parametrize("offset", [-1000.0, -80.0, -30.0, -5.0, 0.0, 10.0, 50.0, 85.0, 1000.0])
@pytest.mark.parametrize("spread", [0.1, 3.0, 30.0])
def test_softmax_keeps_its_digits_for_every_range(offset, spread):
    x = (values((100, 90)) * spread + offset).astype("float32")
    exact = torch.from_numpy(x).double()
    np.testing.assert_allclose(softmax.softmax(x, axis=1), torch.softmax(exact, 1), rtol=8e-6, atol=1e-30)
    np.testing.assert_allclose(softmax.log_softmax(x, axis=1), torch.log_softmax(exact, 1), rtol=1e-6, atol=2e-6)
    target = np.arange(100) % 90
    losses, logsumexp = softmax.cross_entropy(x, target)
    expected = functional.cross_entropy(exact, torch.from_numpy(target), reduction="none")
    np.testing.assert_allclose(losses, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(logsumexp, torch.logsumexp(exact, 1), rtol=1e-9, atol=1e-6)
    exact.requires_grad_()
    functional.cross_entropy(exact, torch.from_numpy(target), reduction="sum").backward()
    back = softmax.cross_entropy_backward(np.float32(1), x, target, logsumexp)
    np.testing.assert_allclose(back, exact.grad, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_attention_of_large_scores(scale):
    q, k, v = values((2, 50, 8)) * scale, values((2, 60, 8), seed=1), values((2, 60, 8), seed=2)
    tensors = [torch.from_numpy(a).requires_grad_() for a in (q, k, v)]
    expected = functional.scaled_dot_product_attention(*tensors)
    out, logsumexp = attention.attention(q, k, v, scale=8**-0.5)
    close(out, expected, "float64", 20)
    gradients = torch.autograd.grad(expected, tensors, torch.ones_like(expected))
    for a, b in zip(attention.attention_backward(np.ones_like(out), q, k, v, out, logsumexp, scale=8**-0.5), gradients):
        close(a, b, "float64", 100)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_infinite_and_nan_rows(name):
    inf, nan = np.inf, np.nan
    x = np.array([[1, -inf, 2], [-inf] * 3, [inf, 1, 2], [nan, 1, 2], [1e5, 1e5 - 1, -1e5]])
    for copies in (1, 2000):
        rows = np.tile(x, (copies, 1))
        close(getattr(softmax, name)(rows, axis=1), getattr(torch, name)(torch.from_numpy(rows), 1), "float64")


@pytest.mark.parametrize("shape", [(6, 5), (3, 4, 5), (2, 3, 4, 5), (7,), (3000, 300)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("weighted", "smoothing"), list(itertools.product([False, True], [0.0, 0.2])))
def test_cross_entropy(shape, dtype, weighted, smoothing):
    generator = np.random.default_rng(0)
    classes = shape[1] if len(shape) > 1 else shape[0]
    x = values(shape, dtype) * 3 + 100
    target = generator.integers(0, classes, (shape[0], *shape[2:]) if len(shape) > 1 else ())
    if target.ndim:
        target.flat[0] = -100
    weight = generator.random(classes).astype(dtype) if weighted else None
    tx = torch.from_numpy(x).requires_grad_()
    tw = None if weight is None else torch.from_numpy(weight)
    options = {"ignore_index": -100, "label_smoothing": smoothing}
    expected = functional.cross_entropy(tx, torch.as_tensor(target), tw, reduction="none", **options)
    losses, logsumexp = softmax.cross_entropy(x, target, weight, **options)
    close(losses, expected, dtype, 20)
    g = values(target.shape, dtype, 2)
    (gradient,) = torch.autograd.grad(expected, tx, torch.as_tensor(g))
    close(softmax.cross_entropy_backward(g, x, target, logsumexp, weight, **options), gradient, dtype, 20)
    mean = functional.cross_entropy(tx, torch.as_tensor(target), tw, **options).item()
    total = softmax.target_weights(target, weight, ignore_index=-100, dtype=np.dtype(dtype)).sum()
    if not smoothing:
        assert losses.sum() / total == pytest.approx(mean, rel=1e-5)


def test_cross_entropy_names_a_target_out_of_range():
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        softmax.cross_entropy(values((2, 5)), np.array([0, 7]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axes"), [((4, 6), 1), ((2, 3, 5), 2), ((2, 3, 5), 1), ((5,), 1), ((700, 600), 1), ((0, 4), 1)], ids=str
)
@pytest.mark.parametrize("affine", [False, True])
def test_layer_norm_and_rms_norm(dtype, shape, axes, affine):
    x, g = values(shape, dtype) * 2 + 1, values(shape, dtype, 1)
    trailing = shape[len(shape) - axes :]
    weight, bias = (values(trailing, dtype, 2), values(trailing, dtype, 3)) if affine else (None, None)
    tx = torch.from_numpy(x).requires_grad_()
    parameters = [torch.from_numpy(a).requires_grad_() for a in (weight, bias)] if affine else [None, None]
    out, mean, deviation = normalization.layer_norm(x, weight, bias, axes=axes)
    expected = functional.layer_norm(tx, trailing, *parameters)
    close(out, expected, dtype, 4)
    ours = normalization.layer_norm_backward(g, x, mean, deviation, weight, axes=axes, wanted=(True, affine, affine))
    wanted = [tx, *parameters] if affine else [tx]
    for a, b in zip(ours, torch.autograd.grad(expected, wanted, torch.from_numpy(g))):
        close(a, b, dtype, 10)
    out, deviation = normalization.rms_norm(x, weight, axes=axes)
    expected = functional.rms_norm(tx, trailing, parameters[0])
    close(out, expected, dtype, 4)
    ours = normalization.rms_norm_backward(g, x, deviation, weight, axes=axes, wanted=(True, affine))
    for a, b in zip(ours, torch.autograd.grad(expected, wanted[:2], torch.from_numpy(g))):
        close(a, b, dtype, 10)


ACTIVATIONS = {
    "silu": (activations.silu, activations.silu_backward, functional.silu),
    "gelu": (activations.gelu, activations.gelu_backward, functional.gelu),
    "gelu_tanh": (
        lambda x: activations.gelu(x, approximate="tanh"),
        lambda g, x: activations.gelu_backward(g, x, approximate="tanh"),
        lambda x: functional.gelu(x, approximate="tanh"),
    ),
    "sigmoid": (activations.sigmoid, None, torch.sigmoid),
}


@pytest.mark.parametrize("name", list(ACTIVATIONS))
@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("shape", [(), (7,), (3, 0), (900, 1000)], ids=str)
def test_activations(name, dtype, shape):
    forward, backward, reference = ACTIVATIONS[name]
    x, g = (values(shape, dtype) * 4).astype(dtype), values(shape, dtype, 1)
    if x.size > 1:
        x.flat[:2] = -100, 100
    tx = torch.from_numpy(np.asarray(x)).requires_grad_()
    expected = reference(tx)
    close(np.asarray(forward(x)), expected, dtype)
    if backward is not None:
        (gradient,) = torch.autograd.grad(expected, tx, torch.from_numpy(np.asarray(g)))
        close(np.asarray(backward(g, x)), gradient, dtype, 2)


@pytest.mark.parametrize("layout", ["C", "F", "strided", "mixed"])
def test_elementwise_keeps_values_for_every_layout(layout):
    x, y = values((700, 900)), values((700, 900), seed=1)
    if layout == "F":
        x, y = np.asfortranarray(x), np.asfortranarray(y)
    elif layout == "strided":
        x, y = x[::2, ::3], y[::2, ::3]
    elif layout == "mixed":
        y = np.asfortranarray(y)
    np.testing.assert_array_equal(activations.elementwise(np.tanh, x), np.tanh(x))
    np.testing.assert_array_equal(activations.elementwise(np.multiply, x, y), x * y)
    assert activations.elementwise(np.less, x, y).dtype == bool
    np.testing.assert_allclose(activations.silu_backward(y, x), activations.silu_backward(y.copy(), x.copy()))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5, 4), (800, 500)], ids=str)
def test_bce_with_logits(weighted, dtype, shape):
    x, g = values(shape, dtype) * 5, values(shape, dtype, 1)
    target = np.random.default_rng(2).random(shape).astype(dtype)
    weight = np.random.default_rng(3).random(shape[-1]).astype(dtype) * 3 if weighted else None
    tx = torch.from_numpy(x).requires_grad_()
    tw = None if weight is None else torch.from_numpy(weight)
    tz = torch.from_numpy(target)
    expected = functional.binary_cross_entropy_with_logits(tx, tz, pos_weight=tw, reduction="none")
    close(activations.bce_with_logits(x, target, weight), expected, dtype)
    (gradient,) = torch.autograd.grad(expected, tx, torch.from_numpy(g))
    close(activations.bce_with_logits_backward(g, x, target, weight), gradient, dtype, 2)


@pytest.mark.parametrize("bound", [3, 50, 2000, 70000])
@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("options", [{}, {"padding_index": 1}, {"scale_by_frequency": True}])
def test_embedding_backward(bound, dtype, options):
    generator = np.random.default_rng(0)
    indices = generator.integers(0, bound, (30, 20))
    indices[:5] = 1
    g = values((30, 20, 4), dtype, 1)
    ours = embedding.embedding_backward(g, indices, size=bound, **options)
    reference = torch.ops.aten.embedding_dense_backward(
        torch.from_numpy(g.astype("float64")),
        torch.from_numpy(indices),
        bound,
        options.get("padding_index", -1),
        options.get("scale_by_frequency", False),
    )
    close(ours, reference.to(getattr(torch, dtype)), dtype, 4)


@pytest.mark.parametrize("repeats", [0, 3, 400])
def test_rows_are_added_into_cleared_memory(repeats, monkeypatch):
    monkeypatch.setattr(large, "CLEARED_BYTES", 1 << 12)
    generator = np.random.default_rng(0)
    indices = generator.permutation(2000)[:500]
    indices[:repeats] = indices[-1]
    rows = values((500, 8), "float64")
    dirty = np.full((2000, 8), np.nan)
    del dirty  # memory to be used again
    expected = np.zeros((2000, 8))
    np.add.at(expected, indices, rows)
    np.testing.assert_allclose(embedding.scatter_add_rows(indices, rows, 2000), expected, atol=1e-12)


def test_stable_order_for_wide_keys():
    keys = np.random.default_rng(0).integers(0, 200_000, 5000)
    for bound in (200_000, 1 << 40):
        np.testing.assert_array_equal(embedding.stable_order(keys, bound), np.argsort(keys, kind="stable"))


ATTENTION = [
    ((2, 3), 5, 7, {}),
    ((2, 3), 6, 6, {"causal": True}),
    ((2, 3), 5, 7, {"mask": "float"}),
    ((2, 3), 5, 7, {"mask": "bool"}),
    ((2, 3), 5, 7, {"mask": "per head"}),
    ((), 5, 7, {}),
    ((3,), 300, 400, {}),
    ((3,), 300, 400, {"causal": True}),
    ((2,), 400, 300, {"causal": True}),
    ((2,), 256, 256, {"causal": True}),
]


@pytest.mark.parametrize("case", ATTENTION, ids=str)
@pytest.mark.parametrize("score_bytes", [1 << 20, 1 << 14])
def test_attention(case, score_bytes, monkeypatch):
    monkeypatch.setattr(attention, "SCORE_BYTES", score_bytes)
    lead, queries, keys, options = case
    q, k, v = values((*lead, queries, 4)), values((*lead, keys, 4), seed=1), values((*lead, keys, 6), seed=2)
    mask = None
    if options.get("mask") == "float":
        mask = values((queries, keys), seed=3)
    elif options.get("mask") == "bool":
        mask = values((queries, keys), seed=3) > 0
        mask[1] = False
    elif options.get("mask") == "per head":
        mask = values((*lead, queries, keys), seed=3)
    causal = options.get("causal", False)
    tensors = [torch.from_numpy(a).requires_grad_() for a in (q, k, v)]
    tm = None if mask is None else torch.from_numpy(mask)
    if tm is not None and tm.is_floating_point():
        tm.requires_grad_()
        tensors.append(tm)
    expected = functional.scaled_dot_product_attention(*tensors[:3], tm, is_causal=causal, scale=0.4)
    out, logsumexp = attention.attention(q, k, v, mask, scale=0.4, causal=causal)
    close(out, expected, "float64", 10)
    g = values(out.shape, seed=4)
    ours = attention.attention_backward(g, q, k, v, out, logsumexp, mask, scale=0.4, causal=causal, mask_wanted=True)
    references = torch.autograd.grad(expected, tensors, torch.from_numpy(g))
    for a, b in zip(ours, references):
        if a.shape != b.shape:
            a = a.sum(tuple(range(a.ndim - b.ndim)))
        close(a, b, "float64", 10)
    monkeypatch.setattr(attention, "INLINE_SCORES", 0)
    known, chances = attention.kept_attention(q, k, v, mask, 0.4, causal)
    np.testing.assert_allclose(known, out, atol=1e-12)
    for wanted in ((True, True, True, True), (True, True, True, False), (False, False, True, False)):
        again = attention.kept_attention_backward(g, q, k, v, chances, 0.4, causal, wanted)
        for a, b, wish in zip(again, ours, wanted):
            assert (a is not None) == wish
            if wish:
                np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("size", [1.0, 400.0])
def test_kept_attention_of_permuted_heads(size):
    packed = values((2, 40, 3, 4, 8)) * size
    q, k, v = packed.transpose(2, 0, 3, 1, 4)
    out, chances = attention.kept_attention(q, k, v, None, 0.3, True)
    expected = functional.scaled_dot_product_attention(*map(torch.tensor, (q, k, v)), is_causal=True, scale=0.3)
    close(out, expected, "float64", 10)
    assert out.transpose(0, 2, 1, 3).flags.c_contiguous  # as in torch, so that heads join without a copy
    np.testing.assert_allclose(chances.sum(-1), 1, atol=1e-12)


def test_attention_dropout_multiplies_probabilities():
    q, k, v = values((2, 5, 4)), values((2, 7, 4), seed=1), values((2, 7, 4), seed=2)
    kept = (values((2, 5, 7), seed=3) > 0) * 2.0
    tensors = [torch.from_numpy(a).requires_grad_() for a in (q, k, v)]
    tq, tk, tv = tensors
    expected = (torch.softmax(tq @ tk.mT * 0.5, -1) * torch.from_numpy(kept)) @ tv
    out, logsumexp = attention.attention(q, k, v, None, kept, scale=0.5)
    close(out, expected, "float64", 10)
    g = values(out.shape, seed=4)
    ours = attention.attention_backward(g, q, k, v, out, logsumexp, None, kept, scale=0.5)
    for a, b in zip(ours, torch.autograd.grad(expected, tensors, torch.from_numpy(g))):
        close(a, b, "float64", 10)


def test_what_comes_later_is_not_looked_at():
    """Keys in the future may hold anything, infinities and nan too."""
    q, k, v = values((2, 6, 4)), values((2, 6, 4), seed=1), values((2, 6, 4), seed=2)
    expected, _ = attention.kept_attention(q[:, :4], k[:, :4], v[:, :4], None, 0.5, True)
    k[:, 4:] = np.nan
    k[:, 5] = np.inf
    out, chances = attention.kept_attention(q, k, v, None, 0.5, True)
    np.testing.assert_allclose(out[:, :4], expected, atol=1e-12)
    assert not chances[:, :4, 4:].any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["plain", "transposed", "broadcast"])
def test_rectifier(dtype, layout):
    x = values((300, 200), dtype)
    x[0], x[1], x[2], x[3] = np.nan, np.inf, -np.inf, -0.0
    g = values((300, 200), dtype, seed=1)
    g[5], g[6] = np.inf, np.nan
    if layout == "transposed":
        x = x.T
        g = np.ascontiguousarray(g.T)
    elif layout == "broadcast":
        g = np.broadcast_to(g[:, :1], g.shape)
    out = rectifier.rectified(x)
    np.testing.assert_array_equal(out, torch.relu(torch.tensor(x)).numpy())
    expected = torch.ops.aten.threshold_backward(torch.tensor(g), torch.tensor(out), 0)
    np.testing.assert_array_equal(rectifier.rectified_backward(g, out), expected.numpy())
