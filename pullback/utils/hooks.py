"""Handles of registered hooks.

A handle removes its hook from the dictionary it was registered in, holds that dictionary only weakly, and can be
used as a context manager. Tensors, modules and optimizers all hand out this one class.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from itertools import count
from typing import Any

_next_id = count().__next__


HookDict = OrderedDict  # can be referenced weakly, and put a hook before the others


class RemovableHandle:
    """A ticket for one registered hook: `remove()` it, or leave a `with` block."""

    id: int
    hooks_dict_ref: weakref.ref[Any]
    extra_dict_ref: tuple[weakref.ref[Any], ...]

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = _next_id()
        extra = extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra if d is not None)

    def remove(self) -> None:
        """Unregister the hook; a second call does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref))

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        # A dead dictionary is replaced by an empty one, so that `remove` stays harmless after unpickling.
        self.hooks_dict_ref = weakref.ref(OrderedDict() if state[0] is None else state[0])
        self.id = state[1]
        extra = state[2] if len(state) > 2 else ()
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if d is None else d) for d in extra)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.remove()
