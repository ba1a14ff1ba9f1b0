"""Linear algebra and Fourier transforms against torch: values, dtypes, gradients and second derivatives.

One table; a row is a function of (namespace, arrays) and the shapes to draw. Functions whose result is defined up to a
phase are composed with something that is not.
"""

from __future__ import annotations

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore")


def spd(T, x):
    """A positive-definite matrix from any."""
    return x @ x.mH + 3 * T.eye(x.shape[-1], dtype=x.dtype)


def first_projection(vectors):
    """What does not depend on the signs of eigenvectors."""
    return vectors[..., :1] @ vectors[..., :1].mH


def shifted(T, x):
    """A well-conditioned matrix from any."""
    return x + 4 * T.eye(x.shape[-2], x.shape[-1], dtype=x.dtype)


def symmetric(x):
    return x + x.mH


def spread(T, x):
    """A matrix with well-separated eigenvalues."""
    size = x.shape[-1]
    return 0.3 * x + T.diag(T.arange(1, size + 1, dtype=T.float64)).to(x.dtype)


def distances(T, a, b, p):
    """`cdist`; torch's has no second derivative, so it is spelled out there."""
    if T is pullback:
        return T.cdist(a, b, p)
    return T.linalg.vector_norm(a.unsqueeze(-2) - b.unsqueeze(-3), p, -1)


def layer(T, *operands):
    """What nn.Linear computes."""
    if T is pullback:
        from pullback.functional.matmul import linear

        return linear(*operands)
    return T.nn.functional.linear(*operands)


# name, function, shapes of the inputs, dtypes ("dz" is float64 and complex128)
ROWS = [
    ("matmul", lambda T, a, b: a @ b, [(2, 3), (3, 4)], "dz"),
    ("matmul batch", lambda T, a, b: T.matmul(a, b), [(5, 1, 2, 3), (4, 3, 2)], "dz"),
    ("matmul 3d by 2d", lambda T, a, b: a @ b, [(5, 2, 3), (3, 4)], "dz"),
    ("matmul 2d by 3d", lambda T, a, b: a @ b, [(2, 3), (5, 3, 4)], "dz"),
    ("matmul vector left", lambda T, a, b: a @ b, [(3,), (5, 3, 4)], "dz"),
    ("matmul vector right", lambda T, a, b: a @ b, [(5, 4, 3), (3,)], "dz"),
    ("matmul dot", lambda T, a, b: a @ b, [(3,), (3,)], "dz"),
    ("matmul empty inner", lambda T, a, b: a @ b, [(2, 0), (0, 3)], "dz"),
    ("matmul empty rows", lambda T, a, b: a @ b, [(2, 0, 3), (3, 4)], "dz"),
    ("matmul transposed", lambda T, a, b: a.transpose(1, 2) @ b.transpose(1, 2).mT, [(2, 4, 3, 5), (2, 6, 3, 5)], "dz"),
    ("linear", layer, [(5, 3), (4, 3), (4,)], "dz"),
    ("linear batch", layer, [(2, 5, 3), (4, 3), (4,)], "dz"),
    ("linear vector", layer, [(3,), (4, 3), (4,)], "dz"),
    ("linear without bias", layer, [(2, 5, 3), (4, 3)], "dz"),
    ("linear empty", layer, [(0, 3), (4, 3), (4,)], "d"),
    ("linear of a transpose", lambda T, x, w, b: layer(T, x.mT, w.mT, b), [(2, 3, 5), (3, 4), (4,)], "dz"),
    ("addmm", lambda T, x, a, b: T.addmm(x, a, b, beta=0.5, alpha=2), [(4,), (2, 3), (3, 4)], "dz"),
    ("addmm beta 0", lambda T, x, a, b: T.addmm(x, a, b, beta=0), [(2, 4), (2, 3), (3, 4)], "dz"),
    ("addbmm", lambda T, x, a, b: T.addbmm(x, a, b, alpha=-1), [(2, 4), (5, 2, 3), (5, 3, 4)], "dz"),
    ("baddbmm", lambda T, x, a, b: T.baddbmm(x, a, b, beta=2), [(1, 4), (5, 2, 3), (5, 3, 4)], "dz"),
    ("addmv", lambda T, x, a, b: T.addmv(x, a, b, alpha=3), [(2,), (2, 3), (3,)], "dz"),
    ("addr", lambda T, x, a, b: T.addr(x, a, b, beta=3), [(2, 3), (2,), (3,)], "dz"),
    ("vdot", lambda T, a, b: T.vdot(a, b), [(3,), (3,)], "dz"),
    ("inner", lambda T, a, b: T.inner(a, b), [(2, 3), (4, 5, 3)], "dz"),
    ("outer", lambda T, a, b: T.outer(a, b), [(3,), (2,)], "dz"),
    ("einsum", lambda T, a, b: T.einsum("bij,bjk->bki", a, b), [(2, 3, 4), (2, 4, 5)], "dz"),
    ("einsum implicit", lambda T, a, b: T.einsum("ij,jk", a, b), [(2, 3), (3, 4)], "dz"),
    ("einsum diagonal", lambda T, a: T.einsum("iji->j", a), [(3, 2, 3)], "dz"),
    ("einsum ellipsis", lambda T, a, b: T.einsum("...ij,j...->i...", a, b), [(4, 5, 2, 3), (3, 1, 5)], "dz"),
    ("einsum broadcast", lambda T, a, b: T.einsum("ij,ij->ij", a, b), [(3, 1), (1, 4)], "dz"),
    ("einsum sums alone", lambda T, a, b: T.einsum("ij,kl->l", a, b), [(3, 2), (2, 4)], "dz"),
    ("einsum chain", lambda T, a, b, c: T.einsum("ij,jk,kl->li", a, b, c), [(2, 3), (3, 4), (4, 5)], "dz"),
    ("einsum sublists", lambda T, a, b: T.einsum(a, [0, 1], b, [1, 2], [2, 0]), [(2, 3), (3, 4)], "dz"),
    ("einsum scalar", lambda T, a, b: T.einsum("i,i->", a, b), [(3,), (3,)], "dz"),
    ("tensordot", lambda T, a, b: T.tensordot(a, b, dims=([1, 0], [0, 2])), [(2, 3, 4), (3, 5, 2)], "dz"),
    ("kron", lambda T, a, b: T.kron(a, b), [(2, 3), (4,)], "dz"),
    ("cross", lambda T, a, b: T.linalg.cross(a, b, dim=0), [(3, 1), (3, 4)], "dz"),
    ("cdist", lambda T, a, b: distances(T, a, b, 2), [(2, 3, 4), (5, 4)], "d"),
    ("cdist large", lambda T, a, b: distances(T, a, b, 2), [(30, 3), (2, 3)], "d"),
    ("cdist p=1.5", lambda T, a, b: distances(T, a, b, 1.5), [(3, 4), (5, 4)], "d"),
    ("cdist p=inf", lambda T, a, b: distances(T, a, b, float("inf")), [(3, 4), (5, 4)], "d"),
    ("trace", lambda T, a: T.trace(a), [(3, 4)], "dz"),
    ("det", lambda T, a: T.linalg.det(a), [(2, 3, 3)], "dz"),
    ("det 0x0", lambda T, a: T.linalg.det(a), [(2, 0, 0)], "d"),
    ("slogdet", lambda T, a: T.linalg.slogdet(shifted(T, a)), [(2, 3, 3)], "dz"),
    ("logdet", lambda T, a: T.logdet(spd(T, a)), [(2, 3, 3)], "dz"),
    ("inv", lambda T, a: T.linalg.inv(shifted(T, a)), [(2, 3, 3)], "dz"),
    ("solve", lambda T, a, b: T.linalg.solve(shifted(T, a), b), [(3, 3), (2, 3, 2)], "dz"),
    ("solve vector", lambda T, a, b: T.linalg.solve(shifted(T, a), b), [(2, 3, 3), (2, 3)], "dz"),
    ("solve right", lambda T, a, b: T.linalg.solve(shifted(T, a), b, left=False), [(3, 3), (2, 3)], "dz"),
    ("triangular", lambda T, a, b: T.linalg.solve_triangular(shifted(T, a), b, upper=True), [(3, 3), (2, 3, 2)], "dz"),
    (
        "triangular unit", lambda T, a, b: T.linalg.solve_triangular(a, b, upper=False, left=False, unitriangular=True),
        [(2, 3, 3), (4, 3)], "dz",
    ),
    ("cholesky", lambda T, a: T.linalg.cholesky(spd(T, a)), [(2, 3, 3)], "dz"),
    ("cholesky upper", lambda T, a: T.linalg.cholesky(spd(T, a), upper=True), [(3, 3)], "dz"),
    ("cholesky_solve", lambda T, b, a: T.cholesky_solve(b, T.linalg.cholesky(spd(T, a))), [(3, 2), (3, 3)], "dz"),
    ("cholesky_inverse", lambda T, a: T.cholesky_inverse(T.linalg.cholesky(spd(T, a)).mH, upper=True), [(3, 3)], "dz"),
    ("cholesky_solve of any factor", lambda T, b, a: T.cholesky_solve(b, shifted(T, a)), [(2, 3, 2), (3, 3)], "dz"),
    ("cholesky_solve upper", lambda T, b, a: T.cholesky_solve(b, shifted(T, a), upper=True), [(3, 2), (2, 3, 3)], "dz"),
    ("cholesky_inverse of any factor", lambda T, a: T.cholesky_inverse(shifted(T, a)), [(2, 3, 3)], "d"),
    ("cholesky_inverse upper", lambda T, a: T.cholesky_inverse(shifted(T, a), upper=True), [(3, 3)], "d"),
    ("lu square", lambda T, a: T.linalg.lu(a), [(2, 3, 3)], "dz"),
    ("lu wide", lambda T, a: T.linalg.lu(a), [(3, 5)], "dz"),
    ("lu tall", lambda T, a: T.linalg.lu(a), [(5, 3)], "dz"),
    ("lu_solve", lambda T, a, b: T.linalg.lu_solve(*T.linalg.lu_factor(a), b), [(3, 3), (3, 2)], "dz"),
    (
        "lu_solve adjoint", lambda T, a, b: T.linalg.lu_solve(*T.linalg.lu_factor(a), b, left=False, adjoint=True),
        [(2, 3, 3), (4, 3)], "dz",
    ),
    ("qr", lambda T, a: T.linalg.qr(a), [(2, 4, 3)], "dz"),
    ("qr wide", lambda T, a: T.linalg.qr(a), [(3, 5)], "dz"),
    ("svd", lambda T, a: (lambda u, s, v: (u @ v, s))(*T.linalg.svd(a, full_matrices=False)), [(4, 3)], "dz"),
    ("svd wide", lambda T, a: (lambda u, s, v: (u.abs(), s, v.abs()))(*T.linalg.svd(a, False)), [(2, 3, 4)], "dz"),
    ("svdvals", lambda T, a: T.linalg.svdvals(a), [(2, 4, 3)], "dz"),
    ("eigh of any matrix", lambda T, a: first_projection(T.linalg.eigh(shifted(T, a))[1]), [(2, 4, 4)], "dz"),
    ("eigh", lambda T, a: (lambda w, v: (w, v.abs()))(*T.linalg.eigh(symmetric(a))), [(2, 3, 3)], "dz"),
    ("eigvalsh", lambda T, a: T.linalg.eigvalsh(symmetric(a)), [(3, 3)], "dz"),
    ("eig", lambda T, a: (lambda w, v: (w, v.abs()))(*T.linalg.eig(spread(T, a))), [(3, 3)], "dz"),
    ("pinv", lambda T, a: T.linalg.pinv(a), [(2, 4, 3)], "dz"),
    ("pinv hermitian", lambda T, a: T.linalg.pinv(spd(T, a), hermitian=True), [(3, 3)], "dz"),
    ("lstsq", lambda T, a, b: T.linalg.lstsq(a, b, driver="gelsd")[:2], [(5, 3), (5, 2)], "d"),
    ("matrix_exp", lambda T, a: T.linalg.matrix_exp(a), [(2, 3, 3)], "dz"),
    ("matrix_power", lambda T, a: T.linalg.matrix_power(shifted(T, a), -3), [(3, 3)], "dz"),
    ("multi_dot", lambda T, a, b, c: T.linalg.multi_dot([a, b, c]), [(3,), (3, 4), (4, 2)], "dz"),
    ("householder", lambda T, a, t: T.linalg.householder_product(a, t), [(2, 4, 3), (2, 2)], "dz"),
    ("ormqr", lambda T, a, t, c: T.ormqr(a, t, c, True, True), [(4, 3), (3,), (4, 2)], "dz"),
    ("tensorsolve", lambda T, a, b: T.linalg.tensorsolve(shifted(T, a).reshape(2, 3, 6), b), [(6, 6), (2, 3)], "dz"),
    ("tensorinv", lambda T, a: T.linalg.tensorinv(shifted(T, a).reshape(2, 3, 6), ind=2), [(6, 6)], "dz"),
    ("vander", lambda T, a: T.linalg.vander(a, N=4), [(2, 3)], "dz"),
    ("vecdot", lambda T, a, b: T.linalg.vecdot(a, b, dim=0), [(3, 2), (3, 1)], "dz"),
    ("norm nuclear", lambda T, a: T.linalg.matrix_norm(a, "nuc"), [(2, 3, 4)], "dz"),
    ("norm spectral", lambda T, a: T.linalg.matrix_norm(a, 2, keepdim=True), [(2, 3, 4)], "dz"),
    ("norm columns", lambda T, a: T.linalg.norm(a, 1), [(3, 4)], "dz"),
    ("norm p=3", lambda T, a: T.linalg.vector_norm(a, 3, dim=(0, 2)), [(2, 3, 4)], "dz"),
    ("norm p=0.5", lambda T, a: T.linalg.vector_norm(a, 0.5), [(5,)], "dz"),
    ("norm -inf", lambda T, a: T.linalg.vector_norm(a, float("-inf"), dim=1), [(2, 3)], "dz"),
    ("cond", lambda T, a: T.linalg.cond(shifted(T, a)), [(3, 3)], "dz"),
    ("fft", lambda T, a: T.fft.fft(a, 5, norm="ortho"), [(2, 4)], "dz"),
    ("ifftn", lambda T, a: T.fft.ifftn(a, (3, 2), (0, 2)), [(2, 3, 4)], "dz"),
    ("rfft", lambda T, a: T.fft.rfft(a, dim=0), [(5, 2)], "d"),
    ("rfftn even", lambda T, a: T.fft.rfftn(a, norm="forward"), [(3, 4)], "d"),
    ("irfft even", lambda T, a: T.fft.irfft(a), [(2, 4)], "dz"),
    ("irfft odd", lambda T, a: T.fft.irfft(a, 5), [(2, 4)], "dz"),
    ("irfftn", lambda T, a: T.fft.irfftn(a, (3, 6)), [(3, 4)], "dz"),
    ("hfft", lambda T, a: T.fft.hfft(a, 7), [(2, 4)], "dz"),
    ("ihfftn", lambda T, a: T.fft.ihfftn(a), [(3, 4)], "d"),
    ("fftshift", lambda T, a: T.fft.ifftshift(T.fft.fftshift(a, 1)), [(3, 4)], "dz"),
    (
        "stft", lambda T, a: T.stft(a, 8, 3, 6, window=T.hann_window(6, dtype=a.dtype), return_complex=True),
        [(2, 20)], "d",
    ),
    (
        "istft", lambda T, a: T.istft(a, 8, 3, 8, window=T.hann_window(8, dtype=T.float64) + 0.1, length=15),
        [(5, 6)], "z",
    ),
]  # fmt: skip

CASES = [pytest.param(row[1], row[2], code, id=f"{row[0]} {code}") for row in ROWS for code in row[3]]


def arrays_for(shapes, code, seed=0):
    generator = np.random.default_rng([seed, len(shapes)])
    drawn = [generator.standard_normal(shape) for shape in shapes]
    if code == "z":
        drawn = [x + 1j * generator.standard_normal(x.shape) for x in drawn]
    return [x.astype({"f": np.float32, "d": np.float64, "z": np.complex128}[code]) for x in drawn]


def outputs_of(T, function, tensors):
    result = function(T, *tensors)
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return [part for part in parts if part.is_floating_point() or part.is_complex()]


def cotangents(T, outputs, seed):
    generator = np.random.default_rng(seed)
    result = []
    for part in outputs:
        values = generator.standard_normal(tuple(part.shape))
        if part.is_complex():
            values = values + 1j * generator.standard_normal(tuple(part.shape))
        result.append(T.tensor(values, dtype=part.dtype))
    return result


def derivatives(T, function, arrays):
    """Outputs, gradients and gradients of gradients as NumPy arrays (None where there is none)."""
    tensors = [T.tensor(x, requires_grad=True) for x in arrays]
    outputs = outputs_of(T, function, tensors)
    recorded = [part for part in outputs if part.requires_grad]
    given = [g.requires_grad_() for g in cotangents(T, recorded, 1)]
    first = T.autograd.grad(recorded, tensors, given, create_graph=True, allow_unused=True)
    again = [g for g in first if g is not None and g.requires_grad]
    second = T.autograd.grad(again, [*tensors, *given], cotangents(T, again, 2), allow_unused=True)

    def plain(values):
        return [None if v is None else v.detach().resolve_conj().numpy(force=True) for v in values]

    return plain(outputs), plain(first), plain(second)


def assert_close(got, want, what, tolerance=1e-7):
    assert len(got) == len(want), what
    for x, y in zip(got, want):
        if x is None or y is None:  # no gradient and a gradient of zeros are the same
            other = y if x is None else x
            assert other is None or not np.any(np.abs(other) > tolerance), what
            continue
        assert x.dtype == y.dtype and x.shape == y.shape, what
        np.testing.assert_allclose(
            x, y, rtol=tolerance, atol=tolerance * max(1.0, np.abs(y).max(initial=0)), err_msg=what
        )


@pytest.mark.parametrize("function, shapes, code", CASES)
def test_derivatives_agree_with_torch(function, shapes, code):
    arrays = arrays_for(shapes, code)
    got, want = derivatives(pullback, function, arrays), derivatives(torch, function, arrays)
    for what, ours, theirs in zip(("value", "gradient", "second derivative"), got, want):
        assert_close(ours, theirs, what)


@pytest.mark.parametrize("name, function, shapes", [pytest.param(*row[:3], id=row[0]) for row in ROWS if "d" in row[3]])
def test_float32_stays_float32(name, function, shapes):
    arrays = arrays_for(shapes, "f")
    got = outputs_of(pullback, function, [pullback.tensor(x) for x in arrays])
    want = outputs_of(torch, function, [torch.tensor(x) for x in arrays])
    assert_close(
        [x.resolve_conj().numpy() for x in got], [x.resolve_conj().numpy() for x in want], name, tolerance=2e-3
    )


# --- what the table cannot say ---


@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
def test_gradient_of_det_of_singular_matrices(rank):
    """The cofactors, whatever the rank; torch is right here only for some of these."""
    generator = np.random.default_rng(rank)
    matrix = generator.standard_normal((4, rank)) @ generator.standard_normal((rank, 4))
    x = pullback.tensor(matrix, requires_grad=True)
    (gradient,) = pullback.autograd.grad(pullback.linalg.det(x), x, create_graph=True)
    direction = generator.standard_normal((4, 4))
    (second,) = pullback.autograd.grad((gradient * pullback.tensor(direction)).sum(), x)
    minors = np.array([
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(matrix, i, 0), j, 1)) for j in range(4)] for i in range(4)
    ])  # fmt: skip
    np.testing.assert_allclose(gradient.detach().numpy(), minors, atol=1e-10)

    def cofactors(a):
        return np.array(
            [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(4)] for i in range(4)]
        )

    step = 1e-5
    numeric = (cofactors(matrix + step * direction) - cofactors(matrix - step * direction)) / (2 * step)
    np.testing.assert_allclose(second.numpy(), numeric, atol=1e-7)


def test_third_derivative_of_det():
    def third(T):
        x = T.tensor(arrays_for([(3, 3)], "d")[0], requires_grad=True)
        value = T.linalg.det(x)
        for number in range(3):
            (value,) = T.autograd.grad((value * T.tensor(float(number + 1))).sum() ** 2, x, create_graph=True)
        return value.detach().numpy()

    np.testing.assert_allclose(third(pullback), third(torch), rtol=1e-7)


@pytest.mark.parametrize("size", [1, 2, 5, 9])
@pytest.mark.parametrize("code, hermitian", [("d", False), ("z", False), ("z", True)])
def test_ldl(size, code, hermitian):
    x = arrays_for([(2, size, size)], code)[0]
    x = x + (x.conj() if hermitian else x).swapaxes(-1, -2)
    b = arrays_for([(size, 2)], code)[0]
    ours = pullback.linalg.ldl_factor(pullback.tensor(x), hermitian=hermitian)
    theirs = torch.linalg.ldl_factor(torch.tensor(x), hermitian=hermitian)
    assert ours.pivots.tolist() == theirs.pivots.tolist()
    np.testing.assert_allclose(np.tril(ours.LD.numpy()), np.tril(theirs.LD.numpy()), atol=1e-10)
    solution = pullback.linalg.ldl_solve(*ours, pullback.tensor(b), hermitian=hermitian)
    np.testing.assert_allclose(x @ solution.numpy(), np.broadcast_to(b, (2, size, 2)), atol=1e-8)


@pytest.mark.parametrize("kind", "fdFD")
@pytest.mark.parametrize("shape", [(3, 3), (40, 40), (2, 35, 50), (50, 35), (3, 13, 13)])
def test_lu_without_the_library_of_numpy(shape, kind, monkeypatch):
    from pullback.kernels import blas, linear_algebra

    x = arrays_for([shape], "z" if kind in "FD" else "d")[0].astype(kind)
    with_library = linear_algebra.lu_factor(x)
    monkeypatch.setattr(blas, "lu_factorizer", lambda kind: None)
    factors, pivots, info = linear_algebra.lu_factor(x)
    np.testing.assert_allclose(factors, with_library[0], atol=1e-9 if kind in "dD" else 1e-3)
    assert np.array_equal(pivots, with_library[1]) and not info.any() and not with_library[2].any()


def test_no_library_and_no_routine_are_no_error(monkeypatch):
    from pullback.kernels import blas

    assert blas.triangular_solver("e") is blas.lu_factorizer("e") is None
    for missing in (None, object()):
        monkeypatch.setattr(blas, "library", lambda missing=missing: missing)
        assert blas.triangular_solver.__wrapped__("d") is blas.lu_factorizer.__wrapped__("d") is None


@pytest.mark.parametrize("kind", "fdFD")
@pytest.mark.parametrize("first,second", [((20, 20), (20, 3)), ((4, 20, 20), (20, 3)), ((2, 1, 20, 20), (3, 20, 1))])
def test_triangular_systems_with_and_without_the_library_of_numpy(first, second, kind, monkeypatch):
    from pullback.kernels import blas, linear_algebra

    a, b = (x.astype(kind) for x in arrays_for([first, second], "z" if kind in "FD" else "d"))
    a = a + 9 * np.eye(20, dtype=kind)
    cases = [
        (matrix, left, upper, unit)
        for matrix in (a, np.swapaxes(a, -1, -2), a[..., ::-1, ::-1])
        for left in (True, False)
        for upper in (True, False)
        for unit in (True, False)
    ]

    def solved(matrix, left, upper, unit):
        matrix = matrix / 9 if unit else matrix
        return linear_algebra.solve_triangular(matrix, b if left else np.swapaxes(b, -1, -2), left, upper, unit)

    with_library = [solved(*case) for case in cases]
    monkeypatch.setattr(blas, "triangular_solver", lambda kind: None)
    for case, expected in zip(cases, with_library):
        np.testing.assert_allclose(solved(*case), expected, rtol=1e-3 if kind in "fF" else 1e-9, atol=1e-3)


@pytest.mark.parametrize("installed", [True, False], ids=["opt_einsum", "own path"])
def test_random_einsums(installed, monkeypatch):
    """Random equations of one to five operands, with repeated labels and sizes of 1 that broadcast."""
    import random
    import sys

    from pullback.functional import contraction

    if not installed:
        monkeypatch.setitem(sys.modules, "opt_einsum", None)
    contraction._path.cache_clear()
    choice, generator = random.Random(1), np.random.default_rng(1)
    sizes = {"a": 2, "b": 3, "c": 4, "d": 1, "e": 5}
    for _ in range(60):
        sides = ["".join(choice.choices("abcde", k=choice.randint(0, 3))) for _ in range(choice.randint(1, 5))]
        arrays = []
        for side in sides:
            own = {label: sizes[label] if choice.random() < 0.85 else 1 for label in side}
            arrays.append(generator.standard_normal([own[label] for label in side]))
        labels = sorted(set("".join(sides)))
        equation = f"{','.join(sides)}->{''.join(choice.sample(labels, choice.randint(0, len(labels))))}"

        def results(T, equation=equation, arrays=arrays):
            tensors = [T.tensor(x, requires_grad=True) for x in arrays]
            out = T.einsum(equation, *tensors)
            (out * out).sum().backward()
            return [out.detach().numpy(), *(x.grad.numpy() for x in tensors)]

        assert_close(results(pullback), results(torch), equation)
    contraction._path.cache_clear()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_products(dtype):
    a, b, c = arrays_for([(2, 3, 4), (4, 5), (5,)], "f")

    def results(T):
        x, y, z = (T.tensor(v).to(getattr(T, dtype)).requires_grad_() for v in (a, b, c))
        out = T.baddbmm(z, x, y.expand(2, 4, 5)) + x @ y
        out.float().sum().backward()
        return [value.detach().float().numpy() for value in (out, x.grad, y.grad, z.grad)]

    for got, want in zip(results(pullback), results(torch)):
        np.testing.assert_allclose(got, want, rtol=4e-2, atol=4e-2)


ERRORS = [
    ("inverse of a singular matrix", lambda T: T.linalg.inv(T.zeros(2, 2)), "The diagonal element 1 is zero"),
    ("in a batch", lambda T: T.linalg.inv(T.stack([T.eye(2), T.ones(2, 2)])), r"\(Batch element 1\): The diag"),
    ("solve", lambda T: T.linalg.solve(T.zeros(2, 2), T.ones(2)), "solver failed because the input matrix is singular"),
    ("cholesky", lambda T: T.linalg.cholesky(-T.eye(2)), r"the leading minor of order 1 is not positive-definite"),
    ("square", lambda T: T.linalg.det(T.ones(2, 3)), "must be batches of square matrices"),
    ("dims", lambda T: T.linalg.inv(T.ones(2)), "must have at least 2 dimensions"),
    ("integers", lambda T: T.linalg.inv(T.ones(2, 2, dtype=T.int64)), "Expected a floating point"),
    ("matmul", lambda T: T.ones(2, 3) @ T.ones(2, 3), r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"),
    ("matmul dtypes", lambda T: T.ones(2, 2) @ T.ones(2, 2).double(), "to have the same dtype"),
    ("matmul scalar", lambda T: T.matmul(T.ones(()), T.ones(2)), "need to be at least 1D"),
    ("einsum operands", lambda T: T.einsum("ij,jk->ik", T.ones(2, 2)), "fewer operands were provided"),
    ("einsum output", lambda T: T.einsum("ij->k", T.ones(2, 2)), "does not appear in the equation"),
    ("einsum sizes", lambda T: T.einsum("ij,jk->ik", T.ones(2, 3), T.ones(2, 2)), "previously seen size 3"),
    ("multi_dot", lambda T: T.linalg.multi_dot([T.ones(2, 2)]), "expected at least 2 tensors"),
    ("rfft", lambda T: T.fft.rfft(T.ones(3) * 1j), "expects a real input tensor"),
    ("fft size", lambda T: T.fft.fft(T.ones(3), 0), r"Invalid number of data points \(0\) specified"),
    ("fft dims", lambda T: T.fft.fftn(T.ones(3, 3), dim=(0, 0)), "FFT dims must be unique"),
]  # fmt: skip


@pytest.mark.parametrize("function, words", [pytest.param(*row[1:], id=row[0]) for row in ERRORS])
def test_errors_use_the_same_words(function, words):
    with pytest.raises(RuntimeError, match=words):
        function(torch)
    with pytest.raises(RuntimeError, match=words):
        function(pullback)


def test_singular_is_a_linalg_error():
    with pytest.raises(pullback.linalg.LinAlgError):
        pullback.linalg.inv(pullback.zeros(2, 2))


@pytest.mark.parametrize(
    "function", [lambda T, x: T.linalg.eigh(x)[1].real.sum(), lambda T, x: T.linalg.svd(x, False)[0].imag.sum()]
)
def test_losses_that_depend_on_the_phase_are_refused(function):
    x = arrays_for([(3, 3)], "z")[0]
    for T in (torch, pullback):
        y = T.tensor(x + x.conj().T, requires_grad=True)
        with pytest.raises(RuntimeError, match="specified up to multiplication by e"):
            function(T, y).backward()


def test_eigenvalues_of_the_identity_have_a_gradient():
    x = pullback.eye(3, dtype=pullback.float64).requires_grad_()
    pullback.linalg.eigvalsh(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.eye(3), atol=1e-12)


@pytest.mark.parametrize("order", [1, -1, 2, -2, float("inf"), -float("inf"), "nuc", "fro"])
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (2, 0, 3)])
def test_norms_of_empty_matrices(shape, order):
    for dim in ((-2, -1), (-1, -2)):
        answers = []
        for library in (torch, pullback):
            try:
                answers.append(library.linalg.matrix_norm(library.empty(shape), order, dim).tolist())
            except IndexError:
                answers.append(IndexError)
        assert answers[0] == answers[1]
    x = pullback.empty(shape, requires_grad=True)
    if order in (1, 2, float("inf")):
        pullback.linalg.matrix_norm(x, order).sum().backward()
        assert x.grad.shape == shape


def test_a_matrix_that_numpy_calls_singular_is_judged_by_its_pivots():
    # An eigenvalue was taken off the diagonal: rounding decides whether the last pivot is zero, and NumPy's may be.
    matrix = [
        [2.0806463656752836, 0.2, -3.1999999999999997],
        [0.2, 7.080646365675284, -1.9],
        [-3.1999999999999997, -1.9, 5.280646365675284],
    ]
    pair = pullback.tensor([matrix, [[2.0, 0, 0], [0, 2, 0], [0, 0, 0]]], dtype=pullback.float64)
    for solved, info in (pullback.linalg.solve_ex(pair, pullback.ones_like(pair)), pullback.linalg.inv_ex(pair)):
        assert info[1] == 3 and solved[0].isfinite().all() == (info[0] == 0)
