"""`torch._vmap_internals`: the first form of `vmap`, which older packages import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .func import vmap


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Any:
    """`torch.vmap`."""
    return vmap(func, in_dims, out_dims)
