"""What graphs keep: saved tensors and their hooks, writes to them, second runs of checkpointed functions."""

import gc
import weakref

import pytest

import pullback as torch
from pullback.autograd import Function
from pullback.autograd.graph import allow_mutation_on_saved_tensors, saved_tensors_hooks
from pullback.utils.checkpoint import GraphExecGroup, checkpoint, set_checkpoint_early_stop


def leaf(*shape):
    return torch.rand(*(shape or (3,)), requires_grad=True)


@pytest.mark.parametrize("layer", ["BatchNorm2d(2)", "InstanceNorm2d(2)", "GroupNorm(1, 2)", "LayerNorm([2, 4, 4])"])
def test_a_norm_may_be_followed_by_a_write_in_place(layer):
    norm = eval("torch.nn." + layer)
    x = leaf(3, 2, 4, 4)
    plain = torch.nn.functional.relu(norm(x))
    (expected,) = torch.autograd.grad((plain * plain).sum(), x)
    written = torch.nn.functional.relu(norm(x), inplace=True)
    (found,) = torch.autograd.grad((written * written).sum(), x)
    assert torch.allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("several", [torch.sort, lambda x: torch.max(x, 0), lambda x: torch.topk(x, 2)])
def test_selected_values_may_be_written_before_the_backward_pass(several):
    x = leaf(4)
    values, _ = several(x * 1)
    values.mul_(3)
    values.sum().backward()
    assert set(x.grad.tolist()) <= {0.0, 3.0}


def test_indices_count_as_saved():
    source, target = leaf(), torch.zeros(3)
    target[[1, 2]] = source[[0, 0]]
    target.backward(torch.ones(3))
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        target.backward(torch.ones(3))


def test_a_function_that_saved_nothing_can_be_run_again():
    class Identity(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = leaf()
    y = Identity.apply(x)
    y.sum().backward()
    y.sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_raw_saved_values():
    x = leaf()
    with saved_tensors_hooks(lambda value: value, unpack := (lambda packed: packed)):
        y = x * x
    raw = y.grad_fn._raw_saved_self
    assert isinstance(raw, torch.autograd.SavedTensor) and raw.data is x and raw.unpack_hook is unpack
    z = y.exp()
    assert z.grad_fn._raw_saved_result.unpack_hook is None and z.grad_fn._raw_saved_result.data is not z
    with pytest.raises(RuntimeError, match="already been set"):
        raw.register_hooks(unpack, unpack)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        raw.register_hooks(1, 2)
    with pytest.raises(RuntimeError, match="from Python is forbidden"):
        torch.autograd.SavedTensor()


def test_a_saved_output_counts_writes_with_the_output():
    y = leaf().exp()
    saved = y.grad_fn._saved_result
    with torch.no_grad():
        y += 1
    assert saved._version == y._version == 1
    assert torch.equal(saved, y)


def test_detaching_in_place_what_was_saved():
    a = leaf().clone()
    b = a.sin()
    a.detach_()
    with pytest.raises(RuntimeError, match="has been detached in-place"):
        b.sum().backward()


def test_memory_of_saved_tensors_is_copied_only_when_it_is_written():
    with allow_mutation_on_saved_tensors() as context:
        a = leaf(2, 3).clone()
        b, c = a**2, a**2
        assert len(context.cloned) == 0
        a.sin_()
        assert len(context.cloned) == 1
        del b, c
        assert len(context.cloned) == 0


def test_gradients_after_writes_to_saved_tensors():
    with allow_mutation_on_saved_tensors():
        x = leaf(4)
        y = x.clone()
        squares = y**2
        y[:2] *= 10
        torch.sin(torch.ones(4), out=(scratch := torch.ones(4)))
        product = x * scratch
        scratch.zero_()
        (squares.sum() + product.sum()).backward()
    expected = 2 * x.detach() + torch.sin(torch.ones(4))
    assert torch.allclose(x.grad, expected)
    with allow_mutation_on_saved_tensors():
        late = (leaf() ** 2).sum()
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved_tensors' context"):
        late.backward()


def test_second_runs_hand_out_each_value_once_a_pass():
    seen = []

    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            ctx.saved_tensors
            with pytest.raises(RuntimeError, match="already unpacked once"):
                ctx.saved_tensors
            seen.append(1)
            return grad * 2

    x = leaf()
    out = checkpoint(lambda v: Twice.apply(v * 3), x, use_reentrant=False)
    out.sum().backward(retain_graph=True)
    out.sum().backward()
    assert seen == [1, 1]


@pytest.mark.parametrize("early", [True, False])
def test_checkpointed_functions_that_differentiate_inside(early):
    def slope(f):
        def program(x):
            with torch.enable_grad():
                return torch.autograd.grad(f(x), x, create_graph=True)[0]

        return program

    def again(f):
        return lambda x: checkpoint(f, x, use_reentrant=False)

    def f(x):
        return x.sin().exp().sin()

    x = torch.tensor(0.7, requires_grad=True)
    with set_checkpoint_early_stop(early):
        expected = slope(slope(f))(x)
        for program in (slope(again(slope(f))), again(slope(slope(again(f)))), slope(again(slope(again(f))))):
            assert torch.allclose(program(x), expected)


def test_a_group_of_passes_shares_one_second_run():
    runs = []

    def f(x):
        runs.append(1)
        y = x.sin().cos()
        return y, y.sin().cos()

    x = leaf()
    y, z = checkpoint(f, x, use_reentrant=False)
    with GraphExecGroup():
        (upper,) = torch.autograd.grad(z, y, torch.ones(3))
        torch.autograd.grad(y, x, upper)
    assert len(runs) == 2


def test_second_runs_leave_nothing_behind():
    references = []

    class Keeps(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone()
            ctx.save_for_backward(y)
            references.append(weakref.ref(y))
            return y

        @staticmethod
        def backward(ctx, grad):
            ctx.saved_tensors
            return None

    gc.collect()
    gc.disable()
    try:
        checkpoint(lambda v: Keeps.apply(v), leaf(), use_reentrant=False).sum().backward()
        assert len(references) == 2 and all(reference() is None for reference in references)
    finally:
        gc.enable()


def test_a_tensor_saved_by_itself():
    calls = []
    hooks = (lambda v: calls.append("pack") or v), (lambda v: calls.append("unpack") or v)
    x = leaf()
    with saved_tensors_hooks(*hooks):
        saved = torch._C._autograd._make_saved_tensor(x, is_output=False)
    assert isinstance(saved, torch.autograd.SavedTensor) and calls == ["pack"]
    assert saved.unpack() is x and saved.unpack() is x and calls == ["pack", "unpack", "unpack"]
    y = x * 2
    saved = torch._C._autograd._make_saved_tensor(y, is_output=False)
    assert saved.unpack() is y
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.unpack()


def test_what_nodes_saved_can_be_unpacked_one_by_one():
    x = leaf()
    product, power = x * x, x.exp()
    assert product.grad_fn._raw_saved_self.unpack() is x
    output = power.grad_fn._raw_saved_result.unpack()
    assert torch.equal(output, power) and output.grad_fn is power.grad_fn

    class Keeps(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x.clone()

    first, second = Keeps.apply(x).grad_fn._raw_saved_tensors
    assert first.unpack() is x and second.unpack() is None
    first.register_hooks(lambda v: v * 3, lambda v: v)
    assert torch.equal(first.unpack(), x * 3)
