"""Saved values on their way out of a node: version checks, unpacking, and the `_saved_*` attributes.

Two forms of unpacking: as arrays, for an ordinary backward pass, and as tensors with their history, for one that is
itself recorded (`create_graph=True`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from .basics.storage import Storage, storage_of
from .mode import current_mode
from .node import FREED, Node
from .op import identity_rule
from .recording import SavedList, anchor_or_self
from .tape import wrap
from .tensor import Anchor, Tensor

if TYPE_CHECKING:
    from .basics.types import Array, DType, Edge, Function, HookPair, Operand, Operands, Root, SaveCode, Shape, Values
    from .plan import Plan

SECOND_TIME: str = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward. In a loop, compute the loss anew in each step, and detach() what one step hands to the next."
)


DETACHED: str = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not supported, "
    "please use out-of-place `.detach()` instead"
)


OWN = object()  # stands for the node itself in the history of an output that it saved: to name it would make a cycle


class SavedTensor:
    """A saved value that went through a pack hook, with its history, which hooks do not see.

    The history is the node or anchor that the value's gradient goes to, and the number of the output there.
    """

    __slots__ = ("packed", "unpack", "history", "storage", "version")

    def __init__(self, tensor: Tensor, hooks: HookPair, history: Root | None = None) -> None:
        if tensor._is_written is not None:  # the operation is about to write here: hooks get a copy of the old value
            history = history or _history_of(tensor)
            tensor = wrap(np.copy(tensor._array))
        self.history: Root = history or _history_of(tensor)
        self.unpack: Function = hooks[1]
        self.storage: Storage = storage_of(tensor)
        self.version: int = self.storage.version
        self.packed: Any = pack(hooks[0], tensor)

    def array(self, node: Node) -> Array:
        """The value alone, as ordinary backward passes want it."""
        return self._value(node)._array

    def tensor(self, node: Node) -> Tensor:
        """The value with its history."""
        unpacked = self._value(node)
        target, slot = self.history
        if target is OWN:
            return _as_output(node, slot, unpacked._array)
        return _as_input(target, slot, unpacked)

    def _value(self, node: Node) -> Tensor:
        """The tensor that the hook unpacks. If it shares memory with what was saved, nobody may have written there since."""
        result = self.unpack(self.packed)
        if not isinstance(result, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(result).__name__}"
            )
        if result._storage is self.storage and self.storage.version != self.version:
            producer, slot = self.history
            producer = node if producer is OWN else producer if producer is not None and producer.is_node else None
            raise RuntimeError(
                describe_write(result._array, producer, slot, self.storage, self.version, result._name, node)
            )
        return result


def arrays_of(node: Node) -> Values:
    """The node's saved values as arrays, checked for writes since they were saved."""
    saved = node.saved
    if node.plan.frees and saved is not FREED and node.plan.op.rare.keeps_params:
        check_index(node)
    if not saved:
        if saved is FREED:
            raise RuntimeError(SECOND_TIME)
        return saved
    if node.output_storages is not None:
        check_outputs(node)
    order, seen = node.order, node.arrays
    values = []
    for position, value in enumerate(saved):
        if isinstance(value, Tensor):
            if value._storage is not None and value._storage.written > order:
                raise RuntimeError(modified(value, node))
            if value._detached > order:
                raise RuntimeError(DETACHED)
            if seen is not None and value._array.shape != seen[position].shape:
                raise RuntimeError(reshaped(value, seen[position], node))
            values.append(value._array)
        elif type(value) is SavedList:
            values.append(tuple([item if type(item) is ndarray else _array(node, item) for item in value]))
        elif type(value) is SavedTensor:
            values.append(value.array(node))
        else:
            values.append(value)
    return values


def _array(node: Node, value: Operand) -> Array:
    if isinstance(value, Tensor):
        if value._storage is not None and value._storage.written > node.order:
            raise RuntimeError(modified(value, node))
        return value._array
    return value.array(node) if type(value) is SavedTensor else value


def tensors_of(node: Node) -> list[Operand]:
    """The node's saved values as tensors with their history."""
    saved = node.saved
    if saved is FREED:
        raise RuntimeError(SECOND_TIME)
    if node.op.rare.keeps_params:
        check_index(node)
    if node.output_storages is not None:
        check_outputs(node)
    return [_with_history(node, position, value) for position, value in enumerate(saved)]


def _with_history(node: Node, position: int, value: Operand) -> Operand:
    code = node.plan.saves[position]
    if isinstance(value, Tensor):
        if value._storage is not None and value._storage.written > node.order:
            raise RuntimeError(modified(value, node))
        if value._detached > node.order:
            raise RuntimeError(DETACHED)
        if node.arrays is not None and value._array.shape != node.arrays[position].shape:
            raise RuntimeError(reshaped(value, node.arrays[position], node))
        return value
    if type(value) is SavedTensor:
        return value.tensor(node)
    if type(value) is SavedList:
        first = node.op.rare.extras_from if code == "extras" else 0
        return tuple(
            item.tensor(node) if type(item) is SavedTensor
            else item if code == "arrays"
            else _as_output(node, number, item)
            for number, item in enumerate(value, first)
        )  # fmt: skip
    if type(code) is int and code < 0:
        return _as_output(node, -1 - code, value)
    return value


def _as_output(node: Node, number: int, array: Array) -> Tensor:
    tensor = wrap(array)
    if node.output_storages is not None:
        tensor._storage = node.output_storages.get(number)
    if array.dtype.kind in "fcV" and not (number and node.op is not None and node.op.first_only):
        tensor._node, tensor._output_nr, tensor._requires_grad = node, number, True
    if node.notes is not None and "tangents" in node.notes:
        tensor._tangent = node.notes["tangents"].get(number)
    return tensor


def _as_input(target: Edge, slot: int, unpacked: Tensor) -> Tensor:
    if target is None:
        return unpacked
    if not target.is_node:
        if unpacked._requires_grad:
            return unpacked
        return target if unpacked._array is target._array else _linked(unpacked, target)
    tensor = wrap(unpacked._array)
    tensor._node, tensor._output_nr, tensor._requires_grad = target, slot, True
    return tensor


def _linked(unpacked: Tensor, leaf: Tensor) -> Tensor:
    """An unpacked copy of a leaf's value whose gradient goes to the leaf."""
    from ..ops.pointwise import identity_of

    return identity_of(unpacked, leaf)


def modified(value: Tensor, node: Node) -> str:
    """The complaint about a saved input that was written after it was saved."""
    expected = value._storage.version_at(node.order)
    return describe_write(value._array, value._node, value._output_nr, value._storage, expected, value._name, node)


def reshaped(value: Tensor, seen: Array, node: Node) -> str:
    """The complaint about a saved input that was given data of another shape."""
    return (
        f"The size of a tensor that {node.name()} saved, {list(value._array.shape)}, must match what it was in the "
        f"forward pass, {list(seen.shape)}: its `.data` was replaced in between. Run the forward pass after that."
    )


def check_index(node: Node) -> None:
    """Complain about an index that somebody has written to since it was used."""
    for tensor in getattr(node.params["index"], "tensors", ()):
        if tensor._storage is not None and tensor._storage.written > node.order:
            raise RuntimeError(modified(tensor, node))


def check_outputs(node: Node) -> None:
    """Complain about outputs a node has saved and somebody has written to since."""
    saves = node.plan.saves
    for number, storage in node.output_storages.items():
        if storage.written > node.order and _saved_as_it_is(node, number):
            shape, dtype = node.outputs[number] if node.outputs else (node.shape, node.dtype)
            if number and not node.outputs:
                extra = node.saved[saves.index("extras")][number - node.op.rare.extras_from]
                shape, dtype = extra.shape, extra.dtype
            expected = storage.version_at(node.order)
            raise RuntimeError(describe_write(_Meta(shape, dtype), node, number, storage, expected, None, node))


def _saved_as_it_is(node: Node, number: int) -> bool:
    """Return True if a node has saved this output without hooks (hooks look after what they pack)."""
    saves = node.plan.saves
    for code, first in ((-1 - number, number), ("outs", 0), ("extras", node.op.rare.extras_from)):
        if code in saves and number >= first:
            value = node.saved[saves.index(code)]
            return type(value[number - first] if type(value) is SavedList else value) is not SavedTensor
    return False


class _Meta:
    def __init__(self, shape: Shape, dtype: DType) -> None:
        self.shape: Shape = shape
        self.dtype: DType = dtype


def describe_write(
    array: Array, producer: Node | None, output_nr: int, storage: Storage, expected: int, name: str | None, node: Node
) -> str:
    """The error about a saved value that was written to: which, by whom, what to do."""
    from .basics.dtypes import from_numpy_dtype

    kind = from_numpy_dtype(array.dtype).type_name
    origin = "" if producer is None else f", which is output {output_nr} of {producer.name().split('Backward')[0]},"
    called = "" if name is None else f" (named {name!r})"
    text = (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{kind}Tensor {list(array.shape)}]{called}{origin} is at version {storage.version}; expected version "
        f"{expected} instead."
    )
    if current_mode().anomaly is not None:
        text += (
            " Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable "
            "in question was changed in there or anywhere later. Good luck!"
        )
        if storage.writer is not None:
            text += f" It was last written at {storage.writer}."
        return text
    return text + (
        " Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        f"torch.autograd.set_detect_anomaly(True, check_nan=False). It was saved by {node.name()}; make the write out "
        "of place (y = y + 1 instead of y += 1), or do it on a clone()."
    )


# --- copies before writes ---


def copy_for_readers(storage: Storage) -> None:
    """Give nodes that asked for it a copy of what they saved of this memory, which is about to be written."""
    readers, storage.readers = storage.readers, None
    for reference in readers or ():
        node = reference()
        if node is not None and node.saved is not FREED and storage.written <= node.order:
            saves = node.plan.saves
            node.saved = tuple(
                [_apart(node, code, value, storage) for code, value in zip(saves, node.saved, strict=True)]
            )
            node.arrays = None


def _apart(node: Node, code: SaveCode, value: Operand, storage: Storage) -> Operand:
    """A saved value, as a copy if it lies in this memory."""
    if isinstance(value, Tensor):
        return (
            SavedTensor(wrap(np.copy(value._array)), AS_IT_IS, _history_of(value))
            if value._storage is storage
            else value
        )
    written = [number for number, own in (node.output_storages or {}).items() if own is storage]
    if type(code) is int and -1 - code in written and type(value) is not SavedTensor:
        return SavedTensor(wrap(np.copy(value)), AS_IT_IS, (OWN, -1 - code))
    if type(value) is SavedList and code in ("outs", "extras"):
        first = node.op.rare.extras_from if code == "extras" else 0
        return SavedList([_apart(node, -1 - number, item, storage) for number, item in enumerate(value, first)])
    return value


AS_IT_IS = (identity_rule, identity_rule)  # hooks that do nothing

# --- attributes of nodes ---------------------------------------------------------------------------------------------


def saved_attribute(node: Node, name: str) -> Operand:
    """`node._saved_<name>`: a saved value as a tensor, or a parameter."""
    position = _position(node, name)
    if position is not None:
        value = tensors_of(node)[position]
        if isinstance(value, Tensor) and value._node is node:
            share_version(node, value._output_nr, value)
        return value.owner_or_self() if type(value) is Anchor else value
    value = (node.params or {}).get(name)
    return _indices(value) if name == "index" and value is not None else value


def share_version(node: Node, number: int, output: Tensor) -> None:
    """Let a saved output that users or hooks see count writes together with the output itself."""
    if node.output_storages is None:
        node.output_storages = {}
    output._storage = node.output_storages.setdefault(number, Storage())


def _indices(index: tuple[Any, ...]) -> tuple[Tensor | None, ...]:
    """An index as torch keeps it: tensors, and None for whole axes."""
    return tuple(wrap(part) if hasattr(part, "dtype") else None for part in index)


def raw_saved_attribute(node: Node, name: str) -> RawSaved:
    """`node._raw_saved_<name>`: the place of a saved value, to which hooks can be given."""
    position = _position(node, name, must_live=False)
    if position is None:
        raise AttributeError(f"{node.name()} did not save {name!r} this time")
    return RawSaved(node, position)


def _position(node: Node, name: str, must_live: bool = True) -> int | None:
    op = node.op
    for position, code in enumerate(node.plan.saves):
        if type(code) is tuple:
            own = f"{op.inputs[code[1]]}_shape"
        else:
            own = ("out" if code < 0 else op.inputs[code]) if type(code) is int else code
        if own == name:
            if must_live and node.saved is FREED:
                raise RuntimeError(SECOND_TIME)
            return position
    return None


class RawSaved:
    """A saved value in its place, to which a pair of hooks can be given afterwards. Torch's name is SavedTensor."""

    def __init__(self, node: Node | None = None, position: int = 0, item: int | None = None) -> None:
        if node is None:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")
        self._node: Node = node
        self._position: int = position
        self._item: int | None = item  # for one of several values saved under one name

    def _entry(self) -> Any:
        if self._node.saved is FREED:
            raise RuntimeError(FREED_BEFORE_HOOKS)
        value = self._node.saved[self._position]
        return value if self._item is None else value[self._item]

    @property
    def data(self) -> Any:
        """The result of the pack hook; without hooks the saved tensor itself (an output without its history)."""
        value = self._entry()
        if type(value) is SavedTensor:
            packed = value.packed
            return packed.owner_or_self() if type(packed) is Anchor else packed
        return _shown(value)

    @property
    def unpack_hook(self) -> Any:
        """The function that gets the tensor back, None if there is none."""
        value = self._entry()
        return value.unpack if type(value) is SavedTensor else None

    def unpack(self) -> Tensor | None:
        """The saved tensor, as a rule of the backward pass gets it."""
        value = self._entry()
        if self._node.op is None:  # a custom function knows its own values
            return self._node.unpacked(value)  # type: ignore[attr-defined]
        tensor = _with_history(self._node, self._position, value) if self._item is None else _shown(value)
        return tensor.owner_or_self() if type(tensor) is Anchor else tensor

    def register_hooks(self, *hooks: Function) -> None:
        """`register_hooks(pack, unpack)`: keep `pack(tensor)`, and get the tensor back from it by `unpack`."""
        if len(hooks) != 2 or not all(map(callable, hooks)):
            raise TypeError(
                "register_hooks(): incompatible function arguments. It takes two functions: one that packs a tensor "
                "and one that gets it back."
            )
        value = self._entry()
        if value is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if type(value) is SavedTensor:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set.")
        tensor = _shown(value)
        node, position = self._node, self._position
        number = getattr(value, "number", None)  # of an output that a custom function saved
        if node.op is not None:
            code = node.plan.saves[position]
            number = self._item if code == "outs" else -1 - code if type(code) is int and code < 0 else None
        entry = SavedTensor(tensor, hooks) if number is None else packed_output(node, number, tensor, hooks)
        replaced: Any = entry
        if self._item is not None:
            values = list(node.saved[position])
            values[self._item] = entry
            replaced = SavedList(values)
        node.saved = (*node.saved[:position], replaced, *node.saved[position + 1 :])
        node.arrays = None


FREED_BEFORE_HOOKS: str = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through "
    "the graph a second time or if you need to access saved variables after calling backward."
)


def _shown(value: Operand) -> Operand:
    """A saved value as the tensor to show to users."""
    value = getattr(value, "tensor", value)
    if isinstance(value, Tensor):
        return value.owner_or_self() if type(value) is Anchor else value
    return None if value is None else wrap(getattr(value, "array", value))


def _history_of(tensor: Tensor) -> Root:
    if not tensor._requires_grad:
        return (None, 0)
    return (tensor, 0) if tensor._node is None else (tensor._node, tensor._output_nr)


def pack(pack_hook: Function, tensor: Tensor) -> Any:
    """Run a pack hook; it may not write to what it is given."""
    before = 0 if tensor._storage is None else tensor._storage.version
    from .grad_mode import no_grad

    with no_grad():
        packed = pack_hook(tensor)
    after = 0 if tensor._storage is None else tensor._storage.version
    if after != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
            "be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if "
            "you need to perform in-place operations on the input to a pack hook."
        )
    return packed


def packed_output(node: Node, number: int, output: Tensor, hooks: HookPair) -> SavedTensor:
    """An output that its own node saves, through a pair of saved-tensor hooks."""
    output = output.detach() if output._node is not None else output
    if output._storage is None:
        share_version(node, number, output)
    return SavedTensor(output, hooks, (OWN, number))


def pack_inputs(plan: Plan, inputs: Operands, hooks: HookPair) -> dict[int, SavedTensor]:
    """The inputs that a plan saves, through a pair of saved-tensor hooks, by their numbers."""
    return {
        code: SavedTensor(anchor_or_self(inputs[code]), hooks)
        for code in plan.saves
        if type(code) is int and code >= 0 and isinstance(inputs[code], Tensor)
    }


def pack_saved(node: Node, hooks: HookPair, packed: dict[int, SavedTensor]) -> None:
    """Pass every saved tensor of a new node through the innermost pair of saved-tensor hooks, `packed` ones excepted."""
    entries: list[Any] = []
    for code, value in zip(node.plan.saves, node.saved, strict=True):
        if code in packed:
            entries.append(packed[code])
        elif isinstance(value, Tensor):
            entries.append(SavedTensor(value, hooks))
        elif type(code) is int and code < 0:
            entries.append(packed_output(node, -1 - code, wrap(value), hooks))
        elif type(value) is SavedList and code == "arrays":
            entries.append(
                SavedList([SavedTensor(item, hooks) if isinstance(item, Tensor) else item for item in value])
            )
        elif type(value) is SavedList:
            first = node.op.rare.extras_from if code == "extras" else 0
            items = [packed_output(node, number, wrap(item), hooks) for number, item in enumerate(value, first)]
            entries.append(SavedList(items))
        else:
            entries.append(value)
    node.saved = tuple(entries)
    node.arrays = None
