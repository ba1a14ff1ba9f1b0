"""Transforms of whole vectors and matrices: simplexes, Cholesky factors, reshaping, parts with maps of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from ..nn.functional import logsigmoid, pad, softplus
from . import constraints
from ._transform_base import Transform
from ._transforms_elementwise import _Parameterless, clipped_sigmoid
from .utils import _sum_rightmost, lazy_property, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "CatTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "ReshapeTransform", "SoftmaxTransform", "StackTransform", "StickBreakingTransform",
]  # fmt: skip


def _need_dims(shape: Sequence[int], count: int) -> None:
    if len(shape) < count:
        raise ValueError("Too few dimensions on input")


class ReshapeTransform(Transform):
    """Another shape for the last axes."""

    bijective: bool = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape: Any = pullback.Size(in_shape)
        self.out_shape: Any = pullback.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform with another cache size."""
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape((*x.shape[: x.dim() - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape((*y.shape[: y.dim() - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Zero: no volume changes."""
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """The shape with its end replaced."""
        return self._replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """The shape with its end put back."""
        return self._replaced(shape, self.out_shape, self.in_shape)

    @staticmethod
    def _replaced(shape: Sequence[int], old: Sequence[int], new: Sequence[int]) -> Any:
        _need_dims(shape, len(old))
        cut = len(shape) - len(old)
        if tuple(shape[cut:]) != tuple(old):
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return pullback.Size((*shape[:cut], *new))


class CorrCholeskyTransform(_Parameterless):
    """From a vector to the Cholesky factor of a correlation matrix: partial correlations by tanh, row by row."""

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective: bool = True

    def _call(self, x: Tensor) -> Tensor:
        eps = pullback.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + pullback.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |det dy/dx|."""
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return 0.5 * left.log().sum(-1) + of_tanh

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """A square matrix for a vector of its elements below the diagonal."""
        _need_dims(shape, 1)
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return pullback.Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """The vector of elements below the diagonal."""
        _need_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return pullback.Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class SoftmaxTransform(_Parameterless):
    """Normalized exponentials; not one to one, as adding a constant changes nothing."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """The same, if there is a vector."""
        _need_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(_Parameterless):
    """From n numbers to n + 1 shares of a stick that is broken again and again; one to one."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective: bool = True

    @staticmethod
    def _offset(x: Tensor) -> Tensor:
        """Logits of equal shares, so that zeros break the stick evenly."""
        return (x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Tensor:
        z = clipped_sigmoid(x - self._offset(x))
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        shares = y[..., :-1]
        left = (1 - shares.cumsum(-1)).clamp(min=pullback.finfo(y.dtype).tiny)
        return shares.log() - left.log() + self._offset(shares)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |det dy/dx| of the first n shares."""
        x = x - self._offset(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """One element more."""
        _need_dims(shape, 1)
        return pullback.Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """One element less."""
        _need_dims(shape, 1)
        return pullback.Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(_Parameterless):
    """The lower triangle of a matrix with its diagonal exponentiated."""

    domain: Any = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Parameterless):
    """A lower Cholesky factor times its transpose."""

    domain: Any = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(pullback.linalg.cholesky(y))


class _PartsTransform(Transform):
    """Transforms for the parts of a tensor along an axis."""

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(transform, Transform) for transform in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms: list[Any] = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim: int = dim

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """True if every part is bijective."""
        return all(transform.bijective for transform in self.transforms)

    def _check_size(self, value: Tensor, length: int, what: str) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {value.dim()} dimensions")
        if value.size(self.dim) != length:
            raise AssertionError(f"x.size({self.dim}) = {value.size(self.dim)} must equal {what} {length}")


class CatTransform(_PartsTransform):
    """Transforms of consecutive parts of given lengths along one axis."""

    def __init__(
        self, tseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths: list[int] = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> int:
        """The largest of the parts."""
        return max(transform.event_dim for transform in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The size of the axis."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform with another cache size."""
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, value: Tensor) -> list[Tensor]:
        self._check_size(value, self.length, "length")
        return list(value.split(self.lengths, self.dim))

    def _call(self, x: Tensor) -> Tensor:
        return pullback.cat([t(part) for t, part in zip(self.transforms, self._parts(x))], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return pullback.cat([t.inv(part) for t, part in zip(self.transforms, self._parts(y))], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The parts' terms side by side, or their sum where the axis belongs to the event."""
        terms = []
        for transform, before, after in zip(self.transforms, self._parts(x), self._parts(y)):
            term = transform.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, self.event_dim - transform.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return pullback.cat(terms, dim=dim) if dim < 0 else sum(terms)  # type: ignore[return-value]

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_PartsTransform):
    """Transforms of the slices along one axis."""

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform with another cache size."""
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _each(self, function: Callable[..., Tensor], *values: Tensor) -> Tensor:
        for value in values:
            self._check_size(value, len(self.transforms), "len(transforms)")
        slices = zip(*[[value.select(self.dim, i) for i in range(value.size(self.dim))] for value in values])
        return pullback.stack([function(t, *parts) for t, parts in zip(self.transforms, slices)], dim=self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return self._each(lambda transform, part: transform(part), x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._each(lambda transform, part: transform.inv(part), y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The slices' terms, stacked."""
        return self._each(lambda transform, before, after: transform.log_abs_det_jacobian(before, after), x, y)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """The distribution function of a distribution: from its support to the unit interval."""

    bijective: bool = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution: Any = distribution

    @property
    def domain(self) -> Any:
        """The distribution's support."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The distribution's log-density."""
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform with another cache size."""
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
