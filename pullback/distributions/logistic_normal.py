"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any

from pullback.distributions import constraints
from pullback.distributions.normal import Normal
from pullback.distributions.transformed_distribution import TransformedDistribution
from pullback.distributions.transforms import StickBreakingTransform
from pullback.tensor import Tensor


class LogisticNormal(TransformedDistribution):
    """Normal variables as logits of the shares of a broken stick."""

    arg_constraints: dict[Any, Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample: bool = True
    _parameters: dict[str, int] = {}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """Location of the base."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """Scale of the base."""
        return self.base_dist.base_dist.scale
