"""Copies in another arrangement: flip, roll, rot90, tril, triu, repeat, tile, repeat_interleave, constant_pad_nd."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..core.tape import apply, apply_unary, wrap
from ..core.tensor import Tensor
from ..core.views import as_own
from ..ops import rearranging as ops
from ..ops import scatter
from ..ops.casting import clone_contiguous
from . import shape
from .operands import SMALLEST_TOO_LARGE, need_int, need_room, sizes_of, wrap_dim, wrap_dims
from .refusals import complaint_for, given_sizes
from .registry import public

# --- another order ---


@public(direct=True)
def flip(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """The order along dims reversed."""
    if not dims and not named:
        raise TypeError('flip() missing 1 required positional arguments: "dims"')
    given = sizes_of(given_sizes("flip", dims, named, "dims"))
    try:
        axes = wrap_dims(given, input._array.ndim) if given else ()
    except AttributeError as error:
        raise complaint_for(error) from None
    return apply_unary(ops.flip, input, {"axes": axes})


@public()
def fliplr(input: Tensor) -> Tensor:
    """Columns in reverse order."""
    if input._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return apply(ops.flip, (input,), {"axes": (1,)})


@public()
def flipud(input: Tensor) -> Tensor:
    """Rows in reverse order."""
    if input._array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return apply(ops.flip, (input,), {"axes": (0,)})


@public()
def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """Elements moved along dims; what leaves at one end comes in at the other."""
    amounts = tuple(shifts) if isinstance(shifts, (tuple, list)) else (shifts,)
    along = tuple(dims) if isinstance(dims, (tuple, list)) else () if dims is None else (dims,)
    if not amounts:
        raise RuntimeError("`shifts` required")
    if not along:
        if len(amounts) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(amounts)}, dims:0")
        flat = apply(ops.roll, (shape.ravel(input),), {"shifts": amounts, "axes": (0,)})
        return flat if input._array.ndim == 1 else as_own(shape.view(flat, input._array.shape))
    if len(amounts) != len(along):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(amounts)}, dims:{len(along)}")
    ndim = input._array.ndim
    axes = tuple([wrap_dim(d, ndim, scalar_ok=False) for d in along])
    return apply_unary(ops.roll, input, {"shifts": amounts, "axes": axes})


@public()
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Rotated in the plane of two dims, `k` times 90 degrees."""
    ndim, k = input._array.ndim, need_int(k, "rot90", "k", 2)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    for d in dims:
        if not -ndim <= d < ndim:
            raise RuntimeError(f"Rotation dim out of range, dim = {d}")
    return apply(ops.rotate, (input,), {"k": k, "axes": tuple(d % ndim for d in dims)})


# --- triangles ---


def _triangle(name: str, op: Any, words: str) -> Any:
    def function(input: Tensor, diagonal: int = 0) -> Tensor:
        if input._array.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return apply_unary(op, input, {"diagonal": need_int(diagonal, name, "diagonal", 2)})

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The part {words} a diagonal; the rest is zero."
    return public(in_place=True, out="same")(function)


tril: Any = _triangle("tril", ops.tril, "on and below")
triu: Any = _triangle("triu", ops.triu, "on and above")

# --- copies ---


def _check_room(size: float, counts: Any) -> None:
    """Refuse what no machine has memory for: NumPy counts wrong there, and writes where it must not."""
    if size >= 1 << 60:
        raise RuntimeError(f"numel: integer multiplication overflow. No machine has memory for {counts} copies.")


@public(function=False, direct=True)
def repeat(input: Tensor, *repeats: Any, **named: Any) -> Tensor:
    """Copies of the tensor side by side, so many along each dim: `x.repeat(2, 1)` puts a matrix below itself."""
    counts = sizes_of(given_sizes("repeat", repeats, named, "repeats"))
    if len(counts) < input._array.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(n < 0 for n in counts):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(counts)}: {list(counts)}")
    for place, count in enumerate(counts, 1):
        if count >= SMALLEST_TOO_LARGE:
            raise TypeError(
                f"repeat(): argument 'repeats' failed to unpack the object at pos {place} with error \"Overflow when "
                f'unpacking long long": {count}'
            )
    _check_room(input._array.size * prod(counts), list(counts))
    return apply(ops.repeat, (input,), {"repeats": counts})


@public()
def tile(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """Copies of the tensor along its last dims."""
    counts = sizes_of(given_sizes("tile", dims, named, "dims"))
    return repeat(input, (1,) * (input._array.ndim - len(counts)) + counts)


@public()
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element (or slice of a dim) repeated, copies next to each other."""
    if repeats is None:
        counts = input._array
        if counts.ndim != 1 or counts.dtype.kind not in "iu":
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        if counts.size and counts.min() < 0:
            raise RuntimeError("repeats can not be negative")
        _check_room(counts.sum(dtype=np.float64), "so many")
        return wrap(np.repeat(np.arange(counts.size), counts))
    if dim is None:
        input, dim = shape.ravel(input), 0
    axis = wrap_dim(dim, input._array.ndim)
    if not input._array.ndim:
        input = shape.reshape(input, (1,))
    size = input._array.shape[axis]
    if isinstance(repeats, Tensor):
        counts = np.asarray(repeats._array)
        if counts.dtype.name not in ("int64", "int32"):
            raise RuntimeError("repeats has to be Long or Int tensor")
        if counts.ndim > 1:
            raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
        if counts.ndim == 1 and counts.size not in (1, size):
            raise RuntimeError(
                "repeats must have the same size as input along dim, but got repeats.size(0) = "
                f"{counts.size} and input.size({axis}) = {size}"
            )
    else:
        counts = np.asarray(repeats)
        if counts.ndim == 0 and counts >= 0 and output_size in (None, size * repeats):
            _check_room(float(size) * repeats, "so many")
            sizes = input._array.shape
            wide = shape.expand(shape.unsqueeze(input, axis + 1), (*sizes[: axis + 1], repeats, *sizes[axis + 1 :]))
            wide = apply(clone_contiguous, (wide,))
            return shape.reshape(wide, (*sizes[:axis], size * repeats, *sizes[axis + 1 :]))
    if counts.size and counts.min() < 0:
        raise RuntimeError("Repeats must be non-negative")
    counts = np.broadcast_to(counts, (size,))
    _check_room(counts.sum(dtype=np.float64), "so many")
    index = np.repeat(np.arange(size), counts)
    if output_size is not None and output_size != index.size:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {index.size} but got {output_size}")
    return apply(scatter.index_select, (input, wrap(index)), {"axis": axis})


# --- padding ---


@public(method=False)
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """A constant put around the last dims: `pad` has the amounts before and after, last dim first."""
    sizes = input._array.shape
    if len(pad) % 2:
        raise RuntimeError("Length of pad must be even.")
    if len(pad) // 2 > len(sizes):
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)} while the input has {len(sizes)} dimensions."
        )
    if type(value) is float:
        need_room(value, input._array.dtype)
    missing = len(sizes) - len(pad) // 2
    before = (0,) * missing + tuple([int(n) for n in pad[-2::-2]])
    after = (0,) * missing + tuple([int(n) for n in pad[::-2]])
    for axis, (n, b, a) in enumerate(zip(sizes, before, after, strict=True)):
        if n + b + a < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {b} and {a}, resulted in a negative output size, which is "
                f"invalid. Check dimension {axis} of your input."
            )
    value = value.item() if isinstance(value, Tensor) else value
    return apply_unary(ops.pad_with if value else ops.pad, input, {"before": before, "after": after, "value": value})
