"""Order and reach of hooks, and passes that go only as far as some inputs."""

import gc
import weakref

import pytest

import pullback as torch
from pullback.autograd import Function, Variable


def scalar(value=1.0):
    return torch.tensor(value, requires_grad=True)


def test_leaf_hooks_run_in_order_and_may_change_the_gradient():
    x = torch.rand(3, requires_grad=True)
    leaf = (x * 1).grad_fn.next_functions[0][0]
    x.register_hook(lambda g: g - 2)
    leaf.register_prehook(lambda grads: (grads[0] / 5,))

    def adjust(tensor):
        tensor.grad.add_(0.5)

    x.register_post_accumulate_grad_hook(adjust)

    def replace(grad_inputs, grad_outputs):
        assert grad_inputs == ()
        x.grad = grad_outputs[0] * 10

    leaf.register_hook(replace)
    x.sum().backward()
    assert torch.allclose(x.grad, torch.full((3,), 3.0))


@pytest.mark.parametrize(
    "run, expected",
    [
        (lambda a, b: torch.autograd.grad(b * 2, (b,)), [1, 0, 0]),
        (lambda a, b: torch.autograd.grad(b * 2, (a, b)), [2, 1, 1]),
        (lambda a, b: (b * 2).backward(), [2, 2, 2]),
        (lambda a, b: (b * 2).backward(inputs=(a, b)), [2, 2, 2]),
    ],
    ids=["grad to the middle", "grad to both", "backward", "backward to both"],
)
def test_which_hooks_a_pass_runs(run, expected):
    a = scalar()
    b = a * 2
    counts = [0, 0, 0]

    def count(place):
        def hook(*_):
            counts[place] += 1

        return hook

    leaf = b.grad_fn.next_functions[0][0]
    for tensor, node in ((a, leaf), (b, b.grad_fn)):
        tensor.register_hook(count(0))
        node.register_prehook(count(1))
        node.register_hook(count(2))
    run(a, b)
    assert counts == expected


def test_post_accumulate_hooks_return_nothing():
    x = torch.rand(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        x.sum().backward()


def test_a_hook_on_one_of_several_outputs_hears_of_passes_without_it():
    x = torch.rand(3, requires_grad=True)
    first, second, _ = x.unbind()
    seen = []
    first.register_hook(lambda g: seen.append(g))
    second.backward()
    assert seen == [None]


def test_hooks_registered_while_a_node_runs_do_not_see_what_came_in():
    a = torch.rand(3, 3, requires_grad=True)

    def unpack(value):
        node = torch._C._current_autograd_node()

        def halve(going_out, came_in):
            assert all(part is None for part in came_in)
            return tuple(None if part is None else part / 2 for part in going_out)

        node.register_hook(halve)
        return value

    def program():
        variance, mean = torch.var_mean(a, dim=0)
        (variance + mean).sum().backward()

    program()
    once = a.grad.clone()
    with torch.autograd.graph.saved_tensors_hooks(lambda v: v, unpack):
        program()
    assert torch.allclose(a.grad, once * 1.5)


def test_writes_through_a_view_leave_its_hooks_behind_but_not_its_retained_gradient():
    base = torch.tensor([1.0], requires_grad=True).clone()
    view, other = base[:], base[:]
    calls = []
    view.register_hook(lambda g: calls.append("old"))
    view.retain_grad()
    other.retain_grad()
    view.mul_(2)
    (view + other).sum().backward()
    assert calls == []
    assert view.grad.tolist() == other.grad.tolist() == [1.0]


def test_partial_backward_reaches_post_accumulate_hooks():
    x, y = scalar(), scalar()
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.item()))
    (x * 3 + y).backward(inputs=[x])
    assert seen == [3.0] and y.grad is None


def test_post_accumulate_hooks_of_a_leaf_that_nobody_has_any_more():
    x, seen = torch.ones(2, requires_grad=True), []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    loss = (x * 3).sum()
    del x
    loss.backward()
    assert seen == [[3.0, 3.0]]


def test_what_a_pass_says_about_itself():
    x, unused = scalar(), scalar()
    y = x * 2
    side = y.cos()
    answers = {}

    def hook(_):
        answers["number"] = torch._C._current_graph_task_id()
        answers["node"] = torch._C._current_autograd_node()
        answers["class"] = type(answers["node"]).__name__
        answers["runs"] = [torch._C._will_engine_execute_node(n) for n in (y.grad_fn, side.grad_fn, accumulator)]
        answers["keeps"] = torch._C._autograd._get_current_graph_task_keep_graph()

    accumulator = (unused * 1).grad_fn.next_functions[0][0]
    y.register_hook(hook)
    y.sin().backward(retain_graph=True)
    assert answers["class"] == "MulBackward0"
    assert answers["node"] is y.grad_fn and answers["runs"] == [True, False, False] and answers["keeps"]
    number = answers["number"]
    y.sin().backward()
    assert answers["number"] == number + 1 and not answers["keeps"]
    assert torch._C._current_graph_task_id() == -1
    with pytest.raises(RuntimeError, match="during the backward pass"):
        torch._C._will_engine_execute_node(y.grad_fn)


def test_order_of_a_pass_is_known_beforehand():
    found = []
    y = scalar().clone().sin().exp()
    y.register_hook(lambda _: found.extend(torch._C._current_graph_task_execution_order()))
    with torch.autograd.set_multithreading_enabled(False):
        y.backward()
    names = [node.name() for node in found]
    assert names == ["ExpBackward0", "SinBackward0", "CloneBackward0", "torch::autograd::AccumulateGrad"]


def test_callbacks_run_after_the_gradients_are_in_place():
    x = scalar(3.0)
    heard = []

    def first():
        heard.append(x.grad.item())
        Variable._execution_engine.queue_callback(lambda: heard.append("last"))

    class Identity(Function):
        @staticmethod
        def forward(ctx, value):
            return value.clone()

        @staticmethod
        def backward(ctx, grad):
            Variable._execution_engine.queue_callback(first)
            return grad

    (Identity.apply(x) * 2).backward()
    assert heard == [2.0, "last"]
    with pytest.raises(RuntimeError, match="during backward pass"):
        Variable._execution_engine.queue_callback(print)


def test_a_waiting_error_strikes_only_where_a_gradient_passes():
    x, y = torch.rand(2, requires_grad=True), torch.rand(2, requires_grad=True)
    guarded = torch._C._functions.DelayedError("not this way", 1)(y)
    torch.autograd.grad((x * guarded).sum(), x)
    torch.autograd.grad((x * guarded).sum(), guarded)
    with pytest.raises(RuntimeError, match="not this way"):
        (x * guarded).sum().backward()


def test_hooks_that_refer_to_their_own_node_are_collected():
    class Thing:
        pass

    def build():
        b = scalar().clone()
        node, thing = b.grad_fn, Thing()
        node.register_hook(lambda *_: None if node and thing else 1 / 0)
        return b.clone(), weakref.ref(thing)

    out, reference = build()
    out.backward()
    assert reference() is not None
    del out
    gc.collect()
    assert reference() is None


def hooked(t, kind):
    """x, y = 2 x with a hook that multiplies by ten, and z = y * y."""
    x = t.tensor([3.0, 4.0], requires_grad=True)
    y = x * 2
    if kind == "tensor":
        y.register_hook(lambda g: g * 10)
    elif kind == "two":
        y.register_hook(lambda g: g * 10)
        y.register_hook(lambda g: g + 1)
    elif kind == "node":
        y.grad_fn.register_prehook(lambda g: (g[0] * 10,))
    elif kind == "retained":
        y.retain_grad()
        y.register_hook(lambda g: g * 10)
    elif kind == "leaf":
        x.register_hook(lambda g: g * 10)
    elif kind == "of several":
        first, second = y.unbind()
        first.register_hook(lambda g: g * 10)
        return x, first, first * second
    return x, y, (y * y).sum()


@pytest.mark.parametrize("options", [{}, {"create_graph": True}], ids=["", "recorded"])
@pytest.mark.parametrize("order", ["y", "x", "yx", "xy", "yxy", "ey", "ex"])
@pytest.mark.parametrize("kind", ["tensor", "two", "node", "retained", "leaf", "of several"])
def test_which_gradient_of_a_hooked_tensor_is_returned(kind, order, options):
    """Of one that is passed on the way to another input it is the gradient before the hooks; else the one after."""
    answers = []
    for t in (pytest.importorskip("torch"), torch):
        x, y, z = hooked(t, kind)
        inputs = {"x": x, "y": y, "e": t.autograd.graph.get_gradient_edge(y)}
        found = t.autograd.grad(z, [inputs[letter] for letter in order], **options)
        answers.append([g.tolist() for g in found] + [y.grad.tolist() if kind == "retained" else None])
    assert answers[0] == answers[1]
