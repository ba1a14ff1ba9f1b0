"""Adadelta: steps in the unit of the parameter, without a global learning rate to tune."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor import Tensor
from . import _updates
from ._arrays import as_scalar_tensor, scalar_of
from ._checks import check_hyperparameters
from ._decay import added_decay, decayed
from ._functional import functional_step
from ._stepper import ArrayOptimizer
from .optimizer import ParamsT


class Adadelta(ArrayOptimizer):
    """Steps scaled by the ratio of running averages of past steps and gradients.

    `rho` is how much of the averages is kept in each step; `eps` is added to both. `weight_decay` times the parameter
    is added to the gradient.
    """

    _kernel = _updates.adadelta
    _state_names: tuple[str, ...] = ("square_avg", "acc_delta")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-06,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_hyperparameters(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _constants(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        rho = group["rho"]
        return (
            float(rho),
            float(1 - rho),
            float(group["eps"]),
            float(-scalar_of(group["lr"])),
            added_decay(group),
            bool(group["maximize"]),
        )

    def _trace(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float) -> Tensor:
        rho, eps = group["rho"], group["eps"]
        param, grad = decayed(param, grad, group)
        square = state["square_avg"] = state["square_avg"] * rho + grad * grad * (1 - rho)
        delta = (state["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * grad
        state["acc_delta"] = state["acc_delta"] * rho + delta * delta * (1 - rho)
        return param - delta * as_scalar_tensor(group["lr"])


def adadelta(
    params: Sequence[Tensor], grads: Sequence[Tensor], square_avgs: Sequence[Tensor], acc_deltas: Sequence[Tensor],
    state_steps: Sequence[Tensor], capturable: bool = False, foreach: bool | None = None, differentiable: bool = False,
    has_complex: bool = False, *, lr: float | Tensor, rho: float, eps: float, weight_decay: float, maximize: bool
) -> None:  # fmt: skip
    """One step of Adadelta on lists of tensors, which are written to."""
    functional_step(Adadelta, **locals())
