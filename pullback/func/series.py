"""Taylor mode: all derivatives up to some order along one direction, from one evaluation of a function.

The function is recorded once. Then a power series x + d t goes through the graph, node by node and coefficient by
coefficient. Linear operations map each coefficient, products multiply polynomials. For any other operation y(x), the
chain rule y' = J(x) x' says what to do: the operation's own pullback, run on tensors, gives a small graph of the
right-hand side, whose series are wanted one order lower. Series are computed as far as somebody asks, once: so sin and
cos, each in the other's right-hand side, cost no more than two products. What has no such rules (custom functions,
norms, attention) is differentiated by nested forward mode.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import roots
from ..core.basics.types import Array, Cotangent, DType, Edge, Function, Gradient, Operand, SaveCode, Shape
from ..core.cotangents import metadata_of
from ..core.grad_mode import enable_grad, inference_mode
from ..core.reach import nodes_leading_to
from ..core.saved import tensors_of
from ..core.tape import wrap
from ..core.tensor import Tensor, anchor_of
from ..core.unbroadcast import unbroadcast_tensor
from ..utils._pytree import PyTree, tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from ..core.node import Node


class NoSeries(Exception):
    """An operation without rules that could be followed."""


class Series:
    """The coefficients of t, t^2, ... of a tensor that varies, computed when asked for; the constant is its value."""

    def __init__(self, coefficient: Callable[[int], np.ndarray]) -> None:
        self.coefficient: Callable[[int], np.ndarray] = coefficient
        self.found: list[np.ndarray] = []

    def __getitem__(self, k: int) -> np.ndarray:
        while len(self.found) < k:
            self.found.append(self.coefficient(len(self.found) + 1))
        return self.found[k - 1]


Slots = dict[int, Series]  # of a node's outputs that vary, by their numbers
Known = dict[Any, Slots]  # by node or anchor
Memo = dict[
    Any, tuple[Slots, Series]
]  # by operation, input and parameters: the series of the outputs, and of the input
SeriesOfValue = Any  # a Series; None for a constant; a tuple of both for a tuple


def taylor(f: Function, x: PyTree, direction: PyTree, order: int) -> list[PyTree]:
    """[f(x), f'(x)[d], f''(x)[d, d], ...]: the derivatives of f(x + t d) at t = 0, up to `order`.

    `x` and `direction` are tensors, or equal nestings of them; each entry of the answer has the structure of f's
    result. The derivatives are values: they have no history of their own.
    """
    if order < 0:
        raise ValueError(f"the order of a derivative is not negative, got {order}")
    flat, spec = tree_flatten(x)
    directions, direction_spec = tree_flatten(direction)
    if spec != direction_spec or any(a.shape != b.shape for a, b in zip(flat, directions, strict=True)):
        raise ValueError("taylor() needs a direction with the structure and the shapes of x")
    with inference_mode(False):
        leaves = [value.detach().clone().requires_grad_() for value in flat]
        result = f(tree_unflatten(leaves, spec))
    outputs, out_spec = tree_flatten(result)
    known: Known = {}
    for leaf, along in zip(leaves, directions, strict=True):
        known[anchor_of(leaf)] = {0: _line(np.asarray(along.detach()._array, dtype=leaf._array.dtype))}
    answers = [tree_unflatten([output.detach() for output in outputs], out_spec)]
    try:
        with inference_mode(False), np.errstate(all="ignore"):
            found = Graph(outputs, known, {}).reach(order) if order else []
    except NoSeries:
        return _nested(f, x, direction, order)
    for k in range(1, order + 1):
        parts = [
            wrap(
                np.zeros(output._array.shape, output._array.dtype) if series is None else series[k] * math.factorial(k)
            )
            for output, series in zip(outputs, found, strict=True)
        ]
        answers.append(tree_unflatten(parts, out_spec))
    return answers


def _line(direction: np.ndarray) -> Series:
    zeros = np.zeros_like(direction)
    return Series(lambda k: direction if k == 1 else zeros)


def _nested(f: Function, x: Tensor, direction: Tensor, order: int) -> list[Tensor]:
    """One level of forward mode for each order."""
    from .forward import jvp

    def derivative(g: Callable) -> Callable:
        return lambda x: jvp(g, (x,), (direction,))[1]

    answers, current = [], f
    for _ in range(order + 1):
        answers.append(current(x))
        current = derivative(current)
    return answers


# --- through a graph -------------------------------------------------------------------------------------------------


class Graph:
    """The series of computed tensors, given those of the leaves they were computed from.

    `memo` has the series of operations with one input: the same operation on the same series is computed once, in
    whichever graph of right-hand sides it turns up.
    """

    def __init__(self, outputs: list[Tensor], known: Known, memo: Memo) -> None:
        starts = [_edge(output) for output in outputs if output.requires_grad]
        _, running, _ = nodes_leading_to(starts, set(known))
        self.outputs: list[Tensor] = outputs
        self.known: Known = dict(known)
        self.nodes: list[Node] = sorted(running, key=lambda node: node.order)
        for node in self.nodes:
            self.known[node] = _after(node, self.known, memo)
            for series in self.known[node].values():
                series[1]  # what comes next will ask for it: in a long graph from far away, if it were not there

    def series(self) -> list[Series | None]:
        """A series for each output; None for constants."""
        found: list[Series | None] = []
        for output in self.outputs:
            target, slot = _edge(output) if output.requires_grad else (None, 0)
            found.append(self.known.get(target, {}).get(slot))
        return found

    def reach(self, order: int) -> list[Series | None]:
        """The series of the outputs, computed up to an order: node by node, so that long graphs do not recurse."""
        for k in range(2, order + 1):
            for node in self.nodes:
                for series in self.known[node].values():
                    series[k]
        return self.series()


def _edge(tensor: Tensor) -> tuple[Edge, int]:
    return (anchor_of(tensor), 0) if tensor._node is None else (tensor._node, tensor._output_nr)


def _after(node: Node, known: Known, memo: Memo) -> Slots:
    """The series of a node's outputs, from those of its inputs."""
    if node.op is None:
        raise NoSeries(node.name())
    slots = node.slots or (0,) * len(node.edges)
    inputs = {
        position: known[target][slot]
        for position, (target, slot) in enumerate(zip(node.edges, slots, strict=True))
        if target is not None and slot in known.get(target, ())
    }
    key = None
    if len(node.edges) == 1 and inputs:
        key = (node.op, id(inputs[0]), repr(node.params))
        if key in memo:
            return memo[key][0]
    steps = _steps(node, inputs, known, memo)
    cache: dict[int, dict[int, np.ndarray]] = {}

    def coefficient(k: int, slot: int) -> np.ndarray:
        if k not in cache:
            cache[k] = steps(k)
        return cache[k].get(slot, np.zeros(*_outputs(node)[slot]))

    answer = {
        slot: Series(functools.partial(coefficient, slot=slot))
        for slot, (_, dtype) in enumerate(_outputs(node))
        if dtype.kind in "fc" and inputs
    }
    if key is not None:
        memo[key] = answer, inputs[0]  # the input is kept, or another might get its id
    # The chain rule looks at the node's own outputs.
    known[node] = answer
    return answer


Steps = Callable[[int], dict[int, np.ndarray]]  # the coefficients of t^k of a node's outputs


def _steps(node: Node, inputs: Slots, known: Known, memo: Memo) -> Steps:
    saved = tensors_of(node)
    varying = [_series_of(value, known) for value in saved]
    outs = any(type(code) is int and code < 0 or code in ("outs", "extras") for code in node.plan.saves)
    if node.op.kind in ("linear", "real_linear") or not outs and not any(v is not None for v in varying):
        return _linear(node, inputs, saved)  # linear in what varies, at least
    values = {code: value for code, value in zip(node.plan.saves, saved, strict=True) if type(code) is int}
    recurrence = "product" if node.op.kind == "bilinear" else node.op.rare.series
    steps = None if recurrence is None else RECURRENCES[recurrence](node, inputs, values)
    return steps or _by_chain_rule(node, inputs, saved, varying, known, memo)


def _series_of(value: Any, known: Known) -> SeriesOfValue:
    """The series of a saved value: a Series, None for constants, a tuple of these for a tuple."""
    if isinstance(value, (tuple, list)):
        parts = tuple(_series_of(part, known) for part in value)
        return parts if any(part is not None for part in parts) else None
    if not isinstance(value, Tensor) or not value.requires_grad:
        return None
    target, slot = _edge(value)
    return known.get(target, {}).get(slot)


def _outputs(node: Node) -> tuple[tuple[Shape, DType], ...]:
    return node.outputs or ((node.shape, node.dtype),)


def _constant(value: Operand) -> Operand:
    if isinstance(value, (tuple, list)):
        return tuple(_constant(part) for part in value)
    return value.detach() if isinstance(value, Tensor) else value


# --- linear operations and recurrences -------------------------------------------------------------------------------


def _linear(node: Node, inputs: Slots, saved: list[Operand]) -> Steps:
    """The pullback, transposed, on every coefficient."""
    with enable_grad():
        pulled, unknown = _pulled_from_unknown(node, [_constant(value) for value in saved], inputs)

    def steps(k: int) -> dict[int, np.ndarray]:
        if not pulled:
            return {}
        weights = [wrap(inputs[position][k]) for position in pulled]
        found = roots.grad(
            list(pulled.values()), list(unknown.values()), weights, materialize_grads=True, retain_graph=True
        )
        return {slot: np.asarray(value._array) for slot, value in zip(unknown, found, strict=True)}

    return steps


def _values(series: Series | None, value: Operand) -> Callable[[int], Array]:
    """Coefficients with the constant as the 0th; 0 for the others of what does not vary."""
    constant = np.asarray(value.detach()._array if isinstance(value, Tensor) else value)
    return lambda k: constant if k == 0 else 0 if series is None else series[k]


def _fitting(node: Node, value: Array) -> np.ndarray:
    return np.broadcast_to(value, node.shape).astype(node.dtype, copy=False)


def _product(node: Node, inputs: Slots, values: dict[int, Operand]) -> Steps | None:
    """Polynomials multiplied."""
    if len(inputs) != 2:
        return None
    left, right = (_values(inputs[position], values[position]) for position in (0, 1))
    params = node.params or {}

    def steps(k: int) -> dict[int, np.ndarray]:
        terms: list = [np.asarray(node.op.forward(left(i), right(k - i), **params)) for i in range(k + 1)]
        return {0: sum(terms[1:], terms[0])}

    return steps


def _quotient(node: Node, inputs: Slots, values: dict[int, Operand]) -> Steps | None:
    """Polynomials divided: y b = a, solved for one coefficient of y after the other."""
    if 1 not in inputs or 0 not in values or 1 not in values or node.params:
        return None
    above, below = _values(inputs.get(0), values[0]), _values(inputs[1], values[1])
    answer = [above(0) / below(0)]

    def steps(k: int) -> dict[int, np.ndarray]:
        rest = sum(below(j) * answer[k - j] for j in range(1, k + 1))
        answer.append((above(k) - rest) / below(0))
        return {0: _fitting(node, answer[k])}

    return steps


def _power(node: Node, inputs: Slots, values: dict[int, Operand]) -> Steps | None:
    """y = x^n: from x y' = n y x'. Whole positive n, and x at 0, are left to the chain rule."""
    exponent = (node.params or {}).get("exponent")
    if 0 not in values or not isinstance(exponent, (int, float)) or exponent >= 0 and exponent == int(exponent):
        return None
    base = _values(inputs[0], values[0])
    if not np.all(base(0)):
        return None
    answer = [base(0) ** exponent]

    def steps(k: int) -> dict[int, np.ndarray]:
        total = sum((exponent * j - (k - j)) * base(j) * answer[k - j] for j in range(1, k + 1))
        answer.append(total / (k * base(0)))
        return {0: _fitting(node, answer[k])}

    return steps


def _power_of_tensor(node: Node, inputs: Slots, values: dict[int, Operand]) -> Steps | None:
    """y = a^b = exp(b log a), where a is positive."""
    if 0 not in values or 1 not in values:
        return None
    base, exponent = _values(inputs.get(0), values[0]), _values(inputs.get(1), values[1])
    if base(0).dtype.kind == "c" or not np.all(base(0) > 0):
        return None
    logarithm = [np.log(base(0))]
    inner: list[Array] = [exponent(0) * logarithm[0]]
    answer = [base(0) ** exponent(0)]

    def steps(k: int) -> dict[int, np.ndarray]:
        rest = sum(j / k * logarithm[j] * base(k - j) for j in range(1, k))
        logarithm.append((base(k) - rest) / base(0))
        inner.append(sum(exponent(i) * logarithm[k - i] for i in range(k + 1)))
        answer.append(sum(j / k * inner[j] * answer[k - j] for j in range(1, k + 1)))
        return {0: _fitting(node, answer[k])}

    return steps


# By the field `series` of operations.
RECURRENCES: dict[str, Callable[[Node, Slots, dict[int, Operand]], Steps | None]] = {
    "product": _product, "quotient": _quotient, "power": _power, "power_of_tensor": _power_of_tensor,
}  # fmt: skip


# --- the chain rule --------------------------------------------------------------------------------------------------


def _pulled_from_unknown(
    node: Node, values: list[Operand], inputs: Slots
) -> tuple[dict[int, Tensor], dict[int, Tensor]]:
    """The gradients that rules compute, by input, from cotangents that are to be solved for; and these cotangents, by output."""
    cotangents = [
        wrap(np.zeros(*metadata)).requires_grad_() if metadata[1].kind in "fc" else None for metadata in _outputs(node)
    ]
    pulled = _pulled(node, cotangents, values, inputs)
    return (
        {position: value for position, value in pulled.items() if value.requires_grad},
        {slot: cotangent for slot, cotangent in enumerate(cotangents) if cotangent is not None},
    )


def _pulled(
    node: Node, cotangents: list[Tensor | None], values: list[Operand], positions: Iterable[int]
) -> dict[int, Tensor]:
    """The gradients that a node's rules compute on tensors: one for each position, in the shape of the input."""
    plan, params = node.plan, node.params or {}
    whole = [
        wrap(np.zeros(*metadata)) if g is None else g for g, metadata in zip(cotangents, _outputs(node), strict=True)
    ]
    given: Cotangent = tuple(whole) if node.outputs is not None else whole[0]
    slots = node.slots or (0,) * len(node.edges)
    found: dict[int, Gradient] = {}
    if plan.joint is not None:
        needs = tuple(position in positions for position in range(len(node.edges)))
        results = plan.joint.rule(given, *plan.joint.arguments(values, params, needs))
        found = {position: results[position] for position in positions if results[position] is not None}
    for call in plan.calls:
        if call.position in positions:
            found[call.position] = call.run(given, values, params)
    return {
        position: unbroadcast_tensor(value, *metadata_of(node.edges[position], slots[position]))
        for position, value in found.items()
    }


class _StandIns:
    """Leaves in place of what rules look at, each with its series, or with the number of the output that it is."""

    def __init__(self, node: Node) -> None:
        self.first_extra: int = node.op.rare.extras_from
        self.leaves: list[tuple[Tensor, SeriesOfValue]] = []

    def of(self, value: Operand, series: SeriesOfValue, code: SaveCode) -> Operand:
        """The series of a saved value; `code` is the plan's code for it (see `Plan.saves`)."""
        if isinstance(value, (tuple, list)):
            parts = series if isinstance(series, tuple) else (None,) * len(value)
            codes: Sequence[SaveCode] = (None,) * len(value)
            if code in ("outs", "extras"):
                first = self.first_extra if code == "extras" else 0
                codes = range(-1 - first, -1 - first - len(value), -1)
            return tuple(map(self.of, value, parts, codes))
        output = -1 - code if type(code) is int and code < 0 else None
        if not isinstance(value, Tensor) or series is None and output is None or value._array.dtype.kind not in "fc":
            return _constant(value)
        leaf = value.detach().requires_grad_()
        self.leaves.append((leaf, output if output is not None else series))
        return leaf


def _by_chain_rule(
    node: Node, inputs: Slots, saved: list[Operand], varying: list[SeriesOfValue], known: Known, memo: Memo
) -> Steps:
    """y' = J(x) x', with the right-hand side as a graph of stand-ins for x' and for what the rules look at."""
    stand_ins = _StandIns(node)
    with enable_grad():
        values = list(map(stand_ins.of, saved, varying, node.plan.saves))
        velocities = {position: wrap(series[1]).requires_grad_() for position, series in inputs.items()}
        pulled, unknown = _pulled_from_unknown(node, values, inputs)
        if not pulled:
            return lambda k: {}
        slopes = roots.grad(
            list(pulled.values()), list(unknown.values()), [velocities[position] for position in pulled],
            create_graph=True, allow_unused=True, materialize_grads=True,
        )  # fmt: skip

    @functools.cache
    def right_hand_side() -> list[Series | None]:
        """Made when the second coefficient is asked for: right-hand sides have right-hand sides of their own."""
        given = {anchor_of(velocity): {0: _derivative(inputs[p])} for p, velocity in velocities.items()}
        for leaf, series in stand_ins.leaves:
            if type(series) is int and series not in known[node]:
                raise NoSeries(node.name())  # a by-product that the rules look at, such as a norm's statistics
            given[anchor_of(leaf)] = {0: known[node][series] if type(series) is int else series}
        return Graph(list(slopes), given, memo).series()

    def steps(k: int) -> dict[int, np.ndarray]:
        if k == 1:
            return {slot: np.asarray(slope.detach()._array) for slot, slope in zip(unknown, slopes, strict=True)}
        found = zip(unknown, right_hand_side(), strict=True)
        return {slot: series[k - 1] / k for slot, series in found if series is not None}

    return steps


def _derivative(series: Series) -> Series:
    """The series of the derivative: its constant is the first coefficient."""
    return Series(lambda k: (k + 1) * series[k + 1])
