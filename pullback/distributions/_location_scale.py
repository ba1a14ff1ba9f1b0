"""What distributions around `loc` share: a mean and a mode; and those of `loc + scale * noise`: their parameters."""

from __future__ import annotations

from typing import Any

from pullback.distributions import constraints
from pullback.distributions.distribution import Distribution, batch_shape_of
from pullback.distributions.utils import broadcast_all
from pullback.tensor import Tensor


class Centered(Distribution):
    """Distributions around their parameter `loc`."""

    loc: Tensor

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc


class LocationScale(Centered):
    """Symmetric noise, stretched by `scale` and moved by `loc`."""

    arg_constraints: dict[Any, Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample: bool = True
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(batch_shape_of(self.loc, loc, scale), validate_args=validate_args)
