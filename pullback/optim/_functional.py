"""Optimizers as functions of lists of tensors (`torch.optim.adam.adam(params, grads, ...)`), and what they share.

Each is defined beside its class; here `functional_step` runs a class's step on given gradients and state. All write
to their arguments in place, as torch's do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pullback

from ..core.basics.interrupts import uninterrupted
from ..core.basics.on_demand import names_on_demand
from ..core.tensor import Tensor
from ._checks import check_fused
from ._stepper import ArrayOptimizer

NAMES = ("adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd")


# What torch's functions call their lists of state, and what an optimizer's state calls it.
_STATE = {
    "acc_deltas": "acc_delta", "axs": "ax", "etas": "eta", "exp_avg_sqs": "exp_avg_sq", "exp_avgs": "exp_avg",
    "exp_infs": "exp_inf", "grad_avgs": "grad_avg", "max_exp_avg_sqs": "max_exp_avg_sq",
    "momentum_buffer_list": "momentum_buffer", "mu_products": "mu_product", "mus": "mu", "prevs": "prev",
    "square_avgs": "square_avg", "state_steps": "step", "state_sums": "sum", "step_sizes": "step_size",
}  # fmt: skip
# Options that come as two arguments.
_PAIRS = {
    "betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max"),
}  # fmt: skip


def functional_step(
    optimizer: type[ArrayOptimizer], params: Sequence[Tensor], grads: Sequence[Tensor], *,
    grad_scale: Tensor | None = None, found_inf: Tensor | None = None, first: Sequence[bool] | None = None,
    **given: Any,
) -> None:  # fmt: skip
    """One step of an optimizer's class; `given` has lists of state, one entry for each parameter, and options.

    `grad_scale` and `found_inf` are a gradient scaler's: gradients are divided by one, and the other, if it is not 0,
    says that there is to be no step. `first` says which parameters have no state yet, where that matters.
    """
    differentiable = given.get("differentiable", False)
    check_fused(given.get("fused"), given["foreach"], differentiable)
    lists = {name: given.pop(theirs) for theirs, name in _STATE.items() if theirs in given}
    for name, parts in _PAIRS.items():
        if parts[0] in given:
            given[name] = tuple(given.pop(part) for part in parts)
    if not all(isinstance(step, pullback.Tensor) for step in lists.get("step", ())):
        raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")
    if found_inf is not None and found_inf.item():
        return
    if grad_scale is not None:
        grads = [grad.div_(grad_scale) for grad in grads]
    group = {**given, "params": list(params)}
    stepper = optimizer.__new__(optimizer)  # a step is a matter of the group and the state alone
    names = stepper._buffers(group)
    used = {*names, *optimizer._tensor_state}
    states = [{name: lists[name][index] for name in lists if name in used} for index in range(len(params))]
    news = first or [False] * len(states)
    if differentiable:
        after = [dict(state) for state in states]
        found = [stepper._new_value(*entry[:3], group, entry[3]) for entry in zip(params, grads, after, news)]
        with uninterrupted():
            for param, value, state, new_state in zip(params, found, states, after):
                param.copy_(value)
                for name, kept in new_state.items():
                    if kept is not state[name]:
                        state[name].copy_(kept)
        return
    written: list[Tensor] = []
    rows = [
        (stepper._row(param, grad, state, names, written), stepper._counter(param, state, group), state, is_new)
        for param, grad, state, is_new in zip(params, grads, states, news)
    ]
    stepper._commit([stepper._plan(group, rows)], written, [])


names_on_demand(__name__, names={f"pullback.optim.{name}": name for name in NAMES})
