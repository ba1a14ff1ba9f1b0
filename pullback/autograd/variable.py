"""`Variable`, the old name of Tensor, and the engine as old programs reach it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor

__all__ = ["Variable"]


def _is_checkpoint_valid() -> bool:
    """True: a reentrant checkpoint may run in every pass."""
    return True


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class _Engine:
    """The engine's functions that old programs reach through `Variable._execution_engine`."""

    is_checkpoint_valid = staticmethod(_is_checkpoint_valid)

    @staticmethod
    def queue_callback(callback: Callable[[], Any]) -> None:
        """Call `callback` when the running backward pass is over and its gradients are in place."""
        from ..core.running import running_sweep

        sweep = running_sweep()
        if sweep is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        if sweep.callbacks is None:
            sweep.callbacks = []
        sweep.callbacks.append(callback)


class Variable(metaclass=_VariableMeta):
    """The old name of Tensor: `Variable(tensor, requires_grad=True)` gives a tensor."""

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Any:
        result = data.detach()
        return result.requires_grad_(requires_grad) if requires_grad else result

    _execution_engine: Any = _Engine()
