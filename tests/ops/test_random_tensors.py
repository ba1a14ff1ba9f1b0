"""Random tensors: the numbers, and the position of the stream afterwards, are torch's bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from against_torch import both_refuse, torch

import pullback

SHAPES = [(), (3,), (4, 5), (7, 3, 2)]


def same_draws(call) -> None:
    torch.manual_seed(5)
    pullback.manual_seed(5)
    want, got = call(torch), call(pullback)
    assert str(want.dtype) == str(got.dtype)
    if str(want.dtype) == "torch.bfloat16":
        want, got = want.float(), got.float()
    a, b = got.detach().numpy(), want.detach().numpy()
    assert a.shape == b.shape
    assert a.tobytes() == b.tobytes()
    assert pullback.get_rng_state().numpy().tobytes() == torch.get_rng_state().numpy().tobytes()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_new_tensors(shape: tuple) -> None:
    for kind in ("float32", "float64", "float16", "bfloat16", "complex64", "complex128"):
        same_draws(lambda t: t.rand(shape, dtype=getattr(t, kind)))
        same_draws(lambda t: t.randn(shape, dtype=getattr(t, kind)))
    same_draws(lambda t: t.randint(10, shape))
    same_draws(lambda t: t.randint(-3, 2**40, shape))
    same_draws(lambda t: t.randint(0, 5, shape, dtype=t.float32))
    same_draws(lambda t: t.rand_like(t.zeros(shape)))
    same_draws(lambda t: t.randn_like(t.zeros(shape), dtype=t.float64))
    same_draws(lambda t: t.randint_like(t.zeros(shape), 3, 9))


IN_PLACE = [
    ("uniform_", (-1, 2)),
    ("normal_", (1, 3)),
    ("random_", ()),
    ("random_", (7,)),
    ("random_", (2, 9)),
    ("bernoulli_", ()),
    ("bernoulli_", (0.3,)),
    ("exponential_", (2.0,)),
    ("cauchy_", ()),
    ("log_normal_", ()),
    ("geometric_", (0.3,)),
]


@pytest.mark.parametrize(("name", "args"), IN_PLACE)
def test_in_place(name: str, args: tuple) -> None:
    for shape in SHAPES:
        for kind in ("float32", "float64", "float16"):
            same_draws(lambda t: getattr(t.zeros(shape, dtype=getattr(t, kind)), name)(*args))
    # Tensors that are not contiguous are filled along their memory.
    same_draws(lambda t: getattr(t.zeros(4, 9).t(), name)(*args))
    same_draws(lambda t: getattr(t.zeros(5, 8)[:, ::2], name)(*args))
    same_draws(lambda t: getattr(t.zeros(9, 4, 3)[:, 1:].transpose(0, 1), name)(*args))


OTHERS = [
    lambda t: t.randperm(1000),
    lambda t: t.randperm(7, dtype=t.int32),
    lambda t: t.bernoulli(t.arange(50).reshape(5, 10) / 64),
    lambda t: t.bernoulli((t.arange(50).reshape(5, 10) / 64).t()),
    lambda t: t.bernoulli(t.zeros(5), 0.4),
    lambda t: t.zeros(4, 8).bernoulli_(t.arange(8) / 8),
    lambda t: t.multinomial(t.arange(1.0, 51).reshape(5, 10), 4),
    lambda t: t.multinomial(t.arange(1.0, 51), 40, True),
    lambda t: t.poisson(t.arange(50) / 2.0),
    lambda t: t.normal(t.arange(20.0), t.arange(20.0) / 4),
    lambda t: t.normal(t.arange(20.0), 2.0),
    lambda t: t.normal(2.0, t.arange(20.0)),
    lambda t: t.normal(2.1, t.arange(20.0).bfloat16()),
    lambda t: t.normal(2.1, t.arange(20.0).half()),
    lambda t: t.normal(t.arange(20.0).half(), t.arange(20.0).double() / 3),
    lambda t: t.normal(t.arange(20.0).double() / 3, t.arange(20.0).bfloat16()),
    lambda t: t.normal(2.0, 3.0, (4, 5)),
    lambda t: t.normal(t.zeros(4, 5), t.arange(5.0)),
    lambda t: t.binomial(t.full((16,), 30.0), t.arange(16) / 16),
    lambda t: t.rand(3, generator=t.Generator().manual_seed(7)),
    lambda t: t.rand(3, generator=t.Generator(device=None).manual_seed(7)),
    lambda t: t.zeros(9, dtype=t.bool).random_(),
    lambda t: t.zeros(9, dtype=t.uint8).random_(),
    lambda t: t.zeros(9, dtype=t.int64).geometric_(0.3),
    lambda t: t.zeros(9, dtype=t.bool).bernoulli_(0.2),
    lambda t: t.rand(2, out=t.zeros(2)),
    lambda t: t._standard_gamma(t.arange(1, 30) / 4.0),
]


@pytest.mark.parametrize("number", range(len(OTHERS)))
def test_other_samplers(number: int) -> None:
    same_draws(OTHERS[number])


def test_streams_are_saved_and_forked() -> None:
    def forked(t):
        with t.random.fork_rng():
            t.rand(3)
        return t.rand(3)

    same_draws(forked)
    generator = pullback.Generator()
    assert generator.initial_seed() == torch.Generator().initial_seed()
    generator.manual_seed(3)
    state = generator.get_state()
    first = pullback.rand(4, generator=generator)
    generator.set_state(state)
    assert pullback.equal(first, pullback.rand(4, generator=generator))
    theirs = torch.Generator()
    theirs.set_state(torch.from_numpy(state.numpy().copy()))
    assert np.array_equal(torch.rand(4, generator=theirs).numpy(), first.numpy())
    with pytest.raises(TypeError):
        pullback.set_rng_state(pullback.zeros(3))
    assert pullback.manual_seed(9) is pullback.default_generator is pullback.random.default_generator


def test_gradients_stop_at_samples() -> None:
    for library in (torch, pullback):
        x = library.ones(20, requires_grad=True)
        y = (x * 2).uniform_()
        assert y.grad_fn.name() == "UniformBackward0"
        y.sum().backward()
        assert not x.grad.any()
        library.bernoulli(x * 0.5).sum().backward()
        assert not x.grad.any()


def test_gamma_samples_follow_their_concentration() -> None:
    """The implicit derivative: moving the concentration moves the sample along its quantile."""
    special = pytest.importorskip("scipy.special")
    alpha = pullback.tensor(np.array([0.3, 1.0, 2.5, 8.0]), requires_grad=True)
    pullback.manual_seed(1)
    sample = pullback._standard_gamma(alpha)
    (slope,) = pullback.autograd.grad(sample.sum(), alpha)
    a, x = alpha.detach().numpy(), sample.detach().numpy()
    level = special.gammainc(a, x)
    near = (special.gammaincinv(a * (1 + 1e-5), level) - special.gammaincinv(a * (1 - 1e-5), level)) / (2e-5 * a)
    np.testing.assert_allclose(slope.numpy(), near, rtol=1e-6)


MISTAKES = [
    (RuntimeError, lambda t: t.zeros(3).uniform_(3, -1)),
    (RuntimeError, lambda t: t.zeros(3).normal_(0, -1)),
    (RuntimeError, lambda t: t.zeros(3).exponential_(0)),
    (RuntimeError, lambda t: t.zeros(3).bernoulli_(2.0)),
    (RuntimeError, lambda t: t.bernoulli(t.tensor([2.0]))),
    (RuntimeError, lambda t: t.randint(5, 3, (2,))),
    (TypeError, lambda t: t.randint(5, 2)),
    (RuntimeError, lambda t: t.randperm(-1)),
    (NotImplementedError, lambda t: t.rand(2, dtype=t.int64)),
    (RuntimeError, lambda t: t.multinomial(t.rand(3), 5)),
    (RuntimeError, lambda t: t.multinomial(t.rand(1, 2, 3), 1)),
    (TypeError, lambda t: t.normal(2.0, 3.0)),
    (RuntimeError, lambda t: t.normal(t.ones(1), -t.ones(1))),
    (NotImplementedError, lambda t: t._standard_gamma(t.ones(1).bfloat16())),
    (NotImplementedError, lambda t: t._sample_dirichlet(t.ones(1).half())),
    (RuntimeError, lambda t: t.poisson(-t.ones(1))),
    (TypeError, lambda t: t.rand(2, generator=3)),
    (RuntimeError, lambda t: t.randint(0, 300, (2,), dtype=t.uint8)),
    (RuntimeError, lambda t: t.zeros(3, dtype=t.int64).exponential_()),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes(number: int) -> None:
    both_refuse(*MISTAKES[number])


RANGES = [
    ("from is out of bounds", lambda t: t.empty(5, dtype=t.int8).random_(200, None)),
    ("to - 1 is out of bounds", lambda t: t.empty(5, dtype=t.bool).random_(0, 3)),
    ("to-from", lambda t: t.empty(5).uniform_(-3e38, 3e38)),
    ("to is out of bounds", lambda t: t.empty(5, dtype=t.float16).uniform_(0, 1e6)),
    ("range, but found from=3", lambda t: t.empty(5).uniform_(3, 1)),
    ("without overflow", lambda t: t.randperm(300, dtype=t.int8)),
    ("n cannot be greater than", lambda t: t.randperm(3000, dtype=t.float16)),
    ("does not match dtype of out", lambda t: t.rand(2, out=t.empty(2), dtype=t.float64)),
    ("does not match dtype of out", lambda t: t.randint(9, (2,), out=t.empty(2), dtype=t.int64)),
]


@pytest.mark.parametrize("number", range(len(RANGES)))
def test_ranges_that_a_dtype_cannot_hold(number: int) -> None:
    words, call = RANGES[number]
    both_refuse(RuntimeError, call, words)


@pytest.mark.parametrize(
    ("kind", "bounds"), [("float16", (0, 5000)), ("float16", (-5000, 2049)), ("bfloat16", (0, 999))]
)
def test_ranges_beyond_exact_integers_warn(kind: str, bounds: tuple) -> None:
    with pytest.warns(UserWarning, match="is out of bounds") as caught:
        same_draws(lambda t: t.empty(5, dtype=getattr(t, kind)).random_(*bounds))
    assert {warning.filename for warning in caught} == {__file__}


def test_generators_look_like_torchs() -> None:
    shown = [repr(t.manual_seed(0)).partition(" at 0x")[0] for t in (torch, pullback)]
    assert shown[0] == shown[1]


FROM_PARAMETERS = {
    "means": lambda t, x: t.normal(x, 0.5),
    "deviations": lambda t, x: t.normal(0.5, x),
    "means and deviations": lambda t, x: t.normal(x, x.detach()[:, None]),
    "bernoulli": lambda t, x: t.bernoulli(x),
    "poisson": lambda t, x: t.poisson(x),
}


@pytest.mark.parametrize("name", FROM_PARAMETERS)
def test_samples_depend_on_their_parameters_with_gradient_zero(name):
    def story(t):
        t.manual_seed(3)
        x = t.tensor([0.2, 0.7, 0.4], requires_grad=True)
        y = FROM_PARAMETERS[name](t, x)
        y.square().sum().backward()
        return y.tolist(), y.grad_fn.name(), x.grad.tolist()

    assert story(pullback) == story(torch)
