"""Dual numbers: `forward_ad`, writes in place, custom functions; agreement of both modes."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
from pullback.autograd import forward_ad

torch = pytest.importorskip("torch")
from torch.autograd import forward_ad as torch_forward_ad  # noqa: E402

RNG = np.random.default_rng(1)


def _pair(M, fw, program, shape):
    rng = np.random.default_rng(2)
    with fw.dual_level():
        x = fw.make_dual(M.tensor(rng.standard_normal(shape)), M.tensor(rng.standard_normal(shape)))
        out = fw.unpack_dual(program(M, x))
        return out.primal, out.tangent


PROGRAMS = {
    "arithmetic": (lambda M, x: (x.sin() * x + x.exp() / (1 + x**2)).sqrt().abs(), (4,)),
    "products": (lambda M, x: (x @ x.T).softmax(1).log().sum(0), (3, 2)),
    "kinks": (lambda M, x: M.where(x > 0, x.relu() * 2, x.clamp(-1, 0.5)), (5,)),
    "views": (lambda M, x: x[1:, ::2].reshape(-1).flip(0).unsqueeze(0).expand(2, -1), (4, 5)),
    "in place": (lambda M, x: _writes(M, x), (4,)),
    "write through a view": (lambda M, x: _view_write(M, x), (4,)),
    "detach": (lambda M, x: x * x.detach(), (3,)),
    "broadcast": (lambda M, x: x + M.ones(4, 1, dtype=M.float64), (3,)),
    "several outputs": (lambda M, x: x.sort(0)[0] * 2 + x.max(0)[0], (5,)),
    "linear algebra": (lambda M, x: M.linalg.inv(x @ x.T + M.eye(3, dtype=M.float64)).diagonal(), (3, 3)),
}


def _writes(M, x):
    y = x.clone()
    y.mul_(3)
    y[0] = 5
    y += x
    return y


def _view_write(M, x):
    y = x.clone()
    v = y[1:3]
    v.mul_(x[0])
    return y.exp()


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    program, shape = PROGRAMS[name]
    ours = _pair(pullback, forward_ad, program, shape)
    theirs = _pair(torch, torch_forward_ad, program, shape)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-10, atol=1e-12)


def test_no_grad_keeps_tangents():
    with forward_ad.dual_level(), pullback.no_grad():
        x = forward_ad.make_dual(pullback.ones(2), pullback.tensor([1.0, 2.0]))
        assert forward_ad.unpack_dual(x * x).tangent.tolist() == [2.0, 4.0]


def test_tangents_end_with_their_level():
    with forward_ad.dual_level():
        y = forward_ad.make_dual(pullback.ones(2), pullback.ones(2)) * 2
    assert forward_ad.unpack_dual(y).tangent is None


def test_reverse_over_forward_and_forward_over_reverse():
    with forward_ad.dual_level():
        x = pullback.tensor([1.0, 2.0], requires_grad=True)
        d = forward_ad.make_dual(x, pullback.ones(2))
        tangent = forward_ad.unpack_dual((d**3).sum()).tangent
        assert pullback.autograd.grad(tangent, x)[0].tolist() == [6.0, 12.0]
        (gradient,) = pullback.autograd.grad((d**3).sum(), x, create_graph=True)
        assert forward_ad.unpack_dual(gradient).tangent.tolist() == [6.0, 12.0]


def test_nested_levels_when_asked_for():
    with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
        with forward_ad.dual_level():
            with forward_ad.dual_level():
                pass
    with forward_ad.dual_level():
        outer = forward_ad.make_dual(pullback.tensor(2.0), pullback.tensor(1.0))
        with forward_ad.dual_level(nested=True):
            inner = forward_ad.make_dual(outer, pullback.tensor(1.0))
            first = forward_ad.unpack_dual(inner**3).tangent
        assert forward_ad.unpack_dual(first).tangent.item() == 12.0


class Cube(pullback.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * t


class CubeByRule(Cube):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        assert info.batch_size == 3 and in_dims == (0,)
        return x**3, 0


@pytest.mark.parametrize("function", [Cube, CubeByRule])
def test_custom_function_under_transforms(function):
    x = pullback.tensor([1.0, 2.0, 3.0])
    assert pullback.func.jvp(function.apply, (x,), (pullback.ones(3),))[1].tolist() == [3.0, 12.0, 27.0]
    assert pullback.vmap(function.apply)(x).tolist() == [1.0, 8.0, 27.0]
    assert pullback.vmap(pullback.func.grad(function.apply))(x).tolist() == [3.0, 12.0, 27.0]
    assert pullback.func.grad(pullback.func.grad(function.apply))(pullback.tensor(2.0)).item() == 12.0


@pytest.mark.parametrize("name", ["tanh", "softmax", "matmul", "logsumexp", "cumprod", "std", "sort", "norm", "amax"])
def test_jacobians_of_both_modes_agree(name):
    x = pullback.tensor(RNG.standard_normal((3, 4)))
    f = {
        "tanh": lambda x: x.tanh(), "softmax": lambda x: x.softmax(1), "matmul": lambda x: x @ x.T,
        "logsumexp": lambda x: x.logsumexp(0),
        "cumprod": lambda x: x.cumprod(0), "std": lambda x: x.std(1), "sort": lambda x: x.sort(0)[0],
        "norm": lambda x: x.norm(dim=1),
        "amax": lambda x: x.amax(1),
    }[name]  # fmt: skip
    np.testing.assert_allclose(pullback.func.jacrev(f)(x).numpy(), pullback.func.jacfwd(f)(x).numpy(), atol=1e-12)


@pytest.mark.parametrize("write", ["copy_", "part", "add_"])
def test_a_captured_tensor_keeps_no_tangent_of_a_level_that_is_over(write):
    x, captured = pullback.ones(3), pullback.zeros(3)

    def function(x):
        if write == "part":
            captured[1:] = x[1:]
        else:
            getattr(captured, write)(x)
        return (captured * x).sum()

    pullback.func.jvp(function, (x,), (x,))
    value, tangent = pullback.func.jvp(lambda x: (captured * x).sum(), (x,), (x,))
    np.testing.assert_allclose(tangent.item(), captured.sum().item())


@pytest.mark.parametrize("primal, tangent", [("float64", "float32"), ("float32", "float64"), ("complex64", "float32")])
def test_a_tangent_of_another_dtype(primal, tangent):
    answers = []
    for M, fw in ((pullback, forward_ad), (torch, torch_forward_ad)):
        with fw.dual_level():
            x = fw.make_dual(
                M.tensor([1.0, 2.0], dtype=getattr(M, primal)), M.tensor([3.0, 4.0], dtype=getattr(M, tangent))
            )
            found = fw.unpack_dual(x).tangent, fw.unpack_dual(x * x.sin()).tangent
        answers.append((str(found[0].dtype), found[1].numpy()))
    assert answers[0][0] == answers[1][0]
    np.testing.assert_allclose(answers[0][1], answers[1][1], rtol=1e-6)


LAYOUTS = {
    "the same": lambda t: (t.arange(6.0).view(3, 2), t.ones(3, 2)),
    "transposed value": lambda t: (t.arange(6.0).view(2, 3).t(), t.arange(6.0).view(3, 2)),
    "transposed tangent": lambda t: (t.arange(6.0).view(3, 2), t.arange(6.0).view(2, 3).t()),
    "expanded tangent": lambda t: (t.arange(6.0).view(3, 2), t.tensor(1.0).expand(3, 2)),
    "part of more": lambda t: (t.arange(9.0)[1:7].view(3, 2), t.ones(3, 2)),
    "an axis of one": lambda t: (t.arange(3.0).view(3, 1), t.ones(1, 3).t()),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tangents_lie_in_memory_like_their_values(layout):
    """A tangent laid out differently is copied: writes to the dual find places for it, and leave what was given alone."""
    answers = []
    for t in (torch, pullback):
        forward = t.autograd.forward_ad
        value, tangent = LAYOUTS[layout](t)
        with forward.dual_level():
            dual = forward.make_dual(value, tangent)
            inside = forward.unpack_dual(dual).tangent
            facts = (inside is tangent, value.shape[1] == 1 or inside.stride() == value.stride())
            dual.as_strided((2,), (2,), value.storage_offset()).mul_(3)
            dual[0].add_(dual[1])
            answers.append((facts, forward.unpack_dual(dual).tangent.tolist(), tangent.tolist()))
    assert answers[0] == answers[1]
