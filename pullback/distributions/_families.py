"""Bases of families of distributions: around a location, by probabilities or log-odds, folded at zero, relaxed.

The base of them all is in `distribution.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution, batch_shape_of, check_probs_or_logits
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


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


class BinaryParameter:
    """`probs` and `logits`, of which one is given and the other computed when it is needed."""

    _given: str
    __dict__: dict[str, Any]

    def _set_binary(self, probs: Any, logits: Any) -> Any:
        """Keep the parameter that is given; returns the batch shape."""
        check_probs_or_logits(probs, logits)
        self._given = "probs" if probs is not None else "logits"
        given = probs if probs is not None else logits
        (value,) = broadcast_all(given)
        self.__dict__[self._given] = value
        return batch_shape_of(value, given)

    def _set_counted(self, total_count: Any, probs: Any, logits: Any) -> Any:
        """Keep a number of trials beside the parameter; returns the batch shape."""
        check_probs_or_logits(probs, logits)
        self._given = "probs" if probs is not None else "logits"
        count, value = broadcast_all(total_count, probs if probs is not None else logits)
        self.__dict__["total_count"] = count.type_as(value)
        self.__dict__[self._given] = value
        return value.size()

    def _expand_members(self, new: Any, batch_shape: Any) -> None:
        new._given = self._given

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def _param(self) -> Tensor:
        return self.__dict__["probs"] if self._given == "probs" else self.__dict__["logits"]

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return self._param.size()


class CategoricalInside(Distribution):
    """Vectors with an element for each category; probabilities and logits are those of `_categorical`."""

    arg_constraints: dict[Any, Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, probs: Tensor | None, logits: Tensor | None, validate_args: bool | None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def _expand_members(self, new: Any, batch_shape: Sequence[int]) -> None:
        new._categorical = self._categorical.expand(batch_shape)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """Normalized probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Normalized log-probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return self._categorical.param_shape


class HalfDistribution(TransformedDistribution):
    """The absolute value of a variable that is symmetric around zero."""

    arg_constraints: dict[Any, Any] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample: bool = True

    def __init__(self, base: Any, validate_args: bool | None) -> None:
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """Scale of the base."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return pullback.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        value = pullback.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return pullback.where(value >= 0, log_prob, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class Relaxed(TransformedDistribution):
    """A discrete distribution moved off its corners; the nearer, the lower the temperature."""

    has_rsample: bool = True

    @property
    def temperature(self) -> Any:
        """How far draws stay from the corners."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Log-odds, or normalized log-probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """Normalized probabilities."""
        return self.base_dist.probs
