"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pullback
from pullback.distributions import constraints
from pullback.distributions.normal import Normal
from pullback.distributions.transformed_distribution import TransformedDistribution
from pullback.distributions.transforms import AbsTransform

if TYPE_CHECKING:
    from pullback import Tensor


class HalfNormal(TransformedDistribution):
    """The absolute value of a Normal variable around zero."""

    arg_constraints: dict[Any, Any] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample: bool = True
    _parameters: dict[str, int] = {}

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """Scale of the base."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return pullback.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = pullback.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return pullback.where(value >= 0, log_prob, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
