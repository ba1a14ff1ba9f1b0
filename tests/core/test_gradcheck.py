"""`gradcheck`: what it finds wrong, in both modes, and the words it uses."""

from __future__ import annotations

import pytest

import pullback as torch
from pullback.autograd import forward_ad

BOTH_MODES = pytest.mark.parametrize("fast", [False, True])


def leaf(*shape, dtype=torch.float64):
    return torch.ones(*shape, dtype=dtype).requires_grad_()


class Unsteady(torch.autograd.Function):
    """The identity; its gradient is a little different each time."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * (1 + 1e-8 * torch.rand_like(grad))


class Tilted(torch.autograd.Function):
    """The identity, with wrong derivatives in both modes."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad + 0.5 * grad.conj()

    @staticmethod
    def jvp(ctx, tangent):
        return 1.5 * tangent


@BOTH_MODES
def test_a_gradient_that_varies_is_refused_unless_it_is_allowed(fast):
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        torch.autograd.gradcheck(Unsteady.apply, leaf(3), fast_mode=fast)
    assert torch.autograd.gradcheck(Unsteady.apply, leaf(3), fast_mode=fast, nondet_tol=1e-6)


@BOTH_MODES
def test_outputs_must_keep_shape_and_dtype_near_the_inputs(fast):
    def twice(x):
        return torch.cat([x, x]) if bool((x >= 1).all()) else x

    def narrow(x):
        return x.float() if bool((x >= 1).all()) else x

    for function, fact in [(twice, "shape"), (narrow, "dtype")]:
        x = leaf(1)
        with pytest.raises(AssertionError, match=f"outputs with the same {fact} when inputs are perturbed"):
            torch.autograd.gradcheck(function, x, fast_mode=fast)
        assert x.item() == 1.0  # moved back


def test_the_imaginary_part_of_a_complex_output_is_considered_first():
    with pytest.raises(RuntimeError, match="imaginary part of complex outputs only"):
        torch.autograd.gradcheck(Tilted.apply, leaf(2, dtype=torch.complex128))


def test_forward_mode_is_checked_with_tangents_for_all_inputs_one_pass_for_an_element():
    seen = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x.clone(), y.clone()

        @staticmethod
        def jvp(ctx, x, y):
            seen.append((x, y))
            return x, y

    def count(*inputs, **options):
        seen.clear()
        assert torch.autograd.gradcheck(
            Watched.apply, inputs, check_forward_ad=True, check_backward_ad=False, **options
        )
        return len(seen)

    assert count(leaf(1), leaf(1), check_undefined_grad=False) == 2
    assert [(float(x), float(y)) for x, y in seen] == [(1.0, 0.0), (0.0, 1.0)]
    assert count(leaf(1), leaf(1)) == 6
    assert count(leaf(1), leaf(1), check_batched_forward_grad=True) == 12
    assert count(leaf(1), torch.ones(1, dtype=torch.float64), check_batched_forward_grad=True) == 5


@BOTH_MODES
def test_forward_mode_that_is_wrong_is_found(fast):
    with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch for output 0"):
        torch.autograd.gradcheck(Tilted.apply, leaf(2), check_forward_ad=True, check_backward_ad=False, fast_mode=fast)
    with pytest.raises(RuntimeError, match="output 0 with respect to input 1"):
        torch.autograd.gradcheck(_wrong_inside_a_level, (leaf(2), leaf(2)), check_forward_ad=True, fast_mode=fast)


def _wrong_inside_a_level(x, y):
    if forward_ad._current_level >= 0:
        value, tangent = forward_ad.unpack_dual(y)
        y = forward_ad.make_dual(value, 2 * tangent)
    return x + y, y


def test_the_former_functions_for_jacobians():
    module = pytest.importorskip("pullback.autograd.gradcheck")
    a, b = leaf(2, 2), leaf(2, 2)
    eye = torch.eye(4, dtype=torch.float64)
    with pytest.warns(FutureWarning, match="get_numerical_jacobian"):
        by_a, by_b = module.get_numerical_jacobian(lambda given: (2 * given[0] + given[1], given[0]), (a, b), eps=1e-6)
    assert torch.allclose(by_a, 2 * eye) and torch.allclose(by_b, eye)
    with pytest.warns(FutureWarning, match="get_analytical_jacobian"):
        (by_a,), same, sizes, dtypes = module.get_analytical_jacobian((a,), 3 * a)
    assert torch.equal(by_a, 3 * eye) and same and sizes and dtypes
    with pytest.warns(FutureWarning):
        assert not module.get_analytical_jacobian((a,), Unsteady.apply(a))[1]
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="Expected grad_out to be 1.0"):
        module.get_analytical_jacobian((a,), 3 * a, grad_out=2.0)


def test_a_strict_hessian_says_that_the_gradient_does_not_depend_on_the_input():
    functional = torch.autograd.functional
    x = torch.ones(4)
    for function in (lambda a: (3 * a).sum(), lambda a: a.long().float().requires_grad_().clone().sum()):
        with pytest.raises(RuntimeError, match="jacobian of the user-provided function with respect to input 0 is"):
            functional.hessian(function, x, strict=True)
        assert not functional.hessian(function, x).any()
    with pytest.raises(RuntimeError, match="not supported together"):
        functional.hessian(lambda a: (a**3).sum(), x, strict=True, vectorize=True)


@BOTH_MODES
def test_sparse_inputs_are_checked_in_the_elements_they_have(fast):
    dense = torch.arange(4, dtype=torch.float64).reshape(2, 2).requires_grad_()
    sparse = torch.tensor([[2.0, 0.0], [0.0, 3.0]], dtype=torch.float64).to_sparse().requires_grad_()
    assert torch.autograd.gradcheck(lambda x, y: x * y.to_dense(), (dense, sparse), masked=True, fast_mode=fast)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 1"):
        torch.autograd.gradcheck(
            lambda x, y: x * Tilted.apply(y.to_dense()), (dense, sparse), masked=True, fast_mode=fast
        )


@pytest.mark.parametrize("number", [0.0, 3.0])
def test_a_sparse_tensor_without_dims(number):
    sparse = torch.tensor(number).to_sparse()
    assert sparse._indices().shape == (0, int(number != 0)) and sparse.to_dense().item() == number


def test_transposes_of_sparse_tensors():
    matrix = torch.tensor([[1 + 2j, 0], [3j, 0]]).to_sparse()
    assert torch.equal(matrix.adjoint(), matrix.to_dense().adjoint())
    stack = torch.arange(6.0).reshape(1, 2, 3).to_sparse()
    assert torch.equal(stack.adjoint().to_dense(), stack.to_dense().adjoint())
    assert torch.equal(stack.transpose(0, 2).to_dense(), stack.to_dense().transpose(0, 2))
    vector = torch.ones(3).to_sparse()
    assert vector.t() is vector and torch.tensor(2.0).to_sparse().t().to_dense().item() == 2.0


def test_an_empty_input_overlaps_with_nothing():
    x = torch.testing.make_tensor((0, 5), dtype=torch.float64, device="cpu", requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: x * 2, (x,))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_weights_of_gradgradcheck_are_drawn_as_in_torch(dtype: str) -> None:
    oracle = pytest.importorskip("torch")
    following = []
    for lib in (torch, oracle):
        x = lib.ones(2, 3, dtype=getattr(lib, dtype), requires_grad=True)
        lib.manual_seed(0)
        assert lib.autograd.gradgradcheck(lambda v: (v * 2, v.sum()), x, atol=1, eps=1e-2)
        following.append(lib.rand(3).tolist())
    assert following[0] == following[1]
