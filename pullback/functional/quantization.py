"""Fake quantization, as layers use it while they are trained for a quantized range. Quantized tensors are not here."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tape import apply, wrap
from ..core.tensor import Tensor
from ..ops import quantization as ops
from .checks import not_implemented_for
from .operands import wrap_dim
from .registry import public


def _checked(input: Tensor, zero_point: np.ndarray, low: int, high: int) -> None:
    if low > high:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")
    if zero_point.size and not low <= zero_point.min() <= zero_point.max() <= high:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    if input._array.dtype.kind not in "fV":
        raise not_implemented_for("fake_quantize_tensor_cachemask_kernel_type_handling", input)


def _constant(value: Any, like: np.ndarray) -> Tensor:
    array = value._array if isinstance(value, Tensor) else np.asarray(value)
    return wrap(array.astype(like.dtype if like.dtype == np.float64 else np.float32))


@public(method=False)
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: float | Tensor, zero_point: int | Tensor, quant_min: int, quant_max: int
) -> Tensor:
    """Numbers rounded to multiples of `scale` whose steps, counted from `zero_point`, lie in a range."""
    op = ops.fake_quantize_by_tensors if isinstance(scale, Tensor) else ops.fake_quantize
    if isinstance(scale, Tensor) and scale.requires_grad:
        raise RuntimeError(
            "The function '_fake_quantize_per_tensor_affine_cachemask_tensor_qparams' is not differentiable with respect "
            "to argument 'scale'. This input cannot have requires_grad True."
        )
    step, zero = _constant(scale, input._array), _constant(zero_point, input._array)
    _checked(input, zero._array, quant_min, quant_max)
    return apply(op, (input, step, zero), {"low": quant_min, "high": quant_max})


@public(method=False)
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each place along `axis`."""
    if zero_point._array.dtype.kind not in "fV" and zero_point._array.dtype != np.int32:
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {zero_point.dtype.type_name}")
    shape = input._array.shape
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    place = wrap_dim(axis, len(shape))
    if not scale._array.shape == zero_point._array.shape == (shape[place],):
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    _checked(input, zero_point._array, quant_min, quant_max)
    along = tuple(-1 if i == place else 1 for i in range(len(shape)))
    step, zero = (wrap(_constant(value, input._array)._array.reshape(along)) for value in (scale, zero_point))
    return apply(ops.fake_quantize_channels, (input, step, zero), {"low": quant_min, "high": quant_max})
