"""Sorting, searching, counting and distinct values against torch."""

from __future__ import annotations

import numpy as np
import pytest
from against_torch import both_refuse, compare

import pullback

RANDOM = np.random.default_rng(4)
X = RANDOM.normal(size=(4, 5))
REPEATED = RANDOM.integers(0, 4, (4, 5))
EDGES = np.array([-1.0, -0.2, 0.3, 1.1])

CALLS = [
    ("sort", lambda t, x: t.sort(x)),
    ("sort descending", lambda t, x: t.sort(x, 0, True)),
    ("argsort", lambda t, x: t.argsort(x, descending=True)),
    ("unique", lambda t, x: t.unique(x, return_inverse=True, return_counts=True)),
    ("unique dim", lambda t, x: t.unique(x, dim=0, return_counts=True)),
    ("unique_consecutive", lambda t, x: t.unique_consecutive(x, return_inverse=True, return_counts=True)),
    ("unique_consecutive dim", lambda t, x: t.unique_consecutive(x, dim=1)),
    ("nonzero", lambda t, x: t.nonzero(x)),
    ("nonzero tuple", lambda t, x: t.nonzero(x, as_tuple=True)),
    ("argwhere", lambda t, x: t.argwhere(x)),
    ("where", lambda t, x: t.where(x > 0)),
    ("nonzero_static", lambda t, x: t.nonzero_static(x, size=5, fill_value=-7)),
    ("isin", lambda t, x: t.isin(x, t.tensor([1, 3]), invert=True)),
    ("bucketize", lambda t, x: t.bucketize(x, t.tensor(EDGES))),
    ("bucketize right", lambda t, x: t.bucketize(x, t.tensor(EDGES), right=True, out_int32=True)),
    ("searchsorted", lambda t, x: t.searchsorted(x.sort(1)[0], x)),
    ("searchsorted side", lambda t, x: t.searchsorted(t.tensor(EDGES), x.double(), side="right")),
    ("searchsorted sorter", lambda t, x: t.searchsorted(x, x, sorter=t.argsort(x, 1))),
    ("count_nonzero", lambda t, x: t.count_nonzero(x, 0)),
    ("hash_tensor", lambda t, x: t.hash_tensor(x, 1)),
]


@pytest.mark.parametrize(("label", "call"), CALLS, ids=[row[0] for row in CALLS])
def test_positions(label: str, call) -> None:
    if "sort" not in label:
        compare(call, REPEATED)
    compare(call, X, order=0)
    compare(call, X.astype(np.float32), order=0)


HISTOGRAMS = [
    lambda t, x: t.histc(x, 6),
    lambda t, x: t.histc(x, 4, -1, 1),
    lambda t, x: t.histogram(x, 5),
    lambda t, x: t.histogram(x, 3, range=(-1.0, 1.0), density=True),
    lambda t, x: t.histogram(x, t.tensor(EDGES).to(x.dtype), weight=x.abs()),
    lambda t, x: t.histogramdd(x[:, :2], [2, 3]),
    lambda t, x: t.histogramdd(x[:, :2], [t.tensor(EDGES).to(x.dtype)] * 2, density=False),
    lambda t, x: t.histc(x * 0, 3),
    lambda t, x: t.histogram(x * 0 + 2, 2),
]


@pytest.mark.parametrize("number", range(len(HISTOGRAMS)))
def test_histograms(number: int) -> None:
    compare(HISTOGRAMS[number], X, order=0)
    compare(HISTOGRAMS[number], X.astype(np.float32), order=0)


def test_bincount() -> None:
    x = REPEATED.reshape(-1)
    compare(lambda t, x: t.bincount(x), x)
    compare(lambda t, x: t.bincount(x, minlength=9), x)
    compare(lambda t, x, w: t.bincount(x, w), x, X.reshape(-1), order=0)


def test_named_results() -> None:
    x = pullback.tensor(X)
    assert x.sort().values.shape == (4, 5) and x.max(0).indices.dtype == pullback.int64
    assert "torch.return_types.topk(\nvalues=" in repr(x.topk(2))
    assert pullback.histogram(x, 3).bin_edges.shape == (4,) and pullback.aminmax(x).max == x.max()


@pytest.mark.parametrize("values", ["distinct", "repeated", "with NaN", "integers"])
@pytest.mark.parametrize("dim", [0, 1])
def test_the_best_of_long_rows_are_those_of_the_stable_order(values: str, dim: int) -> None:
    array = np.random.default_rng(0).normal(size=(80, 90)) * 3
    array = array if values == "distinct" else np.round(array)
    if values == "with NaN":
        array[3, 4] = array[7, 7] = np.nan
    x = pullback.tensor(array.astype("int64") if values == "integers" else array)
    for largest in (True, False):
        expected = x.argsort(dim, descending=largest, stable=True).narrow(dim, 0, 6)
        assert values != "distinct" or pullback.equal(x.topk(6, dim, largest).indices, expected)
    order = x.argsort(dim, stable=True)
    for rank in (0, 17, 79):
        assert pullback.equal(x.kthvalue(rank + 1, dim).indices, order.select(dim, rank))
    if values != "with NaN":
        assert pullback.equal(x.median(dim).indices, order.select(dim, (x.size(dim) - 1) // 2))
    if values == "distinct":
        compare(lambda t, x: (x.topk(6, dim).values, x.kthvalue(18, dim).values, x.median(dim).values), array, order=1)


def test_sorting_is_stable_with_nan() -> None:
    x = np.array([3.0, np.nan, 1.0, 3.0, np.nan, 1.0])
    for descending in (False, True):
        compare(lambda t, x, down=descending: t.sort(x, descending=down, stable=True), x, order=0)


MISTAKES = [
    (RuntimeError, lambda t: t.bucketize(t.ones(2), t.ones(2, 2))),
    (RuntimeError, lambda t: t.histogramdd(t.ones(3, 2), [1, 1, 1])),
    (RuntimeError, lambda t: t.bincount(t.tensor([-1, 2]))),
    (RuntimeError, lambda t: t.searchsorted(t.ones(2, 3), t.ones(3, 3))),
    (RuntimeError, lambda t: t.histc(t.ones(2), 0)),
    (RuntimeError, lambda t: t.sort(t.ones(2, dtype=t.complex64))),
    (RuntimeError, lambda t: t.topk(t.ones(2, dtype=t.bool), 1)),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes(number: int) -> None:
    both_refuse(*MISTAKES[number])


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 16, 17, 40, 70, 300, 1500])
def test_topk_picks_the_same_of_equal_elements(length):
    random = np.random.default_rng(length)
    for levels in (1, 2, 9):
        for k in sorted({1, 2, length // 64, length // 9, length // 2, length - 1, length} & set(range(1, length + 1))):
            rows = random.integers(0, levels, (3, length)).astype(np.float32)
            rows[1].sort()
            rows[2, random.integers(0, length, length // 5)] = np.nan
            for x in (rows, rows.T, rows[0].astype(np.int64), rows[1:].astype(np.float16)):
                dim = 0 if x.shape[0] == length else -1
                compare(lambda t, x, k=k, dim=dim: t.topk(x, min(k, x.shape[dim]), dim, largest=k % 2 > 0), x, order=0)


def test_topk_of_many_equal_elements_is_not_slow():
    x = pullback.zeros(200, 5000)
    assert x.topk(9).indices.tolist()[7] == list(range(9))
