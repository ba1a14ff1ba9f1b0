"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.tensor import Tensor
from . import _updates
from ._arrays import array_of, as_scalar_tensor, counter_dtype, scalar_of
from ._checks import check_hyperparameters
from ._decay import added_decay, decay_factor, decayed
from ._functional import functional_step
from ._stepper import ArrayOptimizer, step_counter, zeros_like
from .optimizer import ParamsT


class NAdam(ArrayOptimizer):
    """Adam whose first average looks one step ahead.

    The arguments are those of `Adam`; `momentum_decay` is how fast the momentum reaches betas[0]. With
    `decoupled_weight_decay`, weights decay as in `AdamW`.
    """

    _kernel = _updates.nadam
    _state_names: tuple[str, ...] = ("exp_avg", "exp_avg_sq")
    _tensor_state: tuple[Any, ...] = ("step", "mu_product")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 0.002,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
        momentum_decay: float = 0.004,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_hyperparameters(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _fresh_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": step_counter(param, group),
            "mu_product": pullback.ones((), dtype=counter_dtype()),
            "exp_avg": zeros_like(param),
            "exp_avg_sq": zeros_like(param),
        }

    def _plan(self, group: dict[str, Any], rows: list[Any]) -> list[tuple[Any, ...]]:
        # The product of momenta is state of its own, so constants are made for each parameter.
        plan: list[tuple[Any, ...]] = []
        for arrays, counter, state, _ in rows:
            step = counter.item() + 1.0
            product = array_of(state["mu_product"])
            mu, mu_next = _momenta(group, step)
            updated = product.dtype.type(product[()] * mu)
            values = self._nadam_constants(group, step, mu, mu_next, float(updated))
            plan.append((arrays, ((counter, step), (product, updated)), values, {}))
        return plan

    def _nadam_constants(
        self, group: dict[str, Any], step: float, mu: float, mu_next: float, product: float
    ) -> tuple[Any, ...]:
        beta1, beta2 = (scalar_of(beta) for beta in group["betas"])
        lr = scalar_of(group["lr"])
        root = (1 - beta2**step) ** 0.5
        return (
            *_updates.lerp_weight(1 - beta1),
            float(beta2),
            float(1 - beta2),
            float(group["eps"] * root),
            float(-lr * (1.0 - mu) / (1.0 - product)) * root,
            float(-lr * mu_next / (1.0 - product * mu_next)) * root,
            added_decay(group),
            decay_factor(group),
            bool(group["maximize"]),
        )

    def _trace(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float) -> Tensor:
        beta1, beta2 = group["betas"]
        lr = as_scalar_tensor(group["lr"])
        param, grad = decayed(param, grad, group)
        mu, mu_next = _momenta(group, step)
        product = state["mu_product"] = state["mu_product"] * mu
        mean = state["exp_avg"] = state["exp_avg"] + (grad - state["exp_avg"]) * (1 - beta1)
        square = state["exp_avg_sq"] = state["exp_avg_sq"] * beta2 + grad * grad * (1 - beta2)
        denominator = (square / (1 - beta2**step)).sqrt() + group["eps"]
        ahead = grad * (lr * (1.0 - mu) / (1.0 - product)) + mean * (lr * mu_next / (1.0 - product * mu_next))
        return param - ahead / denominator


def _momenta(group: dict[str, Any], step: float) -> tuple[float, float]:
    """Nesterov's momentum at this step and at the next one."""
    beta1, decay = scalar_of(group["betas"][0]), group["momentum_decay"]
    return (
        float(beta1 * (1.0 - 0.5 * 0.96 ** (step * decay))),
        float(beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * decay))),
    )


def nadam(
    params: Sequence[Tensor], grads: Sequence[Tensor], exp_avgs: Sequence[Tensor], exp_avg_sqs: Sequence[Tensor],
    mu_products: Sequence[Tensor], state_steps: Sequence[Tensor], decoupled_weight_decay: bool = False,
    foreach: bool | None = None, capturable: bool = False, differentiable: bool = False, has_complex: bool = False,
    maximize: bool = False, *, beta1: float, beta2: float, lr: float | Tensor, weight_decay: float,
    momentum_decay: float, eps: float
) -> None:  # fmt: skip
    """One step of NAdam on lists of tensors, which are written to."""
    functional_step(NAdam, **locals())
