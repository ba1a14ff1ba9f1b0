"""`torch.autograd.graph`: the graph as an object one can look at, hook into and point at.

Edges, accumulators of leaves, saved-tensor hooks and multi-tensor hooks. Nodes are in `node.py`; how hooks are run in
`hooks.py`.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.basics.storage import storage_of
from ..core.mode import current_mode, set_mode
from ..core.node import Node as _Node
from ..core.node import add_hook
from ..core.tensor import Anchor, Tensor, anchor_of, fields, leaf_hooks
from ..utils.hooks import RemovableHandle

if TYPE_CHECKING:
    pass

__all__ = [
    "saved_tensors_hooks", "save_on_cpu", "disable_saved_tensors_hooks", "register_multi_grad_hook",
    "allow_mutation_on_saved_tensors", "Node", "GradientEdge", "get_gradient_edge", "increment_version",
    "node_creation_hook", "queue_callback",
    "region_activation_memory_budget", "set_warn_on_accumulate_grad_stream_mismatch", "set_override_stale_capture_stream",
]  # fmt: skip


class _AnyNode(type):
    """Everything that can stand in `grad_fn` or `next_functions` counts as a Node."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _Node)

    def __subclasscheck__(cls, subclass: type[Any]) -> bool:
        return subclass is Node or issubclass(subclass, _Node) or getattr(subclass, "is_accumulate_grad", False)


class Node(metaclass=_AnyNode):
    """The class in `isinstance(tensor.grad_fn, torch.autograd.graph.Node)`, which is True for every node of a graph."""


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call `callback` when the running backward pass is over and its gradients are in place; hooks may ask for it."""
    from .variable import Variable

    Variable._execution_engine.queue_callback(callback)


class GradientEdge(NamedTuple):
    """A place in the graph: output `output_nr` of `node`. Holds the graph, not the tensor's data."""

    node: Any
    output_nr: int
    ownership_token: Any = None


def revived(anchor: Anchor) -> Tensor:
    """A leaf with the memory of one that nobody has any more, to be shown in its place."""
    leaf = object.__new__(Tensor)
    leaf._array, leaf._requires_grad = anchor._array, True
    leaf._storage, leaf._anchor = anchor._storage, anchor
    anchor._owner = weakref.ref(leaf)
    return leaf


class AccumulateGrad:
    """The stand-in for a leaf in `next_functions`: its `variable` is the leaf tensor."""

    __slots__ = ("anchor", "_revived", "__weakref__")
    is_accumulate_grad: bool = True

    def __init__(self, anchor: Anchor) -> None:
        self.anchor: Anchor = anchor
        self._revived: Tensor | None = None

    @property
    def variable(self) -> Tensor:
        """The leaf."""
        leaf = self.anchor.owner()
        if leaf is None:
            leaf = self._revived = revived(self.anchor)
        return leaf

    def name(self) -> str:
        """The name torch shows."""
        return "torch::autograd::AccumulateGrad"

    @property
    def next_functions(self) -> tuple[Any, ...]:
        """Nothing comes after a leaf."""
        return ()

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for notes of the user's own."""
        return fields(self.anchor).setdefault("_metadata", {})

    def _sequence_nr(self) -> int:
        return 2**64 - 1

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(inputs, outputs)` after the gradient was added."""
        return add_hook(self._hooks().post, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(gradients)` before the gradient is added; what it returns replaces it."""
        return add_hook(self._hooks().pre, fn)

    def _hooks(self) -> Any:
        return leaf_hooks(self.anchor)

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


def accumulator_of(anchor: Anchor) -> AccumulateGrad:
    """The AccumulateGrad of a leaf; the same object as long as somebody has it."""
    reference = fields(anchor).get("_accumulator")
    accumulator = reference() if reference is not None else None
    if accumulator is None:
        accumulator = AccumulateGrad(anchor)
        fields(anchor)["_accumulator"] = weakref.ref(accumulator)
    return accumulator


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place of a tensor in the graph, usable as input or output of `autograd.grad` and `backward`."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    if tensor._node is None:
        return GradientEdge(accumulator_of(anchor_of(tensor)), 0, tensor)
    return GradientEdge(tensor._node.shown(), tensor._output_nr, None)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Tell autograd that the memory of these tensors was written by other means."""
    from ..core.writes import bump

    for item in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not item._inference:
            storage = storage_of(item)
            storage.readers = None  # too late for copies
            bump(storage)


# --- saved tensors ---------------------------------------------------------------------------------------------------


class saved_tensors_hooks:
    """Inside, every saved tensor is replaced by `pack_hook(tensor)` and got back by `unpack_hook(packed)`."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook: Callable[[Tensor], Any] = pack_hook
        self.unpack_hook: Callable[[Any], Tensor] = unpack_hook

    def __enter__(self) -> None:
        if _disabled.message is not None:
            raise RuntimeError(_disabled.message)
        mode = current_mode()
        set_mode(mode.replace(saved_hooks=(*mode.saved_hooks, (self.pack_hook, self.unpack_hook))))

    def __exit__(self, *args: object) -> None:
        mode = current_mode()
        set_mode(mode.replace(saved_hooks=mode.saved_hooks[:-1]))


class node_creation_hook:
    """Inside, `hook(node)` is called with every node of the graph when it is complete: those of recorded passes, too."""

    def __init__(self, hook: Callable[[Any], Any]) -> None:
        self.hook: Callable[[Any], Any] = hook

    def __enter__(self) -> None:
        mode = current_mode()
        set_mode(mode.replace(node_hooks=(*mode.node_hooks, self.hook)))

    def __exit__(self, *args: object) -> None:
        mode = current_mode()
        set_mode(mode.replace(node_hooks=mode.node_hooks[:-1]))


class save_on_cpu(saved_tensors_hooks):
    """Saved tensors are kept in main memory. On the CPU they are there already: each is copied aside."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> Any:
            from ..core.tape import wrap

            return wrap(tensor._array.copy())

        super().__init__(pack, lambda packed: packed)


class _Disabled(threading.local):
    message: str | None = None


_disabled = _Disabled()


def saved_hooks_allowed() -> bool:
    """True if saved-tensor hooks may be used here."""
    return _disabled.message is None


class disable_saved_tensors_hooks:
    """Inside, using saved-tensor hooks is an error with the given message."""

    def __init__(self, error_message: str) -> None:
        self.error_message: str = error_message

    def __enter__(self) -> None:
        self.previous: Any = _disabled.message
        if current_mode().saved_hooks:
            raise RuntimeError(self.error_message)
        _disabled.message = self.error_message

    def __exit__(self, *args: object) -> None:
        _disabled.message = self.previous

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        import functools

        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with disable_saved_tensors_hooks(self.error_message):
                return function(*args, **kwargs)

        return decorated


class allow_mutation_on_saved_tensors:
    """Inside, saved tensors may be written in place: backward sees the values of the time they were saved."""

    def __enter__(self) -> Any:
        from ..transforms.mutation import Active, MutationContext

        if Active.context is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self._context = Active.context = MutationContext()
        self._hooks = saved_tensors_hooks(self._context.pack, self._context.unpack)
        self._hooks.__enter__()
        return self._context

    def __exit__(self, *args: object) -> None:
        from ..transforms.mutation import Active

        self._hooks.__exit__(*args)
        self._context.clear()
        Active.context = None


# --- hooks on several tensors ----------------------------------------------------------------------------------------


class _MultiHandle:
    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles: tuple[RemovableHandle, ...] = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _MultiHandle:
        return self

    def __exit__(self, *args: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> _MultiHandle:
    """Call `fn` once a pass: with all gradients when the last is there ("all"), or with the first one ("any")."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    from ..core.multi_hooks import MultiGradHook

    hook = MultiGradHook(tuple(tensors), fn, mode)
    return _MultiHandle([tensor.register_hook(hook.receiver(position)) for position, tensor in enumerate(tensors)])


# --- what is said about streams and compilers -------------------------------------------------------------------------


class StreamSettings:
    """The setting of `set_warn_on_accumulate_grad_stream_mismatch`; it has no effect, since there are no streams."""

    warn_on_mismatch: bool = True


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accepted: no gradient comes from another stream, so there is nothing to warn about."""
    StreamSettings.warn_on_mismatch = bool(enabled)


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Accepted: no stream is captured."""


def region_activation_memory_budget(budget: float) -> AbstractContextManager[None]:
    """Accepted: how much memory a compiler may use inside, which `torch.compile` has no use for here."""
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(
            f"torch.autograd.graph.region_activation_memory_budget: expects a float, got {type(budget).__name__}"
        )
    if not 0.0 <= budget <= 1.0:
        raise ValueError(f"torch.autograd.graph.region_activation_memory_budget: must be in [0, 1], got {budget}")
    return nullcontext()
