"""Put an explanation together: seed, observed pass, contributions, warnings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.cotangents import metadata_of
from ..core.roots import _implicit_one, _weight_array, _weights_for, root_of
from ..core.tensor import Tensor
from .collect import Collection, tensors_of, without_side_effects
from .contributions import contributions
from .explanation import Explanation
from .names import Names, gather
from .records import Root, measure
from .warnings import find_warnings


def assemble(loss: Any, gradient: Any, inputs: Any, model: Any, elements: int, title: str | None) -> Explanation:
    """The explanation of one backward call."""
    if elements < 1:
        raise ValueError(f"elements must be at least 1, got {elements}")
    outputs = tensors_of(loss)
    names = gather(model, inputs)
    edges, cotangents, origins = _seeds(outputs, _weights_for(outputs, gradient, isinstance(loss, Tensor)))
    with without_side_effects():
        collection = Collection(edges, names)
        collection.run(cotangents)
        roots = _roots(outputs, edges, cotangents, origins, collection, names)
        divided = contributions(collection, roots, cotangents, elements)
        warnings = find_warnings(collection, roots)
    return Explanation(roots, collection.operations, collection.leaves, divided, warnings, title)


def _seeds(outputs: tuple, weights: tuple) -> tuple[list, list, list]:
    edges, cotangents, origins = [], [], []
    for position, (output, weight) in enumerate(zip(outputs, weights, strict=True)):
        target, slot = root_of(output, position, weight)
        shape, dtype = metadata_of(target, slot)
        seed: Any  # a tensor or an array
        if weight is not None:
            seed, origin = _weight_array(weight, shape, dtype, position, output), "given"
        elif int(np.prod(shape)) == 1 and dtype.kind != "c":
            seed, origin = _implicit_one(output, shape, dtype), "implicit"
        else:  # backward() refuses this; an explanation says so and shows what equal weights would do
            seed, origin = np.ones(shape, dtype), "assumed"
        edges.append((target, slot))
        cotangents.append(seed._array if isinstance(seed, Tensor) else seed)
        origins.append(origin)
    return edges, cotangents, origins


def _roots(
    outputs: tuple, edges: list, cotangents: list, origins: list, collection: Collection, names: Names
) -> list[Root]:
    roots = []
    for position, (output, (target, slot)) in enumerate(zip(outputs, edges, strict=True)):
        default = "loss" if len(outputs) == 1 else f"loss {position + 1}"
        name = getattr(output, "_name", None)
        if name is None:
            name = names.results.get((id(target), slot)) if target.is_node else names.leaf(target)
        seed = np.array(cotangents[position])
        value = measure(output._array) if isinstance(output, Tensor) else None
        short = "" if value is None else value.short().replace("‖g‖", "norm")
        roots.append(
            Root(
                f"root{position + 1}", name or default, collection.keys[target], tuple(seed.shape), str(seed.dtype),
                seed, origins[position], measure(seed), short,
            )
        )  # fmt: skip
    return roots
