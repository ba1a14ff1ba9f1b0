"""Helpers of the distributions: broadcasting parameters, probabilities and logits, lazy attributes, triangles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import pullback

from ..core.tensor import Tensor
from ..nn.functional import softmax
from ..transforms.arrays.batched import all_values

euler_constant: float = 0.57721566490153286060

NUMBER: tuple[Any, ...] = (bool, int, float)
"""The types that count as plain numbers among parameters."""


def all_hold(condition: Tensor) -> bool:
    """True if a condition holds everywhere: inside `vmap`, for every example."""
    return bool(all_values(condition).all())


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors of one shape; plain numbers take the dtype of the first tensor, or the default one."""
    first = next((value for value in values if isinstance(value, pullback.Tensor)), None)
    if not all(
        isinstance(value, (pullback.Tensor, *NUMBER)) or hasattr(value, "__torch_function__") for value in values
    ):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    options: dict[str, Any] = {"dtype": pullback.get_default_dtype()}
    if first is not None:
        options = {"dtype": first.dtype, "device": first.device}
    tensors = [pullback.tensor(v, **options) if isinstance(v, NUMBER) else v for v in values]
    shape = tensors[0].shape
    if all(tensor.shape == shape for tensor in tensors):
        return tuple(tensors)
    return tuple(pullback.broadcast_tensors(*tensors))


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Tensor:
    """Normal noise, from the stream that `normal_` draws from."""
    return pullback.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` axes."""
    if dim == 0:
        return value
    return value.reshape((*value.shape[: value.dim() - dim], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log-odds, or of unnormalized log-probabilities along the last axis."""
    return pullback.sigmoid(logits) if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept off zero and one by one rounding unit."""
    eps = pullback.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The inverse of `logits_to_probs`, finite everywhere."""
    clamped = clamp_probs(probs)
    if is_binary:
        return pullback.log(clamped) - pullback.log1p(-clamped)
    return pullback.log(clamped)


class lazy_property:
    """An attribute that is computed on first use and then kept on the instance."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped: Callable[[Any], Any] = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with pullback.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def _lower_mask(size: int, diag: int, device: Any) -> Tensor:
    order = pullback.arange(size, device=device)
    return order < order.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of a matrix on and below a diagonal, row by row."""
    size = mat.shape[-1]
    if diag < -size or diag >= size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    return mat[..., _lower_mask(size, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The matrix with the given elements on and below a diagonal, and zeros above."""
    count = vec.shape[-1]
    # The number of elements is a quadratic polynomial of the size: solve it.
    exact = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    size = round(exact)
    if size - exact > pullback.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a "
            "square D x D matrix."
        )
    mat = vec.new_zeros((*vec.shape[:-1], size, size))
    mat[..., _lower_mask(size, diag, vec.device)] = vec
    return mat
