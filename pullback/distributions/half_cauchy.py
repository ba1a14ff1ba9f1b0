"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import pullback

from ..core.tensor import Tensor
from ._families import HalfDistribution
from .cauchy import Cauchy


class HalfCauchy(HalfDistribution):
    """The absolute value of a Cauchy variable around zero."""

    _parameters: dict[str, int] = {}

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    @property
    def mean(self) -> Tensor:
        return pullback.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
