"""What distributions of an absolute value share: densities and quantiles of a symmetric base, folded at zero."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pullback
from pullback.distributions import constraints
from pullback.distributions.transformed_distribution import TransformedDistribution
from pullback.distributions.transforms import AbsTransform

if TYPE_CHECKING:
    from pullback import Tensor


class HalfDistribution(TransformedDistribution):
    """The absolute value of a variable that is symmetric around zero."""

    arg_constraints: dict[Any, Any] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample: bool = True

    def __init__(self, base: Any, validate_args: bool | None) -> None:
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """Scale of the base."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return pullback.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        value = pullback.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return pullback.where(value >= 0, log_prob, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
