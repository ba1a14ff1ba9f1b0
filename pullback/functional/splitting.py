"""Splitting a tensor into views of its pieces: split, chunk, tensor_split and relatives. `unbind` is in `shape.py`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from ..core.tape import apply
from ..core.tensor import Tensor
from ..core.view_making import views_of
from ..ops import shape as ops
from ..ops import splitting
from .operands import wrap_dim
from .refusals import complaint_for
from .registry import public


@public(direct=True, passed="tensor split_size_or_sections, dim", passed_by_method="input split_size, dim")
def split(
    input: Any = None, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None, tensor: Any = None
) -> tuple[Tensor, ...]:
    """Views of consecutive pieces: of one size (the last may be smaller), or of the sizes given.

    The method calls its argument `split_size` in torch, and the function its first one `tensor`.
    """
    input = tensor if input is None else input
    split_size_or_sections = split_size if split_size_or_sections is None else split_size_or_sections
    try:
        shape = input._array.shape
    except AttributeError as error:
        raise complaint_for(error) from None
    if isinstance(split_size_or_sections, (list, tuple)):
        return split_with_sizes(input, split_size_or_sections, dim)
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = wrap_dim(dim, len(shape))
    size, piece = shape[axis], split_size_or_sections.__index__()
    if piece < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={piece}")
    if piece == 0 and size != 0:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    return _cut(input, axis, size, piece)


def _cut(input: Tensor, axis: int, size: int, piece: int) -> tuple[Tensor, ...]:
    """Views of pieces of one size; the last may be smaller."""
    bounds = [(start, start + piece) for start in range(0, size, piece)] if size else [(0, 0)]
    if bounds[-1][1] != size:
        bounds[-1] = (bounds[-1][0], size)
    return views_of(splitting.split, input, {"axis": axis, "bounds": tuple(bounds)})


@public()
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces of the sizes given."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("split_with_sizes expects at least a 1-dimensional tensor")
    axis = wrap_dim(dim, len(shape))
    size, sizes = shape[axis], [n.__index__() for n in split_sizes]
    if min(sizes, default=0) < 0:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}"
        )
    if sum(sizes) != size:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension "
            f"{axis}), but got split_sizes={sizes}"
        )
    bounds = tuple((stop - n, stop) for n, stop in zip(sizes, accumulate(sizes), strict=True))
    return views_of(splitting.split_sizes, input, {"axis": axis, "bounds": bounds})


@public(direct=True)
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most `chunks` equal pieces."""
    try:
        shape = input._array.shape
    except AttributeError as error:
        raise complaint_for(error) from None
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    axis = wrap_dim(dim, len(shape))
    size = shape[axis]
    if size == 0:
        return split_with_sizes(input, [0] * chunks, dim)
    return _cut(input, axis, size, -(-size // chunks))


@public()
def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Tensor, ...]:
    """Views of pieces as equal as possible, or cut at the indices given."""
    where = next((v for v in (indices_or_sections, indices, sections) if v is not None), None)
    shape = input._array.shape
    if not shape:
        raise RuntimeError(
            f"tensor_split expected at least a 1-dimensional tensor, but got a tensor with {len(shape)} dims"
        )
    axis = wrap_dim(dim, len(shape))
    if isinstance(where, Tensor):
        if where._array.dtype.name != "int64":
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{where.dtype.type_name}"
            )
        if where._array.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
                f"but got a tensor with {where._array.ndim} dims"
            )
        where = where._array.tolist()
    size = shape[axis]
    if isinstance(where, (tuple, list)):
        cuts = [n.__index__() for n in where]
        bounds = list(zip([0, *cuts], [*cuts, size], strict=True))
        # A cut before the cut to its left gives an empty piece, as slices do.
        return tuple(_slice(input, axis, *slice(start, stop).indices(size)[:2]) for start, stop in bounds)
    if where is None or not hasattr(where, "__index__"):
        raise TypeError(
            f"tensor_split() received an invalid combination of arguments - got ({type(input).__name__}, "
            f"{type(where).__name__}): give a number of sections, or indices to cut at"
        )
    sections = where.__index__()
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    if sections > _MOST_PIECES:
        raise RuntimeError(f"tensor_split(): there is no memory for {sections} pieces of {size} elements.")
    each, longer = divmod(size, sections)
    stops = list(accumulate(each + (number < longer) for number in range(sections)))
    return tuple(_slice(input, axis, start, stop) for start, stop in zip([0, *stops], stops, strict=False))


_MOST_PIECES = 1 << 28


def _slice(input: Tensor, axis: int, start: int, stop: int) -> Tensor:
    return apply(ops.slice_, (input,), {"index": (*(slice(None),) * axis, slice(start, max(start, stop)))})


def _split_along(name: str, least: int, axis: int) -> None:
    def function(
        input: Tensor, indices_or_sections: Any = None, *, indices: Any = None, sections: Any = None
    ) -> tuple[Tensor, ...]:
        where = next((v for v in (indices_or_sections, indices, sections) if v is not None), None)
        shape = input._array.shape
        if len(shape) < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension{'s' * (least > 1)}, but got a tensor "
                f"with {len(shape)} dimensions!"
            )
        along = 0 if len(shape) == 1 else axis
        if isinstance(where, int) and (where == 0 or shape[along] % where):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {along}, but the size of the dimension "
                f"{shape[along]} is not divisible by the split_size {where}!"
            )
        return tensor_split(input, where, along)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`tensor_split` along dim {axis}."
    public()(function)


_split_along("hsplit", 1, 1)
_split_along("vsplit", 2, 0)
_split_along("dsplit", 3, 2)
