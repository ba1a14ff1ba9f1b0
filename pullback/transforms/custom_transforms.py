"""Custom functions under forward mode and `vmap`: their `jvp` and `vmap` static methods.

Functions with `generate_vmap_rule` are in `custom_batches.py` where something outside the batch wants to know more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..autograd.function import Function, FunctionCtx, SavedInput, run_function
from ..core.general import payload_of, top_levels
from ..core.mode import current_mode, set_mode
from ..core.tape import wrap
from ..core.tensor import Tensor
from ..utils._pytree import broadcast_to_and_flatten, tree_flatten, tree_leaves, tree_unflatten
from .arrays.batched import Batched, level_of
from .arrays.batching_rules import is_tensor
from .forward_mode import below_level, note_saved_tangents, set_tangent

if TYPE_CHECKING:
    from ..core.basics.types import Arguments, Array, Operand, Operands, Result, Saved

_NOTES = "For more details, please see docs/howto/custom_functions.md."


class VmapInfo(NamedTuple):
    """The first argument of a `vmap` static method: the number of examples and how random numbers are drawn."""

    batch_size: int
    randomness: str


def apply_transformed(cls: type[Function], args: Arguments, below: float = float("inf")) -> Result:
    """`Function.apply` when forward mode or vmap may be involved."""
    # A function with a batching rule of its own may be given its tensors in tuples, lists and dictionaries.
    dual, batch = top_levels(args if cls.vmap is Function.vmap else tuple(tree_leaves(args)), None, below)
    if dual > batch:
        return _apply_dual(cls, args, dual)
    if batch:
        return _apply_batched(cls, args, batch)
    return run_function(cls, args)


def _apply_dual(cls: type[Function], args: Arguments, level: int) -> Result:
    primals = tuple(below_level(value, level) if isinstance(value, Tensor) else value for value in args)
    made: list = []
    if any(isinstance(value, Tensor) and value._tangent is not None for value in primals) or _any_batch(primals):
        output = apply_transformed(cls, primals, level)
        ctx = _context_of(output, cls) if cls.setup_context is Function.setup_context else Context(cls, primals, output)
    else:
        output = run_function(cls, primals, made=made)
        ctx = made[0]
    tangents = [(value._tangent or {}).get(level) if isinstance(value, Tensor) else None for value in args]
    if ctx.materialize_grads:
        tangents = [
            _zeros(value)
            if tangent is None and isinstance(value, Tensor) and value._array.dtype.kind in "fcV"
            else tangent
            for value, tangent in zip(args, tangents, strict=True)
        ]
    versions = [None if tangent is None else tangent._version for tangent in tangents]
    found = cls.jvp(_ForwardContext(ctx), *tangents)
    single = not isinstance(output, tuple)
    outputs = (output,) if single else output
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(outputs):
        raise RuntimeError(
            f"The jvp of {cls.__name__} returned {len(found)} tangents for {len(outputs)} outputs: give one for each, "
            "or None."
        )
    sources = [row for row in zip(primals, tangents, versions, strict=True) if isinstance(row[0], Tensor)]
    results = []
    for out, tangent in zip(outputs, found, strict=True):
        if isinstance(out, Tensor):
            check_tangent(ctx, out, tangent, sources)
            written = [position for position, value in enumerate(primals) if value is out]
            if written:  # an input that was written in place is returned as the dual tensor it came in as
                out = args[written[0]]
        results.append(_with_tangent(out, tangent, level))
    _note_tangents(results, cls)
    _keep_duals(results, cls, primals, args)
    return results[0] if single else tuple(results)


def _note_tangents(results: list[Operand], cls: type[Function]) -> None:
    """A node that saved its outputs must give them back with their tangents (forward over reverse)."""
    for value in results:
        node = value._node if isinstance(value, Tensor) else None
        if isinstance(node, cls._backward_cls):
            note_saved_tangents(node, value._output_nr, value._tangent)


def _keep_duals(results: list[Operand], cls: type[Function], primals: Arguments, args: Arguments) -> None:
    """Inputs that a node saved, likewise: they were saved without the tangents of this level."""
    duals = {id(primal): value for primal, value in zip(primals, args, strict=True) if primal is not value}
    for value in results:
        node = value._node if isinstance(value, Tensor) else None
        if isinstance(node, cls._backward_cls) and type(node.saved) is tuple:
            for entry in node.saved:
                if isinstance(entry, SavedInput):
                    entry.tensor = duals.get(id(entry.tensor), entry.tensor)


def check_tangent(ctx: Any, out: Tensor, tangent: Tensor | None, sources: list[tuple[Any, ...]]) -> None:
    """A tangent must relate to the inputs' tangents as the output does to the inputs: a view, or the same in place."""
    if tangent is None:
        return
    if id(out) in ctx.constant_outputs or out._array.dtype.kind not in "fcV":
        raise RuntimeError(
            "A custom Function's jvp returned a tangent for an output that is not differentiable. You should return "
            "None at that position instead."
        )
    for value, given, version in sources:
        if given is None:
            continue
        if value is out:
            if tangent is not given or given._version == version:
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                    "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
                )
        elif out._view is not None and out._base is (value._base if value._is_view() else value):
            if not tangent._is_view():
                raise RuntimeError(
                    "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning "
                    "a view."
                )
            if tangent._base is not (given._base if given._is_view() else given):
                whose = "the same base as the given grad input." if given._is_view() else "the given grad input."
                raise RuntimeError(
                    f"A custom Function is returning a view but the jvp is not returning a view of {whose}"
                )


def _with_tangent(out: Operand, tangent: Tensor | None, level: int) -> Operand:
    if isinstance(out, Tensor) and tangent is not None:
        if out._array.shape != tangent._array.shape:
            raise RuntimeError(
                f"The tangent that jvp returned has shape {list(tangent.shape)} and the output has shape "
                f"{list(out.shape)}: they must be the same."
            )
        set_tangent(out, level, tangent)
    return out


def _any_batch(values: Operands) -> bool:
    return any(isinstance(value, Tensor) and level_of(value._array) for value in values)


def _zeros(value: Tensor) -> Tensor:
    return wrap(np.zeros(value._array.shape, value._array.dtype))


def _context_of(output: Result, cls: type[Function]) -> Any:
    """The ctx of a recorded application."""
    for value in output if isinstance(output, tuple) else (output,):
        if isinstance(value, Tensor) and isinstance(value._node, cls._backward_cls):
            return value._node
    return cls._backward_cls()


class Context(FunctionCtx):
    """The ctx of a call that has no node: what `setup_context` put there."""

    def __init__(self, cls: type[Function], inputs: Arguments, output: Result) -> None:
        self.to_save: Saved = ()
        self.saved_for_forward: Saved = ()
        self.non_differentiable: tuple[Tensor, ...] = ()
        self.materialize_grads: bool = True
        self.needs_input_grad: tuple[bool, ...] = tuple(isinstance(x, Tensor) and x.requires_grad for x in inputs)
        cls.setup_context(self, inputs, output)
        self.constant_outputs: set[int] = set(map(id, self.non_differentiable))

    @property
    def saved_tensors(self) -> Saved:
        return self.to_save


class _ForwardContext:
    """The ctx as `jvp` sees it: `saved_tensors` is what was given to `save_for_forward`."""

    def __init__(self, ctx: Any) -> None:
        object.__setattr__(self, "_ctx", ctx)

    @property
    def saved_tensors(self) -> Saved:
        return self._ctx.saved_for_forward or ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._ctx, name)


# --- vmap ---


def _apply_batched(cls: type[Function], args: Arguments, level: int) -> Result:
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
            f"override the setup_context staticmethod. {_NOTES}"
        )
    own_rule = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule:
        if own_rule:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overriden "
                "vmap staticmethod. Please set generate_vmap_rule=False or delete the overriden vmap staticmethod to "
                f"avoid ambiguity. {_NOTES}"
            )
        if not any(_is_followed(value, level) for value in args):
            return run_function(cls, args)  # its code runs on batches as it is
        from .custom_batches import run_on_payloads

        recording = current_mode().grad
        return run_function(cls, args, forward=lambda *values: run_on_payloads(cls, values, level, recording))
    if not own_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement "
            f"the vmap staticmethod or set generate_vmap_rule=True. {_NOTES}"
        )
    leaves, structure = tree_flatten(args)
    leaves = [_as_constant(value, level) for value in leaves]
    recording = current_mode().grad
    return run_function(
        cls, tree_unflatten(leaves, structure), forward=lambda *values: _call_vmap_rule(cls, values, level, recording)
    )


def _is_followed(value: Operand, level: int) -> bool:
    """True if a tape or a tangent outside the batch follows a value."""
    inside = value._array.array if isinstance(value, Tensor) and level and level_of(value._array) == level else value
    while True:
        if type(inside) is Batched:  # of a level further out
            inside = inside.array
        elif not isinstance(inside, Tensor):
            return False
        elif inside.requires_grad or inside._tangent is not None:
            return True
        else:
            inside = inside._array


def _as_constant(value: Operand, level: int) -> Operand:
    """A tensor with a history outside the batch, as a constant inside it; other values as they are."""
    if isinstance(value, Tensor) and level_of(value._array) != level and _is_followed(value, level):
        return wrap(Batched(payload_of(value, level), level, False))
    return value


@contextmanager
def outside_batch(level: int, recording: bool) -> Iterator[None]:
    """One level further out than a batch, where operations may be recorded."""
    mode = current_mode()
    set_mode(mode.replace(batch_level=max(0, level - 1), grad=recording))
    try:
        yield
    finally:
        set_mode(mode)


def _call_vmap_rule(cls: type[Function], args: Arguments, level: int, recording: bool) -> Result:
    """Call the function's own `vmap` on whole batches, one level further out."""
    from .arrays.randomness import randomness_at

    leaves, structure = tree_flatten(args)
    wholes, dims = zip(*[_payload_and_dim(value, level) for value in leaves])
    inside = tree_unflatten(wholes, structure)
    sizes = [whole.shape[dim] for whole, dim in zip(wholes, dims) if dim is not None]
    with outside_batch(level, recording):
        if sizes:
            result = cls.vmap(VmapInfo(sizes[-1], randomness_at(level)), tree_unflatten(dims, structure), *inside)
        else:
            result = cls.apply(*inside)
    if sizes:
        return _wrap_rule_results(cls, result, level)
    # the same for all examples
    return tuple(_share(part, level) for part in result) if isinstance(result, tuple) else _share(result, level)


def _payload_and_dim(value: Operand, level: int) -> tuple[Operand, int | None]:
    """The tensor inside a batch of a level, and the dim of its examples; for other values, the value and None."""
    array: Array = value._array if isinstance(value, Tensor) else None
    if level_of(array) != level:
        return value, None
    whole = array.array if is_tensor(array.array) else wrap(array.array)
    dim = getattr(value, "_batch_dim", 0)
    return whole.movedim(0, dim) if dim else whole, dim if array.batched else None


def _wrap_rule_results(cls: type[Function], result: Result, level: int) -> Result:
    """The batches for the pair that a `vmap` static method returned: outputs and dims of the examples."""
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"Expected the vmap staticmethod of {cls.__name__} to have two returns, an output and out_dims with pytree "
            f"structure compatible with the output. Got a {type(result)}."
        )
    output, out_dims = result
    leaves, structure = tree_flatten(output)
    dims = broadcast_to_and_flatten(out_dims, structure)
    if dims is None:
        raise RuntimeError(
            f"The vmap staticmethod of {cls.__name__} returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{tree_flatten(out_dims)[1]} but output has structure {structure}. {_NOTES}"
        )
    return tree_unflatten([_enter_level(part, dim, level) for part, dim in zip(leaves, dims, strict=True)], structure)


def _share(value: Operand, level: int) -> Operand:
    return wrap(Batched(payload_of(value, level), level, False)) if isinstance(value, Tensor) else value


def _enter_level(value: Operand, dim: int | None, level: int) -> Operand:
    if not isinstance(value, Tensor) or dim is None:
        return value
    moved = value.movedim(dim, 0) if dim else value
    return wrap(Batched(payload_of(moved, level), level))
