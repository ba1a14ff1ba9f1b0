"""Products and sums cut into pieces for our threads give what NumPy gives, and leave BLAS as it was."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pullback.kernels import products, threads


@pytest.fixture(params=[1, 2, 3])
def thread_count(request, set_threads):
    set_threads(request.param)
    return request.param


def values(shape, dtype="float32", seed=0):
    generator = np.random.default_rng(seed)
    array = generator.standard_normal(shape)
    return (array + 1j * generator.standard_normal(shape) if dtype == "complex64" else array).astype(dtype)


SHAPES = [
    ((3, 4), (4, 5)), ((70, 60), (60, 50)), ((400, 200), (200, 300)), ((100, 500), (500, 601)), ((500, 300), (300,)),
    ((300,), (300, 500)), ((5000,), (5000,)), ((0, 5000), (5000, 7)), ((5000, 0), (0, 7)), ((260, 90), (90, 10)),
    ((130, 100), (100, 32)), ((90, 700), (700, 10)), ((9, 900), (900, 70)), ((40, 5000), (5000, 16)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64"])
@pytest.mark.parametrize("layout", ["rows", "columns", "a weight's gradient"])
def test_product_is_dot(shapes, dtype, layout, thread_count, monkeypatch):
    monkeypatch.setattr(products, "LARGE_PRODUCT", 1 << 20)
    monkeypatch.setattr(products, "UNPACKED_PRODUCT", 100_000)
    monkeypatch.setattr(products, "LARGE_NARROW_PRODUCT", 400_000)
    a, b = values(shapes[0], dtype), values(shapes[1], dtype, 1)
    if layout != "rows":
        a = np.asfortranarray(a)
    if layout == "columns":
        b = np.asfortranarray(b)
    ours, expected = products.product(a, b), a.dot(b)
    assert ours.dtype == expected.dtype and ours.shape == expected.shape
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-4 if dtype != "float64" else 1e-10)


BATCHES = [
    ((16, 96, 48), (16, 48, 96)), ((4, 4, 128, 64), (4, 4, 64, 128)), ((1, 16, 128, 64), (1, 16, 64, 70)),
    ((7, 200, 64), (7, 64, 100)), ((2, 3, 5, 4), (1, 3, 4, 6)), ((5, 300, 20), (1, 20, 300)), ((0, 3, 4), (0, 4, 5)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", BATCHES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batches_of_products(shapes, dtype, thread_count):
    a, b = values(shapes[0], dtype), values(shapes[1], dtype, 1)
    ours = products.batched_product(a, b)
    assert ours.dtype == dtype
    np.testing.assert_allclose(ours, a @ b, rtol=1e-4, atol=1e-4 if dtype == "float32" else 1e-11)


def test_heads_that_lie_side_by_side(thread_count):
    query, key, _ = values((4, 128, 3, 4, 64)).transpose(2, 0, 3, 1, 4)
    transposed = key.swapaxes(-1, -2)
    np.testing.assert_allclose(products.batched_product(query, transposed), query @ transposed, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(3, 4), (700, 60), (2000, 600), (3, 500_000)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sum_of_rows(shape, dtype, thread_count):
    x = values(shape, dtype)
    ours = products.sum_of_rows(x, np.ones(shape[0], dtype))
    assert ours.dtype == dtype
    np.testing.assert_allclose(ours, x.astype(np.float64).sum(0), rtol=1e-4, atol=1e-3 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 300_001, 1 << 21])
def test_total_is_as_exact_as_a_pairwise_sum(size, thread_count):
    x = np.abs(values(size)) + 1
    assert products.total(x) == pytest.approx(x.sum(dtype=np.float64), rel=3e-7)
    assert products.total(x).dtype == np.float32


def test_blas_keeps_its_threads():
    blas = threads.single_threaded_blas
    if not blas.known():
        pytest.skip("only OpenBLAS can be asked")
    before = blas.functions[0]()
    products.product(values((400, 400)), values((400, 400)))
    with pytest.raises(ValueError, match="shapes"):
        products.product(values((400, 300)), values((400, 400)))
    assert blas.functions[0]() == before and blas.depth == 0


@pytest.mark.parametrize(("setting", "expected"), [("1", 1), ("3", 3), ("3,2", 3), ("many", None), ("0", None)])
def test_the_number_of_threads_can_be_set_from_outside(setting, expected):
    program = "from pullback.kernels.threads import get_num_threads; print(get_num_threads())"
    surroundings = {**os.environ, "OMP_NUM_THREADS": setting}
    answer = subprocess.run(
        [sys.executable, "-c", program], env=surroundings, capture_output=True, text=True, check=True
    )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert int(answer.stdout) == (expected or cores)
