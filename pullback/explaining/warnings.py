"""Checks for probable mistakes in a backward pass: they look at the records, some at the values operations saved.

A warning says what happened, where, and what to do. Thresholds are here, by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.node import FREED
from ..core.tensor import Anchor, Tensor
from .collect import Collection, array_of
from .recording import cuts_behind
from .records import Operation, Root, Warning_, number, plain

DEAD_UNITS: float = 0.5  # share of units that never fire
SATURATED: float = 0.5  # share of elements where a sigmoid or tanh is flat
FLAT: float = 0.01  # a derivative below this counts as flat
EXPLODING: float = 1e4  # growth of the root mean square since the seed
VANISHING: float = 1e-8  # the same, where it shrinks
STEP: float = 1e4  # growth in a single operation


def find_warnings(collection: Collection, roots: list[Root]) -> list[Warning_]:
    """Everything the checks have to say, the most important first."""
    found: list[Warning_] = []
    for root in roots:
        found += _about_root(root)
    for operation, node in zip(collection.operations, collection.nodes, strict=True):
        found += _not_finite(operation)
        found += _dies(operation)
        found += _activations(operation, node)
        found += _steps(operation)
    found += _growth(collection, roots)
    found += _cut_branches(collection)
    found += _leaves(collection)
    found += _unreached(collection)
    found += _hooks(collection)
    by_key: dict[str, Any] = {operation.key: operation for operation in collection.operations}
    by_key.update({leaf.key: leaf for leaf in collection.leaves})
    for warning in found:
        if warning.key in by_key:
            by_key[warning.key].warnings.append(warning.text)
    return sorted(found, key=lambda warning: warning.severity == "note")


def _where(operation: Operation) -> str:
    place = f" at {operation.line.place()}" if operation.line else f" in {operation.module}" if operation.module else ""
    variable = f" (`{operation.variable}`)" if operation.variable else ""
    return f"{operation.title}{variable}{place}"


def _about_root(root: Root) -> Iterator[Warning_]:
    if root.origin == "assumed":
        yield Warning_(
            "no weights",
            f"{root.name} has {root.seed.size} elements and no gradient= was given: backward() refuses that. Shown "
            "here as if every element had the weight 1, which is what .sum().backward() computes.",
            root.key,
        )
    elif root.seed.size and not np.any(plain(root.seed)):
        yield Warning_("zero weights", f"The weights of {root.name} are all 0, so every gradient is 0.", root.key)


def _not_finite(operation: Operation) -> Iterator[Warning_]:
    came_in = [flow for flow in operation.incoming if flow is not None]
    if not came_in or not all(flow.finite for flow in came_in):
        return
    for arrow in operation.arrows:
        if arrow.flow is not None and not arrow.flow.finite:
            what = "NaN" if arrow.flow.nans else "Inf"
            count = arrow.flow.nans or arrow.flow.infinities
            yield Warning_(
                "nan",
                f"{what} is born here: {_where(operation)} got finite cotangents and sent {count} {what} of "
                f"{arrow.flow.size} to {arrow.input} (rule: {arrow.rule}). Keep its input away from the point where "
                "the derivative is unbounded, or choose a safe input with where() before the operation.",
                operation.key,
            )
            return


_FLAT_EVERYWHERE = frozenset({"sign", "round", "floor", "ceil", "trunc"})


def _dies(operation: Operation) -> Iterator[Warning_]:
    came_in = [flow for flow in operation.incoming if flow is not None]
    sent = [arrow.flow for arrow in operation.arrows if arrow.flow is not None]
    if not sent or not came_in or all(flow.all_zero for flow in came_in) or not all(flow.all_zero for flow in sent):
        return
    if not any(flow.size for flow in sent) or operation.title in ("relu", "threshold"):
        return
    reason = (
        "its derivative is 0 everywhere" if operation.title in _FLAT_EVERYWHERE else f"rule: {operation.arrows[0].rule}"
    )
    yield Warning_(
        "zero",
        f"The gradient becomes exactly 0 in {_where(operation)}: {reason}. Nothing behind it learns.",
        operation.key,
    )


def _activations(operation: Operation, node: Any) -> Iterator[Warning_]:
    if operation.title in ("relu", "threshold"):
        yield from _dead(operation, _saved_value(node))
    elif operation.title in ("sigmoid", "tanh"):
        out = _saved_value(node)
        if out is None or not out.size:
            return
        slope = np.abs(out * (1 - out)) * 4 if operation.title == "sigmoid" else np.abs(1 - out * out)
        share = float(np.mean(slope < FLAT))
        if share >= SATURATED:
            yield Warning_(
                "saturated",
                f"Saturated {_where(operation)}: {100 * share:.0f} % of its elements are where the curve is flat, so "
                "almost no gradient passes. Scale its input down, or use a loss that takes logits.",
                operation.key,
            )


def _dead(operation: Operation, out: np.ndarray | None) -> Iterator[Warning_]:
    if out is None or not out.size:
        return
    if not np.any(out > 0):
        yield Warning_(
            "dead relu",
            f"Dead {_where(operation)}: all {out.size} outputs are 0, so no gradient passes. Its input is negative "
            "everywhere: look at the bias, the learning rate and the initialisation, or use leaky_relu or gelu.",
            operation.key,
        )
        return
    if out.ndim < 2 or out.shape[0] < 4:
        return
    channel = 1 if out.ndim == 4 else out.ndim - 1
    alive = np.any(out > 0, axis=tuple(axis for axis in range(out.ndim) if axis != channel))
    dead = int(np.count_nonzero(~alive))
    if dead / alive.size >= DEAD_UNITS:
        yield Warning_(
            "dead relu",
            f"{dead} of {alive.size} units of {_where(operation)} are 0 for every example of this batch: no gradient "
            "reaches them.",
            operation.key,
        )


def _saved_value(node: Any) -> np.ndarray | None:
    if node.saved is FREED or not node.saved:
        return None
    array = array_of(node.saved[0])
    return None if array is None or array.dtype.kind not in "fV" else plain(array)


def _steps(operation: Operation) -> Iterator[Warning_]:
    came_in = max(
        (flow.root_mean_square for flow in operation.incoming if flow is not None and flow.finite), default=0.0
    )
    for arrow in operation.arrows:
        if arrow.flow is None or not arrow.flow.finite or not came_in:
            continue
        if arrow.flow.root_mean_square > STEP * came_in:
            yield Warning_(
                "exploding",
                f"{_where(operation)} makes the cotangent {number(arrow.flow.root_mean_square / came_in)} times "
                f"larger on its way to {arrow.input} (rule: {arrow.rule}).",
                operation.key,
            )


def _growth(collection: Collection, roots: list[Root]) -> Iterator[Warning_]:
    """The whole way from the seed to the leaves."""
    start = max((root.flow.root_mean_square for root in roots), default=0.0)
    sizes = [
        (leaf.flow.root_mean_square, leaf) for leaf in collection.leaves if leaf.flow is not None and leaf.flow.finite
    ]
    if not start or not sizes:
        return
    largest, leaf = max(sizes, key=lambda item: item[0])
    if largest > EXPLODING * start:
        yield Warning_(
            "exploding",
            f"The gradient of {leaf.name} is {number(largest / start)} times the seed (root mean square): exploding. "
            "Clip gradients, normalise, or lower the scale of the weights on its path.",
            leaf.key,
        )
    small = [(size, leaf) for size, leaf in sizes if 0 < size < VANISHING * start]
    if small:
        size, leaf = min(small, key=lambda item: item[0])
        others = f" (and {len(small) - 1} more)" if len(small) > 1 else ""
        yield Warning_(
            "vanishing",
            f"The gradient of {leaf.name}{others} is only {number(size / start)} times the seed (root mean square): "
            "vanishing. Look for saturated activations and long chains of small factors on its path.",
            leaf.key,
        )


# --- what is not in the graph ----------------------------------------------------------------------------------------


def _cut_branches(collection: Collection) -> Iterator[Warning_]:
    """Constants of operations that look at memory the graph computes gradients for: the work of detach() or .data."""
    alive = [(leaf.name, anchor._array) for leaf, anchor in zip(collection.leaves, collection.anchors, strict=True)]
    alive += [(name, tensor._array) for name, tensor in collection.names.tensors]
    for node in collection.nodes:
        for value in node.saved if node.saved is not FREED else ():
            if isinstance(value, Tensor) and value._requires_grad and not isinstance(value, Anchor):
                alive.append(
                    (collection.names.results.get((id(value._node), value._output_nr)) or "a result", value._array)
                )
    for operation, node in zip(collection.operations, collection.nodes, strict=True):
        for value in node.saved if node.saved is not FREED else ():
            if not isinstance(value, Tensor) or value._requires_grad or not _is_float_memory(value._array):
                continue
            for name, array in alive:
                if isinstance(array, np.ndarray) and np.may_share_memory(value._array, array):
                    yield Warning_(
                        "detached",
                        f"A branch is cut: {_where(operation)} uses the value of {name} without its history "
                        "(detach(), .data or a view taken under no_grad()). No gradient flows along that branch.",
                        operation.key,
                    )
                    break


def _is_float_memory(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in "fcV" and array.size > 0


def _leaves(collection: Collection) -> Iterator[Warning_]:
    """Leaves whose gradient is missing or zero."""
    for leaf in collection.leaves:
        if leaf.total is None:
            yield Warning_(
                "no gradient", f"Nothing arrives at {leaf.name}: a rule on its path gave no gradient.", leaf.key
            )
        elif leaf.flow is not None and leaf.flow.size and leaf.flow.all_zero:
            yield Warning_("zero", f"The gradient of {leaf.name} is exactly 0 in all elements.", leaf.key)


def _unreached(collection: Collection) -> Iterator[Warning_]:
    """Tensors that require grad and that this graph does not lead to."""
    reached = {id(anchor) for anchor in collection.anchors}
    elsewhere = []  # variables that were not asked about
    first = min((node.order for node in collection.nodes), default=0)
    for name, tensor, asked in collection.names.expected:
        if tensor._anchor is not None and id(tensor._anchor) in reached:
            continue
        cut = cuts_behind(tensor, 0 if asked else first)
        if cut is not None:
            kind = "integer cast" if cut.integer else "detached"
            yield Warning_(
                kind,
                f"The gradient of {name} is lost{f' at {cut.place}' if cut.place else ''}: {cut.text}. Its .grad stays "
                "as it is.",
            )
        elif asked:
            yield Warning_(
                "unused",
                f"{name} requires grad but the loss does not depend on it: its .grad stays None. It was not used, or "
                "the path was cut by detach(), no_grad(), .item(), NumPy, an integer or boolean result such as "
                "argmax, or a comparison.",
            )
        else:
            elsewhere.append(name)
    if elsewhere and not any(asked for _, _, asked in collection.names.expected):
        shown = ", ".join(elsewhere[:5]) + (f" and {len(elsewhere) - 5} more" if len(elsewhere) > 5 else "")
        verb = "requires" if len(elsewhere) == 1 else "require"
        yield Warning_(
            "unused",
            f"{shown} {verb} grad, but this loss does not depend on {'it' if len(elsewhere) == 1 else 'them'}.",
            None,
            "note",
        )


def _hooks(collection: Collection) -> Iterator[Warning_]:
    count = sum(
        node.hooks is not None and bool(node.hooks.tensor_hooks or node.hooks.pre or node.hooks.post)
        for node in collection.nodes
    )
    count += sum(
        anchor._hooks is not None and bool(anchor._hooks.tensor_hooks or anchor._hooks.pre)
        for anchor in collection.anchors
    )
    if count:
        yield Warning_(
            "hooks",
            f"{count} place{'s' * (count > 1)} in this graph ha{'ve' if count > 1 else 's'} hooks. They may change "
            "gradients in backward() and are not run here.",
            None,
            "note",
        )
