"""Rows added at indices, by whichever way is quickest for their number and width, against one addition after the other."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
from pullback.ops.indexing import add_rows

SIZES = [
    (20, 100, 8),
    (40, 3, 2),
    (70, 500, 60),
    (300, 5, 65),
    (900, 40, 64),
    (6000, 20, 3),
    (700, 700, 9),
    (90, 8, 300),
]


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16, np.int64, np.complex64])
@pytest.mark.parametrize(("count", "size", "width"), SIZES)
def test_rows_are_added_up(count, size, width, kind):
    random = np.random.default_rng(count)
    rows = random.integers(-size, size, count)
    values = random.integers(-4, 5, (count, width)).astype(kind)
    for start in (np.zeros((size, width), kind), np.ones((width, size), kind).T):
        out, expected = start.copy("K"), start.copy()
        add_rows(out, rows, values, fresh=not start.any())
        for row, value in zip(rows.tolist(), values):
            expected[row] += value
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(("count", "size", "width"), SIZES)
def test_an_index_expanded_over_columns_means_rows(count, size, width):
    numbers = pullback.tensor(np.random.default_rng(width).integers(0, size, count))
    results = []
    for index in (numbers[:, None].expand(count, width), numbers[:, None].repeat(1, width)):
        x = pullback.ones(size, width, dtype=pullback.float64, requires_grad=True)
        source = pullback.tensor(np.arange(count * width).reshape(count, width) % 7.0, requires_grad=True)
        added, taken = x.scatter_add(0, index, source), x.gather(0, index)
        ((added**2).sum() + (taken * source).sum()).backward()
        results.append([each.tolist() for each in (added, taken, x.grad, source.grad)])
    assert results[0] == results[1]
