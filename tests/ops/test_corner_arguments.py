"""Corners of arguments: shapes of `out=`, tensors inside lists, empty dims, and what is refused, each as torch has it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

# `t` is the library, `x` the numbers 0 to 5 as a 2 by 3 matrix, `part` two columns of a zero matrix.
LINES = """
t.arange(0, 4, out=part)
t.linspace(0, 3, 4, out=part)
t.logspace(0, 3, 4, out=part)
t.range(0, 3, out=part)
t.arange(0, 6, out=t.zeros(0))
t.linspace(0, 3 + 3j, 4, dtype=t.float32)
t.linspace(0, 3 + 3j, 4, dtype=t.complex64)
t.linspace(1, 2, 6, out=t.rand(1).expand(6))
t.add(x, x, out=t.rand(1, 3).expand(2, 3))
t.cat([x, x], out=t.rand(1, 3).expand(4, 3))
t.cat([t.empty(0), t.empty(0)], dim=1)
t.cat([t.empty(0, 0), t.empty(0)], dim=1)
t.cat([t.empty(0, 0), t.empty(0)], dim=2)
t.tensor([t.tensor([1]), t.tensor(2)])
t.tensor([t.tensor(2), t.tensor([[1]])])
t.tensor([(t.tensor([1]), t.tensor(2)), (t.tensor([3]), t.tensor(2))])
t.tensor([t.tensor([1.5]), 2])
t.tensor([x[0], x[1]])
t.tensor([x])
t.tensor([1.0, x[0]])
t.tensor([x[:0], x[:0]])
t.tensor([[0.0, 1.0, 2.0], x[0]])
t.tensor([[x[0, 0], x[0, 1], 2.0], x[0]])
t.tensor([[0.0, 1.0], x[0]])
t.tensor([t.ones(1, 1), t.ones(1)])
t.as_tensor([x[0], x[1]])
t.asarray([x[0]])
x.new_tensor([x[0], x[0]])
t.Tensor([x[0]])
t.tensor([t.tensor(1.5), 2, True])
t.tensor([t.tensor(1), 2.5])
t.tensor([t.tensor(1.5, dtype=t.float64), 2])
t.tensor([t.tensor(1.5), 2j])
t.chain_matmul(x[0], x[1])
t.chain_matmul(x, x[0])
t.kthvalue(t.ones(2, 0, 4), 1, dim=1)
t.kthvalue(t.ones(2, 0, 4), 2, dim=0)
t.kthvalue(t.ones(2, 0, 4), 5, dim=0)
t.bincount(t.tensor([1.0, 2.0]))
t.bincount(t.tensor([True]))
t.bincount(t.tensor([[1]]))
t.quantile(x, -1.0)
t.nanquantile(x, 1.5)
x.flip()
x.flip(0, 0)
x.flip([])
t.nonzero(x, out=t.empty(0))
t.nonzero(x, out=t.empty(0, dtype=t.int64))
t.nonzero(x, as_tuple=True, out=t.empty(0, dtype=t.int64))
t.unique(t.zeros(3, 0), dim=0)
t.unique(t.zeros(0, 3), dim=0)
t.unique(t.zeros(0, 3), dim=1)
t.unique(t.zeros(0, 0), dim=1)
t.unique_consecutive(t.zeros(3, 0), dim=0)
t.unique_consecutive(t.zeros(0, 3), dim=0)
t.histogram(t.tensor([1.0, 2.0]), 0)
t.histogram(t.tensor([1, 2]), 3)
t.histogram(t.tensor([1.0, 2.0]), 3, weight=t.ones(3))
t.histogram(t.tensor([1.0, 2.0]), 3, weight=t.ones(2, dtype=t.float64))
t.histogram(t.tensor([1.0, 2.0]), t.tensor([1.0, 2.0], dtype=t.float64))
t.histogram(t.tensor([1.0, 2.0]), t.ones(2, 2))
t.histogram(t.tensor([[1.0, 2.0], [5.0, 1.0]]), 3, weight=t.tensor([[1.0, 2.0], [3.0, 4.0]]))
t.nn.functional.adaptive_max_pool1d(t.ones(1, 0, 5), 2)
t.nn.functional.adaptive_max_pool2d(t.ones(1, 0, 5, 4), 2)
t.nn.functional.adaptive_max_pool2d(t.ones(0, 2, 5, 4), 2)
t.nn.functional.adaptive_avg_pool1d(t.ones(0, 10), 2)
t.nn.functional.adaptive_avg_pool2d(t.ones(1, 2, 0, 4), 2)
t.nn.utils.rnn.pack_padded_sequence(t.zeros(0, 0), t.zeros(0, dtype=t.int64))
t.nn.utils.rnn.pack_padded_sequence(t.ones(2, 1), t.tensor([2])).short().data
""".strip().splitlines()


def outcome(t, line):
    names = {"t": t, "x": t.arange(6.0).reshape(2, 3), "part": t.zeros(2, 3)[:, 1:]}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(line, names)
    except Exception as error:
        return type(error), str(error)
    results = result if isinstance(result, tuple) else (result,)
    return [(str(one.dtype), one.tolist(), tuple(one.shape)) for one in results], ""


@pytest.mark.parametrize("line", LINES)
def test_as_torch(line):
    (want, complaint), (got, text) = outcome(torch, line), outcome(pullback, line)
    if isinstance(want, type):
        assert got is want
        assert complaint.split(", but got")[0].rstrip(". ") in text
        return
    assert [(dtype, shape) for dtype, _, shape in got] == [(dtype, shape) for dtype, _, shape in want]
    for (_, found, _), (_, expected, _) in zip(got, want, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_list_inside_itself():
    endless: list = []
    endless.append(endless)
    with pytest.raises(ValueError, match="too many dimensions 'list'"):
        pullback.tensor(endless)


WITH_INDICES = {
    "max": lambda t, x: x.max(1),
    "sort": lambda t, x: x.sort(1),
    "topk": lambda t, x: x.topk(2, 1),
    "median": lambda t, x: x.median(1),
    "cummax": lambda t, x: x.cummax(1),
    "kthvalue": lambda t, x: x.kthvalue(2, 1),
    "max_pool1d": lambda t, x: t.nn.functional.max_pool1d(x, 2, return_indices=True),
    "adaptive_max_pool1d": lambda t, x: t.nn.functional.adaptive_max_pool1d(x, 2, return_indices=True),
}


@pytest.mark.parametrize("name", WITH_INDICES)
def test_indices_written_before_backward(name):
    """The rule needs the indices: a write to them is noticed, as a write to any saved value is."""
    for t in (torch, pullback):
        x = t.arange(24.0).reshape(3, 8).requires_grad_()
        values, indices = WITH_INDICES[name](t, x)
        indices.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            values.sum().backward()


def test_all_dtypes_of_test_files():
    from pullback.testing._internal.common_dtype import get_all_dtypes

    assert pullback.bool in get_all_dtypes()
    assert pullback.bool not in get_all_dtypes(include_bool=False)
