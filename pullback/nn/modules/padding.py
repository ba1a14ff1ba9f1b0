"""Padding layers: constant, zero, reflection, replication and circular, in one to three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import _ntuple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """Pads the last `spatial_dims` dimensions, `padding` given for both ends of each, last dimension first."""

    __constants__: list[str] = ["padding"]
    spatial_dims: int
    mode: str

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding: tuple[Any, ...] = _ntuple(2 * self.spatial_dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ReflectionPadNd(_Pad):
    mode: str = "reflect"


class _ReplicationPadNd(_Pad):
    mode: str = "replicate"


class _CircularPadNd(_Pad):
    mode: str = "circular"

    def forward(self, input: Tensor) -> Tensor:
        unbatched = self.spatial_dims + 1
        if input.dim() not in (unbatched, unbatched + 1):
            raise ValueError(f"expected {unbatched}D or {unbatched + 1}D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, "circular")


class _ConstantPadNd(_Pad):
    __constants__: list[str] = ["padding", "value"]
    mode: str = "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value: float = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPadNd):
    """Pads signals with a value."""

    spatial_dims: int = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads images with a value."""

    spatial_dims: int = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads volumes with a value."""

    spatial_dims: int = 3


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads signals with zeros."""

    spatial_dims: int = 1


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads images with zeros."""

    spatial_dims: int = 2


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads volumes with zeros."""

    spatial_dims: int = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Pads signals with their mirror image."""

    spatial_dims: int = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads images with their mirror image."""

    spatial_dims: int = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads volumes with their mirror image."""

    spatial_dims: int = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Pads signals with their edge values."""

    spatial_dims: int = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads images with their edge values."""

    spatial_dims: int = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads volumes with their edge values."""

    spatial_dims: int = 3


class CircularPad1d(_CircularPadNd):
    """Pads signals as if they were periodic."""

    spatial_dims: int = 1


class CircularPad2d(_CircularPadNd):
    """Pads images as if they were periodic."""

    spatial_dims: int = 2


class CircularPad3d(_CircularPadNd):
    """Pads volumes as if they were periodic."""

    spatial_dims: int = 3
