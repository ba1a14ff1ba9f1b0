"""The base class of distributions: shapes, validation, and what every distribution can be asked.

A subclass names its tensor parameters in `_parameters`, with the number of axes of each that belong to the event;
that is all `expand` needs. What a subclass does not define raises NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.basics.notices import warn_user
from ..core.tensor import Tensor
from . import constraints
from .utils import NUMBER, all_hold, lazy_property

EMPTY: tuple[int, ...] = ()


class Distribution:
    """A probability distribution, or a batch of them: samples have shape sample + batch + event."""

    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args = __debug__
    _parameters: dict[str, int] = {}

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Turn the checks of parameters and values on or off for distributions made from now on."""
        if value not in (True, False):
            raise ValueError(f"expected True or False, but got {value}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Sequence[int] = EMPTY,
        event_shape: Sequence[int] = EMPTY,
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = pullback.Size(batch_shape)
        self._event_shape = pullback.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()  # a class may be a module as well

    def _validate_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warn_user(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
            )
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            # A lazy attribute follows from the parameters that were given.
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue
            value = getattr(self, name)
            if not all_hold(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                    f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n"
                    f"{value}"
                )

    # -- shapes

    @property
    def batch_shape(self) -> pullback.Size:
        """The shape of a batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> pullback.Size:
        """The shape of one draw of one distribution."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Sequence[int] = EMPTY) -> pullback.Size:
        return pullback.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distribution for a larger batch, without copying its parameters."""
        owner = next((c for c in type(self).__mro__ if "_parameters" in c.__dict__), Distribution)
        if owner is Distribution:
            raise NotImplementedError(f"{type(self).__name__} does not implement expand")
        new = self._get_checked_instance(owner, _instance)
        batch_shape = pullback.Size(batch_shape)
        for name, event_dim in self._parameters.items():
            value = self.__dict__.get(name)
            if value is not None:
                own = value.shape[value.dim() - event_dim :]
                new.__dict__[name] = value.expand((*batch_shape, *own))
        self._expand_members(new, batch_shape)
        return self._finish_expand(new, batch_shape)

    def _expand_members(self, new: Any, batch_shape: Sequence[int]) -> None:
        """Give an expanded instance what is not a parameter: numbers, and distributions inside this one."""

    def _finish_expand(self, new: Any, batch_shape: Sequence[int]) -> Any:
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is not None:
            return _instance
        if type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self))

    # -- properties of the distribution

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraint of each parameter, by name."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """Which values have a positive probability or density."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each element."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each element."""
        return self.variance.sqrt()

    def entropy(self) -> Tensor:
        """The entropy in nats, for each distribution of the batch."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return pullback.exp(self.entropy())

    # -- samples and densities

    def sample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        """Draws without a gradient."""
        with pullback.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = EMPTY) -> Tensor:
        """Draws as differentiable functions of the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """`n` draws; the old name of `sample((n,))`."""
        warn_user("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability or density at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw up to `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first axis."""
        raise NotImplementedError

    def _check_value(self, value: Tensor) -> None:
        """Complain about a bad value, unless checks are off: every density begins with it."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Tensor) -> None:
        """Complain about a value of a wrong shape or outside the support."""
        if not isinstance(value, pullback.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape = value.size()
        if shape[len(shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        if any(i != 1 and j != 1 and i != j for i, j in zip(reversed(shape), reversed(expected))):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warn_user(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
            )
            return
        if not all_hold(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            value = self.__dict__.get(name)
            if value is not None:
                shown.append(f"{name}: {value if value.numel() == 1 else value.size()}")
        return f"{type(self).__name__}({', '.join(shown)})"


def batch_shape_of(parameter: Tensor, *given: Any) -> pullback.Size:
    """The batch shape of broadcast parameters; plain numbers make a single distribution."""
    return pullback.Size() if all(isinstance(value, NUMBER) for value in given) else parameter.size()


def enumerated(values: Tensor, batch_shape: Sequence[int], expand: bool) -> Tensor:
    """A vector of values along the first axis, beside (or expanded over) the batch."""
    values = values.view((-1,) + (1,) * len(batch_shape))
    return values.expand((-1, *batch_shape)) if expand else values


def check_probs_or_logits(probs: Any, logits: Any) -> None:
    """Exactly one of two ways to give probabilities."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
