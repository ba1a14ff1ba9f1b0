"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import EMPTY, Distribution


class MixtureSameFamily(Distribution):
    """A draw from one of several components, which lie along the last batch axis of their distribution."""

    arg_constraints: dict[str, Any] = {}
    _parameters: dict[str, int] = {}

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        weights = mixture_distribution.batch_shape
        components = component_distribution.batch_shape[:-1]
        if any(a != 1 and b != 1 and a != b for a, b in zip(reversed(weights), reversed(components))):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({weights}) is not compatible with "
                f"`component_distribution.batch_shape`({components})"
            )
        count, available = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count != available:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({available})"
            )
        self._mixture_distribution: Any = mixture_distribution
        self._component_distribution: Any = component_distribution
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(components, component_distribution.event_shape, validate_args=validate_args)

    def _expand_members(self, new: Any, batch_shape: Sequence[int]) -> None:
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """The weights of the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components."""
        return self._component_distribution

    def _average(self, values: Tensor) -> Tensor:
        """The mean over the components, by their weights."""
        probs = self.mixture_distribution.probs
        missing = len(self.batch_shape) - len(self.mixture_distribution.batch_shape)
        if len(self.mixture_distribution.batch_shape) == 1:
            missing = 0
        shape = (*probs.shape[:-1], *[1] * missing, probs.shape[-1], *[1] * self._event_ndims)
        return (probs.reshape(shape) * values).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._average(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        within = self._average(self.component_distribution.variance)
        between = self._average((self.component_distribution.mean - self._pad(self.mean)).pow(2.0))
        return within + between

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def cdf(self, value: Tensor) -> Tensor:
        return (self.component_distribution.cdf(self._pad(value)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        log_prob = self.component_distribution.log_prob(self._pad(value))
        weights = pullback.log_softmax(self.mixture_distribution.logits, dim=-1)
        return pullback.logsumexp(log_prob + weights, dim=-1)

    def sample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        with pullback.no_grad():
            axis = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            index = chosen.reshape((*chosen.shape, *[1] * (self._event_ndims + 1)))
            index = index.expand((*chosen.shape, 1, *self.event_shape))
            return pullback.gather(drawn, axis, index).squeeze(axis)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
