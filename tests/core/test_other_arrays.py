"""The seam for another array library: tensors around arrays that are not NumPy's.

`Elsewhere` behaves as CuPy's arrays do: it takes part in NumPy's protocols, mixes with numbers and its own kind only, and
is never turned into an array of NumPy's by accident. Every row of the table of gradients runs on it, forward and
backward, but for those in `NOT_YET`: kernels that work on NumPy's memory, and functions that CuPy does not have.
"""

import numpy as np
import pytest

import pullback as torch
from pullback.autograd import tape
from tests.ops.test_gradients import ROWS, inputs

NOT_YET = {
    "adaptive_avg_pool1d", "amax", "as_strided", "attention", "avg_pool2d", "batch_norm", "bce", "bce logits",
    "bicubic", "cholesky", "complex", "conv1d", "conv2d", "conv_transpose2d", "cross_entropy", "ctc", "cummax",
    "cumprod", "cumsum", "det", "digamma", "eigvalsh", "embedding", "erf", "erfc", "erfinv", "fold unfold", "gather",
    "gelu tanh", "grid_sample", "group_norm", "i0", "index", "index_add", "index_copy", "index_put", "interpolate",
    "inv", "kl_div", "kthvalue", "label smoothing", "layer_norm", "lgamma", "logcumsumexp", "logit", "lp_pool1d",
    "masked_fill", "masked_select", "matrix_exp", "max", "max_pool2d", "median", "mvlgamma", "nll",
    "nn.functional.gelu", "nn.functional.logsigmoid", "nn.functional.mish", "nn.functional.silu",
    "nn.functional.softplus", "pad", "pinv", "polar", "polygamma", "prod", "prod all", "qr", "quantile", "renorm",
    "rms_norm", "scalar pow", "scatter prod", "scatter_add", "sinc", "slogdet", "soft_margin",
    "solve", "sort", "special.bessel_j0", "special.bessel_j1", "special.bessel_y0", "special.bessel_y1",
    "special.entr", "special.erfcx", "special.i0e", "special.i1", "special.i1e", "special.log_ndtr",
    "special.modified_bessel_k0", "special.modified_bessel_k1", "special.ndtr", "special.ndtri", "split", "svdvals",
    "take_along_dim", "topk", "triangular", "tril triu", "unbind", "unfold", "xlog1py", "xlogy",
}  # fmt: skip


class Flags:
    def __init__(self, flags):
        self.c_contiguous, self.f_contiguous, self.owndata = flags.c_contiguous, flags.f_contiguous, flags.owndata


class Elsewhere(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of another library, of which this side only knows the protocols and some methods."""

    METHODS = {"add": {"reduce", "accumulate", "at"}, "multiply": {"reduce", "accumulate"}}  # of ufuncs

    def __init__(self, array):
        self.there = array

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __dlpack__(self, **_):
        raise BufferError("nobody in these tests asks for it")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        if method != "__call__" and method not in self.METHODS.get(ufunc.__name__, ()):
            return NotImplemented
        if out is not None:
            kwargs["out"] = tuple(map(there, out))
        result = getattr(ufunc, method)(
            *map(there, inputs), **{k: v if k == "out" else there(v) for k, v in kwargs.items()}
        )
        return here(result) if out is None else out[0]

    def __array_function__(self, function, types, args, kwargs):
        return here(function(*there(args), **there(kwargs)))

    def __getitem__(self, index):
        return here(self.there[there(index)])

    def __setitem__(self, index, value):
        self.there[there(index)] = there(value)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.there, name)
        if not callable(found):
            return here(found)
        return lambda *args, **kwargs: here(found(*there(args), **there(kwargs)))

    flags = property(lambda self: Flags(self.there.flags))

    def item(self):
        return self.there.item()

    def diagonal(self, *args):
        found = self.there.diagonal(*args)
        found.flags.writeable = True
        return Elsewhere(found)

    def __len__(self):
        return len(self.there)

    def __bool__(self):
        return bool(self.there)

    def __float__(self):
        return float(self.there)

    def __int__(self):
        return int(self.there)


def there(value):
    """Arguments as the other library sees them; it has no use for arrays of NumPy."""
    if isinstance(value, Elsewhere):
        return value.there
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(value, (tuple, list)):
        return type(value)(map(there, value))
    return {key: there(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def here(value):
    """Results as they come back: arrays, numbers among them, are of the other library."""
    if isinstance(value, (np.ndarray, np.generic)):
        return Elsewhere(np.asarray(value))
    return type(value)(map(here, value)) if type(value) in (tuple, list) else value


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
