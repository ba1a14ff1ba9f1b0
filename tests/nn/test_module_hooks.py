"""Backward hooks of modules, as the graph shows them, and what subclasses of layers override."""

from __future__ import annotations

from collections import OrderedDict

import pytest

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


def test_a_write_over_a_hooked_output_is_refused_by_the_hooks_name():
    layer = nn.ReLU()
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    out = layer(pullback.randn(3, requires_grad=True) * 2)
    with pytest.raises(RuntimeError, match="Output 0 of BackwardHookFunction is a view and is being modified inplace"):
        out.add_(1)


def test_a_subclass_of_instance_norm_says_how_many_dims_a_sample_has():
    class Sequences(nn.modules.instancenorm._InstanceNorm):
        def _get_no_batch_dim(self) -> int:
            return 2

        def _check_input_dim(self, input: pullback.Tensor) -> None:
            assert input.dim() in (2, 3)

    x = pullback.randn(4, 3, 5)
    assert pullback.equal(Sequences(3)(x), nn.InstanceNorm1d(3)(x))
    assert Sequences(3)(x[0]).shape == (3, 5)


def test_a_module_that_torch_saved_takes_hooks(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Sequential(torch.nn.Linear(2, 2)), tmp_path / "module.pt")
    module = pullback.load(tmp_path / "module.pt", weights_only=False)
    calls = []
    module.register_forward_hook(lambda *arguments: calls.append("last"))
    module.register_forward_hook(lambda *arguments: calls.append("first"), prepend=True)
    module(pullback.ones(1, 2))
    assert calls == ["first", "last"]


def test_programs_may_put_empty_registries_in_the_place_of_global_hooks():
    """As torch's own tests do: from then on the old hooks are gone, and new ones go to the new registries."""
    torch = pytest.importorskip("torch")
    for library in (pullback, torch):
        home, called = library.nn.modules.module, []
        kept = home._global_forward_hooks
        try:
            home.register_module_forward_hook(lambda *parts, log=called: log.append("old"))
            home._global_forward_hooks = OrderedDict()
            library.nn.Identity()(library.ones(1))
            home.register_module_forward_hook(lambda *parts, log=called: log.append("new"))
            library.nn.Identity()(library.ones(1))
        finally:
            kept.clear()
            home._global_forward_hooks = kept
        assert called == ["new"], library
