"""The `Mode` of the current context: how operations are run and recorded right now.

Grad mode, inference mode, anomaly mode, saved-tensor hooks and the forward-mode level live in one immutable object
behind one context variable, so an operation asks one question on its fast path ("is this the default mode?") and
`no_grad` never leaks into another thread or asyncio task. The public switches are in `grad_mode.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .basics.types import Hook, HookPair

_FIELDS = (
    "grad", "inference", "anomaly", "saved_hooks", "dual_level", "profiler", "batch_level", "autocast", "safe", "dispatch",
    "node_hooks",
)  # fmt: skip

_PLACES = {name: place for place, name in enumerate(_FIELDS)}

ASKED, IN_RULES = 1, 2  # settings of `safe`


class Mode:
    """One combination of switches. Equal combinations are the same object."""

    __slots__ = (*_FIELDS, "special", "ordinary", "values")

    grad: bool
    inference: bool
    anomaly: Any  # None, or the Anomaly settings
    saved_hooks: tuple[HookPair, ...]  # pairs (pack, unpack), innermost last
    dual_level: int  # 0 outside forward mode
    profiler: Any  # None, or the object that is told about each operation
    batch_level: int  # 0 outside vmap and batched passes; numbered together with dual_level, innermost highest
    autocast: Any  # None, or the dtype that products take
    safe: int  # 0, ASKED while `safe_gradients` is on, IN_RULES while it is and derivative rules run
    dispatch: tuple[Any, ...]  # objects that run operations in our place (`TorchDispatchMode`), innermost last
    node_hooks: tuple[Hook, ...]  # functions that are called with every new node (`graph.node_creation_hook`)
    values: tuple[object, ...]  # of the fields above
    special: bool  # anything but plain grad/no_grad: operations take the general path
    ordinary: bool  # grad mode, and nothing special but batches: backward passes take the short path

    def replace(self, **changes: object) -> Mode:
        """The mode with some settings changed."""
        values = list(self.values)
        for name, value in changes.items():
            values[_PLACES[name]] = value
        return _intern(tuple(values))


_interned: dict[tuple[object, ...], Mode] = {}


def _intern(values: tuple[Any, ...]) -> Mode:
    mode = _interned.get(values)
    if mode is None:
        mode = Mode()
        for name, value in zip(_FIELDS, values, strict=True):
            setattr(mode, name, value)
        mode.special = any(values[1:])
        mode.ordinary = mode.grad and sum(map(bool, values)) == 1 + (mode.batch_level != 0)
        mode.values = values
        user_objects = mode.anomaly or mode.saved_hooks or mode.profiler or mode.dispatch or mode.node_hooks
        if not user_objects:
            _interned[values] = mode  # the others must not be kept alive here
    return mode


RECORD = _intern((True, False, None, (), 0, None, 0, None, 0, (), ()))
NO_GRAD = _intern((False, False, None, (), 0, None, 0, None, 0, (), ()))

_current: ContextVar[Mode] = ContextVar("pullback_mode", default=RECORD)

current_mode: Callable[[], Mode] = _current.get
set_mode: Callable[[Mode], object] = _current.set


transform_depth: ContextVar[int] = ContextVar("pullback_transform", default=0)  # function transforms being run


def is_grad_enabled() -> bool:
    """Return True if operations are being recorded in this context."""
    return _current.get().grad


def is_inference_mode_enabled() -> bool:
    """Return True if `inference_mode` is on in this context."""
    return _current.get().inference
