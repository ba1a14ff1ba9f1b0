"""Backward passes that keep samples apart: the Jacobian of a vector of losses at about the price of one ordinary pass.

In the graph of a batch most operations treat the samples, the rows of axis 0, one by one. There the gradients of all
N losses fit into one ordinary array: row i of it belongs to loss i (`SampleRows`), and the operations' own rules carry it
on. Samples may have several rows each, as in `x.view(N * T, -1)`, if they follow one another. Where something shared
comes in, a weight or a bias, row i gives loss i's gradient of it: a batch of N, kept as a pair of factors (`Outer`)
for matrices. Where an operation mixes samples (batch norm, a mean over the batch, a transposed batch), `SampleRows` turn
into the general thing, a batch of N cotangents, and all rules run on that as in any batched pass. So the answer is
always right; `treatments.py` only says where it is cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.cotangents import metadata_of
from ..core.engine import Sweep
from ..core.saved import arrays_of
from ..core.unbroadcast import unbroadcast_array
from ..ops.layouts import PERMUTED
from ..transforms.arrays.batched import Batched

if TYPE_CHECKING:
    from ..core.basics.types import Cotangent, DType, Gradient, Shape
    from ..core.node import Node
    from ..core.tensor import Anchor

Treatment = Callable[
    ["RowSweep", "Node", Any], list[Any] | None
]  # (pass, node, cotangent) -> a gradient for each input


class SampleRows:
    """Cotangents of N losses in one array: loss i's has its i-th part along axis 0, and zeros elsewhere."""

    __slots__ = ("array", "level", "count", "shape", "dtype")
    base = None
    __array_ufunc__ = _pullback_apply = None  # arrays and batches leave sums with this to it
    array: np.ndarray
    level: int
    count: int
    shape: Shape
    dtype: DType

    def __init__(self, array: np.ndarray, level: int, count: int | None = None) -> None:
        self.array, self.level = array, level
        self.count = len(array) if count is None else count
        self.shape, self.dtype = array.shape, array.dtype

    def spread(self) -> Batched:
        """The rows as a batch of N whole cotangents."""
        return Batched(self.whole(), self.level)

    def whole(self) -> np.ndarray:
        """The N whole cotangents."""
        count = self.count
        parts = self.array.reshape(count, len(self.array) // max(count, 1), *self.shape[1:])
        whole = np.zeros((count, *parts.shape), self.dtype)
        whole[np.arange(count), np.arange(count)] = parts
        return whole.reshape(count, *self.shape)

    def __add__(self, other: Cotangent) -> Cotangent:
        if type(other) is SampleRows:
            return SampleRows(self.array + other.array, self.level, self.count)
        return self.spread() + spread(other)

    __radd__ = __add__


class Outer:
    """Gradients of a matrix, one for each sample, as products: sum over t of left[i, t] (outer) right[i, t]."""

    __slots__ = ("left", "right", "level", "shape", "dtype")
    base = None
    __array_ufunc__ = _pullback_apply = None
    left: np.ndarray
    right: np.ndarray
    level: int
    shape: tuple[Any, Any]
    dtype: Any

    def __init__(self, left: np.ndarray, right: np.ndarray, level: int) -> None:
        self.left, self.right, self.level = left, right, level
        self.shape, self.dtype = (left.shape[-1], right.shape[-1]), left.dtype

    def spread(self) -> Batched:
        return Batched(self.whole(), self.level)

    def whole(self) -> np.ndarray:
        if self.left.shape[1] == 1:
            return np.einsum("ni,nj->nij", self.left[:, 0], self.right[:, 0])
        return np.matmul(self.left.swapaxes(1, 2), self.right)

    def transposed(self) -> Outer:
        return Outer(self.right, self.left, self.level)

    def __add__(self, other: Cotangent) -> Cotangent:
        return self.spread() + spread(other)

    __radd__ = __add__

    def gramian(self) -> np.ndarray | None:
        """Inner products of the N gradients without forming them; None where forming them is cheaper."""
        count, steps = self.left.shape[:2]
        if steps == 1:
            left, right = self.left[:, 0], self.right[:, 0]
            return (left @ left.T) * (right @ right.T)
        if (count * steps) ** 2 > count * self.left.shape[2] * self.right.shape[2]:
            return None
        left, right = (part.reshape(count * steps, -1) for part in (self.left, self.right))
        return ((left @ left.T) * (right @ right.T)).reshape(count, steps, count, steps).sum((1, 3))

    def squares(self) -> np.ndarray | None:
        """Squared lengths of the N gradients without forming them; None where forming them is cheaper."""
        steps = self.left.shape[1]
        if steps == 1:
            return np.square(self.left).sum((1, 2)) * np.square(self.right).sum((1, 2))
        if steps**2 > self.left.shape[2] * self.right.shape[2]:
            return None
        left, right = (np.matmul(part, part.swapaxes(1, 2)) for part in (self.left, self.right))
        return (left * right).sum((1, 2))


def spread(cotangent: Cotangent) -> Cotangent:
    """A cotangent as a batch: rows are spread, others are batches already."""
    return cotangent.spread() if type(cotangent) in (SampleRows, Outer) else cotangent


def _unbroadcast(gradient: Any, shape: tuple, dtype: Any) -> Any:
    if type(gradient) not in (SampleRows, Outer):
        return unbroadcast_array(gradient, shape, dtype)
    if gradient.shape != tuple(shape) or gradient.dtype.kind == "c" and dtype.kind != "c":
        return unbroadcast_array(gradient.spread(), shape, dtype)
    if gradient.dtype == dtype:
        return gradient
    if type(gradient) is SampleRows:
        return SampleRows(gradient.array.astype(dtype), gradient.level, gradient.count)
    return Outer(gradient.left.astype(dtype), gradient.right.astype(dtype), gradient.level)


class RowSweep(Sweep):
    """A backward pass whose cotangents are `SampleRows` as long as the operations keep samples apart."""

    unbroadcast: Any = staticmethod(_unbroadcast)

    def __init__(self, roots: list[Any], inputs: list[Any], level: int) -> None:
        super().__init__(roots)
        self.towards(inputs, accumulating=False)
        self.plain: bool = False  # every node takes the general path, which asks `call_rules`
        self.level = level
        self.count: int = 0  # samples in the rows that a treatment is given

    def step(self, node: Node, cotangent: Cotangent) -> None:
        if node.hooks is not None:  # hooks are shown batches, as in other batched passes
            cotangent = [spread(part) for part in cotangent] if node.outputs is not None else spread(cotangent)
        super().step(node, cotangent)

    def finish_leaf(self, leaf: Anchor) -> None:
        if leaf in self.leaves and leaf._hooks.tensor_hooks:
            self.leaves[leaf] = spread(self.leaves[leaf])
        super().finish_leaf(leaf)

    def call_rules(self, node: Node, cotangent: Cotangent) -> list[Gradient]:
        from .treatments import treatment_of

        kind = type(cotangent)
        first = type(cotangent[0]) if kind is tuple else kind
        if first is SampleRows and (kind is not tuple or not any(map(_elsewhere, cotangent[1:]))):
            treatment = treatment_of(node.op)
            given = tuple(getattr(part, "array", part) for part in cotangent) if kind is tuple else cotangent.array
            self.count = (cotangent[0] if kind is tuple else cotangent).count
            results = None if treatment is None else treatment(self, node, given)
            if results is not None:
                return [_of_samples(result, self.count) for result in results]
        if kind is SampleRows:
            cotangent = cotangent.spread()
        elif kind is Outer:
            if _transposes(node):
                return [cotangent.transposed()]
            cotangent = cotangent.spread()
        elif kind is tuple:
            cotangent = tuple(spread(part) for part in cotangent)
        return super().call_rules(node, cotangent)

    def wanted(self, node: Node, position: int) -> bool:
        target = node.edges[position]
        if target is None or (self.reach is not None and target not in self.reach):
            return False
        return node.plan.has_rule(position)  # of `x * x`, one input has the rule for both

    def pulled(self, node: Node, g: np.ndarray, position: int) -> Gradient:
        """The gradient of one input, by the rule of the node, with the rows taken as an ordinary cotangent."""
        values = arrays_of(node)
        for call in node.plan.calls:
            if call.position == position:
                return call.run(g, values, node.params)
        raise AssertionError("a wanted input has a rule")

    def saved(self, node: Node, name: str) -> Any:
        """A saved value, by the name rules ask for it; None if it was not saved."""
        code = node.op.save_code(name)
        return arrays_of(node)[node.plan.saves.index(code)] if code in node.plan.saves else None

    def shape_of(self, node: Node, position: int) -> Shape:
        return tuple(metadata_of(node.edges[position], 0 if node.slots is None else node.slots[position])[0])


def _of_samples(result: Gradient, count: int) -> Gradient:
    """The result of a treatment, which took every row alone, for samples of several rows."""
    kind = type(result)
    if kind is SampleRows:
        result.count = count
    elif kind is Outer and len(result.left) != count:
        left, right = (part.reshape(count, -1, part.shape[-1]) for part in (result.left, result.right))
        return Outer(left, right, result.level)
    elif kind is Batched and len(result.array) != count:
        array = result.array
        return Batched(array.reshape(count, len(array) // count, *array.shape[1:]).sum(1), result.level)
    return result


def _elsewhere(part: Cotangent) -> bool:
    """True if a further output of a node has a cotangent that is neither rows nor all zeros."""
    return type(part) is not SampleRows and part is not None and (type(part) is not np.ndarray or bool(part.any()))


def _transposes(node: Node) -> bool:
    """True if a node exchanges the two axes of a matrix."""
    if node.op is None or node.op.kind != "linear" or node.hooks is not None or len(node.edges) != 1:
        return False
    return node.op.batch is PERMUTED and tuple(node.params["axes"]) == (1, 0)
