"""Calling a module with other tensors in place of its parameters and buffers."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pullback

from ...core.basics.notices import warn_user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...core.tensor import Tensor
    from ..modules.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Deprecated place of `func.functional_call`."""
    warn_user(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


@contextlib.contextmanager
def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Tensor], tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """Within the context the module has these tensors; afterwards its own again, whatever happened.

    A buffer that the call replaced (rather than changed in place) is handed back in `parameters_and_buffers`.
    """
    given = _with_tied_names(module, parameters_and_buffers) if tie_weights else parameters_and_buffers
    if strict:
        _check_keys(module, given)
    places = {name: _place_of(module, name, tensor) for name, tensor in given.items()}
    own = {name: registry[key] for name, (registry, key) in places.items() if key in registry}
    try:
        for name, (registry, key) in places.items():
            registry[key] = given[name]
        yield
    finally:
        for name, (registry, key) in places.items():
            if name in parameters_and_buffers and key in registry:
                parameters_and_buffers[name] = registry[key]
            if name in own:
                registry[key] = own[name]
            else:
                registry.pop(key, None)


def _place_of(module: Module, name: str, tensor: Any) -> tuple[dict[str, Any], str]:
    """The dictionary and key that hold the tensor of this dotted name, or may hold it while the call lasts."""
    owner_name, _, key = name.rpartition(".")
    if not key:
        raise KeyError('tensor name can\'t be empty string ""')
    owner: Any = module
    for part in owner_name.split(".") if owner_name else ():
        if not hasattr(owner, part):
            raise AttributeError(f"{owner._get_name()} has no attribute `{part}`")
        owner = getattr(owner, part)
        if not isinstance(owner, pullback.nn.Module):
            raise TypeError(f"submodule `{owner_name}`: {owner} is not an instance of torch.nn.Module")
    registry = next((each for each in (owner._parameters, owner._buffers) if key in each), None)
    if registry is None and (held := getattr(owner, key, None)) is not None and not isinstance(held, pullback.Tensor):
        raise TypeError(f"attribute `{name}`: {held} is not an instance of torch.Tensor")
    if tensor is not None and not isinstance(tensor, pullback.Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if registry is None:  # a name that the module does not have
        registry = owner._parameters if isinstance(tensor, pullback.nn.Parameter) else owner.__dict__
    return registry, key


def _all_tensors(module: Module) -> dict[str, Tensor]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _check_keys(module: Module, given: dict[str, Tensor]) -> None:
    expected = _all_tensors(module).keys()
    problems = []
    for kind, names in (("Unexpected", sorted(given.keys() - expected)), ("Missing", sorted(expected - given.keys()))):
        if names:
            problems.append(f"{kind} key(s): {', '.join(map(repr, names))}.")
    if problems:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(problems))


def _with_tied_names(module: Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """`given` with every other name of a tensor that the module has under several names."""
    names_of: dict[int, list[str]] = {}
    for name, tensor in _all_tensors(module).items():
        names_of.setdefault(id(tensor), []).append(name)
    result = dict(given)
    for names in names_of.values():
        values = {id(given[name]): given[name] for name in names if name in given}
        if len(values) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. "
                "Consider using tie_weights=False"
            )
        for value in values.values():
            result.update(dict.fromkeys(names, value))
    return result
