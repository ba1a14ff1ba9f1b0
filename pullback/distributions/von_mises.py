"""The von Mises distribution on the circle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from ._families import Centered
from .distribution import EMPTY
from .utils import broadcast_all, lazy_property


class VonMises(Centered):
    """Angles around `loc`: the circular analogue of a normal with precision `concentration`."""

    arg_constraints: dict[Any, Any] = {"loc": constraints.real, "concentration": constraints.positive}
    support: Any = constraints.real
    _parameters: dict[Any, Any] = {"loc": 0, "concentration": 0}
    concentration: Tensor

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance."""
        return 1 - pullback.special.i1e(self.concentration) / pullback.special.i0e(self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        # The exponentially scaled Bessel function does not overflow.
        log_bessel = pullback.special.i0e(self.concentration).log() + self.concentration
        return self.concentration * pullback.cos(value - self.loc) - math.log(2 * math.pi) - log_bessel

    def _proposal(self, kappa: Tensor) -> Tensor:
        """The parameter of the wrapped Cauchy distribution that encloses this one (Best and Fisher, 1979)."""
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return pullback.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        with pullback.no_grad():
            shape = self._extended_shape(sample_shape)
            loc, kappa = self.loc.to(pullback.float64), self.concentration.to(pullback.float64)
            proposal = self._proposal(kappa)
            x = pullback.zeros(shape, dtype=pullback.float64, device=loc.device)
            done = pullback.zeros(shape, dtype=pullback.bool, device=loc.device)
            while not done.all():
                u1, u2, u3 = pullback.rand((3, *shape), dtype=pullback.float64, device=loc.device).unbind()
                z = pullback.cos(math.pi * u1)
                f = (1 + proposal * z) / (proposal + z)
                c = kappa * (proposal - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                # Accepted elements are drawn again until all are done, as in torch's stream.
                x = pullback.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
