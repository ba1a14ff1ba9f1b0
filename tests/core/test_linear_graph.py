"""The graph of linear layers looks as torch's, and looking at it changes no gradient."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")


def tree(node: Any) -> Any:
    return node if node is None else (node.name(), [tree(each) for each, _ in node.next_functions])


def layer(lib: Any, dtype: str, kinds: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, list[Any]]:
    """The result of a layer, and its leaves. Kinds of operands: 0 constant, 1 leaf, 2 computed, None absent."""
    lib.manual_seed(0)
    operands, leaves = [], []
    for kind, sizes in zip(kinds, (shape, (5, 4), (5,)), strict=True):
        leaf = None if kind is None else lib.randn(*sizes, dtype=getattr(lib, dtype)).requires_grad_(bool(kind))
        if kind:
            leaves.append(leaf)
        operands.append(leaf.sin() if kind == 2 else leaf)
    return lib.nn.functional.linear(*operands), leaves


@pytest.mark.parametrize(
    "shape, dtype", [((3, 4), "float64"), ((3, 4), "complex128"), ((4,), "float64"), ((2, 3, 4), "complex128")]
)
@pytest.mark.parametrize("looked", ["before", "between"])
@pytest.mark.parametrize("kinds", [k for k in itertools.product((0, 1, 2), (0, 1, 2), (None, 0, 1)) if any(k)])
def test_graph_and_gradients_are_torchs(
    kinds: tuple[Any, ...], looked: str, shape: tuple[int, ...], dtype: str
) -> None:
    results = []
    for lib in (pullback, torch):
        y, leaves = layer(lib, dtype, kinds, shape)
        shown = tree(y.grad_fn) if looked == "before" else None
        first = lib.autograd.grad((y * y.conj()).real.sum(), leaves, create_graph=True)
        shown = shown or tree(y.grad_fn)
        penalty = sum(((each * each.conj()).real.sum() for each in first), lib.zeros((), dtype=lib.float64))
        second = lib.autograd.grad(penalty, leaves, allow_unused=True)
        results.append((shown, [each.detach().numpy() for each in (*first, *second) if each is not None]))
    (ours, found), (theirs, expected) = results
    assert ours == theirs
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (2, 1, 3, 4)])
@pytest.mark.parametrize("bias", [True, False])
def test_results_of_layers_print_as_torchs(bias: bool, shape: tuple[int, ...]) -> None:
    texts = []
    for lib in (pullback, torch):
        y = lib.nn.functional.linear(lib.ones(shape), lib.ones(2, 4).requires_grad_(), lib.ones(2) if bias else None)
        texts.append(str(y))
        y.sum().backward()
    assert texts[0] == texts[1]


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_a_vector_may_be_the_weight(shape: tuple[int, ...]) -> None:
    weight = pullback.ones(4, requires_grad=True)
    y = pullback.nn.functional.linear(pullback.ones(shape), weight)
    tree(y.grad_fn)
    y.sum().backward()
    assert pullback.equal(weight.grad, pullback.ones(shape).reshape(-1, 4).sum(0))


def test_hooks_on_the_transpose_run() -> None:
    order: list[str] = []
    net = pullback.nn.Linear(4, 5)
    y = net(pullback.ones(3, 4))
    bias, nothing, transpose = (node for node, _ in y.grad_fn.next_functions)
    assert nothing is None
    assert bias.variable is net.bias
    transpose.register_hook(lambda *_: order.append("transpose"))
    bias.register_hook(lambda *_: order.append("bias"))
    y.sum().backward()
    assert order == ["bias", "transpose"]
    assert pullback.equal(net.weight.grad, 3 * pullback.ones(5, 4))


def test_looking_at_a_graph_that_was_freed_or_in_a_pass() -> None:
    net = pullback.nn.Linear(4, 5)
    x = pullback.ones(3, 4, requires_grad=True)
    y = net(x)
    y.sum().backward()
    assert [node.name() for node, _ in y.grad_fn.next_functions][2] == "TBackward0"
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
    y = net(x)
    names: list[Any] = []
    y.register_hook(lambda grad: names.append(tree(y.grad_fn)))
    (found,) = pullback.autograd.grad(y.sum(), net.weight)
    assert pullback.equal(found, 3 * pullback.ones(5, 4))
    assert names


def test_a_write_to_the_weight_is_still_noticed() -> None:
    net = pullback.nn.Linear(4, 5)
    y = net(pullback.ones(3, 4, requires_grad=True))
    tree(y.grad_fn)
    with pullback.no_grad():
        net.weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
