"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import NUMBER, broadcast_all, euler_constant


class Gumbel(TransformedDistribution):
    """The distribution of maxima: minus the log of minus the log of a uniform variable."""

    arg_constraints: dict[Any, Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _parameters: dict[Any, Any] = {"loc": 0, "scale": 0}
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = pullback.finfo(self.loc.dtype)
        low: Any = limits.tiny
        high: Any = 1 - limits.eps
        if not (isinstance(loc, NUMBER) and isinstance(scale, NUMBER)):
            low, high = pullback.full_like(self.loc, low), pullback.full_like(self.loc, high)
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-pullback.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=loc, scale=-self.scale),
        ]
        super().__init__(Uniform(low, high, validate_args=validate_args), transforms, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
