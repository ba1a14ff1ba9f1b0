"""Datasets and samplers: the same samples in the same order as torch's, from the same random stream."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pullback
import pullback.utils.data

torch = pytest.importorskip("torch")
BOTH = (pullback, torch)


def stream_position(library):
    return library.rand(1).item()


SAMPLERS = {
    "sequential": lambda t, d: d.SequentialSampler(range(7)),
    "random": lambda t, d: d.RandomSampler(range(7)),
    "random generator": lambda t, d: d.RandomSampler(range(7), generator=t.Generator().manual_seed(3)),
    "random many": lambda t, d: d.RandomSampler(range(7), num_samples=17),
    "random few": lambda t, d: d.RandomSampler(range(40), num_samples=5),
    "replacement": lambda t, d: d.RandomSampler(range(7), replacement=True),
    "replacement many": lambda t, d: d.RandomSampler(range(7), replacement=True, num_samples=70),
    "subset": lambda t, d: d.SubsetRandomSampler([3, 9, 4, 1]),
    "subset generator": lambda t, d: d.SubsetRandomSampler([3, 9, 4, 1], generator=t.Generator().manual_seed(1)),
    "weighted": lambda t, d: d.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0], 6),
    "weighted without": lambda t, d: d.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0], 3, replacement=False),
    "batches": lambda t, d: d.BatchSampler(d.RandomSampler(range(7)), 3, False),
    "whole batches": lambda t, d: d.BatchSampler(d.RandomSampler(range(7)), 3, True),
    "distributed": lambda t, d: d.DistributedSampler(range(10), 4, 1),
    "distributed plain": lambda t, d: d.DistributedSampler(range(10), 4, 3, shuffle=False),
    "distributed drop": lambda t, d: d.DistributedSampler(range(10), 4, 2, drop_last=True),
    "distributed few": lambda t, d: d.DistributedSampler(range(2), 5, 4, seed=3),
}


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("seed", [0, 42])
def test_samplers_follow_torch(name, seed):
    runs = []
    for library in BOTH:
        library.manual_seed(seed)
        sampler = SAMPLERS[name](library, library.utils.data)
        runs.append((list(sampler), list(sampler), len(sampler), stream_position(library)))
    assert runs[0] == runs[1]


def test_distributed_epochs_differ():
    samplers = [library.utils.data.DistributedSampler(range(10), 2, 0) for library in BOTH]
    orders = []
    for epoch in range(3):
        for sampler in samplers:
            sampler.set_epoch(epoch)
        orders.append([list(sampler) for sampler in samplers])
    assert all(ours == theirs for ours, theirs in orders) and orders[0] != orders[1]


@pytest.mark.parametrize("lengths", [[3, 7], [0.5, 0.5], [0.33, 0.33, 0.34], [0.1, 0.0, 0.9], [10]])
def test_random_split_follows_torch(lengths):
    results = []
    for library in BOTH:
        library.manual_seed(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = library.utils.data.random_split(range(10), lengths)
            more = library.utils.data.random_split(range(10), lengths, generator=library.Generator().manual_seed(5))
        results.append([[*part] for part in parts + more])
    assert results[0] == results[1]


def test_empty_part_warns():
    with pytest.warns(UserWarning, match="split at index 1 is 0"):
        pullback.utils.data.random_split(range(3), [1.0, 0.0])


def test_datasets():
    data = pullback.utils.data
    table = data.TensorDataset(pullback.arange(6).reshape(3, 2), pullback.arange(3))
    assert [x.tolist() for x in table[1]] == [[2, 3], 1] and len(table) == 3
    both = table + data.Subset(table, [2, 0])
    assert len(both) == 5 and both[3][1].item() == 2 and both[-1][1].item() == 0
    assert both.cumulative_sizes == [3, 5]
    stacked = data.StackDataset([1, 2, 3], ["a", "b", "c"])
    assert stacked[1] == (2, "b") and stacked.__getitems__([2, 0]) == [(3, "c"), (1, "a")]
    named = data.StackDataset(x=[1, 2], y=data.Subset([5, 6, 7], [2, 1]))
    assert named[0] == {"x": 1, "y": 7} and named.__getitems__([1]) == [{"x": 2, "y": 6}]
    nested = data.Subset(data.Subset(list("abcd"), [3, 1, 0]), [2, 0])
    assert nested.__getitems__([0, 1]) == ["a", "d"]

    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter("xy")

        def __len__(self):
            return 2

    chained = Stream() + Stream()
    assert list(chained) == ["x", "y", "x", "y"] and len(chained) == 4
    assert data.Dataset[int] is not None


class Lazy:
    """A Subset that forgets to override __getitems__."""

    @staticmethod
    def make(data):
        return type("Lazy", (data.Subset,), {"__getitem__": lambda self, i: i})([1], [0])


MISTAKES = {
    "abstract dataset": lambda t, d: d.Dataset()[0],
    "abstract sampler": lambda t, d: iter(d.Sampler()),
    "sizes": lambda t, d: d.TensorDataset(t.ones(2), t.ones(3)),
    "no datasets": lambda t, d: d.ConcatDataset([]),
    "streams": lambda t, d: d.ConcatDataset([type("S", (d.IterableDataset,), {"__iter__": None})()]),
    "far": lambda t, d: d.ConcatDataset([[1, 2]])[-3],
    "no stack": lambda t, d: d.StackDataset(),
    "mixed stack": lambda t, d: d.StackDataset([1], x=[2]),
    "stack sizes": lambda t, d: d.StackDataset([1], [2, 3]),
    "chain of lists": lambda t, d: list(d.ChainDataset([[1]])),
    "subset": lambda t, d: Lazy.make(d),
    "split": lambda t, d: d.random_split(range(5), [2, 2]),
    "fraction": lambda t, d: d.random_split(range(5), [1.5, -0.5]),
    "replacement": lambda t, d: d.RandomSampler(range(3), replacement=1),
    "num_samples": lambda t, d: d.RandomSampler(range(3), num_samples=0),
    "empty": lambda t, d: d.RandomSampler([]),
    "weights": lambda t, d: d.WeightedRandomSampler([[1.0]], 1),
    "weighted num": lambda t, d: d.WeightedRandomSampler([1.0], True),
    "weighted replacement": lambda t, d: d.WeightedRandomSampler([1.0], 1, 1),
    "batch size": lambda t, d: d.BatchSampler(range(3), 0, False),
    "drop": lambda t, d: d.BatchSampler(range(3), 1, 1),
    "rank": lambda t, d: d.DistributedSampler(range(3), 2, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_raise_what_torch_raises(name):
    with pytest.raises(Exception) as expected:
        MISTAKES[name](torch, torch.utils.data)
    with pytest.raises(type(expected.value)) as got:
        MISTAKES[name](pullback, pullback.utils.data)
    assert str(expected.value)[:60] in str(got.value)


def as_plain(value):
    if isinstance(value, (pullback.Tensor, torch.Tensor)):
        return (str(value.dtype).split(".")[-1], value.tolist())
    if isinstance(value, dict):
        return {key: as_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(as_plain(item) for item in value) if type(value) in (list, tuple) else repr(value)
    return value


BATCHES = {
    "floats": lambda t: [1.5, 2.5],
    "ints": lambda t: [1, 2],
    "bools": lambda t: [True, False],
    "text": lambda t: ["a", "b"],
    "bytes": lambda t: [b"a", b"b"],
    "tensors": lambda t: [t.ones(2), t.zeros(2)],
    "arrays": lambda t: [np.ones(2, "float32"), np.zeros(2, "float32")],
    "numbers": lambda t: [np.float32(1), np.float32(2)],
    "integers": lambda t: [np.int16(1), np.int16(2)],
    "pairs": lambda t: [(1, t.ones(1)), (2, t.zeros(1))],
    "lists": lambda t: [[1, 2.0], [3, 4.0]],
    "dicts": lambda t: [{"a": 1, "b": [t.ones(1), "x"]}, {"a": 2, "b": [t.zeros(1), "y"]}],
    "nested": lambda t: [((1, (2.0, "z")), {"k": np.ones(1)}), ((3, (4.0, "w")), {"k": np.zeros(1)})],
    "uneven": lambda t: [[1, 2], [3]],
    "objects": lambda t: [object(), object()],
    "text arrays": lambda t: [np.array(["a"]), np.array(["b"])],
    "none": lambda t: [None, None],
}


COLLATED = [("default_collate", name) for name in BATCHES]
COLLATED += [("default_convert", name) for name in BATCHES if name != "objects"]  # which come back as they are


@pytest.mark.parametrize(("function", "name"), COLLATED)
def test_collation_follows_torch(name, function):
    results = []
    for library in BOTH:
        try:
            results.append(as_plain(getattr(library.utils.data, function)(BATCHES[name](library))))
        except Exception as error:
            results.append((type(error), str(error)))
    assert repr(results[0]) == repr(results[1])
