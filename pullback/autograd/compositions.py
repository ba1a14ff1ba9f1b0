"""Pullbacks of operations by differentiating what they are composed of, where a kernel cannot go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..core.grad_mode import enable_grad
from ..core.roots import grad
from ..core.tape import wrap
from ..core.tensor import Tensor
from ..ops.pointwise import identity
from ..transforms.arrays.batched import Batched

if TYPE_CHECKING:
    from ..core.basics.types import Cotangent, Function, Gradient, Operands, Params


def recorded_pullback(
    composition: Function, cotangents: tuple[Cotangent, ...], inputs: Operands, params: Params,
    needs: tuple[bool, ...]
) -> tuple[Gradient, ...]:  # fmt: skip
    """The pullback of an operation where its kernel cannot go, by differentiating a composition of others.

    Values are tensors in a recorded pass, and then so are the gradients, with a history; else batched arrays.
    """
    recording = any(isinstance(value, Tensor) for value in (*cotangents, *inputs))
    level = max(getattr(value, "level", 0) for value in inputs)
    if level and not recording:  # what all examples share takes part in their tape, not in one outside
        inputs = tuple(Batched(value, level, False) if type(value) is np.ndarray else value for value in inputs)
    with enable_grad():
        given = [value if value is None or isinstance(value, Tensor) else wrap(value) for value in inputs]
        for position, (value, needed) in enumerate(zip(given, needs)):
            if needed and value is not None and value.requires_grad:
                given[position] = identity(value)  # one input may have been computed from another
            elif needed and value is not None:
                value.requires_grad_()
        wanted = [value for value, needed in zip(given, needs) if needed and value is not None]
        outs = composition(*given, **params)
        known = [(out, g if isinstance(g, Tensor) else wrap(g)) for out, g in zip(outs, cotangents) if g is not None]
        outs, slopes = zip(*known)
        found = iter(grad(outs, wanted, slopes, create_graph=recording, allow_unused=True))
    results = [next(found) if needed and value is not None else None for value, needed in zip(given, needs)]
    return tuple(result if recording or result is None else result._array for result in results)
