"""`skip_init`: a module whose parameters are left uninitialised."""

from __future__ import annotations

from typing import Any

import pullback

__all__ = ["skip_init"]


def skip_init(module_cls: type[Any], *args: Any, **kwargs: Any) -> Any:
    """Construct a module without drawing random numbers for its parameters, whose values are then arbitrary."""
    import inspect

    from ..modules.module import Module

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    # What matters to a program is that the random stream stands where it stood.
    state = pullback.get_rng_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        pullback.set_rng_state(state)
