"""Adam: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import _updates
from ._arrays import as_scalar_tensor, scalar_of
from ._checks import check_fused, check_fused_params, check_hyperparameters
from ._decay import added_decay, decay_factor, decayed
from ._functional import functional_step
from ._stepper import ArrayOptimizer
from .optimizer import ParamsT


class Adam(ArrayOptimizer):
    """Adam: steps of about `lr`, along a running mean of the gradient over the root of a running mean of its square.

    `betas` say how much of the two means is kept in each step, `eps` is added to the root. `weight_decay` times the
    parameter is added to the gradient; `amsgrad` divides by the largest mean square so far. AdamW shrinks the
    parameters themselves, apart from the gradient.
    """

    _kernel = _updates.adam

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.001,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        _check_tensor("lr", lr, foreach, capturable)
        check_hyperparameters(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        are_tensors = [isinstance(beta, pullback.Tensor) for beta in betas[:2]]
        if not all(are_tensors) and not all(isinstance(beta, float) for beta in betas[:2]):
            raise ValueError("betas must be either both floats or both Tensors")
        _check_tensor("betas[0]", betas[0], foreach, capturable)
        _check_tensor("betas[1]", betas[1], foreach, capturable)
        defaults = {
            "lr": lr, "betas": tuple(as_scalar_tensor(beta) for beta in betas), "eps": eps,
            "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        check_fused_params(self.param_groups)

    def _buffers(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        if group["foreach"] and isinstance(group["lr"], pullback.Tensor) and not group["capturable"]:
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq" if group["amsgrad"] else None)

    def _constants(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        beta1, beta2 = (scalar_of(beta) for beta in group["betas"])
        lr = scalar_of(group["lr"])
        root = (1 - beta2**step) ** 0.5
        return (
            *_updates.lerp_weight(1 - beta1),
            float(beta2),
            float(1 - beta2),
            # The root of the second bias correction is multiplied through, which saves a pass over the array.
            float(group["eps"] * root),
            float(-lr / (1 - beta1**step)) * float(root),
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
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"] = pullback.maximum(state["max_exp_avg_sq"], square)
        root = (1 - beta2**step) ** 0.5
        return param - lr / (1 - beta1**step) * (mean / (square.sqrt() / root + group["eps"]))


def _check_tensor(name: str, value: Any, foreach: bool | None, capturable: bool) -> None:
    if isinstance(value, pullback.Tensor):
        if foreach and not capturable:
            raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
        if value.numel() != 1:
            raise ValueError(f"Tensor {name} must be 1-element")


def adam(
    params: Sequence[Tensor], grads: Sequence[Tensor], exp_avgs: Sequence[Tensor], exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor], state_steps: Sequence[Tensor], foreach: bool | None = None, capturable: bool = False,
    differentiable: bool = False, fused: bool | None = None, grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None, has_complex: bool = False, decoupled_weight_decay: bool = False, *, amsgrad: bool,
    beta1: float | Tensor, beta2: float | Tensor, lr: float | Tensor, weight_decay: float, eps: float, maximize: bool
) -> None:  # fmt: skip
    """One step of Adam on lists of tensors, which are written to."""
    functional_step(Adam, **locals())
