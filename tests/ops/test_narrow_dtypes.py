"""Narrow dtypes: numbers that do not fit, integers that wrap, and half precision that stays half precision."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
from pullback.core.basics.dtypes import NAMED_ONLY

torch = pytest.importorskip("torch")

# `t` is the library, `u` makes a uint8 tensor, `b` a bfloat16 one.
NUMBERS = """
t.full((2,), -9, dtype=t.uint8)
t.full((2,), 300, dtype=t.uint8)
t.full((2,), 2.7, dtype=t.uint8)
t.full((2,), -2.7, dtype=t.uint8)
t.full((2,), 2**40, dtype=t.int32)
t.full((2,), float("nan"), dtype=t.int32)
t.full((2,), -3, dtype=t.bool)
t.full((2,), 1e39)
t.full((2,), float("inf"))
t.full((2,), 1e6, dtype=t.float16)
t.tensor([1 + 2**-11 + 2**-40, 2**-25 * (1 + 2**-30)], dtype=t.float64).half()
t.zeros(1, dtype=t.float16).copy_(t.tensor([1 + 2**-11 + 2**-40], dtype=t.float64))
t.full_like(u(1), -255)
t.full_like(u(1), -256)
u(1).new_full((1,), -1)
u(1).fill_(-3)
u(1).fill_(300)
t.ones(2).fill_(1e39)
t.tensor([300], dtype=t.uint8)
t.tensor([-1], dtype=t.uint8)
t.tensor(2**63)
t.tensor(2**63, dtype=t.uint64)
u(1, 9) + (-3)
u(1, 9) * 300
u(255) & 300
u(255) & -1
u(1) | -1
t.add(u(10, 2), u(1, 2), alpha=-3)
t.sub(u(10, 2), u(1, 2), alpha=-3)
t.rsub(u(10, 2), u(1, 2), alpha=-3)
t.add(u(10, 2), u(1, 2), alpha=300)
t.addcmul(u(1, 2), u(1, 2), u(1, 2), value=-1)
u(5, 255).clamp(-3, 300)
u(5, 255).clamp(max=7)
u(5, 255).masked_fill(t.tensor([True, False]), -1)
u(5, 255).masked_fill(t.tensor([True, False]), 300)
u(1, 2).index_fill(0, t.tensor([0]), -1)
u(1, 2).index_fill(0, t.tensor([0]), 256)
u(1, 2).scatter(0, t.tensor([0]), -1)
u(1, 2).index_add(0, t.tensor([0]), u(1), alpha=-1)
u(1, 2).__setitem__(0, 300)
t.tensor([100, 100], dtype=t.int8).sum(dtype=t.int8)
t.tensor([100, 3], dtype=t.int8).prod(dtype=t.int8)
t.tensordot(t.ones(1, 3, dtype=t.int8), t.ones(2, 1, dtype=t.int8), dims=([0, 1], [1, 0]))
t.unravel_index(u(3), (2, 2))
t.arange(0, 5, 1.5, dtype=t.int64)
t.arange(0, 5, 1.5, dtype=t.int32)
t.arange(0.5, 5, 1.5, dtype=t.int16)
t.arange(0, 3.7, 0.5, dtype=t.int64)
t.arange(0, float("inf"))
t.arange(0, 3, dtype=t.bool)
t.linspace(4.3, -3, 9, dtype=t.int8)
t.logspace(0.3, 1.2, 4, dtype=t.int64)
t.searchsorted(t.empty(0, 3), t.empty(0, 2))
t.cat([])
t.gather(t.ones(2, 2), 1, t.zeros(2, 2, dtype=t.int64), out=t.empty(2, 2, dtype=t.float64))
t.multinomial(t.ones(1, 2), 2, out=t.empty(1, 2))
t.abs(t.ones(2), out=t.empty(2, dtype=t.float64))
t.add(t.ones(2), 1, out=t.empty(2, dtype=t.float64))
""".strip().splitlines()

BFLOAT16 = """
t.add(b(1, 2), b(3, 4), alpha=-3.125)
t.sub(b(1, 2), b(3, 4), alpha=0.3)
t.addr(b(1, 2).outer(b(1, 2)), b(1, 2), b(3, 4), beta=0.6, alpha=0.2)
t.round(b(1.234, 5.678), decimals=1)
b(1, 2) ** 0.75
t.sign(b(float("nan"), 2))
t.zeros(1, dtype=t.bfloat16).scatter_add(0, t.zeros(3000, dtype=t.int64), t.ones(3000, dtype=t.bfloat16))
b(-1, 2).clamp(-0.5, 0.5)
b(-1, 2).clamp_min(0.25)
t.nn.functional.leaky_relu(b(-1, 2))
t.nn.functional.leaky_relu(b(-1, 2), 1.5)
t.nn.functional.relu6(b(-1, 7))
t.nn.functional.hardtanh(b(-1, 2), -0.5, 0.5)
t.nn.functional.softshrink(b(-1, 2), 0.3)
t.nn.functional.smooth_l1_loss(b(-1, 2), b(3, 2.5))
t.nn.functional.huber_loss(b(-1, 2), b(3, 2.5), reduction="none")
t.nn.functional.gaussian_nll_loss(b(-1, 2), b(3, 2.5), b(1, 2))
t.nn.functional.cosine_similarity(b(-1, 2), b(3, 2.5), dim=0)
t.nn.functional.local_response_norm(b(1, 2, 3, 4).reshape(1, 2, 2), 2)
t.softmax(b(1, 2, 3), 0)
t.log_softmax(b(1, 2, 3), 0)
""".strip().splitlines()


def answer(t: object, expression: str) -> tuple:
    """Dtype and numbers of what an expression gives, or the class of its exception."""
    names = {
        "t": t, "u": lambda *values: t.tensor(values, dtype=t.uint8), "b": lambda *values: t.tensor(values).to(t.bfloat16)
    }  # fmt: skip
    try:
        result = eval(expression, names)
    except (RuntimeError, ValueError, TypeError, NotImplementedError, OverflowError) as error:
        return (type(error).__name__,)
    results = result if isinstance(result, tuple) else (result,)
    return tuple((str(part.dtype), part.double().tolist()) for part in results)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", NUMBERS)
def test_numbers_that_do_not_fit(expression: str) -> None:
    np.testing.assert_equal(answer(pullback, expression), answer(torch, expression))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", BFLOAT16)
def test_bfloat16_stays(expression: str) -> None:
    pytest.importorskip("ml_dtypes")
    ((kind, values),), ((_, expected),) = answer(pullback, expression), answer(torch, expression)
    assert kind == "torch.bfloat16"
    np.testing.assert_allclose(values, expected, rtol=2**-7)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_half_precision_softmax_backward(name: str) -> None:
    """Sums over few elements are in float32 too."""
    pytest.importorskip("ml_dtypes")
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((2, 3, 40)).astype(np.float32)
    for kind in ("float16", "bfloat16"):
        gradients = []
        for t in (torch, pullback):
            leaf = t.tensor(x).to(getattr(t, kind)).requires_grad_()
            getattr(t, name)(leaf, 1).backward(t.tensor(weight).to(getattr(t, kind)))
            assert str(leaf.grad.dtype) == f"torch.{kind}"
            gradients.append(leaf.grad.double().numpy())
        np.testing.assert_allclose(*gradients, rtol=2**-6, atol=2**-7)


SUMS = """
(t.ones(3000, 1, dtype=kind) + x).sum()
t.nn.functional.conv1d(t.ones(40, 1, 90, dtype=kind), t.ones(1, 1, 3, dtype=kind), x).sum()
t.nn.functional.conv_transpose1d(t.ones(40, 1, 90, dtype=kind), t.ones(1, 1, 3, dtype=kind), x).sum()
t.nn.functional.linear(t.ones(3000, 1, dtype=kind), t.ones(1, 1, dtype=kind), x).sum()
t.gather(x, 0, t.zeros(3000, dtype=t.int64)).sum()
x.expand(3000).sum()
x.repeat(3000).sum()
(x * t.ones(3000, dtype=kind)).sum()
""".strip().splitlines()


@pytest.mark.parametrize("expression", SUMS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_that_are_long_sums(expression: str, dtype: str) -> None:
    """Thousands of ones are not 256, which is where bfloat16 stops counting."""
    pytest.importorskip("ml_dtypes")
    gradients = []
    for t in (torch, pullback):
        kind = getattr(t, dtype)
        x = t.zeros(1, dtype=kind, requires_grad=True)
        eval(expression, {"t": t, "x": x, "kind": kind}).backward()
        gradients.append(x.grad.item())
    assert gradients[0] == gradients[1] > 2048


DTYPE_NAMES = (
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 "
    "float8_e4m3fn float8_e5m2"
).split()


@pytest.mark.parametrize("first", DTYPE_NAMES)
def test_promotion_table(first):
    """Every pair of dtypes: the same common dtype, or the same complaint."""

    def common(lib, second):
        try:
            return str(lib.promote_types(getattr(lib, first), getattr(lib, second)))
        except RuntimeError as error:
            return str(error)

    for second in DTYPE_NAMES:
        assert common(pullback, second).startswith(common(torch, second)), (first, second)


@pytest.mark.parametrize("name", NAMED_ONLY)
def test_dtypes_that_no_tensor_has_can_be_mentioned(name):
    ours, theirs = getattr(pullback, name), getattr(torch, name)
    facts = ["is_floating_point", "is_complex", "itemsize", *([] if "int" in name else ["is_signed"])]
    assert [getattr(ours, fact) for fact in facts] == [getattr(theirs, fact) for fact in facts]
    assert str(ours) == str(theirs) and ours is getattr(pullback, name) and ours != pullback.float32
    with pytest.raises(RuntimeError, match=f"no tensors of dtype torch.{name}"):
        pullback.zeros(2, dtype=ours)
