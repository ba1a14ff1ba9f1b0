"""`safe_gradients`: a branch not taken leaks no NaN, to any order, and everything else stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as torch
from pullback.autograd import is_safe_gradients_enabled, safe_gradients, set_safe_gradients
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vmap

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
F = torch.nn.functional
ROWS = torch.tensor([True, False, True])


def numbers(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(5).uniform(0.1, 0.9, shape))


WEIGHT = numbers(4, 4)

# A function of x (3, 4), and a value at which its middle row has derivatives that are not finite.
ROW_FUNCTIONS = {
    "log": (torch.log, 0.0),
    "sqrt": (torch.sqrt, 0.0),
    "power": (lambda x: x**0.3, 0.0),
    "reciprocal": (lambda x: 1 / x, 0.0),
    "quotient": (lambda x: x / x, 0.0),
    "acos": (torch.acos, 1.0),
    "atan2": (lambda x: torch.atan2(x, x), 0.0),
    "xlogy": (lambda x: torch.xlogy(x, x), 0.0),
    "exp": (lambda x: torch.exp(torch.exp(x)), 1000.0),
    "std": (lambda x: x.std(1), 0.0),
    "norm": (lambda x: torch.linalg.vector_norm(x, 0.5, dim=1), 0.0),
    "logsumexp": (lambda x: x.logsumexp(1), -torch.inf),
    "prod": (lambda x: x.prod(1), torch.nan),
    "cumprod": (lambda x: x.cumprod(1), torch.nan),
    "softmax": (lambda x: x.softmax(1), -torch.inf),
    "log_softmax": (lambda x: x.log_softmax(1), -torch.inf),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([0, 1, 2]), reduction="none"), torch.nan),
    "layer_norm": (lambda x: F.layer_norm(x, (4,)), torch.nan),
    "matmul": (lambda x: x @ WEIGHT, torch.nan),
    "linear": (lambda x: F.linear(x, WEIGHT), torch.inf),
    "einsum": (lambda x: torch.einsum("ij,jk,ik->i", x, WEIGHT, x), torch.inf),
    "convolution": (lambda x: F.conv1d(x[:, None], WEIGHT[:, None, :2]), torch.nan),
    "attention": (lambda x: F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None]), torch.nan),
    "gelu": (F.gelu, torch.inf),
    "nan_to_num": (lambda x: torch.nan_to_num(torch.log(x) / x), 0.0),
}  # fmt: skip


def masked_total(function: object, x: torch.Tensor) -> torch.Tensor:
    rows = function(x)  # type: ignore[operator]
    kept = torch.where(ROWS.reshape(3, *(1,) * (rows.ndim - 1)), rows, 0.0)
    return (kept * torch.arange(1.0, kept.numel() + 1).reshape(kept.shape)).sum()


@pytest.mark.parametrize("name", ROW_FUNCTIONS)
@pytest.mark.parametrize("order", [1, 2])
def test_rows_not_taken(name: str, order: int) -> None:
    """The gradient is that of the rows taken, with zeros for the row that is not."""
    function, bad = ROW_FUNCTIONS[name]

    def derivative(x: torch.Tensor) -> np.ndarray:
        x = x.clone().requires_grad_()
        result = masked_total(function, x)
        for _ in range(order):
            (result,) = torch.autograd.grad((result * torch.cos(result)).sum(), x, create_graph=True)
        return result.detach().numpy()

    x = numbers(3, 4)
    expected = derivative(x)
    expected[1] = 0
    x[1] = bad
    with safe_gradients():
        found = derivative(x)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12)


def branch(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, torch.log(x), x * 0).sum()


AT = torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64)


def test_off_by_default() -> None:
    assert torch.isnan(grad(branch)(AT)[1])
    with safe_gradients():
        assert is_safe_gradients_enabled()
        with safe_gradients(False):
            assert torch.isnan(grad(branch)(AT)[1])
        assert not torch.isnan(grad(branch)(AT)).any()
    assert not is_safe_gradients_enabled()


def test_transforms_and_orders() -> None:
    expected = np.diag([0, 0, -0.25])
    with safe_gradients():
        for hessian_of in (hessian(branch), jacrev(jacrev(branch)), jacfwd(grad(branch)), jacrev(jacfwd(branch))):
            np.testing.assert_allclose(hessian_of(AT).numpy(), expected)
        third = grad(lambda x: grad(lambda y: grad(branch)(y).sum())(x).sum())(AT)
        np.testing.assert_allclose(third.numpy(), [0, 0, 0.25])
        both = vmap(grad(branch))(torch.stack([AT, AT + 1]))
        np.testing.assert_allclose(both.numpy(), [[0, 0, 0.5], [0, 1, 1 / 3]])
        rows = torch.stack([numbers(3, 4), numbers(3, 4)])
        rows[:, 1] = torch.nan
        found = vmap(grad(lambda x: masked_total(lambda y: y @ WEIGHT, x)))(rows)
        assert torch.isfinite(found).all() and found[:, 0].abs().min() > 0


def test_zero_tangents() -> None:
    def root(x: torch.Tensor) -> torch.Tensor:
        return torch.sqrt(x)

    direction = torch.tensor([0.0, 1.0])
    assert torch.isnan(jvp(root, (torch.zeros(2),), (direction,))[1][0])
    with safe_gradients():
        assert jvp(root, (torch.zeros(2),), (direction,))[1].tolist() == [0.0, torch.inf]


def test_nothing_else_changes() -> None:
    """Finite derivatives at zero cotangents, real infinities, and values are what they were."""
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    weight = torch.tensor([2.0, 3.0], dtype=torch.float64)
    with safe_gradients():
        (first,) = torch.autograd.grad((0.5 * (x * weight) ** 2).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        assert first.tolist() == [0, 0] and second.tolist() == [4, 9]
        (slope,) = torch.autograd.grad(torch.sqrt(x).sum(), x)
        assert slope.tolist() == [torch.inf] * 2
        assert torch.isnan(torch.zeros(1) * torch.inf) and torch.isnan(torch.zeros(1) / 0)
        spoiled = torch.tensor([[torch.inf, 1.0]], requires_grad=True)
        (at_infinity,) = torch.autograd.grad((spoiled * spoiled).sum(), spoiled)
        assert at_infinity.tolist() == [[torch.inf, 2.0]]
        (lost,) = torch.autograd.grad((x[None] @ torch.tensor([[torch.nan], [1.0]], dtype=torch.float64)).sum(), x)
        assert torch.isnan(lost[0]) and lost[1] == 1


def test_masked_reductions() -> None:
    mask = torch.tensor([[True, True, False]])
    for reduction in (torch.masked.sum, torch.masked.mean, torch.masked.std, torch.masked.softmax, torch.masked.norm):
        x = torch.tensor([[4.0, 9.0, 0.0]], requires_grad=True)
        arguments = {"norm": (2.0, 1), "softmax": (1,)}.get(reduction.__name__, (1,))
        with safe_gradients():
            reduction(torch.sqrt(x), *arguments, mask=mask).square().sum().backward()
        assert torch.isfinite(x.grad).all() and x.grad[0, 2] == 0, reduction.__name__
        assert x.grad[0, :2].abs().sum() > 0, reduction.__name__


def test_custom_functions_and_hooks() -> None:
    class Log(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(x)
            return x.log()

        @staticmethod
        def backward(ctx, g):  # type: ignore[no-untyped-def]
            return g / ctx.saved_tensors[0]

    seen = []
    x = AT.clone().requires_grad_()
    with safe_gradients():
        y = Log.apply(x)
        y.register_hook(lambda g: seen.append(type(g)))
        torch.where(x > 0, y, 0.0).sum().backward()
    assert x.grad.tolist() == [0, 0, 0.5] and seen == [torch.Tensor]


def test_ways_to_switch() -> None:
    @safe_gradients
    def slope() -> torch.Tensor:
        return grad(branch)(AT)

    @safe_gradients()
    def again() -> torch.Tensor:
        return grad(branch)(AT)

    assert not torch.isnan(slope()).any() and not torch.isnan(again()).any()
    assert torch.safe_gradients is safe_gradients
    switch = set_safe_gradients(True)
    try:
        assert is_safe_gradients_enabled() and not torch.isnan(grad(branch)(AT)).any()
    finally:
        switch.__exit__(None, None, None)
    assert not is_safe_gradients_enabled()
    with set_safe_gradients(True):
        assert is_safe_gradients_enabled()
    assert not is_safe_gradients_enabled()
