"""`torch.utils._python_dispatch`: modes that see every operation below autograd, and may answer in its place.

The mechanism, and what is shown, is in `shell/dispatch.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.mode import current_mode, set_mode
from ..core.tensor import Tensor

__all__ = ["TorchDispatchMode"]


class TorchDispatchMode:
    """Inside a `with` block, operations go to `__torch_dispatch__(self, func, types, args, kwargs)`.

    `func` is an operator such as `torch.ops.aten.mul.Tensor`; `func(*args, **kwargs)` runs it, with the mode itself off.
    Of nested modes the innermost is asked first, and what it calls goes to the next one.
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        pass

    def __torch_dispatch__(
        self, func: Any, types: tuple[Any, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Answer for an operation: a subclass says how."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        mode = current_mode()
        set_mode(mode.replace(dispatch=(*mode.dispatch, self)))
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        mode = current_mode()
        set_mode(mode.replace(dispatch=mode.dispatch[:-1]))

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """The same as making one, which is what to do."""
        return cls(*args, **kwargs)


BaseTorchDispatchMode = TorchDispatchMode


@contextmanager
def _without(count: int) -> Iterator[tuple[Any, ...]]:
    """Operations go past the `count` innermost modes, which are given."""
    mode = current_mode()
    kept = len(mode.dispatch) - count
    set_mode(mode.replace(dispatch=mode.dispatch[:kept]))
    try:
        yield mode.dispatch[kept:]
    finally:
        set_mode(current_mode().replace(dispatch=mode.dispatch))


def _disable_current_modes() -> Any:
    """Inside, no mode is asked."""
    return _without(len(current_mode().dispatch))


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """Inside, the innermost mode is not asked; it is given."""
    if not current_mode().dispatch:
        raise AssertionError("there is no dispatch mode to pop")
    with _without(1) as modes:
        yield modes[0]


def _get_current_dispatch_mode() -> Any:
    """The innermost mode, None outside of any."""
    modes = current_mode().dispatch
    return modes[-1] if modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """All modes, the innermost last."""
    return list(current_mode().dispatch)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """True if a mode is on."""
    return bool(current_mode().dispatch)


def is_traceable_wrapper_subclass(t: object) -> bool:
    """True if a tensor holds other tensors that it can be taken apart into."""
    return isinstance(t, Tensor) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """Return the result of an operation as it is: views here know what they look at."""
    return out
