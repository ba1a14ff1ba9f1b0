"""Operations that give several views of one tensor: pieces of an axis, or all its slices. All linear.

Their transposes join: `rearranging.py`. `output_step` says which single view (`shape.py`) each output is.
"""

from __future__ import annotations

from typing import Any

from ..core.op import Op, linear
from .layouts import along
from .rearranging import concatenate, stack
from .samples import arrays
from .shape import select, slice_

FULL = slice(None)


def _pieces(x: Any, axis: int, bounds: tuple) -> tuple:
    if not axis:
        return tuple([x[start:stop] for start, stop in bounds])
    lead = (FULL,) * axis
    return tuple([x[(*lead, slice(start, stop))] for start, stop in bounds])


def _piece_step(params: dict, number: int, shape: tuple) -> tuple:
    start, stop = params["bounds"][number]
    return slice_, {"index": (*(FULL,) * params["axis"], slice(start, stop))}


def _join(g: tuple, axis: int) -> tuple:
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


def _unbind(x: Any, axis: int) -> tuple:
    count = x.shape[axis]
    if not axis:
        return tuple([x[number, ...] for number in range(count)])
    lead = (FULL,) * axis
    return tuple([x[(*lead, number, ...)] for number in range(count)])


def _unbind_step(params: dict, number: int, shape: tuple) -> tuple:
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
