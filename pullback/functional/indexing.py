"""`x[...]` and `x[...] = y`: torch's indexing, read and write.

Integers, slices, Ellipsis and None make views; integer and boolean tensors (or arrays, or lists) pick elements.
Negative steps, which torch refuses, work here: the result is a copy-free view as in NumPy. What an index means is
worked out in `index_parsing.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import seams, writes
from ..core.basics.constants import FLOAT32, FLOAT64
from ..core.basics.dtypes import LARGEST_HALF, number_in
from ..core.basics.storage import storage_of
from ..core.mode import Mode, current_mode
from ..core.tape import apply, apply_unary, wrap
from ..core.tensor import Tensor
from ..core.view_making import view_of
from ..ops import indexing as ops
from ..ops import shape as shapes
from ..ops.casting import copy_over
from ..transforms.arrays.batched import NotBatchable
from .index_parsing import FULL, check_arrays, kept, out_of_bounds, parse, parse_arrays, parse_basic
from .operands import NUMBERS, as_operand, broadcasts_to

ndarray = np.ndarray
select: Any
slice_: Any
select, slice_ = shapes.select, shapes.slice_
_REAL = (FLOAT32, FLOAT64)
_OPS = {int: select, slice: slice_, type(None): shapes.insert}


def getitem(x: Tensor, index: Any) -> Tensor:
    """`x[index]`."""
    kind = type(index)
    array = x._array
    if type(array) is ndarray:
        if kind is int:
            try:
                return view_of(select, x, {"index": (index,)}, array[index, ...])
            except (IndexError, OverflowError):
                raise out_of_bounds(index, array.shape) from None
        if kind is slice and array.ndim:
            start, stop, step = index.start, index.stop, index.step
            if (start is None or type(start) is int) and (stop is None or type(stop) is int):
                if step is None or type(step) is int and step > 0:
                    return view_of(slice_, x, {"index": (index,)}, array[index])
        if index is None:
            return view_of(shapes.insert, x, {"index": (None,)}, array[None])
    if kind is tuple or kind is slice or index is None:
        basic = parse_basic(index if kind is tuple else (index,), array.shape)
        if basic is not None:
            return view(x, basic)
    arrays = parse_arrays(index, array)
    if arrays is not None:
        try:
            return apply_unary(
                ops.pick, x, {"index": kept(arrays, index) if x._requires_grad or x._view is not None else arrays}
            )
        except IndexError:
            check_arrays(arrays, array.shape)
            raise
    try:
        basic, advanced = parse(index, array)
    except NotBatchable as error:
        return picked_by_batch(x, index, error)
    except IndexError:
        if not seams.notice_foreign_objects((index,), {}):  # by an object with a `__torch_function__`
            raise
        return x[index]
    if not advanced:
        return view(x, basic)
    if any(part is not FULL for part in basic):
        x = view(x, basic)
    return apply_unary(
        ops.pick, x, {"index": kept(advanced, index) if x._requires_grad or x._view is not None else advanced}
    )


def picked_by_batch(x: Tensor, index: Any, error: NotBatchable) -> Tensor:
    """`x[index]` inside vmap, where each example has an index of its own."""
    from .batched_indexing import pick_by_batch

    return pick_by_batch(x, index, error)


def view(x: Tensor, index: tuple[Any, ...]) -> Tensor:
    """The view that integers, slices and None give. Its node is named after the last step, as in torch."""
    for part in reversed(index):
        if part is not FULL:
            array = x._array
            if type(array) is ndarray:
                return view_of(_OPS[type(part)], x, {"index": index}, array[(*index, ...)])
            return apply(_OPS[type(part)], (x,), {"index": index})
    return apply(shapes.alias, (x,))


# --- writing ---


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`."""
    if type(index) is bool:  # x[False] = y writes nothing, x[True] = y everything
        if not index:
            return
        index = None
    array = x._array
    advanced: Any = parse_arrays(index, array)
    if advanced is not None:
        basic: Any = ()
        try:
            check_arrays(advanced, array.shape)
        except IndexError:
            writes.check_early(x, value)  # torch complains about writes to leaves first
            raise
    else:
        basic, advanced = parse_basic(index if type(index) is tuple else (index,), array.shape), ()
    if basic is None:
        try:
            basic, advanced = parse(index, x._array)
        except NotBatchable as error:
            from .batched_indexing import write_by_batch

            return write_by_batch(x, index, value, error)
        except IndexError:
            if not seams.notice_foreign_objects((index,), {}):
                if any(
                    isinstance(part, (Tensor, list, ndarray)) for part in (index if type(index) is tuple else (index,))
                ):
                    writes.check_early(x, value)
                raise
            x[index] = value
            return
    mode = current_mode()
    if (type(value) is float or type(value) is int) and not mode.special and -LARGEST_HALF < value < LARGEST_HALF:
        if array.dtype in _REAL and not (mode.grad and x.requires_grad):
            # A number that fits: it need not become a tensor.
            _write_number(x, basic, advanced, value, mode)
            return
    try:
        given = value if isinstance(value, Tensor) else as_value(value, x)
    except TypeError:
        if not seams.notice_foreign_objects((value,), {}):
            raise
        x[index] = value
        return
    if advanced and given._array.dtype != x._array.dtype:
        # Numbers and arrays are cast, and one value for a mask is; anything else is not.
        if given is value and (value._array.size != 1 or not _has_mask(advanced)):
            check_fits(value._array.shape, x._array[(*basic, ...)].shape, advanced)
            raise _other_dtype(x, value)
        given = given.to(x.dtype)
    value = drop_ones(given) if advanced and given._array.shape[:1] == (1,) else given
    if not mode.special and not (mode.grad and (x.requires_grad or value.requires_grad)):
        _write(x, basic, advanced, value)
        return
    target = x if all(part is FULL for part in basic) else view(x, basic)
    if advanced:
        put_in_place(target, value, kept(advanced, index), False)
    else:
        _overwrite(target, value)


def _other_dtype(x: Tensor, value: Tensor) -> RuntimeError:
    return RuntimeError(
        f"Index put requires the source and destination dtypes match, got {x.dtype.type_name} for the destination and "
        f"{value.dtype.type_name} for the source. Convert it: .to(x.dtype)."
    )


def _overwrite(target: Tensor, value: Tensor) -> None:
    """All of a view, recorded."""
    from .copying import copy_, fill_

    if value._array.ndim or not target._array.ndim:
        copy_(target, drop_ones(value))
    else:
        fill_(target, value)


def _has_mask(advanced: tuple) -> bool:
    return any(type(part) is ndarray and part.dtype.kind == "b" for part in advanced)


def _write_number(x: Tensor, basic: tuple, advanced: tuple, value: float, mode: Mode) -> None:
    """`_write` of a Python number, when nothing is recorded."""
    writes.check_writable(x, mode, False)
    storage = x._storage or storage_of(x)
    array = x.memory()
    if array.base is not None and 0 in array.strides and not advanced:
        writes.check_no_overlap(array[(*basic, ...)])
    writes.bump(storage)
    if advanced and basic:
        array[(*basic, ...)][advanced] = value
    else:
        array[advanced or basic] = value


def _write(x: Tensor, basic: tuple, advanced: tuple, value: Tensor) -> None:
    """The write alone, when nothing is recorded."""
    mode = current_mode()
    writes.check_writable(x, mode, False)
    storage = storage_of(x)
    region = x.memory()[(*basic, ...)]
    array = value._array
    if advanced:
        writes.bump(storage)
        try:
            region[advanced] = array
        except ValueError:
            storage.take_back()
            check_fits(array.shape, region.shape, advanced)
            raise
        return
    if array.ndim > region.ndim or array.shape != region.shape and array.ndim:
        array = drop_ones(wrap(array))._array
        _check_broadcast(array.shape, region.shape)
    if value is not x:
        writes.check_no_overlap(region, np.broadcast_to(array, region.shape))
    writes.bump(storage)
    if array.dtype is region.dtype:
        region[...] = array
    else:
        copy_over(region, array)


def _check_broadcast(have: tuple, want: tuple) -> None:
    if not broadcasts_to(have, want):
        extra = len(want) - len(have)
        if extra < 0 and any(n != 1 for n in have[:-extra]):
            raise RuntimeError(
                f"expand(torch.FloatTensor{{{list(have)}}}, size={list(want)}): the number of sizes provided "
                f"({len(want)}) must be greater or equal to the number of dimensions in the tensor ({len(have)})"
            )
        axis, n = next((i, n) for i, n in enumerate(have) if i + extra >= 0 and n not in (1, want[i + extra]))
        raise RuntimeError(
            f"The expanded size of the tensor ({want[axis + extra]}) must match the existing size ({n}) at "
            f"non-singleton dimension {axis + extra}.  Target sizes: {list(want)}.  Tensor sizes: {list(have)}"
        )


def delitem(x: Tensor, index: Any) -> None:
    """`del x[index]`, which tensors do not do."""
    raise TypeError("Tensor does not support deleting items. Select those that stay, as in x[1:] or x[mask].")


def put_in_place(target: Tensor, value: Tensor, index: tuple[Any, ...], accumulate: bool) -> Tensor:
    """`target[index] = value` (or `+=`, repeats added up) on memory, recorded."""
    check_fits(value._array.shape, target._array.shape, index)
    params = {"index": index, "accumulate": accumulate}
    return writes.write_in_place(target, ops.put, (value,), params, ops.write, overlap=True)


def as_value(value: Any, x: Tensor) -> Tensor:
    """Numbers and arrays as what can be written to a tensor."""
    kind = x._array.dtype
    if isinstance(value, NUMBERS):
        return wrap(np.asarray(number_in(value, kind)))
    converted = as_operand(value)
    if converted is None:
        raise TypeError(f"can't assign a {type(value).__name__} to a torch.{x.dtype.type_name}Tensor")
    return converted if isinstance(converted, Tensor) else wrap(np.asarray(converted).astype(kind))


def drop_ones(value: Tensor) -> Tensor:
    """The value without its leading dims of size 1, of which it may have more than what it is written to."""
    shape = value._array.shape
    first = next((axis for axis, n in enumerate(shape) if n != 1), len(shape))
    from .shape import reshape

    return reshape(value, shape[first:])


def check_fits(have: tuple[Any, ...], shape: tuple[Any, ...], index: tuple[Any, ...]) -> None:
    """Complain unless a value of shape `have` can be broadcast to the elements that the index picks."""
    if not have:
        return
    result = np.broadcast_to(np.int8(0), shape)[index].shape
    if not broadcasts_to(have, result):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to indexing result of shape "
            f"{list(result)}"
        )
