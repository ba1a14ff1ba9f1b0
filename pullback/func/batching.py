"""`vmap`: a function of one example as a function of a batch.

The function runs once, on tensors that look like one example and hold all of them. Where it needs the value of one
example (`if x > 0`, `.item()`, boolean masks), `fallback="loop"` runs it once for each example instead, with a warning.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..core.basics.notices import warn_user
from ..core.basics.types import Arguments, Array, Dims, Function, Keywords, Operand
from ..core.general import payload_of
from ..core.mode import current_mode
from ..core.tape import wrap
from ..core.tensor import Tensor
from ..functional.refusals import with_suggestions
from ..ops.striding import address
from ..transforms.arrays.batched import Batched, NotBatchable, level_of
from ..transforms.arrays.batching_rules import is_tensor
from ..transforms.arrays.own_memory import repeat_view_steps
from ..transforms.arrays.randomness import randomness_of_level
from ..transforms.batched_grad import batch_level
from ..utils._pytree import PyTree, TreeSpec, broadcast_to_and_flatten, tree_flatten, tree_unflatten
from .wrapping import _depth, name_of


@with_suggestions
def vmap(
    func: Function, in_dims: Dims = 0, out_dims: Dims = 0, randomness: str = "error", *,
    chunk_size: int | None = None, fallback: str = "error",
) -> Function:  # fmt: skip
    """The function that maps `func` over a dim of its inputs: `func` sees one example, the result works on all at once.

    `in_dims` and `out_dims` say which dim is the batch (None: not batched), as trees that match inputs and outputs:
    `vmap(torch.dot, in_dims=(0, None))(rows, vector)` is one product for each row. `randomness` is "error", "same" or
    "different". `chunk_size` limits how many examples are worked on at once. `fallback="loop"` runs functions that look
    at values example by example.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    if fallback not in ("error", "loop"):
        raise ValueError(f"vmap: fallback must be 'error' or 'loop', got {fallback!r}")

    @functools.wraps(func, updated=())
    def mapped(*args: Arguments, **kwargs: Keywords) -> Any:
        size, flat, dims, spec = _inputs(func, in_dims, args)
        run = functools.partial(_run, func, out_dims, randomness, spec, kwargs)
        try:
            if chunk_size is not None:
                return _in_chunks(run, flat, dims, size, chunk_size, func, out_dims, randomness == "same")
            return run(flat, dims, size)
        except NotBatchable as error:
            if fallback != "loop":
                if current_mode().batch_level:
                    raise  # an outer vmap may have a fallback
                raise RuntimeError(str(error)) from error
            warn_user(f"vmap({name_of(func)}) runs example by example, {size} times: {str(error).split('. ')[0]}.")
            return _example_by_example(func, out_dims, flat, dims, size, spec, kwargs)

    return mapped


def chunk_vmap(
    func: Function, in_dims: Dims = 0, out_dims: Dims = 0, randomness: str = "error", chunks: int = 2
) -> Function:
    """`vmap` in so many parts of (about) equal size."""

    @functools.wraps(func, updated=())
    def mapped(*args: Arguments, **kwargs: Keywords) -> Any:
        size = _inputs(func, in_dims, args)[0]
        part = max(1, -(-size // max(1, chunks)))
        return vmap(func, in_dims, out_dims, randomness, chunk_size=part)(*args, **kwargs)

    return mapped


def _inputs(func: Function, in_dims: Dims, args: Arguments) -> tuple[int, list[Operand], list[int | None], TreeSpec]:
    """The size of the batch, the arguments as a list, the dim of each that is mapped over, and their structure."""
    if not isinstance(in_dims, (int, tuple)):
        raise _misuse(
            func, in_dims,
            "expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}.",
        )  # fmt: skip
    if not args:
        raise ValueError(
            f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
            "vmap over a function with no inputs. The latter is unsupported."
        )
    flat, spec = tree_flatten(args)
    dims = broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise _misuse(
            func, in_dims,
            "in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}.",
        )  # fmt: skip
    sizes = []
    for position, (value, dim) in enumerate(zip(flat, dims, strict=True)):
        if dim is not None:
            complaint = _unfit(value, dim)
            if complaint:
                raise _misuse(func, in_dims, complaint)
            dims[position] = dim % value._array.ndim
            sizes.append(value._array.shape[dim])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if sizes.count(sizes[0]) != len(sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0], flat, dims, spec


def _unfit(value: Operand, dim: object) -> str:
    """The complaint about a value that cannot be mapped over this dim; empty if it can."""
    if not isinstance(dim, int):
        return f"Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
    if not isinstance(value, Tensor):
        return (
            f"Got in_dim={dim} for an input but the input is of type {type(value)}. We cannot vmap over non-Tensor "
            "arguments, please use None as the respective in_dim. torch.as_tensor(...) makes a tensor of an array."
        )
    ndim = value._array.ndim
    if -ndim <= dim < ndim:
        return ""
    return (
        f"Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {ndim} so expected in_dim to "
        f"satisfy -{ndim} <= in_dim < {ndim}."
    )


def _misuse(func: Function, in_dims: Dims, what: str) -> ValueError:
    return ValueError(f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): {what}")


def _run(
    func: Function,
    out_dims: Dims,
    randomness: str,
    spec: TreeSpec,
    kwargs: Keywords,
    flat: list[Operand],
    dims: list[int | None],
    size: int,
) -> PyTree:
    moved = [value if dim is None or dim == 0 else value.movedim(dim, 0) for value, dim in zip(flat, dims, strict=True)]
    token = _depth.set(_depth.get() + 1)
    try:
        with batch_level() as level, randomness_of_level(level, randomness, size):
            inside = [
                value if dim is None else _entered(value, level, dim) for value, dim in zip(moved, dims, strict=True)
            ]
            output = func(*tree_unflatten(inside, spec), **kwargs)
            flat, spec = tree_flatten(output)
            for value in flat:
                if isinstance(value, Tensor) and value._view is not None:
                    repeat_view_steps(value)
    finally:
        _depth.reset(token)
    dims = _flat_out_dims(func, out_dims, output, spec)
    return tree_unflatten(
        [_left(func, value, dim, level, size, moved) for value, dim in zip(flat, dims, strict=True)], spec
    )


def _entered(value: Tensor, level: int, dim: int) -> Tensor:
    batch = wrap(Batched(payload_of(value, level), level))
    if dim:
        batch._batch_dim = dim  # type: ignore[attr-defined] # where a custom function's own `vmap` is told to find it
    return batch


def _flat_out_dims(func: Function, out_dims: Dims, output: PyTree, spec: TreeSpec) -> list[int | None]:
    if isinstance(output, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    dims = broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
            "structure of `outputs`. "
            f"out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return dims


def _left(func: Function, value: Operand, dim: int | None, level: int, size: int, inputs: list[Operand]) -> Operand:
    """A result out of the batch, with the batch as one of its dims."""
    if not isinstance(value, Tensor):
        if dim is None:
            return value
        name = name_of(func)
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    array = value._array
    inside = value
    batched = False
    if level_of(array) == level:
        inside = array.array if is_tensor(array.array) else _as_view(array.array, inputs)
        batched = array.batched
    if dim is None:
        if batched:
            name = name_of(func)
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return inside
    if not batched:
        inside = inside.expand(size, *inside.shape).clone() if size != 1 else inside.unsqueeze(0)
    if not isinstance(dim, int):
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={dim}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear."
        )
    ndim = inside._array.ndim
    if not -ndim <= dim < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
    return inside.movedim(0, dim) if dim % ndim else inside


def _as_view(array: Array, inputs: list[Operand]) -> Tensor:
    """A tensor for an array: an input itself, or a view of it if the array lies in its memory."""
    for value in inputs:
        if isinstance(value, Tensor) and value._array is array and not value.requires_grad:
            return value
    memory = array.base if type(array) is np.ndarray else None
    if type(memory) is not np.ndarray:
        return wrap(array)
    while type(memory.base) is np.ndarray:
        memory = memory.base
    for value in inputs:
        given = value._array if isinstance(value, Tensor) else None
        if (
            type(given) is not np.ndarray
            or given is not memory
            and given.base is not memory
            or given.dtype != array.dtype
        ):
            continue
        width = array.itemsize
        offset = address(array) - address(given)
        if offset % width or any(step < 0 or step % width for step in array.strides):
            continue
        steps = tuple(step // width for step in array.strides)
        return value.as_strided(array.shape, steps, value.storage_offset() + offset // width)
    return wrap(array)


# --- chunks and loops ---


def _cut(flat: list[Operand], dims: list[int | None], start: int, stop: int) -> list[Operand]:
    return [
        value if dim is None else value.narrow(dim, start, stop - start) for value, dim in zip(flat, dims, strict=True)
    ]


def _in_chunks(
    run: Function,
    flat: list[Operand],
    dims: list[int | None],
    size: int,
    chunk: int,
    func: Function,
    out_dims: Dims,
    same: bool,
) -> PyTree:
    """Chunk after chunk. Random numbers that are the `same` for all examples are so in all chunks."""
    from ..random import get_rng_state, set_rng_state

    state = get_rng_state() if same else None
    results = []
    for start in range(0, size, chunk):
        if state is not None:
            set_rng_state(state)
        results.append(run(_cut(flat, dims, start, min(start + chunk, size)), dims, min(chunk, size - start)))
    return _concatenated(results, func, out_dims, False)


def _example_by_example(
    func: Function,
    out_dims: Dims,
    flat: list[Operand],
    dims: list[int | None],
    size: int,
    spec: TreeSpec,
    kwargs: Keywords,
) -> PyTree:
    results = []
    for number in range(size):
        example = [value if dim is None else value.select(dim, number) for value, dim in zip(flat, dims, strict=True)]
        results.append(func(*tree_unflatten(example, spec), **kwargs))
    return _concatenated(results, func, out_dims, True)


def _concatenated(results: list[PyTree], func: Function, out_dims: Dims, stacking: bool) -> PyTree:
    from ..functional.registry import FUNCTIONS

    flats, specs = zip(*(tree_flatten(result) for result in results), strict=True)
    dims = _flat_out_dims(func, out_dims, results[0], specs[0])
    join = FUNCTIONS["stack" if stacking else "cat"]
    joined = []
    for parts, dim in zip(zip(*flats, strict=True), dims, strict=True):
        if dim is None:
            joined.append(parts[0])
        else:
            joined.append(join([part if isinstance(part, Tensor) else wrap(np.asarray(part)) for part in parts], dim))
    return tree_unflatten(joined, specs[0])
