"""Written by tools/straighten.py from `tape.py`: the same functions, with `apply` in place of calls of it.

Not to be edited: change `tape.py`, then run `python -m tools.straighten`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from numpy import ndarray

from . import seams, views
from .basics.constants import FLOAT32, FLOAT64, doubles, numbers
from .basics.constants import number as constant
from .basics.quiet import quiet
from .mode import current_mode
from .op import Op
from .tape import apply, by_blocks
from .tensor import Tensor, new_object

if TYPE_CHECKING:
    from .basics.types import Function, Operand, Params, Result


def apply_unary(op: Op, x: Tensor, params: Params | None = None) -> Result:
    """`apply` for one tensor."""
    mode = current_mode()
    if mode.special or not op.plain:
        return seams.apply_special(op, (x,), params, mode)
    (arrays0,) = (x,)
    mask = 0
    if isinstance(x, Tensor):
        if x._view is not None:
            views.refresh(x, op)
        if x._requires_grad:
            mask |= 1 << 0
        arrays0 = x._array
    large = op.large_from > 0 and type(arrays0) is ndarray and (arrays0.size >= op.large_from)
    try:
        if params:
            out = op.forward(arrays0, **params)
        elif large and op.forward_by_blocks:
            out = by_blocks(op.forward, arrays0)
        elif op.reorders and arrays0.ndim > 1 and (not arrays0.flags.c_contiguous):
            out = op.forward(arrays0)
        else:
            out = op.bare_forward(arrays0)
    except (RuntimeWarning, FloatingPointError):
        out = quiet(op.forward)(arrays0, **params or {})
    except TypeError as error:
        return seams.apply_together(op, (x,), params, error)
    tensor = new_object(Tensor)
    tensor._array = out
    tensor._requires_grad = False
    tensor._node = None
    tensor._output_nr = 0
    tensor._view = None
    tensor._storage = None
    tensor._inference = False
    result = tensor
    if mask and mode.grad:
        kind = out.dtype
        plan = op.ready[mask] if (kind is FLOAT32 or kind is FLOAT64) and (not large) else None
        if plan is None:
            plan = op.plan_for(mask, len((x,)), out, large)
        if plan is not None:
            result._node = plan.record(out, kind, params, x, arrays0)
            result._requires_grad = True
    return result


def binary(op: Op, otherwise: Function | None = None, itself: Op | None = None) -> Callable[[Tensor, Operand], Result]:
    """`apply` for an operation of two operands without parameters, as a function of its own.

    The function takes a tensor and anything. It deals with a second tensor of the same real dtype, or a number, in one
    straight line; anything else goes to `otherwise`. For an operand with itself there may be another operation (`x * x`
    saves less).
    """
    carefully: Function = otherwise or (lambda a, b: apply(op, (a, b)))
    itself = itself or op

    def apply_two(a: Operand, b: Operand) -> Result:
        x = a._array
        kind = x.dtype
        if kind is not FLOAT32 and kind is not FLOAT64:
            return carefully(a, b)
        other = type(b)
        if other is Tensor or (other is not float and other is not int and isinstance(b, Tensor)):
            if b._array.dtype is not kind:
                return carefully(a, b)
        elif other is float or other is int:
            if type(x) is ndarray:
                y = (numbers if kind is FLOAT32 else doubles).get(b)
                b = constant(b, kind) if y is None else y
        else:
            return carefully(a, b)
        chosen = op if a is not b or current_mode().special else itself
        try:
            mode = current_mode()
            if mode.special or not chosen.plain:
                return seams.apply_special(chosen, (a, b), None, mode)
            arrays0, arrays1 = (a, b)
            mask = 0
            if isinstance(a, Tensor):
                if a._view is not None:
                    views.refresh(a, chosen)
                if a._requires_grad:
                    mask |= 1 << 0
                arrays0 = a._array
            if isinstance(b, Tensor):
                if b._view is not None:
                    views.refresh(b, chosen)
                if b._requires_grad:
                    mask |= 1 << 1
                arrays1 = b._array
            large = chosen.large_from > 0 and type(arrays0) is ndarray and (arrays0.size >= chosen.large_from)
            try:
                if large and chosen.forward_by_blocks:
                    out = by_blocks(chosen.forward, arrays0, arrays1)
                elif chosen.reorders and arrays0.ndim > 1 and (not arrays0.flags.c_contiguous):
                    out = chosen.forward(arrays0, arrays1)
                else:
                    out = chosen.bare_forward(arrays0, arrays1)
            except (RuntimeWarning, FloatingPointError):
                out = quiet(chosen.forward)(arrays0, arrays1)
            except TypeError as error:
                return seams.apply_together(chosen, (a, b), None, error)
            tensor = new_object(Tensor)
            tensor._array = out
            tensor._requires_grad = False
            tensor._node = None
            tensor._output_nr = 0
            tensor._view = None
            tensor._storage = None
            tensor._inference = False
            result = tensor
            if mask and mode.grad:
                kind = out.dtype
                plan = chosen.ready[mask] if (kind is FLOAT32 or kind is FLOAT64) and (not large) else None
                if plan is None:
                    plan = chosen.plan_for(mask, len((a, b)), out, large)
                if plan is not None:
                    result._node = plan.record(out, kind, None, a, b, arrays0, arrays1)
                    result._requires_grad = True
            return result
        except ValueError:
            return carefully(a, b)

    return apply_two
