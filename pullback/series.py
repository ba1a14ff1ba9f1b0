"""Taylor mode: all derivatives up to some order along one direction, from one evaluation of a function.

The function is recorded once. Then a truncated power series x + d t goes through the graph, node by node. Linear
operations map each coefficient, products multiply polynomials. For any other operation y(x), the chain rule y' = J(x)
x' says what to do: the operation's own pullback, run on tensors, gives a small graph of the right-hand side, through
which series one order shorter are sent in the same way. What has no such rules (custom functions) is differentiated
by nested forward mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .autograd import roots
from .autograd.engine import metadata_of, nodes_leading_to
from .autograd.fit import fit_tensor
from .autograd.grad_mode import enable_grad
from .autograd.saved import tensors_of
from .autograd.tape import wrap
from .tensor import Tensor, anchor_of
from .utils._pytree import tree_flatten, tree_unflatten

Coefficients = list[np.ndarray]  # of t, t^2, ...; the constant is the tensor's value


class NoSeries(Exception):
    """An operation without rules that could be followed."""


def taylor(f: Callable[..., Any], x: Any, direction: Any, order: int) -> list[Any]:
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
    with enable_grad():
        leaves = [value.detach().clone().requires_grad_() for value in flat]
        result = f(tree_unflatten(leaves, spec))
    outputs, out_spec = tree_flatten(result)
    known: dict[Any, dict[int, Coefficients]] = {}
    for leaf, along in zip(leaves, directions, strict=True):
        first = np.asarray(along.detach()._array, dtype=leaf._array.dtype)
        known[anchor_of(leaf)] = {0: [first, *[np.zeros_like(first)] * (order - 1)][:order]}
    try:
        series = push(outputs, known, order)
    except NoSeries:
        return _nested(f, x, direction, order)
    answers = [tree_unflatten([output.detach() for output in outputs], out_spec)]
    for k in range(order):
        scale = math.factorial(k + 1)
        parts = [
            wrap(np.zeros(output._array.shape, output._array.dtype) if found is None else found[k] * scale)
            for output, found in zip(outputs, series, strict=True)
        ]
        answers.append(tree_unflatten(parts, out_spec))
    return answers


def _nested(f: Callable, x: Any, direction: Any, order: int) -> list:
    """One level of forward mode for each order."""
    from .func import jvp

    def derivative(g: Callable) -> Callable:
        return lambda x: jvp(g, (x,), (direction,))[1]

    answers, current = [], f
    for _ in range(order + 1):
        answers.append(current(x))
        current = derivative(current)
    return answers


# --- through a graph -------------------------------------------------------------------------------------------------


def push(outputs: list[Tensor], known: dict[Any, Any], order: int) -> list[Coefficients | None]:
    """The series of computed tensors, given those of the leaves; None for constants."""
    starts = [_edge(output) for output in outputs if output.requires_grad]
    _, running = nodes_leading_to(starts, set(known))
    found = dict(known)
    if order:
        for node in sorted(running, key=lambda node: node.order):
            found[node] = _after(node, found, order)
    return [
        found.get(_edge(output)[0], {}).get(_edge(output)[1]) if output.requires_grad and order else None
        for output in outputs
    ]


def _edge(tensor: Tensor) -> tuple:
    return (anchor_of(tensor), 0) if tensor._node is None else (tensor._node, tensor._output_nr)


def _after(node: Any, known: dict, order: int) -> dict[int, Coefficients]:
    if node.op is None:
        raise NoSeries(node.name())
    slots = node.slots or (0,) * len(node.edges)
    inputs = {
        position: known[target][slot]
        for position, (target, slot) in enumerate(zip(node.edges, slots, strict=True))
        if target is not None and slot in known.get(target, ())
    }
    saved = tensors_of(node)
    varying = [_series_of(value, known) for value in saved]
    outs = any(type(code) is int and code < 0 or code in ("outs", "extras") for code in node.plan.saves)
    if node.op.kind in ("linear", "real_linear") or not outs and not any(v is not None for v in varying):
        return _linear(node, inputs, saved, order)  # linear in what varies, at least
    if len(inputs) == 2 and (node.op.kind == "bilinear" or node.op.node_name == "MulBackward0"):
        return {0: _product(node, inputs, saved, order)}
    if node.op.node_name == "DivBackward0" and 1 in inputs and not node.params:
        quotient = _quotient(node, inputs, saved, order)
        if quotient is not None:
            return {0: quotient}
    return _by_chain_rule(node, inputs, saved, varying, order)


def _series_of(value: Any, known: dict) -> Any:
    """The series of a saved value: coefficients, None for constants, a tuple of these for a tuple."""
    if isinstance(value, (tuple, list)):
        parts = tuple(_series_of(part, known) for part in value)
        return parts if any(part is not None for part in parts) else None
    if not isinstance(value, Tensor) or not value.requires_grad:
        return None
    target, slot = _edge(value)
    return known.get(target, {}).get(slot)


def _outputs(node: Any) -> tuple:
    return node.outputs or ((node.shape, node.dtype),)


def _unknown_cotangents(node: Any) -> list:
    """A cotangent to be solved for, for each output; None where it has no derivative."""
    return [
        wrap(np.zeros(shape, dtype)).requires_grad_() if dtype.kind in "fc" else None for shape, dtype in _outputs(node)
    ]


def _pulled(node: Any, cotangents: list, values: list, positions: Any) -> dict[int, Tensor]:
    """What the node's rules make of tensors: for each position, in the shape of the input."""
    plan, params = node.plan, node.params or {}
    whole = [
        wrap(np.zeros(*metadata)) if g is None else g for g, metadata in zip(cotangents, _outputs(node), strict=True)
    ]
    given: Any = tuple(whole) if node.outputs is not None else whole[0]
    slots = node.slots or (0,) * len(node.edges)
    found: dict[int, Any] = {}
    if plan.joint is not None:
        rule, sources = plan.joint
        needs = tuple(position in positions for position in range(len(node.edges)))
        results = rule(given, *[values[s] if type(s) is int else needs if s == "needs" else params[s] for s in sources])
        found = {position: results[position] for position in positions if results[position] is not None}
    for position, rule, _, sources in plan.calls:
        if position in positions:
            found[position] = rule(given, *[values[s] if type(s) is int else params[s] for s in sources])
    return {
        position: fit_tensor(value, *metadata_of(node.edges[position], slots[position]))
        for position, value in found.items()
    }


def _linear(node: Any, inputs: dict, saved: list, order: int) -> dict[int, Coefficients]:
    """The pullback, transposed, on every coefficient: one batched pass for all."""
    with enable_grad():
        cotangents = _unknown_cotangents(node)
        constants = [_constant(value) for value in saved]
        pulled = _pulled(node, cotangents, constants, inputs)
        live = [position for position, value in pulled.items() if value.requires_grad]
        wanted = [g for g in cotangents if g is not None]
        if not live:
            return {}
        weights = [wrap(np.stack(inputs[position])) for position in live]
        found = iter(
            roots.grad(
                [pulled[position] for position in live], wanted, weights, is_grads_batched=True, materialize_grads=True
            )
        )
    answer = {}
    for slot, g in enumerate(cotangents):
        if g is not None:
            answer[slot] = list(np.asarray(next(found)._array))
    return answer


def _constant(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(_constant(part) for part in value)
    return value.detach() if isinstance(value, Tensor) else value


def _product(node: Any, inputs: dict, saved: list, order: int) -> Coefficients:
    """Polynomials multiplied."""
    values = {code: value for code, value in zip(node.plan.saves, saved, strict=True) if type(code) is int}
    left, right = ([np.asarray(values[p].detach()._array), *inputs[p]] for p in (0, 1))
    params = node.params or {}
    answer = []
    for k in range(1, order + 1):
        terms: list = [np.asarray(node.op.forward(left[i], right[k - i], **params)) for i in range(k + 1)]
        answer.append(sum(terms[1:], terms[0]))
    return answer


def _quotient(node: Any, inputs: dict, saved: list, order: int) -> Coefficients | None:
    """Polynomials divided: y b = a, solved for one coefficient of y after the other."""
    values = {code: value for code, value in zip(node.plan.saves, saved, strict=True) if type(code) is int}
    if 1 not in values or 0 not in values:
        return None
    below = [np.asarray(values[1].detach()._array), *inputs[1]]
    above = np.asarray(values[0].detach()._array if isinstance(values[0], Tensor) else values[0])
    answer = [above / below[0]]
    for k in range(1, order + 1):
        rest = sum(below[j] * answer[k - j] for j in range(1, k + 1))
        answer.append(((inputs[0][k - 1] if 0 in inputs else 0) - rest) / below[0])
    return [np.broadcast_to(part, node.shape).astype(node.dtype, copy=False) for part in answer[1:]]


def _by_chain_rule(
    node: Any, inputs: dict, saved: list, varying: list, order: int
) -> dict[int, Coefficients]:
    """y' = J(x) x', with the right-hand side as a graph of stand-ins for x' and for what the rules look at."""
    stand_ins: list[tuple[Tensor, Any]] = []  # (leaf, its coefficients, or the number of an output)

    def stand_in(value: Any, series: Any, code: Any) -> Any:
        if isinstance(value, (tuple, list)):
            numbers = range(len(value)) if code != "extras" else range(1, len(value) + 1)
            own = code in ("outs", "extras")
            parts = series if isinstance(series, tuple) else (None,) * len(value)
            return tuple(
                stand_in(v, s, -1 - n if own else None) for v, s, n in zip(value, parts, numbers, strict=True)
            )
        output = -1 - code if type(code) is int and code < 0 else None
        if not isinstance(value, Tensor) or series is None and output is None or value._array.dtype.kind not in "fc":
            return _constant(value)
        leaf = value.detach().requires_grad_()
        stand_ins.append((leaf, output if output is not None else series))
        return leaf

    with enable_grad():
        values = [stand_in(v, s, c) for v, s, c in zip(saved, varying, node.plan.saves, strict=True)]
        velocities = {position: wrap(series[0]).requires_grad_() for position, series in inputs.items()}
        cotangents = _unknown_cotangents(node)
        pulled = _pulled(node, cotangents, values, inputs)
        live = [position for position, value in pulled.items() if value.requires_grad]
        wanted = [g for g in cotangents if g is not None]
        slots = [slot for slot, g in enumerate(cotangents) if g is not None]
        if not live:
            return {}
        slopes = roots.grad(
            [pulled[p] for p in live], wanted, [velocities[p] for p in live], create_graph=True, allow_unused=True,
            materialize_grads=True,
        )  # fmt: skip
    answer = {slot: [np.asarray(slope.detach()._array)] for slot, slope in zip(slots, slopes, strict=True)}
    own = any(type(series) is int for _, series in stand_ins)
    for reach in range(2, order + 1) if own else [order] if order > 1 else []:
        known = {
            anchor_of(velocity): {0: [(j + 2) * inputs[p][j + 1] for j in range(reach - 1)]}
            for p, velocity in velocities.items()
        }
        for leaf, series in stand_ins:
            known[anchor_of(leaf)] = {0: (answer[series] if type(series) is int else series)[: reach - 1]}
        found = push(list(slopes), known, reach - 1)
        for slot, slope, series in zip(slots, slopes, found, strict=True):
            zero = np.zeros(slope._array.shape, slope._array.dtype)
            rest = [zero if series is None else series[k - 2] / k for k in range(2, reach + 1)]
            answer[slot] = [answer[slot][0], *rest]
    return answer
