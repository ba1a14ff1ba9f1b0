"""`torch.compile` and `torch.compiler`: accepted, and without effect. Programs run as they are written.

There is no graph capture: `compile` returns the function it was given, or a module around the one it was given, so
results are those of the plain program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compile(
    model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: Any = "inductor",
    mode: str | None = None, options: dict[str, Any] | None = None, disable: bool = False, **others: Any,
) -> Any:  # fmt: skip
    """The function itself, or the module as `_orig_mod` of another, as in torch, whose checkpoints of compiled models
    have that in their keys. All of torch's arguments are accepted; also a decorator.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return lambda wrapped: compile(wrapped, disable=disable)
    if not callable(model):
        raise TypeError(f"torch.compile expects a function or a module, not {type(model).__name__}")
    from pullback.nn.modules.module import Module

    from ._dynamo import OptimizedModule

    is_plain_module = isinstance(model, Module) and not isinstance(model, OptimizedModule)
    return OptimizedModule(model) if is_plain_module and not disable else model


def is_compiling() -> bool:
    """False: no program is ever being captured."""
    return False


is_exporting: Callable[..., bool]
is_dynamo_compiling = is_exporting = is_compiling


def _decorator(fn: Callable | None = None, *args: Any, **kwargs: Any) -> Any:
    """Returns the function unchanged; usable with and without arguments."""
    return fn if callable(fn) else lambda wrapped: wrapped


allow_in_graph: Callable[..., Any]
nonstrict_trace: Callable[..., Any]
assume_constant_result: Callable[..., Any]
substitute_in_graph: Callable[..., Any]
disable = allow_in_graph = nonstrict_trace = assume_constant_result = substitute_in_graph = _disable_dynamo = _decorator


def reset() -> None:
    """There are no compiled programs to forget."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names of compilers: none."""
    return []


def cudagraph_mark_warmup_incomplete() -> None:
    """Accepted: nothing is recorded."""


class PrecompileError(RuntimeError):
    """A program could not be compiled ahead of time."""


def precompile(*args: Any, **kwargs: Any) -> Any:
    """Refuses: there is no compiler whose result could be kept."""
    raise PrecompileError("torch.compiler.precompile: nothing is compiled here. Call the function itself.")


def cudagraph_mark_step_begin() -> None:
    """Accepted: nothing is recorded."""


class set_stance:
    """Accepted: programs always run as they are written."""

    def __init__(self, stance: str = "default", **others: Any) -> None:
        self.stance: str = stance

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        return None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function
