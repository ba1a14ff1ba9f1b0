"""Gradients where a function has none: at kinks, ties, zeros and infinities they are what torch says they are."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

INPUTS = {
    "small integers": ([[-2.0, -1, 0], [1, 0, 1], [2, 2, -1]], [[0.0, -1, 0], [1, 2, -1], [-2, 2, 3]]),
    "all equal": ([[1.0] * 3] * 3, [[1.0] * 3] * 3),
    "zeros": ([[0.0] * 3] * 3, [[0.0] * 3] * 3),
    "halves": ([[-0.5, 0.5, 1.5], [3, -3, 6], [0, 0.5, -1]], [[0.5, 0.5, -1], [1, 3, 0], [0, 0.5, 2]]),
    "infinities": (
        [[float("inf"), 1, 0], [-float("inf"), 2, 2], [0, 1, 1]],
        [[1.0, 1, 0], [2, float("inf"), 2], [1, 0, 1]],
    ),
}
EXPRESSIONS = """
x.abs()
x.sign()
x.relu()
x.clamp(0, 1)
x.clamp(min=0)
x.clamp(max=y)
x.clamp(y, y)
t.maximum(x, y)
t.minimum(x, y)
t.fmax(x, y)
t.fmin(x, y)
x.max()
x.min()
x.max(0)[0]
x.min(1)[0]
x.amax()
x.amax(0)
x.amin((0, 1))
x.aminmax(dim=0)[1]
x.median()
x.median(0)[0]
x.sort()[0]
x.cummax(0)[0]
x.cummin(1)[0]
x.prod()
x.prod(0)
x.cumprod(0)
x.norm()
x.norm(1)
x.norm(float("inf"))
x.norm(0)
x.norm(3, dim=0)
x.norm(float("inf"), dim=0)
x.std()
x.var(0)
x.logsumexp(0)
x.softmax(0)
x.log_softmax(1)
x.cumsum(0).relu()
x.sqrt()
x.rsqrt()
x.log()
x.log1p()
x.reciprocal()
x ** 2
x ** 0
x ** 0.5
x ** 1.5
2 ** x
0 ** x
x ** y
x / y
x % y
t.fmod(x, 2)
x.floor()
x.frac()
x.round()
t.atan2(x, y)
t.hypot(x, y)
t.logaddexp(x, y)
t.xlogy(x, y)
t.special.xlog1py(x, y)
t.nextafter(x, y)
t.copysign(x, y)
t.sinc(x)
t.erfinv(x)
x.acos()
x.asin()
x.atanh()
x.acosh()
x.angle()
t.nan_to_num(x)
t.lerp(x, y, 0.5)
t.where(x > 0, x.log(), y)
t.dist(x, y)
t.dist(x, y, 1)
t.cdist(x, y)
t.cdist(x, y, p=1)
t.cdist(x, x)
t.renorm(x, 2, 0, 1.0)
t.trapezoid(x, y)
t.quantile(x, 0.5)
t.nanmedian(x)
t.scatter_reduce(x, 0, i, y, "amax")
t.scatter_reduce(x, 0, i, y, "prod")
t.scatter_reduce(x, 0, i, y, "amin", include_self=False)
t.index_reduce(x, 0, i[0], y, "amax")
t._segment_reduce(x.flatten(), "max", lengths=t.tensor([2, 3, 4]), initial=1)
t._segment_reduce(x.flatten() * float("nan"), "min", lengths=t.tensor([2, 3, 4]), initial=1)
F.relu6(x)
F.hardtanh(x)
F.hardsigmoid(x * 3)
F.hardswish(x * 3)
F.hardshrink(x)
F.softshrink(x)
F.threshold(x, 1, 5)
F.leaky_relu(x)
F.elu(x)
F.celu(x)
F.selu(x)
F.prelu(x, y[0, :1])
F.rrelu(x)
F.softsign(x)
F.logsigmoid(x)
F.softplus(x)
F.glu(x[:, :2])
F.normalize(x)
F.cosine_similarity(x, y)
F.pairwise_distance(x, y)
F.l1_loss(x, y)
F.smooth_l1_loss(x, y)
F.huber_loss(x, y)
F.margin_ranking_loss(x, y, t.ones(3, 3))
F.hinge_embedding_loss(x, t.tensor([1.0, -1, 1]))
F.cosine_embedding_loss(x, y, t.tensor([1.0, -1, 1]))
F.triplet_margin_loss(x, y, x + 1)
F.multi_margin_loss(x, i[0])
F.multi_margin_loss(x, i[0], p=2)
F.multilabel_margin_loss(x, t.tensor([[1, -1, 0], [0, 2, -1], [2, -1, -1]]))
F.kl_div(x, y.abs())
F.poisson_nll_loss(x, y.abs(), full=True)
F.gaussian_nll_loss(x, y, t.zeros(3, 3))
F.binary_cross_entropy(x.clamp(0, 1), y.clamp(0, 1))
F.max_pool1d(x, 2)
F.max_pool2d(x[None, None], 2, 1)
F.adaptive_max_pool1d(x, 1)
F.lp_pool1d(x[None], 2, 2)
F.interpolate(x[None], 4)
""".strip().splitlines()
# Torch's Stirling term has NaN for targets it is not used for; and products of zeros and infinities are taken in other orders.
LEFT_OUT = {
    *(("F.poisson_nll_loss(x, y.abs(), full=True)", given) for given in INPUTS if given != "all equal"),
    *((expression, "infinities") for expression in ("x.prod()", "x.cumprod(0)", "x ** 0.5", "x % y")),
    ("F.multi_margin_loss(x, i[0], p=2)", "infinities"),
}


def gradients(t, expression, values):
    x, y = (t.tensor(one, dtype=t.float64, requires_grad=True) for one in values)
    names = {"t": t, "F": t.nn.functional, "x": x, "y": y, "i": t.tensor([[0, 1, 1], [0, 0, 2], [2, 1, 0]])}
    t.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = eval(expression, names)
        except (RuntimeError, ValueError) as error:
            return type(error)
        if not out.requires_grad:
            return None
        weights = t.arange(1.0, out.numel() + 1, dtype=t.float64).reshape(out.shape)
        found = t.autograd.grad(out, (x, y), weights, allow_unused=True)
    return [np.zeros((3, 3)) if one is None else one.numpy() for one in found]


@pytest.mark.parametrize(
    ("expression", "given"), [(one, given) for one in EXPRESSIONS for given in INPUTS if (one, given) not in LEFT_OUT]
)
def test_gradients_where_torch_chooses_one(expression, given):
    want, got = (gradients(t, expression, INPUTS[given]) for t in (torch, pullback))
    if want is None or isinstance(want, type):
        assert got is want or issubclass(got, want)
        return
    for found, expected in zip(got, want, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


NAN = float("nan")
OF_NAN = """t.maximum(x, y)|t.minimum(x, y)|t.fmax(x, y)|t.fmin(x, y)|x.max()|x.min()|x.max(1)[0]|x.amax()|x.amax(1)|x.amin(0)
|t.aminmax(x, dim=1)[0]|x.relu()|x.clamp(0, 1)|x.clamp(y, x)|t.where(x > 0, x, y)|x.masked_fill(x > 0, 1.0)"""


@pytest.mark.parametrize("expression", OF_NAN.replace("\n", "").split("|"))
def test_gradients_of_nan(expression):
    """Both operands of an extremum get the gradient where one is NaN; what equals no maximum gets NaN."""
    values = ([[1.0, NAN, 2], [0, 0, 1], [NAN, 3, 3]], [[NAN, NAN, 2.0], [0, 1, NAN], [1, 3, 2]])
    want, got = (gradients(t, expression, values) for t in (torch, pullback))
    for found, expected in zip(got, want, strict=True):
        np.testing.assert_allclose(found, expected)


CONSTANT = "sign floor ceil trunc round zero_ fill_ bernoulli_".split()


@pytest.mark.parametrize("name", CONSTANT)
def test_an_infinite_gradient_stops_at_a_constant(name):
    """Zero times infinity is no number, but what does not depend on x has gradient zero."""
    found = []
    for t in (torch, pullback):
        x = t.tensor([0.0, 0.5], requires_grad=True)
        args = (0.0,) if name in ("fill_", "bernoulli_") else ()
        getattr(x.clone(), name)(*args).sqrt().sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1] == [0.0, 0.0]


STRAIGHT = {
    "relu": "F.relu(x)",
    "relu6": "F.relu6(x)",
    "threshold": "F.threshold(x, 0.1, 0.2)",
    "leaky_relu": "F.leaky_relu(x, 0.2)",
    "rrelu": "F.rrelu(x, 0.1, 0.3)",
    "prelu": "F.prelu(x, w)",
    "hardtanh": "F.hardtanh(x, -0.5, 0.5)",
    "hardshrink": "F.hardshrink(x, 0.3)",
    "softshrink": "F.softshrink(x, 0.3)",
}


@pytest.mark.parametrize("name", STRAIGHT)
def test_second_derivatives_of_straight_pieces_are_zero_not_missing(name):
    """Zeros where a Laplacian or a penalty asks for them, along torch's nodes, with and without a graph of the weights."""
    answers = []
    for t in (torch, pullback):
        x = t.tensor([[-2.0, -0.2, 0.7], [1.5, 0.15, 8.0]], requires_grad=True)
        w, c = t.tensor([0.25], requires_grad=True), t.ones(2, 3, requires_grad=True)
        y = eval(STRAIGHT[name], {"F": t.nn.functional, "x": x, "w": w})
        (slope,) = t.autograd.grad(y, x, c, create_graph=True)
        found = t.autograd.grad((slope**2).sum(), [x, c, w], allow_unused=True)
        shown = [None if one is None else one.tolist() for one in found]
        answers.append((slope.grad_fn.name(), slope.tolist(), shown))
    assert answers[0] == answers[1]


def test_the_laplacian_of_a_network_with_kinks_is_zero():
    """Inside vmap and forward mode as well: the operation that a recorded pass records has rules of its own."""
    pullback.manual_seed(0)
    net = pullback.nn.Sequential(pullback.nn.Linear(2, 4), pullback.nn.LeakyReLU(), pullback.nn.Linear(4, 1))
    x = pullback.randn(5, 2, requires_grad=True)
    (first,) = pullback.autograd.grad(net(x).sum(), x, create_graph=True)
    (second,) = pullback.autograd.grad(first.sum(), x, retain_graph=True)
    assert second.tolist() == [[0.0, 0.0]] * 5
    first.square().sum().backward()
    assert net[0].bias.grad.tolist() == [0.0] * 4 and net[0].weight.grad.abs().sum() > 0
    of_one = lambda row: net(row).sum()
    hessians = pullback.func.vmap(pullback.func.hessian(of_one))(x.detach())
    assert hessians.tolist() == [[[0.0, 0.0]] * 2] * 5
    assert pullback.func.vmap(pullback.func.grad(of_one))(x.detach()).tolist() == first.tolist()


NAN, INF = float("nan"), float("inf")
LARGEST = """
x.max()
x.min()
x.max(0)[0]
x.amax()
x.amin(0)
t.zeros(2).scatter_reduce(0, i, x, "amax")
t.zeros(2).scatter_reduce(0, i, x, "amin", include_self=False)
t.zeros(2).index_reduce(0, i, x, "amax")
x.scatter_reduce(0, i, t.ones(3), "amin")
x.scatter_reduce(0, i, t.tensor([float("nan"), 1.0, 1.0]), "amax")
"""


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("weight", [1.0, 0.0, NAN, INF])
@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [2.0, 2.0, -1.0], [1.0, NAN, 3.0]])
@pytest.mark.parametrize("row", LARGEST.strip().splitlines())
def test_slopes_of_extremes_where_values_or_cotangents_are_no_numbers(row, values, weight):
    found = []
    for library in (torch, pullback):
        x = library.tensor(values, requires_grad=True)
        out = eval(row, {"t": library, "x": x, "i": library.tensor([0, 0, 1])})
        found.append(library.autograd.grad(out, x, library.full_like(out, weight))[0].numpy())
    np.testing.assert_array_equal(found[1], found[0])


def test_repeated_elements_keep_nothing_for_backward():
    for repeats in (2, 0, 1):
        for dim in (None, 0, -1):
            x = pullback.tensor([[1.0, 2.0]], requires_grad=True)
            out = x.repeat_interleave(repeats, dim)
            for _ in range(2):
                out.backward(pullback.ones_like(out))
            assert x.grad.tolist() == [[2.0 * repeats] * 2]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    "row", ["x.std()", "x.std(0)", "x.std(1, keepdim=True)", "t.std_mean(x)[0]", "x.var()", "x.norm()"]
)
@pytest.mark.parametrize("size", [1e18, 1e20, 1e30])
def test_deviations_of_large_numbers_do_not_overflow(row, size):
    """Their squares do, in single precision."""
    found = []
    for library in (torch, pullback):
        x = library.tensor([[size, -size, 0.0], [size, 2 * size, -size]], requires_grad=True)
        out = eval(row, {"t": library, "x": x})
        found.append([out.detach().numpy(), library.autograd.grad(out.sum(), x)[0].numpy()])
    for got, want in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
