"""State dicts of a model and its optimizers that name every parameter, whatever wraps the model.

In one process nothing is sharded: a model's is its own state dict without the names of wrappers (`_orig_mod`), an
optimizer's has names where `Optimizer.state_dict` has numbers. Options about other processes change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ...core.tensor import Tensor
from ...nn.modules.module import Module
from ...optim.optimizer import Optimizer

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip

_WRAPPERS = ("_orig_mod.",)


@dataclass
class StateDictOptions:
    """Options of the functions here: the contents of state dicts, and how strictly they are loaded."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def get_model_state_dict(
    model: Module, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model, or of some of its modules."""
    options = _checked(options)
    frozen = [parameter for parameter in model.parameters() if options.ignore_frozen_params and not _trains(parameter)]
    left_out = {id(parameter) for parameter in frozen}
    state = model.state_dict()
    for name, value in model.state_dict(keep_vars=True).items():
        if id(value) in left_out:
            del state[name]
    result = state if submodules is None else type(state)()
    for name, module in model.named_modules():
        if submodules and module in submodules:
            prefix = f"{name}." if name else ""
            start = 0 if options.keep_submodule_prefixes else len(prefix)
            result.update((key[start:], state[key]) for key in state if key.startswith(prefix))
    for name in list(result):
        if _plain(name) != name:
            result[_plain(name)] = result.pop(name)
    return result


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Load what `get_model_state_dict` gave; the result is that of `load_state_dict`."""
    names = {_plain(name): name for name in model.state_dict()}
    state = {names.get(name, name): value for name, value in model_state_dict.items()}
    return model.load_state_dict(state, strict=_checked(options).strict)


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The states and settings of optimizers; parameters are named. States that do not exist yet are made first."""
    options = _checked(options)
    names = _names(model)
    if submodules is not None:
        chosen = {id(parameter) for module in submodules for parameter in module.parameters()}
        names = {key: name for key, name in names.items() if key in chosen}
    states: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _each(optimizers):
        _begin(optimizer)
        for group in optimizer.param_groups:
            kept = [parameter for parameter in group["params"] if submodules is None or id(parameter) in names]
            states.update({names[id(each)]: optimizer.state[each] for each in kept if each in optimizer.state})
            settings = {key: value for key, value in group.items() if key != "params"}
            groups.append({**settings, "params": [names[id(parameter)] for parameter in kept]})
    if options.flatten_optimizer_state_dict:
        return _flat(states, groups)
    return {"state": states, "param_groups": groups}


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load what `get_optimizer_state_dict` gave into optimizers of the same parameters, however they are grouped."""
    names = _names(model)
    for optimizer in _each(optimizers):
        _begin(optimizer)
        own = {name: optimizer.state.get(each, {}) for each, name in _named(optimizer, names)}
        states, settings = _found(own, optimizer.param_groups, names, optim_state_dict, _checked(options))
        loaded = optimizer.state_dict()
        for group, saved in zip(loaded["param_groups"], settings):
            group.update(saved)
        numbers = [number for group in loaded["param_groups"] for number in group["params"]]
        loaded["state"] = {number: states[name] for number, name in zip(numbers, own) if name in states}
        optimizer.load_state_dict(loaded)


def get_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizers."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Load both; the result is that of the model's `load_state_dict`."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


def _checked(options: StateDictOptions | None) -> StateDictOptions:
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


def _plain(name: str) -> str:
    """A parameter's name without the modules that wrap others."""
    for wrapper in _WRAPPERS:
        name = name.replace(wrapper, "")
    return name


def _names(model: Module) -> dict[int, str]:
    return {id(parameter): _plain(name) for name, parameter in model.named_parameters()}


def _trains(parameter: Tensor) -> bool:
    return parameter.requires_grad


def _each(optimizers: Optimizer | Iterable[Optimizer]) -> tuple[Optimizer, ...]:
    return (optimizers,) if isinstance(optimizers, Optimizer) else tuple(optimizers)


def _named(optimizer: Optimizer, names: dict[int, str]) -> Iterator[tuple[Tensor, str]]:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            yield parameter, names[id(parameter)]


def _begin(optimizer: Optimizer) -> None:
    """Make the states that an optimizer makes in its first step, by a step of no length; not between two passes."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if optimizer.state or any(parameter.grad is not None for parameter in parameters):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    try:
        for parameter in filter(_trains, parameters):
            parameter.grad = parameter.detach().new_zeros(parameter.shape)
        for group in optimizer.param_groups:
            if "lr" in group:
                group["lr"] = group["lr"] * 0
        optimizer.step(closure=None)
    finally:
        for group, rate in zip(optimizer.param_groups, rates):
            if "lr" in group:
                group["lr"] = rate
        optimizer.zero_grad(set_to_none=True)


def _flat(states: dict[str, Any], groups: list[dict[str, Any]]) -> dict[str, Any]:
    """One key for each value: `state.<parameter>.<name>` and `param_groups.<parameter>.<setting>`."""
    result = {f"state.{name}.{key}": value for name, state in states.items() for key, value in state.items()}
    for group in groups:
        settings = [(key, value) for key, value in group.items() if key != "params"]
        result.update({f"param_groups.{name}.{key}": value for name in group["params"] for key, value in settings})
    return result


def _found(
    own: dict[str, Any], groups: list[dict[str, Any]], names: dict[int, str], saved: dict[str, Any],
    options: StateDictOptions,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:  # fmt: skip
    """The states of an optimizer's parameters, and the settings of its groups, in a state dict of either form."""
    first = [names[id(group["params"][0])] if group["params"] else None for group in groups]
    if not options.flatten_optimizer_state_dict:
        by_name = {name: group for group in saved.get("param_groups", ()) for name in group["params"]}
        settings = [{key: by_name.get(name, {}).get(key, value) for key, value in group.items() if key != "params"}
                    for name, group in zip(first, groups)]  # fmt: skip
        return dict(saved.get("state", {})), settings
    states: dict[str, Any] = {}
    for name, state in own.items():
        present = {key: saved[f"state.{name}.{key}"] for key in state if f"state.{name}.{key}" in saved}
        if present:
            states[name] = present
    return states, [
        {key: saved.get(f"param_groups.{name}.{key}", value) for key, value in group.items() if key != "params"}
        for name, group in zip(first, groups)
    ]
