"""Every sampler against torch's CPU stream: each bit of each value, and the generator's state afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import pullback.kernels.random.discrete as discrete
import pullback.kernels.random.gammas as gammas
import pullback.kernels.random.normals as normals
import pullback.kernels.random.rejection as rejection
import pullback.kernels.random.shuffling as shuffling
import pullback.kernels.random.streams as streams
from pullback.kernels.random.engine import Generator
from tests.kernels.random_draws import DTYPES, assert_same, start

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() == "DEFAULT", reason="torch's scalar build rounds float32 differently"
)

SEEDS = (0, 1, 42, 2**32 - 1)
SIZES = (0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 100, 1000, 32768, 65537)

HALF = tuple(name for name in ("float16", "bfloat16") if name in DTYPES)
WIDE = ("float32", "float64")
FLOATS = HALF + WIDE
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint16", "uint32", "uint64")


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
