"""Forward mode: tangents travel along with values.

A tensor carries its tangents by level (`Tensor._tangent`). `apply_dual` takes the innermost level off the inputs, runs
the operation with what remains, and computes the tangent of the result by the operation's kind: from the partial
derivatives of an elementwise one, by the operation itself for linear ones, and otherwise by transposing the pullback,
which is linear in the cotangent. Tangents are tensors: recorded, batched or dual themselves where that is asked for.
The public names are in `forward_ad.py`.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import general, tape, views, writes
from ..core.grad_mode import enable_grad
from ..core.kernel import rule_names
from ..core.mode import NO_GRAD, RECORD, Mode, current_mode, set_mode
from ..core.op import Op, conjugate
from ..core.recording import value_of
from ..core.roots import grad
from ..core.tensor import Tensor, anchor_of
from ..core.unbroadcast import unbroadcast_tensor
from ..ops.casting import cast, real
from ..ops.shape import expand
from ..ops.striding import geometry_of, same_places
from .arrays.batched import Batched
from .safe_mode import rules_running

if TYPE_CHECKING:
    from ..core.basics.types import Array, Cotangent, Operands, Params, Result, Tangent
    from ..core.node import Node


def apply_dual(op: Op, inputs: Operands, params: Params | None, mode: Mode, level: int) -> Result:
    """Run an operation whose inputs have tangents of `level`, which is the innermost."""
    if level == 1 and _only_forward_mode(mode):  # without these tangents, operations are ordinary ones
        set_mode(RECORD if mode.grad else NO_GRAD)
        try:
            result = tape.apply(op, inputs, params)
            results, found = _with_tangents(op, inputs, params, result, level)
        finally:
            set_mode(mode)
    else:
        result = general._apply(op, inputs, params, mode, below=level)
        with rules_running(mode):
            results, found = _with_tangents(op, inputs, params, result, level)
    for out, tangent in zip(results, found, strict=True):
        if tangent is not None:
            set_tangent(out, level, tangent)
    note_output_tangents(results)
    return result


def _only_forward_mode(mode: Mode) -> bool:
    """True if no mode but forward mode is on, so that `apply_dual` can take the short way."""
    return not (
        mode.batch_level or mode.inference or mode.saved_hooks or mode.safe or mode.autocast is not None
        or mode.anomaly is not None or mode.profiler is not None or mode.dispatch
        or mode.node_hooks
    )  # fmt: skip


def _with_tangents(
    op: Op, inputs: Operands, params: Params | None, result: Result, level: int
) -> tuple[tuple[Tensor, ...], list[Tangent]]:
    """The results as a tuple, and their tangents."""
    results = result if isinstance(result, tuple) else (result,)
    tangents = [value._tangent.get(level) if isinstance(value, Tensor) and value._tangent else None for value in inputs]
    primals = tuple([below_level(value, level) if isinstance(value, Tensor) else value for value in inputs])
    outs = tuple([below_level(value, level) for value in results])
    return results, pushforward(op, primals, tangents, params or {}, outs)


def set_tangent(tensor: Tensor, level: int, tangent: Tensor) -> None:
    """Give a tensor a tangent at a level."""
    tensor._tangent = {**(tensor._tangent or {}), level: tangent}
    _note_carrier(tensor, level)


class _OpenLevels(threading.local):
    """The open levels of this thread: for each, weak references to the tensors and nodes that got a tangent there."""

    def __init__(self) -> None:
        self.carriers: dict[int, list[Any]] = {}


_open_levels = _OpenLevels()


def open_level(level: int) -> None:
    """From now on, remember who gets a tangent at this level: its number will be used again."""
    _open_levels.carriers[level] = []


def _note_carrier(carrier: Any, level: int) -> None:
    carriers = _open_levels.carriers.get(level)
    if carriers is not None:
        carriers.append(weakref.ref(carrier))
        if not len(carriers) & 0xFFFF:  # in a long computation most are gone by now
            carriers[:] = [reference for reference in carriers if reference() is not None]


def forget_level(level: int) -> None:
    """A level has ended: what outlives it, by escaping or in a graph, loses its tangents."""
    for reference in _open_levels.carriers.pop(level, ()):
        carrier = reference()
        if isinstance(carrier, Tensor):
            carrier._tangent = _without_level(carrier._tangent, level)
        elif carrier is not None:
            kept = carrier.notes["tangents"]
            carrier.notes["tangents"] = {number: _without_level(tangents, level) for number, tangents in kept.items()}


def _without_level(tangents: dict[int, Tensor] | None, level: int) -> dict[int, Tensor] | None:
    return {number: tangent for number, tangent in (tangents or {}).items() if number != level} or None


def note_output_tangents(results: tuple[Tensor, ...]) -> None:
    """A node that saved its outputs must give them back with their tangents (forward over reverse)."""
    node = results[0]._node
    if node is not None and node.plan is not None and node.plan.keeps_output:
        for number, result in enumerate(results):
            note_saved_tangents(node, number, result._tangent)


def note_saved_tangents(node: Node, number: int, tangents: dict[int, Tensor] | None) -> None:
    """Note the tangents that a node's saved output must have when it is read."""
    if node.notes is None:
        node.notes = {}
    node.notes.setdefault("tangents", {})[number] = tangents
    for level in tangents or ():
        _note_carrier(node, level)


def below_level(tensor: Tensor, level: int) -> Tensor:
    """The same value and history without the tangents of a level and those inside it."""
    if tensor._tangent is None:
        return tensor
    kept = {number: tangent for number, tangent in tensor._tangent.items() if number < level}
    if tensor._view is not None:
        views.refresh(tensor)
    same = writes.alias_of(tensor)
    same._tangent = kept or None
    if tensor._requires_grad and tensor._node is None:
        same._anchor = anchor_of(tensor)
    return same


# --- the tangent of a result -----------------------------------------------------------------------------------------


def pushforward(
    op: Op, primals: Operands, tangents: list[Tangent], params: Params, outs: tuple[Tensor, ...]
) -> list[Tangent]:
    """The tangents of the outputs, None where there is none."""
    tangents = [
        tangent if tangent is not None and op.differentiable(position) else None
        for position, tangent in enumerate(tangents)
    ]
    if all([tangent is None for tangent in tangents]) or not any([_differentiable(out) for out in outs]):
        return [None] * len(outs)
    if op.pushforward is not None:
        found = op.pushforward(primals, tangents, outs, **params)
        return list(found) if isinstance(found, (tuple, list)) else [found]
    if op.kind == "elementwise" and op.partials is not None:
        return [_shaped(_by_partials(op, primals, tangents, params, outs[0]), outs[0])]
    if op.kind in ("linear", "real_linear"):
        return _by_itself(op, primals, tangents, params, outs)
    if op.kind == "bilinear":
        return [_shaped(_by_product(op, primals, tangents, params), outs[0])]
    if op.kind == "affine":
        return [_shaped(_by_biased_product(op, primals, tangents, params), outs[0])]
    try:
        if op.kind == "elementwise_pull" and len(outs) == 1 and op.joint is None:
            tangent = _by_diagonal_pullback(op, primals, tangents, params, outs[0])
            if tangent is not None:
                return [_shaped(tangent, outs[0])]
        return _by_transposing(op, primals, tangents, params, outs)
    except NotImplementedError as error:
        raise NotImplementedError(
            f"Trying to use forward AD with {op.name.lower()} that does not support it because it has not been "
            "implemented yet."
        ) from error


def _differentiable(tensor: Tensor) -> bool:
    return tensor._array.dtype.kind in "fcV"


def _shaped(tangent: Tensor, out: Tensor) -> Tensor:
    """Expanded and cast to be like the value it belongs to."""
    if not isinstance(tangent, Tensor):
        tangent = tape.wrap(np.asarray(tangent))
    array, wanted = tangent._array, out._array
    if array.dtype is not wanted.dtype and array.dtype != wanted.dtype:
        if array.dtype.kind == "c" and wanted.dtype.kind != "c":
            tangent = real(tangent)
        tangent = cast(tangent, dtype=wanted.dtype)
    if array.shape != wanted.shape:
        tangent = expand(tangent, shape=wanted.shape)
    return tangent


def _named_values(
    names: tuple[str, ...], op: Op, primals: tuple, params: Params, outs: tuple[Tensor, ...]
) -> list[Tangent]:
    """The values that a rule's parameter names stand for: inputs, outputs or parameters of the operation."""
    codes = [op.save_code(name) for name in names]
    return [
        params[name] if code is None else value_of(code, op, primals, outs)
        for name, code in zip(names, codes, strict=True)
    ]


def _sum(terms: list[Tensor]) -> Tangent:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _by_partials(op: Op, primals: Operands, tangents: list[Tangent], params: Params, out: Tensor) -> Tangent:
    terms = []
    for name, tangent in zip(op.inputs, tangents, strict=True):
        if tangent is not None:
            partial: Any = op.partials[name]  # type: ignore[index]
            names = partial.__code__.co_varnames[: partial.__code__.co_argcount]
            terms.append(tangent * partial(*_named_values(names, op, primals, params, (out,))))
    return _sum(terms)


def _by_itself(
    op: Op, primals: Operands, tangents: list[Tangent], params: Params, outs: tuple[Tensor, ...]
) -> list[Tangent]:
    """A linear operation maps tangents as it maps values; an input without a tangent counts as zero."""
    given: list[Any] = []
    for position, (primal, tangent) in enumerate(zip(primals, tangents, strict=True)):
        if tangent is not None:
            given.append(tangent)
        elif not op.differentiable(position):
            given.append(primal)
        elif isinstance(primal, Tensor):
            given.append(_zeros_like(primal))
        else:
            is_number = isinstance(primal, (int, float, complex, np.ndarray, np.generic))
            given.append(primal * 0 if is_number else primal)
    result = tape.apply(op, tuple(given), _on_tangent(op, params, given[0]) or None)
    if isinstance(result, tuple):
        return [tangent if _differentiable(out) else None for tangent, out in zip(result, outs, strict=True)]
    return [result if op.view else _shaped(result, outs[0])]


def _on_tangent(op: Op, params: Params, tangent: Tensor) -> Params:
    """The parameters of a view of memory, told to look at the tangent's memory instead of the primal's."""
    if op.rare.step_from_base is not None and isinstance(tangent, Tensor) and type(tangent._array) is np.ndarray:
        if same_places(geometry_of(tangent._array), params["geometry"]):
            return {**params, "source": tangent._array}
    return params


def _zeros_like(primal: Tensor) -> Tensor:
    return tape.wrap(np.zeros(primal._array.shape, primal._array.dtype))


def _by_product(op: Op, primals: Operands, tangents: list[Tangent], params: Params) -> Tangent:
    terms = []
    for position, tangent in enumerate(tangents):
        if tangent is not None:
            given = (*primals[:position], tangent, *primals[position + 1 :])
            terms.append(tape.apply(op, given, params or None))
    return _sum(terms)


def _by_biased_product(op: Op, primals: Operands, tangents: list[Tangent], params: Params) -> Tangent:
    """A product with something added: linear in what is added, bilinear in the rest."""
    bias = op.inputs.index("bias") if "bias" in op.inputs else 0
    factors = [position for position in range(3) if position != bias]
    added = tangents[bias]
    terms = []
    for position in factors:
        if tangents[position] is not None or added is not None:
            given: list = list(primals)
            given[position] = _zeros_like(primals[position]) if tangents[position] is None else tangents[position]
            given[bias] = _zeros_like(primals[bias]) if added is None else added
            terms.append(tape.apply(op, tuple(given), params or None))
            added = None
    return _sum(terms)


def _by_diagonal_pullback(op: Op, primals: Operands, tangents: list[Tangent], params: Params, out: Tensor) -> Tangent:
    """The pullback of an elementwise operation is diagonal: it is its own transpose, up to conjugation."""
    terms = []
    complex_ = out._array.dtype.kind == "c"
    rules = op.rules if complex_ else op.real_rules
    for position, (name, tangent) in enumerate(zip(op.inputs, tangents, strict=True)):
        if tangent is None:
            continue
        primal = primals[position]
        if (primal._array.dtype.kind == "c") != complex_:
            return None
        rule: Any = rules[name]
        term = rule(
            conjugate_tensor(_shaped(tangent, out)), *_named_values(rule_names(rule), op, primals, params, (out,))
        )
        if not isinstance(term, Tensor) or term._array.shape != out._array.shape:
            return None
        terms.append(conjugate_tensor(term))
    return _sum(terms)


def conjugate_tensor(value: Tensor) -> Tensor:
    """The conjugate; real tensors as they are."""
    return conjugate(value) if value._array.dtype.kind == "c" else value


# --- transposing a pullback ------------------------------------------------------------------------------------------


def _by_transposing(
    op: Op, primals: Operands, tangents: list[Tangent], params: Params, outs: tuple[Tensor, ...]
) -> list[Tangent]:
    """Run the pullback on unknown cotangents, and backpropagate the tangents through it."""
    recording = current_mode().grad
    with enable_grad():
        level = max(getattr(getattr(value, "_array", None), "level", 0) for value in (*primals, *tangents))
        cotangents = tuple(unknown_cotangent(out, level) if _differentiable(out) else None for out in outs)
        pulled = _pulled_back(op, primals, tangents, params, outs, cotangents)
    roots, weights = [], []
    for primal, tangent, gradient in zip(primals, tangents, pulled, strict=True):
        if tangent is not None and isinstance(gradient, Tensor) and gradient.requires_grad:
            roots.append(unbroadcast_tensor(gradient, primal._array.shape, primal._array.dtype))
            weights.append(tangent)
    wanted = [cotangent for cotangent in cotangents if cotangent is not None]
    if not roots:
        return [
            None if cotangent is None else _zeros_like(out) for cotangent, out in zip(cotangents, outs, strict=True)
        ]
    record = recording or _is_watched((*primals, *tangents))
    found = iter(grad(roots, wanted, weights, create_graph=record, retain_graph=True, allow_unused=True))
    answers: list = []
    for out, cotangent in zip(outs, cotangents, strict=True):
        tangent = None if cotangent is None else next(found)
        if record and not recording and tangent is not None:
            tangents_outside, tangent = tangent._tangent, writes.detach_from_tape(tangent)
            tangent._tangent = tangents_outside
        answers.append(_zeros_like(out) if cotangent is not None and tangent is None else tangent)
    return answers


def _is_watched(values: Operands) -> bool:
    """True if a level outside, of forward mode or around a batch, follows one of these values."""
    for value in values:
        if isinstance(value, Tensor) and (value._tangent is not None or type(value._array) is not np.ndarray):
            from .arrays.own_memory import is_followed

            if value._tangent is not None or is_followed(value._array):
                return True
    return False


def unknown_cotangent(out: Tensor, level: int) -> Tensor:
    """A leaf like `out` that requires grad; if batches take part, on the tape inside the innermost."""
    array: Array = np.zeros(out._array.shape, out._array.dtype)
    if level:
        array = Batched(array, level, False)
    leaf = tape.wrap(array)
    leaf._requires_grad = True
    return leaf


def _pulled_back(
    op: Op,
    primals: Operands,
    tangents: list[Tangent],
    params: Params,
    outs: tuple[Tensor, ...],
    cotangents: tuple[Cotangent, ...],
) -> list:
    g: Cotangent = cotangents[0]
    if op.outputs != 1 and not op.first_only:
        g = tuple(
            _zeros_like(out) if cotangent is None else cotangent
            for cotangent, out in zip(cotangents, outs, strict=True)
        )
    if op.joint is not None:
        needs = tuple(tangent is not None for tangent in tangents)
        values = _named_values(rule_names(op.joint), op, primals, {**params, "needs": needs}, outs)
        results = list(op.joint(g, *values))
        return results + [None] * (len(primals) - len(results))
    rules = op.rules if outs[0]._array.dtype.kind == "c" else op.real_rules
    results = []
    for position, tangent in enumerate(tangents):
        if tangent is None:
            results.append(None)
            continue
        rule: Any = rules[op.inputs[position]]
        results.append(rule(g, *_named_values(rule_names(rule), op, primals, params, outs)))
    return results


# --- writes in place -------------------------------------------------------------------------------------------------


def write_tangents(tensor: Tensor, result: Tensor) -> None:
    """After `tensor` was overwritten by `result`: its tangents too. Views of it share the memory of its tangents."""
    tangents = result._tangent or {}
    present = tensor._tangent or {}
    for level in {*tangents, *present}:
        new = tangents.get(level)
        old = present.get(level)
        if old is None and new is not None:
            old = _tangent_in_base(tensor, level, new)
        if old is None:
            set_tangent(tensor, level, new)  # type: ignore[arg-type]
        else:
            if new is not None and not batch_levels(new) <= batch_levels(old):
                old = _with_room(tensor, level, old, new)
            old.copy_(_zeros_like(tensor) if new is None else new)
            set_tangent(tensor, level, old)


def batch_levels(tensor: Tensor) -> set[int]:
    """The levels of batches at which a tensor has a value for each example."""
    found, array = set(), tensor._array
    while type(array) is not np.ndarray and hasattr(array, "array"):
        if array.batched:
            found.add(array.level)
        array = array.array
        array = array._array if isinstance(array, Tensor) else array
    return found


def _with_room(tensor: Tensor, level: int, old: Tensor, new: Tensor) -> Tensor:
    """The tangent that is to be overwritten, in memory with a place for each example that `new` has."""
    base = tensor if tensor._view is None else tensor._view.base
    whole = base._tangent[level]
    room = (old + new).new_zeros(base._array.shape, dtype=whole.dtype)
    room.copy_(whole)
    set_tangent(base, level, room)
    base._tangents_moved += 1
    return room if base is tensor else _part_of(room, tensor._view)


def _tangent_in_base(tensor: Tensor, level: int, new: Tensor) -> Tensor | None:
    """The place for a view's tangent inside that of its base, which gets one if it had none, batched as `new` is."""
    view = tensor._view
    if view is None:
        return None
    base = view.base
    if base._tangent is None or level not in base._tangent:
        set_tangent(base, level, new.new_zeros(base._array.shape, dtype=base.dtype))
    return _part_of(base._tangent[level], view)


def _part_of(tangent: Tensor, view: Any) -> Tensor:
    """The part of a base's tangent that a view of the base looks at."""
    for op, params in view.steps:
        tangent = tape.apply(op, (tangent,), _on_tangent(op, params or {}, tangent))
    return tangent


def tangents_of(tensor: Tensor) -> dict[int, Tensor] | None:
    """The tangents. A view that was made before its base got some, by a write in place, takes its part of them."""
    view = tensor._view
    if view is not None and view.base._tangent is not None:
        moved = view.base._tangents_moved
        if tensor._tangent is None or tensor._tangents_moved != moved:
            for level, tangent in view.base._tangent.items():
                set_tangent(tensor, level, _part_of(tangent, view))
            tensor._tangents_moved = moved
    return tensor._tangent
