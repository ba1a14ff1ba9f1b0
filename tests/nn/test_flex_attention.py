"""Attention with functions of positions gives torch's numbers and gradients."""

import importlib

import pytest

import pullback

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


def flex(t):
    name = "torch" if t is torch else "pullback"
    return importlib.import_module(f"{name}.nn.attention.flex_attention")


def causal(b, h, q, k):
    return q >= k


def near(b, h, q, k):
    return (q - k).abs() <= 2


SLOPES = [0.5, 0.25]
CASES = {
    "plain": lambda t, f, q, k, v: f.flex_attention(q, k, v),
    "scaled": lambda t, f, q, k, v: f.flex_attention(q, k, v, scale=0.3),
    "scores by position": lambda t, f, q, k, v: f.flex_attention(q, k, v, lambda s, b, h, i, j: s + (i - j)),
    "scores by head": lambda t, f, q, k, v: f.flex_attention(
        q, k, v, lambda s, b, h, i, j: s * t.tensor(SLOPES)[h] + 1
    ),
    "soft cap": lambda t, f, q, k, v: f.flex_attention(q, k, v, lambda s, b, h, i, j: 5 * t.tanh(s / 5)),
    "masked": lambda t, f, q, k, v: f.flex_attention(
        q, k, v, block_mask=f.create_block_mask(causal, None, None, 6, 6, device="cpu")
    ),
    "two masks": lambda t, f, q, k, v: f.flex_attention(
        q, k, v, block_mask=f.create_block_mask(f.and_masks(causal, near), 2, 2, 6, 6, device="cpu")
    ),
    "some see nothing": lambda t, f, q, k, v: f.flex_attention(
        q, k, v, block_mask=f.create_block_mask(lambda b, h, i, j: i > j, None, None, 6, 6, device="cpu")
    ),
}


def inputs_of(t, requires_grad):
    t.manual_seed(0)
    return [t.randn(2, 2, 6, 4, dtype=t.float64, requires_grad=requires_grad) for _ in range(3)]


@pytest.mark.parametrize("name", CASES)
def test_as_torch(name):
    expected, result = (CASES[name](t, flex(t), *inputs_of(t, False)).reshape(-1).tolist() for t in (torch, pullback))
    assert result == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["scores by head", "some see nothing"])  # torch has no gradients here on the CPU
def test_gradients(name):
    inputs = [x[:1, :, :3].detach().requires_grad_() for x in inputs_of(pullback, False)]
    assert pullback.autograd.gradcheck(lambda q, k, v: CASES[name](pullback, flex(pullback), q, k, v), inputs)


def test_masks():
    masks = [
        flex(t).create_mask(flex(t).or_masks(causal, near), 1, 2, 4, 5, device="cpu").tolist()
        for t in (torch, pullback)
    ]
    assert masks[0] == masks[1]
    assert (
        flex(pullback).create_block_mask(causal, None, None, 3, 3).to_dense().tolist()
        == pullback.ones(1, 1, 3, 3, dtype=pullback.bool).tril().tolist()
    )
