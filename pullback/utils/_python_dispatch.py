"""`torch.utils._python_dispatch`: interception of every operation by Python code, which Pullback refuses.

Operations here call NumPy directly; there is no dispatcher between. The class can be imported and subclassed, so that
modules that mention it load; entering a mode says what to use instead.
"""

from __future__ import annotations

from typing import Any

__all__ = ["TorchDispatchMode"]


class TorchDispatchMode:
    """The base of modes that would see every operation."""

    def __enter__(self) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} cannot be entered: Pullback has no dispatcher that modes could intercept. To watch "
            "operations use torch.profiler.profile, to watch a graph use hooks and saved_tensors_hooks."
        )

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        return None


def _get_current_dispatch_mode() -> None:
    """The mode that is active: there is never one."""
    return None
