"""matrix_sqrth and polar, which torch has from 2.14 on: values by their definitions, gradients by finite differences."""

import numpy as np
import pytest

import pullback as torch
from pullback import linalg

DTYPES = [torch.float64, torch.complex128]


def positive(x):
    return x @ x.mH + torch.eye(x.shape[-1], dtype=x.dtype)


def draw(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("dtype", [*DTYPES, torch.float32], ids=str)
def test_square_root_is_positive_and_squares_to_the_matrix(dtype):
    a = positive(draw(2, 4, 4, dtype=dtype))
    x = linalg.matrix_sqrth(a)
    assert x.dtype == dtype and torch.allclose(x @ x, a, rtol=1e-4) and torch.allclose(x, x.mH)
    assert (linalg.eigvalsh(x) > 0).all()
    upper = a + torch.triu(torch.ones(4, 4, dtype=dtype), 1)
    assert torch.equal(linalg.matrix_sqrth(upper), x)  # the lower triangle is read


@pytest.mark.parametrize("dtype", [*DTYPES, torch.float32], ids=str)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (2, 4, 3), (3, 1)], ids=str)
def test_polar_is_a_rotation_times_a_stretch(shape, dtype):
    a = draw(*shape, dtype=dtype)
    u, h = linalg.polar(a)
    assert torch.allclose(u @ h, a, atol=1e-5) and torch.allclose(h, h.mH, atol=1e-6)
    assert torch.allclose(u.mH @ u, torch.eye(shape[-1], dtype=dtype).expand(*shape[:-2], -1, -1), atol=1e-5)
    assert (linalg.eigvalsh(h) >= 0).all()
    assert type(linalg.polar(a)).__name__ == "linalg_polar"


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name,function", [
    ("matrix_sqrth", lambda x: linalg.matrix_sqrth(positive(x[:3]))),
    ("U", lambda x: linalg.polar(x).U),
    ("H", lambda x: linalg.polar(x).H),
    ("both", lambda x: linalg.polar(x)),
    ("square", lambda x: linalg.polar(x[:3])),
], ids=lambda part: part if isinstance(part, str) else "")  # fmt: skip
def test_derivatives(name, function, dtype):
    x = draw(4, 3, dtype=dtype).requires_grad_()
    assert torch.autograd.gradcheck(function, (x,))
    assert torch.autograd.gradgradcheck(function, (x,))


def test_derivatives_exist_where_eigenvalues_are_equal():
    """A way by eigenvectors would divide by zero."""
    a = (4 * torch.eye(3, dtype=torch.float64)).requires_grad_()
    (g,) = torch.autograd.grad(linalg.matrix_sqrth(a).sum(), a, create_graph=True)
    assert torch.allclose(g, torch.full((3, 3), 0.25, dtype=torch.float64))  # X S + S X = 1 with X = 2
    assert torch.autograd.grad((g**2).sum(), a)[0].isfinite().all()
    (g,) = torch.autograd.grad(linalg.polar(a)[0].sum(), a)
    assert torch.allclose(g, torch.zeros(3, 3, dtype=torch.float64))  # ones are symmetric, a turn of them is not


def test_vmap_and_wrong_shapes():
    a = positive(draw(5, 3, 3))
    assert np.allclose(torch.vmap(linalg.matrix_sqrth)(a), linalg.matrix_sqrth(a))
    assert torch.func.jacrev(lambda x: linalg.polar(x).U)(draw(3, 2)).shape == (3, 2, 3, 2)
    with pytest.raises(RuntimeError, match="at least as many rows as columns"):
        linalg.polar(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="square"):
        linalg.matrix_sqrth(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="linalg.polar"):
        linalg.polar(torch.ones(3))
