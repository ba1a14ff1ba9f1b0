"""Custom functions at their edges: views, writes in place, outputs without gradient, nested passes."""

import gc
import warnings
import weakref

import pytest

import pullback as torch
import pullback.autograd.forward_ad as forward_ad
from pullback.autograd import Function, gradcheck
from pullback.autograd.function import once_differentiable


def function(forward, backward=lambda ctx, *grads: grads[0], jvp=None):
    attributes = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    if jvp is not None:
        attributes["jvp"] = staticmethod(jvp)
    return type("Custom", (Function,), attributes)


def leaf(*values):
    return torch.tensor(list(values) or [1.0, 2.0], requires_grad=True)


def test_classes_of_nodes_print_as_torchs():
    assert str(type((leaf() * 2).grad_fn)) == "<class 'MulBackward0'>"
    custom = function(lambda ctx, x: x * 2)
    assert str(type(custom.apply(leaf()).grad_fn)) == "<class 'torch.autograd.function.CustomBackward'>"


def test_a_view_that_is_returned_keeps_the_custom_backward():
    calls = []

    def backward(ctx, grad):
        calls.append(grad)
        return torch.cat([grad * 7, torch.zeros(1)])

    custom = function(lambda ctx, x: x.narrow(0, 0, 1), backward)
    x = leaf()
    y = custom.apply(x * 1)
    assert y._is_view() and type(y.grad_fn).__name__ == "CustomBackward"
    (y * 2).sum().backward()
    assert len(calls) == 1 and x.grad.tolist() == [14.0, 0.0]


@pytest.mark.parametrize(
    "forward, complaint",
    [
        (lambda ctx, x: x.narrow(0, 0, 1), "created inside a custom Function"),
        (lambda ctx, x: x, "created inside a custom Function"),
        (lambda ctx, x: (x.narrow(0, 0, 1), x + 1), "function that returns multiple views"),
    ],
    ids=["view", "input as it is", "one of several"],
)
def test_writing_over_a_returned_view_would_go_around_the_function(forward, complaint):
    output = function(forward).apply(leaf() * 1)
    view = output[0] if isinstance(output, tuple) else output
    with pytest.raises(RuntimeError, match=complaint):
        view.add_(1)


def test_a_pure_view_may_be_written_and_is_replayed():
    def forward(ctx, x):
        ctx._is_pure_view = True
        return x.narrow(0, 0, 1)

    calls = []
    x = leaf()
    base = x * 1
    function(forward, lambda ctx, g: calls.append(g)).apply(base).mul_(3)
    base.sum().backward()
    assert x.grad.tolist() == [3.0, 1.0] and calls == []


def test_rules_of_mark_dirty():
    def write(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    doubled = function(write, lambda ctx, g: g * 2)
    x = leaf()
    y = x.clone()
    view = y[:1]
    assert doubled.apply(view) is view
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 1.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        doubled.apply(leaf())
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        doubled.apply(leaf()[:1])
    with pytest.raises(RuntimeError, match="multiple view"):
        doubled.apply(leaf().unbind()[0])

    def two(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2), x + 1

    with pytest.raises(RuntimeError, match="modifies inplace an input that is a view"):
        function(two).apply(leaf().clone()[:1])

    def foreign(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(foreign).apply(leaf() * 1)
    assert "not an input" in str(caught[0].message)


def test_outputs_that_are_no_tensors_and_those_without_gradient():
    received = []

    def forward(ctx, x):
        constant = x + 1
        ctx.mark_non_differentiable(constant)
        return 3, x * 2, None, constant

    def backward(ctx, *grads):
        received.append([None if g is None else g.tolist() for g in grads])
        return grads[1] * 2

    number, y, nothing, constant = function(forward, backward).apply(leaf())
    assert number == 3 and nothing is None and not constant.requires_grad
    y.sum().backward()
    assert received == [[None, [1.0, 1.0], None, [0.0, 0.0]]]


def test_missing_gradients_stay_none_when_asked():
    def forward(ctx, x):
        ctx._materialize_non_diff_grads = False
        constant = x.clone()
        ctx.mark_non_differentiable(constant)
        return x * 2, constant

    def backward(ctx, grad, missing):
        assert missing is None
        return grad

    function(forward, backward).apply(leaf())[0].sum().backward()


def test_one_tensor_returned_twice_is_one_tensor():
    def forward(ctx, x):
        y = x * 2
        return y, y

    custom = function(forward, lambda ctx, a, b: a * 2 + b * 2)
    x = torch.randn(3, dtype=torch.double, requires_grad=True)

    def program(value):
        a, b = custom.apply(value)
        assert a is b
        return a + b

    assert gradcheck(program, (x,))


def test_differentiating_once_only():
    x = leaf()

    class Squared(Function):
        @staticmethod
        def forward(ctx, value):
            ctx.save_for_backward(value)
            return value * value

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]

    ones = torch.ones(2, requires_grad=True)
    (gradient,) = torch.autograd.grad(Squared.apply(x), x, ones, create_graph=True)
    assert gradient.grad_fn.name() == "torch::autograd::Error"
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_saved_values_can_be_limited_to_one_look():
    class Once(Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            (value,) = ctx.saved_tensors
            reference = weakref.ref(value)
            del value
            assert reference() is None
            with pytest.raises(RuntimeError, match="only be accessed once"):
                ctx.saved_tensors
            return grad

    Once.apply(leaf().clone()).sum().backward()


def test_saving_a_written_view_makes_no_cycle():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    def build():
        x = leaf().clone()
        x = x.view_as(x)
        function(forward).apply(x)
        return weakref.ref(x)

    gc.collect()
    gc.disable()
    try:
        assert build()() is None
    finally:
        gc.enable()


def test_deeply_nested_passes_do_not_exhaust_the_stack():
    class Countdown(Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.inner = x.detach().requires_grad_() - 1
            return ctx.inner.detach()

        @staticmethod
        def backward(ctx, grad):
            if ctx.inner >= 0:
                with torch.enable_grad():
                    Countdown.apply(ctx.inner).backward()
            return grad

    x = torch.tensor(500.0, requires_grad=True)
    Countdown.apply(x).backward()
    assert x.grad.item() == 1.0


@pytest.mark.parametrize(
    "forward, jvp, complaint",
    [
        (lambda ctx, x: x.narrow(0, 0, 1), lambda ctx, t: t.narrow(0, 0, 1).clone(), "jvp is not returning a view"),
        (lambda ctx, x: x, lambda ctx, t: t * 2, "jvp is not returning a view"),
        (lambda ctx, x: x[:1], lambda ctx, t: t.clone()[:1], "a view of the given grad input"),
    ],
)
def test_tangents_must_be_views_where_outputs_are(forward, jvp, complaint):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.rand(2), torch.rand(2))
        with pytest.raises(RuntimeError, match=complaint):
            function(forward, jvp=jvp).apply(dual)


def test_tangents_are_written_in_place_where_values_are():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    with forward_ad.dual_level():
        tangent = torch.ones(2)
        dual = forward_ad.make_dual(torch.ones(2), tangent)
        out = function(forward, jvp=lambda ctx, t: t.mul_(2)).apply(dual)
        assert out is dual and tangent.tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError, match="must modify the corresponding gradient inplace"):
            function(forward, jvp=lambda ctx, t: t * 2).apply(forward_ad.make_dual(torch.ones(2), torch.ones(2)))


def test_a_batching_rule_sees_tensors_in_containers_and_may_return_what_is_no_batch():
    def run(t):
        class Weighted(t.autograd.Function):
            @staticmethod
            def forward(pair, options):
                return pair[0] * options["by"] + pair[1]

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def vmap(info, in_dims, pair, options):
                seen.append((info.batch_size, in_dims))
                return (pair[0] * options["by"][:, None] + pair[1]).sum(0), None

        seen, kept = [], []
        x = t.arange(6.0).reshape(2, 3)

        def f(row, by):
            kept.append(Weighted.apply((row, t.ones(3)), {"by": by}))
            return row

        t.func.vmap(f)(x, t.tensor([1.0, 2.0]))
        return seen, kept[0].tolist()

    assert run(torch) == run(pytest.importorskip("torch"))


class Containers(Function):
    @staticmethod
    def forward(ctx, values, *others):
        return sum(torch.utils._pytree.tree_flatten(values)[0])

    @staticmethod
    def backward(ctx, g):
        return None, *[None] * (len(ctx.needs_input_grad) - 1)


@pytest.mark.parametrize(
    "pack", [lambda x: [x, 1.0], lambda x: (x,), lambda x: {"a": [x]}], ids=["list", "tuple", "dict"]
)
def test_tensors_inside_other_arguments_get_no_gradient_and_that_is_said(pack):
    """Torch says nothing here."""
    x = torch.tensor(2.0, requires_grad=True)
    with pytest.warns(UserWarning, match="Containers.apply: argument 0 is a .* get no gradient") as seen:
        assert not Containers.apply(pack(x)).requires_grad
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Containers.apply(pack(x.detach()))
        Containers.apply(pack(x), x)  # it is an argument, too
        with torch.no_grad():
            Containers.apply(pack(x))


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("create_graph", [False, True])
def test_cotangents_in_one_list_that_backward_may_empty(count, create_graph):
    class Boxed(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, *inputs):
            outputs = tuple(x * (number + 2) for number, x in enumerate(inputs))
            return outputs if count > 1 else outputs[0]

        @staticmethod
        def backward(ctx, grads):
            assert type(grads) is list and len(grads) == count
            results = tuple(g * (number + 2) for number, g in enumerate(grads))
            grads.clear()
            return results

    inputs = [torch.ones(2, requires_grad=True) for _ in range(count)]
    outputs = Boxed.apply(*inputs)
    outputs = outputs if count > 1 else (outputs,)
    found = torch.autograd.grad([y.sum() for y in outputs], inputs, create_graph=create_graph)
    assert [g.tolist() for g in found] == [[number + 2.0] * 2 for number in range(count)]
