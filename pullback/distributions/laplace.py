"""The Laplace distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from ._families import LocationScale
from .distribution import EMPTY


class Laplace(LocationScale):
    """Two exponentials back to back around `loc`."""

    _parameters: dict[Any, Any] = {"loc": 0, "scale": 0}

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = pullback.empty(shape, dtype=self.loc.dtype, device=self.loc.device)
        noise.uniform_(pullback.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * noise.sign() * pullback.log1p(-noise.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return -pullback.log(2 * self.scale) - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * pullback.expm1(-away.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * pullback.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + pullback.log(2 * self.scale)
