"""Passes as they are asked for: `backward()` to leaves, `grad()` towards inputs, one node by hand.

The walk itself is in `engine.py`, what users call in `roots.py`. An ordinary pass (one root, nothing but the default
mode, no hooks) goes straight to `walk`.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from .accumulate import DONE, commit
from .basics.quiet import first_filter, restore, silence, usual_settings, warning_settings, warnings_are_dropped
from .basics.storage import clock
from .cotangents import metadata_of
from .engine import Hooks, Sweep, free, sweep_back, walk
from .mode import RECORD, current_mode, set_mode, transform_depth
from .mostly_zeros import Rows
from .node import Node
from .reach import leads_only_to, leads_to_hooks
from .tape import wrap
from .tensor import Anchor, Tensor

if TYPE_CHECKING:
    from .basics.types import Cotangent, Edge, Found, Gradient, Result, Root


def _ordinary_pass(target: Edge, cotangent: Cotangent, wanted: set[Anchor] | None, retain: bool | None) -> Found:
    """Run an ordinary pass from one node, by a written-out program if one fits; return the four values of `walk`.

    A program that has also written the gradients returns `DONE`, one that has made them tensors a dict. None if the pass
    would end at other leaves than those wanted.
    """
    for program in target.plan.repeats.programs:
        found = program(target, cotangent, clock.last_write, wanted, retain)
        if found is not None:
            return found
    if wanted is not None and not leads_only_to(target, wanted):
        return None
    found = walk(target, cotangent, retain)
    if found[3] is None:
        if target.plan.repeats.count_walk(len(found[2])):
            from .written_out.repeats import write_out_if_repeated  # not part of every program

            write_out_if_repeated(target, found[2])
    return found


def run_ordinary_backward(target: Edge, cotangent: Cotangent, retain: bool | None, found: Found = None) -> None:
    """`backward()` from one root to all leaves, in an ordinary pass; `found` is what a program has found already."""
    if found is None:
        if Hooks.of_leaves and leads_to_hooks(target):
            backward_to_leaves([(target, 0)], [cotangent], bool(retain), False)
            return
        settings = warning_settings()
        try:
            try:
                silence()
                found = _ordinary_pass(target, cotangent, None, retain)
            finally:
                restore(settings)
        finally:
            if found is None or found is not DONE and found[3] is not None:
                set_mode(RECORD)  # a sweep may have switched the mode; nothing else does
        if found is DONE:
            return
    leaves, owned, executed, sweep = found
    commit(leaves, owned, False)
    if not retain:
        free(executed)
    if sweep is not None and sweep.callbacks is not None:
        sweep.call_back()


def gradients_of_leaves(
    target: Edge, slot: int, cotangent: Cotangent, anchors: list[Anchor], retain: bool
) -> tuple[Tensor, ...] | None:
    """The gradients of leaves, if these are all the leaves there are, each is reached, and the pass is an ordinary one."""
    mode = current_mode()
    if slot or not target.order or target.shape is None or Hooks.in_use or not mode.ordinary:
        return None
    settings, wanted = warning_settings(), set(anchors)
    found: Found = None
    is_unheard = warnings.filters and warnings.filters[0] is first_filter[0] or warnings_are_dropped()
    if mode is RECORD and settings is usual_settings and is_unheard:
        try:
            for program in target.plan.repeats.programs:
                found = program(target, cotangent, clock.last_write, wanted, retain)
                if found is not None:
                    break
        except RuntimeWarning:  # somebody made errors of warnings
            pass
    if found is None:
        if Hooks.of_leaves and leads_to_hooks(target):
            return None
        found = ...
        try:
            try:
                silence()
                if mode is not RECORD:  # a batch may hold tensors, which rules are not to be recorded on
                    set_mode(mode.replace(grad=False))
                found = _ordinary_pass(target, cotangent, wanted, retain)
            finally:
                restore(settings)
        finally:
            if mode is not RECORD or found is ... or type(found) is tuple and found[3] is not None:
                set_mode(mode)
        if found is None:
            return None
    if type(found) is dict:
        if len(anchors) == len(found):
            return tuple([found[anchor] for anchor in anchors])
        return tuple([wrap(np.array(found[anchor]._array)) for anchor in anchors])  # some were asked for twice
    leaves, owned, executed, sweep = found
    answers = []
    for anchor in anchors:
        gradient = leaves.get(anchor)
        if gradient is None:
            return None  # asking again in the general way says which it was
        answers.append(_as_own_tensor(gradient, anchor in owned))
        owned.pop(anchor, None)
    if not retain:
        free(executed)
    if sweep is not None and sweep.callbacks is not None:
        sweep.call_back()
    return tuple(answers)


def backward_to_leaves(
    roots: list[Root], cotangents: list[Cotangent], retain: bool, record: bool, inputs: list[Root] | None = None
) -> None:
    """`backward()`: gradients of all leaves (or only of what is in `inputs`) go to their `.grad`."""
    if transform_depth.get():
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )
    sweep = Sweep(roots)
    sweep.retain = retain
    if inputs is not None:
        sweep.towards(inputs, accumulating=True)
    if record:
        sweep.recorded()
    gradients = sweep_back(sweep, cotangents)
    commit(gradients, sweep.owned, record)
    if not retain:
        sweep.free()
    if sweep.callbacks is not None:
        sweep.call_back()


def backward_to_inputs(
    roots: list[Root], cotangents: list[Cotangent], inputs: list[Root], retain: bool, record: bool, level: int = 0
) -> list[Tensor | None]:
    """Gradients of just these inputs [(node or leaf anchor, output number)]; None where nothing arrived.

    `level` is that of the batches, if the cotangents are such.
    """
    sweep = Sweep(roots).towards(inputs, accumulating=False)
    sweep.level, sweep.retain = level, retain
    if record:
        sweep.recorded()
    gradients = sweep_back(sweep, cotangents)
    answers = []
    for target, slot in inputs:
        found = sweep.captured.get((target, slot)) if target.is_node else gradients.get(target)
        if found is None or record:
            answers.append(found)
        else:
            answers.append(_as_own_tensor(found, target in sweep.owned))
            sweep.owned.pop(target, None)
    if not retain:
        sweep.free()
    if sweep.callbacks is not None:
        sweep.call_back()
    return answers


def _as_own_tensor(found: Gradient, own: bool) -> Tensor:
    """A gradient as a tensor that shares memory with nobody."""
    if type(found) is Rows:
        return found.sparse()
    return wrap(found if own or not isinstance(found, (np.ndarray, np.generic)) else np.array(found))


def call_node(node: Node, grads: tuple[Cotangent, ...]) -> Result:
    """`grad_fn(gradient)`: run one node by hand."""
    expected = 1 if node.outputs is None else len(node.outputs)
    if len(grads) != expected:
        raise TypeError(f"{node.name()} expected {expected} arguments, got {len(grads)} instead")
    sweep = Sweep([])
    if current_mode().grad:
        sweep.recorded()
    given = [g if sweep.record or not isinstance(g, Tensor) else g._array for g in grads]
    cotangent = given[0] if node.outputs is None else sweep.fill_missing(node, given)
    answers = []
    slots = node.slots or (0,) * len(node.edges)
    for target, slot, result in zip(node.edges, slots, sweep.call_rules(node, cotangent), strict=True):
        if result is not None and target is not None:
            result = sweep.unbroadcast(result, *metadata_of(target, slot))
        answers.append(result if result is None or isinstance(result, Tensor) else wrap(result))
    shown = [answers[position] for position in node.shown_edges()]
    return shown[0] if len(shown) == 1 else tuple(shown)
