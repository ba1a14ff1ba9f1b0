"""Calls that torch refuses are refused here with the same exception and the same opening words; warnings likewise."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

# Each line is evaluated with F, R (a tensor of normal numbers), I (of int64 numbers) and T (the module).
REFUSED = """
F.conv1d(R(1, 1, 0), R(1, 1, 0))
F.conv1d(R(1, 1, 0), R(1, 1, 2), padding=1)
F.conv2d(R(1, 1, 2, 0), R(1, 1, 2, 0))
F.conv2d(R(1, 1, 0, 2), R(1, 1, 1, 1), padding=1)
F.conv_transpose1d(R(1, 1, 0), R(1, 1, 2))
F.soft_margin_loss(R(), R(2))
F.soft_margin_loss(R(1, 3), R(2, 3))
F.soft_margin_loss(I(1, 0), R(2))
F.soft_margin_loss(I(1, 0) > 0, R(2))
F.soft_margin_loss(R(2), R(2).cfloat())
F.gaussian_nll_loss(R(2, 3), R(2, 3), R(3).abs())
F.gaussian_nll_loss(R(2, 3), R(2, 3), R(1).abs())
F.gaussian_nll_loss(R(2, 1), R(2, 1), R().abs())
F.gaussian_nll_loss(R(), R(), R(1).abs())
F.nll_loss(R(3, 5), I(0, 0))
F.nll_loss(R(3, 5), R(3))
F.nll_loss(R(3, 5), I(0, 0, 0).reshape(3, 1))
F.nll_loss(R(3, 5), I(0, 0, 0).int())
F.nll_loss(R(3, 5), I(0, 0, 0), weight=R(4))
F.nll_loss(R(3, 5), I(5, 5, 5))
F.nll_loss(R(2, 3, 4, 4), I(*[7] * 32).reshape(2, 4, 4))
F.nll_loss(R(2, 3, 4), I(*[0] * 6).reshape(2, 3))
F.nll_loss(R(3, 5), I(0, 0, 0), reduction="x")
F.cross_entropy(R(3, 5), I(0, 0, 0), label_smoothing=1.5)
F.cross_entropy(R(3, 5), I(*[0] * 15).reshape(3, 5))
F.cross_entropy(R(3, 5), R(3, 5), ignore_index=1)
F.cross_entropy(R(3, 5), I(-1, 0, 0))
F.binary_cross_entropy(R(3), R(4))
F.binary_cross_entropy(R(3) * 0 + 2, R(3) * 0)
F.binary_cross_entropy(R(3), R(3).double())
F.binary_cross_entropy_with_logits(R(3), R(4))
F.mse_loss(I(1, 2), I(1, 2))
F.mse_loss(R(3), R(3), weight=R(2))
F.smooth_l1_loss(R(3), R(3), beta=-1)
F.huber_loss(R(3), R(3), delta=0)
F.gaussian_nll_loss(R(3, 2), R(3, 2), R(3, 2) * 0 - 1)
F.gaussian_nll_loss(R(3, 2), R(3, 2), R(3, 2) * 0 + 1, reduction="s")
F.gaussian_nll_loss(R(3, 5), R(3, 5), R(3, 3) * 0 + 1)
F.fold(R(1, 12, 12), (4, 5), (2, 2), dilation=8)
F.grid_sample(R(1, 2, 2), R(1, 1, 1, 2), align_corners=False)
F.grid_sample(R(1, 1, 2, 2), R(1, 1, 1, 1, 3), align_corners=False)
F.grid_sample(R(2, 2), R(1, 1, 1, 2), align_corners=False)
F.fractional_max_pool2d(R(1, 2, 9, 9), (2, 2, 2), output_size=3)
F.fractional_max_pool2d(R(1, 2, 9, 9), 2, output_size=(3, 3, 3))
F.fractional_max_pool3d(R(1, 2, 9, 9, 9), (2, 2), output_size=3)
F.fractional_max_pool3d(R(1, 0, 9, 9, 9), 2, output_size=3)
F.multi_margin_loss(R(3, 5), I(0, 0, 0), p=3)
F.multi_margin_loss(R(3, 5), I(0, 0))
F.multi_margin_loss(R(3, 5), I(6, 0, 0))
F.multilabel_margin_loss(R(3, 5), I(*[0] * 12).reshape(3, 4))
F.multilabel_margin_loss(R(5), I(9, 9, 9, 9, 9))
F.margin_ranking_loss(R(3), R(3, 1), R(3))
F.cosine_embedding_loss(R(3, 2), R(3, 2), R(3, 2))
F.triplet_margin_loss(R(3, 2), R(3, 2), R(2))
F.triplet_margin_loss(R(3, 2), R(3, 2), R(3, 2), margin=-1)
F.layer_norm(R(2, 3), (4,))
F.layer_norm(R(2, 3), ())
F.layer_norm(R(2, 3), (3,), R(4))
F.layer_norm(R(2, 3), 3)
F.layer_norm(I(1, 2, 3), (3,))
F.group_norm(R(2, 3), 2)
F.group_norm(R(2, 4), 2, R(3))
F.batch_norm(R(2, 3), R(3), R(3), R(4))
F.batch_norm(R(1, 3), R(3), R(3), training=True)
F.batch_norm(R(2, 3), None, None)
F.instance_norm(R(2, 3, 1))
F.instance_norm(R(2, 3, 4), use_input_stats=False)
F.pdist(R(3))
F.pdist(R(3, 2), p=-1)
F.one_hot(R(3))
F.one_hot(I(-1))
F.one_hot(I(3), 2)
F.bilinear(R(3, 2), R(3, 4), R(5, 2, 3))
F.cosine_similarity(I(1, 2), I(1, 2), dim=0)
F.conv2d(R(1, 3, 5, 5).double(), R(4, 3, 3, 3))
F.conv2d(R(1, 3, 5, 5), R(4, 3, 3, 3), R(3))
F.conv2d(R(1, 3, 5, 5), R(4, 3, 3, 3), stride=(1, 2, 3))
F.conv2d(R(1, 3, 5, 5), R(4, 3, 3, 3), padding="same", stride=2)
F.conv2d(R(1, 3, 5, 5), R(4, 3, 3, 3), padding="foo")
F.conv2d(R(3, 5), R(4, 3, 3, 3))
F.conv2d(R(1, 2, 5, 5), R(4, 3, 3, 3))
F.conv2d(R(1, 3, 5, 5), R(4, 3, 6, 6))
F.conv2d(R(1, 3, 5, 5), R(4, 3, 3, 3), padding=-1)
F.conv2d(R(1, 3, 5, 5), R(4, 3, 3, 3), stride=0)
F.conv2d(R(1, 3, 5, 5), R(4, 3, 3, 3), dilation=0)
F.conv2d(R(1, 3, 5, 5), R(4, 3, 3, 3), stride="a")
F.conv_transpose2d(R(1, 4, 5, 5), R(4, 3, 3, 3), output_padding=1)
F.conv_transpose2d(R(1, 3, 5, 5), R(4, 3, 3, 3))
F.conv_transpose2d(R(1, 4, 5, 5), R(4, 3, 3, 3), R(4))
F.max_pool2d(R(1, 3, 5, 5), (2, 2, 2))
F.max_pool2d(R(1, 3, 5, 5), 2, padding=2)
F.max_pool2d(R(1, 3, 5, 5), 7)
F.max_pool2d(R(1, 3, 5, 5), 2, stride=0)
F.max_pool1d(R(1, 2, 5), 0)
F.max_pool1d(R(1, 2, 5), 2, padding=2)
F.avg_pool2d(R(1, 3, 5, 5), 2, divisor_override=0)
F.adaptive_avg_pool2d(R(1, 3, 5, 5), (2,))
F.adaptive_avg_pool2d(R(5, 5), 2)
F.adaptive_max_pool2d(R(5, 5), (2, 2))
F.fractional_max_pool2d(R(1, 3, 5, 5), 2)
F.unfold(R(1, 3, 5, 5), 7)
F.fold(R(1, 11, 16), (5, 5), 2)
F.fold(R(1, 12, 15), (5, 5), 2)
F.embedding(I(5), R(5, 3))
F.embedding(R(1), R(5, 3))
F.embedding(I(1), R(5))
F.embedding(I(1), R(5, 3), padding_idx=5)
F.embedding_bag(I(1, 2), R(5, 3))
F.embedding_bag(I(1, 2), R(5, 3), I(1))
F.embedding_bag(I(1, 2), R(5, 3), I(0), mode="x")
F.embedding_bag(I(1, 7), R(5, 3), I(0))
F.embedding_bag(I(1, 7), R(5, 3).double(), I(0))
F.embedding_bag(I(1, -1), R(5, 3), I(0), mode="max")
F.embedding_bag(I(1, -1), R(5, 3), I(0), padding_idx=1)
F.scaled_dot_product_attention(R(8), R(2, 8), R(2, 8))
F.scaled_dot_product_attention(R(4, 8), R(4, 5), R(4, 8))
F.scaled_dot_product_attention(R(4, 8), R(4, 8), R(3, 8))
F.scaled_dot_product_attention(R(1, 4, 8), R(1, 4, 5), R(1, 4, 8))
F.scaled_dot_product_attention(R(1, 4, 8), R(1, 4, 8), R(1, 3, 8))
F.scaled_dot_product_attention(R(2, 8), R(2, 8).double(), R(2, 8))
F.scaled_dot_product_attention(R(2, 8), R(2, 8), R(2, 8), attn_mask=I(*[1] * 4).reshape(2, 2))
F.pad(R(2, 3, 4, 4), (1,))
F.pad(R(2, 3, 4, 4), (4, 4, 0, 0), mode="reflect")
F.pad(R(2, 3, 4, 4), (1, 1), mode="reflect")
F.pad(R(2, 3, 4, 4), (1, 1), mode="foo")
F.pad(R(2, 3, 4, 4), (5, 5, 0, 0), mode="circular")
F.interpolate(R(2, 3, 4, 4))
F.interpolate(R(2, 3, 4, 4), size=3, scale_factor=2)
F.interpolate(R(2, 3, 4, 4), size=(3, 3, 3))
F.interpolate(R(2, 3, 4, 4), size=3, mode="linear")
F.interpolate(R(2, 3, 4, 4), size=3, mode="foo")
F.interpolate(R(2, 3, 4, 4), size=3, align_corners=True)
F.interpolate(R(2, 3, 4, 4), size=0)
F.interpolate(R(2, 3, 4, 4), size=3, antialias=True)
F.grid_sample(R(2, 3, 4, 4), R(2, 5, 5, 3), align_corners=False)
F.grid_sample(R(2, 3, 4, 4), R(3, 5, 5, 2), align_corners=False)
F.grid_sample(R(2, 3, 4, 4), R(2, 5, 5, 2), mode="foo")
F.affine_grid(R(2, 2, 2), (2, 1, 4, 4), align_corners=False)
F.affine_grid(R(2, 2, 3), (2, 1, 0, 4), align_corners=False)
F.pixel_shuffle(R(1, 3, 2, 2), 2)
F.pixel_unshuffle(R(1, 3, 3, 4), 2)
F.channel_shuffle(R(1, 3, 2, 2), 2)
F.dropout(R(3), 1.5)
F.dropout1d(R(3))
F.dropout(I(1, 2, 3))
F.gelu(I(1))
F.gelu(R(1), approximate="foo")
F.softshrink(R(1), -1.0)
F.glu(R(3, 3))
F.prelu(R(3, 4), R(3))
F.celu(R(3), alpha=0.0)
F.softmax(I(1, 2), dim=0)
F.linear_cross_entropy(R(2, 3), R(5, 4), I(1, 2))
F.binary_cross_entropy_with_logits(R(3), I(0, 1, 1))
F.kl_div(R(3), I(0, 1, 1), reduction="sum")
F.cosine_embedding_loss(R(2, 3), R(2, 3), I(1, -1, 1))
F.cross_entropy(3.0, I(1))
F.gumbel_softmax(I(1, 2))
F.embedding(None, R(5, 3))
F.embedding_bag(I(1), R(5, 3), I(0), mode="max", sparse=True)
F.pad(R(2, 3), (-4, 1))
F.unfold(R(1, 2, 3, 3), (2, 2, 2))
F.conv2d(R(2, 3, 5, 5).double(), R(4, 3, 3, 3), R(4))
F.conv1d(I(1, 2, 3).reshape(1, 1, 3), R(1, 1, 2), R(1))
F.conv2d(R(2, 3, 5, 5), R(4, 3, 3, 3), R(4).double())
F.conv_transpose1d(R(1, 1, 3).double(), R(1, 1, 2), R(1))
F.batch_norm(I(1, 2).reshape(2, 1), None, None, training=True)
F.batch_norm(R(2, 3).double(), R(3).abs(), R(3).abs())
F.batch_norm(R(2, 3), R(3), R(3).abs().double())
F.batch_norm(R(2, 3).to(T.complex64), None, None, training=True)
F.layer_norm(R(2, 3).double(), (3,), R(3))
F.layer_norm(R(2, 3).half(), (3,), R(3).half(), R(3))
F.group_norm(R(2, 4).double(), 2, R(4))
F.group_norm(I(1, 2, 3, 4).reshape(2, 2), 1)
F.instance_norm(I(1, 2).reshape(1, 1, 2))
F.rms_norm(I(1, 2), (2,))
F.max_pool2d(R(1, 4, 4) > 0, 2)
F.max_pool2d(R(1, 4, 4).to(T.complex64), 2)
F.fractional_max_pool2d(R(1, 5, 7), 2, output_size=(6, 2))
F.fractional_max_pool3d(R(1, 5, 7, 7), 2, output_size=(5, 2, 2))
F.linear(R(2, 3).double(), R(4, 3), R(4))
F.linear(I(1, 2, 3), R(4, 3), R(4))
F.linear(R(2, 3).double(), R(4, 3))
F.linear(R(2, 3), R(4, 3), R(4).double())
F.linear(None, R(4, 3))
F.linear(R(2, 3), 3.0)
F.linear(R(2, 3), R(4, 2, 3))
F.scaled_dot_product_attention(I(1, 2).reshape(1, 1, 2), I(1, 2).reshape(1, 1, 2), I(1, 2).reshape(1, 1, 2))
F.ctc_loss(R(5, 2, 4), I(1, 2, 3, 1).reshape(2, 2), I(9, 5), I(2, 2))
"""


def attempt(module, line):
    def normal(*shape):
        return module.tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))

    def integers(*numbers):
        return module.tensor(np.array(numbers))

    names = {"F": module.nn.functional, "R": normal, "I": integers, "T": module}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            eval(line, names)
        except Exception as error:
            return error, caught
    return None, caught


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_refused_in_torchs_words(line):
    theirs, ours = attempt(torch, line)[0], attempt(pullback, line)[0]
    assert theirs is not None, "torch accepts this"
    assert isinstance(ours, type(theirs)), f"torch: {theirs!r}, here: {ours!r}"
    opening = " ".join(str(theirs).split())[:18]
    assert opening in " ".join(str(ours).split()), f"torch: {theirs}\nhere: {ours}"


WARNED = """
F.mse_loss(R(3, 1), R(3))
F.l1_loss(R(3, 1), R(3))
F.huber_loss(R(3, 1), R(3))
F.softmax(R(3, 4))
F.log_softmax(R(3, 4))
F.kl_div(R(3), R(3))
F.mse_loss(R(3), R(3), size_average=False)
F.grid_sample(R(2, 3, 4, 4), R(2, 5, 5, 2))
F.upsample(R(1, 1, 2, 2), scale_factor=2)
F.dropout2d(R(2, 3, 4))
F.gumbel_softmax(R(3), eps=1e-5)
F.affine_grid(R(1, 2, 3), (1, 1, 1, 4), align_corners=True)
F.embedding_bag(R(5, 3), I(1), I(0))
"""


@pytest.mark.parametrize("line", WARNED.strip().splitlines())
def test_warned_in_torchs_words(line):
    theirs, ours = (attempt(module, line)[1] for module in (torch, pullback))
    assert theirs
    for warning in theirs:
        opening = str(warning.message)[:40]
        assert any(issubclass(w.category, warning.category) and opening in str(w.message) for w in ours), opening
    assert {w.filename for w in ours} == {"<string>"}, "a warning is about the line of the program"


VARIANCES = [
    (4, 3),
    (4, 1),
    (1, 3),
    (4,),
    (3,),
    (1, 1),
    (1,),
    (),
    (2, 4, 3),
    (2, 4, 1),
    (2, 1, 3),
    (1, 4, 3),
    (2, 4),
    (2, 1, 1),
]


@pytest.mark.parametrize("size", [(4, 3), (2, 4, 3), (4, 1), (3,), ()])
def test_sizes_of_variances_that_torch_takes(size):
    def answer(library, variance):
        x, var = library.full(size, 0.5), library.linspace(1, 2, 24)[: math.prod(variance)].reshape(variance)
        try:
            return library.nn.functional.gaussian_nll_loss(x, x + 1, var, reduction="none").tolist()
        except ValueError:
            return "refused"

    for variance in VARIANCES:
        ours, theirs = answer(pullback, variance), answer(torch, variance)
        assert (ours == "refused") == (theirs == "refused"), variance
        assert ours == "refused" or pullback.allclose(pullback.tensor(ours), pullback.tensor(theirs)), variance
