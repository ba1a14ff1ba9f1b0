"""Ready-made parametrizations: orthogonal matrices, weight normalisation, spectral normalisation."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

import pullback

from ...core.tensor import Tensor
from .. import functional as F
from ..modules.module import Module
from .parametrize import register_parametrization
from .spectral_norm import as_matrix, output_dim
from .weight_norm import norm_except_dim, scaled_to_norm

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """From any matrix to one with orthonormal columns (or rows, where it is wider than high).

    With a trivialization the result is `base @ map(x)`, so that any orthogonal matrix can be assigned.
    """

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map: _OrthMaps = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.shape[-2] < X.shape[-1]
        if wide:
            X = X.mT
        if self.orthogonal_map is _OrthMaps.householder:
            lower = X.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (lower * lower).sum(dim=-2))
            result = pullback.linalg.householder_product(lower, tau)
            # The diagonal holds signs, which are not differentiated.
            result = result * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            result = self._from_skew(X.tril())
        if "base" in self._buffers:
            result = self.base @ result
        return result.mT if wide else result

    def _from_skew(self, lower: Tensor) -> Tensor:
        rows, columns = lower.shape[-2:]
        if rows != columns:
            zeros = lower.new_zeros(rows, rows - columns).expand(*lower.shape[:-2], -1, -1)
            lower = pullback.cat([lower, zeros], dim=-1)
        skew = lower - lower.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            result = pullback.matrix_exp(skew)
        else:
            identity = pullback.eye(rows, dtype=skew.dtype, device=skew.device)
            result = pullback.linalg.solve(identity - 0.5 * skew, identity + 0.5 * skew)
        return result[..., :columns] if rows != columns else result

    def right_inverse(self, Q: Tensor) -> Tensor:
        """The original for which `forward` gives `Q`, after making `Q` orthogonal if it is not."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        with pullback.no_grad():
            wide = Q.shape[-2] < Q.shape[-1]
            tall = Q.mT if wide else Q
            if "base" in self._buffers:
                self.base = _completed(tall)
                start = pullback.zeros_like(Q)
                start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
                return start
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley "
                    "parametrizations when use_trivialization=False."
                )
            reflectors, tau = pullback.geqrf(tall)
            diagonal = reflectors.diagonal(dim1=-2, dim2=-1)
            diagonal.copy_(pullback.where(tau == 0.0, -diagonal.sign(), diagonal.sign()))
            return reflectors.mT if wide else reflectors


def _completed(columns: Tensor) -> Tensor:
    """A square orthogonal matrix that starts with the given columns, as far as they are orthonormal."""
    rows, count = columns.shape[-2:]
    if rows == count:
        identity = pullback.eye(count, dtype=columns.dtype, device=columns.device)
        tolerance = 10.0 * rows * pullback.finfo(columns.dtype).eps
        if pullback.allclose(columns.mH @ columns, identity, atol=tolerance):
            return columns.clone()
    else:
        drawn = pullback.randn(*columns.shape[:-2], rows, rows - count, dtype=columns.dtype, device=columns.device)
        columns = pullback.cat([columns, drawn], dim=-1)
    q, r = pullback.linalg.qr(columns)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a parameter orthogonal (or unitary), by "matrix_exp", "cayley" or "householder"."""
    weight = getattr(module, name, None)
    if not isinstance(weight, pullback.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    parametrization = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    return register_parametrization(module, name, parametrization, unsafe=True)


class _WeightNorm(Module):
    """From magnitude and direction to the weight."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return scaled_to_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Magnitude and direction of a weight."""
        return norm_except_dim(weight, self.dim), weight


class _ReadsOldKeys:
    """Lets a state dict of the older `weight_norm` be loaded."""

    def __init__(self, name: str) -> None:
        self.name: str = name

    def __call__(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        old = [f"{prefix}{self.name}_g", f"{prefix}{self.name}_v"]
        if all(key in state_dict for key in old):
            for index, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{self.name}.original{index}"] = state_dict.pop(key)


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn a parameter's magnitude and direction separately."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_ReadsOldKeys(name))
    return module


class _SpectralNorm(Module):
    """Divides by the largest singular value, estimated by power iteration while training."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        count = weight.ndim
        if not -count <= dim < count:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{count}, {count - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + count
        self.eps: float = eps
        if count > 1:
            self.n_power_iterations = n_power_iterations
            with pullback.no_grad():
                matrix = as_matrix(weight, self.dim)
                left, right = [matrix.new_empty(size).normal_(0, 1) for size in matrix.shape]
                self.register_buffer("_u", F.normalize(left, dim=0, eps=eps))
                self.register_buffer("_v", F.normalize(right, dim=0, eps=eps))
            self._power_method(matrix, 15)  # enough that the first forward is already normalised

    def _power_method(self, matrix: Tensor, iterations: int) -> None:
        with pullback.no_grad():
            for _ in range(iterations):
                self._u.copy_(F.normalize(pullback.mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(pullback.mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        left, right = self._u.clone(), self._v.clone()
        return weight / pullback.vdot(left, pullback.mv(matrix, right))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself, which is taken to be normalised."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a parameter by its largest singular value."""
    weight = getattr(module, name, None)
    if not isinstance(weight, pullback.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    parametrization = _SpectralNorm(weight, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return register_parametrization(module, name, parametrization)
