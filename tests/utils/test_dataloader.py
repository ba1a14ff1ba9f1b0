"""The loader: order and random stream of torch's, in this process and in workers; errors and lifetimes."""

from __future__ import annotations

import os
import pickle
import random
import signal
import time
import warnings

import numpy as np
import pytest

import pullback
import pullback.utils.data

torch = pytest.importorskip("torch")
BOTH = (pullback, torch)
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


def table(library, size=10):
    values = library.arange(2 * size).reshape(size, 2).to(library.float32)
    return library.utils.data.TensorDataset(values, library.arange(size))


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


OPTIONS = {
    "plain": {},
    "batches": {"batch_size": 3},
    "shuffle": {"batch_size": 3, "shuffle": True},
    "drop": {"batch_size": 4, "shuffle": True, "drop_last": True},
    "no batches": {"batch_size": None},
    "no batches shuffled": {"batch_size": None, "shuffle": True},
    "collate": {"batch_size": 2, "collate_fn": len},
    "workers": {"batch_size": 3, "num_workers": 2},
    "workers shuffled": {"batch_size": 3, "shuffle": True, "num_workers": 2, "prefetch_factor": 1},
    "persistent": {"batch_size": 3, "shuffle": True, "num_workers": 2, "persistent_workers": True},
}


@pytest.mark.parametrize("generator", [False, True])
@pytest.mark.parametrize("name", OPTIONS)
def test_batches_and_random_stream_follow_torch(name, generator):
    runs = []
    for library in BOTH:
        library.manual_seed(7)
        options = dict(OPTIONS[name])
        if generator:
            options["generator"] = library.Generator().manual_seed(11)
        loader = library.utils.data.DataLoader(table(library), **options)
        epochs = [[plain(batch) for batch in loader] for _ in range(2)]
        state = options["generator"].initial_seed() if generator else None
        runs.append((epochs, len(loader), state, library.rand(2).tolist()))
    assert runs[0] == runs[1]


def test_samplers_can_be_given():
    for make in (
        lambda t: {"sampler": t.utils.data.SubsetRandomSampler([1, 4, 2, 8]), "batch_size": 3},
        lambda t: {"batch_sampler": [[0, 1], [5], [9, 2, 3]]},
        lambda t: {"sampler": [3, 1], "batch_size": None},
    ):
        runs = []
        for library in BOTH:
            library.manual_seed(0)
            runs.append(plain(list(library.utils.data.DataLoader(table(library), **make(library)))))
        assert runs[0] == runs[1]


@pytest.mark.parametrize("kind", ["plain", "subset", "split", "subclass", "empty", "bad index", "grad"])
def test_gathered_rows_are_what_stacking_gives(kind):
    runs = []
    for library in BOTH:
        data = library.utils.data
        library.manual_seed(2)
        dataset = table(library)
        order = [[3, 1, -1], [0]]
        if kind == "subset":
            dataset = data.Subset(data.Subset(dataset, [5, 2, 9, 7]), [3, 1, 0, 2])
        elif kind == "split":
            dataset = data.random_split(dataset, [4, 6])[1]
        elif kind == "subclass":
            dataset = type("Own", (data.TensorDataset,), {"__getitem__": lambda self, i: i})(*dataset.tensors)
        elif kind == "empty":
            dataset = data.TensorDataset(library.zeros(4, 0), library.zeros(4))
        elif kind == "bad index":
            order = [[0, 99]]
        elif kind == "grad":
            dataset.tensors[0].requires_grad_()
        try:
            batches = list(data.DataLoader(dataset, batch_sampler=order))
            runs.append([[(str(t.dtype)[-7:], t.requires_grad, plain(t)) for t in b] for b in map(tuple_of, batches)])
        except IndexError as error:
            runs.append(type(error))
    assert runs[0] == runs[1]


def tuple_of(batch):
    return batch if isinstance(batch, (list, tuple)) else (batch,)


class Stream:
    """A stream of numbers, split over workers; made into an IterableDataset of either library."""

    def __init__(self, library, size, split=True):
        data = library.utils.data

        class Numbers(data.IterableDataset):
            def __iter__(self):
                info = data.get_worker_info()
                first, stride = (info.id, info.num_workers) if info is not None and split else (0, 1)
                return iter(range(first, size, stride))

            def __len__(self):
                return size

        self.dataset = Numbers()


@pytest.mark.parametrize("options", [
    {}, {"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None},
    {"batch_size": 3, "num_workers": 2}, {"batch_size": 2, "num_workers": 2, "drop_last": True},
    {"batch_size": None, "num_workers": 2}, {"batch_size": 3, "num_workers": 2, "persistent_workers": True},
])  # fmt: skip
def test_streams_follow_torch(options):
    runs = []
    for library in BOTH:
        loader = library.utils.data.DataLoader(Stream(library, 11).dataset, **options)
        runs.append([plain(list(loader)) for _ in range(2)])
    assert runs[0] == runs[1]


def test_too_long_streams_warn():
    dataset = Stream(pullback, 3, split=False).dataset
    loader = pullback.utils.data.DataLoader(dataset, num_workers=2)
    len(loader)
    with pytest.warns(UserWarning, match="Length of IterableDataset"):
        list(loader)


class Seeds:
    def __init__(self, library):
        self.library = library

    def __len__(self):
        return 4

    def __getitem__(self, index):
        info = self.library.utils.data.get_worker_info()
        numbers = [random.random(), self.library.rand(1).item(), np.random.rand()]
        return [index, info.id, info.num_workers, info.seed, *numbers]


def test_workers_are_seeded_as_torchs():
    runs = []
    for library in BOTH:
        library.manual_seed(3)
        started = []
        loader = library.utils.data.DataLoader(
            Seeds(library), batch_size=None, num_workers=2, worker_init_fn=lambda number: started.append(number)
        )
        runs.append(plain(list(loader)))
    assert runs[0] == runs[1]
    assert pullback.utils.data.get_worker_info() is None


class Faulty:
    def __init__(self, action):
        self.action = action

    def __len__(self):
        return 6

    def __getitem__(self, index):
        if index == 3:
            self.action()
        return index


class Odd(Exception):
    def __init__(self, first, second):
        super().__init__(first)


def raiser(error):
    def action():
        raise error

    return action


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("bad"), ValueError),
        (KeyError("bad"), KeyError),
        (Odd("bad", 1), RuntimeError),
        (StopIteration("bad"), StopIteration),
    ],
)
def test_errors_of_workers_are_raised_here(error, kind):
    loader = pullback.utils.data.DataLoader(Faulty(raiser(error)), num_workers=2)
    seen = []
    with pytest.raises((kind, RuntimeError)) as caught:
        for batch in loader:
            seen.append(batch.item())
        raise StopIteration("the loop ended") if kind is StopIteration else AssertionError("no error")
    assert seen == [0, 1, 2]
    if kind is not StopIteration:
        text = str(caught.value)
        assert f"Caught {type(error).__name__} in DataLoader worker process" in text
        assert "Original Traceback" in text and "in __getitem__" in text


def test_errors_of_worker_init():
    loader = pullback.utils.data.DataLoader(range(4), num_workers=1, worker_init_fn=lambda number: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="worker process 0"):
        list(loader)


def test_unpicklable_data_is_an_error():
    loader = pullback.utils.data.DataLoader(range(4), num_workers=1, collate_fn=lambda batch: lambda: batch)
    with pytest.raises(Exception, match="worker process 0"):
        list(loader)

    class Local(Exception):
        pass

    loader = pullback.utils.data.DataLoader(Faulty(raiser(Local("x"))), num_workers=1)
    with pytest.raises(RuntimeError, match="Local"):
        list(loader)


def test_killed_workers_are_noticed():
    loader = pullback.utils.data.DataLoader(
        Faulty(lambda: os.kill(os.getpid(), signal.SIGKILL)), num_workers=2, batch_size=2
    )
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(loader)


def test_timeouts():
    loader = pullback.utils.data.DataLoader(Faulty(lambda: time.sleep(60)), num_workers=1, timeout=0.3)
    with pytest.raises(RuntimeError, match="timed out after 0.3 seconds"):
        list(loader)


def test_abandoned_iterators_end_their_workers():
    dataset = pullback.utils.data.TensorDataset(pullback.zeros(64, 20000))
    iterator = iter(pullback.utils.data.DataLoader(dataset, batch_size=8, num_workers=2))
    next(iterator)
    workers = list(iterator._workers)
    del iterator
    assert [worker.exitcode for worker in workers] == [0, 0]  # they ended by themselves; nobody had to stop them


def test_two_loaders_end_independently():
    dataset = pullback.utils.data.TensorDataset(pullback.zeros(64, 20000))
    iterators = [iter(pullback.utils.data.DataLoader(dataset, batch_size=8, num_workers=2)) for _ in range(2)]
    for iterator in iterators:
        next(iterator)
    workers = list(iterators[0]._workers)
    del iterator
    del iterators[0]
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert len(list(iterators[0])) == 7


def test_out_of_order():
    loader = pullback.utils.data.DataLoader(range(12), batch_size=2, num_workers=2, in_order=False)
    assert sorted(v for batch in loader for v in batch.tolist()) == list(range(12))


def test_spawned_workers():
    loader = pullback.utils.data.DataLoader(range(4), batch_size=2, num_workers=1, multiprocessing_context="spawn")
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3]]


MISTAKES = {
    "workers": lambda d: {"num_workers": -1},
    "timeout": lambda d: {"timeout": -1},
    "prefetch": lambda d: {"prefetch_factor": 2},
    "prefetch sign": lambda d: {"prefetch_factor": -2, "num_workers": 1},
    "persistent": lambda d: {"persistent_workers": True},
    "sampler": lambda d: {"sampler": [1], "shuffle": True},
    "batch sampler": lambda d: {"batch_sampler": [[1]], "batch_size": 2},
    "no batch": lambda d: {"batch_size": None, "drop_last": True},
    "batch size": lambda d: {"batch_size": 0},
    "context": lambda d: {"multiprocessing_context": "fork"},
    "context name": lambda d: {"multiprocessing_context": "x", "num_workers": 1},
    "context kind": lambda d: {"multiprocessing_context": 3, "num_workers": 1},
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_raise_what_torch_raises(name):
    errors = []
    for library in (torch, pullback):
        with pytest.raises(Exception) as caught:
            library.utils.data.DataLoader(table(library), **MISTAKES[name](library))
        errors.append(caught.value)
    assert type(errors[0]) is type(errors[1]) and str(errors[0])[:60] in str(errors[1])


@pytest.mark.parametrize("options", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}])
def test_streams_take_no_order(options):
    with pytest.raises(ValueError, match="expected unspecified"):
        pullback.utils.data.DataLoader(Stream(pullback, 3).dataset, **options)


def test_loaders_cannot_be_changed():
    loader = pullback.utils.data.DataLoader(table(pullback))
    with pytest.raises(ValueError, match="should not be set after DataLoader is initialized"):
        loader.batch_size = 3
    loader.num_workers = 0


def test_pinned_memory_is_accepted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(list(pullback.utils.data.DataLoader(table(pullback), pin_memory=True))) == 10
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        iter(pullback.utils.data.DataLoader(table(pullback))).__getstate__()


@pytest.mark.parametrize("kind", [list, tuple])
def test_batches_of_a_batch_sampler_may_be_tuples(kind):
    rows = pullback.arange(12.0).reshape(6, 2)
    dataset = pullback.utils.data.TensorDataset(rows, pullback.arange(6))
    batches = [kind(range(start, start + 2)) for start in (0, 2, 4)]
    for part in (dataset, pullback.utils.data.Subset(dataset, range(6))):
        loaded = list(pullback.utils.data.DataLoader(part, batch_sampler=batches))
        assert [x.tolist() for x, _ in loaded] == rows.reshape(3, 2, 2).tolist()
        assert [y.tolist() for _, y in loaded] == [[0, 1], [2, 3], [4, 5]]


def test_text_is_known_by_its_dtype():
    from pullback.utils.data._utils.collate import default_convert, np_str_obj_array_pattern

    for array in (np.array(["a"]), np.array([b"a"]), np.array([None])):
        assert np_str_obj_array_pattern.search(array.dtype.str)
        assert default_convert(array) is array
    assert not np_str_obj_array_pattern.search(np.arange(3).dtype.str)


@pytest.mark.parametrize(
    "error", [ValueError("bad value"), KeyError("a key"), UnicodeDecodeError("utf8", b"", 0, 1, "why")]
)
def test_exceptions_on_their_way_to_another_thread(error):
    """`torch._utils.ExceptionWrapper`, which libraries that load data in threads import."""
    torch = pytest.importorskip("torch")
    from pullback._utils import ExceptionWrapper

    seen = []
    for wrapper in (ExceptionWrapper, torch._utils.ExceptionWrapper):
        try:
            raise error
        except Exception:
            carried = pickle.loads(pickle.dumps(wrapper(where="in a thread")))
        with pytest.raises(Exception) as caught:
            carried.reraise()
        seen.append((type(caught.value), str(caught.value).splitlines()[0], carried.where))
    assert seen[0] == seen[1]
