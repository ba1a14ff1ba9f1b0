"""Convolutions, transposed convolutions, and windows as columns (`unfold`, `fold`)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from ...core.basics.notices import warn_user
from ...core.mode import RECORD, current_mode
from ...core.tape import apply
from ...core.tensor import Tensor
from ...functional.checks import need_tensor
from ...functional.operands import in_64_bits, need_int
from ...kernels.convolution import check_convolution, transposed_shape, worth_keeping
from ...ops import convolution as ops
from ...transforms import autocast
from ._common import ints, layer_function
from .padding import pad

Sizes = int | Sequence[int]


def _numbers(value: Any, axes: int, name: str, function: str) -> tuple[int, ...]:
    """A number for each spatial axis."""
    if type(value) is int:
        return (in_64_bits(value, function, name),) * axes
    if isinstance(value, (tuple, list)):
        values = tuple(value)
        if any(not hasattr(number, "__index__") for number in values):
            raise _no_such_form(function, name, value)
        if len(values) not in (1, axes):
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {axes} values to match the convolution "
                f"dimensions, but got {name}={list(values)}"
            )
        return tuple([in_64_bits(index(n), function, name) for n in values]) * (axes if len(values) == 1 else 1)
    if not hasattr(value, "__index__"):
        raise _no_such_form(function, name, value)
    return (in_64_bits(index(value), function, name),) * axes


def _no_such_form(function: str, name: str, value: Any) -> TypeError:
    return TypeError(
        f"{function}() received an invalid combination of arguments - got {name}={type(value).__name__}, but it "
        "must be an int or a tuple of ints"
    )


def _check_operands(x: Tensor, weight: Tensor, bias: Tensor | None, outputs: int, transposed: bool) -> None:
    if not autocast.is_active():
        kind = x._array.dtype
        if bias is not None and bias._array.dtype != kind and not (transposed and weight._array.dtype != kind):
            raise RuntimeError(
                f"Input type ({x.dtype.short_name}) and bias type ({bias.dtype.short_name}) should be the same. Convert "
                "the input, as in x.to(module.weight.dtype), or the module, as in module.to(x.dtype)."
            )
        if kind != weight._array.dtype:
            raise RuntimeError(f"expected scalar type {x.dtype.type_name} but found {weight.dtype.type_name}")
    if bias is None:
        return
    if bias._array.shape != (outputs,):
        given = "Given transposed=1, weight" if transposed else "Given weight"
        raise RuntimeError(
            f"{given} of size {list(weight.shape)}, expected bias to be 1-dimensional with {outputs} elements, but "
            f"got bias of size {list(bias.shape)} instead"
        )


def _batched(input: Tensor, axes: int, function: str) -> tuple[Tensor, bool]:
    ndim = input._array.ndim
    if ndim not in (axes + 1, axes + 2):
        raise RuntimeError(
            f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to {function}, but got input of size: "
            f"{list(input.shape)}"
        )
    return (input, False) if ndim == axes + 2 else (input.unsqueeze(0), True)


def _wrong_weight(x: Tensor, weight: Tensor, stride: tuple[int, ...]) -> RuntimeError:
    """Torch's complaint about weights of another number of dims than the convolution's."""
    if weight.ndim < 3:
        return RuntimeError("weight should have at least three dimensions")
    if len(stride) == 1:  # a number for every dim of the weights
        return RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, but got "
            f"{x.ndim}-dimensional input of size {list(x.shape)} instead"
        )
    return RuntimeError(
        f"expected stride to be a single integer value or a list of {weight.ndim - 2} values to match the convolution "
        f"dimensions, but got stride={list(stride)}"
    )


def _same_padding(x: Tensor, weight: Tensor, dilation: tuple) -> tuple[Tensor, tuple]:
    """Padding under which the result has the input's size; an odd element goes to the end, by padding the input."""
    total = [step * (size - 1) for step, size in zip(dilation, weight.shape[2:], strict=True)]
    if any(amount % 2 for amount in total):
        warn_user(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input "
            "be created",
        )
        extra = [number for amount in reversed(total) for number in (0, amount % 2)]
        x = pad(x, extra)
    return x, tuple(amount // 2 for amount in total)


def _convolve(
    axes: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    function = f"conv{axes}d"
    input, weight = need_tensor(input, function), need_tensor(weight, function, "weight", 2)
    x, alone = _batched(input, axes, function)
    sizes = weight._array.shape
    if len(sizes) != axes + 2:
        raise _wrong_weight(x, weight, _numbers(stride, axes, "stride", function))
    stride = _numbers(stride, axes, "stride", function)
    dilation = _numbers(dilation, axes, "dilation", function)
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if padding == "same":
            if any(step != 1 for step in stride):
                raise RuntimeError("padding='same' is not supported for strided convolutions")
            x, padding = _same_padding(x, weight, dilation)
        else:
            padding = 0
    padding = _numbers(padding, axes, "padding", function)
    if sizes[0] == 0:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least 1 at dimension 0, but got weight of size "
            f"{list(weight.shape)} instead"
        )
    groups = need_int(groups, function, "groups", 7)
    check_convolution(x._array.shape, sizes, stride, padding, dilation, groups)
    _check_operands(x, weight, bias, sizes[0], False)
    _refuse_no_places(x, weight)
    if x._array.shape[1] == 0:
        out = _of_no_channels(x, weight, bias, stride, padding, dilation)
        return out.squeeze(0) if alone else out
    params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    if current_mode() is RECORD and weight.requires_grad and _worth_keeping(x, weight, params):
        out = apply(ops.convolution_keeping, (x, weight, bias), params)[0]
    elif bias is None:
        out = apply(ops.convolution, (x, weight), params)
    else:
        out = apply(ops.convolution_biased, (x, weight, bias), params)
    return out.squeeze(0) if alone else out


def _of_no_channels(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: tuple, padding: tuple, dilation: tuple
) -> Tensor:
    """No channels give no channels in torch, however many the weights are for."""
    every = zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    spatial = [(size + 2 * pad - reach * (taps - 1) - 1) // step + 1 for size, taps, step, pad, reach in every]
    nothing = x.sum() + weight.sum() if bias is None else x.sum() + weight.sum() + bias.sum()
    return nothing.expand(x.shape[0], 0, *spatial)


def _worth_keeping(x: Tensor, weight: Tensor, params: dict) -> bool:
    plain = type(x._array) is np.ndarray is type(weight._array)
    return plain and worth_keeping(x._array.shape, weight._array.shape, x._array.dtype, **params)


@layer_function(direct=True)
def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Sizes | str = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Cross-correlation of (N, C, L) with weights (out, C / groups, taps)."""
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


@layer_function(direct=True)
def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Sizes | str = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Cross-correlation of (N, C, H, W) with weights (out, C / groups, height, width)."""
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


@layer_function(direct=True)
def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Sizes | str = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Cross-correlation of (N, C, D, H, W) with weights (out, C / groups, depth, height, width)."""
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


def _convolve_transposed(
    axes: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, output_padding: Any,
    groups: int, dilation: Any,
) -> Tensor:  # fmt: skip
    function = f"conv_transpose{axes}d"
    x, alone = _batched(need_tensor(input, function), axes, function)
    names = (("stride", stride), ("padding", padding), ("output_padding", output_padding), ("dilation", dilation))
    stride, padding, extra, dilation = (_numbers(value, axes, name, function) for name, value in names)
    _check_transposed(x, weight, stride, padding, extra, dilation, groups)
    _check_operands(x, weight, bias, weight.shape[1] * groups, True)
    _refuse_no_places(x, weight)
    spatial = transposed_shape(x._array.shape[2:], weight._array.shape[2:], stride, padding, extra, dilation)
    if any(size < 1 for size in spatial):
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, x.shape[2:]))}). Calculated output size per channel: "
            f"({' x '.join(map(str, spatial))}). Output size is too small"
        )
    params = {"spatial": spatial, "stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    if bias is None:
        out = apply(ops.convolution_input, (x, weight), params)
    else:
        out = apply(ops.convolution_input_biased, (x, weight, bias), params)
    return out.squeeze(0) if alone else out


def _refuse_no_places(x: Tensor, weight: Tensor) -> None:
    """Of no samples or channels there is a convolution, of no places or taps there is none."""
    if not x.numel() and x.shape[0] and x.shape[1]:
        raise RuntimeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: {list(x.shape)}. Leave empty "
            "signals and images out."
        )
    if not all(weight.shape[2:]):
        raise RuntimeError(f"non-empty weight tensor expected, but got: {list(weight.shape)}. A kernel has taps.")


def _check_transposed(
    x: Tensor, weight: Tensor, stride: tuple, padding: tuple, extra: tuple, dilation: tuple, groups: int
) -> None:
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    for name, values, least in (("padding", padding, 0), ("output_padding", extra, 0), ("stride", stride, 1)):
        if min(values) < least:
            raise RuntimeError(f"{'non-positive' if least else 'negative'} {name} is not supported")
    if min(dilation) < 1:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size [{list(weight.shape)}] instead"
        )
    if x.shape[1] != weight.shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight.shape)}, expected input{list(x.shape)} to have "
            f"{weight.shape[0]} channels, but got {x.shape[1]} channels instead"
        )


@layer_function()
def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """The transpose of conv1d: (N, C, L) with weights (C, out / groups, taps)."""
    return _convolve_transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@layer_function()
def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """The transpose of conv2d: (N, C, H, W) with weights (C, out / groups, height, width)."""
    return _convolve_transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@layer_function()
def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """The transpose of conv3d: (N, C, D, H, W) with weights (C, out / groups, depth, height, width)."""
    return _convolve_transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


@layer_function()
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """One-dimensional convolution of (time, batch, channels) with weights (taps, channels, out)."""
    if input.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.ndim != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


# --- windows as columns ---


@layer_function(passed="")
def unfold(input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> Tensor:
    """Sliding windows of (N, C, H, W) as columns (N, C * taps, positions)."""
    if input.ndim not in (3, 4):
        if input.ndim < 3:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{input.ndim}, {input.ndim - 1}], but got 2)"
            )
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    if input._array.dtype.kind in "iu":
        raise NotImplementedError(f"\"im2col_out_cpu\" not implemented for '{input.dtype.type_name}'")
    if 0 in input.shape[input.ndim - 3 :]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    params = _window_params(kernel_size, stride, padding, dilation)
    x = input if input.ndim == 4 else input.unsqueeze(0)
    out = apply(ops.unfold, (x,), params)
    return out if input.ndim == 4 else out.squeeze(0)


def _window_params(kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> dict:
    given = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    for name, value in given.items():
        if isinstance(value, (tuple, list)) and len(value) not in (1, 2):
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(value)}")
    return {name.removesuffix("_size"): ints(value, 2, name) for name, value in given.items()}


@layer_function(passed="")
def fold(
    input: Tensor, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Tensor:
    """Columns (N, C * taps, positions) added back to (N, C, *output_size); the transpose of `unfold`."""
    sizes = (output_size,) if isinstance(output_size, int) else tuple(output_size)
    if len(sizes) > 2:
        raise RuntimeError(f"It is expected output_size equals to 2, but got size {len(sizes)}")
    if input.ndim not in (2, 3) or 0 in input.shape[input.ndim - 2 :]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    params = {"spatial": ints(output_size, 2, "output_size"), **_window_params(kernel_size, stride, padding, dilation)}
    if np.min(params["spatial"]) < 0:
        raise RuntimeError(f"output_size must be non-negative, but got {list(params['spatial'])}")
    x = input if input.ndim == 3 else input.unsqueeze(0)
    out = apply(ops.fold, (x,), params)
    return out if input.ndim == 3 else out.squeeze(0)
