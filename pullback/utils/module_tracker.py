"""`torch.utils.module_tracker`: which modules are at work now, in the forward pass and in the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from ..autograd.graph import register_multi_grad_hook
from ..autograd.variable import Variable
from ..core.running import pass_number
from ..core.tensor import Tensor
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Inside a `with` block, `parents` holds the names of the modules at work (`Net.layer.0`), and "Global".

    In the backward pass a module is at work from the gradients of its outputs to those of its inputs; one whose inputs
    take no gradient stays at work until the pass is over.
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._handles: list[Any] = []
        self._waits: bool = False  # for the end of a backward pass

    @property
    def is_bw(self) -> bool:
        """True while a backward pass is running."""
        return pass_number() != -1

    def __enter__(self) -> ModuleTracker:
        self._handles = [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after),
        ]
        return self

    def __exit__(self, *args: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _name_of(self, module: Any) -> str:
        if module not in self._names:
            self._names[module] = type(module).__name__
            for path, part in module.named_modules():
                if path:
                    self._names[part] = f"{type(module).__name__}.{path}"
        return self._names[module]

    def _before(self, module: Any, inputs: Any) -> None:
        name = self._name_of(module)
        self.parents.add(name)
        self._when_gradients_come(inputs, lambda *_: self.parents.discard(name))

    def _after(self, module: Any, inputs: Any, outputs: Any) -> None:
        name = self._name_of(module)
        self.parents.discard(name)
        self._when_gradients_come(outputs, lambda *_: self._enter_backward(name))

    def _when_gradients_come(self, values: Any, does: Callable[..., None]) -> None:
        tensors = [value for value in tree_leaves(values) if isinstance(value, Tensor) and value.requires_grad]
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, does))

    def _enter_backward(self, name: str) -> None:
        if not self._waits:
            self._waits = True
            Variable._execution_engine.queue_callback(self._finish)
        self.parents.add(name)

    def _finish(self) -> None:
        self._waits = False
        self.parents = {"Global"}
