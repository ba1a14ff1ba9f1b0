"""Exponential families: entropy from the derivatives of the log-normalizer, where there is no closed form."""

from __future__ import annotations

from typing import Any

import pullback

from ..core.tensor import Tensor
from .distribution import Distribution


class ExponentialFamily(Distribution):
    """Densities exp(<t(x), theta> - F(theta) + k(x)); subclasses give the natural parameters theta and F."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """By the Bregman divergence of the log-normalizer."""
        result: Any = -self._mean_carrier_measure
        with pullback.enable_grad():
            params = [param.detach().requires_grad_() for param in self._natural_params]
            normalizer = self._log_normalizer(*params)
            gradients = pullback.autograd.grad(normalizer.sum(), params, create_graph=True)
        result = result + normalizer
        for param, gradient in zip(params, gradients):
            result = result - (param * gradient).reshape((*self._batch_shape, -1)).sum(-1)
        return result
