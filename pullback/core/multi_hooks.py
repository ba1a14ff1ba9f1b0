"""One hook for the gradients of several tensors: the bookkeeping of `register_multi_grad_hook`.

The hook must know which of its tensors take part in the running pass, so it asks the sweep what can be reached.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from .engine import Hooks, Sweep, running
from .tensor import Tensor, anchor_of

if TYPE_CHECKING:
    from .basics.types import Edge, Hook


class MultiGradHook:
    """Collects gradients pass by pass and calls `fn` when it is time."""

    def __init__(self, tensors: tuple[Tensor, ...], fn: Hook, mode: str) -> None:
        self.targets: list[Edge] = [anchor_of(t) if t.grad_fn is None else t.grad_fn for t in tensors]
        self.fn: Hook = fn
        self.mode: str = mode
        self.passes: WeakKeyDictionary[Sweep, _Collected] = WeakKeyDictionary()
        self.lock: Any = threading.Lock()
        Hooks.in_use = True

    def receiver(self, position: int) -> Callable[[Tensor], None]:
        """The hook for one of the tensors."""
        return lambda gradient: self.receive(position, gradient)

    def receive(self, position: int, gradient: Tensor) -> None:
        """Note a gradient; the last one (or the first, if so asked) calls the function."""
        sweep: Any = running()
        with self.lock:
            collected = self.passes.get(sweep)
            if collected is None:
                collected = self.passes[sweep] = _Collected(self._expected(sweep), len(self.targets))
            collected.gradients[position] = gradient
            collected.seen += 1
            seen = collected.seen
        if self.mode == "any":
            if seen == 1:
                self.fn(gradient)
        elif seen == collected.expected:
            self.fn(collected.gradients)

    def _expected(self, sweep: Sweep) -> int:
        reachable = sweep.reachable()
        return sum(target in reachable for target in self.targets)


class _Collected:
    def __init__(self, expected: int, count: int) -> None:
        self.expected: int = expected
        self.seen: int = 0
        self.gradients: list[Tensor | None] = [None] * count
