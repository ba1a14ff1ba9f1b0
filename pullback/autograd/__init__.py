"""Automatic differentiation: `backward`, `grad`, grad modes, custom functions, hooks, and tools around them.

The tape (`tape.py`, `node.py`, `op.py`), the engine (`engine.py`) and in-place writes (`views.py`) are internal; what
torch calls `torch.autograd` is exported here. Submodules that few programs need are imported when asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import tape as _tape  # first: it ties Tensor, views and operations together
from .anomaly_mode import detect_anomaly, is_anomaly_check_nan_enabled, is_anomaly_enabled, set_detect_anomaly
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled
from .mode import is_grad_enabled, is_inference_mode_enabled
from .roots import backward, grad

if TYPE_CHECKING:
    from . import forward_ad as forward_ad
    from . import functional as functional
    from . import graph as graph
    from . import profiler as profiler
    from .function import Function as Function
    from .gradcheck import gradcheck as gradcheck
    from .gradcheck import gradgradcheck as gradgradcheck
    from .safe_mode import is_safe_gradients_enabled as is_safe_gradients_enabled
    from .safe_mode import safe_gradients as safe_gradients
    from .safe_mode import set_safe_gradients as set_safe_gradients
    from .variable import Variable as Variable

__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "functional", "grad",
    "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_anomaly_check_nan_enabled", "is_anomaly_enabled",
    "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "profiler", "safe_gradients", "set_detect_anomaly",
    "set_grad_enabled", "set_multithreading_enabled", "set_safe_gradients",
]  # fmt: skip

_LAZY = {
    "Function": "function", "Variable": "variable", "NestedIOFunction": "function", "InplaceFunction": "function",
    "gradgradcheck": "gradcheck", "GradcheckError": "gradcheck", "is_multithreading_enabled": "grad_mode",
    "is_view_replay_enabled": "grad_mode", "enforce_grad_layout_policy": "grad_mode",
    "_force_original_view_tracking": "grad_mode",
    "_unsafe_preserve_version_counter": "grad_mode", "_calculate_shape": "roots", "kineto_available": "profiler",
    "_profiler_enabled": "profiler", "safe_gradients": "safe_mode", "set_safe_gradients": "safe_mode",
    "is_safe_gradients_enabled": "safe_mode", "_is_checkpoint_valid": "variable",
}  # fmt: skip
_SUBMODULES = frozenset(
    {
        "forward_ad", "function", "functional", "gradcheck", "graph", "profiler", "anomaly_mode", "grad_mode", "_functions",
        "profiler_util", "variable",
    }
)  # fmt: skip


def __getattr__(name: str) -> Any:
    import importlib

    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    if name in _SUBMODULES:
        module = importlib.import_module(f"{__name__}.{name}")
        # torch.autograd.gradcheck is the function that shadows its module
        return module.gradcheck if name == "gradcheck" else module
    if name == "SavedTensor":
        from .saved import RawSaved

        return RawSaved
    raise AttributeError(f"module 'torch.autograd' has no attribute {name!r}")
