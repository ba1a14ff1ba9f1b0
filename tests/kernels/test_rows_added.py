"""Rows added at indices, by whichever way is quickest for their number and width, against one addition after the other."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
from pullback.kernels.groups import accumulate
from pullback.kernels.indices import add_slices

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
        add_slices(out, rows, values, fresh=not start.any())
        for row, value in zip(rows.tolist(), values):
            expected[row] += value
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum])
@pytest.mark.parametrize(("count", "size", "width"), SIZES)
def test_slices_are_combined_along_any_axis(count, size, width, ufunc, axis):
    random = np.random.default_rng(count)
    index = random.integers(0, size, count)
    shapes = [[3, width // 2], [3, width // 2]]
    for shape, length in zip(shapes, (size, count)):
        shape.insert(axis, length)
    out, values = (random.choice([-2.0, -1.0, 1.0, 2.0, 0.5], shape) for shape in shapes)
    expected = np.moveaxis(out.copy(), axis, 0)
    accumulate(ufunc, out, index, values, axis)
    for place, value in zip(index.tolist(), np.moveaxis(values, axis, 0)):
        expected[place] = ufunc(expected[place], value)
    np.testing.assert_allclose(np.moveaxis(out, axis, 0), expected, rtol=1e-12)


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
