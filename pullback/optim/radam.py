"""RAdam: Adam that waits with adaptive steps until its variance estimate can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor import Tensor
from . import _updates
from ._arrays import as_scalar_tensor, scalar_of
from ._checks import check_hyperparameters
from ._decay import added_decay, decay_factor, decayed
from ._functional import functional_step
from ._stepper import ArrayOptimizer
from .optimizer import ParamsT


class RAdam(ArrayOptimizer):
    """Adam with rectified variance: plain momentum first, adaptive steps later.

    The arguments are those of `Adam`; with `decoupled_weight_decay`, weights decay as in `AdamW`.
    """

    _kernel = _updates.radam
    _state_names: tuple[str, ...] = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_hyperparameters(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _constants(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        beta1, beta2 = (scalar_of(beta) for beta in group["betas"])
        lr = scalar_of(group["lr"])
        rectification = _rectification(beta2, step)
        rate = -lr / (1 - beta1**step)
        if rectification is not None:
            rate = rate * rectification
        return (
            *_updates.lerp_weight(1 - beta1),
            float(beta2),
            float(1 - beta2),
            float(group["eps"]) if rectification is not None else None,
            float(rate),
            added_decay(group),
            decay_factor(group),
            bool(group["maximize"]),
        )

    def _trace(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float) -> Tensor:
        beta1, beta2 = group["betas"]
        lr = as_scalar_tensor(group["lr"])
        param, grad = decayed(param, grad, group)
        mean = state["exp_avg"] = state["exp_avg"] + (grad - state["exp_avg"]) * (1 - beta1)
        square = state["exp_avg_sq"] = state["exp_avg_sq"] * beta2 + grad * grad * (1 - beta2)
        move = mean / (1 - beta1**step) * lr
        rectification = _rectification(beta2, step)
        if rectification is not None:
            move = move * (rectification / (square.sqrt() + group["eps"]))
        return param - move


def _rectification(beta2: Any, step: float) -> Any:
    """Factor of the adaptive step, with the bias correction in it; None while there are too few gradients."""
    correction = 1 - beta2**step
    limit = 2 / (1 - beta2) - 1
    length = limit - 2 * step * beta2**step / correction
    if length <= 5.0:
        return None
    variance = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
    return variance**0.5 * correction**0.5


def radam(
    params: Sequence[Tensor], grads: Sequence[Tensor], exp_avgs: Sequence[Tensor], exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor], decoupled_weight_decay: bool = False, foreach: bool | None = None,
    differentiable: bool = False, capturable: bool = False, has_complex: bool = False, maximize: bool = False, *,
    beta1: float, beta2: float, lr: float | Tensor, weight_decay: float, eps: float
) -> None:  # fmt: skip
    """One step of RAdam on lists of tensors, which are written to."""
    functional_step(RAdam, **locals())
