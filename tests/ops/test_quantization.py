"""Fake quantization: values, gradients and refusals are torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

CALLS = {
    "numbers": lambda t, x: t.fake_quantize_per_tensor_affine(x, 0.1, 3, -10, 100),
    "tensors": lambda t, x: t.fake_quantize_per_tensor_affine(x, t.tensor(0.3), t.tensor(2, dtype=t.int32), 0, 15),
    "channels": lambda t, x: t.fake_quantize_per_channel_affine(
        x, t.tensor([0.1, 0.2, 0.33]), t.tensor([0, 1, 2], dtype=t.int32), 0, -8, 7
    ),
    "last channels": lambda t, x: t.fake_quantize_per_channel_affine(x, t.ones(4), t.zeros(4), 1, -8, 7),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", ["float32", "float64", "float16"])
def test_values_and_gradients(call: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    for spread in (0.1, 1.0, 50.0):
        array = (rng.normal(size=(3, 4)) * spread).astype(kind)
        array[0, 0] = np.nan
        results = []
        for t in (torch, pullback):
            x = t.from_numpy(array.copy()).requires_grad_()
            out = CALLS[call](t, x)
            (out * 3).sum().backward()
            results.append((out.detach().numpy(), x.grad.numpy(), out.grad_fn.name()))
        (theirs, their_grad, their_name), (ours, our_grad, our_name) = results
        assert our_name == their_name and ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-3 if kind == "float16" else 1e-6)
        np.testing.assert_array_equal(our_grad, their_grad)


def test_batches_and_tangents() -> None:
    x = pullback.tensor([[0.26, 9.0], [-1.0, 0.5]])
    call = lambda x: pullback.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 15)
    assert pullback.equal(pullback.func.vmap(call)(x), call(x))
    assert pullback.func.jvp(call, (x,), (pullback.ones(2, 2),))[1].tolist() == [[1.0, 0.0], [0.0, 1.0]]


REFUSED: dict[str, Any] = {
    "range": lambda t: t.fake_quantize_per_tensor_affine(t.ones(2), 0.1, 0, 255, 0),
    "zero point": lambda t: t.fake_quantize_per_tensor_affine(t.ones(2), 0.1, 300, 0, 255),
    "integers": lambda t: t.fake_quantize_per_tensor_affine(t.ones(2).long(), 0.1, 0, 0, 255),
    "learned scale": lambda t: t.fake_quantize_per_tensor_affine(
        t.ones(2, requires_grad=True), t.ones(1, requires_grad=True), t.zeros(1), 0, 255
    ),
    "sizes": lambda t: t.fake_quantize_per_channel_affine(t.ones(3), t.ones(2), t.zeros(2), 0, 0, 255),
    "axis": lambda t: t.fake_quantize_per_channel_affine(t.ones(3), t.ones(3), t.zeros(3), -1, 0, 255),
    "long zero point": lambda t: t.fake_quantize_per_channel_affine(t.ones(3), t.ones(3), t.zeros(3).long(), 0, 0, 255),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    errors = []
    for t in (torch, pullback):
        with pytest.raises(Exception) as caught:
            REFUSED[name](t)
        errors.append(caught.value)
    assert isinstance(errors[1], type(errors[0])) and " ".join(str(errors[0]).split())[:30] in str(errors[1])
