"""Causal masks by name: attention's numbers and gradients are torch's, for either corner."""

import importlib

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")


def bias(lib):
    return importlib.import_module(f"{lib.__name__}.nn.attention.bias")


def attend(lib, corner, queries, keys, **options):
    rows = np.random.default_rng(0)
    q, k, v = (lib.tensor(rows.standard_normal((2, 3, size, 4)), requires_grad=True) for size in (queries, keys, keys))
    mask = getattr(bias(lib), corner)(queries, keys)
    out = lib.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, **options)
    out.square().sum().backward()
    return [out, q.grad, k.grad, v.grad]


@pytest.mark.parametrize("corner", ["causal_upper_left", "causal_lower_right"])
@pytest.mark.parametrize("sizes", [(5, 5), (3, 5), (1, 4)])
@pytest.mark.parametrize("options", [{}, {"scale": 0.3}])
def test_attention_with_a_named_mask(corner, sizes, options):
    for ours, theirs in zip(attend(pullback, corner, *sizes, **options), attend(torch, corner, *sizes, **options)):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-12)


def test_a_named_mask_is_a_tensor_that_shows_its_elements():
    ours, theirs = (bias(lib).causal_lower_right(2, 3) for lib in (pullback, torch))
    assert isinstance(ours, pullback.Tensor) and repr(ours) == repr(theirs)
    assert type(ours._materialize()) is pullback.Tensor
    assert (ours.variant, ours.seq_len_q, ours.seq_len_kv) == (2, 2, 3)


def test_a_named_mask_and_the_causal_flag_exclude_each_other():
    for lib in (torch, pullback):
        x = lib.ones(1, 1, 3, 4)
        with pytest.raises(ValueError, match="should not be used with causal=True"):
            lib.nn.functional.scaled_dot_product_attention(x, x, x, bias(lib).causal_upper_left(3, 3), is_causal=True)
        with pytest.raises(AssertionError, match="only supports 2D"):
            bias(lib).causal_upper_left(3)
        with pytest.warns(UserWarning, match="will produce NaNs"):
            bias(lib).causal_lower_right(3, 2)
