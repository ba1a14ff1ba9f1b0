"""Operations on batches: `apply_batched` runs the rule of an operation's layout and wraps the results.

A rule is `rule(op, values, flags, params, size)`: the values inside the batches, which of them have the batch axis
(axis 0), the parameters for one example, the number of examples; it returns results with the batch axis in front.
Operations name theirs in their field `batch` (`ops/layouts.py`); elementwise ones need none. What has no layout at all
runs example by example, which is correct and slow (a warning says so, once).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.basics.notices import warn_user
from ...core.tape import wrap
from .batched import NONZERO, Batched, DynamicShape, NotBatchable, level_of, params_level, raw

if TYPE_CHECKING:
    from ...core.basics.types import Array, Operand, Params, Result
    from ...core.op import Op

ndarray = np.ndarray
Rule = Callable[["Op", list[Any], list[bool], dict[str, Any], int], Any]  # (op, values, flags, params, size)
_PLAIN = frozenset((ndarray, float, int, bool, complex, type(None)))
_BASIC = frozenset((int, slice, type(None), type(...)))


def apply_batched(
    op: Op, inputs: Sequence[Operand], params: Params | None, level: int | None = None, held: int | None = None
) -> Result:
    """Run an operation on inputs of which some are batches, and wrap what comes out as batches of the same level.

    Callers that know them pass the innermost level of all (`level`) and of the parameters alone (`held`).
    """
    if held is None:
        held = params_level(params) if params else 0
    if level is None:
        level = held
        for value in inputs:
            if type(value) is Batched and value.level > level:
                level = value.level
    values, flags, size, plain = [], [], 0, True
    for value in inputs:
        flag = False
        if type(value) is Batched and value.level == level:
            flag = value.batched
            value = value.array
            if flag and not size:
                size = len(value) if type(value) is ndarray else raw(value).shape[0]
        values.append(value)
        flags.append(flag)
        plain = plain and type(value) in _PLAIN
    if not plain:
        values = tensors_if_any(values)
    params = params or {}
    if held == level:
        if params_batched(params, level):
            size = size or params_size(params, level)
            return wrap_results(rule_with_batched_params(op)(op, values, flags, params, size), level, True)
        params = example_params(params, 0, level)
    if "level" in params and params["level"] != level:
        # It puts examples of another level together, or takes them apart.
        if size:
            values = with_batch_axes(values, flags, size)
        return wrap_results(apply_batched(op, values, params, params["level"]), level, size > 0)
    layout = op.batch
    if not size and True not in flags and not (layout is not None and layout.always):
        return wrap_results(op(*values, **params), level, False)
    rule = example_by_example if layout is None else layout.rule
    if plain and rule is batch_elementwise and _broadcasts(values, flags):
        out = op.forward(*values, **params) if params else op.forward(*values)
    else:
        out = rule(op, values, flags, params, size)
    return Batched(out, level) if type(out) is ndarray else wrap_results(out, level, True)


def _broadcasts(values: list[Array], flags: list[bool]) -> bool:
    """True if one or two plain arrays broadcast as they are: the batch axis of one meets no axis, or that of the other."""
    if len(values) == 1:
        return True
    if len(values) > 2:
        return False
    first, second = values
    if flags[0]:
        return first.ndim == second.ndim if flags[1] else type(second) is not ndarray or second.ndim < first.ndim
    return type(first) is not ndarray or first.ndim < second.ndim


def wrap_results(out: Result, level: int, batched: bool) -> Array:
    """The results of an operation as batches of a level; a tuple of several results stays a tuple."""
    if isinstance(out, (tuple, list)):
        return tuple(Batched(plain_payload(part), level, batched) for part in out)
    if type(out) is Batched and out.level == level:
        return out
    return Batched(plain_payload(out), level, batched)


def plain_payload(value: Array) -> Array:
    """The array of a Tensor without history; any other value as it is."""
    if is_tensor(value) and not value._requires_grad and value._tangent is None and value._view is None:
        return value.memory()
    return value


def is_tensor(value: Array) -> bool:
    """True for a Tensor (and for a spelled array), False for arrays and batches."""
    return type(value) is not ndarray and hasattr(value, "_pullback_apply") and type(value) is not Batched


def tensors_if_any(values: list[Array]) -> list[Array]:
    """The values; if a Tensor is among them, with all arrays as Tensors, so that the tape outside records the operation."""
    if not any(is_tensor(value) for value in values):
        return values
    return [wrap(value) if isinstance(value, (np.ndarray, np.generic, Batched)) else value for value in values]


def refuse_dynamic_shape(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Raise, for operations of which examples would have results of other shapes."""
    raise DynamicShape(NONZERO)


# --- rules -----------------------------------------------------------------------------------------------------------


def ndim_of(value: Array, flag: bool) -> int:
    """The dims of one example."""
    if type(value) is ndarray:
        return value.ndim - flag
    return len(getattr(raw(value), "shape", ())) - flag


def batch_elementwise(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
    """Run an elementwise operation: the axes of examples are aligned from the right, as in broadcasting."""
    if len(values) == 1:
        return op(values[0], **params)
    ndim = max([ndim_of(value, flag) for value, flag in zip(values, flags, strict=True)])
    return op(*[align_axes(value, flag, ndim) for value, flag in zip(values, flags, strict=True)], **params)


def align_axes(value: Array, flag: bool, ndim: int) -> Array:
    """A batch with axes of size 1 behind the batch axis, so that its examples have `ndim` axes; other values as they are."""
    if not flag:
        return value
    shape = value.shape if type(value) is ndarray else tuple(raw(value).shape)
    missing = ndim + 1 - len(shape)
    if missing <= 0:
        return value
    wanted = shape[:1] + (1,) * missing + shape[1:]
    return value.reshape(wanted) if type(value) is ndarray else np.reshape(value, wanted)


def with_batch_axis(value: Array, flag: bool, size: int) -> Array:
    """A value with the batch axis in front: repeated, as a view, if all examples share it."""
    if flag:
        return value
    return np.broadcast_to(value, (size, *(value.shape if type(value) is ndarray else np.shape(raw(value)))))


def with_batch_axes(values: list[Array], flags: list[bool], size: int) -> list[Array]:
    """All values with the batch axis in front, whether examples differ in them or not."""
    return [with_batch_axis(value, flag, size) for value, flag in zip(values, flags, strict=True)]


_warned: set[str] = set()


def example_by_example(
    op: Op, values: list[Array], flags: list[bool], params: Params, size: int, level: int = 0
) -> Result:
    """Run the operation on one example after the other, which every operation can fall back to, and stack the results."""
    if op.name not in _warned and size > 16:
        _warned.add(op.name)
        warn_user(
            f"There is a performance drop because we have not yet implemented the batching rule for {op.name}: it "
            f"runs example by example, {size} times in each call.",
        )
    results = []
    for number in range(size):
        examples = [value[number] if flag else value for value, flag in zip(values, flags, strict=True)]
        results.append(op(*examples, **(example_params(params, number, level) if level else params)))
    return stack_results(results, op, values, flags, params)


def stack_results(results: list[Result], op: Op, values: list[Array], flags: list[bool], params: Params) -> Array:
    if not results:
        examples = [np.zeros(raw(v).shape[1:], raw(v).dtype) if f else v for v, f in zip(values, flags, strict=True)]
        out = op(*examples, **params)
        return tuple(map(_empty_batch, out)) if isinstance(out, tuple) else _empty_batch(out)
    try:
        if isinstance(results[0], tuple):
            return tuple(np.stack(parts) for parts in zip(*results, strict=True))
        return np.stack(results)
    except (ValueError, RuntimeError) as error:
        raise NotBatchable(
            f"vmap: {op.name} gives examples results of different sizes. We don't support that: "
            'vmap(..., fallback="loop") runs the function example by example.'
        ) from error


def _empty_batch(part: Array) -> Array:
    """A batch of no examples, of the shape of this one and with the history of what they would share."""
    return (part if hasattr(part, "_pullback_apply") else np.asarray(part))[None][:0]


# --- parameters that are batches (indices) ---------------------------------------------------------------------------


def params_batched(params: Params, level: int) -> bool:
    """True if a parameter differs between examples."""
    return any(
        level_of(item) == level and item.batched
        for value in params.values()
        for item in (value if isinstance(value, tuple) else (value,))
    )


def params_size(params: Params, level: int) -> int:
    return next(
        raw(item.array).shape[0]
        for value in params.values()
        for item in (value if isinstance(value, tuple) else (value,))
        if level_of(item) == level and item.batched
    )


def example_params(params: Params, number: int, level: int) -> Params:
    def one(value: Array) -> Array:
        if isinstance(value, tuple):
            return tuple(one(item) for item in value)
        if level_of(value) == level:
            return value.array[number] if value.batched else value.array
        return value

    return {name: one(value) for name, value in params.items()}


def rule_with_batched_params(op: Op) -> Rule:
    """The rule where examples have parameters of their own: its layout's, or a loop."""
    if op.batch is not None and op.batch.own_index is not None:
        own: Rule = op.batch.own_index
        return own

    def loop(op: Op, values: list[Array], flags: list[bool], params: Params, size: int) -> Result:
        return example_by_example(op, values, flags, params, size, params_level(params))

    return loop


# --- indexing --------------------------------------------------------------------------------------------------------


def get_item(batch: Batched, index: Array) -> Array:
    """`example[index]` for all examples."""
    items = index if type(index) is tuple else (index,)
    if batch.batched and type(batch.array) is ndarray and _BASIC.issuperset(map(type, items)):
        return Batched(batch.array[(slice(None), *items)], batch.level)
    if any(type(item) is Batched for item in items):
        from ...ops.indexing import pick

        return pick(batch, index=items)
    if not batch.batched:
        inside = batch.array if is_tensor(batch.array) or type(batch.array) is Batched else np.asarray(batch.array)
        return Batched(inside[items], batch.level, False)
    arrays = [i for i, item in enumerate(items) if isinstance(item, (np.ndarray, list))]
    if arrays and (arrays[-1] - arrays[0] != len(arrays) - 1 or any(type(item) is int for item in items)):
        results = [batch.array[number][index] for number in range(raw(batch.array).shape[0])]
        return Batched(np.stack(results), batch.level)
    return Batched(plain_payload(batch.array[(slice(None), *items)]), batch.level)
