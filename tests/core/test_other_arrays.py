"""The seam for another array library: tensors around arrays that are not NumPy's.

`Elsewhere` behaves as CuPy's arrays do (see `another_library.py`). Every row of the table of gradients runs on it, forward
and backward, but for those in `NOT_YET`: kernels that work on NumPy's memory, and functions that CuPy does not have.
"""

import numpy as np
import pytest

import pullback as torch
from pullback.core import tape
from pullback.core.op import op
from tests.core.another_library import Elsewhere
from tests.ops.test_gradients import ROWS, inputs

NOT_YET = {  # and why
    "as_strided": "a view is made of addresses in NumPy's memory",
    "ctc": "its recursion over labels works on NumPy's memory",
}


def values_and_gradients(call, arrays, ones):
    inputs = [tape.wrap(array).requires_grad_() for array in arrays]
    results = call(*inputs)
    results = results if isinstance(results, (tuple, list)) else (results,)
    results = [result for result in results if result.requires_grad]
    for result in results:
        result.backward(gradient=tape.wrap(ones(result.shape, result._array.dtype)), retain_graph=True)
    return [tensor._array for tensor in (*results, *(x.grad for x in inputs if x.grad is not None))]


def check(call, arrays, tolerance):
    got = values_and_gradients(call, [Elsewhere(x.copy()) for x in arrays], lambda *a: Elsewhere(np.ones(*a)))
    expected = values_and_gradients(call, [x.copy() for x in arrays], np.ones)
    for ours, numpys in zip(got, expected, strict=True):
        assert type(ours) is Elsewhere and ours.dtype == numpys.dtype
        np.testing.assert_allclose(ours.there, numpys, rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ROWS)
def test_same_as_with_numpy(name):
    call, shapes, domain, _ = ROWS[name]
    torch.set_default_dtype(torch.float64)
    try:
        arrays = [x.detach().numpy() for x in inputs(name, shapes, domain, False)]
        if name in NOT_YET:
            with pytest.raises(Exception):  # noqa: B017, PT011
                check(call, arrays, 1e-12)
        else:
            check(call, arrays, 1e-12)
    finally:
        torch.set_default_dtype(torch.float32)


MANY = (300, 400)  # elements: from here, NumPy's arrays take other ways

LARGE = {
    "elementwise": (lambda x, y: torch.tanh(x * y) * torch.exp(-x) + x / (y * y + 1) - 2 * x, [MANY, MANY]),
    "powers": (lambda x, y: x**2 + (x.abs() + 1) ** y + (x * x + 1).sqrt(), [MANY, MANY]),
    "broadcast": (lambda x, y: x * y + y, [MANY, MANY[1:]]),
    "branches": (lambda x, y: torch.where(x > y, x, y * 2).relu() + torch.maximum(x, y), [MANY, MANY]),
    "sums": (lambda x, y: (x.sum(0), x.mean(1), (x * y).sum()), [MANY, MANY]),
    "products": (lambda x, y: (x @ y.T, x.mT @ y), [MANY, MANY]),
    "softmax": (lambda x, y: (torch.softmax(x, 1), torch.log_softmax(y, 0), torch.logsumexp(x, 1)), [MANY, MANY]),
    "shapes": (lambda x, y: torch.cat([x.T[5:].reshape(-1, 100), y.view(-1, 100)])[::2].unsqueeze(0), [MANY, MANY]),
    "a layer": (lambda x, w, b: torch.tanh(torch.nn.functional.linear(x, w, b)), [MANY, (500, 400), (500,)]),
}


@pytest.mark.parametrize("name", LARGE)
def test_many_elements(name):
    call, shapes = LARGE[name]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    check(call, arrays, 1e-4)


def test_a_step_of_training():
    rng = np.random.default_rng(0)
    batch, target, *weights = (
        rng.standard_normal(s).astype(np.float32) for s in [(32, 16), (32, 4), (16, 32), (32,), (32, 4)]
    )

    def trained(kind):
        x, y = tape.wrap(kind(batch)), tape.wrap(kind(target))
        first, bias, second = parameters = [tape.wrap(kind(w)).requires_grad_() for w in weights]
        for _ in range(300):  # long enough for the pass to be written out, if it were
            loss = ((torch.tanh(x @ first + bias) @ second - y) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                for p in parameters:
                    p -= 0.1 * p.grad
                    p.grad = None
        return [loss._array, *(p._array for p in parameters)]

    for ours, numpys in zip(trained(lambda a: Elsewhere(a.copy())), trained(np.copy), strict=True):
        assert type(ours) is Elsewhere
        np.testing.assert_allclose(ours.there, numpys, rtol=1e-4, atol=1e-5)


class TestConstantsOfNumPys:
    """Operands in NumPy's memory are copied to where the others are; but for those that require grad."""

    X = np.arange(6.0).reshape(2, 3) - 2

    CALLS = {
        "a constant": lambda x: x * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64),
        "a number": lambda x: torch.tensor(2.0, dtype=torch.float64) * x,
        "a mask": lambda x: torch.where(torch.tensor([True, False, True]), x, 0.0),
        "a matrix": lambda x: torch.ones(4, 2, dtype=torch.float64) @ x,
        "joined": lambda x: torch.cat([x, torch.ones(1, 3, dtype=torch.float64)]),
    }

    @pytest.mark.parametrize("name", CALLS)
    def test_value_and_gradient(self, name):
        check(self.CALLS[name], [self.X], 1e-12)

    @pytest.mark.parametrize("name", CALLS)
    def test_second_derivative(self, name):
        def doubled(x):
            (slope,) = torch.autograd.grad((self.CALLS[name](x) ** 3).sum(), x, create_graph=True)
            return slope

        check(doubled, [self.X], 1e-12)

    def test_what_requires_grad_is_not_copied(self):
        weight = torch.ones(3, dtype=torch.float64, requires_grad=True)
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            tape.wrap(Elsewhere(self.X.copy())) * weight

    def test_other_errors_stay_what_they_are(self):
        with pytest.raises(TypeError, match="Unsupported type"):
            tape.apply(OF_NUMPYS, (tape.wrap(Elsewhere(self.X.copy())),))
        with pytest.raises(TypeError):
            torch.ones(3) + object()


OF_NUMPYS = op("OfNumPysBackward0", lambda x: x + np.ones(3), x=None)


I = torch.tensor([2, 0])
PLACES = torch.tensor([[1, 0, 2], [1, 2, 2]])
WRITES = {
    "rows": lambda y, x: y.__setitem__(I, x[:2]),
    "a view": lambda y, x: y[1:].mul_(x[1:]),
    "a slice": lambda y, x: y.__setitem__((slice(1, None), 0), x[0, :2]),
    "elements": lambda y, x: y.__setitem__((I, I), x[0, :2]),
    "a mask": lambda y, x: y.__setitem__(PLACES.new_ones(3, dtype=torch.bool), 2.0),
    "index_put_": lambda y, x: y.index_put_((I,), x[:2], accumulate=True),
    "index_add_": lambda y, x: y.index_add_(0, I, x[:2]),
    "index_copy_": lambda y, x: y.index_copy_(0, I, x[:2]),
    "index_fill_": lambda y, x: y.index_fill_(0, I, 3.0),
    "scatter_": lambda y, x: y.scatter_(0, I[:, None], x[:2]),
    "scatter_ a number": lambda y, x: y.scatter_(0, PLACES[:1], 5.0),
    "scatter_add_": lambda y, x: y.scatter_add_(1, PLACES, x[:2]),
    "masked_fill_": lambda y, x: y.masked_fill_(y.detach() > 0, 1.5),
    "masked_scatter_": lambda y, x: y.masked_scatter_(y.detach() > 0, x),
    "put_": lambda y, x: y.put_(I, x[0, :2], accumulate=True),
    "add_": lambda y, x: y.add_(x),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_in_place(name):
    def written(x):
        y = x * 2
        WRITES[name](y, x)
        return y * x

    check(written, [np.random.default_rng(0).standard_normal((3, 3))], 1e-12)
