"""ASGD: stochastic gradient descent whose iterates are averaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import _updates
from ._arrays import array_of, as_scalar_tensor, counter_dtype, scalar_of
from ._checks import check_hyperparameters
from ._decay import added_decay, decayed
from ._functional import functional_step
from ._stepper import ArrayOptimizer, step_counter, zeros_like
from .optimizer import ParamsT


class ASGD(ArrayOptimizer):
    """Gradient descent with a decaying rate; the average of the iterates is kept in the state as `ax`."""

    _kernel = _updates.asgd
    _state_names: tuple[str, ...] = ("ax",)
    _tensor_state: tuple[Any, ...] = ("step", "eta", "mu")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.01,
        lambd: float = 0.0001,
        alpha: float = 0.75,
        t0: float = 1000000.0,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_hyperparameters(lr=lr, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _fresh_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": step_counter(param, group),
            "eta": pullback.tensor(float(scalar_of(group["lr"])), dtype=counter_dtype()),
            "mu": pullback.ones((), dtype=counter_dtype()),
            "ax": zeros_like(param),
        }

    def _plan(self, group: dict[str, Any], rows: list[Any]) -> list[tuple[Any, ...]]:
        # The rate and the weight of the average are state of each parameter, and so are the constants.
        plan: list[tuple[Any, ...]] = []
        for arrays, counter, state, _ in rows:
            step = counter.item() + 1.0
            eta, mu = array_of(state["eta"]), array_of(state["mu"])
            rate, weight = eta.item(), mu.item()
            values = (
                float(1 - group["lambd"] * rate),
                -rate,
                weight if weight != 1 else None,
                added_decay(group),
                bool(group["maximize"]),
            )
            next_rate, next_weight = _schedule(group, step, scalar_of(group["lr"]))
            plan.append((arrays, ((counter, step), (eta, next_rate), (mu, next_weight)), values, {}))
        return plan

    def _trace(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float) -> Tensor:
        param, grad = decayed(param, grad, group)
        rate, weight = state["eta"].item(), state["mu"].item()
        param = param * (1 - group["lambd"] * rate) - grad * rate
        state["ax"] = param if weight == 1 else state["ax"] + (param - state["ax"]) * weight
        next_rate, next_weight = _schedule(group, step, as_scalar_tensor(group["lr"]))
        state["eta"] = pullback.as_tensor(next_rate, dtype=counter_dtype()).detach()
        state["mu"] = pullback.tensor(float(next_weight), dtype=counter_dtype())
        return param


def _schedule(group: dict[str, Any], step: float, lr: Any) -> tuple[Any, float]:
    """The rate and the averaging weight of the next step."""
    return lr / (1 + group["lambd"] * lr * step) ** group["alpha"], 1 / max(1, step - group["t0"])


def asgd(
    params: Sequence[Tensor], grads: Sequence[Tensor], axs: Sequence[Tensor], mus: Sequence[Tensor],
    etas: Sequence[Tensor], state_steps: Sequence[Tensor], foreach: bool | None = None, maximize: bool = False,
    differentiable: bool = False, capturable: bool = False, has_complex: bool = False, *, lambd: float,
    lr: float | Tensor, t0: float, alpha: float, weight_decay: float
) -> None:  # fmt: skip
    """One step of ASGD on lists of tensors, which are written to."""
    functional_step(ASGD, **locals())
