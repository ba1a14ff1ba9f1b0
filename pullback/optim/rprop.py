"""Rprop: step sizes of their own for each element, grown and shrunk by the signs of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import _updates
from ._arrays import as_scalar_tensor, scalar_of
from ._checks import check_lr
from ._functional import functional_step
from ._stepper import ArrayOptimizer, step_counter, zeros_like
from .optimizer import ParamsT


class Rprop(ArrayOptimizer):
    """Resilient backpropagation: only the signs of the gradients count.

    Each element has a step of its own, which starts at `lr`, is multiplied by etas[1] while the sign stays and by
    etas[0] when it turns, and stays within `step_sizes`.
    """

    _kernel = _updates.rprop
    _state_names: tuple[str, ...] = ("prev", "step_size")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.01,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-06, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _fresh_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = float(scalar_of(group["lr"]))
        size = pullback.full_like(param, complex(lr, lr) if param.is_complex() else lr)
        return {"step": step_counter(param, group), "prev": zeros_like(param), "step_size": size}

    def _constants(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        shrink, grow = group["etas"]
        least, most = group["step_sizes"]
        return (float(shrink), float(grow), float(least), float(most), bool(group["maximize"]))

    def _trace(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float) -> Tensor:
        shrink, grow = group["etas"]
        agreement = grad * state["prev"]
        factor = pullback.ones_like(agreement)
        factor = pullback.where(agreement > 0, as_scalar_tensor(grow), factor)
        factor = pullback.where(agreement < 0, as_scalar_tensor(shrink), factor)
        size = state["step_size"] = (state["step_size"] * factor).clamp(*group["step_sizes"])
        grad = pullback.where(agreement < 0, 0.0, grad)
        state["prev"] = grad
        return param - grad.sign() * size


def rprop(
    params: Sequence[Tensor], grads: Sequence[Tensor], prevs: Sequence[Tensor], step_sizes: Sequence[Tensor],
    state_steps: Sequence[Tensor], foreach: bool | None = None, capturable: bool = False, maximize: bool = False,
    differentiable: bool = False, has_complex: bool = False, *, step_size_min: float, step_size_max: float,
    etaminus: float, etaplus: float
) -> None:  # fmt: skip
    """One step of Rprop on lists of tensors, which are written to."""
    functional_step(Rprop, **locals())
