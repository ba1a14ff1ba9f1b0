"""Hooks that apply to every module.

Holds: the `register_module_*` functions (public through `nn.modules.module`, which has the registries). Does not hold:
the per-module registration methods (`_module_hooks`) or what a backward hook does to the graph (`_backward_hooks`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...utils.hooks import HookDict, RemovableHandle


def home() -> Any:
    """`nn.modules.module`, where torch has the registries: programs that want them empty put others in their places."""
    from . import module

    return module


def add_hook(
    registry: HookDict,
    hook: Callable[..., Any],
    *extras: HookDict,
    prepend: bool = False,
    flags: tuple[HookDict, ...] = (),
) -> RemovableHandle:
    """Enter `hook`, and mark it in each of `flags`; the handle removes it from all of `extras` and `flags`."""
    handle = RemovableHandle(registry, extra_dict=[*extras, *flags])
    registry[handle.id] = hook
    for flag in flags:
        flag[handle.id] = True
    if prepend:
        registry.move_to_end(handle.id, last=False)
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before every module's forward."""
    return add_hook(home()._global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after every module's forward, before the module's own hooks."""
    flags = [home()._global_forward_hooks_with_kwargs] if with_kwargs else []
    flags += [home()._global_forward_hooks_always_called] if always_call else []
    return add_hook(home()._global_forward_hooks, hook, flags=tuple(flags))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` before every module's backward."""
    return add_hook(home()._global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` whenever a module's input gradients are known."""
    if home()._global_is_full_backward_hook is False:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
            "Please use only one of them."
        )
    home()._global_is_full_backward_hook = True
    return add_hook(home()._global_backward_hooks, hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Legacy form that sees the gradients of the last operation only; prefer the full hook."""
    if home()._global_is_full_backward_hook is True:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
            "Please use only one of them."
        )
    home()._global_is_full_backward_hook = False
    return add_hook(home()._global_backward_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, parameter)` on every `register_parameter`; a result replaces the parameter."""
    return add_hook(home()._global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` on every `register_buffer`; a result replaces the buffer."""
    return add_hook(home()._global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` on every `register_module`; a result replaces the submodule."""
    return add_hook(home()._global_module_registration_hooks, hook)


def run_registration_hooks(hooks: HookDict, module: Any, name: str, value: Any) -> Any:
    for hook in hooks.values():
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value
