"""Fractions where whole numbers belong, and numbers out of range: refused, with torch's kind of error."""

from __future__ import annotations

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

# `t` is the library, `f` its nn.functional, `x` three ones, `m` a matrix of ones.
REFUSED = """
t.randint(2.5, (2,))
t.randint(0, 2.5, (2,))
t.randint(0, True, (2,))
t.randint(0, 2, 2)
t.randint_like(x, 2.5)
t.randperm(2.5)
t.eye(2.5)
t.tril_indices(2.0, 2)
t.linspace(0, 1, 2.5)
x.narrow(0, 0, 1.0)
x.unfold(0, 1.0, 1)
x.roll(1.0)
x.chunk(1.5)
x.repeat(2.0)
x.topk(1.0)
x.kthvalue(1.0)
m.diag(1.0)
m.tril(1.0)
m.triu(1.0)
m.rot90(1.0)
x.round(decimals=1.5)
x[1.0]
t.bincount(t.tensor([1]), minlength=2.0)
t.histc(x, 2.5)
t.quantile(x, 1.5)
t.renorm(m, -1, 0, 1.0)
t.cdist(m, m, -1)
t.bernoulli(x * 2)
t.where(x > 0, x.to(t.int8), 300)
t.full((2,), 300, dtype=t.int8)
x.to(t.int8).clamp(0, 300)
f.max_pool1d(m[None], 2.0)
f.one_hot(t.tensor([1]), 2.5)
f.dropout(x, 1.5)
f.cosine_similarity(m, m, eps=-1.0)
f.softshrink(x.half(), 65507.0)
f.softshrink(x, -1.0)
f.huber_loss(x, x, delta=0.0)
f.margin_ranking_loss(x, x, x, margin="a")
x.random_(2.5)
x.random_(0, 2.5)
t.kaiser_window(3.0)
t.bartlett_window(3.0)
f.embedding(t.tensor([0]), m, padding_idx=1.0)
f.embedding_bag(t.tensor([[0]]), m, padding_idx=1.0)
f.cross_entropy(m, t.tensor([0, 1, 2]), ignore_index=1.0)
f.nll_loss(m, t.tensor([0, 1, 2]), ignore_index=1.0)
f.layer_norm(m, (3.0,))
f.rms_norm(m, (3.0,))
f.conv1d(m[None], m[None], groups=1.0)
f.channel_shuffle(m[None], 1.0)
x.half().clamp(0, 70000.0)
x.half().clamp_min(70000.0)
x.half().clamp_max(70000.0)
x.half().pow(70000.0)
x.half().add(x.half(), alpha=70000.0)
f.hardtanh(x.half(), -70000.0, 70000.0)
f.hardshrink(x.half(), 70000.0)
f.threshold(x.half(), 0.0, 70000.0)
f.pad(x.half(), (1, 1), value=70000.0)
x.bfloat16().clamp(0, 1e39)
x.clamp(0, 1e39)
t.norm(x, dtype=t.complex64)
x.cumsum(0, dtype=t.bool)
x.cumprod(0, dtype=t.bool)
t.tril_indices(2, 2, dtype=t.float32)
t.triu_indices(2, 2, dtype=t.bool)
t.randperm(3, dtype=t.complex64)
t.arange(3, dtype=t.complex64)
t.linspace(0, 1, 3, dtype=t.bool)
t.masked.norm(x, 2, dim=0, dtype=t.int64)
t.masked.normalize(x, 2, 0, dtype=t.int64)
t.tensor([t.tensor(1.5)], dtype=t.int64)
t.tensor([1, t.tensor([1.5])], dtype=t.bool)
t.tensor([np.float32(1.5)], dtype=t.uint8)
t.testing.make_tensor((2,), dtype=float, device="cpu")
f.ctc_loss(t.zeros(2, 1, 3), t.ones(1, 1, dtype=t.int64), 2, 1)
f.ctc_loss(t.zeros(2, 1, 3), t.ones(1, 1, dtype=t.int64), [2.0], [1.0])
f.ctc_loss(t.zeros(2, 1, 3), t.ones(1, 1, dtype=t.int64), t.tensor([2.0]), t.tensor([1.0]))
t.tril_indices(2, 2, 2**64)
t.triu_indices(2**64, 2)
t.kaiser_window(2**64)
f.conv1d(m[None], m[None], stride=2**64)
f.conv1d(m[None], m[None], dilation=2**64)
f.conv1d(m[None], m[None], groups=2**64)
f.conv_transpose1d(m[None], m[None], stride=2**64)
f.max_pool1d(m[None], 2, 2**64)
f.max_pool2d(m[None], 2**64)
f.avg_pool2d(m[None], 2, 2**64)
f.adaptive_max_pool2d(m[None], 2**64)
f.interpolate(m[None], scale_factor=1e300)
f.cross_entropy(m, t.tensor([0, 1, 2]), ignore_index=2**64)
x.long().pow(2**63)
x.long() ** 2**63
x.long().pow_(2**63)
x.bfloat16().pow(1e39)
x.long().clamp_max(2**63)
x.int().clamp_max(2**31)
x.long().clamp(max=1e300)
x.long().clip(1e300)
x.long().clamp_min(1e300)
f.elu(x, 1e39)
f.celu(x, 1e39)
f.leaky_relu(x, 1e39)
f.leaky_relu(x.bfloat16(), 1e39)
f.rrelu(x, -1e39, 1)
f.rrelu(x, 0, 1e39)
f.softplus(x, 1e39)
f.softplus(x, 1, 1e39)
f.threshold(x, 1e39, 0)
f.hinge_embedding_loss(x, x, 1e39)
x.lerp(x, 1e39)
x.logit(1e39)
x.logit(1e39)
x.histc(2, 0, 1e39)
x.addcmul(x, x, value=1e39)
x.addcdiv(x, x, value=1e39)
m.addmm(m, m, alpha=1e39)
m.addmm(m, m, beta=1e39)
m.addmv(m, x, alpha=1e39)
t.fill(x, 1e39)
t.fill(x.long(), 2**63)
t.scalar_tensor(1e39)
t.linspace(0, 1e300, 3)
t.linspace(0, 2**63, 3, dtype=t.int64)
t.logspace(0, 1e300, 3)
t.arange(2**63)
t.arange(0, 2**63, 2**61)
t.arange(2**40, 2**63 - 1)
t.arange(1e300)
t.arange(0, 1e300, 1e299, dtype=t.int64)
t.range(2**40, 2)
m.repeat(0, 2**64)
m.repeat(1.5, 1)
m.diagonal(float("inf"))
m.diagonal(1.5)
m.diagonal(2**64)
t.diag_embed(x, 1.5)
m.to_sparse(2**40)
m.to_sparse(-1)
m.to_sparse(0)
m.to_sparse(-2**63 - 1)
m.to_sparse_csr(1)
m.to_sparse_csc(-1)
"""


@pytest.mark.parametrize("row", REFUSED.strip().splitlines())
def test_refused_with_the_same_kind_of_error(row):
    kinds = []
    for t in (torch, pullback):
        with pytest.raises(Exception) as caught:
            eval(row, {"t": t, "np": np, "f": t.nn.functional, "x": t.ones(3), "m": t.ones(3, 3)})
        kinds.append(caught.type.__name__)
    assert kinds[0] == kinds[1]


def test_halves_are_computed_with_numbers_that_only_float32_holds():
    for t in (torch, pullback):
        x, f = t.ones(2, 2, dtype=t.float16), t.nn.functional
        for result in (
            f.elu(x, 7e4),
            f.leaky_relu(x, 7e4),
            f.softplus(x, 7e4),
            x.addcmul(x, x, value=7e4),
            x.lerp(x, 7e4),
        ):
            assert result.dtype == t.float16


def test_ranges_between_the_ends_of_64_bits():
    for t in (torch, pullback):
        assert t.arange(2**62, 2**63 - 1, 2**61).tolist() == [2**62, 2**62 + 2**61]
        assert t.ones(2, 3).repeat(2**40, 0).shape == (2**41, 0)


@pytest.mark.parametrize("mean", [2**64, 1e30])
def test_truncated_normal_numbers_far_outside_of_the_bounds_do_not_run_for_ever(mean):
    with pytest.raises(RuntimeError, match="without overflow"), pytest.warns(UserWarning, match="more than 2 std"):
        pullback.nn.init.trunc_normal_(pullback.empty(3), mean)


def test_whole_numbers_of_other_types_are_taken():
    two = np.int64(2)
    assert pullback.randint(two, (3,)).max() < 2
    assert pullback.ones(3, 3).diag(np.int64(1)).tolist() == [1.0, 1.0]
    assert pullback.ones(3).narrow(0, pullback.tensor(1), two).tolist() == [1.0, 1.0]
    assert pullback.ones(3, 3).triu(pullback.tensor(1)).sum() == 3
