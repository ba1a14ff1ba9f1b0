"""Forward mode as function transforms: `jvp`, `jacfwd`; and `hessian`. `linearize` is in `linear.py`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..autograd.forward_ad import dual_at, next_level
from ..core.basics.types import Arguments, Function, Keywords
from ..core.mode import current_mode, set_mode
from ..core.tape import wrap
from ..core.tensor import Tensor
from ..functional.refusals import with_suggestions
from ..transforms.arrays.batched import Batched
from ..transforms.arrays.randomness import randomness_of_level
from ..transforms.batched_grad import batch_level, unbatched
from ..transforms.forward_mode import below_level, forget_level, open_level, tangents_of
from ..utils._pytree import PyTree, TreeSpec, tree_flatten, tree_map, tree_unflatten
from .reverse import _check_tensors, _with_aux, jacrev
from .wrapping import _depth, check_aux, check_real, replace_arguments, select_arguments


@with_suggestions
def jvp(
    func: Function, primals: PyTree, tangents: PyTree, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """(outputs, tangents of the outputs[, aux]): the Jacobian of `func` at `primals` times `tangents`."""
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    flat, spec = tree_flatten(primals)
    flat_tangents, tangent_spec = tree_flatten(tangents)
    if spec != tangent_spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, "
            f"if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and "
            f"tangents with structure {tangent_spec}"
        )
    _check(flat, "jvp(f, primals, tangents)", "primals")
    _check(flat_tangents, "jvp(f, primals, tangents)", "tangents")
    flat_out, out_tangents, out_spec, aux = push(func, flat, flat_tangents, spec, has_aux, strict)
    answer = tree_unflatten(flat_out, out_spec), tree_unflatten(out_tangents, out_spec)
    return (*answer, aux) if has_aux else answer


def _check(flat: list[Any], name: str, which: str) -> None:
    if not flat:
        raise RuntimeError(f"{name}: Expected {which} to contain at least one Tensor.")
    for value in flat:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{name}: Expected {which} to only contain Tensors, got {type(value)}")


def push(
    func: Function,
    flat: list[Tensor],
    tangents: list[Tensor],
    spec: TreeSpec,
    has_aux: bool = False,
    strict: bool = False,
) -> tuple[list[Tensor], list[Tensor], TreeSpec, PyTree]:
    """Run `func` on duals: (outputs, their tangents, structure of the outputs, aux)."""
    name = "jvp(f, primals, tangents)"
    mode = current_mode()
    level = next_level()
    open_level(level)
    token = _depth.set(_depth.get() + 1)
    set_mode(mode.replace(dual_level=level, inference=False))
    try:
        duals = [
            dual_at(primal, _in_dtype(tangent, primal), level) for primal, tangent in zip(flat, tangents, strict=True)
        ]
        output, aux = _with_aux(func(*tree_unflatten(duals, spec)), has_aux, name, "output")
        flat_out, out_spec = tree_flatten(output)
        _check_tensors(flat_out, name, "primals")
        results, found = [], []
        for value in flat_out:
            tangent = (tangents_of(value) or {}).get(level)
            if tangent is None and strict:
                raise RuntimeError(
                    "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                    "allowed with strict=True."
                )
            primal = below_level(value, level)
            results.append(primal)
            found.append(wrap(np.zeros(value._array.shape, value._array.dtype)) if tangent is None else tangent)
        if has_aux:
            check_aux(aux)
            aux = tree_map(lambda value: below_level(value, level), aux)
    finally:
        set_mode(mode)
        forget_level(level)
        _depth.reset(token)
    return results, found, out_spec, aux


def _in_dtype(tangent: Tensor, primal: Tensor) -> Tensor:
    """The tangent in the primal's dtype; one of integers as it is, to be refused."""
    own, wanted = tangent._array.dtype, primal._array.dtype
    return tangent if own == wanted or own.kind not in "fcV" else tangent.to(primal.dtype)


@with_suggestions
def jacfwd(
    func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Function:
    """The function that returns the Jacobian of `func`, by one forward pass with a batch of tangents.

    `randomness` says what random numbers are in that batch, as for `vmap`.
    """
    return forward_jacobian(func, argnums, has_aux, randomness, True)


def forward_jacobian(
    func: Function, argnums: int | tuple[int, ...], has_aux: bool = False, randomness: str = "same",
    real: bool = False,
) -> Function:  # fmt: skip
    """`jacfwd`, which asks for `real` inputs and outputs."""

    @functools.wraps(func, updated=())
    def jacobian(*args: Arguments, **kwargs: Keywords) -> Any:
        chosen = select_arguments(args, argnums)
        flat, spec = tree_flatten(chosen)
        _check(flat, "jacfwd(f, ...)(*args)", "inputs")
        if real:
            check_real(flat, "jacfwd", "inputs")
        total = sum(x._array.size for x in flat)

        def on_chosen(*values: Any) -> Any:
            return func(*replace_arguments(args, argnums, tree_unflatten(values, spec)), **kwargs)

        with batch_level() as level, randomness_of_level(level, randomness, total):
            basis = _unit_tangents(flat, total, level)
            results, tangents, out_spec, aux = push(on_chosen, flat, basis, tree_flatten(tuple(flat))[1], has_aux)
        if real:
            check_real(results, "jacfwd", "outputs")
        blocks = []
        for result, tangent in zip(results, tangents, strict=True):
            rows = unbatched(tangent, total, level)
            assert rows is not None
            columns = rows.movedim(0, -1)
            shape, start, row = result._array.shape, 0, []
            for x in flat:
                count = x._array.size
                part = columns if len(flat) == 1 else columns[..., start : start + count]
                row.append(part.reshape((*shape, *x._array.shape)))
                start += count
            blocks.append(tree_unflatten(row, spec))
        answer = tree_unflatten(blocks, out_spec)
        if not has_aux:
            return answer
        return answer, tree_map(lambda value: _left(value, level), aux)

    return jacobian


def _left(value: Tensor, level: int) -> Tensor:
    """A result that is the same for all tangents, out of the batch."""
    array = value._array
    if type(array) is Batched and array.level == level:
        inside = array.array if not array.batched else array.array[0]
        return inside if isinstance(inside, Tensor) else wrap(inside)
    return value


def _unit_tangents(flat: list, total: int, level: int) -> list[Tensor]:
    tangents = []
    start = 0
    for x in flat:
        size = x._array.size
        rows = np.eye(total, size, -start, dtype=x._array.dtype).reshape((total, *x._array.shape))
        tangents.append(wrap(Batched(rows, level)))
        start += size
    return tangents


@with_suggestions
def hessian(func: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """The function that returns the second derivatives of `func`.

    Reverse mode over reverse mode: the second pass runs on the graph of the first, once, with a batch of cotangents.
    """
    return jacrev(jacrev(func, argnums), argnums)
