"""`torch.autograd.forward_ad`: dual numbers by hand.

    with dual_level():
        x = make_dual(value, tangent)
        y = f(x)
        value, tangent = unpack_dual(y)

Levels nest when asked to (`dual_level(nested=True)`), which torch refuses. How tangents travel is in `forward_mode.py`.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from ..core import tape
from ..core.basics.on_demand import names_on_demand
from ..core.grad_mode import ModeSwitch
from ..core.mode import current_mode, set_mode
from ..core.tensor import Tensor
from ..ops.shape import alias
from ..ops.striding import extent_of, geometry_of, same_places, view_at
from ..transforms.forward_mode import below_level, forget_level, open_level, set_tangent, tangents_of

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent (None if it has none)."""

    primal: Tensor
    tangent: Tensor | None


class _Levels:
    """The stack of levels entered by hand, as (level, mode field before)."""

    entered: list[tuple[int, int]] = []


class _Switch(threading.local):
    enabled: bool = True


_switch = _Switch()


def _is_fwd_grad_enabled() -> bool:
    """The setting that `_set_fwd_grad_enabled` made last."""
    return _switch.enabled


class _set_fwd_grad_enabled(ModeSwitch):
    """Forward mode off, and on again: no level is seen while it is off."""

    def __init__(self, mode: bool) -> None:
        self.mode: bool = bool(mode)
        self._before = (_switch.enabled, current_mode().dual_level)
        self.__enter__()

    def __enter__(self) -> None:
        level = _Levels.entered[-1][0] if _Levels.entered and self.mode else 0
        set_mode(current_mode().replace(dual_level=level))
        _switch.enabled = self.mode

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _switch.enabled = self._before[0]
        set_mode(current_mode().replace(dual_level=self._before[1]))


def next_level() -> int:
    """The number a new level gets: above all that are open."""
    mode = current_mode()
    return max(mode.dual_level, mode.batch_level) + 1


def enter_dual_level(nested: bool = False) -> int:
    """Start a level of forward mode; its number."""
    mode = current_mode()
    if mode.dual_level and not nested:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment. Here it is, when asked for: "
            "dual_level(nested=True)."
        )
    level = next_level()
    _Levels.entered.append((level, mode.dual_level))
    open_level(level)
    set_mode(mode.replace(dual_level=level))
    return level if nested else 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the innermost level; its tangents are forgotten."""
    if not _Levels.entered and level is None:
        raise RuntimeError("Dual level must be a positive number. Call enter_dual_level() first.")
    innermost, before = _Levels.entered[-1] if _Levels.entered else (-1, -1)
    if level is not None and level not in (innermost, 0 if before == 0 else innermost):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _Levels.entered.pop()
    forget_level(innermost)
    set_mode(current_mode().replace(dual_level=before))


class dual_level(ModeSwitch):
    """Context in which `make_dual` works. With `nested=True`, inside another level."""

    def __init__(self, nested: bool = False) -> None:
        self.nested: bool = nested

    def clone(self) -> dual_level:
        """A fresh level of the same kind."""
        return dual_level(self.nested)

    def __enter__(self) -> Any:
        return enter_dual_level(self.nested)

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor with the value of `tensor` that carries `tangent`; only inside a `dual_level`."""
    number = current_mode().dual_level if not level else level
    if number == 0 or level is not None and level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    return dual_at(tensor, tangent, number)


def dual_at(tensor: Tensor, tangent: Tensor, level: int) -> Tensor:
    """`make_dual` at a given level."""
    for which, value in (("primal", tensor), ("tangent", tangent)):
        if value._array.dtype.kind not in "fcV":
            raise ValueError(f"Expected {which} to be floating point or complex, but got: {value.dtype}")
    if tensor._array.shape != tangent._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if tangent._tangent is not None and level in tangent._tangent:
        raise RuntimeError(
            "Trying to set a forward gradient that has a forward gradient at the same level. This is not supported."
        )
    if tensor._tangent is not None and level in tensor._tangent:
        raise RuntimeError(
            "Trying to create a dual Tensor but the primal already has a tangent at that level. Unpack it first: "
            "unpack_dual."
        )
    if tangent._array.dtype.kind == "c" and tensor._array.dtype.kind != "c":
        raise RuntimeError(
            f"Trying to create a dual Tensor with a real primal and a complex tangent: {tensor.dtype} and {tangent.dtype}."
        )
    dual = tape.apply(alias, (tensor,))
    set_tangent(dual, level, _laid_out_as(tensor._array, tangent))
    return dual


def _laid_out_as(value: Any, tangent: Tensor) -> Tensor:
    """The tangent in memory like the value's, so that views and writes mean the same in both: a copy if it was not."""
    array = tangent._array
    if type(value) is not np.ndarray or type(array) is not np.ndarray:
        return tangent
    if value.base is None is array.base and value.flags.c_contiguous and array.flags.c_contiguous:
        return tangent
    form, places, size = geometry_of(value), extent_of(value) // value.itemsize, array.itemsize
    if same_places(form, geometry_of(array)) and extent_of(array) == places * size or 0 in form[0] or 0 in form[1]:
        return tangent  # also where there is nothing to look at, or several elements share a place
    shape, strides, offset = form
    room = view_at(np.zeros(places, array.dtype), shape, tuple(step * size for step in strides), offset * size)
    return tape.wrap(room).copy_(tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and tangent of a dual tensor."""
    number = current_mode().dual_level if not level else level
    if number == 0:
        return UnpackedDualTensor(tensor, None)
    tangents = tangents_of(tensor)
    if tangents is None or number not in tangents:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(below_level(tensor, number), tangents[number])


def _level(name: str) -> int | None:
    """The current level: torch counts from 0; -1 is outside."""
    return len(_Levels.entered) - 1 if name == "_current_level" else None


names_on_demand(__name__, made=_level)
