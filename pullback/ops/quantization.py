"""Fake quantization: numbers rounded to the steps of a quantized range, and handed on as floating point numbers.

Cotangents pass where the number fell inside the range. Steps and zero points have no gradients, as in torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..core.op import Op, op

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array


def _step(x: Array, scale: Array, zero_point: Array) -> Array:
    return np.rint(x * (1 / scale)) + zero_point


def _fake_quantize(x: Array, scale: Array, zero_point: Array, low: int, high: int) -> Array:
    step = np.fmin(np.fmax(_step(x, scale, zero_point), low), high)  # these two let NaN go to the lower end
    return np.asarray((step - zero_point) * scale).astype(np.asarray(x).dtype)


def _pulled(g: Array, x: Array, scale: Array, zero_point: Array, low: int, high: int) -> Array:
    step = _step(x, scale, zero_point)
    return np.where((step >= low) & (step <= high), g, 0)


def _op(node: str, aten: str | None = None) -> Op:
    return op(node, _fake_quantize, kind="elementwise_pull", x=_pulled, scale=None, zero_point=None, aten=aten)


fake_quantize: Op = _op("FakeQuantizePerTensorAffineCachemaskBackward0")
fake_quantize_by_tensors: Op = _op(
    "FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0",
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
)
fake_quantize_channels: Op = _op("FakeQuantizePerChannelAffineCachemaskBackward0")
