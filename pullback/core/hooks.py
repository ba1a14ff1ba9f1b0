"""Running hooks during a backward pass: on tensors, on nodes, and gradients retained for non-leaf tensors.

Order, as in torch: tensor hooks, then retained gradients, then the node's pre-hooks, then the node, then its
post-hooks. Hooks see tensors; in an ordinary pass the arrays are wrapped for them and unwrapped after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..transforms.arrays.batched import NotBatchable, level_of
from .accumulate import commit
from .cotangents import metadata_of
from .mostly_zeros import Rows
from .node import Node, NodeHooks
from .tape import wrap
from .tensor import Anchor, Tensor
from .unbroadcast import dense

if TYPE_CHECKING:
    from .basics.types import Cotangent, DType, Function, Gradient, Hook, Operand, Result, Shape
    from .engine import Sweep


def _name_of(hook: Hook) -> str:
    return getattr(hook, "__name__", None) or type(hook).__name__


def call_hook(sweep: Sweep, function: Function, *gradients: Cotangent) -> Result:
    """Call a program's hook or `backward`; in a batched pass row by row, if it asks for the values of one row."""
    try:
        return function(*gradients)
    except NotBatchable as error:
        parts = [part for given in gradients for part in (given if isinstance(given, tuple) else (given,))]
        if not sweep.level or sweep.level != max(level_of(part._array) for part in parts if part is not None):
            raise
        from ..transforms.arrays.fallback import call_example_by_example

        return call_example_by_example(function, gradients, {}, error)


def run_tensor_hooks(sweep: Sweep, hooks: dict[int, Hook] | None, gradient: Gradient) -> Gradient:
    """Pass a gradient through tensor hooks; each may replace it by one of the same shape and dtype."""
    if not hooks:
        return gradient
    tensor = gradient
    if gradient is not None and not sweep.record:
        tensor = _as_tensor(np.array(gradient) if _is_plain(gradient) else gradient)
    given = tensor
    for hook in list(hooks.values()):
        result = call_hook(sweep, hook, tensor)
        if result is not None:
            if tensor is None:
                raise RuntimeError("can't replace a None gradient with a non-None value")
            check_replacement(hook, tensor, result)
            tensor = result
    return gradient if type(gradient) is Rows and tensor is given else _as_cotangent(sweep, tensor)


def _is_plain(value: Operand) -> bool:
    return isinstance(value, (np.ndarray, np.generic))


def check_replacement(hook: Hook, old: Tensor, new: object) -> None:
    """Complain about a hook's result that does not fit what it replaces."""
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if new._array.shape != old._array.shape:
        raise RuntimeError(f"hook '{_name_of(hook)}' has changed the size of value")
    if new.dtype is not old.dtype:
        raise RuntimeError(
            f"hook '{_name_of(hook)}' has changed the type of value (was torch.{old.dtype.type_name}Tensor got "
            f"torch.{new.dtype.type_name}Tensor)"
        )


def run_before(sweep: Sweep, node: Node, cotangent: Cotangent) -> Cotangent:
    """Tensor hooks and retained gradients, which come before anything else happens to a node's cotangents.

    An output of several that nothing was computed from has no gradient: its hooks get None.
    """
    hooks: Any = node.hooks
    several = node.outputs is not None
    parts = list(cotangent) if several else [cotangent]
    for slot, tensor_hooks in hooks.tensor_hooks.items():
        parts[slot] = run_tensor_hooks(sweep, tensor_hooks, parts[slot])
    for slot, reference in hooks.retained.items():
        tensor = reference()
        if tensor is not None and parts[slot] is not None:
            retain_gradient(sweep, tensor, parts[slot])
    return parts if several else parts[0]


def retain_gradient(sweep: Sweep, tensor: Tensor, gradient: Gradient) -> None:
    """Put the gradient of a non-leaf tensor that asked for it into its `.grad`, which has no room for a whole batch."""
    if level_of(gradient._array if sweep.record else gradient) > level_of(tensor._array):
        return
    value = gradient if sweep.record else wrap(np.array(gradient) if _is_plain(gradient) else gradient)
    if tensor._grad is None:
        tensor._grad = value
    elif sweep.record:
        from ..ops.pointwise import add

        tensor._grad = add(tensor._grad, value)
    else:
        tensor._grad = wrap(tensor._grad._array + value._array)


def run_pre_hooks(sweep: Sweep, node: Node, cotangent: Cotangent) -> Cotangent:
    """Let the hooks of a node see, and replace, what arrives there."""
    assert node.hooks is not None
    if not node.hooks.pre:
        return cotangent
    parts = call_pre_hooks(sweep, node.hooks, list(cotangent) if node.outputs is not None else [cotangent])
    return parts if node.outputs is not None else parts[0]


def call_pre_hooks(sweep: Sweep, hooks: NodeHooks, parts: list[Cotangent]) -> list[Cotangent]:
    """Call the pre-hooks of a node or leaf; return the cotangents, some of which hooks may have replaced."""
    for hook in list(hooks.pre.values()):
        given = tuple(_as_tensor(part) for part in parts)
        result = call_hook(sweep, hook, given)
        if result is not None:
            parts = [_as_cotangent(sweep, part) for part in _checked_tuple(hook, result, given)]
    return parts


def run_leaf_hooks(sweep: Sweep, hooks: NodeHooks, gradient: Gradient) -> Gradient:
    """Tensor hooks and node pre-hooks of a leaf."""
    gradient = run_tensor_hooks(sweep, hooks.tensor_hooks.get(0), gradient)
    if hooks.pre and sweep.accumulating:  # `grad` takes the gradient away before the leaf's own node would run
        gradient = call_pre_hooks(sweep, hooks, [gradient])[0]
    return gradient


def run_accumulated(hooks: NodeHooks, leaf: Tensor) -> None:
    """Hooks of a leaf whose `.grad` has been added to."""
    for hook in list(hooks.accumulated.values()):
        if hook(leaf) is not None:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def add_to_leaves(gradients: dict[Anchor, Gradient]) -> None:
    """Add to `.grad` of all these leaves, and then run the hooks that wait for that.

    For what was computed from the gradients of a pass, which has run the hooks that may change a gradient.
    """
    commit(gradients, dict.fromkeys(gradients), False)
    for anchor in gradients:
        leaf = anchor._owner()
        if leaf is not None and anchor._hooks is not None:
            run_accumulated(anchor._hooks, leaf)


def run_after(sweep: Sweep, node: Node, results: list[Gradient], cotangent: Cotangent) -> list[Gradient]:
    """Post-hooks of a node: they see what went out and what came in, and may replace what goes out.

    What came in is None for hooks that were registered while the node ran.
    """
    several = node.outputs is not None
    if cotangent is None:
        came_in: tuple[Tensor | None, ...] = (None,) * (1 if node.outputs is None else len(node.outputs))
    else:
        came_in = tuple(_as_tensor(part) for part in (cotangent if several else (cotangent,)))
    hooks: Any = node.hooks
    shown = node.shown_edges()
    for hook in list(hooks.post.values()):
        going_out = tuple(
            _as_tensor(
                part
                if part is None or node.edges[position] is None
                else sweep.unbroadcast(part, *_metadata(node, position))
            )
            for position, part in [(position, results[position]) for position in shown]
        )
        replaced = call_hook(sweep, hook, going_out, came_in)
        if replaced is not None:
            results = list(results)
            for position, part in zip(shown, _checked_tuple(hook, replaced, going_out), strict=True):
                results[position] = _as_cotangent(sweep, part)
    return results


def _metadata(node: Node, position: int) -> tuple[Shape, DType]:
    return metadata_of(node.edges[position], node.slots[position] if node.slots else 0)


def _checked_tuple(hook: Hook, result: object, expected: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    if isinstance(result, Tensor):
        result = (result,)
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(expected):
        raise RuntimeError(
            f"hook '{_name_of(hook)}' has returned an incorrect number of values (got {len(result)}, but expected "
            f"{len(expected)})"
        )
    for old, new in zip(expected, result, strict=True):
        if new is not None and not isinstance(new, Tensor):
            raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
        if old is not None and new is not None:
            check_replacement(hook, old, new)
    return result


def _as_tensor(part: Cotangent) -> Tensor | None:
    if type(part) is Rows:
        return part.sparse()
    return part if part is None or isinstance(part, Tensor) else wrap(part)


def _as_cotangent(sweep: Sweep, part: Tensor | None) -> Cotangent:
    if part is None:
        return None
    return dense(part) if sweep.record else dense(part)._array
