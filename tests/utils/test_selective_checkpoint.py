"""Selective checkpointing: what is kept is not computed again, and gradients are those without a checkpoint."""

from __future__ import annotations

import gc
import weakref
from functools import partial
from typing import Any

import pytest

import pullback
from pullback.shell.torch_names import operators as torch_ops
from pullback.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode
from pullback.utils.checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
)

aten = torch_ops.aten


class Counting(TorchDispatchMode):
    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.counts[str(func)] = self.counts.get(str(func), 0) + 1
        return func(*args, **(kwargs or {}))


def block(x: Any, w: Any) -> Any:
    return ((x @ w).sigmoid() @ w).relu() * x


def operands() -> tuple[Any, Any]:
    pullback.manual_seed(0)
    return pullback.randn(3, 3, requires_grad=True), pullback.randn(3, 3, requires_grad=True)


def policy_for(*saved: Any) -> Any:
    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        assert isinstance(context, SelectiveCheckpointContext)
        assert isinstance(context.op_output, pullback.Tensor)
        assert not context.is_recompute
        assert isinstance(args[0], pullback.Tensor)
        return CheckpointPolicy.MUST_SAVE if op in saved else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


CHOICES = {
    "a list": ([aten.mm.default], {"aten.mm.default": 0, "aten.sigmoid.default": 1}),
    "a policy": (policy_for(aten.mm.default), {"aten.mm.default": 0, "aten.sigmoid.default": 1}),
    "a policy that answers yes or no": (
        lambda context, op, *args: op is aten.sigmoid.default,
        {"aten.sigmoid.default": 0},
    ),
    "nothing": (policy_for(), {"aten.mm.default": 2, "aten.sigmoid.default": 1}),
    "everything": (lambda *_, **__: CheckpointPolicy.PREFER_SAVE, {"aten.mm.default": 0, "aten.relu.default": 0}),
}


@pytest.mark.parametrize("name", CHOICES)
def test_kept_results_are_not_computed_again(name: str) -> None:
    choice, again = CHOICES[name]
    x, w = operands()
    expected = pullback.autograd.grad(block(x, w).sum(), (x, w))
    out = checkpoint(block, x, w, use_reentrant=False, context_fn=partial(create_selective_checkpoint_contexts, choice))
    with Counting() as alone:
        pullback.autograd.grad(block(x, w).sum(), (x, w))
    with Counting() as forward:
        block(x, w)
    with Counting() as counter:
        found = pullback.autograd.grad(out.sum(), (x, w))
    for operator, number in again.items():
        backward = alone.counts[operator] - forward.counts[operator]
        assert counter.counts.get(operator, 0) - backward == number, operator
    for one, other in zip(found, expected, strict=True):
        assert pullback.equal(one, other)


def test_layers_dropout_and_batches() -> None:
    pullback.manual_seed(0)
    net = pullback.nn.Sequential(
        pullback.nn.Linear(4, 8), pullback.nn.ReLU(), pullback.nn.Dropout(0.5), pullback.nn.Linear(8, 2)
    )
    x = pullback.randn(5, 3, 4)
    context_fn = partial(create_selective_checkpoint_contexts, [aten.addmm.default])
    gradients = []
    for run in (net, lambda value: checkpoint(net, value, use_reentrant=False, context_fn=context_fn)):
        pullback.manual_seed(1)
        net.zero_grad()
        run(x).square().sum().backward()
        gradients.append([parameter.grad.clone() for parameter in net.parameters()])
    for one, other in zip(*gradients, strict=True):
        assert pullback.equal(one, other)


def test_a_written_value_is_refused() -> None:
    def function(x: Any) -> Any:
        return x.sin().mul_(2).cos().exp()

    x = pullback.ones(3, requires_grad=True)
    for allowed in (False, True):
        context_fn = partial(create_selective_checkpoint_contexts, policy_for(aten.sin.default), allowed)
        out = checkpoint(function, x, use_reentrant=False, context_fn=context_fn).sum()
        if allowed:
            out.backward()
        else:
            with pytest.raises(RuntimeError, match="has been mutated"):
                out.backward()


def test_values_are_handed_out_once() -> None:
    x = pullback.ones(3, requires_grad=True)
    context_fn = partial(create_selective_checkpoint_contexts, [aten.sin.default])
    out = checkpoint(lambda x: x.sin().cos().exp(), x, use_reentrant=False, context_fn=context_fn).sum()
    out.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        out.backward()


def test_a_function_that_does_something_else_is_noticed() -> None:
    calls: list[int] = []

    def function(x: Any) -> Any:
        calls.append(1)
        return (x.sin() if len(calls) == 1 else x.tan()).exp()

    x = pullback.ones(3, requires_grad=True)
    context_fn = partial(create_selective_checkpoint_contexts, [aten.exp.default])
    out = checkpoint(function, x, use_reentrant=False, context_fn=context_fn)
    with pytest.raises(RuntimeError, match="aten.tan.default .* not found in storage"):
        out.sum().backward()


@pytest.mark.parametrize("end", ["the graph goes", "a pass has run"])
def test_kept_values_are_let_go(end: str) -> None:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        out = x.cos().exp()
        if not kept:
            storage = _get_current_dispatch_mode().storage
            kept.extend(weakref.ref(entry.val) for calls in storage.values() for entry in calls.values())
        return out.sin()

    x = pullback.ones(3, requires_grad=True)
    context_fn = partial(create_selective_checkpoint_contexts, lambda *_, **__: CheckpointPolicy.MUST_SAVE)
    gc.disable()
    try:
        out = checkpoint(function, x, use_reentrant=False, context_fn=context_fn)
        assert [reference() is None for reference in kept] == [False, False]
        if end == "the graph goes":
            del out
        else:
            out.sum().backward(retain_graph=True)
        assert [reference() is None for reference in kept] == [True, True]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([2], ValueError, "Expected op in `op_list` to be an OpOverload"),
        ([aten.sin], ValueError, "update the OpOverloadPacket to a specific OpOverload"),
        (2, TypeError, "either a function or a list of ops."),
    ],
)
def test_what_is_no_policy(given: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        create_selective_checkpoint_contexts(given)


def test_early_stop_spares_the_last_operation() -> None:
    x = pullback.ones(3, requires_grad=True)
    for early_stop, number in ((True, 1), (False, 2)):
        with Counting() as counter:
            checkpoint(lambda x: x.sin(), x, use_reentrant=False, early_stop=early_stop).sum().backward()
        assert counter.counts["aten.sin.default"] == number


def test_wrappers_run_again_with_what_they_wrap() -> None:
    class Wrapper(pullback.Tensor):
        @staticmethod
        def __new__(cls, inner: Any) -> Any:
            return pullback.Tensor._make_wrapper_subclass(
                cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad
            )

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any, kwargs: Any = None) -> Any:
            return cls(func(*[x.inner if isinstance(x, cls) else x for x in args], **(kwargs or {})))

    def function(x: Any) -> Any:
        return (x * x.sum()).exp().sum()

    x = pullback.tensor([0.5, -0.25], requires_grad=True)
    (expected,) = pullback.autograd.grad(function(x), x)
    wrapper: Any = Wrapper(x.detach().requires_grad_())
    context_fn = partial(create_selective_checkpoint_contexts, policy_for(aten.exp.default))
    checkpoint(function, wrapper, use_reentrant=False, context_fn=context_fn).backward()
    assert wrapper.grad.inner.tolist() == expected.tolist()
