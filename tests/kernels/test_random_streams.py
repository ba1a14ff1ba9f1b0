"""Every sampler against torch's CPU stream: each bit of each value, and the generator's state afterwards."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from collections.abc import Callable

import numpy as np
import pytest

import pullback.kernels.random.discrete as discrete
import pullback.kernels.random.gammas as gammas
import pullback.kernels.random.normals as normals
import pullback.kernels.random.rejection as rejection
import pullback.kernels.random.shuffling as shuffling
import pullback.kernels.random.streams as streams
from pullback.kernels.random.engine import DEFAULT_SEED, STATE_SIZE, Generator, default_generator

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() == "DEFAULT", reason="torch's scalar build rounds float32 differently"
)

SEEDS = (0, 1, 42, 2**32 - 1)
SIZES = (0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 100, 1000, 32768, 65537)
DTYPES: dict[str, np.dtype] = {
    name: np.dtype(name)
    for name in "float16 float32 float64 bool uint8 int8 int16 int32 int64 uint16 uint32 uint64".split()
}
try:
    import ml_dtypes

    DTYPES["bfloat16"] = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    pass
HALF = tuple(name for name in ("float16", "bfloat16") if name in DTYPES)
WIDE = ("float32", "float64")
FLOATS = HALF + WIDE
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint16", "uint32", "uint64")


GENERATOR = Generator()


def start(seed: int) -> Generator:
    """Ours and torch's global generator at the beginning of one stream."""
    torch.default_generator.manual_seed(seed)
    return GENERATOR.manual_seed(seed)


def assert_same(theirs: torch.Tensor, ours: np.ndarray, generator: Generator | None = None) -> None:
    assert tuple(theirs.shape) == ours.shape
    theirs = theirs.detach().contiguous()
    assert str(theirs.dtype) == f"torch.{ours.dtype.name}"
    assert ours.flags.c_contiguous
    their_bytes = theirs.reshape(-1).view(torch.uint8).numpy()
    our_bytes = ours.reshape(-1).view(np.uint8)
    width = ours.dtype.itemsize
    different = np.flatnonzero((their_bytes != our_bytes).reshape(-1, width).any(axis=1))
    assert different.size == 0, f"{different.size} of {ours.size} values differ, first at {different[0]}"
    if generator is not None:
        assert np.array_equal(torch.get_rng_state().numpy(), generator.state_bytes()), "the streams are out of step"


def empty(count: int, name: str) -> torch.Tensor:
    return torch.empty(count, dtype=getattr(torch, name))


# name, dtypes, torch's call, ours
Case = tuple[str, tuple[str, ...], Callable, Callable]
CASES: list[Case] = [
    ("rand", FLOATS, lambda n, d: torch.rand(n, dtype=getattr(torch, d)), streams.uniform),
    ("randn", FLOATS, lambda n, d: torch.randn(n, dtype=getattr(torch, d)), streams.standard_normal),
    ("exponential", FLOATS, lambda n, d: empty(n, d).exponential_(), streams.exponential),
    ("exponential 2.5", FLOATS, lambda n, d: empty(n, d).exponential_(2.5), lambda *a: streams.exponential(*a, 2.5)),
    ("cauchy", FLOATS, lambda n, d: empty(n, d).cauchy_(), streams.cauchy),
    ("cauchy 3, 0.7", FLOATS, lambda n, d: empty(n, d).cauchy_(3, 0.7), lambda *a: streams.cauchy(*a, 3, 0.7)),
    ("log_normal", FLOATS, lambda n, d: empty(n, d).log_normal_(), streams.log_normal),
    ("log_normal 0, 0.3", FLOATS, lambda n, d: empty(n, d).log_normal_(0, 0.3),
     lambda *a: streams.log_normal(*a, 0, 0.3)),
    ("geometric", FLOATS + INTEGERS, lambda n, d: empty(n, d).geometric_(0.6), lambda *a: streams.geometric(*a, 0.6)),
    ("random", FLOATS + INTEGERS + ("bool",), lambda n, d: empty(n, d).random_(), discrete.random),
    ("random 3, 50", UNSIGNED, lambda n, d: empty(n, d).random_(3, 50), lambda *a: discrete.randint(*a, 3, 50)),
    ("random 3..", FLOATS + INTEGERS, lambda n, d: empty(n, d).random_(3, None),
     lambda *a: discrete.randint(*a, 3, None)),
    ("random all bits", ("int64", "float32", "float64"), lambda n, d: empty(n, d).random_(-(2**63), None),
     lambda *a: discrete.randint(*a, -(2**63), None)),
    ("randperm", FLOATS + ("int32", "int64"), lambda n, d: torch.randperm(min(n, 2**8), dtype=getattr(torch, d)),
     lambda g, n, d: discrete.randperm(g, min(n, 2**8), d)),
]  # fmt: skip
for low, high in ((-0.3, 0.7), (2, 5.1), (-1 / math.sqrt(7), 1 / math.sqrt(7)), (0, 1e-3), (-5e-2, 5e-2), (3, 3)):
    CASES.append((
        f"uniform {low:.3g}, {high:.3g}", FLOATS,
        lambda n, d, low=low, high=high: empty(n, d).uniform_(low, high),
        lambda *a, low=low, high=high: streams.uniform(*a, low, high),
    ))  # fmt: skip
for mean, std in ((0.0, 0.02), (2.0, 3.0), (-1.5, 0.1), (0.5, 0.0)):
    CASES.append((
        f"normal {mean}, {std}", FLOATS,
        lambda n, d, mean=mean, std=std: empty(n, d).normal_(mean, std),
        lambda *a, mean=mean, std=std: streams.normal(*a, mean, std),
    ))  # fmt: skip
for low, high in ((0, 2), (0, 10), (-5, 7), (0, 100)):
    CASES.append((
        f"randint {low}, {high}", tuple(d for d in FLOATS + INTEGERS if low >= 0 or d != "uint8"),
        lambda n, d, low=low, high=high: torch.randint(low, high, (n,), dtype=getattr(torch, d)),
        lambda *a, low=low, high=high: discrete.randint(*a, low, high),
    ))  # fmt: skip
for low, high in ((0, 2**28 - 1), (0, 2**28), (0, 2**31), (0, 2**40), (-(2**40), 2**50), (-(2**62), 2**62 + 5)):
    CASES.append((
        f"randint {low}, {high}", ("int64",),
        lambda n, d, low=low, high=high: torch.randint(low, high, (n,), dtype=getattr(torch, d)),
        lambda *a, low=low, high=high: discrete.randint(*a, low, high),
    ))  # fmt: skip
for p in (0.0, 0.1, 0.5, 0.9, 1.0):
    CASES.append((
        f"bernoulli {p}", FLOATS + ("bool", "int64"),
        lambda n, d, p=p: empty(n, d).bernoulli_(p),
        lambda *a, p=p: discrete.bernoulli(*a, p),
    ))  # fmt: skip
for p in (0.1, 0.5, 0.9):
    CASES.append((
        f"dropout {p}", FLOATS,
        lambda n, d, p=p: torch.nn.functional.dropout(torch.ones(n, dtype=getattr(torch, d)), p),
        lambda g, n, d, p=p: discrete.dropout_mask(g, n, d, p),
    ))  # fmt: skip


@pytest.mark.parametrize(("name", "dtypes", "theirs", "ours"), CASES, ids=[case[0] for case in CASES])
def test_sampler_equals_torch(name: str, dtypes: tuple[str, ...], theirs: Callable, ours: Callable) -> None:
    for dtype in dtypes:
        for seed in SEEDS:
            for count in SIZES if seed == 42 else SIZES[1:11]:
                generator = start(seed)
                assert_same(theirs(count, dtype), ours(generator, count, DTYPES[dtype]), generator)


def test_samplers_interleave_on_one_stream() -> None:
    """A long random program of samplers: cached normals and positions carry over from each to the next."""
    choose = np.random.default_rng(5)
    generator = start(7)
    for _ in range(600):
        name, dtypes, theirs, ours = CASES[choose.integers(len(CASES))]
        dtype, count = dtypes[choose.integers(len(dtypes))], int(choose.choice(SIZES[:11]))
        assert_same(theirs(count, dtype), ours(generator, count, DTYPES[dtype]))
    assert np.array_equal(torch.get_rng_state().numpy(), generator.state_bytes())


AROUND_BLOCKS = [16 * k + d for k in (1, 2, 16, 128, 4096) for d in (-1, 0, 1)] + [  # blocks of 16, of words, of threads
    624, 625, 2047, 2048, 2049, 2064, 9984, 9985, 32767, 32769, 65535, 65536, 65552, 131073, 1_000_003,
]  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sampler", ["normal", "uniform"])
def test_sizes_around_block_boundaries(sampler: str, dtype: str) -> None:
    """After an odd number of words, with the state saved and restored in between."""
    for count in AROUND_BLOCKS:
        if count > 100_000 and dtype != "float32":
            continue
        generator = start(count)
        torch.rand(3), streams.uniform(generator, 3, DTYPES["float32"])
        for _ in range(2):  # the second time values of all the waiting words are remembered
            theirs = getattr(empty(count, dtype), f"{sampler}_")(0.25, 0.75)
            ours = getattr(streams, sampler)(generator, count, DTYPES[dtype], 0.25, 0.75)
            assert_same(theirs, ours, generator)
            generator.load_state_bytes(generator.state_bytes())


def test_remembered_values_never_show() -> None:
    """Small samples are cut out of values kept for all waiting words: other draws, seeds and states come in between."""
    choose = np.random.default_rng(2)
    generator = start(1)
    states: list[np.ndarray] = []
    small = [case for case in CASES if case[0] in ("rand", "randn", "exponential", "randint 0, 10", "bernoulli 0.5")]
    for step in range(1500):
        name, dtypes, theirs, ours = small[choose.integers(len(small))]
        dtype, count = dtypes[choose.integers(len(dtypes))], int(choose.choice([1, 2, 5, 10, 15, 16, 31, 100, 400]))
        result = ours(generator, count, DTYPES[dtype])
        assert_same(theirs(count, dtype), result)
        result[...] = 0  # belongs to the caller
        action = choose.integers(40)
        if action == 0:
            start(step)
        elif action == 1:
            states.append(generator.state_bytes())
            assert np.array_equal(torch.get_rng_state().numpy(), states[-1])
        elif action == 2 and states:
            state = states[choose.integers(len(states))]
            generator.load_state_bytes(state)
            torch.set_rng_state(torch.from_numpy(state))


def test_normals_have_no_negative_zero() -> None:
    """A uniform of zero makes a radius of zero, whatever the sign of the cosine."""
    bits = np.arange(16, dtype=np.uint32) << 20
    bits[:8] = 0
    values = normals.float32_box_muller(bits)
    assert not values.any() and not np.signbit(values).any()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 63, 64, 65, 5000, 32768, 32769, 32770, 200_003])
def test_randperm(count: int) -> None:
    for seed in SEEDS:
        generator = start(seed)
        assert_same(torch.randperm(count), discrete.randperm(generator, count), generator)


@pytest.mark.parametrize("count", [64, 65, 5000, 65_537, 131_074])
def test_randperm_without_lapack(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffling, "_lapack", lambda: None)
    generator = start(8)
    assert_same(torch.randperm(count), discrete.randperm(generator, count), generator)


def test_huge_randperm(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 214,748,364 on torch shuffles another way; too long for a test, so the rule is checked on a small size."""
    monkeypatch.setattr(discrete, "_INSIDE_OUT_FROM", 40_000)
    generator, same = Generator().manual_seed(1), Generator().manual_seed(1)
    expected: list[int] = []
    for step, bits in enumerate(same.bits64(40_000).tolist()):
        expected.append(step)
        target = bits % (step + 1)
        expected[step], expected[target] = expected[target], step
    assert discrete.randperm(generator, 40_000).tolist() == expected
    assert np.array_equal(generator.state_bytes(), same.state_bytes())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(5,), (6, 8), (40, 3)])
def test_normal_into_a_tensor_that_is_not_contiguous(dtype: str, shape: tuple[int, ...]) -> None:
    generator = start(3)
    target = torch.zeros(*shape, 2, dtype=getattr(torch, dtype))[..., 0]
    for mean, std in ((0.0, 1.0), (1.5, 0.3)):
        ours = streams.normal(generator, shape, DTYPES[dtype], mean, std, contiguous=False)
        assert_same(target.normal_(mean, std), ours, generator)


@pytest.mark.parametrize("own", FLOATS)
@pytest.mark.parametrize("of_p", FLOATS)
def test_bernoulli_of_an_array(own: str, of_p: str) -> None:
    generator = start(11)
    for shape in ((1,), (3, 5), (40, 50)):
        p = torch.rand(*shape, dtype=torch.float64).to(getattr(torch, of_p))
        streams.uniform(generator, shape, DTYPES["float64"])
        theirs = torch.empty(shape, dtype=getattr(torch, own)).bernoulli_(p)
        ours = discrete.bernoulli(generator, shape, DTYPES[own], p.double().numpy().astype(DTYPES[of_p]))
        assert_same(theirs, ours, generator)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("samples", "replacement"), [(1, False), (1, True), (3, False), (7, True), (50, True)])
def test_multinomial(dtype: str, samples: int, replacement: bool) -> None:
    if dtype == "bfloat16" and samples > 1 and not replacement:
        pytest.skip("equal scores are common in 8 bits, and torch's topk leaves their order open")
    for shape in ((5,), (1, 5), (4, 27), (3, 65), (2, 1000)):
        weights = torch.from_numpy(np.random.default_rng(1).random(shape) ** 3).to(getattr(torch, dtype))
        ours_weights = weights.double().numpy().astype(DTYPES[dtype])
        for seed in SEEDS:
            generator = start(seed)
            theirs = torch.multinomial(weights, samples, replacement)
            assert_same(theirs, discrete.multinomial(generator, ours_weights, samples, replacement), generator)


@pytest.mark.parametrize("weights", [[0.0, 0.0], [1.0, -1.0], [1.0, math.nan], [math.inf, 1.0]])
def test_multinomial_refuses_what_torch_refuses(weights: list[float]) -> None:
    with pytest.raises(RuntimeError) as theirs:
        torch.multinomial(torch.tensor(weights), 1)
    with pytest.raises(RuntimeError) as ours:
        discrete.multinomial(Generator(), np.array(weights), 1)
    assert str(theirs.value).split(" (")[0] in str(ours.value)


@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout_of_features_and_alpha(dtype: str) -> None:
    functional, shape = torch.nn.functional, (8, 6, 5, 4)
    x = torch.ones(shape, dtype=getattr(torch, dtype))
    generator = start(2)
    mask = discrete.dropout_mask(generator, discrete.feature_noise_shape(shape), DTYPES[dtype], 0.3)
    assert_same(functional.dropout2d(x, 0.3), np.broadcast_to(mask, shape).copy(), generator)
    for theirs, noise_shape in (
        (functional.alpha_dropout, shape),
        (functional.feature_alpha_dropout, discrete.feature_noise_shape(shape)),
    ):
        scale, shift = discrete.alpha_dropout_noise(generator, noise_shape, DTYPES[dtype], 0.3)
        ones = np.ones(shape, DTYPES[dtype])
        assert_same(theirs(x, 0.3, training=True), ones * scale + shift, generator)


@pytest.mark.parametrize("dtype", FLOATS[FLOATS.index("float16") + 1 :])  # torch has none for float16
def test_rrelu_noise(dtype: str) -> None:
    x = torch.linspace(-2, 1, 333).to(getattr(torch, dtype))
    generator = start(4)
    theirs = torch.nn.functional.rrelu(x, training=True)
    ours_x = x.double().numpy().astype(DTYPES[dtype])
    ours = ours_x * discrete.rrelu_noise(generator, ours_x, 1 / 8, 1 / 3)
    assert_same(theirs, ours.astype(ours_x.dtype), generator)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("count", [5, 700])
def test_rejection_samplers(dtype: str, count: int) -> None:
    def both(values: np.ndarray) -> tuple[torch.Tensor, np.ndarray]:
        return torch.from_numpy(values.astype(dtype)), values.astype(dtype)

    half = count // 2
    rate = np.concatenate([[0.0], np.linspace(0.01, 9.9, half), np.linspace(10, 300, half)])
    alpha = np.concatenate([np.linspace(0.05, 0.95, half), np.linspace(1, 30, half)])
    simplex = np.random.default_rng(0).random((half, 4)) * 3 + 0.2
    trials = np.concatenate([np.full(half, 8.0), np.linspace(20, 2000, half).round(), [0, 5, 5]])
    chance = np.concatenate([np.linspace(0.01, 0.99, half), np.linspace(0.02, 0.98, half), [0.5, 0, 1]])
    for seed in SEEDS:
        generator = start(seed)
        for _ in range(2):
            theirs, ours = both(rate)
            assert_same(torch.poisson(theirs), rejection.poisson(generator, ours), generator)
            theirs, ours = both(alpha)
            assert_same(torch._standard_gamma(theirs), gammas.standard_gamma(generator, ours), generator)
            for points in (simplex, simplex * 1e-3, simplex * 1e-30):  # small ones come close to the corners
                theirs, ours = both(points)
                assert_same(torch._sample_dirichlet(theirs), gammas.dirichlet(generator, ours), generator)
            (their_trials, our_trials), (their_chance, our_chance) = both(trials), both(chance)
            theirs = torch.binomial(their_trials, their_chance)
            assert_same(theirs, rejection.binomial(generator, our_trials, our_chance), generator)


@pytest.mark.parametrize("words", [0, 1, 600, 622, 623, 624, 625, 1245, 2500])
@pytest.mark.parametrize("count", [64, 200, 3000])
def test_what_rejection_reads_ahead_is_put_back(words: int, count: int) -> None:
    """The stream goes on, and its state is torch's, right after the last draw that was used, wherever that is."""
    for rate in (0.01, 0.5, 30.0):
        generator = start(words)
        torch.rand(words), streams.uniform(generator, words, DTYPES["float32"])
        for _ in range(3):
            rates = torch.full((count,), rate)
            assert_same(torch.poisson(rates), rejection.poisson(generator, rates.numpy()), generator)
        assert_same(torch.rand(700), streams.uniform(generator, 700, DTYPES["float32"]), generator)


@pytest.mark.parametrize("count", [16, 48, 4000, 300_000])
def test_logarithms_with_and_without_fused_products(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processors differ in whether NumPy's complex products are fused; the normals do not."""
    drawn = []
    for fused in {normals.complex_products_fuse(DTYPES["float32"]), False}:
        monkeypatch.setitem(normals._complex_product_fuses, DTYPES["float32"], fused)
        generator = start(7)
        drawn.append(streams.normal(generator, count, DTYPES["float32"]))
        assert_same(torch.randn(count), drawn[-1], generator)


@pytest.mark.parametrize("dtype", WIDE)
def test_rows_of_equal_parameters(dtype: str) -> None:
    """They are drawn together, and what follows them comes from where torch's stream is then."""
    rates = [np.full(40, 0.0), np.full(33, 0.3), np.full(500, 4.0), np.linspace(0, 30, 50), np.full(900, 45.0), [9.9]]
    trials = [
        np.full(40, 10),
        np.full(33, 10),
        np.full(700, 8),
        np.arange(50),
        np.full(900, 100),
        np.full(2000, 30_000),
    ]
    chance = [
        np.full(40, 0.0),
        np.full(33, 1.0),
        np.full(700, 0.6),
        np.full(50, 0.4),
        np.full(900, 0.8),
        np.full(2000, 0.3),
    ]
    rate, count, probability = (np.concatenate(parts).astype(dtype) for parts in (rates, trials, chance))
    for seed in SEEDS:
        generator = start(seed)
        assert_same(torch.poisson(torch.from_numpy(rate)), rejection.poisson(generator, rate), generator)
        theirs = torch.binomial(torch.from_numpy(count), torch.from_numpy(probability))
        assert_same(theirs, rejection.binomial(generator, count, probability), generator)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, 5, 8, 9, 40])
def test_poisson_and_binomial_numbers_of_few_elements(count: int, dtype: str) -> None:
    """Parameters of any kind, and some of no kind, next to each other."""
    choices = np.random.default_rng(count)
    for seed in range(20):
        generator = start(seed)
        rate = choices.choice([0.0, 0.2, 4.0, 9.99, 10.0, 60.0], count).astype(dtype)
        trials = choices.choice([-1.0, 0.0, 1.0, 20.0, 100.0, 3000.0], count).astype(dtype)
        chance = choices.choice([0.0, 0.1, 0.5, 0.77, 1.0, np.nan], count).astype(dtype)
        assert_same(torch.poisson(torch.from_numpy(rate)), rejection.poisson(generator, rate), generator)
        theirs = torch.binomial(torch.from_numpy(trials), torch.from_numpy(chance))
        assert_same(theirs, rejection.binomial(generator, trials, chance), generator)
    # Here torch never comes back.
    assert np.isnan(rejection.binomial(start(0), np.full(count, np.nan), np.full(count, 0.3))).all()


GAMMA_SHAPES = {
    "plain": [2.5],
    "one": [1.0],  # one normal of 140 is too small
    "large": [1e6],
    "raised": [0.5],
    "tiny": [1e-3],
    "in turn": [0.5, 2.0],
    "rows of both kinds": [0.5] * 30 + [2.0] * 70 + [0.0, 1.0] * 3 + [0.1] * 9 + [3.0] * 40,
    "zeros": [0.0],
}


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("kind", GAMMA_SHAPES)
def test_gammas(kind: str, dtype: str) -> None:
    """Many are drawn together; the stream goes on where torch's does, whatever was rejected and whichever normal waits."""
    for seed, count in enumerate((0, 1, 4, 5, 31, 33, 100, 2000, 5000)):
        alpha = np.resize(np.array(GAMMA_SHAPES[kind], dtype), count)
        generator = start(seed)
        for drawn in (0, 3, 16):  # an odd number of normals leaves one waiting
            assert_same(torch.randn(drawn), streams.normal(generator, drawn, DTYPES["float32"]), generator)
            ours = gammas.standard_gamma(generator, alpha)
            assert_same(torch._standard_gamma(torch.from_numpy(alpha)), ours, generator)


@pytest.mark.parametrize("categories", [1, 2, 3, 4, 5, 7, 8, 17, 20, 31, 33, 64, 200, 256])
def test_dirichlet_rows_are_summed_in_torchs_order(categories: int) -> None:
    alpha = np.linspace(0.5, 3, 40 * categories).reshape(5, 8, categories)
    generator = start(categories)
    ours = gammas.dirichlet(generator, alpha)
    assert_same(torch._sample_dirichlet(torch.from_numpy(alpha)), ours, generator)


@pytest.mark.parametrize("dtype", HALF)
def test_poisson_of_half_precision(dtype: str) -> None:
    rate = torch.linspace(0, 40, 300).to(getattr(torch, dtype))
    generator = start(6)
    ours = rejection.poisson(generator, rate.double().numpy().astype(DTYPES[dtype]))
    assert_same(torch.poisson(rate), ours, generator)


def test_fused_multiply_add_rounds_once() -> None:
    """Sums that fall half way between float32 numbers, where rounding twice would show, and float64 ones."""
    from fractions import Fraction

    choose = np.random.default_rng(0)
    a = choose.integers(1, 2**24, 2000).astype(np.float64) * 2.0**-24
    for c in (0.3, 1.0 + 2.0**-24, 2.0**-30):
        for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
            b, offset = dtype.type(0.7), dtype.type(c)
            ours = normals.fused_multiply_add(a.astype(dtype), b, offset, dtype)
            exact = [Fraction(float(x)) * Fraction(float(b)) + Fraction(float(offset)) for x in a]
            if dtype == np.float64:
                assert ours.tolist() == [float(value) for value in exact]
            else:
                assert all(_is_nearest_float32(value, rounded) for value, rounded in zip(exact, ours))
    # Just below half way above an odd number: a float64 sum lands on half way and would then go up to even.
    odd = np.float32(1 + 2.0**-23)
    product = np.array([odd * np.float32(2.0**-24)]), 1 - 2.0**-23
    assert normals.fused_multiply_add(*product, odd, np.dtype(np.float32))[0] == odd


def _is_nearest_float32(value: object, rounded: np.float32) -> bool:
    from fractions import Fraction

    error = abs(Fraction(float(rounded)) - value)
    return all(
        error <= abs(Fraction(float(np.nextafter(rounded, np.float32(end)))) - value) for end in (-np.inf, np.inf)
    )


# ---------------------------------------------------------------------- the generator


@pytest.mark.parametrize("seed", [-1, -(2**63), 0, 2**32, 2**32 + 5, 2**40 + 7, 2**63, 2**64 - 1])
def test_seeds(seed: int) -> None:
    generator = start(seed)
    assert generator.initial_seed() == torch.initial_seed()
    assert np.array_equal(torch.get_rng_state().numpy(), generator.state_bytes())
    assert_same(torch.rand(50), streams.uniform(generator, 50, DTYPES["float32"]), generator)


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 1.5, "3", None, True])
def test_seeds_refused(seed: object) -> None:
    with pytest.raises((RuntimeError, ValueError)) as theirs:
        torch.Generator().manual_seed(seed)
    with pytest.raises(theirs.type) as ours:
        Generator().manual_seed(seed)
    assert str(theirs.value) in str(ours.value)


def test_fresh_generators() -> None:
    assert Generator().initial_seed() == torch.Generator().initial_seed() == DEFAULT_SEED
    theirs = torch.rand(9, generator=torch.Generator())
    assert_same(theirs, streams.uniform(Generator(), 9, DTYPES["float32"]))
    assert Generator("cpu:0").device == "cpu"
    generator = Generator()
    assert generator.manual_seed(3) is generator
    assert generator.seed() == generator.initial_seed() != Generator().seed()
    for device in ("cuda", "meta", "nonsense"):
        with pytest.raises(RuntimeError):
            Generator(device)


def test_default_generator_starts_somewhere_new() -> None:
    assert default_generator.initial_seed() == default_generator.initial_seed() != DEFAULT_SEED
    assert np.array_equal(default_generator.clone_state().state_bytes(), default_generator.state_bytes())


@pytest.mark.parametrize("draws", [0, 1, 623, 624, 625, 1247, 1248, 1249])
@pytest.mark.parametrize("normals_drawn", [0, 2, 3])
def test_state_moves_between_torch_and_here(draws: int, normals_drawn: int) -> None:
    generator = start(9)
    torch.rand(draws), torch.randn(normals_drawn)
    streams.uniform(generator, draws, DTYPES["float32"])
    streams.standard_normal(generator, normals_drawn, DTYPES["float32"])
    state = generator.state_bytes()
    assert state.shape == (STATE_SIZE,) and state.dtype == np.uint8
    assert np.array_equal(torch.get_rng_state().numpy(), state)
    taken, given = Generator(), torch.Generator()
    taken.load_state_bytes(torch.get_rng_state().numpy())
    given.set_state(torch.from_numpy(state))
    pickled = pickle.loads(pickle.dumps(generator))
    for again in (taken, generator.clone_state(), copy.copy(generator), copy.deepcopy(generator), pickled):
        assert again.initial_seed() == 9
        assert_same(
            torch.cat([torch.randn(3, generator=given.clone_state()), torch.rand(700, generator=_after_three(given))]),
            np.concatenate(
                [
                    streams.standard_normal(again, 3, DTYPES["float32"]),
                    streams.uniform(again, 700, DTYPES["float32"]),
                ]
            ),
        )


def _after_three(generator: torch.Generator) -> torch.Generator:
    again = generator.clone_state()
    torch.randn(3, generator=again)
    return again


def test_bad_states_are_refused() -> None:
    for state, error in (
        (np.zeros(5, np.uint8), RuntimeError),
        (np.zeros(STATE_SIZE, np.float32), TypeError),
        ("state", TypeError),
        (np.zeros(STATE_SIZE, np.uint8), RuntimeError),
    ):
        generator = Generator().manual_seed(1)
        before = generator.state_bytes()
        with pytest.raises(error):
            generator.load_state_bytes(state)
        assert np.array_equal(generator.state_bytes(), before)


def test_threads_share_one_stream_without_tearing_it() -> None:
    """Draws of several threads are blocks of the one stream: sorted, they are what a single thread gets."""
    generator, blocks = Generator().manual_seed(5), []

    def draw() -> None:
        for _ in range(20):
            blocks.append(streams.standard_normal(generator, 4096, DTYPES["float32"]))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = Generator().manual_seed(5)
    expected = {streams.standard_normal(alone, 4096, DTYPES["float32"]).tobytes() for _ in range(80)}
    assert {block.tobytes() for block in blocks} == expected


def test_draws_of_all_sizes_and_states_in_between() -> None:
    """Words wait in the generator between calls; the state must never show it, wherever a block of 624 ends."""
    sizes = np.random.default_rng(0).integers(0, 700, 120).tolist()
    mine, theirs = Generator().manual_seed(3), torch.Generator().manual_seed(3)
    for step, size in enumerate(sizes):
        dtype = (np.float32, np.float64)[step % 3 == 0]
        expected = torch.rand(size, generator=theirs, dtype=torch.float64 if dtype is np.float64 else torch.float32)
        np.testing.assert_array_equal(streams.uniform(mine, size, np.dtype(dtype)), expected.numpy())
        if step % 5 == 0:
            state = mine.state_bytes()
            np.testing.assert_array_equal(state, theirs.get_state().numpy())
            mine = Generator()
            mine.load_state_bytes(state)


@pytest.mark.parametrize("seed", range(8))
def test_states_between_draws_of_all_sizes(seed):
    """Words are drawn some blocks ahead; the state shows where the stream stands all the same."""
    import random

    import pullback

    choices = random.Random(seed)
    sizes = [1, 3, 16, 24, 156, 311, 312, 313, 624, 625, 1248, 1300, 1872, 2496, 2497, 10000]
    samplers = [
        lambda library, n: library.rand(n), lambda library, n: library.randn(n), lambda library, n: library.randint(0, 9, (n,)),
        lambda library, n: library.empty(n).bernoulli_(0.3), lambda library, n: library.rand(n, dtype=library.float64),
    ]  # fmt: skip
    torch.manual_seed(seed)
    pullback.manual_seed(seed)
    for _ in range(50):
        size, sample = choices.choice(sizes), choices.choice(samplers)
        assert np.array_equal(sample(torch, size).numpy(), sample(pullback, size).numpy())
        state = pullback.get_rng_state()
        assert np.array_equal(torch.get_rng_state().numpy(), state.numpy())
        if choices.random() < 0.1:
            pullback.set_rng_state(state)
