"""NumPy's and SciPy's functions on tensors: right values, the gradient kept, nothing detached in silence."""

import re
import weakref

import numpy as np
import pytest

import pullback as torch

scipy_special = pytest.importorskip("scipy.special")
A = np.random.default_rng(0).standard_normal((3, 3))
S = A @ A.T + 3 * np.eye(3)
V = np.random.default_rng(1).random(4) + 0.2

CALLS = {
    "sum": (np.sum, V),
    "mean": (np.mean, A),
    "prod": (np.prod, V),
    "max": (np.max, A),
    "ptp": (np.ptp, V),
    "var": (np.var, A),
    "std of columns": (lambda x: np.std(x, axis=0), A),
    "var ddof": (lambda x: np.var(x, ddof=1), V),
    "median": (np.median, V),
    "quantile": (lambda x: np.quantile(x, 0.3), V),
    "nanmean": (np.nanmean, V),
    "percentile": (lambda x: np.percentile(x, [20, 60]), V),
    "average": (lambda x: np.average(x, weights=[1, 2, 3, 4]), V),
    "cov": (np.cov, A),
    "corrcoef": (np.corrcoef, A),
    "cumsum": (np.cumsum, A),
    "cumprod": (np.cumprod, V),
    "diff": (np.diff, V),
    "diff with edges": (lambda x: np.diff(x, prepend=0), V),
    "gradient": (np.gradient, V),
    "trapezoid": (np.trapezoid, V),
    "sort": (np.sort, V),
    "interp": (lambda x: np.interp(x, [0.0, 1, 2], [0.0, 2, 3]), V),
    "convolve": (lambda x: np.convolve(x, [1.0, 2, 3]), V),
    "convolve same": (lambda x: np.convolve(x, [1.0, 2], "same"), V),
    "einsum": (lambda x: np.einsum("ij,jk->ik", x, x), A),
    "dot": (lambda x: np.dot(x, x), A),
    "kron": (lambda x: np.kron(x, x), A),
    "tensordot": (lambda x: np.tensordot(x, x, 1), A),
    "outer": (lambda x: np.outer(x, x), V),
    "inner": (lambda x: np.inner(x, x), V),
    "matmul with array": (lambda x: A @ x, A),
    "vdot": (lambda x: np.vdot(x, x), V),
    "cross": (lambda x: np.cross(x, [1.0, 2, 3]), A),
    "det": (np.linalg.det, A),
    "inv": (np.linalg.inv, S),
    "solve": (lambda x: np.linalg.solve(x, np.ones(3)), S),
    "norm": (np.linalg.norm, A),
    "norm of rows": (lambda x: np.linalg.norm(x, axis=1), A),
    "pinv": (np.linalg.pinv, A),
    "svd": (lambda x: np.linalg.svd(x)[1], A),
    "eigvalsh": (np.linalg.eigvalsh, S),
    "cholesky": (np.linalg.cholesky, S),
    "slogdet": (lambda x: np.linalg.slogdet(x)[1], S),
    "lstsq": (lambda x: np.linalg.lstsq(x, np.ones(3))[0], A),
    "matrix_power": (lambda x: np.linalg.matrix_power(x, 3), A),
    "qr": (lambda x: np.linalg.qr(x)[1], A),
    "multi_dot": (lambda x: np.linalg.multi_dot([x, x, x]), A),
    "trace": (np.trace, A),
    "diag": (np.diag, V),
    "tril": (np.tril, A),
    "fft": (lambda x: np.abs(np.fft.fft(x)), V),
    "rfft and back": (lambda x: np.fft.irfft(np.fft.rfft(x)), V),
    "fft2": (lambda x: np.abs(np.fft.fft2(x)), A),
    "array + tensor": (lambda x: np.ones(4) + x, V),
    "array * tensor": (lambda x: np.arange(4.0) * x, V),
    "number ** tensor": (lambda x: np.float64(2.0) ** x, V),
    "where": (lambda x: np.where(x > 0, x, -x), A),
    "clip": (lambda x: np.clip(x, 0.3, 0.6), V),
    "round": (lambda x: np.round(x, 1), V),
    "concatenate": (lambda x: np.concatenate([x, np.ones(2)]), V),
    "stack": (lambda x: np.stack([x, x]), V),
    "append a number": (lambda x: np.append(x, 3.0), V),
    "vstack": (lambda x: np.vstack([x, x]), V),
    "hstack": (lambda x: np.hstack([x, x]), A),
    "block": (lambda x: np.block([[x, x], [x, x]]), A),
    "split": (lambda x: np.split(x, 2)[0], V),
    "hsplit": (lambda x: np.hsplit(x, [1])[1], A),
    "vsplit": (lambda x: np.vsplit(x, 3)[1], A),
    "dsplit": (lambda x: np.dsplit(x[None], [2])[0], A),
    "array_split": (lambda x: np.array_split(x, 3)[0], V),
    "pad": (lambda x: np.pad(x, 1), A),
    "reflect": (lambda x: np.pad(x, 1, "reflect"), V),
    "roll": (lambda x: np.roll(x, 1), A),
    "flip": (np.flip, A),
    "tile": (lambda x: np.tile(x, 2), V),
    "rot90": (np.rot90, A),
    "repeat": (lambda x: np.repeat(x, 2, axis=0), A),
    "take": (lambda x: np.take(x, [0, 2]), V),
    "choose": (lambda x: np.choose([[0, 1, 1], [2, 2, 0]], [x[:3], x[1:], [1.0, 2, 3]]) * x[0], V),
    "choose and wrap": (lambda x: np.choose(np.arange(4) - 1, [x, x * x], mode="wrap"), V),
    "cov of two": (lambda x: np.cov(x, x**2, bias=True), V),
    "cov of columns": (lambda x: np.cov(x, x**2, rowvar=False), A),
    "cov with weights": (lambda x: np.cov(x, fweights=[1, 2, 1, 3], aweights=[0.5, 1, 2, 1]), V),
    "corrcoef of two": (lambda x: np.corrcoef(x, np.arange(4.0)), V),
    "corrcoef of columns": (lambda x: np.corrcoef(x, x**2, rowvar=False), A),
    "moveaxis": (lambda x: np.moveaxis(x, 0, 1), A),
    "meshgrid": (lambda x: np.meshgrid(x, x)[0], V),
    "expand_dims": (lambda x: np.expand_dims(x, (0, 2)), V),
    "add.reduce": (np.add.reduce, A),
    "maximum.reduce": (np.maximum.reduce, A),
    "add.accumulate": (np.add.accumulate, V),
    "multiply.outer": (lambda x: np.multiply.outer(x, x), V),
    "hypot": (lambda x: np.hypot(x, 2.0), V),
    "sinc": (np.sinc, V),
    "logaddexp": (lambda x: np.logaddexp(x, 1.0), V),
    "arctan2": (lambda x: np.arctan2(x, 1.0), V),
    "log1p": (np.log1p, V),
    "erf": (scipy_special.erf, V),
    "gammaln": (scipy_special.gammaln, V),
    "expit": (scipy_special.expit, V),
    "digamma": (scipy_special.digamma, V),
    "i0": (scipy_special.i0, V),
    "ndtr": (scipy_special.ndtr, V),
    "logit": (lambda x: scipy_special.logit(x / 3), V),
    "xlogy": (lambda x: scipy_special.xlogy(x, x), V),
    "betaln": (lambda x: scipy_special.betaln(x, x), V),
    "gammaincc": (lambda x: scipy_special.gammaincc(2.0, x), V),
}


REDUCTIONS = (
    np.sum, np.mean, np.prod, np.max, np.min, np.all, np.any, np.nansum, np.nanmean, np.var, np.std, np.ptp, np.average,
    np.count_nonzero, np.add.reduce, np.multiply.reduce, np.maximum.reduce, np.minimum.reduce,
)  # fmt: skip


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("function", REDUCTIONS)
def test_over_no_axes_nothing_is_reduced(function, keepdims):
    """() is no axis to NumPy, though all of them to torch: rules are written in NumPy's words and run on both."""
    for array in (A, V, np.array(2.5)):
        for requires_grad in (False, True):
            found = function(torch.tensor(array, requires_grad=requires_grad), axis=(), keepdims=keepdims)
            expected = function(array, axis=(), keepdims=keepdims)
            found = found.numpy(force=True) if isinstance(found, torch.Tensor) else found
            assert found.shape == array.shape
            np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("name", CALLS)
def test_value_and_gradient(name):
    function, data = CALLS[name]
    x = torch.tensor(data, requires_grad=True)
    result = function(x)
    assert isinstance(result, torch.Tensor), "left the world of tensors"
    np.testing.assert_allclose(result.detach().numpy(), function(data), rtol=1e-10, atol=1e-12)
    assert result.requires_grad, "the gradient was lost"
    weights = torch.tensor(np.random.default_rng(2).standard_normal(tuple(result.shape)))
    (result * weights).sum().backward()
    direction = np.random.default_rng(3).standard_normal(data.shape) * 1e-6
    if data is S:  # functions of symmetric matrices look at one triangle
        direction = direction + direction.T
    change = function(data + direction) - function(data - direction)
    expected = float((np.asarray(change) * weights.numpy()).sum()) / 2
    if name != "round":
        assert abs(float((x.grad.numpy() * direction).sum()) - expected) <= 1e-5 * abs(expected) + 1e-11


@pytest.mark.parametrize("split", [np.split, np.hsplit, np.vsplit, np.dsplit])
def test_parts_that_are_not_equal_are_refused(split):
    for shape in ((), (3,), (3, 5), (3, 5, 7)):
        with pytest.raises(Exception) as refused:
            split(np.ones(shape), 2)
        with pytest.raises(refused.type, match=re.escape(str(refused.value))):
            split(torch.ones(shape), 2)


@pytest.mark.parametrize("function", [np.histogram, np.unwrap, np.polyfit, np.modf])
def test_what_has_no_derivative_is_refused_only_while_a_gradient_is_at_stake(function):
    more = {np.polyfit: (V, 1)}.get(function, ())
    x = torch.tensor(V)
    expected, result = function(V, *more), function(x, *more)
    for a, b in zip(np.atleast_1d(expected[0]), np.atleast_1d(np.asarray(result[0]))):
        np.testing.assert_allclose(a, b)
    with pytest.raises((TypeError, RuntimeError), match="gradient|grad"):
        function(x.requires_grad_(), *more)


OPTIONS = [
    lambda x: np.sum(x, dtype=np.float64), lambda x: np.mean(x, dtype="float32"), lambda x: np.cumsum(x, dtype=float),
    lambda x: np.sum(x, where=x % 2 == 0), lambda x: np.max(x, axis=0, where=x % 2 == 0, initial=-1),
    lambda x: np.add.reduce(x, dtype=np.float64), lambda x: np.std(x, dtype=np.float64),
    lambda x: np.add.accumulate(x, 1, np.float32), lambda x: np.maximum.accumulate(x),
    lambda x: np.max(x, axis=1, initial=4), lambda x: np.sum(x, initial=10), lambda x: np.minimum.reduce(x, initial=2),
]  # fmt: skip


@pytest.mark.parametrize("call", OPTIONS, ids=range(len(OPTIONS)))
def test_options_are_not_ignored(call):
    numbers = np.arange(6).reshape(2, 3)
    result, expected = np.asarray(call(torch.tensor(numbers))), call(numbers)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


WITH_OUT = [
    lambda x, out: np.sum(x, axis=0, out=out), lambda x, out: np.dot(x[0], x, out=out),
    lambda x, out: np.clip(x[0], 0, 1, out=out), lambda x, out: np.concatenate([x[0, :1], x[0, 1:]], out=out),
    lambda x, out: np.maximum.reduce(x, axis=0, out=out), lambda x, out: np.median(x, axis=0, out=out),
    lambda x, out: np.add.accumulate(x[0], out=out), lambda x, out: np.sum(x, 0, None, out),
    lambda x, out: np.max(x, 0, out), lambda x, out: np.clip(x[0], 0, 1, out), lambda x, out: np.cumprod(x[0], 0, None, out),
    lambda x, out: np.round(x[0], 1, out), lambda x, out: np.std(x, 0, None, out, 1),
]  # fmt: skip


@pytest.mark.parametrize("call", WITH_OUT, ids=range(len(WITH_OUT)))
def test_out_is_written(call):
    expected = call(A, np.zeros(3))
    for out in (np.zeros(3), torch.zeros(3, dtype=torch.float64)):
        assert call(torch.tensor(A), out) is out
        np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-12)
    with pytest.raises(RuntimeError, match="gradient would be lost"):
        call(torch.tensor(A, requires_grad=True), np.zeros(3))


def test_conversion_of_a_tensor_that_requires_grad_is_refused():
    x = torch.tensor(V, requires_grad=True)
    for convert in (np.asarray, np.array, lambda t: np.ones(4).dot(np.asarray(t))):
        with pytest.raises(RuntimeError, match="requires grad"):
            convert(x)


def test_comparisons_look_at_values():
    x = torch.tensor(V, requires_grad=True)
    assert np.allclose(x, V) and np.isclose(x, V).all() and np.array_equal(x, V)
    np.testing.assert_allclose(x.detach(), V)


def test_what_numpy_makes_of_tensors_converts_as_an_array_would():
    found = np.concatenate([torch.tensor([1.7]), torch.tensor([2.2])]).astype(int)
    assert type(found) is np.ndarray and found.dtype == np.int64 and found.tolist() == [1, 2]


def test_shapes_and_flags_given_to_an_array_are_its_own():
    tensor, array = torch.ones(2, 3), np.ones((2, 3))
    theirs, taken = torch.from_numpy(array), [tensor.numpy(), np.asarray(tensor)]
    for each in (array, *taken):
        each.shape = (6,)
        each.flags.writeable = False
    assert tensor.shape == theirs.shape == (2, 3)
    tensor += 1
    theirs += 1
    assert array.tolist() == taken[0].tolist() == taken[1].tolist() == [2.0] * 6


def test_an_array_lives_as_long_as_the_tensor_that_has_its_memory():
    array = torch.ones(3).numpy()  # whose memory is another's
    tensor, known = torch.from_numpy(array), weakref.ref(array)
    del array
    assert known() is not None
    del tensor
    assert known() is None


@pytest.mark.parametrize("inputs", [1, 2])
def test_functions_of_scipy_are_scipys_or_refused(inputs):
    """Some have a name that is another function's in torch."""
    values = [np.array([0.3, 0.5, 0.8]), np.array([0.2, 0.6, 0.7])][:inputs]
    answered = 0
    for name in dir(scipy_special):
        ufunc = getattr(scipy_special, name)
        if (
            not isinstance(ufunc, np.ufunc)
            or (ufunc.nin, ufunc.nout) != (inputs, 1)
            or "d" * inputs + "->d" not in ufunc.types
        ):
            continue
        try:
            found = ufunc(*[torch.tensor(value, requires_grad=True) for value in values])
        except TypeError as error:
            assert "has no differentiable counterpart" in str(error), name
            continue
        except NotImplementedError:  # a gradient that torch does not have either
            continue
        np.testing.assert_allclose(found.detach().numpy(), ufunc(*values), rtol=1e-9, err_msg=name)
        answered += 1
    assert answered >= (20, 5)[inputs - 1]
