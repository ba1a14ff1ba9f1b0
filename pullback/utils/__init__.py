"""Helpers around tensors: `utils.data` loads data, `utils.hooks` has the handles of hooks.

Nothing is imported here beforehand; submodules load when they are imported or first used.
"""

from __future__ import annotations

from typing import Any

_submodules = (
    "_pytree", "benchmark", "checkpoint", "collect_env", "cpp_extension", "data", "dlpack", "hooks", "model_zoo",
    "tensorboard",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _submodules:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    if name == "swap_tensors":
        from .swapping import swap_tensors

        return swap_tensors
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
