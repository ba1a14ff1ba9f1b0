"""Matrices by rows or by columns, of single elements or of blocks: CSR, CSC, BSR and BSC, shown from places and values.

What is kept is the place and the value of every element, as for COO, all those of a block. Here they are brought into
the order of such a layout, and made from what it gives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.basics.layout import layout as layout_type
from ..core.basics.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..core.tensor import Tensor
from ..functional.registry import FUNCTIONS
from .tensor import SparseTensor, check, make

BY_COLUMNS, IN_BLOCKS = (sparse_csc, sparse_bsc), (sparse_bsr, sparse_bsc)
TURNED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}


def parts(x: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where each row (or column) begins, the columns (or rows), and the values, for each matrix of a batch."""
    ordered = x.coalesce()
    places, (height, width) = ordered._places._array, x._block
    batch, sizes = places[:-2], x.shape[: x.sparse_dim()]
    (row, inner_row), (column, inner_column) = np.divmod(places[-2], height), np.divmod(places[-1], width)
    along, lines, across = row, sizes[-2] // height, column
    if x._layout in BY_COLUMNS:
        along, lines, across = column, sizes[-1] // width, row
    order = np.lexsort((inner_column, inner_row, across, along, *batch[::-1]))
    first = order[:: height * width]  # of each block
    shape = (*sizes[:-2], lines)
    line = np.ravel_multi_index((*(each[first] for each in batch), along[first]), shape)
    counts = np.bincount(line, minlength=math.prod(shape)).reshape(shape)
    entries = ordered._entries
    if np.any(order != np.arange(order.size)):
        entries = entries.index_select(0, FUNCTIONS["tensor"](order))
    block = (height, width) if x._layout in IN_BLOCKS else ()
    return (
        FUNCTIONS["tensor"](np.insert(np.cumsum(counts, axis=-1), 0, 0, axis=-1)),
        FUNCTIONS["tensor"](across[first].reshape(*sizes[:-2], -1)),
        entries.reshape((*sizes[:-2], first.size // max(math.prod(sizes[:-2]), 1), *block, *entries.shape[1:])),
    )


def part(x: SparseTensor, name: str) -> Tensor:
    """The indices of this name; torch's complaint if the layout has none of that name."""
    columns = name in ("ccol_indices", "row_indices")
    if x._layout is sparse_coo or columns != (x._layout in BY_COLUMNS):
        kind, given = "column" if columns else "row", x._layout.name.title().replace("_", "")
        raise RuntimeError(
            f"{name} expected sparse {kind} compressed tensor layout but got {given}. "
            f"x.to_sparse_cs{kind[0]}() gives such a one."
        )
    return parts(x)[name in ("col_indices", "row_indices")]


def from_parts(
    layout: layout_type, starts: Any, others: Any, values: Any, size: Any, dtype: Any, requires_grad: bool
) -> SparseTensor:
    """A tensor of one of these layouts, of what it is given by."""
    from ..functional.creation import as_tensor

    starts, others, entries = as_tensor(starts).long(), as_tensor(others).long(), as_tensor(values, dtype=dtype)
    block = entries.shape[starts.dim() :][:2] if layout in IN_BLOCKS else ()
    if entries.dim() < starts.dim() or layout in IN_BLOCKS and (len(block) < 2 or 0 in block):
        what = "block" if layout in IN_BLOCKS else "number"
        raise RuntimeError(f"values must have a {what} for each index, but their shape is {tuple(entries.shape)}")
    count = others.numel()
    held = int(starts.diff().sum()) if starts.shape[-1] else -1
    if held != count or math.prod(entries.shape[: starts.dim()]) != count:  # before anything is made of what they claim
        raise RuntimeError(
            f"indices of lines that hold {held} elements do not go together with {count} other indices and values of shape "
            f"{tuple(entries.shape)}"
        )
    lines = (*starts.shape[:-1], starts.shape[-1] - 1)  # of matrices in a batch, one after the other
    line = FUNCTIONS["repeat_interleave"](FUNCTIONS["arange"](math.prod(lines)), starts.diff().reshape(-1))
    *batch, along = FUNCTIONS["unravel_index"](line, lines)
    across, entries = others.reshape(-1), entries.flatten(0, len(lines) - 1)
    height, width = entries.shape[1:3] if layout in IN_BLOCKS else (1, 1)
    rows, columns = (across, along) if layout in BY_COLUMNS else (along, across)
    if size is None:
        most = int(across.max()) + 1 if across.numel() else 0
        rows_of, columns_of = (most, lines[-1]) if layout in BY_COLUMNS else (lines[-1], most)
        size = (*lines[:-1], rows_of * height, columns_of * width)
    if layout in IN_BLOCKS:
        inner = FUNCTIONS["arange"](height * width)
        rows = (rows[:, None] * height + inner // width).reshape(-1)
        columns = (columns[:, None] * width + inner % width).reshape(-1)
        batch = [each.repeat_interleave(height * width) for each in batch]
        entries = entries.flatten(0, 2)
    places = FUNCTIONS["stack"]([*batch, rows, columns])
    check(places, entries, tuple(size))
    if requires_grad:
        entries = entries.detach().requires_grad_()
    return to_layout(make(places, entries, tuple(size)), layout, (height, width))


def to_layout(x: SparseTensor, layout: layout_type, block: Any = None) -> SparseTensor:
    """The same tensor in another layout; places in blocks that have a value are filled with zeros."""
    ordered = x.coalesce()
    if layout not in IN_BLOCKS:
        return make(ordered._places, ordered._entries, x.shape, True, layout)
    height, width = block or x._block
    if x.shape[-2] % height or x.shape[-1] % width:
        raise RuntimeError(
            f"dense_to_{layout.name}: tensor sparse size ({x.shape[-2]},{x.shape[-1]}) must be divisible by given "
            f"blocksize ({height},{width})"
        )
    if x._block != (height, width) or x._layout not in IN_BLOCKS:
        ordered = _filled(ordered, height, width)
    return make(ordered._places, ordered._entries, x.shape, True, layout, (height, width))


def _filled(x: SparseTensor, height: int, width: int) -> SparseTensor:
    """With a place for every element of each block that has one."""
    places = x._places._array
    corners = np.unique(np.stack([*places[:-2], places[-2] // height, places[-1] // width]), axis=1)
    inner = np.arange(height * width)
    row = (corners[-2][:, None] * height + inner // width).reshape(-1)
    column = (corners[-1][:, None] * width + inner % width).reshape(-1)
    every = np.stack([*(np.repeat(each, inner.size) for each in corners[:-2]), row, column])
    nothing = FUNCTIONS["zeros"](every.shape[1], *x._entries.shape[1:], dtype=x._entries.dtype)
    both = FUNCTIONS["cat"]([x._places, FUNCTIONS["tensor"](every)], 1)
    return make(both, FUNCTIONS["cat"]([x._entries, nothing]), x.shape).coalesce()
