"""`swap_in_optimizer_params_and_state`: let an optimizer work on other tensors for a while."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..core.tensor import Tensor
    from .optimizer import Optimizer

_NAME = "swap_in_optimizer_params_and_state"


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Inside, `optimizer` has these parameters (in its own order) and this state, which is shaped like a `state_dict()`.

    Tensors of the given state are written to by steps; everything else about the optimizer is as before at the end.
    """
    groups = _checked_groups(optimizer, swapin_parameters, swapin_optim_state)
    state, before = optimizer.state, [dict(group) for group in optimizer.param_groups]
    unused = iter(swapin_parameters.values())
    swapped: defaultdict[Any, Any] = defaultdict(dict)
    try:
        for live, given in zip(optimizer.param_groups, groups):
            params = [next(unused) for _ in given["params"]]
            live.update({**given, "params": params})
            for param, number in zip(params, given["params"]):
                swapped[param] = dict(swapin_optim_state["state"].get(number, {}))
        optimizer.state = swapped
        yield
    finally:
        for live, group in zip(optimizer.param_groups, before):
            live.clear()
            live.update(group)
        optimizer.state = state


def _checked_groups(optimizer: Optimizer, parameters: dict[str, Tensor], given: dict[str, Any]) -> list[dict[str, Any]]:
    """The parameter groups of a state that fits the optimizer."""
    state, groups = given.get("state"), given.get("param_groups")
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of param-group dicts, got "
            f"{type(groups).__name__}."
        )
    if not isinstance(state, dict):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param state "
            f"dicts, got {type(state).__name__}."
        )
    if not any(optimizer.state.values()):
        raise RuntimeError(f"{_NAME} requires initialized optimizer state. Run optimizer.step() once before.")
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    for index, (live, group) in enumerate(zip(optimizer.param_groups, groups)):
        if len(live["params"]) != len(group["params"]):
            raise RuntimeError(
                f"swapin_optim_state param group {index} has a different number of params than the live optimizer "
                "param group."
            )
    numbers = {number for group in groups for number in group["params"]}
    extra = [number for number in state if number not in numbers]
    if extra:
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {extra}."
        )
    if len(parameters) < sum(len(group["params"]) for group in groups):
        raise RuntimeError(
            f"{_NAME} requires the explicit parameter state to match optimizer.param_groups ordering. There are fewer "
            "parameters than the optimizer has."
        )
    return groups
