"""Sizes of nothing, names of reductions, sizes in cells, and conditions that are numbers: as torch has them."""

import io
import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")


def cell(t, input=(1, 3), hidden=(1, 2), weights=(8, 3), states=2, **options):
    return t.lstm_cell(
        t.ones(*input), tuple(t.ones(*hidden) for _ in range(states)), t.ones(*weights), t.ones(8, 2), **options
    )


def segments(t, reduce, offset=0):
    x = t.tensor([1.0, 5.0, 2.0, 7.0], requires_grad=True)
    result = t.segment_reduce(x, reduce, lengths=t.tensor([3, 1, 0]), unsafe=True)
    result[:2].sum().backward()
    return result, x.grad


def loaded(t, map_location):
    file = io.BytesIO()
    t.save(t.ones(2), file)
    file.seek(0)
    return t.load(file, map_location=map_location)


CASES = {
    **{f"segments by {name}": (lambda name: lambda t: segments(t, name))(name)
       for name in ("max", "min", "amax", "amin", "sum", "mean", "prod", "median")},
    "rows of no columns": lambda t: t.searchsorted(t.zeros(2, 0), t.zeros(2, 3)),
    "rows of no columns, no values": lambda t: t.searchsorted(t.zeros(2, 0), t.zeros(2, 0)),
    "no rows": lambda t: t.searchsorted(t.zeros(0, 3), t.zeros(0, 2), right=True),
    "an order of no columns": lambda t: t.searchsorted(t.zeros(2, 0), t.ones(2, 3), sorter=t.zeros(2, 0, dtype=t.int64)),
    "one empty row": lambda t: t.searchsorted(t.zeros(0), t.ones(2)),
    "a step": lambda t: cell(t),
    "a step with one bias": lambda t: cell(t, b_ih=t.ones(8)),
    "one state": lambda t: cell(t, states=1),
    "three states": lambda t: cell(t, states=3),
    "a tensor for states": lambda t: t.lstm_cell(t.ones(1, 3), t.ones(1, 2), t.ones(8, 3), t.ones(8, 2)),
    "nothing for states": lambda t: t.lstm_cell(t.ones(1, 3), None, t.ones(8, 3), t.ones(8, 2)),
    "numbers for states": lambda t: t.lstm_cell(t.ones(1, 3), [1.0, 2.0], t.ones(8, 3), t.ones(8, 2)),
    "other features": lambda t: cell(t, weights=(8, 4)),
    "another hidden size": lambda t: cell(t, hidden=(1, 3)),
    "another batch": lambda t: cell(t, hidden=(2, 2)),
    "another dtype": lambda t: t.lstm_cell(t.ones(1, 3).int(), (t.ones(1, 2),) * 2, t.ones(8, 3), t.ones(8, 2)),
    "no batch": lambda t: cell(t, input=(3,), hidden=(2,)),
    "features of a gru": lambda t: t.gru_cell(t.ones(1, 3), t.ones(1, 2), t.ones(6, 4), t.ones(6, 2)),
    "hidden of a gru": lambda t: t.gru_cell(t.ones(1, 3), t.ones(1, 3), t.ones(6, 3), t.ones(6, 2)),
    "hidden of an rnn": lambda t: t.rnn_tanh_cell(t.ones(1, 3), t.ones(1, 3), t.ones(2, 3), t.ones(2, 2)),
    **{f"no classes, {name}": (lambda name: lambda t: t.nn.functional.cross_entropy(
        t.ones(2, 0), t.ones(2, 0), label_smoothing=0.1, reduction=name))(name) for name in ("none", "mean", "sum")},
    "a number for a place": lambda t: loaded(t, lambda storage, location: 3),
    "a name for a place": lambda t: loaded(t, lambda storage, location: "cpu"),
    "a place that fails": lambda t: loaded(t, lambda storage, location: {}["gpu"]),
    "any place": lambda t: loaded(t, lambda storage, location: None),
    "tolerances": lambda t: t.testing._comparison.default_tolerances(t.float32, t.ones(1).half()),
    "tolerances given": lambda t: t.testing._comparison.get_tolerances(t.ones(1), rtol=0.5, atol=0.0),
    "tolerances of a number": lambda t: t.testing._comparison.default_tolerances(1.0),
}  # fmt: skip


def outcome(t, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = CASES[name](t)
        except Exception as error:
            return type(error).__name__, str(error)[:60]
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [(str(one.dtype), np.asarray(one.detach())) if isinstance(one, t.Tensor) else one for one in parts]


@pytest.mark.parametrize("name", CASES)
def test_as_torch(name):
    want, got = outcome(torch, name), outcome(pullback, name)
    assert len(want) == len(got)
    for one, other in zip(want, got):
        if isinstance(one, tuple) and isinstance(one[1], np.ndarray):
            assert one[0] == other[0]
            np.testing.assert_allclose(one[1], other[1], rtol=1e-5)
        else:
            assert one == other


@pytest.mark.parametrize("condition", [1, 0, [1, 0], [0.5, 0.0], np.array([2, 0]), np.float64(3.0), True])
def test_conditions_that_are_numbers(condition):
    w = pullback.tensor([1.0, 2.0], requires_grad=True)
    result = np.where(condition, w, 5.0)
    assert result.tolist() == np.where(condition, np.array([1.0, 2.0]), 5.0).tolist()
    result.sum().backward()
    assert w.grad.tolist() == np.where(condition, [1.0, 1.0], 0.0).tolist()
