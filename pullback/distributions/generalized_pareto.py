"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from .distribution import EMPTY, Distribution, batch_shape_of
from .utils import broadcast_all


class GeneralizedPareto(Distribution):
    """Excesses over a threshold: exponential at concentration zero, heavy tails above, bounded below."""

    arg_constraints: dict[Any, Any] = {
        "loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real,
    }  # fmt: skip
    has_rsample: bool = True
    _parameters: dict[Any, Any] = {"loc": 0, "scale": 0, "concentration": 0}
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(batch_shape_of(self.loc, loc, scale, concentration), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = pullback.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)

    def _split(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is zero, and the concentration with those places made harmless."""
        is_zero = pullback.isclose(self.concentration, pullback.zeros_like(self.concentration))
        return is_zero, pullback.where(is_zero, pullback.ones_like(self.concentration), self.concentration)

    def rsample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(pullback.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        z = (value - self.loc) / self.scale
        is_zero, safe = self._split()
        y = 1 / safe + pullback.ones_like(z)
        tail = pullback.where(y == 0, y, y * pullback.log1p(safe * z))
        return -self.scale.log() - pullback.where(is_zero, z, tail)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a draw above `value`."""
        self._check_value(value)
        z = (value - self.loc) / self.scale
        is_zero, safe = self._split()
        return pullback.where(is_zero, -z, -pullback.log1p(safe * z) / safe)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a draw up to `value`."""
        return pullback.log1p(-pullback.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return pullback.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        is_zero, safe = self._split()
        log_rest = pullback.log1p(-value)
        tail = self.loc + self.scale / safe * pullback.expm1(-safe * log_rest)
        return pullback.where(is_zero, self.loc - self.scale * log_rest, tail)

    @property
    def mean(self) -> Tensor:
        valid = self.concentration < 1
        safe = pullback.where(valid, self.concentration, 0.5)
        return pullback.where(valid, self.loc + self.scale / (1 - safe), math.nan)

    @property
    def variance(self) -> Tensor:
        valid = self.concentration < 0.5
        safe = pullback.where(valid, self.concentration, 0.25)
        return pullback.where(valid, self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe)), math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
