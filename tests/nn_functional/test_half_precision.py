"""Half precision: activations are computed in float32 and rounded once; what norms add up, they add in float32."""

from __future__ import annotations

import numpy as np
import pytest

import pullback

NORMS = {
    "group": lambda F, x, w, b: F.group_norm(x, 4, w, b),
    "instance": lambda F, x, w, b: F.instance_norm(x, None, None, w, b),
    "batch": lambda F, x, w, b: F.batch_norm(x, None, None, w, b, training=True),
    "fixed": lambda F, x, w, b: F.batch_norm(x, w.detach() * 0, w.detach() * 0 + 1, w, b),
    "layer": lambda F, x, w, b: F.layer_norm(x.transpose(1, 3), (8,), w, b),
    "rms": lambda F, x, w, b: F.rms_norm(x.transpose(1, 3), (8,), w) + b,
}


def gradients(norm: str, dtype: pullback.dtype, parameters: pullback.dtype) -> list[np.ndarray]:
    """Of input, weight and bias, for the same rounded numbers whatever the dtype."""
    generator = np.random.default_rng(0)
    short = pullback.bfloat16 if dtype is not pullback.float16 else dtype
    x, seed, w, b = (
        pullback.tensor(generator.standard_normal(shape)).to(short).to(kind)
        for shape, kind in (((4, 8, 12, 9), dtype), ((4, 8, 12, 9), dtype), (8, parameters), (8, parameters))
    )
    leaves = [leaf.requires_grad_() for leaf in (x, w, b)]
    out = NORMS[norm](pullback.nn.functional, *leaves)
    out.backward((seed if out.shape == seed.shape else seed.transpose(1, 3)).to(out.dtype))
    assert [leaf.grad.dtype for leaf in leaves] == [dtype, parameters, parameters]
    return [leaf.grad.double().numpy() for leaf in leaves]


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("norm", NORMS)
def test_sums_are_as_good_as_the_dtype(norm, mixed):
    short = pullback.bfloat16
    ours = gradients(norm, short, pullback.float32 if mixed else short)
    exact = gradients(norm, pullback.float64, pullback.float64)
    for position, (found, wanted) in enumerate(zip(ours, exact, strict=True)):
        # Layer norm keeps its statistics short, and the bias of rms norm is added to a short result.
        ulp = 2**-17 if mixed and position and norm not in ("layer", "rms") else 2**-7
        np.testing.assert_allclose(found, wanted, rtol=ulp, atol=ulp * np.abs(wanted).max())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["hardswish", "mish", "elu", "selu", "leaky_relu", "silu", "softplus"])
def test_activations_are_rounded_once(name, dtype):
    kind = getattr(pullback, dtype)
    pullback.manual_seed(0)
    x, weights = (pullback.randn(64, dtype=kind) for _ in range(2))
    results = []
    for working in (kind, pullback.float32):
        leaf = x.detach().to(working).requires_grad_()
        out = getattr(pullback.nn.functional, name)(leaf)
        out.backward(weights.to(working))
        results.append((out.to(kind), leaf.grad.to(kind)))
    for half, wide in zip(*results, strict=True):
        assert pullback.equal(half, wide)
