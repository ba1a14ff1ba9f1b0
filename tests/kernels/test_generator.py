"""The generator: seeds, states that travel to torch and back, threads, draws of every size in between."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import pullback.kernels.random.streams as streams
from pullback.kernels.random.engine import DEFAULT_SEED, STATE_SIZE, Generator, default_generator
from tests.kernels.random_draws import DTYPES, assert_same, start

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() == "DEFAULT", reason="torch's scalar build rounds float32 differently"
)


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
