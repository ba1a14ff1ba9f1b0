"""Sampling images and volumes at the points of a grid, and grids from affine maps.

Coordinates run from -1 to 1 over the input. Everything is a composition: corners are read by index, and their weights
are functions of the grid, so gradients of any order reach both.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ...autograd.tape import apply
from ...dtypes import from_numpy_dtype
from ...functional.elementary import abs as absolute
from ...functional.elementary import floor, round
from ...functional.matmul import bmm
from ...kernels.resampling import cubic_weights
from ...notices import warn_user
from ...ops.pointwise import where, zero
from ...ops.pooling import gather_planes
from ...ranges import linspace
from ...tensor import Tensor
from ._common import constant

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


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Values of the input at the points of `grid` (N, ..., 2 or 3), whose last dim is (x, y[, z])."""
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
    # The grid has x first, the input's axes end with it.
    places = [_unnormalized(grid[..., len(sizes) - 1 - axis], size, align_corners) for axis, size in enumerate(sizes)]
    if mode == "bicubic":
        return _cubic(input, places, padding_mode, align_corners)
    places = [_inside(p, size, padding_mode, align_corners) for p, size in zip(places, sizes, strict=True)]
    if mode == "nearest":
        values = _read(input, [round(p.detach()) for p in places])
        return values + apply(zero, (places[0],)).unsqueeze(1)  # the grid's gradient is zero, not absent
    return _multilinear(input, places)


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
    bottom = constant(np.asarray(0, x._array.dtype))
    top = constant(np.asarray(size - 1, x._array.dtype))
    # At the limits themselves no gradient passes.
    return where(x > 0, where(x < size - 1, x, top), bottom)


def _reflected(x: Tensor, twice_low: int, twice_high: int) -> Tensor:
    """Mirrored at low and high (given as doubles) until inside."""
    if twice_low == twice_high:
        return x * 0
    low, span = twice_low / 2, (twice_high - twice_low) / 2
    distance = absolute(x - low)
    flips = floor(distance.detach() / span)
    rest = distance - flips * span
    odd = constant(np.mod(flips._array, 2) != 0) if isinstance(flips._array, np.ndarray) else (flips % 2) != 0
    return where(odd, span - rest + low, rest + low)


def _read(input: Tensor, corner: list[Tensor]) -> Tensor:
    """Values at whole-numbered coordinates (N, *output), one list entry an axis; 0 outside."""
    sizes = tuple(input.shape[2:])
    flat: Any = 0
    valid: Any = None
    for place, size in zip(corner, sizes, strict=True):
        inside = (place >= 0) & (place <= size - 1)
        valid = inside if valid is None else valid & inside
        flat = flat * size + where(inside, place, constant(np.asarray(0, place._array.dtype))).long()
    n, channels = input.shape[:2]
    output = tuple(flat.shape[1:])
    indices = flat.unsqueeze(1).expand((n, channels, *output))
    planes = input.reshape((n, channels, math.prod(sizes)))
    values = apply(gather_planes, (planes, indices.reshape((n, channels, math.prod(output)))), {"axes": 1})
    values = values.reshape((n, channels, *output))
    nothing = constant(np.asarray(0, values._array.dtype))
    return where(valid.unsqueeze(1), values, nothing)


def _multilinear(input: Tensor, places: list[Tensor]) -> Tensor:
    lows = [floor(p.detach()) for p in places]
    shares = [p - low for p, low in zip(places, lows, strict=True)]
    total: Any = None
    for steps in itertools.product((0, 1), repeat=len(places)):
        weight: Any = None
        for share, step in zip(shares, steps, strict=True):
            part = share if step else 1 - share
            weight = part if weight is None else weight * part
        values = _read(input, [low + step for low, step in zip(lows, steps, strict=True)])
        term = values * weight.unsqueeze(1)
        total = term if total is None else total + term
    return total


def _cubic(input: Tensor, places: list[Tensor], padding_mode: str, align_corners: bool) -> Tensor:
    sizes = tuple(input.shape[2:])
    lows = [floor(p.detach()) for p in places]
    weights = [cubic_weights(p - low) for p, low in zip(places, lows, strict=True)]
    total: Any = None
    for row, column in itertools.product(range(4), repeat=2):
        corner = [
            _inside(low + (step - 1), size, padding_mode, align_corners)
            for low, step, size in zip(lows, (row, column), sizes, strict=True)
        ]
        values = _read(input, [floor(place) for place in corner])
        term = values * (weights[0][row] * weights[1][column]).unsqueeze(1)
        total = term if total is None else total + term
    return total


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
    points = constant(np.broadcast_to(base.reshape(1, -1, axes + 1), (size[0], base.size // (axes + 1), axes + 1)))
    return bmm(points, theta.transpose(1, 2)).reshape((size[0], *spatial, axes))


def _line(count: int, align_corners: bool, kind: np.dtype) -> np.ndarray:
    if count <= 1:
        return np.zeros(count, kind)
    line = linspace(-1, 1, count, dtype=from_numpy_dtype(kind))._array
    # In two steps, as torch rounds: a grid of the identity sits on the pixels, where the last bit decides which are mixed.
    return line if align_corners else line * kind.type(count - 1) / kind.type(count)
