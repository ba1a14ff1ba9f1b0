"""How much each element of the loss contributed to each leaf.

`gradient` weights the rows of a Jacobian: the gradient of a leaf is the sum of weight times row over all elements of
the loss. Each row is one pass with a single 1 in the seed. A loss with too many elements is divided into groups, and
each group's contribution is one pass with all other weights set to 0; both add up to what `.grad` would get.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .collect import Collection, observe
from .records import Elements, Root, plain

WORK_LIMIT: int = 400_000_000  # elements of cotangents all passes together may handle
MEMORY_LIMIT: int = 10_000_000  # elements of rows held at once
ROWS_KEPT: int = 1_000_000  # elements of rows an explanation keeps


def contributions(collection: Collection, roots: list[Root], cotangents: list[Any], limit: int) -> Elements:
    """Divide the loss, run a pass for each part, and fill in the leaves."""
    elements, seeds = _divide(collection, roots, cotangents, limit)
    leaves = list(zip(collection.leaves, collection.anchors, strict=True))
    parts: dict[str, list] = {leaf.key: [] for leaf, _ in leaves}
    for seed in seeds:
        found = observe(collection.roots, seed)
        for leaf, anchor in leaves:
            row = found.get(anchor)
            row = np.zeros(leaf.shape, anchor._array.dtype) if row is None else row
            parts[leaf.key].append(plain(row))
    kept = 0
    weights = np.array(elements.weights)
    for leaf, _ in leaves:
        if not parts[leaf.key]:
            continue
        rows = np.stack(parts.pop(leaf.key))
        _summarise(leaf, rows, weights)
        if kept + rows.size <= ROWS_KEPT:
            leaf.rows = rows
            kept += rows.size
    return elements


def _summarise(leaf: Any, rows: np.ndarray, weights: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        flat = rows.reshape(len(rows), -1)
        wide = flat.astype(np.complex128 if flat.dtype.kind == "c" else np.float64)
        leaf.gram = (wide @ np.conj(wide).T).real
        leaf.shares = [float(abs(w) * np.sqrt(g)) for w, g in zip(weights, np.diag(leaf.gram), strict=True)]
        if leaf.total is not None:
            total = plain(leaf.total).reshape(-1)
            leaf.residual = float(np.nan_to_num(np.abs(weights @ wide - total)).max(initial=0.0))


def _divide(collection: Collection, roots: list[Root], cotangents: list, limit: int) -> tuple[Elements, list]:
    count = sum(root.seed.size for root in roots)
    size = sum(int(np.prod(leaf.shape)) for leaf in collection.leaves)
    affordable = min(limit, WORK_LIMIT // max(collection.work, 1), MEMORY_LIMIT // max(size, 1))
    affordable = max(1, int(affordable))
    complex_ = any(root.seed.dtype.kind == "c" for root in roots)
    elements = Elements()
    if count <= affordable:
        elements.grouped = complex_  # a complex weight does not scale a row, so its contribution is run as it is
        seeds = []
        for number, root in enumerate(roots):
            for flat in range(root.seed.size):
                index = np.unravel_index(flat, root.shape)
                elements.labels.append(_label(root, index))
                weight = cotangents[number][index] if complex_ else 1
                elements.weights.append(1.0 if complex_ else _number(root.seed[index]))
                seeds.append(
                    [_only(other, n == number, slice(flat, flat + 1), weight) for n, other in enumerate(cotangents)]
                )
        if complex_:
            elements.note = "The loss is complex: each row is shown with its weight applied."
        return elements, seeds
    elements.grouped = True
    seeds = []
    per_root = max(1, affordable // len(roots))
    for number, root in enumerate(roots):
        for start, stop in _ranges(root.shape, min(per_root, max(root.seed.size, 1))):
            elements.labels.append(_range_label(root, start, stop))
            elements.weights.append(1.0)
            seeds.append([_only(other, n == number, slice(start, stop), None) for n, other in enumerate(cotangents)])
    elements.note = (
        f"The loss has {count} elements; they are shown in {len(seeds)} groups. The factor of a group multiplies the "
        "weights of all its elements."
    )
    return elements, seeds


def _only(cotangent: Any, chosen: bool, part: slice, weight: Any) -> Any:
    """The cotangent with all elements but some set to 0; those keep their weight, or get the one given."""
    array = np.asarray(cotangent)
    seed = np.zeros(array.shape, array.dtype)
    if chosen:
        seed.reshape(-1)[part] = array.reshape(-1)[part] if weight is None else weight
    return seed


def _ranges(shape: tuple[int, ...], groups: int) -> list[tuple[int, int]]:
    """Contiguous ranges of flat indices; whole rows of the first axis where these are few enough."""
    size = int(np.prod(shape))
    if shape and shape[0] <= groups:
        step = size // shape[0]
        return [(i * step, (i + 1) * step) for i in range(shape[0])]
    bounds = np.linspace(0, size, groups + 1).round().astype(int)
    return [(int(a), int(b)) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if b > a]


def _label(root: Root, index: tuple) -> str:
    return root.name if not index else f"{root.name}[{', '.join(str(int(i)) for i in index)}]"


def _range_label(root: Root, start: int, stop: int) -> str:
    shape = root.shape
    if len(shape) > 1 and stop - start == int(np.prod(shape[1:])) and start % (stop - start) == 0:
        return f"{root.name}[{start // (stop - start)}]"
    return (
        f"{root.name}[{start}]"
        if stop == start + 1
        else f"{root.name}[{start}:{stop}]{' flat' if len(shape) > 1 else ''}"
    )


def _number(value: Any) -> float:
    value = plain(value)[()]
    return float(str(value)) if isinstance(value, np.float32) else float(value)
