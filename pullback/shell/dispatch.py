"""Modes that run operations in our place: what `TorchDispatchMode` is made of.

While such a mode is on, the general path of the tape (`core/general.py`) hands it every operation below autograd,
as an operator of `torch.ops.aten` with its arguments. The mode may call that operator, with these or other tensors, or
answer itself; what it answers is recorded as the result. Inside its answer the mode is off, and nothing is recorded.
Backward passes run on tensors then (`run_on_tensors`), so that what their rules compute is shown as well.
Shown is what goes through the tape: comparisons, new tensors and batches of `vmap` are not. Names are in
`torch_names/aten.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from ..core import tape, writes
from ..core.basics.quiet import quiet
from ..core.basics.storage import storage_of
from ..core.mode import Mode, current_mode, set_mode
from ..core.op import Op
from ..core.tensor import Anchor, Tensor
from .torch_names.aten import PARTS, arguments_of, operator_name
from .torch_names.operators import Overload, overload_of


class Shown:
    """An operation as a mode has been shown it: calling the operator with such arguments runs it."""

    __slots__ = ("operator", "args", "kwargs", "run")

    def __init__(
        self, operator: Overload, args: tuple[Any, ...], kwargs: dict[str, Any], run: Callable[[tuple[Any, ...]], Any]
    ) -> None:
        self.operator, self.args, self.kwargs, self.run = operator, args, kwargs, run


_shown: ContextVar[Shown | None] = ContextVar("pullback_shown", default=None)


def answer_of_mode(operator: Overload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the operator that a mode has just been shown; NotImplemented if this is another call."""
    shown = _shown.get()
    if shown is None or shown.operator is not operator or kwargs.keys() != shown.kwargs.keys():
        return NotImplemented
    if not _alike(args, shown.args) or not all(_alike(kwargs[name], shown.kwargs[name]) for name in kwargs):
        return NotImplemented
    return shown.run(args)


def _alike(given: Any, shown: Any) -> bool:
    """True if arguments are the same but for the tensors among them."""
    if isinstance(shown, Tensor):
        return isinstance(given, Tensor)
    if type(shown) in (list, tuple):
        return type(given) in (list, tuple) and len(given) == len(shown) and all(map(_alike, given, shown))
    return given is shown or type(given) is type(shown) and bool(given == shown)


def show(
    operator: Overload,
    run: Callable[[tuple[Any, ...]], Any] | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    mode: Mode,
) -> Any:
    """The answer of the innermost mode to an operation, which `run(args)` does, or the operator as it is."""
    *outer, innermost = mode.dispatch
    set_mode(mode.replace(grad=False, dispatch=tuple(outer), dual_level=0, autocast=None, safe=0, saved_hooks=()))
    token = _shown.set(None if run is None else Shown(operator, args, kwargs, run))
    try:
        result = innermost.__torch_dispatch__(operator, (), args, kwargs)
    finally:
        _shown.reset(token)
        set_mode(mode)
    if result is NotImplemented:
        raise TypeError(
            f"Multiple dispatch failed for '{operator}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
            f"  - mode object {innermost!r}"
        )
    return result


def run_custom(operator: Overload, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function that is an operator of its own (`torch.library`), shown to modes as such."""
    mode = current_mode()
    if not mode.dispatch:
        return function(*args, **kwargs)
    return show(operator, lambda given: run_custom(operator, function, given, kwargs), args, kwargs, mode)


# --- operations of the tape ---


def run_by_modes(op: Op, inputs: tuple[Any, ...], params: dict[Any, Any] | None, mode: Mode) -> tuple[Tensor, ...]:
    """The results of an operation, of the innermost mode's making."""
    parts = PARTS[op.rare.taken_apart] if op.rare.taken_apart else None
    inputs = tuple(value.owner_or_self() if type(value) is Anchor else value for value in inputs)
    in_place = bool(inputs) and isinstance(inputs[0], Tensor) and inputs[0]._is_written is not None
    subclasses = sys.modules.get("pullback.shell.dispatch_subclasses")
    if subclasses is not None:
        inputs = tuple(map(subclasses.as_given, inputs))
    if parts is not None:
        set_mode(mode.replace(grad=False, dual_level=0, autocast=None, saved_hooks=()))
        try:
            result = parts(*inputs, **(params or {}))
        finally:
            set_mode(mode)
    else:
        operator = overload_of("aten", *operator_name(op, in_place, mode.grad))
        result = _shown_to_modes(op, operator, inputs, params or {}, mode)
    results = tuple(result) if op.outputs != 1 else (result,)
    for each in results:
        check_answer(each, op.name)
    known = set(map(id, inputs))
    return tuple(
        subclasses.as_answered(each, known)
        if subclasses is not None and subclasses.dispatches(type(each))
        else each if _is_new(each) and id(each) not in known else tape.wrap(each._array)
        for each in results
    )  # fmt: skip


def check_answer(result: Any, name: str) -> Tensor:
    """Return the answer of a mode or a class, which has to be a tensor."""
    if not isinstance(result, Tensor):
        raise RuntimeError(
            f"Unable to cast {result} to Tensor: it is a {type(result)}, which __torch_dispatch__ gave for {name}."
        )
    return result


def _is_new(x: Tensor) -> bool:
    """True if a tensor can become the result of an operation as it is: nothing is known of it."""
    return type(x) is Tensor and not x._requires_grad and x._view is None and x._tangent is None and not x._inference


def _shown_to_modes(op: Op, operator: Overload, inputs: tuple[Any, ...], params: dict[Any, Any], mode: Mode) -> Any:
    args, kwargs = arguments_of(op, inputs, params, operator.overloadpacket.__name__)
    places = _places_of(inputs, args)

    def run(given: tuple[Any, ...]) -> Any:
        chosen = [value if place is None else _at(given, place) for value, place in zip(inputs, places, strict=True)]
        inside = current_mode()
        if inside.dispatch:
            return _shown_to_modes(op, operator, tuple(chosen), params, inside)
        subclasses = sys.modules.get("pullback.shell.dispatch_subclasses")
        if subclasses is not None and subclasses.are_among(chosen, inputs):
            with subclasses.let_classes_answer():
                return _shown_to_modes(op, operator, tuple(chosen), params, current_mode())
        if not operator.overloadpacket.__name__.endswith("_") or chosen[0] is inputs[0]:
            return _run_plainly(op, chosen, params)
        return writes.in_place(chosen[0], lambda x: _run_plainly(op, [x, *chosen[1:]], params))

    return show(operator, run, tuple(args), kwargs, mode)


def _places_of(inputs: tuple[Any, ...], args: list[Any]) -> list[tuple[int, ...] | None]:
    """Where each input stands among the arguments, None if it is not there."""
    free: dict[int, list[tuple[int, ...]]] = {}
    for number, value in enumerate(args):
        if isinstance(value, list):
            for inner, item in enumerate(value):
                free.setdefault(id(item), []).append((number, inner))
        else:
            free.setdefault(id(value), []).append((number,))
    return [free[id(value)].pop(0) if isinstance(value, Tensor) and free.get(id(value)) else None for value in inputs]


def _at(args: Any, place: tuple[int, ...]) -> Any:
    for number in place:
        args = args[number]
    return args


@quiet
def _run_plainly(op: Op, inputs: list[Any], params: dict[Any, Any]) -> Any:
    """Run an operation on the arrays inside tensors; a view shares its version counter with what it looks at."""
    out = op.forward(*[value._array if isinstance(value, Tensor) else value for value in inputs], **params)
    if op.outputs != 1:
        return tuple(_wrapped(op, part, inputs) for part in out)
    return _wrapped(op, out, inputs)


def _wrapped(op: Op, out: Any, inputs: list[Any]) -> Tensor:
    result = tape.wrap(out)
    if op.view:
        result._storage = storage_of(inputs[0])
    return result


# --- backward passes ---


def run_on_tensors(sweep: Any, cotangents: list[Any]) -> dict[Any, Any]:
    """A pass on arrays, with tensors in their place while it runs, and without being recorded."""
    record, unbroadcast, zeros = sweep.record, sweep.unbroadcast, sweep.zeros
    sweep.recorded()
    subclasses = sys.modules.get("pullback.shell.dispatch_subclasses")
    roots = [tape.wrap(cotangent) for cotangent in cotangents]
    leaves = sweep.run(roots if subclasses is None else list(map(subclasses.as_given, roots)))
    sweep.record, sweep.unbroadcast, sweep.zeros = record, unbroadcast, zeros
    if subclasses is not None:
        subclasses.deliver_gradients(leaves, sweep.accumulating)
    for collected in (leaves, sweep.owned, getattr(sweep, "captured", {})):
        for key, value in collected.items():
            if isinstance(value, Tensor):
                collected[key] = value._array
    sweep.owned.clear()  # a mode may have kept any of them
    return leaves
