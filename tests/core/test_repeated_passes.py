"""Passes that repeat are written out as code (core/written_out/repeats.py): the same gradients, and only for the same graph."""

from __future__ import annotations

import gc
import re
import weakref

import numpy as np
import pytest

import pullback
from pullback.core.engine import walk
from pullback.core.plan import FIRST_LOOK
from pullback.core.written_out import forms, repeats
from tests.core.repeating import ROUNDS, forget, gradients, leaf

pytestmark = pytest.mark.usefixtures("ordinary_passes")


PROGRAMS = {
    "network": lambda x, w, b: ((x @ w + b).tanh() @ w + b).pow(2).mean(),
    "used twice": lambda x, w, b: (x * x + x * w + (x * w).sin()).sum(),
    "broadcast": lambda x, w, b: (x * b + b.exp() - w / (2 + b * b)).sum(),
    "joint rule": lambda x, w, b: pullback.nn.functional.layer_norm(x @ w, (4,), b, b).sum(),
    "classifier": lambda x, w, b: pullback.nn.functional.cross_entropy(x @ w + b, pullback.tensor([0, 3, 1, 2])),
    "parameters": lambda x, w, b: pullback.nn.functional.softplus(x.sum(dim=0) * b, beta=2.0).prod(),
    "shape and view": lambda x, w, b: (x.reshape(2, 8).T @ w.reshape(2, 8) * 2.5).relu().sum(),
    "scalars": lambda x, w, b: (x.sum() * b.sum() + b.sum().exp() * w.mean()) ** 3,
    "where": lambda x, w, b: pullback.where(x > 0, x * w, b).logsumexp(dim=1).sum(),
    "joined": lambda x, w, b: pullback.cat([x, w, b[None].expand(2, 4)]).cumsum(0).std(),
    "part of a part": lambda x, w, b: (x.chunk(2)[0][0] * w.chunk(2, dim=1)[1][0, 0] + b).sum(),
    "cast": lambda x, w, b: (((x * 2).float() @ (w * 2).float()).double() * b).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_written_out_pass_gives_what_the_walk_gave(name):
    program = PROGRAMS[name]
    leaves = [leaf(4, 4), leaf(4, 4, seed=1), leaf(4, seed=2)]
    plan = forget(program(*leaves))
    expected = gradients(program(*leaves), leaves)
    for _ in range(ROUNDS):
        for got, wanted in zip(gradients(program(*leaves), leaves), expected, strict=True):
            np.testing.assert_equal(got, wanted)
    assert plan.repeats.programs
    reached = [tensor for tensor, gradient in zip(leaves, expected, strict=True) if gradient is not None]
    for got, tensor in zip(pullback.autograd.grad(program(*leaves), reached), reached, strict=True):
        np.testing.assert_array_equal(got.numpy(), tensor.grad.numpy())


NOTHING = {  # gradients that are zeros with a sign, of whole tensors and of selections, in both orders
    "selected later": lambda x: -(x * 0.0).sum() - (x[1:3] * 0.0).sum(),
    "selected earlier": lambda x: (lambda part: -(x * 0.0).sum() - (part * 0.0).sum())(x[1:3]),
    "one and many": lambda x: (lambda one: one * 2 - (x[0:3] * 0.0).sum())(x[1]),
    "many and one": lambda x: x[1] * 2 - (x[0:3] * 0.0).sum() - x[0] * 0.0,
}


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("name", NOTHING)
def test_zeros_keep_their_sign(name, inner):
    x = leaf(4)
    function = lambda x: NOTHING[name](x * 1.0 if inner else x)  # noqa: E731
    forget(function(x))
    (expected,) = gradients(function(x), (x,))
    prepared(function, x)
    (got,) = gradients(function(x), (x,))
    assert got.tobytes() == expected.tobytes()


def prepared(function, *leaves):
    """The pass of a function, written out."""
    plan = forget(function(*leaves))
    for _ in range(ROUNDS):
        gradients(function(*leaves), leaves)
    assert len(plan.repeats.programs) == 1
    return plan


def test_gradients_that_are_mostly_zeros_arrive_twice(monkeypatch):
    monkeypatch.setattr("pullback.ops.class_losses.MOSTLY_ZEROS", 1)
    logits, first, second = leaf(4, 5), pullback.arange(4), pullback.arange(4) + 1

    def loss(logits):
        scores = pullback.nn.functional.log_softmax(logits, dim=1)
        return pullback.nn.functional.nll_loss(scores, first) + pullback.nn.functional.nll_loss(scores, second)

    forget(loss(logits))
    expected = gradients(loss(logits), (logits,))[0]
    prepared(loss, logits)
    np.testing.assert_array_equal(gradients(loss(logits), (logits,))[0], expected)


def test_the_program_is_used_and_not_the_walk(monkeypatch):
    x, y = leaf(3), leaf(3, seed=1)
    function = lambda x, y: (x * y).exp().sum()  # noqa: E731
    prepared(function, x, y)
    expected = gradients(function(x, y), (x, y))
    monkeypatch.setattr("pullback.core.passes.walk", None)
    for got, wanted in zip(gradients(function(x, y), (x, y)), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    with pytest.raises(TypeError):
        gradients((x.tanh() * y).sum(), (x, y))


def test_other_shapes_and_dtypes_go_through_the_same_program():
    x, y = leaf(3), leaf(3, seed=1)
    function = lambda x, y: (x * y).sum()  # noqa: E731
    plan = prepared(function, x, y)
    for first, second, dtype in ((5,), (5,), np.float64), ((4, 3), (3,), np.float64), ((2, 1), (1, 3), np.float32):
        a, b = leaf(*first, dtype=dtype), leaf(*second, seed=1, dtype=dtype)
        got = gradients(function(a, b), (a, b))
        programs, plan.repeats.programs = plan.repeats.programs, ()
        expected = gradients(function(a, b), (a, b))
        plan.repeats.programs = programs
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == dtype
    assert len(plan.repeats.programs) == 1


def test_leaves_that_were_two_and_are_one():
    x, y = leaf(3), leaf(3, seed=1)
    prepared(lambda x, y: (x + y).sum(), x, y)
    (got,) = gradients((x + x).sum(), (x,))
    np.testing.assert_array_equal(got, [2.0, 2.0, 2.0])
    prepared(lambda x: (x.exp() * x.exp()).sum(), x)
    shared = x.exp()
    (got,) = gradients((shared * shared).sum(), (x,))
    np.testing.assert_allclose(got, 2 * np.exp(2 * x.detach().numpy()))


def in_order(x, numbers):
    """Three functions of one value, made in this order, and their sum, always in the same order."""
    middle, made = x * 1.1, {}
    for number in numbers:
        made[number] = (pullback.sin, pullback.exp, pullback.tanh)[number](middle)
    return (made[0] + made[1] + made[2]).sum()


def test_gradients_are_added_in_the_order_of_the_walk():
    x = leaf(200)
    plan = prepared(lambda x: in_order(x, (0, 1, 2)), x)
    for numbers in (0, 1, 2), (2, 1, 0), (1, 0, 2):
        (got,) = gradients(in_order(x, numbers), (x,))
        programs, plan.repeats.programs = plan.repeats.programs, ()
        (expected,) = gradients(in_order(x, numbers), (x,))
        plan.repeats.programs = programs
        np.testing.assert_array_equal(got, expected)


def test_values_that_were_two_and_are_one_get_the_sum_of_their_gradients():
    x, y = leaf(200), leaf(200, seed=1)
    plan = prepared(lambda x, y: (x.exp() * y + x.exp().sin()).sum(), x, y)
    shared = x.exp()
    got = gradients((shared * y + shared.sin()).sum(), (x, y))
    programs, plan.repeats.programs = plan.repeats.programs, ()
    shared = x.exp()
    expected = gradients((shared * y + shared.sin()).sum(), (x, y))
    plan.repeats.programs = programs
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_only_what_is_asked_for_is_computed_and_answered():
    x, y = leaf(3), leaf(3, seed=1)
    prepared(lambda x, y: (x * y).sum(), x, y)
    (got,) = pullback.autograd.grad((x * y).sum(), x)
    np.testing.assert_array_equal(got.numpy(), y.detach().numpy())
    assert x.grad is not None and y.grad is not None  # of the last round
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        pullback.autograd.grad((x * y).sum(), [x, y, leaf(3)])


def test_hooks_come_before_programs():
    x = leaf(3)
    prepared(lambda x: (x.exp() * 2).sum(), x)
    middle = x.exp()
    middle.register_hook(lambda gradient: gradient * 10)
    (got,) = gradients((middle * 2).sum(), (x,))
    np.testing.assert_allclose(got, 20 * np.exp(x.detach().numpy()))


def test_other_memory_between_the_passes_is_noticed():
    """`.data` may be given another shape: by gathering and sharding, for one."""
    whole, part = pullback.ones(4, 3, dtype=pullback.float64), pullback.ones(3, dtype=pullback.float64)
    x = part.clone().requires_grad_()
    prepared(lambda x: (x + x).sum(), x)
    for _ in range(ROUNDS):
        x.data = whole
        root = (x + x).sum()
        x.data = part
        assert gradients(root, (x,))[0].tolist() == [8.0, 8.0, 8.0]
    assert gradients((x + x).sum(), (x,))[0].tolist() == [2.0, 2.0, 2.0]

    prepared(lambda x: (x.exp() * x).sum(), x)
    middle = x.exp()
    middle.data = whole
    assert gradients((middle * x).sum(), (x,))[0].tolist() == pytest.approx([4 + 4 * np.e] * 3)


def test_values_written_since_are_noticed():
    x = leaf(3)
    prepared(lambda x: (x.exp() * 2).sum(), x)
    middle = x.exp()
    root = (middle * 2).sum()
    with pullback.no_grad():
        middle.zero_()
    x.grad = None
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        root.backward()
    assert x.grad is None


def test_a_pass_runs_once_unless_the_graph_is_retained():
    x = leaf(3)
    prepared(lambda x: (x * x).sum(), x)
    root = (x * x).sum()
    x.grad = None
    root.backward(retain_graph=True)
    root.backward()
    np.testing.assert_allclose(x.grad.numpy(), 4 * x.detach().numpy())
    with pytest.raises(RuntimeError, match="second time"):
        root.backward()


def test_a_pass_that_fails_changes_nothing(monkeypatch):
    x, y = leaf(3), leaf(3, seed=1)
    function = lambda x, y: ((x * y).cumsum(0).tanh() * y).sum()  # noqa: E731
    plan = prepared(function, x, y)
    before = gradients(function(x, y), (x, y))
    program = plan.repeats.programs[0]
    rules = [name for name in program.__globals__ if re.fullmatch(r"r\d+|multiply", name)]
    assert len(rules) == 2
    for name in rules:

        def fails(*_):
            raise KeyboardInterrupt

        root = function(x, y)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setitem(program.__globals__, name, fails)
            root.backward()
        for tensor, old in zip((x, y), before, strict=True):
            np.testing.assert_array_equal(tensor.grad.numpy(), old)
        root.backward()
        for tensor, old in zip((x, y), before, strict=True):
            np.testing.assert_allclose(tensor.grad.numpy(), 2 * old)
            tensor.grad = pullback.from_numpy(old.copy())


def test_gradients_are_memory_of_their_own():
    x, y = leaf(3), leaf(3, seed=1)
    prepared(lambda x, y: (x + y).sum(), x, y)
    weight = pullback.ones(())
    root = (x + y).sum()
    x.grad = y.grad = None
    root.backward(gradient=weight)
    x.grad.fill_(7.0)
    np.testing.assert_array_equal(y.grad.numpy(), np.ones(3))
    assert weight.item() == 1.0


def test_programs_keep_no_graph_alive():
    x = leaf(3)
    prepared(lambda x: (x * x).sum(), x)
    array = weakref.ref(x._array)
    del x
    gc.collect()
    assert array() is None


def test_nothing_is_learned_from_a_graph_that_was_written_into_since():
    x = leaf(3)
    plan = forget((x + x).sum())
    for _ in range(ROUNDS):
        root = (x + x).sum()
        with pullback.no_grad():
            x.add_(0)
        gradients(root, (x,))
    assert plan.repeats.programs == ()


def test_graphs_that_never_repeat_are_left_to_the_walk():
    x = leaf(3)
    plan = forget(x.sum())
    for length in range(1, 40):
        value = x
        for _ in range(length):
            value = value * 1.01
        gradients(value.sum(), (x,))
    assert plan.repeats.programs == ()


def test_two_kinds_of_steps_in_turn_have_a_program_each():
    x = leaf(3)
    plan = forget(x.sum())
    for _ in range(8 * FIRST_LOOK):
        gradients((x * 2).sum(), (x,))
        (got,) = gradients(x.exp().sum(), (x,))
        np.testing.assert_allclose(got, np.exp(x.detach().numpy()))
    assert len(plan.repeats.programs) == 2


def test_the_code_can_be_read():
    x = leaf(3)
    root = x.exp().sum()
    text, _ = repeats.source(forms.form_of([root._node, root._node.edges[0]]))
    assert "g1 = ((t1_ := empty((3,), float64)).fill(g0) or t1_)" in text and "l0 = (g1 * v1_0)" in text
    text, _ = repeats.source(forms.form_of([root._node, root._node.edges[0]]).loosened())
    assert "g1 = r0(g0, v0_0)" in text and "l0 = r1(g1, v1_0)" in text


def operations_with_short_rules():
    from pullback.ops import matmul, piecewise, pointwise, reductions

    names = "subtract multiply multiply_itself divide negative square exp log tanh sigmoid sin cos sqrt reciprocal"
    found = {name: getattr(pointwise, name) for name in names.split()}
    found["relu"] = piecewise.relu
    found |= {name: getattr(matmul, name) for name in ("mm", "mv", "linear_map", "linear_layer")}
    return found | {name: getattr(reductions, name) for name in ("sum_all", "mean_all")}


SHAPES_OF_INPUTS = {
    "mm": ((3, 4), (4, 2)),
    "mv": ((3, 4), (4,)),
    "linear_map": ((3, 4), (2, 4)),
    "linear_layer": ((3, 4), (2, 4), (2,)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", operations_with_short_rules())
def test_what_stands_in_a_pass_says_what_the_rule_says(name, dtype):
    operation = operations_with_short_rules()[name]
    random = np.random.default_rng(0)
    shapes = SHAPES_OF_INPUTS.get(name, ((3, 4),) * len(operation.inputs))
    leaves = [pullback.tensor(np.abs(random.standard_normal(s)).astype(dtype), requires_grad=True) for s in shapes]
    if name == "multiply_itself":
        leaves[1] = leaves[0]
    roots = lambda: operation(*[leaf * 1.0 for leaf in dict.fromkeys(leaves)] * (2 if name == "multiply_itself" else 1))  # noqa: E731
    weight = pullback.tensor(random.standard_normal(roots().shape).astype(dtype))
    plan = forget(roots())
    expected = gradients(roots(), leaves, gradient=weight)
    for _ in range(ROUNDS):
        found = gradients(roots(), leaves, gradient=weight)
    assert len(plan.repeats.programs) == 1
    rules = {value for key, value in plan.repeats.programs[0].__globals__.items() if re.fullmatch(r"r\d+", key)}
    assert not rules & {call.rule for call in plan.engine_calls()}, "a rule was called and not written out"
    for one, other in zip(found, expected, strict=True):
        assert one.tobytes() == other.tobytes()


def test_hooks_of_leaves_concern_the_graphs_that_lead_to_them(monkeypatch):
    x, y, other = leaf(3), leaf(3, seed=1), leaf(3)
    loss = lambda x, y: (x * y).tanh().sum()  # noqa: E731
    plan = prepared(loss, x, y)
    expected = gradients(loss(x, y), (x, y))
    handle = other.register_hook(lambda gradient: gradient * 2)
    with monkeypatch.context() as patch:
        patch.setattr("pullback.core.passes.walk", None)
        for one, wanted in zip(gradients(loss(x, y), (x, y)), expected, strict=True):
            np.testing.assert_array_equal(one, wanted)
    np.testing.assert_array_equal(gradients(loss(other, y), (other,))[0], 2 * expected[0])
    np.testing.assert_array_equal(pullback.autograd.grad(loss(other, y), (other, y))[0].numpy(), 2 * expected[0])
    seen = []
    x.register_post_accumulate_grad_hook(seen.append)
    gradients(loss(x, y), (x, y))
    assert seen == [x] and plan.repeats.programs
    handle.remove()
    plan.repeats.programs, walked = (), []  # graphs that were never seen are walked, too
    monkeypatch.setattr("pullback.core.passes.walk", lambda *a: walked.append(1) or walk(*a))
    np.testing.assert_array_equal(gradients(loss(other, y), (other,))[0], expected[0])
    assert walked


def test_a_rule_that_gives_no_array_after_all(monkeypatch):
    from pullback.ops import cumulative

    x = leaf(3)
    loss = lambda: (x * 1.0).cumsum(0).exp().sum()  # noqa: E731
    plan = prepared(lambda x: loss(), x)
    program, walked = plan.repeats.programs[0], []
    monkeypatch.setattr("pullback.core.passes.walk", lambda *a: walked.append(1) or walk(*a))
    name = next(name for name, rule in program.__globals__.items() if rule is cumulative.cumsum.real_rules["x"])
    rule = program.__globals__[name]
    monkeypatch.setitem(program.__globals__, name, lambda g, *given: rule(g, *given).view(np.recarray))
    (expected,) = gradients(loss(), (x,))
    assert walked and not plan.repeats.programs
    slopes = np.exp(np.cumsum(x.detach().numpy()))
    np.testing.assert_allclose(expected, np.cumsum(slopes[::-1])[::-1])


def test_other_shapes_are_for_the_next_program(monkeypatch):
    weight, bias = leaf(4, 3), leaf(3, seed=1)
    loss = lambda rows: (leaf(rows, 4, seed=rows).detach() @ weight + bias).tanh().pow(2).mean()  # noqa: E731
    plan = forget(loss(5))
    expected = {rows: gradients(loss(rows), (weight, bias)) for rows in (5, 6, 7, 8)}
    for _ in range(ROUNDS):
        gradients(loss(5), (weight, bias))
    assert len(plan.repeats.programs) == 1 and "(5, 3)" in str(plan.repeats.programs[0].__code__.co_consts)
    for turn in range(4 * ROUNDS):
        gradients(loss(6 + turn % 3), (weight, bias))
    assert len(plan.repeats.programs) == 2 and ", 3)" not in str(plan.repeats.programs[0].__code__.co_consts)
    monkeypatch.setattr("pullback.core.passes.walk", None)
    for rows, wanted in expected.items():
        for one, other in zip(gradients(loss(rows), (weight, bias)), wanted, strict=True):
            np.testing.assert_array_equal(one, other)
