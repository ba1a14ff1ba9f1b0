"""The hook-related half of `Module`: registering hooks, and calling a module that has some.

Holds: `register_forward_hook` and relatives, and the slow path of `Module.__call__`. Modules without hooks never come
here: `Module.__call__` goes straight to `forward`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pullback

from ...core.basics.notices import warn_user
from ...utils.hooks import HookDict, RemovableHandle
from ._hooks import add_hook, home


class HookMixin:
    """Registration of every kind of hook, and the call that honours them."""

    _backward_pre_hooks: HookDict
    _backward_hooks: HookDict
    _forward_hooks: HookDict
    _forward_hooks_with_kwargs: HookDict
    _forward_hooks_always_called: HookDict
    _forward_pre_hooks: HookDict
    _forward_pre_hooks_with_kwargs: HookDict
    _state_dict_hooks: HookDict
    _state_dict_hooks_public: HookDict
    _state_dict_pre_hooks: HookDict
    _load_state_dict_pre_hooks: HookDict
    _load_state_dict_post_hooks: HookDict
    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` (or `hook(module, args, kwargs)`) before forward; a result replaces the inputs."""
        flags = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return add_hook(self._forward_pre_hooks, hook, prepend=prepend, flags=flags)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args[, kwargs], output)` after forward; a result replaces the output.

        With `always_call` the hook also runs when forward (or another hook) raised.
        """
        flags = [self._forward_hooks_with_kwargs] if with_kwargs else []
        flags += [self._forward_hooks_always_called] if always_call else []
        return add_hook(self._forward_hooks, hook, prepend=prepend, flags=tuple(flags))

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's backward; a result replaces `grad_output`."""
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when both are known; a result replaces `grad_input`."""
        if self._is_full_backward_hook is False:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."
            )
        self._is_full_backward_hook = True
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Legacy: sees the gradients of the module's last operation only. Prefer `register_full_backward_hook`."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."
            )
        self._is_full_backward_hook = False
        return add_hook(self._backward_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after the module wrote its state; returns None."""
        return add_hook(self._state_dict_hooks, hook, flags=(self._state_dict_hooks_public,))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if any(self._state_dict_hooks[identity] is hook for identity in self._state_dict_hooks_public):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the module writes its state."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return add_hook(self._load_state_dict_pre_hooks, _LoadHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may edit the key lists in place."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    def _new_hook_registries(self) -> dict[str, Any]:
        return {name: HookDict() for name in HOOK_REGISTRIES}

    def _call_with_hooks(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        call = _HookedCall(self, args, kwargs)
        try:
            return call.run()
        except Exception:
            call.run_always_called()
            raise


HOOK_REGISTRIES: tuple[Any, ...] = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks",
    "_state_dict_hooks_public", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip


class _LoadHook:
    """A load_state_dict pre-hook, with its module in front when the public API registered it.

    A class rather than a closure so that a copied or unpickled module's hook refers to the copy. The module is referred
    to weakly: it has the hook, and would otherwise have to wait for the garbage collector.
    """

    def __init__(self, hook: Callable[..., Any], module: Any) -> None:
        self.hook: Callable[..., Any] = hook
        self.module: Any = None if module is None else weakref.ref(module)

    def __call__(self, *args: Any) -> Any:
        return self.hook(*args) if self.module is None else self.hook(self.module(), *args)

    def __getstate__(self) -> tuple[Any, Any]:
        return self.hook, None if self.module is None else self.module()

    def __setstate__(self, state: tuple[Any, Any]) -> None:
        self.__init__(*state)  # type: ignore[misc]


class _HookedCall:
    """One call of one module that has hooks."""

    def __init__(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module: Any = module
        self.home: Any = home()
        self.args: tuple[Any, ...] = args
        self.kwargs: dict[str, Any] = kwargs
        self.result: Any = None
        self.done: set[int] = set()

    def run(self) -> Any:
        module = self.module
        self._run_pre_hooks()
        full, legacy = self._backward_hooks()
        pre_hooks = [*self.home._global_backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
        probe = None
        if full or pre_hooks:
            from ._backward_hooks import BackwardProbe

            probe = BackwardProbe(module, full, pre_hooks)
            self.args = probe.tap_inputs(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for identity, hook in self._forward_hooks():
            self.done.add(identity)
            self._run_forward_hook(identity, hook)
        if probe is not None:
            if not isinstance(self.result, (pullback.Tensor, tuple)):
                warn_user(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of "
                    f"Tensors but received {type(self.result)}"
                )
            self.result = probe.tap_outputs(self.result)
        if legacy:
            from ._backward_hooks import register_legacy_hooks

            register_legacy_hooks(module, legacy, self.args, self.result)
        return self.result

    def run_always_called(self) -> None:
        """After a failure: the hooks that asked to run anyway. Their own failures only warn."""
        module = self.module
        always = self.home._global_forward_hooks_always_called.keys() | module._forward_hooks_always_called.keys()
        for identity, hook in self._forward_hooks():
            if identity not in always or identity in self.done:
                continue
            try:
                self._run_forward_hook(identity, hook)
            except Exception as error:
                kind = "global module" if identity in self.home._global_forward_hooks else "module"
                warn_user(
                    f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced "
                    f"as another error was raised in forward: {error}"
                )

    def _run_pre_hooks(self) -> None:
        module = self.module
        for identity, hook in (*self.home._global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
            if identity in module._forward_pre_hooks_with_kwargs:
                changed = hook(module, self.args, self.kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                self.args, self.kwargs = changed
            else:
                changed = hook(module, self.args)
                if changed is not None:
                    self.args = changed if isinstance(changed, tuple) else (changed,)

    def _forward_hooks(self) -> list[tuple[int, Callable[..., Any]]]:
        return [*self.home._global_forward_hooks.items(), *self.module._forward_hooks.items()]

    def _run_forward_hook(self, identity: int, hook: Callable[..., Any]) -> None:
        module = self.module
        if identity in module._forward_hooks_with_kwargs or identity in self.home._global_forward_hooks_with_kwargs:
            changed = hook(module, self.args, self.kwargs, self.result)
        else:
            changed = hook(module, self.args, self.result)
        if changed is not None:
            self.result = changed

    def _backward_hooks(self) -> tuple[list, list]:
        full: list = []
        legacy: list = []
        module = self.module
        for hooks, is_full in (
            (self.home._global_backward_hooks, self.home._global_is_full_backward_hook),
            (module._backward_hooks, module._is_full_backward_hook),
        ):
            (full if is_full else legacy).extend(hooks.values())
        return full, legacy
