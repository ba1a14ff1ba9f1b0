"""The distribution of a transformed random variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from .distribution import EMPTY, Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost


class TransformedDistribution(Distribution):
    """The distribution of a base distribution's draws after a sequence of transforms."""

    arg_constraints: dict[str, Any] = {}
    _parameters: dict[str, int] = {}

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(transform, Transform) for transform in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms: Any = transforms
        whole = ComposeTransform(transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event_dim = len(base_distribution.event_shape)
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got {shape}."
            )
        # Parameters of the transforms may broadcast the batch.
        forward_shape = pullback.Size(whole.forward_shape(shape))
        expanded = pullback.Size(whole.inverse_shape(forward_shape))
        if shape != expanded:
            base_distribution = base_distribution.expand(expanded[: len(expanded) - base_event_dim])
        extra = whole.domain.event_dim - base_event_dim
        if extra > 0:
            base_distribution = Independent(base_distribution, extra)
        self.base_dist: Any = base_distribution
        change = whole.codomain.event_dim - whole.domain.event_dim
        cut = len(forward_shape) - max(whole.codomain.event_dim, base_event_dim + change)
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    def _expand_members(self, new: Any, batch_shape: Sequence[int]) -> None:
        shape: Any = (*batch_shape, *self.event_shape)
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        extra = len(self.event_shape) - support.event_dim
        return constraints.independent(support, extra) if extra > 0 else support

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """That of the base."""
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        with pullback.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        event_dim = len(self.event_shape)
        log_prob: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            term = transform.log_abs_det_jacobian(x, y)
            log_prob = log_prob - _sum_rightmost(term, event_dim - transform.domain.event_dim)
            y = x
        base = self.base_dist.log_prob(y)
        return log_prob + _sum_rightmost(base, event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """Turn probabilities around where the transforms decrease."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))
