"""Parts of all transforms: fresh leaves for a function's arguments, results without them, choosing arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy import ndarray

from ..core.basics.types import Arguments, Array, Edge, Function, Reach
from ..core.general import payload_of
from ..core.mode import current_mode, set_mode, transform_depth
from ..core.tape import apply, wrap
from ..core.tensor import Tensor, anchor_of
from ..core.writes import detach_from_tape
from ..ops.shape import alias
from ..transforms.arrays.batched import Batched, level_of
from ..transforms.arrays.batching_rules import is_tensor
from ..transforms.arrays.own_memory import is_followed
from ..utils._pytree import PyTree, TreeSpec, tree_flatten, tree_map, tree_map_only

if TYPE_CHECKING:
    from contextvars import Token

    from ..core.mode import Mode

_depth = transform_depth


class transform:
    """The body of a transform: grad mode on, inference mode off, and `backward()` refused. Gives the mode outside."""

    mode: Mode

    def __enter__(self) -> Mode:
        self.mode = mode = current_mode()
        self.token: Token[int] = _depth.set(_depth.get() + 1)
        if not mode.grad:
            set_mode(mode.replace(grad=True, inference=False))
        return mode

    def __exit__(self, *error: object) -> None:
        set_mode(self.mode)
        _depth.reset(self.token)


def inner_leaf(x: object, recording: bool) -> Tensor:
    """A tensor to differentiate with respect to: the value of `x`, connected to its graph if that is recorded."""
    if not isinstance(x, Tensor):
        raise ValueError(
            f"Thing passed to transform API must be Tensor, got {type(x)}. Arguments are tensors, which torch.tensor(...) "
            "makes of numbers and arrays, or lists, tuples and dicts of them."
        )
    if x._array.dtype.kind not in "fcV":
        raise RuntimeError(
            f"only Tensors of floating point dtype can require gradients. This argument has dtype {x.dtype!r}: "
            "convert it first."
        )
    level = current_mode().batch_level
    tangents = x._tangent
    if level and level_of(x._array) != level:
        leaf = wrap(Batched(payload_of(x, level), level, False))
        if tangents is not None:
            tangents = {number: tangent for number, tangent in tangents.items() if number > level}
    elif recording and x.requires_grad:
        return apply(alias, (x,))
    else:
        leaf = wrap(x.memory())
    leaf._requires_grad = True
    if tangents:
        leaf._tangent = tangents
        anchor_of(leaf)._tangent = tangents
    return leaf


def fresh_leaves(tree: PyTree, recording: bool) -> tuple[list[Tensor], TreeSpec]:
    """Inner leaves of a tree as a list, and the tree's structure."""
    flat, spec = tree_flatten(tree)
    return [inner_leaf(x, recording) for x in flat], spec


def inner_leaves(tree: PyTree, recording: bool) -> PyTree:
    """Every tensor of a tree as a leaf of the transform's own graph."""
    return tree_map(lambda x: inner_leaf(x, recording), tree)


def edge_of(tensor: Tensor) -> Edge:
    """The place that a gradient for this tensor is sent to: its node, or its anchor if it is a leaf."""
    return anchor_of(tensor) if tensor._node is None else tensor._node


def settle(own: Reach) -> None:
    """A transform is over: what it returned still leads to its leaves, but nobody else will ask about these."""
    for target in own:
        if not target.is_node:
            target._settled = True


def has_outer_history(output: Tensor, own: Reach) -> bool:
    """True if something outside the transform follows how `output` was computed."""
    return output._tangent is not None or is_followed(output._array) or leads_out(output, own)


def is_watched(value: Tensor, recording: bool) -> bool:
    """True if something outside the transform follows a cotangent or tangent that the transform is given."""
    return value._tangent is not None or recording and value.requires_grad or is_followed(value._array)


def leads_out(output: Tensor, own: Reach) -> bool:
    """True if the history of `output` goes beyond the transform's own leaves."""
    if not output.requires_grad:
        return False
    seen: Reach = set()
    stack = [edge_of(output)]
    while stack:
        target = stack.pop()
        if target in seen:
            continue
        seen.add(target)
        if not target.is_node:
            if target not in own and not getattr(target, "_settled", False):
                return True
        elif target in own:
            return True  # an argument with a history of its own: a fresh one would have no node
        else:
            stack.extend([edge for edge in target.edges if edge is not None])
    return False


def release(tree: PyTree, own: Reach, recording: bool) -> PyTree:
    """Results on their way out: the history that leads to the transform's own leaves only is forgotten.

    Where nothing is recorded outside, all of it is.
    """
    if isinstance(tree, Tensor):
        return release_one(tree, own, recording)
    if type(tree) is list:
        return [release_one(x, own, recording) if isinstance(x, Tensor) else release(x, own, recording) for x in tree]
    return tree_map_only(Tensor, lambda x: release_one(x, own, recording), tree)


def release_aux(aux: PyTree, own: Reach, recording: bool) -> PyTree:
    """The auxiliary results of a function, without the transform's own history; an error unless they are trees of tensors."""
    check_aux(aux)
    return release(aux, own, recording)


def check_aux(aux: PyTree) -> None:
    """Complain about anything but tensors in what a function returns beside its outputs."""
    for value in tree_flatten(aux)[0]:
        if not isinstance(value, Tensor):
            raise RuntimeError(
                f"Expected tensors, got unsupported type {type(value)}. What a function returns beside its outputs "
                "(has_aux=True) may be a tree of tensors: turn numbers into tensors, keep other things outside."
            )


def check_real(flat: list[Tensor], name: str, which: str) -> None:
    """Jacobians are of real functions: complain about complex inputs or outputs."""
    for position, value in enumerate(flat):
        if value._array.dtype.kind == "c":
            raise RuntimeError(
                f"{name}: Expected all {which} to be real but received complex tensor at flattened input idx: "
                f"{position}. Use torch.view_as_real to work on real and imaginary parts."
            )


def release_one(x: Tensor, own: Reach, recording: bool) -> Tensor:
    """One tensor on its way out of a transform."""
    array = x._array
    if not x.requires_grad and x._tangent is None and (type(array) is not Batched or type(array.array) is ndarray):
        return x
    result = detached(x) if x.requires_grad and not (recording and leads_out(x, own)) else x
    if type(array) is Batched and not result.requires_grad:
        released_array = _released_inside(array, own, recording)
        if released_array is not array:
            result = wrap(released_array)
            result._tangent = x._tangent
    if x._tangent is not None:
        tangents = {level: release_one(tangent, own, recording) for level, tangent in x._tangent.items()}
        if any(tangents[level] is not tangent for level, tangent in x._tangent.items()):
            result._tangent = tangents
    return result


def _released_inside(array: Batched, own: Reach, recording: bool) -> Batched:
    """A batch without what the tapes outside it know of the transform's own leaves."""
    inside = array.array
    if type(inside) is Batched:
        new: Array = _released_inside(inside, own, recording)
    else:
        new = release_one(inside, own, recording) if is_tensor(inside) else inside
    return array if new is inside else array.same(new)


def detached(x: Tensor) -> Tensor:
    """The tensor without this tape's history, with its tangents."""
    result = detach_from_tape(x)
    result._tangent = x._tangent
    return result


# --- arguments ---


def check_argnums(argnums: int | tuple[int, ...], count: int) -> None:
    """Complain about numbers of arguments that are not there."""

    def check(number: int) -> None:
        if not -count <= number < count:
            raise RuntimeError(f"Got argnum={number}, but only {count} positional inputs")

    if isinstance(argnums, int) and not isinstance(argnums, bool):
        check(argnums)
    elif isinstance(argnums, tuple):
        if not argnums:
            raise RuntimeError("argnums must be non-empty")
        for number in argnums:
            if not isinstance(number, int):
                raise RuntimeError(f"argnum must be int, got: {type(number)}")
        wrapped = [number % count for number in argnums if -count <= number < count]
        for number in argnums:
            check(number)
        if len(set(wrapped)) != len(wrapped):
            raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    else:
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")


def select_arguments(args: Arguments, argnums: int | tuple[int, ...]) -> PyTree:
    """The arguments that `argnums` names."""
    check_argnums(argnums, len(args))
    return args[argnums] if isinstance(argnums, int) else tuple(args[number] for number in argnums)


def replace_arguments(args: Arguments, argnums: int | tuple[int, ...], new: PyTree) -> Arguments:
    """The arguments, with those that `argnums` names exchanged."""
    values = list(args)
    if isinstance(argnums, int):
        values[argnums] = new
    else:
        for number, value in zip(argnums, new, strict=True):
            values[number] = value
    return tuple(values)


def name_of(func: Function) -> str:
    """The name of a function for a message."""
    return getattr(func, "__name__", None) or repr(func)


def functionalize(func: Function, *, remove: str = "mutations") -> Function:
    """The function itself: operations here already follow writes in place."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove={remove!r}): invalid option for argument 'remove'. Valid options are: "
            "'mutations', 'mutations_and_views'"
        )
    return func


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor without a transform: the whole batch instead of one example, the value without its tangent."""
    array = tensor._array
    while type(array) is Batched:
        inside = array.array
        tensor = inside if is_tensor(inside) else wrap(inside)
        array = tensor._array
        if not recurse:
            break
    return tensor
