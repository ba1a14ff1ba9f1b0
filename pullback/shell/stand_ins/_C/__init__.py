"""Names that torch keeps in its compiled core and that programs about graphs use: passes, nodes, versions.

Only what has a meaning here. Everything in this package is defined elsewhere, under a name that says what it is.
"""

from __future__ import annotations

import weakref
from typing import Any

from pullback.autograd.forward_ad import _set_fwd_grad_enabled
from pullback.core.basics.on_demand import names_on_demand
from pullback.core.mode import is_grad_enabled, transform_depth
from pullback.core.running import execution_order as _current_graph_task_execution_order
from pullback.core.running import pass_number as _current_graph_task_id
from pullback.core.running import running_node as _current_autograd_node
from pullback.core.running import will_run as _will_engine_execute_node
from pullback.core.tensor import Tensor
from pullback.core.tensor import disabled_torch_function as _disabled_torch_function_impl
from pullback.shell.torch_function import DisableTorchFunction, DisableTorchFunctionSubclass

from . import _autograd, _functions
from ._dispatch import DispatchKey, DispatchKeySet, _ConvBackend, _ExcludeDispatchKeyGuard

__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "DispatchKey", "DispatchKeySet", "_ExcludeDispatchKeyGuard",
    "_ConvBackend",
    "_disabled_torch_function_impl",
    "_WeakTensorRef", "_autograd", "_current_autograd_node", "_current_graph_task_execution_order",
    "_current_graph_task_id", "_functions", "_set_fwd_grad_enabled", "_will_engine_execute_node", "has_lapack",
    "is_grad_enabled",
]  # fmt: skip


_TensorMeta: type = type(Tensor)  # named in annotations
has_lapack: bool = True  # NumPy brings one


class _WeakTensorRef:
    """Says whether a tensor still exists, without keeping it."""

    def __init__(self, tensor: Tensor) -> None:
        self._reference: Any = weakref.ref(tensor)

    def expired(self) -> bool:
        return self._reference() is None


def _get_autograd_fallback_mode() -> str:
    """Return the answer to a gradient that reaches an operator without a derivative: "warn" or "nothing"."""
    from pullback.library import Fallback

    return Fallback.mode


def _set_autograd_fallback_mode(mode: str) -> None:
    """Say what happens when a gradient reaches an operator without a derivative."""
    from pullback.library import Fallback

    Fallback.mode = mode


def _warn_on_accumulate_grad_stream_mismatch() -> bool:
    """Return what `set_warn_on_accumulate_grad_stream_mismatch` was last told."""
    from pullback.autograd.graph import StreamSettings

    return StreamSettings.warn_on_mismatch


def _is_grad_layout_enforcement_enabled() -> bool:
    """Return what `enforce_grad_layout_policy` was last told."""
    from pullback.core.grad_mode import _switches

    return _switches.grad_layout


_cached: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()


def _set_cached_tensors_enabled(enabled: bool) -> None:
    """Accepted: what is noted as cached changes nothing here."""


def _add_cached_tensor(tensor: Tensor) -> None:
    """Note that a cache holds a tensor."""
    _cached[id(tensor)] = tensor


def _remove_cached_tensor(tensor: Tensor) -> None:
    """Note that no cache holds a tensor any more."""
    _cached.pop(id(tensor), None)


def _is_cached_tensor(tensor: Tensor) -> bool:
    """True if a tensor was noted as cached."""
    return id(tensor) in _cached


def _get_tracing_state() -> None:
    """None: no program is ever being traced."""
    return None


def _is_tracing() -> bool:
    """False: no program is ever being traced."""
    return False


def _are_functorch_transforms_active() -> bool:
    """True while a transform of `torch.func` is being run."""
    return transform_depth.get() > 0


def _get_deterministic_fill_uninitialized_memory() -> bool:
    """True if memory that has not been written is filled, in programs that ask for determinism."""
    from pullback.core.basics.unwritten import settings

    return settings.fill


def _set_deterministic_fill_uninitialized_memory(mode: bool) -> None:
    """Fill memory that has not been written, or do not."""
    import pullback.utils.deterministic as switch

    setattr(switch, "fill_uninitialized_memory", mode)  # noqa: B010  (a property of the module)


def _is_torch_function_mode_enabled() -> bool:
    """True if a mode is asked before functions run."""
    import sys

    mechanism = sys.modules.get("pullback.shell.torch_function")  # unless it is loaded, there are no modes
    return mechanism is not None and bool(mechanism.settings.modes)


def _log_api_usage_once(event: str) -> None:
    """Accepted: nothing is reported."""


def _get_accelerator(check: bool | None = None) -> Any:
    """The device that computes: the CPU."""
    from pullback.core.basics.device import cpu

    return cpu


def _get_privateuse1_backend_name() -> str:
    """The name of a device from outside torch; it was not given one."""
    return "privateuseone"


def _switch(name: str) -> Any:
    """Switches of a compiler that is not here."""
    return (lambda *values: None) if name.startswith("_jit_set_") else None


names_on_demand(
    __name__, modules=("_nn", "_functorch"), made=_switch,
    names={"pullback.linalg": "_LinAlgError:LinAlgError", "pullback": "Generator"},
)  # fmt: skip
