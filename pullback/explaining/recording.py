"""`record()`: inside, the forward pass leaves behind what an explanation can tell more with.

Operations remember the line of the program that made them (anomaly mode without its checks) and the module they ran
in, and places where a tensor leaves the graph (detach, integer casts) are noted. Outside of it none of this is done.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from ..autograd.anomaly_mode import Anomaly, user_line
from ..core.basics.storage import next_order
from ..core.mode import current_mode, set_mode
from ..core.tensor import Tensor, anchor_of
from ..functional.methods import replace_members


class Cut:
    """A place where a tensor with a history became one without."""

    def __init__(self, source: Tensor, text: str, integer: bool) -> None:
        # Which leaves lie behind it is found at once: nothing else may keep this part of the graph alive.
        found = _leaves(anchor_of(source) if source._node is None else source._node)
        self.leaves: list[Any] = [weakref.ref(anchor) for anchor in found]
        self.place: Any = _short(user_line())
        self.order: int = next_order()
        self.text: str = text
        self.integer: bool = integer


_cuts: deque[Cut] = deque(maxlen=512)

_CASTS = ("to", "long", "int", "short", "char", "byte", "bool", "type", "type_as")


class record:
    """Context manager: `with pullback.explaining.record(): loss = ...`, then `explain(loss)`."""

    def __enter__(self) -> record:
        self._previous = current_mode()
        set_mode(self._previous.replace(anomaly=self._previous.anomaly or Anomaly(False)))
        self._methods = replace_members({name: _watched(name, vars(Tensor)[name]) for name in ("detach", *_CASTS)})
        self._methods.__enter__()
        self._handles = _watch_modules()
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._methods.__exit__(None, None, None)
        set_mode(current_mode().replace(anomaly=self._previous.anomaly))


def _watched(name: str, method: Callable) -> Callable:
    def watched(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        result = method(self, *args, **kwargs)
        if self._requires_grad and isinstance(result, Tensor) and not result._requires_grad:
            if name == "detach":
                _cuts.append(Cut(self, "detach() cuts it off from what follows", False))
            elif result._array.dtype.kind not in "fcV":
                _cuts.append(Cut(self, f"it is cast to {result.dtype!r}, and whole numbers carry no gradient", True))
        return result

    watched.__name__ = name
    return watched


def _short(place: str | None) -> str | None:
    return None if place is None else place.replace("\\", "/").rpartition("/")[2]


def cuts_behind(leaf: Tensor, since: int = 0) -> Cut | None:
    """The last noted cut, at `since` or later on the clock of nodes, whose source was computed from a leaf."""
    anchor = leaf._anchor
    if anchor is None:
        return None
    for cut in reversed(_cuts):
        if cut.order >= since and any(found() is anchor for found in cut.leaves):
            return cut
    return None


def _leaves(source: Any) -> list:
    """The anchors of all leaves a node was computed from."""
    seen: set = set()
    stack = [source]
    while stack:
        target = stack.pop()
        if target is not None and target not in seen:
            seen.add(target)
            if target.is_node:
                stack.extend(target.edges)
    return [target for target in seen if not target.is_node]


# --- modules ---------------------------------------------------------------------------------------------------------


def _watch_modules() -> list:
    """Hooks on all modules that write the module's path into the nodes its forward recorded."""
    from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

    running: list[tuple[int, dict[int, str]]] = []  # when each running module began, and the paths below the outermost

    def before(module: Any, args: Any) -> None:
        paths = running[0][1] if running else {id(inner): path for path, inner in module.named_modules()}
        running.append((next_order(), paths))

    def after(module: Any, args: Any, output: Any) -> None:
        if not running:
            return
        start, paths = running.pop()
        path = paths.get(id(module))
        if path is not None:
            _tag([tensor._node for tensor in _tensors(output)], start, path)

    # Called even when a forward fails, so that the stack of running modules stays right.
    return [register_module_forward_pre_hook(before), register_module_forward_hook(after, always_call=True)]


def _tag(targets: list, start: int, path: str) -> None:
    seen: set = set()
    while targets:
        node = targets.pop()
        if node is None or not node.is_node or node.order < start or node in seen:
            continue
        seen.add(node)
        node.metadata.setdefault("module", path)
        targets.extend(node.edges)


def _tensors(output: Any) -> list[Tensor]:
    if isinstance(output, Tensor):
        return [output]
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (list, tuple)):
        return [tensor for item in output for tensor in _tensors(item)]
    return []
