"""Automatic differentiation: `backward`, `grad`, grad modes, custom functions, hooks, and tools around them.

The tape (`tape.py`, `node.py`, `op.py`), the engine (`engine.py`) and in-place writes (`writes.py`) are internal; what
torch calls `torch.autograd` is exported here. Submodules that few programs need are imported when asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import tape as _tape  # first: it ties Tensor, views and operations together
from ..core.basics.on_demand import names_on_demand
from ..core.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled
from ..core.mode import is_grad_enabled, is_inference_mode_enabled
from ..core.roots import backward, grad
from .anomaly_mode import detect_anomaly, is_anomaly_check_nan_enabled, is_anomaly_enabled, set_detect_anomaly

if TYPE_CHECKING:
    from ..transforms.safe_mode import is_safe_gradients_enabled as is_safe_gradients_enabled
    from ..transforms.safe_mode import safe_gradients as safe_gradients
    from ..transforms.safe_mode import set_safe_gradients as set_safe_gradients
    from . import forward_ad as forward_ad
    from . import functional as functional
    from . import graph as graph
    from . import profiler as profiler
    from .function import Function as Function
    from .gradcheck import gradcheck as gradcheck
    from .gradcheck import gradgradcheck as gradgradcheck
    from .variable import Variable as Variable

__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "functional", "grad",
    "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_anomaly_check_nan_enabled", "is_anomaly_enabled",
    "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "profiler", "safe_gradients", "set_detect_anomaly",
    "set_grad_enabled", "set_multithreading_enabled", "set_safe_gradients",
]  # fmt: skip

names_on_demand(
    __name__,
    modules="_functions anomaly_mode forward_ad function functional grad_mode graph profiler profiler_util variable".split(),
    names={
        ".function": "Function InplaceFunction NestedIOFunction",
        "..core.grad_mode": "_force_original_view_tracking _unsafe_preserve_version_counter enforce_grad_layout_policy "
        "is_multithreading_enabled is_view_replay_enabled",
        ".gradcheck": "GradcheckError gradcheck gradgradcheck",  # the function hides its module, as in torch
        ".profiler": "_profiler_enabled kineto_available",
        "..core.roots": "_calculate_shape",
        "..transforms.safe_mode": "is_safe_gradients_enabled safe_gradients set_safe_gradients",
        ".variable": "Variable _is_checkpoint_valid",
        "..core.saved": "SavedTensor:RawSaved",
    },
)
