"""What transforms refuse, in torch's words, and what `fallback="loop"` makes of it."""

from __future__ import annotations

import warnings

import pytest

import pullback as P
from pullback.autograd import functional, gradcheck, gradgradcheck

ones = P.ones

REFUSED = [
    (
        RuntimeError,
        "Expected f(*args) to return a scalar Tensor, got tensor with 1 dims",
        lambda: P.func.grad(lambda x: x * 2)(ones(3)),
    ),
    (
        ValueError,
        "Thing passed to transform API must be Tensor, got <class 'float'>",
        lambda: P.func.grad(lambda x: x)(3.0),
    ),
    (
        RuntimeError,
        "only Tensors of floating point dtype can require gradients",
        lambda: P.func.grad(lambda x: x.sum())(P.arange(3)),
    ),
    (
        RuntimeError,
        "Got argnum=1, but only 1 positional inputs",
        lambda: P.func.grad(lambda x: x.sum(), argnums=1)(ones(3)),
    ),
    (
        RuntimeError,
        "backward() called inside a functorch transform",
        lambda: P.func.grad(lambda x: (x.sum().backward(), x.sum())[1])(ones(3)),
    ),
    (
        RuntimeError,
        "cotangents: *, primal output: (*, *)",
        lambda: P.func.vjp(lambda x: (x, x * 2), ones(3))[1](ones(3)),
    ),
    (RuntimeError, "Mismatch in shape: grad_output[0]", lambda: P.func.vjp(lambda x: x * 2, ones(3))[1](ones(2))),
    (RuntimeError, "Expected primals to be a tuple", lambda: P.func.jvp(lambda x: x, ones(3), ones(3))),
    (
        RuntimeError,
        "forward gradient that has a different size",
        lambda: P.func.jvp(lambda x: x, (ones(3),), (ones(2),)),
    ),
    (ValueError, "got sizes [3, 2] for the mapped dimension", lambda: P.vmap(lambda a, b: a + b)(ones(3), ones(2))),
    (RuntimeError, "calling .item() on a Tensor", lambda: P.vmap(lambda a: a.item())(ones(3))),
    (RuntimeError, "data-dependent control flow", lambda: P.vmap(lambda a: a if a > 0 else -a)(ones(3))),
    (RuntimeError, "dynamic shape", lambda: P.vmap(lambda a: a.nonzero())(ones(2, 3))),
    (RuntimeError, "boolean mask", lambda: P.vmap(lambda a: a[a > 0])(ones(2, 3))),
    (RuntimeError, "randomness error mode", lambda: P.vmap(lambda a: a + P.rand(1))(ones(3))),
    (ValueError, "-1 <= in_dim < 1", lambda: P.vmap(lambda a: a, in_dims=2)(ones(3))),
    (ValueError, "must only return Tensors, got type <class 'int'>", lambda: P.vmap(lambda a: 3)(ones(3))),
    (ValueError, "got no inputs", lambda: P.vmap(lambda: ones(3))()),
    (ValueError, "We cannot vmap over non-Tensor arguments", lambda: P.vmap(lambda a: a)(3)),
    (
        ValueError,
        "at least one Tensor to vmap over",
        lambda: P.vmap(lambda a: a, in_dims=None and 0 or (None,))(ones(3)),
    ),
    (
        ValueError,
        "can not return a BatchedTensor when out_dim is None",
        lambda: P.vmap(lambda a: a, out_dims=None)(ones(3)),
    ),
    (ValueError, "in_dims is not compatible", lambda: P.vmap(lambda a: a, in_dims=(0, 0))(ones(3))),
    (
        RuntimeError,
        "`other` being vmapped over but `self` not being vmapped over",
        lambda: P.vmap(lambda a: P.zeros(3).add_(a))(ones(2, 3)),
    ),
    (RuntimeError, "Only allowed values for randomness", lambda: P.vmap(lambda a: a, randomness="some")(ones(3))),
    (
        TypeError,
        "outputs of the user-provided function given to jacobian",
        lambda: functional.jacobian(lambda x: 3.0, ones(3)),
    ),
    (
        RuntimeError,
        "Output 0 of the user-provided function does not require",
        lambda: functional.jacobian(lambda x: ones(2), ones(3), strict=True),
    ),
    (RuntimeError, "should contain a single element", lambda: functional.hessian(lambda x: x * 2, ones(3))),
    (RuntimeError, "The vector v can only be None", lambda: functional.vjp(lambda x: x * 2, ones(3))),
    (
        RuntimeError,
        "v has invalid size: should be torch.Size([3])",
        lambda: functional.vjp(lambda x: x * 2, ones(3), ones(2)),
    ),
    (ValueError, "at least one input tensor to require gradient", lambda: gradcheck(P.sin, ones(3, dtype=P.float64))),
]


@pytest.mark.parametrize("kind, text, program", REFUSED, ids=[text for _, text, _ in REFUSED])
def test_refused(kind, text, program):
    with pytest.raises(kind) as caught:
        program()
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "program, expected",
    [
        (lambda x: x if x.sum() > 0 else -x, [[1.0, 2.0], [3.0, 4.0]]),
        (lambda x: x * x[0].item(), [[1.0, 2.0], [9.0, 12.0]]),
        (lambda x: x[x.abs() > 0], [[1.0, 2.0], [-3.0, -4.0]]),
        (lambda x: P.tensor(x.numpy() * 2), [[2.0, 4.0], [-6.0, -8.0]]),
    ],
)
def test_loop_fallback(program, expected):
    x = P.tensor([[1.0, 2.0], [-3.0, -4.0]])
    with pytest.warns(UserWarning, match="example by example"):
        result = P.vmap(program, fallback="loop")(x)
    assert result.tolist() == expected


def test_randomness():
    P.manual_seed(0)
    different = P.vmap(lambda x: x + P.rand(2), randomness="different")(P.zeros(3))
    same = P.vmap(lambda x: x + P.rand(2), randomness="same")(P.zeros(3))
    assert len(set(different.flatten().tolist())) == 6
    assert same[0].tolist() == same[1].tolist() == same[2].tolist()


def test_operations_without_a_rule_warn_once_and_are_right():
    x = P.tensor([[float(i + j) for j in range(4)] for i in range(20)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = P.vmap(lambda row: P.histc(row, 4, 0, 20))(x)
    assert result.tolist() == [P.histc(row, 4, 0, 20).tolist() for row in x]


def test_gradcheck_accepts_and_rejects():
    x = P.tensor([0.3, 0.7], dtype=P.float64, requires_grad=True)
    z = P.tensor([0.3 + 1j, 0.7 - 2j], dtype=P.complex128, requires_grad=True)
    for fast in (False, True):
        for value in (x, z):
            assert gradcheck(
                lambda v: (v * v).sin(), (value,), fast_mode=fast, check_forward_ad=True, check_batched_grad=True
            )
            assert gradgradcheck(lambda v: (v * v).sin(), (value,), fast_mode=fast)
        assert gradgradcheck(P.exp, (x,), check_fwd_over_rev=True)

    class Wrong(P.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    for fast in (False, True):
        assert not gradcheck(Wrong.apply, (x,), fast_mode=fast, raise_exception=False)
    with pytest.raises(P.autograd.GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(Wrong.apply, (x,))
