"""Normalization: layer, RMS, batch, group, instance and local response norm, and scaling to unit length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ...core.basics.dtypes import bfloat16, float16
from ...core.grad_mode import no_grad
from ...core.mode import current_mode, is_grad_enabled
from ...core.tape import apply
from ...core.tensor import Tensor
from ...functional.operands import need_int
from ...functional.registry import FUNCTIONS
from ...functional.ternary import clamp_min
from ...ops import normalization as ops
from ._common import float_tensor, layer_function
from .padding import pad


def _normalized(input: Tensor, shape: Any, function: str, star: str) -> tuple[int, ...]:
    """The trailing sizes to normalize over, checked against the input."""
    if not isinstance(shape, (tuple, list)):
        raise TypeError(
            f"{function}(): argument 'normalized_shape' (position 2) must be tuple of ints, not {type(shape).__name__}"
        )
    shape = tuple([need_int(n, function, "normalized_shape", 2) for n in shape])
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    sizes = input._array.shape
    if sizes[len(sizes) - len(shape) :] != shape or len(sizes) < len(shape):
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{star}{', '.join(map(str, shape))}], "
            f"but got input of size{list(input.shape)}"
        )
    return shape


def _fits(parameter: Tensor | None, name: str, shape: tuple) -> None:
    if parameter is not None and parameter._array.shape != shape:
        raise RuntimeError(
            f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
            f"{list(parameter.shape)} and normalized_shape = {list(shape)}"
        )


def _check_dtypes(input: Tensor, *parameters: Tensor | None) -> None:
    """Parameters and statistics have the input's dtype, or are float32 for an input of half precision."""
    kind = input._array.dtype
    for parameter in parameters:
        if parameter is not None and parameter._array.dtype is not kind:
            return _check_mixed(input, [one for one in parameters if one is not None])


def _check_mixed(input: Tensor, parameters: list[Tensor]) -> None:
    if parameters[0].dtype == input.dtype:
        for parameter in parameters:
            if parameter.dtype != input.dtype:
                raise RuntimeError(
                    f"expected scalar type {input.dtype.type_name} but found {parameter.dtype.type_name}"
                )
        return
    if any(parameter._array.dtype != np.float32 for parameter in parameters):
        raise RuntimeError(
            "mixed dtype (CPU): expect parameter to have scalar type of Float, but they are "
            f"{', '.join(parameter.dtype.type_name for parameter in parameters)}"
        )
    if input.dtype not in (float16, bfloat16):
        raise RuntimeError(
            "mixed dtype (CPU): all inputs must share same datatype. The input is "
            f"{input.dtype.type_name} and the parameters are Float: convert the input, as in x.float(), or the module, "
            f"as in module.to(x.dtype)."
        )


@layer_function(direct=True, passed="")
def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Mean 0 and variance 1 over the trailing dims, then times weight plus bias."""
    x = float_tensor(input, "layer_norm", "LayerNormKernelImpl")
    shape = _normalized(x, normalized_shape, "layer_norm", "*, ")
    if weight is not None or bias is not None:
        _fits(weight, "weight", shape)
        _fits(bias, "bias", shape)
        _check_dtypes(x, weight, bias)
    return apply(ops.layer_norm, (x, weight, bias), {"axes": len(shape), "eps": eps})[0]


@layer_function(direct=True, passed="")
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divided by the root of the mean square over the trailing dims, then times weight."""
    input = float_tensor(input, "rms_norm", "rms_norm", complex_ok=True)
    shape = _normalized(input, normalized_shape, "rms_norm", "*")
    _fits(weight, "weight", shape)
    if input._array.dtype.kind == "c":
        input = input.contiguous()
        axis = tuple(range(input.ndim - len(shape), input.ndim))
        least = np.finfo(input._array.dtype).eps if eps is None else eps
        scale = ((input * input).mean(axis, True) + float(least)).rsqrt()
        return input * scale if weight is None else input * scale * weight
    return apply(ops.rms_norm, (input, weight), {"axes": len(shape), "eps": eps})[0]


def _check_channels(input: Tensor, **parameters: Tensor | None) -> None:
    shape = input._array.shape
    if len(shape) < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    channels = shape[1]
    for name, parameter in parameters.items():
        if parameter is not None and parameter._array.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {parameter.numel()}")


@layer_function(passed="")
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Each channel normalized by its statistics over the batch (training, which updates running ones), or by those."""
    input = float_tensor(input, "batch_norm", "batch_norm")
    if input.numel() == 0 and input.ndim < 2:
        return input.clone()
    if training:
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
        shape = input._array.shape
        count = math.prod(shape[:1]) * math.prod(shape[2:])
        if count == 1:
            raise ValueError(
                f"Expected more than 1 value per channel when training, got input size {input.size()}. One value has no "
                "variance: use a larger batch (drop_last=True leaves out a loader's last one), or model.eval()."
            )
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    _check_channels(input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    _check_dtypes(input, weight, bias, running_mean, running_var)
    if not training:
        if running_mean is None or running_var is None:
            missing = "running_mean" if running_mean is None else "running_var"
            raise RuntimeError(f"{missing} must be defined in evaluation mode")
        return apply(ops.fixed_norm, (input, running_mean, running_var, weight, bias), {"eps": eps})
    # A hook may end a second run of a checkpoint when the last value is saved: statistics are then gathered before.
    before = is_grad_enabled() and bool(current_mode().saved_hooks) and running_mean is not None
    with no_grad() if before else nullcontext():
        out, mean, variance = apply(ops.batch_norm, (input, weight, bias), {"eps": eps})
    if count:
        _update(running_mean, mean, momentum)
        _update(running_var, variance, momentum, count / max(count - 1, 1))
    return apply(ops.batch_norm, (input, weight, bias), {"eps": eps})[0] if before else out


def _update(running: Tensor | None, value: Tensor, momentum: float, factor: float = 1.0) -> None:
    """running = (1 - momentum) * running + momentum * factor * value, unrecorded; like torch, its version stays."""
    if running is None:
        return
    old, new = running._array, value._array
    if type(old) is type(new) is np.ndarray and old.dtype == new.dtype and not current_mode().special:
        memory = running.memory()
        memory *= 1 - momentum
        memory += new * (momentum * factor)
        return
    with no_grad():
        running.copy_(running * (1 - momentum) + value.detach() * (momentum * factor))


@layer_function(passed="")
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Each channel of each sample normalized by its own statistics, or by running ones."""
    input = float_tensor(input, "instance_norm", "batch_norm")
    if use_input_stats:
        if math.prod(input.shape[2:]) == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    elif running_mean is None or running_var is None:
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    n, channels = input.shape[:2]
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter.numel() != channels:
            raise RuntimeError(f"{name} should contain {n * channels} elements not {n * parameter.numel()}")
    _check_dtypes(input, weight, bias)
    input = input.contiguous()
    if not use_input_stats:
        return apply(ops.fixed_norm, (input, running_mean, running_var, weight, bias), {"eps": eps})
    places = tuple(range(2, input.ndim))
    if running_mean is not None:
        _update(running_mean, input.detach().to(running_mean.dtype).mean((0, *places)), momentum)
    if running_var is not None:
        _update(running_var, input.detach().to(running_var.dtype).var(places).mean(0), momentum)
    return apply(ops.group_norm, (input, weight, bias), {"groups": channels, "eps": eps})[0]


@layer_function(direct=True, passed="")
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Channels of each sample in groups, each group normalized by its own statistics."""
    input = float_tensor(input, "group_norm", "GroupNormKernelImpl")
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    shape = input._array.shape
    n, channels = shape[:2]
    if num_groups <= 0 or channels % num_groups:
        if num_groups == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        if num_groups < 0:
            raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    if n * channels // num_groups * math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(input.shape)}")
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter._array.shape != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} "
                f"of shape {list(parameter.shape)} and input of shape {list(input.shape)}"
            )
    _check_dtypes(input, weight, bias)
    return apply(ops.group_norm, (input, weight, bias), {"groups": num_groups, "eps": eps})[0]


@layer_function(passed="")
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divided by (k + alpha * mean of squares over `size` neighbouring channels) ** beta."""
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if input.numel() == 0:
        return input
    from .pooling import avg_pool2d

    squares = (input * input).reshape((input.shape[0], 1, input.shape[1], -1))
    squares = pad(squares, (0, 0, size // 2, (size - 1) // 2))
    means = avg_pool2d(squares, (size, 1), stride=1).reshape(tuple(input.shape))
    return input / (means * alpha + k) ** beta


@layer_function(passed="")
def normalize(
    input: Tensor, p: float = 2.0, dim: int | Sequence[int] = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Vectors along a dim divided by their p-norm, or by eps where that is smaller."""
    length = clamp_min(input.norm(p, dim, True), eps)
    if out is not None:
        return FUNCTIONS["div"](input, length.expand(tuple(input.shape)), out=out)
    return input / length.expand(input._array.shape)
