"""Clipping gradients by their total norm or by value."""

from __future__ import annotations

import types
from collections.abc import Iterable

import pullback

from ...core.basics.interrupts import uninterrupted
from ...core.basics.notices import warn_user
from ...core.tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _as_list(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, pullback.Tensor) else list(tensors)


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all the tensors as if they were one vector."""
    tensors = _as_list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return pullback.tensor(0.0)
    with pullback.no_grad():
        norms = [pullback.linalg.vector_norm(tensor, norm_type) for tensor in tensors]
        total = pullback.linalg.vector_norm(pullback.stack(norms), norm_type)
        if error_if_nonfinite and not bool(pullback.isfinite(total)):
            raise RuntimeError(
                f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so "
                "it cannot be clipped. To disable this error and scale the gradients by the non-finite "
                "norm anyway, set `error_if_nonfinite=False`"
            )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients by `max_norm / total_norm` where that is below one."""
    with pullback.no_grad():
        factor = pullback.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        gradients = [parameter.grad for parameter in _as_list(parameters) if parameter.grad is not None]
        with uninterrupted():
            for gradient in gradients:
                gradient.mul_(factor)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients so that their total norm is at most `max_norm`; returns the norm before.

    `parameters` are a tensor or several; those without a gradient are left out. The norm is that of all gradients as
    one vector, of order `norm_type`. With `error_if_nonfinite` a norm of NaN or infinity is an error.
    """
    given = parameters
    parameters = _as_list(parameters)
    if not parameters and isinstance(given, types.GeneratorType):
        warn_user("`parameters` is an empty generator, no gradient clipping will occur.")
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    total = get_total_norm(gradients, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Deprecated name of `clip_grad_norm_`."""
    warn_user(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clip every element of the gradients to [-clip_value, clip_value]."""
    limit = float(clip_value)
    with pullback.no_grad():
        gradients = [parameter.grad for parameter in _as_list(parameters) if parameter.grad is not None]
        with uninterrupted():
            for gradient in gradients:
                gradient.clamp_(min=-limit, max=limit)
