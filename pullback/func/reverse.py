"""Reverse mode as function transforms: `grad`, `grad_and_value`, `vjp`, `jacrev`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..core import roots
from ..core.basics.types import Arguments, DType, Function, Keywords, Reach
from ..core.tape import wrap
from ..core.tensor import Tensor
from ..functional.refusals import with_suggestions
from ..utils._pytree import PyTree, TreeSpec, tree_flatten, tree_unflatten, treespec_pprint
from .wrapping import (
    check_argnums,
    check_real,
    edge_of,
    fresh_leaves,
    has_outer_history,
    inner_leaves,
    is_watched,
    release,
    release_aux,
    release_one,
    replace_arguments,
    select_arguments,
    settle,
    transform,
)


@with_suggestions
def grad(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """The function that returns the gradient of `func` with respect to the arguments `argnums`.

    `func` returns one number as a tensor, or with `has_aux` a pair of it and a tree of tensors, which is passed on.
    Arguments may be nested lists, tuples and dicts of tensors; the gradient is nested alike. `grad(grad(torch.sin))(x)`
    is the second derivative.
    """

    @functools.wraps(func, updated=())
    def gradient(*args: Arguments, **kwargs: Keywords) -> Any:
        answer, _, aux = _differentiated(func, argnums, has_aux, False, args, kwargs)
        return (answer, aux) if has_aux else answer

    return gradient


@with_suggestions
def grad_and_value(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """The function that returns (gradient, value), or with `has_aux` (gradient, (value, aux))."""

    @functools.wraps(func, updated=())
    def gradient_and_value(*args: Arguments, **kwargs: Keywords) -> Any:
        answer, value, aux = _differentiated(func, argnums, has_aux, True, args, kwargs)
        return (answer, (value, aux)) if has_aux else (answer, value)

    return gradient_and_value


def _differentiated(
    func: Function, argnums: int | tuple[int, ...], has_aux: bool, valued: bool, args: Arguments, kwargs: Keywords
) -> tuple[PyTree, Tensor | None, PyTree]:
    """(gradient, value if that is wanted, aux if there is any)."""
    with transform() as outside:
        flat, spec = fresh_leaves(select_arguments(args, argnums), outside.grad)
        output = func(*replace_arguments(args, argnums, tree_unflatten(flat, spec)), **kwargs)
        output, aux = _with_aux(output, has_aux, "grad_and_value(f)(*args)", "output")
        _check_scalar(output)
        own = {edge_of(leaf) for leaf in flat}
        record = (
            output._tangent is not None
            or any([leaf._tangent is not None for leaf in flat])
            or outside.grad
            and has_outer_history(output, own)
        )
        gradients = gradients_of([output], flat, None, outside.grad, own, record=record)
        answer = tree_unflatten(release(gradients, own, outside.grad), spec)
        value = release_one(output, own, outside.grad) if valued else None
        return answer, value, release_aux(aux, own, outside.grad) if has_aux else None


def _with_aux(output: PyTree, has_aux: bool, name: str, what: str) -> tuple[PyTree, PyTree]:
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: ({what}, aux) if has_aux is True")
    return output


def _check_scalar(output: PyTree) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
    if output.ndim != 0:
        raise RuntimeError(
            f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} "
            "dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def gradients_of(
    outputs: list[Tensor],
    inputs: list[Tensor],
    weights: list[Tensor] | None,
    recording: bool,
    own: Reach,
    batched: bool = False,
    record: bool | None = None,
) -> list[Tensor]:
    """Gradients of outputs (those that require grad) with respect to inner leaves; zeros where nothing arrives."""
    with_grad = [number for number, output in enumerate(outputs) if output.requires_grad]
    size = None if not batched else weights[0]._array.shape[0]  # type: ignore[index]
    if not with_grad:
        return [_zeros(leaf, size) for leaf in inputs]
    roots_ = [outputs[number] for number in with_grad]
    given = None if weights is None else [weights[number] for number in with_grad]
    if record is None:
        record = (
            any([value._tangent is not None for value in (*roots_, *inputs)])
            or recording and any([has_outer_history(output, own) for output in roots_])
        )  # fmt: skip
    if len(roots_) == 1 and not batched:  # the short way in
        found = roots.grad(roots_[0], inputs, None if given is None else given[0], True, record, allow_unused=True)
    else:
        found = roots.grad(
            roots_, inputs, given, create_graph=record, retain_graph=True, allow_unused=True, is_grads_batched=batched
        )
    return [_zeros(leaf, size) if gradient is None else gradient for gradient, leaf in zip(found, inputs, strict=True)]


def _zeros(leaf: Tensor, size: int | None) -> Tensor:
    shape = leaf._array.shape
    return wrap(np.zeros(shape if size is None else (size, *shape), leaf._array.dtype))


# --- vjp ---


def vjp(func: Function, *primals: PyTree, has_aux: bool = False) -> tuple[Any, ...]:
    """(outputs, vjp_fn[, aux]): `vjp_fn(cotangents)` gives the vector-Jacobian products with respect to the primals."""
    with transform() as outside:
        leaves = inner_leaves(primals, outside.grad)
        output = func(*leaves)
        output, aux = _with_aux(output, has_aux, "vjp(f, *primals)", "output")
        flat_out, out_spec = tree_flatten(output)
        _check_tensors(flat_out, "vjp(f, *primals)", "primals")
        flat, spec = tree_flatten(leaves)
        own = {edge_of(leaf) for leaf in flat}
    settle(own)
    single = len(primals) == 1

    def vjp_fn(cotangents: PyTree, retain_graph: bool = True, create_graph: bool | None = None) -> PyTree:
        """The products of these cotangents with the Jacobian, one for each primal (a tuple, as torch gives)."""
        weights, weight_spec = tree_flatten(cotangents)
        _check_structure(weight_spec, out_spec)
        with transform() as outside_now:
            weights = [_weight(*each) for each in zip(weights, flat_out, range(len(flat_out)), strict=True)]
            wanted = create_graph
            if wanted is None:
                for weight in weights:
                    if is_watched(weight, outside_now.grad):
                        wanted = True
            gradients = gradients_of(flat_out, flat, weights, outside_now.grad, own, record=wanted)
            result = tree_unflatten(release(gradients, own, outside_now.grad), spec)
        return result if not single else (result[0],)

    answer = release(output, own, outside.grad)
    return (answer, vjp_fn, release_aux(aux, own, outside.grad)) if has_aux else (answer, vjp_fn)


def _check_tensors(flat: list[Any], name: str, arguments: str) -> None:
    if not flat or flat[0] is None and len(flat) == 1:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {flat})")
    for value in flat:
        if not isinstance(value, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*{arguments}) to return only tensors, got unsupported type {type(value)}"
            )


def _check_structure(given: TreeSpec, wanted: TreeSpec) -> None:
    if given != wanted:
        raise RuntimeError(
            "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
            f"cotangents: {treespec_pprint(given)}, primal output: {treespec_pprint(wanted)}"
        )


def _weight(weight: Tensor | None, output: Tensor, position: int) -> Tensor:
    """The cotangent of an output: the one that was given, if it fits, or 1 for a number without one."""
    if weight is None and output._array.shape == ():
        return wrap(np.ones((), output._array.dtype))
    if weight is None:
        raise RuntimeError(
            "grad can be implicitly created only for scalar outputs. "
            f"Output {position} has shape {tuple(output.shape)}: give a cotangent of that shape."
        )
    if not isinstance(weight, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(weight).__name__}")
    if weight._array.shape != output._array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{position}] has a shape of torch.Size({list(weight.shape)}) and "
            f"output[{position}] has a shape of torch.Size({list(output.shape)})."
        )
    return weight


# --- Jacobians ---


@with_suggestions
def jacrev(
    func: Function, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False,
    chunk_size: int | None = None, _preallocate_and_copy: bool = False,
) -> Function:  # fmt: skip
    """The function that returns the Jacobian of `func`, by one batched backward pass over its outputs.

    The result has the shape (*output.shape, *input.shape), nested as output and input are. It suits functions with
    fewer outputs than inputs; `jacfwd` suits the others. `chunk_size` limits how many rows are computed at once; with
    1, each is an ordinary backward pass.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func, updated=())
    def jacobian(*args: Arguments, **kwargs: Keywords) -> Any:
        with transform() as outside:
            flat, spec = fresh_leaves(select_arguments(args, argnums), outside.grad)
            check_real(flat, "jacrev", "inputs")
            output = func(*replace_arguments(args, argnums, tree_unflatten(flat, spec)), **kwargs)
            output, aux = _with_aux(output, has_aux, "vjp(f, *primals)", "output")
            flat_out, out_spec = tree_flatten(output)
            _check_tensors(flat_out, "vjp(f, *primals)", "primals")
            check_real(flat_out, "jacrev", "outputs")
            own = {edge_of(leaf) for leaf in flat}
            if len(flat_out) == 1 and flat_out[0]._array.shape == ():
                blocks = [
                    gradients_of(flat_out, flat, [wrap(np.ones((), flat_out[0]._array.dtype))], outside.grad, own)
                ]
            else:
                rows = [
                    _one_row(flat_out, flat, basis, outside.grad, own)
                    if chunk_size == 1
                    else gradients_of(flat_out, flat, basis, outside.grad, own, batched=True)
                    for basis in standard_basis(flat_out, chunk_size)
                ]
                columns = [group[0] if len(group) == 1 else _joined(group) for group in zip(*rows, strict=True)]
                blocks = _split_rows(columns, flat_out, flat)
            result = tree_unflatten([tree_unflatten(release(row, own, outside.grad), spec) for row in blocks], out_spec)
            return (result, release_aux(aux, own, outside.grad)) if has_aux else result

    return jacobian


def _one_row(outputs: list, inputs: list, basis: list, recording: bool, own: Reach) -> list[Tensor]:
    """A single row without a batch: what a backward may not do on batches, it may do here."""
    weights = [rows.reshape(rows.shape[1:]) for rows in basis]
    return [row.unsqueeze(0) for row in gradients_of(outputs, inputs, weights, recording, own)]


def _joined(parts: tuple[Tensor, ...]) -> Tensor:
    from ..functional.registry import FUNCTIONS

    return FUNCTIONS["cat"](list(parts), 0)


def standard_basis(outputs: list[Tensor], chunk_size: int | None = None) -> list[list[Tensor]]:
    """Unit cotangents for all elements of all outputs, in chunks; each a list with one batch for each output."""
    sizes = [output._array.size for output in outputs]
    total = sum(sizes)
    chunk = total if chunk_size is None else min(chunk_size, total)
    chunks = []
    for first in range(0, max(total, 1), max(chunk, 1)):
        count = min(chunk, total - first)
        start = 0
        basis = []
        for output, size in zip(outputs, sizes, strict=True):
            rows = np.eye(count, size, first - start, dtype=_plain_dtype(output))
            basis.append(wrap(rows.reshape((count, *output._array.shape))))
            start += size
        chunks.append(basis)
    return chunks


def _plain_dtype(output: Tensor) -> DType:
    return output._array.dtype


def _split_rows(columns: list[Tensor], outputs: list[Tensor], inputs: list[Tensor]) -> list[list[Tensor]]:
    """Rows of the whole Jacobian as one block for each (output, input)."""
    blocks = []
    start = 0
    for output in outputs:
        count = output._array.size
        row = []
        for column, leaf in zip(columns, inputs, strict=True):
            part = column if len(outputs) == 1 else column[start : start + count]
            shape = (*output._array.shape, *leaf._array.shape)
            row.append(part if part._array.shape == shape else part.reshape(shape))
        blocks.append(row)
        start += count
    return blocks


__all__ = ["check_argnums", "grad", "grad_and_value", "jacrev", "vjp"]
