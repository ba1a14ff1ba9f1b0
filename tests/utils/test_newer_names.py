"""Names that torch has from 2.14 and 2.15 on, which the oracle does not know: their behaviour in a few lines."""

import pytest

import pullback as torch
from pullback.utils.checkpoint import checkpoint


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint_is_a_decorator(reentrant):
    runs = []

    @checkpoint(use_reentrant=reentrant, preserve_rng_state=False)
    def f(x, *others):
        """Doc."""
        runs.append(x)
        return x.sin() * 2

    x = torch.tensor([0.5, 1.0], requires_grad=True)
    f(x).sum().backward()
    assert torch.allclose(x.grad, 2 * x.detach().cos()) and len(runs) == 2
    assert f.__name__ == "f" and f.__doc__ == "Doc."
    assert torch.equal(f(x), checkpoint(lambda a: a.sin() * 2, x, use_reentrant=False))


def test_a_decorator_takes_no_arguments_of_the_function():
    with pytest.raises(TypeError, match="is a decorator"):
        checkpoint(use_reentrant=False, scale=3)


def test_queue_callback_runs_after_the_gradients_are_there():
    x = torch.ones(2, requires_grad=True)
    seen = []
    y = x * 3
    y.register_hook(lambda g: torch.autograd.graph.queue_callback(lambda: seen.append(x.grad.tolist())))
    y.sum().backward()
    assert seen == [[3.0, 3.0]]
    with pytest.raises(RuntimeError, match="during backward pass"):
        torch.autograd.graph.queue_callback(print)


def test_functional_optimizers_and_names_of_the_compiler():
    from pullback.optim import functional, sgd

    assert functional.sgd is sgd.sgd and "adamw" in functional.__all__ and torch.optim.functional is functional
    with pytest.raises(AttributeError):
        functional.nothing
    assert torch.compiler.nonstrict_trace(print) is print
    assert torch.compiler.cudagraph_mark_warmup_incomplete() is None
    with pytest.raises(torch.compiler.PrecompileError, match="nothing is compiled"):
        torch.compiler.precompile(print)
