"""Operations that give several views of one tensor: pieces of an axis, or all its slices. All linear.

Their transposes join: `rearranging.py`. `output_step` says which single view (`shape.py`) each output is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.op import Op, linear
from .layouts import along
from .rearranging import concatenate, stack
from .samples import arrays
from .shape import select, slice_

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array
    from ..core.basics.types import Params, Shape

FULL = slice(None)


def _pieces(x: Array, axis: int, bounds: tuple[Any, ...]) -> tuple[Any, ...]:
    if not axis:
        return tuple([x[start:stop] for start, stop in bounds])
    lead = (FULL,) * axis
    return tuple([x[(*lead, slice(start, stop))] for start, stop in bounds])


def _piece_step(params: Params, number: int, shape: Shape) -> tuple[Op, Params]:
    start, stop = params["bounds"][number]
    return slice_, {"index": (*(FULL,) * params["axis"], slice(start, stop))}


def _join(g: tuple[Array | None, ...], axis: int) -> tuple[Any, ...]:
    return (concatenate(*g, axis=axis),)


split: Op = linear(
    "SplitBackward0",
    _pieces,
    view=True,
    outputs=0,
    inputs=("x",),
    joint=_join,
    batch=along("axis"),
    output_step=_piece_step,
    aten="split.Tensor",
)
split_sizes: Op = linear(
    "SplitWithSizesBackward0",
    _pieces,
    view=True,
    outputs=0,
    inputs=("x",),
    joint=_join,
    batch=along("axis"),
    output_step=_piece_step,
    samples=arrays((2, 5), axis=1, bounds=((0, 2), (2, 5))),
)


def _unbind(x: Array, axis: int) -> tuple[Any, ...]:
    count = x.shape[axis]
    if not axis:
        return tuple([x[number, ...] for number in range(count)])
    lead: tuple[Any, ...] = (FULL,) * axis
    return tuple([x[(*lead, number, ...)] for number in range(count)])


def _unbind_step(params: Params, number: int, shape: Shape) -> tuple[Op, Params]:
    return select, {"index": (*(FULL,) * params["axis"], number)}


unbind: Op = linear(
    "UnbindBackward0",
    _unbind,
    view=True,
    outputs=0,
    inputs=("x",),
    joint=lambda g, axis: (stack(*g, axis=axis),),
    batch=along("axis"),
    output_step=_unbind_step,
    aten="unbind.int",
)
