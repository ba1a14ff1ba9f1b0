"""The Laplace distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback
from pullback.distributions import constraints
from pullback.distributions.distribution import EMPTY, Distribution, batch_shape_of
from pullback.distributions.utils import broadcast_all
from pullback.tensor import Tensor


class Laplace(Distribution):
    """Two exponentials back to back around `loc`."""

    arg_constraints: dict[Any, Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample: bool = True
    _parameters: dict[Any, Any] = {"loc": 0, "scale": 0}
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(batch_shape_of(self.loc, loc, scale), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

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
        if self._validate_args:
            self._validate_sample(value)
        return -pullback.log(2 * self.scale) - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * pullback.expm1(-away.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * pullback.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + pullback.log(2 * self.scale)
