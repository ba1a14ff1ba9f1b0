"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform


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
