"""Batches of small products on several threads: the same numbers as `np.matmul`."""

from __future__ import annotations

import numpy as np
import pytest

from pullback.kernels import threads
from pullback.kernels.products import batched_product

CASES = [
    ((16, 96, 48), (16, 48, 96)),
    ((4, 4, 128, 64), (4, 4, 64, 128)),
    ((1, 16, 128, 64), (1, 16, 64, 70)),
    ((7, 200, 64), (7, 64, 100)),
    ((2, 3, 5, 4), (1, 3, 4, 6)),
    ((5, 300, 20), (1, 20, 300)),
    ((0, 3, 4), (0, 4, 5)),
]


@pytest.fixture(autouse=True)
def three_threads():
    before = threads.get_num_threads()
    threads.set_num_threads(3)
    yield
    threads.set_num_threads(before)


@pytest.mark.parametrize(("left", "right"), CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_as_matmul(left: tuple, right: tuple, dtype: type) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(left).astype(dtype), rng.standard_normal(right).astype(dtype)
    out = batched_product(a, b)
    assert out.dtype == dtype
    np.testing.assert_allclose(out, a @ b, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-4)


def test_views_with_exchanged_axes() -> None:
    rng = np.random.default_rng(1)
    packed = rng.standard_normal((4, 128, 3, 4, 64)).astype(np.float32)
    query, key, _ = packed.transpose(2, 0, 3, 1, 4)
    np.testing.assert_allclose(
        batched_product(query, key.swapaxes(-1, -2)), query @ key.swapaxes(-1, -2), rtol=1e-4, atol=1e-4
    )
