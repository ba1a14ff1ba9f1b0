"""Helpers around tensors: `utils.data` loads data, `utils.hooks` has the handles of hooks.

Nothing is imported here beforehand; submodules load when they are imported or first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.basics.on_demand import names_on_demand

if TYPE_CHECKING:
    from . import _pytree as _pytree
    from . import benchmark as benchmark
    from . import checkpoint as checkpoint
    from . import data as data
    from . import deterministic as deterministic
    from . import dlpack as dlpack
    from . import hooks as hooks
    from . import tensorboard as tensorboard
    from .swapping import swap_tensors as swap_tensors

_submodules = (
    "_pytree", "benchmark", "checkpoint", "collect_env", "cpp_extension", "data", "deterministic", "dlpack", "hooks",
    "model_zoo", "tensorboard",
)  # fmt: skip

names_on_demand(__name__, modules=_submodules, names={".swapping": "swap_tensors"})
