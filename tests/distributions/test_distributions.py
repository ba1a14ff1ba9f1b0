"""Every distribution against torch: properties, draws, densities, gradients, shapes and complaints."""

from __future__ import annotations

import importlib.util
import pathlib

import numpy as np
import pytest

import pullback
import pullback.distributions

torch = pytest.importorskip("torch")

_spec = importlib.util.spec_from_file_location("distribution_cases", pathlib.Path(__file__).with_name("cases.py"))
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)
CASES = cases.CASES
LIBRARIES = (pullback, torch)
pytestmark = pytest.mark.filterwarnings("ignore:Singular sample")
# Torch has its Bessel functions from a fit of seven digits, and some terms in single precision.
TOLERANCE = {"VonMises": 1e-6, "Multinomial": 1e-6, "GeneralizedPareto": 1e-5}


def both(name):
    return [CASES[name](library, library.distributions) for library in LIBRARIES]


def attempt(function):
    """The value of a function, or the type of its error."""
    try:
        return function()
    except Exception as error:
        return type(error)


def same(ours, theirs, name=""):
    if isinstance(theirs, type):
        assert ours is theirs
        return
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    tolerance = TOLERANCE.get(name, 3e-6 if theirs.dtype == torch.float32 else 1e-9)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("attribute", ["mean", "mode", "variance", "stddev"])
@pytest.mark.parametrize("name", CASES)
def test_properties(name, attribute):
    ours, theirs = (attempt(lambda d=d: getattr(d, attribute)) for d in both(name))
    same(ours, theirs, name)


@pytest.mark.parametrize("method", ["entropy", "perplexity", "enumerate_support"])
@pytest.mark.parametrize("name", CASES)
def test_methods(name, method):
    ours, theirs = (attempt(getattr(d, method)) for d in both(name))
    same(ours, theirs, name)


@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
@pytest.mark.parametrize("name", CASES)
def test_draws_come_from_torchs_stream(name, shape):
    results = []
    for library, distribution in zip(LIBRARIES, both(name)):
        library.manual_seed(3)
        results.append((distribution.sample(shape), library.rand(1).item()))
    same(results[0][0], results[1][0], name)
    assert not results[0][0].requires_grad
    assert results[0][1] == results[1][1]


@pytest.mark.parametrize("name", CASES)
def test_densities_and_distribution_functions(name):
    ours, theirs = both(name)
    torch.manual_seed(5)
    draws = theirs.sample((4,)).detach()
    values = pullback.tensor(draws.numpy())
    log_probs = [attempt(lambda d=d, v=v: d.log_prob(v)) for d, v in ((ours, values), (theirs, draws))]
    same(*log_probs, name)
    same(*[attempt(lambda d=d, v=v: d.cdf(v)) for d, v in ((ours, values), (theirs, draws))], name)
    uniform = np.random.RandomState(0).rand(*theirs.batch_shape)
    same(*[attempt(lambda d=d, t=t: d.icdf(t.tensor(uniform))) for d, t in zip((ours, theirs), LIBRARIES)], name)


DIFFERENTIABLE = {
    "Normal": lambda t, d, x: d.Normal(x[0], x[1]), "Laplace": lambda t, d, x: d.Laplace(x[0], x[1]),
    "Uniform": lambda t, d, x: d.Uniform(x[0] - 3, x[1]), "Gamma": lambda t, d, x: d.Gamma(x[0], x[1]),
    "Beta": lambda t, d, x: d.Beta(x[0], x[1]), "Dirichlet": lambda t, d, x: d.Dirichlet(x),
    "Gumbel": lambda t, d, x: d.Gumbel(x[0], x[1]), "Cauchy": lambda t, d, x: d.Cauchy(x[0], x[1]),
    "StudentT": lambda t, d, x: d.StudentT(x[0], x[1], x[1]), "Weibull": lambda t, d, x: d.Weibull(x[0], x[1]),
    "Exponential": lambda t, d, x: d.Exponential(x), "LogNormal": lambda t, d, x: d.LogNormal(x[0], x[1]),
    "Pareto": lambda t, d, x: d.Pareto(x[0], x[1]), "Kumaraswamy": lambda t, d, x: d.Kumaraswamy(x[0], x[1]),
    "MultivariateNormal": lambda t, d, x: d.MultivariateNormal(x, t.diag_embed(x)),
    "RelaxedBernoulli": lambda t, d, x: d.RelaxedBernoulli(x[0], logits=x),
    "RelaxedOneHotCategorical": lambda t, d, x: d.RelaxedOneHotCategorical(x[0], logits=x),
    "ContinuousBernoulli": lambda t, d, x: d.ContinuousBernoulli(logits=x),
    "LogisticNormal": lambda t, d, x: d.LogisticNormal(x, x),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_draws_densities_and_entropies(name):
    results = []
    for library in LIBRARIES:
        x = library.tensor([1.3, 0.7], dtype=library.float64, requires_grad=True)
        distribution = DIFFERENTIABLE[name](library, library.distributions, x)
        library.manual_seed(1)
        draw = distribution.rsample((3,))
        target = (draw * draw).sum() + distribution.log_prob(draw).sum()
        if not isinstance(attempt(distribution.entropy), type):
            target = target + distribution.entropy().sum()
        target.backward()
        results.append(x.grad.numpy())
    # Torch approximates the derivatives of gamma and beta draws to three or four digits.
    is_rough = name in ("Gamma", "Beta", "Dirichlet", "StudentT")
    np.testing.assert_allclose(results[0], results[1], rtol=1e-3 if is_rough else 1e-7)


@pytest.mark.parametrize("concentration", [1e-2, 0.3, 1.0, 7.0, 100.0, 1e3, 1e4, 1e5])
def test_gamma_draws_keep_their_place(concentration):
    draws = np.random.default_rng(0).gamma(concentration, size=300).clip(1e-30)
    results = []
    for library in (pullback, torch):
        arguments = (library.tensor(values) for values in (np.full(300, concentration), draws))
        results.append(library._standard_gamma_grad(*arguments).numpy())
    np.testing.assert_allclose(*results, rtol=1e-3)


def test_dirichlet_draws_keep_their_place():
    """The derivative of a draw against differences of the distribution function's inverse, for a closed form."""
    # Beta(a, 1) has F(x) = x**a, so a draw is u**(1/a) and moves by -x log(x) / a.
    a = pullback.tensor([0.3, 1.0, 4.0, 60.0, 900.0], dtype=pullback.float64, requires_grad=True)
    pullback.manual_seed(0)
    x = pullback.distributions.Beta(a, 1.0).rsample()
    x.sum().backward()
    values, concentration = x.detach().numpy(), a.detach().numpy()
    np.testing.assert_allclose(a.grad.numpy(), -values * np.log(values) / concentration, rtol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_shapes_expansion_and_text(name):
    ours, theirs = both(name)
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)
    assert ours.has_rsample == theirs.has_rsample
    assert ours.has_enumerate_support == theirs.has_enumerate_support
    assert ours.support.event_dim == theirs.support.event_dim
    assert ours.support.is_discrete == theirs.support.is_discrete
    assert repr(ours).replace("pullback", "torch") == repr(theirs)
    wide = (2, *theirs.batch_shape)
    torch.manual_seed(2)
    draws = theirs.sample().detach()
    ours, theirs = ours.expand(wide), theirs.expand(wide)
    assert tuple(ours.batch_shape) == wide and tuple(ours.event_shape) == tuple(theirs.event_shape)
    same(ours.log_prob(pullback.tensor(draws.numpy())), theirs.log_prob(draws), name)
    for library, distribution in zip(LIBRARIES, (ours, theirs)):
        library.manual_seed(9)
        distribution.drawn = distribution.sample((3,))
    same(ours.drawn, theirs.drawn, name)


MISTAKES = {
    "scale": lambda t, d: d.Normal(0.0, t.tensor([1.0, -1.0])),
    "nan": lambda t, d: d.Normal(t.tensor(float("nan")), 1.0),
    "text": lambda t, d: d.Normal("a", 1.0),
    "probs": lambda t, d: d.Bernoulli(1.5),
    "both": lambda t, d: d.Bernoulli(0.5, logits=0.1),
    "neither": lambda t, d: d.Categorical(),
    "scalar": lambda t, d: d.Categorical(t.tensor(0.3)),
    "simplex": lambda t, d: d.Categorical(t.tensor([-0.5, 1.5])),
    "interval": lambda t, d: d.Uniform(1.0, 0.0),
    "support": lambda t, d: d.Exponential(1.0).log_prob(t.tensor(-1.0)),
    "integer": lambda t, d: d.Poisson(1.0).log_prob(t.tensor(0.5)),
    "category": lambda t, d: d.Categorical(t.ones(3)).log_prob(t.tensor(3)),
    "number": lambda t, d: d.Normal(0.0, 1.0).log_prob(1.0),
    "event": lambda t, d: d.Dirichlet(t.ones(3)).log_prob(t.ones(2) / 2),
    "batch": lambda t, d: d.Normal(t.zeros(3), 1.0).log_prob(t.zeros(2)),
    "covariance": lambda t, d: d.MultivariateNormal(t.zeros(2), -t.eye(2)),
    "two": lambda t, d: d.MultivariateNormal(t.zeros(2), t.eye(2), t.eye(2)),
    "flat": lambda t, d: d.MultivariateNormal(t.zeros(2), t.ones(2)),
    "loc": lambda t, d: d.MultivariateNormal(t.tensor(1.0), t.eye(1)),
    "geometric": lambda t, d: d.Geometric(0.0),
    "multinomial": lambda t, d: d.Multinomial(t.tensor(3), t.ones(2)),
    "independent": lambda t, d: d.Independent(d.Normal(0.0, 1.0), 1),
    "transforms": lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
    "mixture": lambda t, d: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(t.zeros(2), 1.0)),
    "components": lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(3)), d.Normal(t.zeros(2), 1.0)),
    "dirichlet": lambda t, d: d.Dirichlet(t.tensor(1.0)),
    "lkj": lambda t, d: d.LKJCholesky(1),
    "no mode": lambda t, d: d.LogisticNormal(0.0, 1.0).mode,
    "subclass": lambda t, d: (
        type("Own", (d.Normal,), {"__init__": lambda self: d.Normal.__init__(self, 0.0, 1.0)})().expand([2])
    ),
    "unexpandable": lambda t, d: type("Own", (d.Distribution,), {"arg_constraints": {}})().expand([2]),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_raise_what_torch_raises(name):
    torch.distributions.Distribution.set_default_validate_args(True)  # packages that other tests import turn it off
    with pytest.raises(Exception) as expected:
        MISTAKES[name](torch, torch.distributions)
    with pytest.raises(type(expected.value)) as got:
        MISTAKES[name](pullback, pullback.distributions)
    text = str(expected.value).replace("torch", "").split("\n")[0]
    assert text[:70] in str(got.value).replace("torch", "").replace("pullback", "")


def test_validation_can_be_turned_off():
    d = pullback.distributions
    assert d.Normal(0.0, -1.0, validate_args=False).scale.item() == -1
    d.Distribution.set_default_validate_args(False)
    try:
        d.Exponential(1.0).log_prob(pullback.tensor(-1.0))
    finally:
        d.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError):
        d.Distribution.set_default_validate_args(3)


def test_distributions_of_ones_own():
    d = pullback.distributions

    class Point(d.Distribution):
        arg_constraints = {}

        def rsample(self, sample_shape=()):
            return pullback.zeros(self._extended_shape(sample_shape))

    point = Point(pullback.Size([2]))
    assert point.sample((3,)).shape == (3, 2) and repr(point) == "Point()"
    with pytest.warns(UserWarning, match="does not define `support`"):
        point._validate_sample(pullback.zeros(2))
    with pytest.raises(NotImplementedError):
        point.log_prob(pullback.zeros(2))
    with pytest.warns(FutureWarning):
        assert point.sample_n(4).shape == (4, 2)


def test_a_distribution_may_be_a_module():
    class Prior(pullback.distributions.Distribution, pullback.nn.Module):
        arg_constraints = {}

    assert list(Prior().named_modules()) and not list(Prior().parameters())


def test_slopes_of_draws_match_differences_of_their_distribution_functions():
    special = pytest.importorskip("scipy.special")
    from pullback.kernels import draw_slopes

    generator = np.random.default_rng(0)
    a, b = (10.0 ** generator.uniform(-1, 2, 9000) for _ in range(2))
    gammas, shares = generator.gamma(a).clip(1e-10), generator.beta(a, b).clip(1e-10, 1 - 1e-10)
    step = 1e-4 * a
    change = special.gammainc(a + step, gammas) - special.gammainc(a - step, gammas)
    density = np.exp((a - 1) * np.log(gammas) - gammas - special.gammaln(a))
    likely = density * gammas > 1e-4  # elsewhere differences have no digits left
    got = draw_slopes.gamma_slope(a, gammas)
    np.testing.assert_allclose(got[likely], (-change / (2 * step) / density)[likely], rtol=1e-4)
    change = special.betainc(a + step, b, shares) - special.betainc(a - step, b, shares)
    density = np.exp((a - 1) * np.log(shares) + b * np.log1p(-shares) - special.betaln(a, b))
    likely = density * shares > 1e-4
    got = draw_slopes.dirichlet_slope(shares, a, a + b)
    np.testing.assert_allclose(got[likely], (-change / (2 * step) / density)[likely], rtol=1e-4)


def test_singular_wishart_draws_are_drawn_again():
    pullback.manual_seed(1)
    wishart = pullback.distributions.Wishart(pullback.tensor([2.3, 9.0]), pullback.eye(3).expand(2, 3, 3))
    assert wishart.support.check(wishart.sample((500,))).all()
    assert not wishart.support.check(wishart.rsample((500,), max_try_correction=0)).all()
    assert wishart.sample().shape == (2, 3, 3)


def _densities(library):
    dist = library.distributions
    one, two = library.tensor(1.0), library.ones(2)
    return {
        "value": lambda v: dist.Gamma(2.0, 1.0).log_prob(v).sum(),
        "parameter": lambda v: dist.Normal(0.0, v).log_prob(one).sum(),
        "matrix": lambda v: dist.MultivariateNormal(v, library.eye(2)).log_prob(two),
        "matrix of each": lambda v: dist.MultivariateNormal(two, library.diag(v)).log_prob(two),
        "classes": lambda v: dist.Categorical(probs=v).log_prob(library.tensor(1)),
        "geometric": lambda v: dist.Geometric(v).log_prob(one).sum(),
        "distance": lambda v: dist.kl_divergence(dist.Normal(v, 1.0), dist.Normal(0.0, 1.0)).sum(),
    }


@pytest.mark.parametrize("name", _densities(pullback))
def test_checks_look_at_every_example_of_a_vmap(name):
    x = pullback.tensor([[0.1, 0.9], [0.4, 0.3], [0.7, 0.6]])
    function = _densities(pullback)[name]
    slopes = pullback.func.vmap(pullback.func.grad(function))(x)
    for row, slope in zip(x, slopes):
        np.testing.assert_allclose(slope.numpy(), pullback.func.grad(function)(row).numpy(), rtol=1e-5)
    if name in ("value", "parameter"):
        x[1, 0] = -1.0
        with pytest.raises(ValueError, match="invalid values"):
            pullback.func.vmap(function)(x)
