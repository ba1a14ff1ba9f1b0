"""Adamax: Adam with the largest recent gradient in place of the root mean square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import _updates
from ._arrays import as_scalar_tensor, scalar_of
from ._checks import check_hyperparameters
from ._decay import added_decay, decayed
from ._functional import functional_step
from ._stepper import ArrayOptimizer
from .optimizer import ParamsT


class Adamax(ArrayOptimizer):
    """Adam in the infinity norm."""

    _kernel = _updates.adamax
    _state_names: tuple[str, ...] = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.002,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_hyperparameters(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _constants(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        beta1, beta2 = (scalar_of(beta) for beta in group["betas"])
        return (
            *_updates.lerp_weight(1 - beta1),
            float(beta2),
            float(group["eps"]),
            float(-scalar_of(group["lr"]) / (1 - beta1**step)),
            added_decay(group),
            bool(group["maximize"]),
        )

    def _trace(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float) -> Tensor:
        beta1, beta2 = group["betas"]
        param, grad = decayed(param, grad, group)
        mean = state["exp_avg"] = state["exp_avg"] + (grad - state["exp_avg"]) * (1 - beta1)
        largest = pullback.maximum(state["exp_inf"] * beta2, grad.abs() + group["eps"])
        state["exp_inf"] = largest
        return param - as_scalar_tensor(group["lr"]) / (1 - beta1**step) * (mean / largest)


def adamax(
    params: Sequence[Tensor], grads: Sequence[Tensor], exp_avgs: Sequence[Tensor], exp_infs: Sequence[Tensor],
    state_steps: Sequence[Tensor], foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    capturable: bool = False, has_complex: bool = False, *, eps: float, beta1: float, beta2: float, lr: float | Tensor,
    weight_decay: float
) -> None:  # fmt: skip
    """One step of Adamax on lists of tensors, which are written to."""
    functional_step(Adamax, **locals())
