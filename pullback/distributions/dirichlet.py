"""The Dirichlet distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from ..kernels.draw_slopes import dirichlet_slope
from ..nn.functional import one_hot
from . import constraints
from .distribution import EMPTY
from .exp_family import ExponentialFamily


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    """The gradient in the concentration, of draws x and their gradient."""
    total = concentration.sum(-1, True).expand_as(concentration)
    slope = dirichlet_slope(*(value.detach().memory() for value in (x, concentration, total)))
    return pullback.from_numpy(slope).to(grad_output.dtype) * (grad_output - (x * grad_output).sum(-1, True))


class _DirichletSample(pullback.autograd.Function):
    """Draws from a Dirichlet distribution with their implicit derivative."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        x = pullback._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x, concentration = ctx.saved_tensors
        return _Dirichlet_backward(x, concentration, grad)


class Dirichlet(ExponentialFamily):
    """Random probabilities of several categories, along the last axis."""

    arg_constraints: dict[Any, Any] = {"concentration": constraints.independent(constraints.positive, 1)}
    support: Any = constraints.simplex
    has_rsample: bool = True
    _parameters: dict[Any, Any] = {"concentration": 1}

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration: Tensor = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        excess = (self.concentration - 1).clamp(min=0.0)
        mode = excess / excess.sum(-1, True)
        # Without excess anywhere the density peaks at the corners: pick one.
        corner = one_hot(mode.argmax(dim=-1), mode.shape[-1]).to(mode.dtype)
        return pullback.where((self.concentration < 1).all(dim=-1, keepdim=True), corner, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        return _DirichletSample.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return (
            pullback.xlogy(self.concentration - 1.0, value).sum(-1)
            + pullback.lgamma(self.concentration.sum(-1))
            - pullback.lgamma(self.concentration).sum(-1)
        )

    def entropy(self) -> Tensor:
        size = self.concentration.size(-1)
        total = self.concentration.sum(-1)
        return (
            pullback.lgamma(self.concentration).sum(-1)
            - pullback.lgamma(total)
            - (size - total) * pullback.digamma(total)
            - ((self.concentration - 1.0) * pullback.digamma(self.concentration)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - pullback.lgamma(x.sum(-1))
