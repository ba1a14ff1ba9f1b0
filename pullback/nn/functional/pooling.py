"""Pooling over one, two or three spatial dims: maxima, averages, power means, adaptive, fractional, and unpooling.

Functions with `return_indices` return (values, indices) when it is True; `*_with_indices` always do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.mode import current_mode
from ...core.tape import apply
from ...core.tensor import Tensor
from ...functional.checks import not_implemented_for
from ...functional.operands import SMALLEST_TOO_LARGE, in_64_bits
from ...functional.out_argument import store
from ...kernels.random.streams import uniform
from ...ops import pooling as ops
from ...transforms.arrays.randomness import draw_batched
from ._common import constant, generator, ints, layer_function

Sizes = int | Sequence[int]
_TOO_LARGE = 2**31  # for windows and their steps, which torch counts in 32 bits
_COUNTS = {1: "one int", 2: "two ints", 3: "three ints"}


def _sizes(value: Any, axes: int, name: str, function: str) -> tuple[int, ...]:
    if type(value) is int:
        sizes = (in_64_bits(value, function, name),) * axes
    elif isinstance(value, (tuple, list)) and len(value) == 1:
        sizes = (in_64_bits(value[0].__index__(), function, name),) * axes
    elif isinstance(value, (tuple, list)) and len(value) != axes:
        raise RuntimeError(f"{function}: {name} must either be a single int, or a tuple of {_COUNTS[axes]}")
    else:
        sizes = ints(value, axes, name)
    counted = name != "output_size" and function != "max_pool1d"
    if counted and not -_TOO_LARGE <= min(sizes) <= max(sizes) < _TOO_LARGE:
        raise RuntimeError(
            f"value cannot be converted to type int without overflow: the {name} of {function}() has 32 bits, which "
            f"{value} does not fit"
        )
    return sizes


def _strides(value: Any, kernel: tuple, axes: int, function: str) -> tuple[int, ...]:
    """The stride, which is the kernel's size when it is not given."""
    if value is None or isinstance(value, (tuple, list)) and not value:
        return kernel
    if isinstance(value, (tuple, list)) and len(value) not in (1, axes):
        raise RuntimeError(f"{function}: stride must either be omitted, a single int, or a tuple of {_COUNTS[axes]}")
    return _sizes(value, axes, "stride", function)


def _check_rank(input: Tensor, axes: int, function: str) -> None:
    shape = input._array.shape
    empty = 0 in (shape[1:] if len(shape) == axes + 2 else shape)
    if len(shape) not in (axes + 1, axes + 2) or empty:
        raise RuntimeError(
            f"{function}: Expected {axes + 1}D or {axes + 2}D (batch mode) tensor with optional 0 dim batch size "
            f"for input, but got:{list(input.shape)}. non-empty {axes + 1}D or {axes + 2}D (batch mode) tensor "
            "expected for input"
        )


# --- maxima ---


def _max_pool(
    axes: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, indices: bool
) -> Any:
    function = f"max_pool{axes}d"
    kernel = _sizes(kernel_size, axes, "kernel_size", function)
    params = {
        "kernel": kernel, "stride": _strides(stride, kernel, axes, function),
        "padding": _sizes(padding, axes, "padding", function),
        "dilation": _sizes(dilation, axes, "dilation", function), "ceil_mode": bool(ceil_mode),
    }  # fmt: skip
    _check_rank(input, axes, function)
    if input._array.dtype.kind in "bc":
        raise not_implemented_for(function, input)
    if axes == 1:
        _check_one_axis(params)
    mode = current_mode()
    if not indices and not mode.special and not (mode.grad and input.requires_grad):
        return apply(ops.max_values, (input,), params)
    values, places = apply(ops.max_pool[axes], (input,), params)
    return (values, places) if indices else values


def _check_one_axis(params: dict) -> None:
    """max_pool1d has words of its own."""
    kernel, stride, padding, dilation = (params[name][0] for name in ("kernel", "stride", "padding", "dilation"))
    for name, value in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {value}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > ((kernel - 1) * dilation + 1) // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and "
            f"kernel_size={kernel}"
        )


@layer_function(passed="")
def max_pool1d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """Largest value in each window.

    `kernel_size`, `stride` (the kernel size unless given), `padding` and `dilation` are a number, or one for each
    axis; `ceil_mode` keeps a window that hangs over the edge. `return_indices` gives the places of the values, too,
    which `max_unpool1d` takes.
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@layer_function(passed="")
def max_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """Largest value in each window.

    `kernel_size`, `stride` (the kernel size unless given), `padding` and `dilation` are a number, or one for each
    axis; `ceil_mode` keeps a window that hangs over the edge. `return_indices` gives the places of the values, too,
    which `max_unpool2d` takes.
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@layer_function(autocast="full", passed="")
def max_pool3d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """Largest value in each window.

    `kernel_size`, `stride` (the kernel size unless given), `padding` and `dilation` are a number, or one for each
    axis; `ceil_mode` keeps a window that hangs over the edge. `return_indices` gives the places of the values, too,
    which `max_unpool3d` takes.
    """
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _with_indices(function: Callable) -> Callable:
    """The form of a pooling function that always returns indices too."""

    def pooled(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        kwargs["return_indices"] = True
        return function(*args, **kwargs)

    pooled.__name__ = pooled.__qualname__ = function.__name__ + "_with_indices"
    pooled.__doc__ = f"(values, indices) of `{function.__name__}`."
    pooled.__wrapped__ = function  # type: ignore[attr-defined]  # whose arguments it takes
    return layer_function(passed="")(pooled)


max_pool1d_with_indices: Callable[..., Any] = _with_indices(max_pool1d)
max_pool2d_with_indices: Callable[..., Any] = _with_indices(max_pool2d)
max_pool3d_with_indices: Callable[..., Any] = _with_indices(max_pool3d)


def _unpool_shape(input: Tensor, kernel: tuple, stride: tuple, padding: tuple, output_size: Any) -> tuple[int, ...]:
    """Spatial shape before pooling: the smallest that fits, or the one asked for."""
    axes = len(kernel)
    least = tuple(
        (size - 1) * step + taps - 2 * pad
        for size, step, taps, pad in zip(input.shape[-axes:], stride, kernel, padding, strict=True)
    )
    if output_size is None:
        return least
    wanted = tuple(output_size)
    if len(wanted) == axes + 2:
        wanted = wanted[2:]
    if len(wanted) != axes:
        raise ValueError(
            f"output_size should be a sequence containing {axes} or {axes + 2} elements, but it has a length of "
            f"'{len(wanted)}'"
        )
    for d, (size, default, step) in enumerate(zip(wanted, least, stride, strict=True)):
        if not default - step < size < default + step:
            raise ValueError(
                f'invalid output_size "{output_size}" (dim {d} must be between {default - step} and {default + step})'
            )
    return wanted


def _max_unpool(
    axes: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    function = f"max_unpool{axes}d"
    kernel = _sizes(kernel_size, axes, "kernel_size", function)
    steps = _strides(stride, kernel, axes, function)
    shape = _unpool_shape(input, kernel, steps, _sizes(padding, axes, "padding", function), output_size)
    if indices._array.dtype != np.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype.type_name}")
    if input.ndim not in (axes + 1, axes + 2):
        raise RuntimeError(
            f"Input to max_unpooling{axes}d should be a {axes + 1}d or {axes + 2}d Tensor, but got a tensor with "
            f"{input.ndim} dimensions."
        )
    if tuple(input.shape) != tuple(indices.shape):
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got "
            f"indices tensor with shape: {list(indices.shape)}"
        )
    return apply(ops.max_unpool3d if axes == 3 else ops.max_unpool2d, (input, indices), {"spatial": shape})


@layer_function(passed="")
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Maxima put back where max_pool1d found them, 0 elsewhere."""
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


@layer_function(autocast="full", passed="")
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Maxima put back where max_pool2d found them, 0 elsewhere."""
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


@layer_function(autocast="full", passed="")
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Maxima put back where max_pool3d found them, 0 elsewhere."""
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)


# --- averages ---


def _avg_pool(
    axes: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool,
    divisor: int | None,
) -> Tensor:  # fmt: skip
    function = f"avg_pool{axes}d"
    kernel = _sizes(kernel_size, axes, "kernel_size", function)
    params = {
        "kernel": kernel, "stride": _strides(stride, kernel, axes, function),
        "padding": _sizes(padding, axes, "padding", function), "ceil_mode": bool(ceil_mode), "include": bool(include),
        "divisor": divisor,
    }  # fmt: skip
    if input.ndim < axes:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [-{input.ndim}, {input.ndim - 1}], but got -3)"
        )
    _check_rank(input, axes, function)
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    if input._array.dtype.kind in "iu":
        return apply(ops.avg_pool[axes], (input.double(),), params).to(input.dtype)
    return apply(ops.avg_pool[axes], (input,), params)


@layer_function()
def avg_pool1d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """Mean of each window.

    `kernel_size`, `stride` (the kernel size unless given) and `padding` are a number, or one for each axis;
    `ceil_mode` keeps a window that hangs over the edge. `count_include_pad` says whether padding counts as zeros.
    """
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@layer_function(compiled=True)
def avg_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None, *, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Mean of each window, or its sum over `divisor_override`.

    `kernel_size`, `stride` (the kernel size unless given) and `padding` are a number, or one for each axis;
    `ceil_mode` keeps a window that hangs over the edge. `count_include_pad` says whether padding counts as zeros.
    """
    options = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    if out is not None:
        return store("avg_pool2d", avg_pool2d, (input, *options), {}, out, "same")
    return _avg_pool(2, input, *options)


@layer_function(autocast="full", compiled=True)
def avg_pool3d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None, *, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Mean of each window, or its sum over `divisor_override`.

    `kernel_size`, `stride` (the kernel size unless given) and `padding` are a number, or one for each axis;
    `ceil_mode` keeps a window that hangs over the edge. `count_include_pad` says whether padding counts as zeros.
    """
    options = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    if out is not None:
        return store("avg_pool3d", avg_pool3d, (input, *options), {}, out, "same")
    return _avg_pool(3, input, *options)


def _lp_pool(axes: int, input: Tensor, power: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:
    if math.isinf(power):
        sign = 1 if power > 0 else -1
        pooled = _max_pool(axes, input.abs() * sign, kernel_size, stride, 0, 1, ceil_mode, False)
        return pooled * sign
    kernel = _sizes(kernel_size, axes, "kernel_size", f"lp_pool{axes}d")
    means = _avg_pool(axes, input**power, kernel, stride, 0, ceil_mode, True, None)
    # A sum of exactly 0 gets gradient 0, as ReLU has it there, instead of the root's infinity.
    return (means.sign() * means.abs().relu() * math.prod(kernel)) ** (1.0 / power)


@layer_function(passed="")
def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x ** norm_type over each window) ** (1 / norm_type)."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@layer_function(passed="")
def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x ** norm_type over each window) ** (1 / norm_type)."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


@layer_function(passed="")
def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x ** norm_type over each window) ** (1 / norm_type)."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


# --- adaptive: the output's size is given ---


def _output(input: Tensor, output_size: Any, axes: int, function: str) -> tuple[int, ...]:
    """The output's spatial shape; None keeps a size."""
    if type(output_size) is int and input._array.ndim in (axes + 1, axes + 2):
        return (output_size,) * axes
    values = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * axes
    if len(values) > 1 and isinstance(output_size, (tuple, list)) and input.ndim <= len(values):
        raise ValueError(f"Input dimension should be at least {len(values) + 1}")
    if len(values) != axes:
        if axes == 1:
            raise RuntimeError(f"{function}() argument 'output_size' should contain one int (got {len(values)})")
        raise RuntimeError(f"{function}: output_size must be {axes}")
    _check_adaptive_rank(input, axes, function)
    spatial = input.shape[input.ndim - axes :]
    return tuple(size if value is None else value for value, size in zip(values, spatial, strict=True))


def _check_adaptive_rank(input: Tensor, axes: int, function: str) -> None:
    if input.ndim in (axes + 1, axes + 2):
        return
    if axes == 1:
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {function})"
        )
    raise RuntimeError(f"{function}(): Expected {axes + 1}D or {axes + 2}D tensor, but got {list(input.shape)}")


def _check_adaptive(input: Tensor, output: tuple, first: int, function: str) -> None:
    """No dim from `first` on may be empty: means ask that of the spatial dims, maxima of the channels as well."""
    sizes = input._array.shape
    for d in range(first, len(sizes)):
        if sizes[d] == 0:
            raise RuntimeError(
                f"{function}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {d} being empty"
            )
    whole = [*sizes[: -len(output)], *output]
    if math.prod(map(abs, whole)) >= SMALLEST_TOO_LARGE // 16:  # bytes of places, of which there are as many as values
        in_64_bits(max(output), function, "output_size")
        raise RuntimeError(f"Storage size calculation overflowed with sizes={whole}")
    if min(output) < 0:
        raise RuntimeError(
            f"{function}: elements of output_size must be greater than or equal to 0 but received {list(output)}"
        )
    if input._array.dtype.kind in "biu":
        raise NotImplementedError(f"\"{function}\" not implemented for '{input.dtype.type_name}'")


def _adaptive_avg(axes: int, input: Tensor, output_size: Any) -> Tensor:
    function = f"adaptive_avg_pool{axes}d"
    output = _output(input, output_size, axes, function)
    if axes > 1 and 0 in input._array.shape and output == (1,) * axes:
        return input.mean(tuple(range(-axes, 0)), keepdim=True)  # torch refuses all others
    _check_adaptive(input, output, input.ndim - axes, function)
    return apply(ops.adaptive_avg_pool[axes], (input,), {"output": output})


@layer_function()
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Mean of windows that divide the length into `output_size` parts."""
    return _adaptive_avg(1, input, output_size)


@layer_function(passed="")
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Mean of windows that divide each spatial dim into `output_size` parts; None keeps a dim."""
    return _adaptive_avg(2, input, output_size)


@layer_function(autocast="full", passed="")
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Mean of windows that divide each spatial dim into `output_size` parts; None keeps a dim."""
    return _adaptive_avg(3, input, output_size)


def _adaptive_max(axes: int, input: Tensor, output_size: Any, indices: bool) -> Any:
    function = f"adaptive_max_pool{axes}d"
    output = _output(input, output_size, axes, function)
    _check_adaptive(input, output, 1, function)
    if input._array.dtype.kind == "c":
        raise not_implemented_for(function, input)
    values, places = apply(ops.adaptive_max_pool[axes], (input,), {"output": output})
    return (values, places) if indices else values


@layer_function(passed="")
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Largest value of windows that divide the length into `output_size` parts."""
    return _adaptive_max(1, input, output_size, return_indices)


@layer_function(passed="")
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Largest value of windows that divide each spatial dim into `output_size` parts; None keeps a dim."""
    return _adaptive_max(2, input, output_size, return_indices)


@layer_function(autocast="full", passed="")
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Largest value of windows that divide each spatial dim into `output_size` parts; None keeps a dim."""
    return _adaptive_max(3, input, output_size, return_indices)


adaptive_max_pool1d_with_indices: Callable[..., Any] = _with_indices(adaptive_max_pool1d)
adaptive_max_pool2d_with_indices: Callable[..., Any] = _with_indices(adaptive_max_pool2d)
adaptive_max_pool3d_with_indices: Callable[..., Any] = _with_indices(adaptive_max_pool3d)

# --- fractional: windows at pseudo-random places ---


def _fractional(
    axes: int,
    input: Tensor,
    kernel_size: Any,
    output_size: Any,
    output_ratio: Any,
    indices: bool,
    samples: Tensor | None,
) -> Any:
    function = f"fractional_max_pool{axes}d"
    for name, given in (("kernel_size", kernel_size), ("output_size", output_size)):
        if isinstance(given, (tuple, list)) and len(given) != axes:
            many = "" if axes == 2 else "three "
            raise RuntimeError(f"{function}: {name} must either be a single Int or tuple of {many}Ints")
    kernel = _sizes(kernel_size, axes, "kernel_size", function)
    if output_size is None:
        if output_ratio is None:
            raise ValueError(f"{function} requires specifying either an output_size or an output_ratio")
        ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * axes
        if len(ratios) != axes:
            raise ValueError(f"{function} requires output_ratio to either be a single Int or tuple of Ints.")
        output = tuple(int(size * ratio) for size, ratio in zip(input.shape[-axes:], ratios, strict=True))
    else:
        output = _sizes(output_size, axes, "output_size", function)
    if input.ndim not in (axes + 1, axes + 2):
        raise RuntimeError(
            f"{function}(): Expected {axes + 1}D or {axes + 2}D tensor, but got input of sizes {list(input.shape)}"
        )
    for dim in range(input.ndim - axes - 1, input.ndim):
        if input.shape[dim] == 0:
            raise RuntimeError(
                f"{function}{'' if axes == 2 else '_out'}(): Expected input to have non-zero size for non-batch dimensions, "
                f"but got {list(input.shape)} with dimension {dim} being empty."
            )
    for name, size, taps, count in zip(("time", "height", "width")[-axes:], input.shape[-axes:], kernel, output):
        if count + taps - 1 > size:
            raise RuntimeError(f"{function}(): pool {name} {taps} too large relative to input {name} {size}")
    batch, channels = (1 if input.ndim == axes + 1 else input.shape[0]), input.shape[-axes - 1]
    if samples is None:
        kind = input._array.dtype
        samples = constant(draw_batched(lambda shape: uniform(generator(), shape, kind), (batch, channels, axes)))
    _check_samples(samples, input, batch, channels, axes)
    if samples.shape[0] != batch:
        samples = samples[:batch]
    values, places = apply(ops.fractional_max_pool[axes], (input, samples), {"kernel": kernel, "output": output})
    return (values, places) if indices else values


def _check_samples(samples: Tensor, input: Tensor, batch: int, channels: int, axes: int) -> None:
    if samples.dtype != input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != channels:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != axes:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {axes} got {samples.shape[2]}.")


@layer_function(autocast="full", passed="")
def fractional_max_pool2d(
    input: Tensor, kernel_size: Sizes, output_size: Sizes | None = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Largest values in windows whose places are drawn so that the output has the size, or the ratio, asked for."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


@layer_function(autocast="full", passed="")
def fractional_max_pool3d(
    input: Tensor, kernel_size: Sizes, output_size: Sizes | None = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Largest values in windows whose places are drawn so that the output has the size, or the ratio, asked for."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


fractional_max_pool2d_with_indices: Callable[..., Any] = _with_indices(fractional_max_pool2d)
fractional_max_pool3d_with_indices: Callable[..., Any] = _with_indices(fractional_max_pool3d)
