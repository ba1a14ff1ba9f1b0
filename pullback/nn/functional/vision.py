"""Images: resizing, rearranging of channels and pixels, affine grids. Sampling at grid points is in `grids.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.basics.layout import contiguous_format
from ...core.basics.notices import warn_user
from ...core.tape import apply
from ...core.tensor import Tensor
from ...functional.operands import SMALLEST_TOO_LARGE, in_64_bits, need_int
from ...kernels.order import has_channels_last, with_channels_last
from ...kernels.resampling import fixed_point, resize_tables
from ...ops.vision import resample_op
from ._common import layer_function
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

_SMOOTH = ("linear", "bilinear", "bicubic", "trilinear", "lanczos")
_RANKS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5, "lanczos": 4}
_NODE_NAMES = {
    "nearest": "UpsampleNearest{}DBackward0", "nearest-exact": "UpsampleNearestExact{}DBackward0",
    "linear": "UpsampleLinear1DBackward0", "bilinear": "UpsampleBilinear2DBackward0",
    "trilinear": "UpsampleTrilinear3DBackward0", "bicubic": "UpsampleBicubic2DBackward0",
    "lanczos": "UpsampleLanczos2DBackward0",
}  # fmt: skip


def _check_mode(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    if mode not in _SMOOTH and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos":
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")


def _check_rank(input: Tensor, mode: str) -> None:
    known = mode in ("nearest", "nearest-exact", "area") or mode in _RANKS
    if input.ndim in (3, 4, 5) and known and input.ndim == _RANKS.get(mode, input.ndim):
        return
    if input.ndim in (3, 4, 5) and mode in ("linear", "bilinear", "trilinear"):
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {_RANKS[mode]}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: nearest | "
        f"linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def _size_and_scales(input: Tensor, size: Any, scale_factor: Any, recompute: bool | None) -> tuple[tuple, tuple | None]:
    """The output's spatial size, and the scale factors that places are computed from (None: from the sizes)."""
    spatial = tuple(input.shape[2:])
    axes = len(spatial)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        sizes = tuple(size) if isinstance(size, (tuple, list)) else (size,) * axes
        if len(sizes) != axes:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of {list(spatial)} and output size of {size}. Please provide input tensor in (N, C, "
                "d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format."
            )
        if not all(hasattr(number, "__index__") for number in sizes):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got "
                f"size with types {[type(number) for number in sizes]}"
            )
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return tuple(in_64_bits(number.__index__(), "interpolate", "size") for number in sizes), None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    scales = tuple(scale_factor) if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * axes
    if len(scales) != axes:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {list(spatial)} and scale_factor of shape {scale_factor}. Please provide input tensor "
            "in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
        )
    output = tuple(math.floor(float(n) * float(s)) for n, s in zip(spatial, scales, strict=True))
    if max(output, default=0) >= SMALLEST_TOO_LARGE:
        raise RuntimeError(f"value cannot be converted to type int64_t without overflow: scale_factor={scale_factor}")
    return output, None if recompute else tuple(float(s) for s in scales)


@layer_function(passed="")
def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    """Resize the spatial dims of (N, C, ...) to `size`, or by `scale_factor`.

    `mode` is "nearest", "nearest-exact", "linear" (3-d input), "bilinear" or "bicubic" (4-d), "trilinear" (5-d) or
    "area". `align_corners` keeps the values at the corners; `antialias` smooths before it shrinks;
    `recompute_scale_factor` takes the factor from the rounded sizes.
    """
    _check_mode(input, mode, align_corners, antialias)
    if input.ndim < 3:
        _check_rank(input, mode)
    output, scales = _size_and_scales(input, size, scale_factor, recompute_scale_factor)
    _check_rank(input, mode)
    if mode == "area":
        pools = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}
        return pools[input.ndim](input, output)
    return _resize(input, output, scales, mode, bool(align_corners), antialias)


def _resize(
    input: Tensor, output: tuple, scales: tuple | None, mode: str, align_corners: bool, antialias: bool
) -> Tensor:
    spatial = tuple(input.shape[2:])
    if min(*spatial, *output) <= 0:
        letters = "DHW"[3 - len(spatial) :]
        inside, outside = (", ".join(f"{a}: {n}" for a, n in zip(letters, s, strict=True)) for s in (spatial, output))
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({inside}) output ({outside})"
        )
    kind = input._array.dtype
    if kind.kind in "biu":
        if kind.kind != "u":
            raise NotImplementedError(f"\"upsample_{mode}\" not implemented for '{input.dtype.type_name}'")
        return _resize_image(input, output, scales, mode, align_corners, antialias)
    double = kind.itemsize == 8
    pairs = [
        resize_tables(mode, n, m, None if scales is None else scales[i], align_corners, antialias, double)
        for i, (n, m) in enumerate(zip(spatial, output, strict=True))
    ]
    # The axis that shrinks most goes first: less is left for the others.
    order = sorted(range(len(spatial)), key=lambda i: output[i] / spatial[i])
    name = _NODE_NAMES[mode].format(len(spatial))
    if antialias:
        name = name.replace("DBackward0", "DAaBackward0")
    return apply(
        resample_op(name),
        (input,),
        {
            "axes": tuple(i + 2 for i in order),
            "tables": tuple(pairs[i][0] for i in order),
            "back": tuple(pairs[i][1] for i in order),
        },
    )


def _resize_image(
    input: Tensor, output: tuple, scales: tuple | None, mode: str, align_corners: bool, antialias: bool
) -> Tensor:
    """Of bytes: the last axis first, with weights of fixed point, and bytes again after each axis, as torch has it."""
    op = resample_op(_NODE_NAMES[mode].format(len(output)))
    for axis in reversed(range(len(output))):
        size = input.shape[2 + axis]
        scale = None if scales is None else scales[axis]
        table, back = resize_tables(mode, size, output[axis], scale, align_corners, antialias, True)
        params = {"axes": (axis + 2,), "tables": (fixed_point(table),), "back": (back,)}
        input = (apply(op, (input.double(),), params) + 0.5).floor().clamp(0, 255).to(input.dtype)
    return input


@layer_function()
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The older name of `interpolate`."""
    warn_user("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


@layer_function()
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate(mode='nearest')."""
    warn_user("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


@layer_function()
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate(mode='bilinear', align_corners=True)."""
    warn_user("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# --- pixels and channels ---


def _as_new(result: Tensor, input: Tensor) -> Tensor:
    """Elements of `input` in memory of their own, whatever the arguments, with channels next to each other if it has them so."""
    if result is input or result._view is not None:
        result = result.clone(memory_format=contiguous_format)
    array = input._array
    if type(array) is np.ndarray and array.ndim == 4 and has_channels_last(array):
        result._array = with_channels_last(result._array)
    return result


@layer_function()
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(*, C * r * r, H, W) as (*, C, H * r, W * r)."""
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, channels, height, width = input.shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r * r}"
        )
    n = len(lead)
    split = input.reshape((*lead, channels // (r * r), r, r, height, width))
    mixed = split.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return _as_new(mixed.reshape((*lead, channels // (r * r), height * r, width * r)), input)


@layer_function()
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(*, C, H * r, W * r) as (*, C * r * r, H, W)."""
    r = downscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, channels, height, width = input.shape
    for name, size, dim in (("height", height, -2), ("width", width, -1)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({dim})={size} "
                f"is not divisible by {r}"
            )
    n = len(lead)
    split = input.reshape((*lead, channels, height // r, r, width // r, r))
    mixed = split.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return _as_new(mixed.reshape((*lead, channels * r * r, height // r, width // r)), input)


@layer_function()
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels taken from the groups in turn: (N, g * k, ...) read as (N, g, k, ...) and transposed."""
    ndim = len(input._array.shape)
    groups = need_int(groups, "channel_shuffle", "groups", 2)
    if ndim <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, channels, *spatial = input.shape
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    mixed = input.reshape((n, groups, channels // groups, *spatial)).transpose(1, 2)
    return _as_new(mixed.reshape(tuple(input.shape)), input)


@layer_function()
def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """`channel_shuffle` under the name of the kernel that torch has for it."""
    return channel_shuffle(input, need_int(groups, "native_channel_shuffle", "groups", 2))
