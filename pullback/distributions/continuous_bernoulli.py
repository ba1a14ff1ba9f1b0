"""The continuous Bernoulli distribution on the unit interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from ._families import BinaryParameter
from .distribution import EMPTY
from .exp_family import ExponentialFamily
from .utils import all_hold, broadcast_all, clamp_probs, lazy_property, logits_to_probs


class ContinuousBernoulli(BinaryParameter, ExponentialFamily):
    """Density proportional to probs**x * (1 - probs)**(1 - x).

    Near probs = 1/2 the closed forms are 0/0, so inside `lims` their Taylor series are used.
    """

    arg_constraints: dict[Any, Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.unit_interval
    _mean_carrier_measure: int = 0
    has_rsample: bool = True
    _parameters: dict[Any, Any] = {"probs": 0, "logits": 0}

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        batch_shape = self._set_binary(probs, logits)
        if probs is not None:
            if validate_args is not None and not all_hold(self.arg_constraints["probs"].check(self.probs)):
                raise ValueError("The parameter probs has invalid values")
            self.__dict__["probs"] = clamp_probs(self.probs)
        self._lims: tuple[float, float] = lims
        super().__init__(batch_shape, validate_args=validate_args)

    def _expand_members(self, new: Any, batch_shape: Sequence[int]) -> None:
        super()._expand_members(new, batch_shape)
        new._lims = self._lims

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _is_stable(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """The probabilities, with those near one half moved to where the closed forms hold."""
        return pullback.where(self._is_stable(), self.probs, self._lims[0] * pullback.ones_like(self.probs))

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of the normalizing constant."""
        probs = self._cut_probs()
        below = pullback.where(probs <= 0.5, probs, pullback.zeros_like(probs))
        above = pullback.where(probs >= 0.5, probs, pullback.ones_like(probs))
        width = pullback.where(probs <= 0.5, pullback.log1p(-2.0 * below), pullback.log(2.0 * above - 1.0))
        exact = (pullback.log1p(-probs) - pullback.log(probs)).abs().log() - width
        x = (self.probs - 0.5).pow(2)
        return pullback.where(self._is_stable(), exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        probs = self._cut_probs()
        exact = probs / (2.0 * probs - 1.0) + 1.0 / (pullback.log1p(-probs) - pullback.log(probs))
        x = self.probs - 0.5
        return pullback.where(self._is_stable(), exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self) -> Tensor:
        probs = self._cut_probs()
        odds = pullback.log1p(-probs) - pullback.log(probs)
        exact = probs * (probs - 1.0) / (1.0 - 2.0 * probs).pow(2) + 1.0 / odds.pow(2)
        x = (self.probs - 0.5).pow(2)
        return pullback.where(self._is_stable(), exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(pullback.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        probs = self._cut_probs()
        exact = (probs.pow(value) * (1.0 - probs).pow(1.0 - value) + probs - 1.0) / (2.0 * probs - 1.0)
        inside = pullback.where(self._is_stable(), exact, value)
        inside = pullback.where(value >= 1.0, pullback.ones_like(value), inside)
        return pullback.where(value <= 0.0, pullback.zeros_like(value), inside)

    def icdf(self, value: Tensor) -> Tensor:
        probs = self._cut_probs()
        rest = pullback.log1p(-probs)
        exact = (pullback.log1p(-probs + value * (2.0 * probs - 1.0)) - rest) / (pullback.log(probs) - rest)
        return pullback.where(self._is_stable(), exact, value)

    def entropy(self) -> Tensor:
        log_zero, log_one = pullback.log1p(-self.probs), self.probs.log()
        return self.mean * (log_zero - log_one) - self._cont_bern_log_norm() - log_zero

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        is_stable = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = pullback.where(is_stable, x, (self._lims[0] - 0.5) * pullback.ones_like(x))
        exact = pullback.expm1(cut).abs().log() - cut.abs().log()
        return pullback.where(is_stable, exact, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
