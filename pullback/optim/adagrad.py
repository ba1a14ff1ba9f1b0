"""Adagrad: steps scaled by all squared gradients so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import _updates
from ._arrays import as_scalar_tensor, scalar_of
from ._checks import check_fused, check_fused_params, check_hyperparameters
from ._decay import added_decay, decayed
from ._functional import functional_step
from ._stepper import ArrayOptimizer, step_counter
from .optimizer import ParamsT


class Adagrad(ArrayOptimizer):
    """Each element's step shrinks with the sum of its squared gradients.

    The step is lr / (1 + steps * lr_decay), divided by the root of that sum plus `eps`; the sum starts at
    `initial_accumulator_value`. `weight_decay` times the parameter is added to the gradient.
    """

    _kernel = _updates.adagrad
    _state_names: tuple[str, ...] = ("sum",)
    _accepts_sparse: bool = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.01,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_hyperparameters(
            lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )  # fmt: skip
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        check_fused_params(self.param_groups)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = self._fresh_state(param, group)

    def share_memory(self) -> None:
        """Move the sums to memory that other processes can see."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def _fresh_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        start = self.defaults["initial_accumulator_value"]
        total = pullback.full_like(param, complex(start, start) if param.is_complex() else start)
        return {"step": step_counter(param, group), "sum": total}

    def _constants(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        return (
            float(group["eps"]),
            float(-scalar_of(group["lr"]) / (1 + (step - 1) * group["lr_decay"])),
            added_decay(group),
            bool(group["maximize"]),
        )

    def _trace(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float) -> Tensor:
        param, grad = decayed(param, grad, group)
        total = state["sum"] = state["sum"] + grad * grad
        rate = as_scalar_tensor(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        return param - rate * (grad / (total.sqrt() + group["eps"]))


def adagrad(
    params: Sequence[Tensor], grads: Sequence[Tensor], state_sums: Sequence[Tensor], state_steps: Sequence[Tensor],
    fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
    has_sparse_grad: bool = False, foreach: bool | None = None, differentiable: bool = False, has_complex: bool = False,
    *, lr: float | Tensor, weight_decay: float, lr_decay: float, eps: float, maximize: bool
) -> None:  # fmt: skip
    """One step of Adagrad on lists of tensors, which are written to."""
    functional_step(Adagrad, **locals())
