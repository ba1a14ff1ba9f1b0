"""Backward hooks of modules, as the graph shows them."""

from __future__ import annotations

import pullback
from pullback import nn


def test_backward_hooks_in_the_graph_are_named_as_in_torch():
    layer = nn.Sequential(nn.Linear(3, 2))
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    out = layer(pullback.randn(4, 3, requires_grad=True))
    assert out.grad_fn.name() == "BackwardHookFunctionBackward"
    nodes, stack = [], [out.grad_fn]
    while stack:
        node = stack.pop()
        nodes.append(node.name())
        stack += [above for above, _ in node.next_functions]  # none is None: every input has a gradient
    assert nodes.count("BackwardHookFunctionBackward") == 2
