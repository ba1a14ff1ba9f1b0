"""`Node`: one recorded application of an operation.

A node knows where cotangents go next (`edges`), what its rules need (`saved`) and what its output looked like. It
never refers to its output tensor, so a graph is a tree of plain references and dies with its last tensor. Edges of
leaves point at the leaf's anchor (`core/tensor.py`). How nodes are made is in `tape.py`, how they are run in `engine.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any

from ..utils.hooks import HookDict, RemovableHandle
from .basics.storage import next_order

if TYPE_CHECKING:
    from weakref import ReferenceType

    from .basics.device import device as Device
    from .basics.dtypes import dtype as Dtype
    from .basics.types import Cotangent, DType, Edges, Function, Hook, Operand, Params, Result, Saved, Shape, Slots
    from .op import Op
    from .plan import Plan
    from .saved import RawSaved
    from .tensor import Tensor


class Freed(tuple[()]):
    """Stands for the saved values of a node after a backward pass that did not retain the graph."""


FREED = Freed()


class NodeHooks:
    """Hooks of one node; most nodes have none."""

    __slots__ = ("tensor_hooks", "retained", "pre", "post", "accumulated")

    def __init__(self) -> None:
        self.tensor_hooks: dict[int, dict[int, Hook]] = {}  # by output number
        self.retained: dict[int, ReferenceType[Tensor]] = {}  # by output number: the tensor that retains its gradient
        self.pre: dict[int, Hook] = HookDict()
        self.post: dict[int, Hook] = HookDict()
        self.accumulated: dict[int, Hook] = HookDict()  # of leaves: called when `.grad` has been written

    def any(self) -> bool:
        """Return True if any hook is left."""
        return bool(
            self.retained or self.pre or self.post or self.accumulated
            or [hooks for hooks in self.tensor_hooks.values() if hooks]
        )  # fmt: skip


def add_hook(hooks: dict[int, Hook], function: Function) -> RemovableHandle:
    """Add a function to some hooks; the handle takes it away again."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = function
    return handle


class InputMetadata:
    """Shape and type of one cotangent a node receives."""

    def __init__(self, shape: list[int], dtype: Dtype, device: Device) -> None:
        self.shape: list[int] = shape
        self.dtype: Dtype = dtype
        self.device: Device = device
        self.is_nested_tensor: bool = False
        self.is_cpp_nested_tensor: bool = False
        self.is_tensor_subclass: bool = False


class NodeType(type):
    """Node classes are named after the operation: `MulBackward0`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return type.__instancecheck__(cls, instance) or (
            cls is Node and getattr(type(instance), "is_accumulate_grad", False)
        )


class Node(metaclass=NodeType):
    """One recorded operation. Subclasses, one for each kind of operation, carry the operation as `op`."""

    # What every node has are slots, set by whoever makes one; the rest has defaults and is rarely set.
    __slots__ = (
        "edges", "slots", "saved", "arrays", "params", "plan", "order", "shape", "dtype", "general", "__dict__", "__weakref__",
    )  # fmt: skip

    edges: tuple[Any, ...]  # for each input: a Node, the Anchor of a leaf, or None where no gradient is wanted
    saved: tuple[Any, ...]  # what the rules need: tensors, output arrays, shapes
    arrays: tuple[Any, ...] | None  # the same as bare arrays, where recording had them; None sends the engine to ask
    plan: Any  # which rules to run with which saved values (see op.py)
    order: int  # larger than that of everything it was computed from
    shape: Any  # of the output, and so of the cotangent; None for operations with several
    dtype: Any
    slots: tuple[int, ...] | None  # output numbers the edges point to; None when all are 0
    params: Any
    general: bool  # hooks or several outputs: not for the engine's short path

    is_node: bool = True
    full_name: str | None = None  # where torch shows more than the class: 'torch::autograd::CopySlices'
    outputs: Any = None  # (shape, dtype) of every output, for operations with several
    hooks: NodeHooks | None = None
    output_storages: Any = None  # {output number: Storage} of saved outputs that others can write
    notes: dict[str, Any] | None = None  # metadata, forward traceback in anomaly mode

    @property
    def op(self) -> Any:
        """The operation that was recorded, None for nodes of another kind."""
        return self.plan.op

    # --- what users and tests look at ---

    def shown(self) -> Node:
        """This node, from now on of its operation's own class: `type(x.grad_fn).__name__` is 'MulBackward0'.

        While a graph is recorded and run, all nodes are of one class, because the interpreter reads the attributes of
        objects of one class several times faster than those of many.
        """
        if type(self) is Node:
            self.__class__ = self.plan.op.node_type
        return self

    def as_torch_shows_it(self) -> Node:
        """This node as programs may look at it: one that stands for several of torch's becomes those, for good."""
        if self.op is not None and self.op.rare.rebuild is not None:
            self.op.rare.rebuild(self)
        return self.shown()

    def name_in_text(self) -> str:
        """The name of what torch shows here. To print a tensor does not change its graph: a copy becomes that."""
        stands_for_several = self.op is not None and self.op.rare.rebuild is not None
        return (copy(self) if stands_for_several else self).as_torch_shows_it().name()

    def name(self) -> str:
        """The name torch shows, such as `MulBackward0`."""
        shown = self.shown()
        return shown.full_name or type(shown).__name__

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """Where gradients go next: pairs of a node (None for inputs without gradient) and a number."""
        from ..autograd.graph import accumulator_of  # a leaf's AccumulateGrad is made when somebody looks

        self.as_torch_shows_it()
        slots = self.slots or (0,) * len(self.edges)
        ways = [(self.edges[position], slots[position]) for position in self.shown_edges()]
        return tuple(
            (None, 0) if target is None
            else (target.as_torch_shows_it(), slot) if target.is_node
            else (accumulator_of(target), 0)
            for target, slot in ways
        )  # fmt: skip

    def shown_edges(self) -> list[int]:
        """The positions of the edges that users see: not of what never has a gradient, such as a mask or an index."""
        hidden = () if self.op is None else self.op.hidden_inputs
        return [position for position in range(len(self.edges)) if position not in hidden]

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for notes of the user's own."""
        if self.notes is None:
            self.notes = {}
        return self.notes.setdefault("metadata", {})

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        from .basics.device import cpu
        from .basics.dtypes import from_numpy_dtype

        outputs = self.outputs or ((self.shape, self.dtype),)
        return tuple(InputMetadata(list(shape), from_numpy_dtype(dtype), cpu) for shape, dtype in outputs)

    def _sequence_nr(self) -> int:
        return int(self.order)

    def register_hook(self, fn: Hook) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after this node has run; it may return new grad_inputs."""
        return add_hook(self.ensure_hooks().post, fn)

    def register_prehook(self, fn: Hook) -> RemovableHandle:
        """Call `fn(grad_outputs)` before this node runs; it may return new grad_outputs."""
        return add_hook(self.ensure_hooks().pre, fn)

    def _register_hook_dict(self, hooks: dict[int, Hook]) -> None:
        self.ensure_hooks().post = hooks

    def ensure_hooks(self) -> NodeHooks:
        """The hooks of this node, made when first needed."""
        if self.hooks is None:
            self.hooks = NodeHooks()
            self.general = True
            self.arrays = None
        return self.hooks

    def __call__(self, *grads: Cotangent) -> Result:
        from .passes import call_node

        return call_node(self, grads)

    def __repr__(self) -> str:
        return f"<{type(self.shown()).__name__} object at {id(self):#x}>"


def fill(
    node: Node,
    plan: Plan,
    edges: Edges,
    slots: Slots | None,
    saved: Saved,
    arrays: Saved | None,
    params: Params | None,
    shape: Shape | None,
    dtype: DType | None,
    general: bool = False,
) -> Any:
    """Fill in a new node: all come by here. (Nodes have no `__init__`: they are made faster without one.)"""
    node.plan = plan
    node.edges = edges
    node.slots = slots
    node.saved = saved
    node.arrays = arrays
    node.params = params
    node.shape = shape
    node.dtype = dtype
    node.general = general
    node.order = next_order()
    return node


def node_class(name: str, op: Op) -> type[Node]:
    """The Node subclass for one operation, made when it is first recorded.

    What the rules name is readable as `_saved_<name>` (under torch's names too), spelled out as properties because a
    `__getattr__` would slow down every other access.
    """
    attributes: dict[str, Any] = {"__module__": "builtins"}
    for own in op.saved_names():
        for shown in {own, _torch_name(own)}:
            attributes[f"_saved_{shown}"] = property(_saved_value(own))
            attributes[f"_raw_saved_{shown}"] = property(_raw_saved(own))
    for shown, value in op.rare.shown_constants.items():
        attributes[f"_saved_{shown}"] = value
    if "::" in name:
        attributes["full_name"] = name
    attributes["__slots__"] = ()
    return NodeType(name.split("::")[-1], (Node,), attributes)  # type: ignore[return-value]


# Torch's names of saved values where ours say it in other words.
_TORCH_NAMES = {
    "x": "self", "a": "self", "b": "other", "out": "result", "axis": "dim", "keepdims": "keepdim", "index": "indices",
    "limit": "threshold",
}  # fmt: skip


def _torch_name(own: str) -> str:
    if own.endswith("_shape"):
        return _TORCH_NAMES.get(own[:-6], own[:-6]) + "_sym_sizes"
    return _TORCH_NAMES.get(own, own)


def _saved_value(name: str) -> Function:
    def read(node: Node) -> Operand:
        from .saved import saved_attribute

        return saved_attribute(node, name)

    return read


def _raw_saved(name: str) -> Callable[[Node], RawSaved]:
    def read(node: Node) -> RawSaved:
        from .saved import raw_saved_attribute

        return raw_saved_attribute(node, name)

    return read
