"""Resampling of axes: resizing and padding with an array's own values. Linear; a transpose swaps the tables.

`axes` are the axes concerned, `tables` and `back` the tables of `kernels/resampling.py` for each, there and back.
"""

from __future__ import annotations

from typing import Any

from ..autograd.op import Op, linear
from ..kernels.resampling import apply_table
from .batching import resampled
from .fusing import in_single


def _resample(x: Any, axes: tuple, tables: tuple, back: tuple) -> Any:
    for axis, table in zip(axes, tables, strict=True):
        x = apply_table(x, axis, table)
    return x


def resampling(name: str) -> Op:
    """The operation under the node name torch gives it."""
    return linear(
        name,
        in_single(_resample),
        inputs=("x",),
        batch=resampled,
        x=lambda g, axes, tables, back: resample_back(g, axes=axes, tables=back, back=tables),
    )


resample_back: Op = resampling("UpsampleBackward0")
_OPS: dict[str, Op] = {}


def resample_op(name: str) -> Op:
    """The resampling operation called `name`, made when first asked for."""
    if name not in _OPS:
        _OPS[name] = resampling(name)
    return _OPS[name]
