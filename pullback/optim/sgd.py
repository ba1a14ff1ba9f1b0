"""Stochastic gradient descent, with momentum, dampening, Nesterov's variant and weight decay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import _updates
from ._arrays import as_scalar_tensor, scalar_of
from ._checks import check_fused, check_fused_params
from ._decay import added_decay, decayed
from ._functional import functional_step
from ._stepper import ArrayOptimizer, zeros_like
from .optimizer import ParamsT


class SGD(ArrayOptimizer):
    """Gradient descent: p -= lr * d, where d is the gradient or, with momentum, its running sum.

    The sum is d = momentum * d + (1 - dampening) * gradient; `nesterov` looks one step ahead. `weight_decay` times the
    parameter is added to the gradient; `maximize` goes uphill.
    """

    _kernel = _updates.sgd
    _counts_steps: bool = False
    _accepts_sparse: bool = True
    _tensor_state: tuple[Any, ...] = ()

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.001,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, pullback.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if lr < 0.0:  # unlike the other optimizers, this one takes nan
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach, "differentiable": differentiable,
            "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        check_fused_params(self.param_groups)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for held in self.state.values():
            if held.get("momentum_buffer", held) is None:
                del held["momentum_buffer"]

    def _buffers(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        return ("momentum_buffer" if group["momentum"] != 0 else None,)

    def _constants(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        dampening = float(group["dampening"])
        return (
            -float(scalar_of(group["lr"])),
            added_decay(group),
            bool(group["maximize"]),
            float(group["momentum"]),
            1 - dampening if dampening != 0 else None,
            bool(group["nesterov"]),
            step == 1.0,
        )

    def _trace(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float) -> Tensor:
        momentum = group["momentum"]
        param, grad = decayed(param, grad, group)
        if momentum != 0:
            if step == 1.0:
                buffer = grad.detach().clone()
            else:
                buffer = state["momentum_buffer"] * momentum + grad * (1 - group["dampening"])
            state["momentum_buffer"] = buffer
            grad = grad + buffer * momentum if group["nesterov"] else buffer
        return param - grad * as_scalar_tensor(group["lr"])


def sgd(
    params: Sequence[Tensor], d_p_list: Sequence[Tensor], momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False, foreach: bool | None = None, fused: bool | None = None, grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None, *, weight_decay: float, momentum: float, lr: float | Tensor, dampening: float,
    nesterov: bool, maximize: bool
) -> None:  # fmt: skip
    """One step of SGD on lists of tensors, which are written to; a missing momentum buffer is made."""
    given = dict(locals())
    grads = given.pop("d_p_list")
    first = [momentum != 0 and buffer is None for buffer in momentum_buffer_list]
    for index, missing in enumerate(first):
        if missing:
            momentum_buffer_list[index] = zeros_like(params[index])
    functional_step(SGD, grads=grads, first=first, **given)
