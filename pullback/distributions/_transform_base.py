"""The base class of transforms, and those made of other transforms: inverse, composition, reinterpreted axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import constraints
from .utils import _sum_rightmost, lazy_property

__all__ = ["ComposeTransform", "IndependentTransform", "Transform", "_InverseTransform", "identity_transform"]


class Transform:
    """A differentiable map from `domain` to `codomain` with the logarithm of its volume change.

    With `cache_size=1` the last pair of input and output is kept, so that inverting an output is exact and free.
    """

    bijective: bool = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size: int = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """The number of axes of an event, where domain and codomain agree."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        """The inverse transform, whose own inverse is this one."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """+1 if a map of single numbers increases, -1 if it decreases."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """This transform, or a copy of it with another cache size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__: Callable[..., int] = None  # type: ignore[assignment]

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size and x is self._cached_x_y[0]:
            return self._cached_x_y[1]
        y = self._call(x)
        if self._cache_size:
            self._cached_x_y = (x, y)
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size and y is self._cached_x_y[1]:
            return self._cached_x_y[0]
        x = self._inverse(y)
        if self._cache_size:
            self._cached_x_y = (x, y)
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |dy/dx| at a pair of input and output."""
        raise NotImplementedError

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """The shape of the output for an input of a given shape."""
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """The shape of the input for an output of a given shape."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """A transform run backwards."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv: Transform = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """That of the transform itself."""
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        """That of the transform itself."""
        return self._inv.sign

    @property
    def inv(self) -> Any:
        """The transform itself."""
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        """The inverse of the transform with that cache size."""
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The transform's, with the sign turned."""
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """The shape of the transform's input."""
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """The shape of the transform's output."""
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Several transforms, one after the other."""

    def __init__(self, parts: list[Any], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts: list[Any] = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__: Any = None

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim = max(event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _with_event_dim(self.parts[0].domain, event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _with_event_dim(self.parts[-1].codomain, event_dim)

    @lazy_property
    def bijective(self) -> bool:
        """True if every part is bijective."""
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        """The product of the parts' signs."""
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Any:
        """The inverses of the parts in reverse order."""
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same composition with caches in every part."""
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum of the parts' terms, each over the axes that belong to the event at its place."""
        if not self.parts:
            return pullback.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        total: Any = None
        event_dim = self.domain.event_dim
        for part, before, after in zip(self.parts, values, values[1:]):
            term = _sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim)
            total = term if total is None else total + term
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """The shape after all parts."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """The shape before all parts."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n    " + ",\n    ".join(repr(part) for part in self.parts) + "\n)"


def _with_event_dim(constraint: Any, event_dim: int) -> Any:
    extra = event_dim - constraint.event_dim
    return constraints.independent(constraint, extra) if extra > 0 else constraint


identity_transform: ComposeTransform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch axes count as axes of the event."""

    def __init__(self, base_transform: Any, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform: Any = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims: int = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform with another cache size."""
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """That of the base."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """That of the base."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The base's, summed over the reinterpreted axes."""
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """That of the base."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """That of the base."""
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"
