"""RMSprop: steps scaled by the root mean square of recent gradients."""

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


class RMSprop(ArrayOptimizer):
    """RMSprop, centered and with momentum where that is asked for.

    The gradient is divided by the root of a running mean of its square, of which `alpha` is kept in each step, plus
    `eps`; `centered` subtracts the square of the mean gradient. `weight_decay` times the parameter is added to the
    gradient.
    """

    _kernel = _updates.rmsprop

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.01,
        alpha: float = 0.99,
        eps: float = 1e-08,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_hyperparameters(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _buffers(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return (
            "square_avg",
            "momentum_buffer" if group["momentum"] > 0 else None,
            "grad_avg" if group["centered"] else None,
        )

    def _constants(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        alpha = group["alpha"]
        return (
            float(alpha),
            float(1 - alpha),
            *_updates.lerp_weight(1 - alpha),
            float(group["eps"]),
            float(-scalar_of(group["lr"])),
            float(group["momentum"]),
            added_decay(group),
            bool(group["maximize"]),
        )

    def _trace(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float) -> Tensor:
        alpha, lr = group["alpha"], as_scalar_tensor(group["lr"])
        param, grad = decayed(param, grad, group)
        square = state["square_avg"] = state["square_avg"] * alpha + grad * grad * (1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"] = state["grad_avg"] + (grad - state["grad_avg"]) * (1 - alpha)
            square = square - mean * mean
        move = grad / (square.sqrt() + group["eps"])
        if group["momentum"] > 0:
            move = state["momentum_buffer"] = state["momentum_buffer"] * group["momentum"] + move
        return param - move * lr


def rmsprop(
    params: Sequence[Tensor], grads: Sequence[Tensor], square_avgs: Sequence[Tensor], grad_avgs: Sequence[Tensor],
    momentum_buffer_list: Sequence[Tensor], state_steps: Sequence[Tensor], foreach: bool | None = None,
    maximize: bool = False, differentiable: bool = False, capturable: bool = False, has_complex: bool = False, *,
    lr: float | Tensor, alpha: float, eps: float, weight_decay: float, momentum: float, centered: bool
) -> None:  # fmt: skip
    """One step of RMSprop on lists of tensors, which are written to."""
    functional_step(RMSprop, **locals())
