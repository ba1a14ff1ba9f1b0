"""Sampling images and volumes at the points of a grid, and grids from affine maps.

Coordinates run from -1 to 1 over the input. A sample is a weighted sum of pixels near it, its taps, one operation of
`ops/vision.py`. Where they are and their weights are compositions here, so gradients of any order reach the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.basics.dtypes import from_numpy_dtype
from ...core.basics.notices import warn_user
from ...core.tape import apply
from ...core.tensor import Tensor
from ...functional.elementary import abs as absolute
from ...functional.elementary import floor, round
from ...functional.joining import stack
from ...functional.ranges import linspace
from ...kernels.resampling import cubic_weights
from ...ops.piecewise import where, zero
from ...ops.vision import affine_points, points_of_images, points_of_volumes
from ._common import constant, layer_function

GRID_SAMPLE_INTERPOLATION_MODES: dict[str, int] = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES: dict[str, int] = {"zeros": 0, "border": 1, "reflection": 2}


def _warn_corners() -> None:
    warn_user(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
    )


def _check_grid(input: Tensor, grid: Tensor, mode: str) -> None:
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise RuntimeError(
            f"grid_sampler(): expected {min(max(input.ndim, 4), 5)}D input and grid with same number of dimensions, "
            f"but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    for d in range(2, input.ndim):
        if input.shape[d] == 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {d} being empty"
            )
    if mode == "bicubic" and input.ndim != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype != grid.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.type_name} but found {grid.dtype.type_name}")


@layer_function(autocast="full", passed="")
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Values of the input at the points of `grid` (N, ..., 2 or 3), whose last dim is (x, y[, z]).

    -1 and 1 are the borders of the input: the middle of its outermost pixels with `align_corners`, their outer edges
    without. `mode` is "bilinear", "nearest" or "bicubic"; `padding_mode` says what lies outside: "zeros", "border" or
    "reflection".
    """
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        _warn_corners()
        align_corners = False
    _check_grid(input, grid, mode)
    sizes = tuple(input.shape[2:])
    places = weights = None
    for axis, size in enumerate(sizes):
        # The grid has x first, the input's axes end with it.
        place = _unnormalized(grid[..., len(sizes) - 1 - axis], size, align_corners)
        rows, shares = _TAPS[mode](place, size, padding_mode, align_corners)
        if places is None or weights is None:
            places, weights = rows, shares
            continue
        # Combine each tap along the axes before with each along this one.
        places = (places.unsqueeze(2) * (size + 2) + rows.unsqueeze(1)).flatten(1, 2)
        weights = (weights.unsqueeze(2) * shares.unsqueeze(1)).flatten(1, 2)
    return apply(points_of_images if len(sizes) == 2 else points_of_volumes, (input, weights, places))


def _unnormalized(x: Tensor, size: int, align_corners: bool) -> Tensor:
    if align_corners:
        return (x + 1) * ((size - 1) / 2)
    return (x + 1) * (size / 2) - 0.5


def _inside(x: Tensor, size: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Coordinates brought into the input as the padding mode says."""
    if padding_mode == "zeros":
        return x
    if padding_mode == "reflection":
        x = _reflected(x, *((0, 2 * (size - 1)) if align_corners else (-1, 2 * size - 1)))
    return _limited(x, 0, size - 1)


def _limited(x: Tensor, low: int, high: int) -> Tensor:
    """Within the limits, and at the lower one where it is no number."""
    bottom, top = (constant(np.asarray(limit, x._array.dtype)) for limit in (low, high))
    # At the limits themselves no gradient passes.
    return where(x > low, where(x < high, x, top), bottom)


def _reflected(x: Tensor, twice_low: int, twice_high: int) -> Tensor:
    """Mirrored at low and high (given as doubles) until inside."""
    if twice_low == twice_high:
        return x * 0
    low, span = twice_low / 2, (twice_high - twice_low) / 2
    distance = absolute(x - low)
    flips = floor(distance.detach() / span)
    rest = distance - flips * span
    half = flips * 0.5
    return where(floor(half) != half, span - rest + low, rest + low)  # turned round an odd number of times


def _in_frame(places: Tensor, size: int) -> Tensor:
    """Whole numbers that count along an axis with a zero before and after: what is outside is in one of them."""
    return _limited(places, -1, size).long() + 1


# Where the taps along one axis are and their weights, as (n, taps, *points), for coordinates (n, *points).


def _nearest(place: Tensor, size: int, padding_mode: str, align_corners: bool) -> tuple[Tensor, Tensor]:
    place = _inside(place, size, padding_mode, align_corners).unsqueeze(1)
    return _in_frame(round(place.detach()), size), apply(zero, (place,)) + 1  # the grid's gradient is 0, not absent


def _linear(place: Tensor, size: int, padding_mode: str, align_corners: bool) -> tuple[Tensor, Tensor]:
    place = _inside(place, size, padding_mode, align_corners)
    low = floor(place.detach())
    share = place - low
    return _in_frame(stack((low, low + 1), 1), size), stack((1 - share, share), 1)


def _cubic(place: Tensor, size: int, padding_mode: str, align_corners: bool) -> tuple[Tensor, Tensor]:
    low = floor(place.detach())
    rows = _inside(stack([low + step for step in (-1, 0, 1, 2)], 1), size, padding_mode, align_corners)
    weights: Any = cubic_weights(place - low)  # type: ignore[arg-type]
    return _in_frame(floor(rows), size), stack(weights, 1)


_TAPS: dict[str, Callable[..., tuple[Tensor, Tensor]]] = {"bilinear": _linear, "nearest": _nearest, "bicubic": _cubic}


@layer_function(passed="")
def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """A grid for `grid_sample` from affine maps (N, 2, 3) or (N, 3, 4), for outputs of the given size."""
    size = tuple(size)
    if align_corners is None:
        _warn_corners()
        align_corners = False
    if theta._array.dtype.kind not in "fV":
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    axes = len(size) - 2
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (axes, axes + 1):
        raise ValueError(
            f"Expected a batch of {axes}D affine matrices of shape Nx{axes}x{axes + 1} for size {size}. Got "
            f"{theta.size()}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    spatial = size[2:]
    if align_corners and min(spatial) == 1:
        warn_user(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is "
            "not an intended use case of affine_grid. See the documentation of affine_grid for details.",
        )
    kind = theta._array.dtype
    lines = [_line(n, align_corners, kind) for n in reversed(spatial)]
    base = np.ones((*spatial, axes + 1), kind)
    for position, line in enumerate(lines):
        shape = [1] * axes
        shape[axes - 1 - position] = len(line)
        base[..., position] = line.reshape(shape)
    if theta._array.shape[0] != size[0]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, {axes + 1}] but got: "
            f"[{theta.shape[0]}, {axes + 1}]. There must be one affine map for each of the {size[0]} grids."
        )
    return apply(affine_points, (theta,), {"points": base.reshape(1, -1, axes + 1), "shape": (size[0], *spatial, axes)})


def _line(count: int, align_corners: bool, kind: np.dtype) -> np.ndarray:
    if count <= 1:
        return np.zeros(count, kind)
    line = linspace(-1, 1, count, dtype=from_numpy_dtype(kind))._array
    # In two steps, as torch rounds: a grid of the identity sits on the pixels, where the last bit decides which are mixed.
    return line if align_corners else line * kind.type(count - 1) / kind.type(count)
