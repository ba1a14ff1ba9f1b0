"""Constraints: which values a parameter or a sample may take, and how to check them.

A constraint's `check` gives one boolean for each event; `event_dim` is the number of axes of an event. Where a
constraint depends on other parameters it is `dependent` and only known for an instance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from .utils import all_hold

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A region of values; `check` says which events lie inside."""

    is_discrete: bool = False
    event_dim: int = 0
    _shown: tuple[str, ...] = ()

    def check(self, value: Tensor) -> Tensor:
        """One boolean for each event of `value`."""
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)
        return f"{type(self).__name__.removeprefix('_')}({shown})"


class _Dependent(Constraint):
    """A constraint that is only known once other parameters are."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete: Any = is_discrete
        self._event_dim: Any = event_dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """True if the values are isolated; NotImplementedError where that is not known."""
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The number of axes of an event, if that is known."""
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Constraint) -> bool:
    """True if a constraint is only known for an instance."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that gives a constraint; on the class it is a dependent constraint itself."""

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        property.__init__(self, fn)
        self._is_discrete: Any = is_discrete
        self._event_dim: Any = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """A constraint whose last batch axes belong to the event."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be an int >= 0, got {reinterpreted_batch_ndims}")
        self.base_constraint: Constraint = base_constraint
        self.reinterpreted_batch_ndims: int = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """That of the base."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The base's axes and the reinterpreted ones."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        count = self.reinterpreted_batch_ndims
        if result.dim() < count:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return result.reshape((*result.shape[: result.dim() - count], -1)).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: a value must lie in the support of every component."""

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint: Constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """That of the components."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """That of the components."""
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        kept = value.dim() - self.event_dim
        return result.reshape((*result.shape[:kept], -1)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Boolean(Constraint):
    is_discrete: bool = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete: bool = True
    event_dim: int = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Bounded(Constraint):
    """A constraint with bounds, which are numbers or tensors."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound: Any = lower_bound
        self.upper_bound: Any = upper_bound
        super().__init__()

    _shown: tuple[Any, ...] = ("lower_bound", "upper_bound")


class _BoundedBelow(Constraint):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound: Any = lower_bound
        super().__init__()

    _shown: tuple[Any, ...] = ("lower_bound",)


class _BoundedAbove(Constraint):
    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound: Any = upper_bound
        super().__init__()

    _shown: tuple[Any, ...] = ("upper_bound",)


class _IntegerInterval(_Bounded):
    """Integers from `lower_bound` to `upper_bound`, both included."""

    is_discrete: bool = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_BoundedAbove):
    """Integers up to `upper_bound`, included."""

    is_discrete: bool = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_BoundedBelow):
    """Integers from `lower_bound` on, included."""

    is_discrete: bool = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        # Only nan differs from itself.
        return value == value


class _GreaterThan(_BoundedBelow):
    """Numbers above `lower_bound`."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_BoundedBelow):
    """Numbers not below `lower_bound`."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_BoundedAbove):
    """Numbers below `upper_bound`."""

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Bounded):
    """Numbers from `lower_bound` to `upper_bound`, both included."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    """Numbers from `lower_bound` to `upper_bound`, without the latter."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    event_dim: int = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Counts that add up to no more than `upper_bound`, along the last dim."""

    is_discrete: bool = True
    event_dim: int = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound: Any = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


def _every_element(condition: Tensor) -> Tensor:
    return condition.reshape((*condition.shape[:-2], -1)).all(-1)


class _LowerTriangular(Constraint):
    event_dim: int = 2

    def check(self, value: Tensor) -> Tensor:
        return _every_element(value.tril() == value)


class _LowerCholesky(Constraint):
    event_dim: int = 2

    def check(self, value: Tensor) -> Tensor:
        return _every_element(value.tril() == value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    event_dim: int = 2

    def check(self, value: Tensor) -> Tensor:
        tolerance = pullback.finfo(value.dtype).eps * value.size(-1) * 10
        row_norms = (value.detach() ** 2).sum(-1).sqrt()
        return _LowerCholesky().check(value) & (row_norms - 1.0).abs().le(tolerance).all(-1)


class _Square(Constraint):
    event_dim: int = 2

    def check(self, value: Tensor) -> Tensor:
        is_square = value.shape[-2] == value.shape[-1]
        return pullback.full(value.shape[:-2], is_square, dtype=pullback.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        is_square = super().check(value)
        if not all_hold(is_square):
            return is_square
        return _every_element(pullback.isclose(value, value.mT, atol=1e-6))


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if not all_hold(is_symmetric):
            return is_symmetric
        return pullback.linalg.eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if not all_hold(is_symmetric):
            return is_symmetric
        return pullback.linalg.cholesky_ex(value).info.eq(0)


class _Sequence(Constraint):
    """Constraints for the parts of a value along an axis."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        if not all(isinstance(constraint, Constraint) for constraint in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq: list[Constraint] = list(cseq)
        self.dim: int = dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """True if any part is discrete."""
        return any(constraint.is_discrete for constraint in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The largest of the parts."""
        return max(constraint.event_dim for constraint in self.cseq)

    def _check_dim(self, value: Tensor) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Sequence):
    """Parts of given lengths, one after the other."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths: list[int] = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        checks = []
        start = 0
        for constraint, length in zip(self.cseq, self.lengths):
            checks.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return pullback.cat(checks, self.dim)


class _Stack(_Sequence):
    """Slices along an axis of their own."""

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The largest of the parts, and the axis itself where it is one of the event's."""
        dim = max(constraint.event_dim for constraint in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        slices = [value.select(self.dim, index) for index in range(value.size(self.dim))]
        return pullback.stack([c.check(v) for v, c in zip(slices, self.cseq)], self.dim)


dependent: _Dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean: _Boolean = _Boolean()
one_hot: _OneHot = _OneHot()
nonnegative_integer: _IntegerGreaterThan = _IntegerGreaterThan(0)
positive_integer: _IntegerGreaterThan = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real: _Real = _Real()
real_vector: Constraint = independent(real, 1)
positive: _GreaterThan = _GreaterThan(0.0)
nonnegative: _GreaterThanEq = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval: _Interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex: _Simplex = _Simplex()
lower_triangular: _LowerTriangular = _LowerTriangular()
lower_cholesky: _LowerCholesky = _LowerCholesky()
corr_cholesky: _CorrCholesky = _CorrCholesky()
square: _Square = _Square()
symmetric: _Symmetric = _Symmetric()
positive_semidefinite: _PositiveSemidefinite = _PositiveSemidefinite()
positive_definite: _PositiveDefinite = _PositiveDefinite()
cat = _Cat
stack = _Stack
