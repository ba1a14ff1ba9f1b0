"""`torch.jit`: scripting and tracing return the program itself, after one warning. Saving scripted programs is refused.

What TorchScript promises about results (the same numbers) holds trivially; what it promises about deployment does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

from pullback.core.basics.notices import warn_user
from pullback.nn.modules.module import Module

T = TypeVar("T")

__all__ = [
    "Attribute", "Error", "Final", "ScriptFunction", "ScriptModule", "annotate", "export", "fork", "freeze", "ignore",
    "interface", "is_scripting", "is_tracing", "isinstance", "load", "onednn_fusion_enabled", "optimize_for_inference",
    "optimized_execution", "save", "script", "script_method", "trace", "trace_module", "unused", "wait",
]  # fmt: skip


class ScriptModule(Module):
    """A base class for modules with script methods, which run as they are written."""


class RecursiveScriptModule(ScriptModule):
    """The type of scripted modules in torch; no object here is of it."""


class ScriptFunction:
    """The type of scripted functions in torch; no object here is of it."""


class TracerWarning(Warning):
    """The warning that torch gives while it traces; never given here."""


class Error(RuntimeError):
    """The error that torch raises when a scripted program fails."""


_warned = False


def _say_once() -> None:
    global _warned
    if not _warned:
        _warned = True
        warn_user("torch.jit has no compiler in Pullback: script() and trace() return the function or module as it is.")


def script(obj: T, *args: Any, **kwargs: Any) -> T:
    """The function, class or module itself."""
    _say_once()
    return obj


def trace(func: T, example_inputs: Any = None, *args: Any, **kwargs: Any) -> T:
    """The function or module itself (not frozen to the example's control flow)."""
    _say_once()
    return func


def trace_module(mod: T, inputs: Any = None, *args: Any, **kwargs: Any) -> T:
    """The module itself."""
    _say_once()
    return mod


def _mark(fn: Any = None, **kwargs: Any) -> Any:
    """Returns the function unchanged; usable with and without arguments."""
    return fn if callable(fn) else lambda wrapped: wrapped


export: Callable[..., Any]
interface: Callable[..., Any]
script_method: Callable[..., Any]
unused: Callable[..., Any]
ignore = unused = export = script_method = interface = _overload = _overload_method = _script_if_tracing = _mark


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself."""
    return fn


def freeze(mod: T, preserved_attrs: Any = None, optimize_numerics: bool = True) -> T:
    """The module itself, which must be in eval mode as in torch."""
    if getattr(mod, "training", False):
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. "
            "Please call .eval() on your module before freezing."
        )
    return mod


def optimize_for_inference(mod: T, other_methods: Any = None) -> T:
    """The module itself."""
    return mod


def is_scripting() -> bool:
    """False: no scripted program ever runs here."""
    return False


def is_tracing() -> bool:
    """False: no program is ever being traced."""
    return False


def annotate(the_type: Any, the_value: T) -> T:
    """The value; the type is for TorchScript."""
    return the_value


def Attribute(value: T, type: Any = None) -> T:
    """The value; the type is for TorchScript."""
    return value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's `isinstance`, with typing's containers taken as their plain types."""
    import builtins
    from typing import get_origin

    kinds = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return builtins.isinstance(obj, tuple(get_origin(kind) or kind for kind in kinds))  # type: ignore[misc]


class _Finished:
    """The result of `fork`: computed already."""

    def __init__(self, result: Any) -> None:
        self.result: Any = result

    def wait(self) -> Any:
        return self.result

    value = wait


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls the function at once."""
    return _Finished(func(*args, **kwargs))


def wait(future: Any) -> Any:
    """The result of a fork."""
    return future.wait()


_fork, _wait = fork, wait  # as older programs call them


class optimized_execution:
    """Accepted: there is no optimizer to switch."""

    def __init__(self, should_optimize: bool = True) -> None:
        self.should_optimize: bool = should_optimize

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        return None


fuser = optimized_execution


def onednn_fusion_enabled() -> bool:
    return False


def enable_onednn_fusion(enabled: bool) -> None:
    """Accepted: there is no fusion to switch."""


def set_fusion_strategy(strategy: Any) -> list[Any]:
    """Accepted: there is no fusion to set up."""
    return []


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """TorchScript archives cannot be written."""
    raise RuntimeError(
        "torch.jit.save writes TorchScript, which Pullback does not have. Save the weights instead: "
        "torch.save(model.state_dict(), path)."
    )


def load(f: Any, map_location: Any = None, _extra_files: Any = None, **kwargs: Any) -> NoReturn:
    """TorchScript archives cannot be run."""
    raise RuntimeError(
        "torch.jit.load reads TorchScript, which Pullback does not have. Under torch, save model.state_dict() with "
        "torch.save and load it here into the module's class."
    )
