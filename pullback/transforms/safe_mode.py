"""`safe_gradients`: derivatives in which zero is absolute, so that a branch not taken leaks no NaN.

`where(x > 0, log(x), 0)` sends the cotangent 0 to `log` wherever x <= 0, and 0 * (1/0) is NaN. While this mode is on,
products inside derivative rules take 0 * inf and 0 * nan for 0 (`kernels/absolute_zero.py`). Rules get those products
because they run on tensors then, even in a pass that is not recorded. Values are computed as always.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from ..core.grad_mode import ModeSwitch, _decorate
from ..core.mode import ASKED, IN_RULES, Mode, current_mode, set_mode
from ..core.op import Op
from ..core.tape import wrap
from ..core.tensor import Tensor
from ..kernels.absolute_zero import sum_of_products, with_absolute_zeros

if TYPE_CHECKING:
    from ..core.basics.types import Cotangent, Gradient
    from ..core.engine import Sweep
    from ..core.node import Node


class safe_gradients(ModeSwitch):
    """Zero cotangents stay zero inside: `with safe_gradients(): loss.backward()`, `@safe_gradients()` or `@safe_gradients`.

    It is the computation of derivatives that must be inside: `backward()`, `grad()`, a transform such as `func.grad`
    or `jacrev`. `safe_gradients(False)` switches the mode off for a while.
    """

    def __new__(cls, enabled: bool | Callable[..., Any] = True) -> Any:
        if callable(enabled):
            return _decorate(cls, enabled)
        return object.__new__(cls)

    def __init__(self, enabled: bool = True) -> None:
        self.enabled: bool = bool(enabled)

    def _changes(self) -> dict[str, Any]:
        return {"safe": ASKED if self.enabled else 0}

    def clone(self) -> safe_gradients:
        """A fresh switch to the same setting."""
        return self.__class__(self.enabled)


class set_safe_gradients(safe_gradients):
    """The same switch, which takes effect at once; as a context manager it undoes itself at the end."""

    def __init__(self, enabled: bool) -> None:
        super().__init__(enabled)
        self._previous = current_mode()
        set_mode(self._previous.replace(**self._changes()))

    def __enter__(self) -> None:
        set_mode(current_mode().replace(**self._changes()))

    def __call__(self, function: Any) -> Any:
        set_mode(current_mode().replace(**self._restores()))
        return super().__call__(function)


def is_safe_gradients_enabled() -> bool:
    """True if `safe_gradients` is on in this context."""
    return current_mode().safe != 0


@cache
def counterpart(op: Op) -> Op:
    """The operation to run in the place of this one inside rules: itself, unless it multiplies or divides."""
    if op.rare.multiplies:
        return op.computing(with_absolute_zeros(op.formula))
    return op.computing(sum_of_products(op)) if op.kind == "bilinear" and len(op.inputs) == 2 else op


def call_rules_on_tensors(sweep: Sweep, node: Node, cotangent: Cotangent) -> list[Gradient]:
    """The arrays that a node sends to its edges, computed by its rules on tensors in a pass that is not recorded."""
    parts = cotangent if isinstance(cotangent, (tuple, list)) else (cotangent,)
    given = tuple(None if part is None else wrap(part) for part in parts)
    sweep.record = True
    try:
        results = sweep.call_rules(node, given if isinstance(cotangent, (tuple, list)) else given[0])
    finally:
        sweep.record = False
    return [result._array if isinstance(result, Tensor) else result for result in results]


class rules_running:
    """While a rule of forward mode runs: its products know absolute zeros, if the mode is on."""

    __slots__ = ("mode",)

    def __init__(self, mode: Mode) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        if self.mode.safe:
            set_mode(self.mode.replace(safe=IN_RULES))

    def __exit__(self, *error: object) -> None:
        if self.mode.safe:
            set_mode(self.mode)
