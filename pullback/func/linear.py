"""`linearize`: a function's value at a point, and its Jacobian there as a linear function that can be called again.

The function runs once. What carries cotangents back through its graph is linear in them, so it is itself recorded, on
cotangents that are still unknown; that record carried back once more takes tangents forward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.types import Function, Reach
from ..core.tape import wrap
from ..utils._pytree import PyTree, tree_flatten, tree_unflatten
from .forward import _check, jvp
from .reverse import _check_tensors, gradients_of
from .wrapping import edge_of, inner_leaf, is_watched, release, settle, transform

if TYPE_CHECKING:
    from ..core.tensor import Tensor


def linearize(func: Function, *primals: PyTree) -> tuple[PyTree, Function]:
    """(outputs, jvp_fn): the value at `primals`, and the Jacobian there as a linear function of tangents.

    `func` runs once, here: `jvp_fn` only repeats what depends on the tangents.
    """
    flat, spec = tree_flatten(primals)
    _check(flat, "linearize(f, *primals)", "primals")
    with transform() as outside:
        leaves = [inner_leaf(x, outside.grad) for x in flat]
        output = func(*tree_unflatten(leaves, spec))
        flat_out, out_spec = tree_flatten(output)
        _check_tensors(flat_out, "linearize(f, *primals)", "primals")
        own = {edge_of(leaf) for leaf in leaves}
        carry = None if _has_custom_nodes(flat_out) else _recorded_if_possible(flat_out, leaves, own)
    answer = release(output, own, outside.grad)

    def jvp_fn(*tangents: list[Tensor]) -> Any:
        """The Jacobian times these tangents."""
        given, given_spec = tree_flatten(tangents)
        if given_spec != spec:
            raise RuntimeError(f"Expected the tangents {given_spec} to have the same argspec as the primals {spec}")
        _check_tangents(given, flat)
        if carry is None:
            return jvp(func, primals, tangents)[1]
        return tree_unflatten(carry(given), out_spec)

    return answer, jvp_fn


def _recorded_if_possible(outputs: list, leaves: list, own: Reach) -> Callable[[list], list] | None:
    """`_recorded`; None for a function that wrote over something that its backward pass needs, but tangents do not."""
    try:
        return _recorded(outputs, leaves, own)
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        return None


def _recorded(outputs: list, leaves: list, own: Reach) -> Callable[[list], list]:
    """The pullback of a graph, recorded and turned round: from tangents of the leaves to those of the outputs."""
    smooth = [output for output in outputs if output._array.dtype.kind in "fcV"]
    unknown = [inner_leaf(wrap(np.zeros(output._array.shape, output._array.dtype)), False) for output in smooth]
    pulled = gradients_of(smooth, leaves, unknown, True, own, record=True)
    everything = own | {edge_of(leaf) for leaf in unknown}
    settle(everything)

    def carry(tangents: list[Tensor]) -> list:
        with transform() as outside:
            record = any([is_watched(tangent, outside.grad) for tangent in tangents]) or None
            found = gradients_of(pulled, unknown, tangents, outside.grad, everything, record=record)
            results = iter(release(found, everything, outside.grad))
        return [
            next(results)
            if output._array.dtype.kind in "fcV"
            else wrap(np.zeros(output._array.shape, output._array.dtype))
            for output in outputs
        ]

    return carry


def _has_custom_nodes(outputs: list[Tensor]) -> bool:
    """True if a custom function takes part: its tangents come from its own `jvp`, not from its `backward`."""
    seen: Reach = set()
    stack = [edge_of(output) for output in outputs if output.requires_grad]
    while stack:
        target = stack.pop()
        if target in seen or not target.is_node:
            continue
        seen.add(target)
        if target.op is None:
            return True
        stack.extend(edge for edge in target.edges if edge is not None)
    return False


def _check_tangents(tangents: list[Tensor], primals: list) -> None:
    _check(tangents, "jvp_fn(*tangents)", "tangents")
    for position, (tangent, primal) in enumerate(zip(tangents, primals, strict=True)):
        for what, own, wanted in (("shape", tangent.shape, primal.shape), ("dtype", tangent.dtype, primal.dtype)):
            if own != wanted:
                raise RuntimeError(
                    f"tangent:{position} with {what} {own} in flattened pytree doesn't match the {what} {wanted} of the "
                    "corresponding primal."
                )


__all__ = ["linearize"]
