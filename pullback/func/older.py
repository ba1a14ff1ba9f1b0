"""The package `functorch`, as programs older than `torch.func` import it: each call says what has replaced it.

`make_functional` splits a module into a function and its parameters; `combine_state_for_ensemble` stacks those of several
modules. The transforms themselves are those of `torch.func`.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import Any

from .. import func
from ..core.basics.notices import warn_user
from ..core.basics.on_demand import names_on_demand
from ..core.basics.types import Function
from ..functional.registry import FUNCTIONS
from ..nn import Module
from .batching import chunk_vmap
from .batching import vmap as current_vmap
from .modules import functional_call, replace_all_batch_norm_modules_

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "chunk_vmap", "combine_state_for_ensemble", "functionalize", "grad",
    "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers",
    "replace_all_batch_norm_modules_", "vjp", "vmap",
]  # fmt: skip


def _placeholder(name: str) -> Any:
    """Functorch had more, which may be imported."""
    from ..shell.torch_names.placeholders import placeholder

    return None if name.startswith("_") else placeholder(f"torch._functorch.{name}")


names_on_demand(__name__, made=_placeholder)


def _warn(name: str, successor: str) -> None:
    warn_user(
        f"We've integrated functorch into PyTorch: `functorch.{name}` is deprecated. Please use `{successor}` instead.",
        FutureWarning,
    )


def _older(name: str, successor: str) -> Function:
    current = getattr(func, name)

    @functools.wraps(current)
    def called(*args: Any, **kwargs: Any) -> Any:
        _warn(name, successor)
        return current(*args, **kwargs)

    return called


vmap: Function = _older("vmap", "torch.vmap")
grad: Function = _older("grad", "torch.func.grad")
grad_and_value: Function = _older("grad_and_value", "torch.func.grad_and_value")
vjp: Function = _older("vjp", "torch.func.vjp")
jvp: Function = _older("jvp", "torch.func.jvp")
jacrev: Function = _older("jacrev", "torch.func.jacrev")
jacfwd: Function = _older("jacfwd", "torch.func.jacfwd")
hessian: Function = _older("hessian", "torch.func.hessian")
functionalize: Function = _older("functionalize", "torch.func.functionalize")


def _vmap(func: Function, in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Any:
    """`torch._vmap_internals._vmap`, the first form of all."""
    return current_vmap(func, in_dims, out_dims)


class FunctionalModuleWithBuffers(Module):
    """A module as a function of its parameters, its buffers and its arguments."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...], buffer_names: tuple[str, ...]) -> None:
        super().__init__()
        self.stateless_model: Any = stateless_model
        self.param_names, self.buffer_names = param_names, buffer_names

    def forward(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """Call the module with these parameters and buffers."""
        names = (*self.param_names, *self.buffer_names)
        return functional_call(self.stateless_model, dict(zip(names, (*params, *buffers), strict=True)), args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module as a function of its parameters and its arguments."""

    def forward(self, params: Any, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """Call the module with these parameters."""
        return super().forward(params, (), *args, **kwargs)


def _split(model: Module, kind: type, constant: bool) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """A copy of a module as a function, the copy's parameters, and its buffers."""
    model = copy.deepcopy(model)
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    if constant:
        for param in params.values():
            param.requires_grad_(False)
    return kind(model, tuple(params), tuple(buffers)), tuple(params.values()), tuple(buffers.values())


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Any, ...]]:
    """(function, parameters) of a module without buffers: `function(parameters, *args)`."""
    _warn("make_functional", "torch.func.functional_call")
    if any(True for _ in model.buffers()):
        raise ValueError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    function, params, _ = _split(model, FunctionalModule, disable_autograd_tracking)
    return function, params


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """(function, parameters, buffers) of a module: `function(parameters, buffers, *args)`."""
    _warn("make_functional_with_buffers", "torch.func.functional_call")
    return _split(model, FunctionalModuleWithBuffers, disable_autograd_tracking)


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """(function, parameters, buffers) of several modules of one kind: those of all of them, stacked."""
    _warn("combine_state_for_ensemble", "torch.func.stack_module_state")
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, params, buffers = zip(
        *(_split(model, FunctionalModuleWithBuffers, True) for model in models), strict=True
    )
    stacked = [
        tuple(FUNCTIONS["stack"](list(parts)) for parts in zip(*state, strict=True)) for state in (params, buffers)
    ]
    return functions[0], stacked[0], stacked[1]
