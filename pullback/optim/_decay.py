"""Weight decay, which the optimizers treat alike: as a part of the gradient, or decoupled from it.

Kernels take it as constants (`added_decay`, `decay_factor`); on the tape `decayed` applies it.
"""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ._arrays import as_scalar_tensor, scalar_of


def added_decay(group: dict[str, Any]) -> float | None:
    """How much of the parameter joins its gradient; None for nothing."""
    decay = scalar_of(group["weight_decay"])
    return float(decay) if decay != 0 and not group.get("decoupled_weight_decay") else None


def decay_factor(group: dict[str, Any]) -> float | None:
    """Return the factor that decoupled decay multiplies the parameter by; None if there is no such decay."""
    decay = scalar_of(group["weight_decay"])
    return float(1 - scalar_of(group["lr"]) * decay) if decay != 0 and group["decoupled_weight_decay"] else None


def decayed(param: Tensor, grad: Tensor, group: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """Parameter and gradient after weight decay, from tensor operations."""
    decay = group["weight_decay"]
    if decay == 0:
        return param, grad
    if group.get("decoupled_weight_decay"):
        return param * (1 - as_scalar_tensor(group["lr"]) * decay), grad
    return param, grad + param * decay
