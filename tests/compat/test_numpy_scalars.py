"""NumPy's scalars are numbers like Python's: `x * np.float64(2)` keeps a float32 tensor float32, as in torch."""

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")
TWO, HALF = np.float64(2.0), np.float64(0.5)


def stepped(t, x, optimizer):
    p = t.nn.Parameter(x.clone())
    p.grad = t.ones(2, dtype=x.dtype)
    optimizer([p]).step()
    return p


CASES = {
    "x * s": lambda t, x: x * TWO,
    "s * x": lambda t, x: TWO * x,
    "x / s": lambda t, x: x / TWO,
    "x + s": lambda t, x: x + TWO,
    "x - s": lambda t, x: x - TWO,
    "x ** s": lambda t, x: x**TWO,
    "x % s": lambda t, x: x % TWO,
    "x // s": lambda t, x: x // TWO,
    "x > s": lambda t, x: x > TWO,
    "mul": lambda t, x: x.mul(TWO),
    "mul_": lambda t, x: x.clone().mul_(TWO),
    "add alpha": lambda t, x: x.clone().add_(x, alpha=TWO),
    "add whole alpha": lambda t, x: t.add(x, x, alpha=np.int64(2)),
    "sub single alpha": lambda t, x: t.sub(x, x, alpha=np.float32(0.5)),
    "clamp": lambda t, x: x.clamp(min=HALF, max=TWO),
    "where": lambda t, x: t.where(x > 1, x, TWO),
    "fill_": lambda t, x: x.clone().fill_(TWO),
    "lerp": lambda t, x: t.lerp(x, x + 1, HALF),
    "addcmul": lambda t, x: t.addcmul(x, x, x, value=np.int64(2)),
    "full_like": lambda t, x: t.full_like(x, TWO),
    "masked_fill": lambda t, x: x.masked_fill(x > 1, TWO),
    "norm": lambda t, x: t.norm(x, TWO),
    "leaky_relu": lambda t, x: t.nn.functional.leaky_relu(x, HALF),
    "elu": lambda t, x: t.nn.functional.elu(x, TWO),
    "softplus": lambda t, x: t.nn.functional.softplus(x, TWO),
    "dropout": lambda t, x: t.nn.functional.dropout(x, HALF),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (2,), eps=np.float64(1e-5)),
    "huber": lambda t, x: t.nn.functional.huber_loss(x, x * 2, delta=TWO),
    "normal": lambda t, x: t.normal(TWO, TWO, (2,)),
    "uniform_": lambda t, x: x.clone().uniform_(0, TWO),
    "log_prob": lambda t, x: t.distributions.Normal(x, TWO).log_prob(x),
    "sgd": lambda t, x: stepped(t, x, lambda p: t.optim.SGD(p, lr=HALF)),
    "adam": lambda t, x: stepped(t, x, lambda p: t.optim.Adam(p, lr=HALF)),
    "init": lambda t, x: t.nn.init.normal_(x.clone(), 0.0, TWO),
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
@pytest.mark.parametrize("name", CASES)
def test_dtype_and_value(name, dtype):
    def seen(t):
        t.manual_seed(0)
        try:
            result = CASES[name](t, t.tensor([1, 2], dtype=getattr(t, dtype)))
        except Exception as error:
            return type(error).__name__, None
        return str(result.dtype), result.detach().double().numpy()

    (kind, ours), (expected, theirs) = seen(pullback), seen(torch)
    assert kind == expected or (ours is None and theirs is None)
    if ours is not None:
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_a_number_before_a_tensor_keeps_its_digits(name):
    function, values = getattr(np, name), np.array([3.0, 7.0])
    for number in (0.7, np.float64(0.7)):
        result = function(number, pullback.tensor(values))
        np.testing.assert_array_equal(result.numpy(), function(number, values))
    single = function(np.float64(0.7), pullback.tensor(values, dtype=pullback.float32))
    assert single.dtype is pullback.float32
