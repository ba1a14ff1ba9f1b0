"""Dropout and other random functions draw torch's numbers; in-place forms, running statistics, bags, CTC, attention."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

IMAGES = np.random.default_rng(0).standard_normal((4, 6, 5, 5)).astype(np.float32)


def same(function, tolerance=1e-6):
    """Run `function(module, F)` with torch and here from one seed; compare all tensors it returns."""
    results = []
    for module in (torch, pullback):
        module.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = function(module, module.nn.functional)
        results.append(answer if isinstance(answer, tuple) else (answer,))
    assert len(results[0]) == len(results[1])
    for want, have in zip(*results, strict=True):
        if want is None:
            assert have is None
            continue
        assert str(have.dtype) == str(want.dtype)
        if str(want.dtype) == "torch.bfloat16":
            want, have = want.float(), have.float()
        np.testing.assert_allclose(have.detach().numpy(), want.detach().numpy(), rtol=tolerance, atol=tolerance)


DROPOUTS = ["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"]


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("name", DROPOUTS)
def test_masks_are_torchs(name, p):
    values = IMAGES[0] if name == "dropout1d" else IMAGES

    def plain(module, F):
        x = module.tensor(values, requires_grad=True)
        y = getattr(F, name)(x, p, True)
        (y * y).sum().backward()
        return y, x.grad

    def overwritten(module, F):
        x = module.tensor(values)
        return getattr(F, name)(x, p, True, True), x

    same(plain, 1e-5)
    same(overwritten)


def test_masks_follow_memory_order():
    same(lambda module, F: F.dropout(module.tensor(IMAGES).permute(0, 2, 3, 1), 0.4))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_masks_of_other_dtypes(dtype):
    same(lambda module, F: F.dropout(module.tensor(IMAGES).to(getattr(module, dtype)), 0.3))


def test_dropout_outside_training_returns_its_input():
    x = pullback.ones(3)
    assert pullback.nn.functional.dropout(x, 0.5, False) is x


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax(hard):
    same(lambda module, F: F.gumbel_softmax(module.tensor(IMAGES), tau=0.7, hard=hard, dim=1))


def test_random_slopes_and_windows():
    same(lambda module, F: F.rrelu(module.tensor(IMAGES), training=True))
    same(lambda module, F: F.fractional_max_pool2d_with_indices(module.tensor(IMAGES), 2, output_ratio=(0.6, 0.6)))
    same(lambda module, F: F.fractional_max_pool3d_with_indices(module.tensor(IMAGES), 2, output_size=2))
    same(lambda module, F: F.scaled_dot_product_attention(*[module.tensor(IMAGES)] * 3, dropout_p=0.4))


ACTIVATIONS = "relu relu6 leaky_relu elu selu celu silu mish hardsigmoid hardswish hardtanh rrelu".split()
UNDERSCORED = "relu_ leaky_relu_ elu_ selu_ celu_ hardtanh_ rrelu_".split()


@pytest.mark.parametrize("name", ACTIVATIONS + UNDERSCORED)
def test_in_place_activations(name):
    def run(module, F):
        x = module.tensor(IMAGES, requires_grad=True)
        y = x * 2
        z = getattr(F, name)(y) if name.endswith("_") else getattr(F, name)(y, inplace=True)
        assert z is y
        (z * z).sum().backward()
        return z, x.grad

    same(run, 1e-5)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_running_statistics(name, training):
    def run(module, F):
        mean, variance = module.zeros(6), module.ones(6)
        x = module.tensor(IMAGES, requires_grad=True)
        weight = module.full((6,), 1.5, requires_grad=True)
        bias = module.ones(6, requires_grad=True)
        y = getattr(F, name)(x, mean, variance, weight, bias, training, 0.2)
        (y * y * y).sum().backward()
        return y, mean, variance, x.grad, weight.grad, bias.grad

    same(run, 1e-4)


@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("include_last", [False, True])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_with_offsets(mode, include_last, padding):
    table = np.random.default_rng(1).standard_normal((7, 3))

    def run(module, F):
        weight = module.tensor(table, requires_grad=True)
        offsets = module.tensor([0, 4, 4, 6, *([8] if include_last else [])])
        y = F.embedding_bag(
            module.tensor([1, 2, 4, 5, 4, 3, 2, 2]), weight, offsets, mode=mode, include_last_offset=include_last,
            padding_idx=padding,
        )  # fmt: skip
        (y * y).sum().backward()
        return y, weight.grad

    same(run, 1e-9)


@pytest.mark.parametrize("indices", [[], [2, 2]])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_that_are_all_empty_give_no_gradient(mode, indices):
    def run(module, F):
        weight = module.ones(4, 3, requires_grad=True)
        y = F.embedding_bag(
            module.tensor(indices, dtype=module.int64), weight, module.tensor([0, 0]), mode=mode, padding_idx=2
        )
        y.sum().backward()
        return y, weight.grad

    same(run, 0)


def test_tables_are_shortened_in_place():
    def run(module, F):
        weight = module.tensor(np.random.default_rng(1).standard_normal((7, 3)) * 3, requires_grad=True)
        y = F.embedding(module.tensor([[1, 2], [6, 1]]), weight, max_norm=1.5)
        y.sum().backward()
        return y, weight, weight.grad

    same(run, 1e-6)


@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_ctc(reduction, zero_infinity):
    rng = np.random.default_rng(2)
    scores, targets = rng.standard_normal((12, 4, 6)), rng.integers(1, 6, (4, 5))

    def padded(module, F):
        x = module.tensor(scores, requires_grad=True)
        lengths = module.tensor([12, 10, 3, 12]), module.tensor([5, 3, 4, 0])  # the third cannot be aligned
        y = F.ctc_loss(
            x.log_softmax(-1), module.tensor(targets), *lengths, reduction=reduction, zero_infinity=zero_infinity
        )
        y.sum().backward()
        return y, x.grad

    def joined(module, F):
        x = module.tensor(scores, requires_grad=True)
        flat = module.tensor(targets.reshape(-1)[:12])
        y = F.ctc_loss(x.log_softmax(-1), flat, (12, 10, 9, 12), (5, 3, 4, 0), blank=2, reduction=reduction)
        y.sum().backward()
        return y, x.grad

    same(padded, 1e-8)
    same(joined, 1e-8)


@pytest.mark.parametrize("batched,weights,mask,padding", [*itertools.product(
    (True, False), (True, False), (None, "bool", "float", "3d"), (False, True)
)])  # fmt: skip
@pytest.mark.parametrize("extra", [{}, {"zero": True}, {"bias": True}, {"separate": True}, {"drop": 0.3}])
def test_multi_head_attention(batched, weights, mask, padding, extra):
    def run(module, F):
        rng = np.random.default_rng(1)

        def leaf(*shape):
            return module.tensor(rng.standard_normal(shape), requires_grad=True)

        lead = (2,) if batched else ()
        q, k, v = leaf(3, *lead, 8), leaf(5, *lead, 8), leaf(5, *lead, 8)
        masks = {
            "bool": rng.random((3, 5)) < 0.3, "float": rng.standard_normal((3, 5)),
            "3d": rng.standard_normal((4 if batched else 2, 3, 5)),
        }  # fmt: skip
        ignored = np.array([False] * 4 + [True])
        options = {
            "key_padding_mask": module.tensor(np.stack([ignored] * 2) if batched else ignored) if padding else None,
            "attn_mask": None if mask is None else module.tensor(masks[mask]), "need_weights": weights,
        }  # fmt: skip
        weight, bias, out_weight, out_bias = leaf(24, 8), leaf(24), leaf(8, 8), leaf(8)
        more = (leaf(1, 1, 8), leaf(1, 1, 8)) if "bias" in extra else (None, None)
        if "separate" in extra:
            options |= dict(use_separate_proj_weight=True, q_proj_weight=leaf(8, 8), k_proj_weight=leaf(8, 8),
                            v_proj_weight=leaf(8, 8))  # fmt: skip
        out, attention = F.multi_head_attention_forward(
            q, k, v, 8, 2, None if "separate" in extra else weight, bias, *more, "zero" in extra,
            extra.get("drop", 0.0),
            out_weight, out_bias, **options,
        )  # fmt: skip
        (out * out).sum().backward()
        return out, attention, q.grad, k.grad, v.grad, bias.grad

    same(run, 1e-7)


HALVES = [
    ("gelu", {}), ("silu", {}), ("softplus", {}), ("log_softmax", {"dim": 1}),
    ("layer_norm", {"normalized_shape": (5,)}),
    ("rms_norm", {"normalized_shape": (5,)}), ("group_norm", {"num_groups": 2}), ("max_pool2d", {"kernel_size": 2}),
    ("avg_pool2d", {"kernel_size": 2}), ("interpolate", {"scale_factor": 2, "mode": "bilinear"}), ("glu", {"dim": 1}),
    ("adaptive_max_pool2d", {"output_size": 2}), ("unfold", {"kernel_size": 2}), ("instance_norm", {}),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name,options", HALVES, ids=lambda value: value if isinstance(value, str) else "")
def test_half_precision(name, options, dtype):
    def run(module, F):
        x = module.tensor(IMAGES).to(getattr(module, dtype)).requires_grad_(True)
        y = getattr(F, name)(x, **options)
        y.sum().backward()
        return y, x.grad

    same(run, 2e-2 if dtype == "bfloat16" else 4e-3)


def test_complex_convolution():
    rng = np.random.default_rng(4)
    values, kernel = (rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in ((2, 3, 6, 6), (4, 3, 3, 3)))

    def run(module, F):
        x, w = module.tensor(values, requires_grad=True), module.tensor(kernel, requires_grad=True)
        y = F.conv_transpose2d(F.conv2d(x, w, padding=1), w, stride=2)
        (y.abs() ** 2).sum().backward()
        return y, x.grad, w.grad

    same(run, 1e-9)


def test_third_derivative_of_a_convolution():
    x = pullback.randn(1, 2, 4, 4, dtype=pullback.float64, requires_grad=True)
    w = pullback.randn(3, 2, 2, 2, dtype=pullback.float64, requires_grad=True)

    def gradient(x, w):
        y = (pullback.nn.functional.conv2d(x, w, stride=2) ** 3).sum()
        return pullback.autograd.grad(y, (x, w), create_graph=True)

    assert pullback.autograd.gradgradcheck(gradient, (x, w), atol=1e-4)
