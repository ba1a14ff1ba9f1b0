"""Storages: one window onto the memory of tensors, typed and untyped, as torch has them."""

import copy
import io
import os
import pickle
import warnings

import numpy as np
import pytest

import pullback
from pullback import storage as raw_storage

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")


def ramp(t):
    return t.arange(6.0).reshape(2, 3)


def written(t, storage, tensor, index, value):
    storage[index] = value
    return tensor.tolist()


def after(storage, change):
    change(storage)
    return storage.tolist()


PROGRAMS = {
    "sizes": lambda t: [(len(s), s.nbytes(), s.element_size(), s.size()) for s in (ramp(t).storage(), ramp(t).untyped_storage())],
    "a view's storage is all of it": lambda t: (lambda x: (x[1].storage().tolist(), x[1].storage_offset()))(ramp(t)),
    "one window": lambda t: (lambda x: x.untyped_storage() is x[1:].T.untyped_storage())(ramp(t)),
    "typed and untyped": lambda t: (lambda x: x.storage().untyped() is x.untyped_storage())(ramp(t)),
    "writing": lambda t: (lambda x: written(t, x.storage(), x, 4, -1))(ramp(t)),
    "writing bytes": lambda t: (lambda x: written(t, x.untyped_storage(), x, 7, 64))(ramp(t)),
    "writing a slice": lambda t: (lambda x: written(t, x.storage(), x, slice(1, 3), 9))(ramp(t)),
    "a slice shares": lambda t: (lambda s: (written(t, s[2:4], s, 0, 77)))(ramp(t).untyped_storage())[:4],
    "fill": lambda t: (lambda x: (x.storage().fill_(2), x.tolist())[1])(ramp(t)),
    "copy": lambda t: after(t.FloatStorage(2), lambda s: s.copy_(t.FloatStorage([3, 4]))),
    "set": lambda t: (lambda x: t.tensor([]).set_(x.storage()).tolist())(ramp(t)),
    "set bytes": lambda t: (lambda x: t.tensor([]).set_(x.untyped_storage(), 1, (2, 2), (2, 1)).tolist())(ramp(t)),
    "set shares": lambda t: (lambda s: (t.tensor([]).set_(s, 1, (1,)).fill_(5), s.tolist())[1])(t.FloatStorage([1, 2])),
    "a size of NumPy": lambda t: t.FloatStorage(np.int16(3)).size(),
    "set knows its storage": lambda t: (lambda s: t.tensor([]).set_(s).untyped_storage() is s.untyped())(t.FloatStorage(3)),
    "a tensor of a storage shares": lambda t: (lambda s: (t.FloatTensor(s).fill_(5), s.tolist())[1])(t.FloatStorage([1, 2])),
    "the oldest constructors": lambda t: (t.Tensor(t.FloatStorage([1, 2])).tolist(), t.ones(1).new(t.FloatStorage([3])).tolist()),
    "types": lambda t: [s.type() for s in (t.ones(1).storage(), t.ones(1).bool().storage(), t.ones(1).untyped_storage())],
    "classes": lambda t: (isinstance(t.ones(1).storage(), t.FloatStorage), isinstance(t.ones(1).storage(), t.LongStorage)),
    "class of a tensor": lambda t: t.ones(1).storage_type() is t.FloatStorage,
    "class attributes": lambda t: (str(t.HalfStorage.dtype), repr(t.HalfStorage), issubclass(t.HalfStorage, t.TypedStorage)),
    "default class": lambda t: t.Storage is t.FloatStorage,
    "casts": lambda t: [
        (s.type(), s.tolist())
        for i in [t.IntStorage([-1, 0, 3])]
        for s in (i.double(), i.half(), i.bfloat16(), i.long(), i.short(), i.char(), i.byte(), i.bool(), i.complex_float())
    ],
    "casts of bytes": lambda t: t.UntypedStorage([1, 200]).float().tolist(),
    "default dtype": lambda t: str(t.TypedStorage(2).dtype),
    "bytes": lambda t: t.UntypedStorage([1, 300, -1]).tolist(),
    "resize": lambda t: after(t.FloatStorage([1, 2, 3]), lambda s: s.resize_(2)),
    "resize and write": lambda t: after(t.UntypedStorage([1]), lambda s: s.resize_(2).__setitem__(1, 7)),
    "resizable": lambda t: t.UntypedStorage(3).resizable(),
    "byteswap": lambda t: after(t.UntypedStorage(list(range(16))), lambda s: s.byteswap(t.float32)),
    "byteswap of complex": lambda t: after(t.UntypedStorage(list(range(16))), lambda s: s.byteswap(t.complex128)),
    "byteswap of a part": lambda t: t.UntypedStorage([1, 2]).byteswap(t.int32),
    "from a buffer": lambda t: t.FloatStorage.from_buffer(np.float32([1, 2]).tobytes(), "native").tolist(),
    "from a foreign buffer": lambda t: t.ShortStorage.from_buffer(b"abcd", "big").tolist(),
    "from a part": lambda t: t.UntypedStorage.from_buffer(b"abcd", "native", 1, 2, dtype=t.int16).tolist(),
    "from a buffer in no order": lambda t: t.FloatStorage.from_buffer(b"abcd"),
    "from an uneven buffer": lambda t: t.FloatStorage.from_buffer(b"abcde", "native"),
    "clone": lambda t: (lambda x: (x.storage().clone().fill_(0), x.tolist())[1])(ramp(t)),
    "copies share among themselves": lambda t: (
        lambda x: (lambda c: (c[0].fill_(9), c[1].tolist(), c[2].tolist(), c[0].untyped_storage() is c[2], x[0, 0].item())[1:])(
            copy.deepcopy([x, x[1], x.untyped_storage()])
        )
    )(ramp(t)),
    "a copy keeps its strides": lambda t: (lambda c: (c.stride(), c.storage_offset()))(copy.deepcopy(ramp(t)[:, 1:])),
    "a copy of repeats": lambda t: copy.deepcopy(t.ones(3).expand(2, 3)).stride(),
    "pickle": lambda t: (lambda s: (s.type(), s.tolist()))(pickle.loads(pickle.dumps(t.ones(2, dtype=t.int16).storage()))),
    "meta": lambda t: (lambda s: (str(s.device), s.nbytes(), s.data_ptr(), s.size()))(t.empty(3, device="meta").storage()),
    "meta has no values": lambda t: t.UntypedStorage(3, device="meta").tolist(),
    "meta resized": lambda t: t.UntypedStorage(3, device="meta").resize_(9).nbytes(),
    "texts": lambda t: [repr(s) for s in (t.FloatStorage([1, 2]), t.UntypedStorage([3]), t.UntypedStorage(0))],
    "text of meta": lambda t: repr(t.UntypedStorage(2, device="meta")),
    "is_storage": lambda t: [t.is_storage(v) for v in (t.ones(1), t.ones(1).storage(), t.UntypedStorage(1))],
    "truth": lambda t: (bool(t.UntypedStorage(0)), bool(t.FloatStorage(1))),
    "of another dtype": lambda t: t.tensor([1.0]).set_(t.DoubleStorage(2)),
    "a tensor of another dtype": lambda t: t.FloatTensor(t.IntStorage(2)),
    "index outside": lambda t: ramp(t).storage()[6],
    "last": lambda t: ramp(t).storage()[-1],
    "index of another kind": lambda t: t.FloatStorage(2)["a"],
    "slice of elements": lambda t: ramp(t).storage()[0:2],
    "slice with steps": lambda t: ramp(t).untyped_storage()[::2],
    "sizes differ": lambda t: t.FloatStorage(2).copy_(t.DoubleStorage(2)),
    "of floats": lambda t: t.UntypedStorage([1.5]),
    "of a number": lambda t: t.UntypedStorage(1.5),
    "of a string": lambda t: t.FloatStorage("a"),
    "dtype twice": lambda t: t.FloatStorage(dtype=t.float32),
    "unknown keyword": lambda t: type(t.FloatStorage).__name__ and t.TypedStorage(1, 2),
    "wrapped without dtype": lambda t: t.TypedStorage(wrap_storage=t.UntypedStorage(4)),
    "wrapped typed": lambda t: t.TypedStorage(wrap_storage=t.FloatStorage(4), dtype=t.float32),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_torch(name):
    def outcome(library):
        try:
            return PROGRAMS[name](library)
        except Exception as error:
            return type(error), str(error).replace("pullback.storage", "torch.storage").lower()

    got, want = outcome(pullback), outcome(torch)
    if isinstance(want, tuple) and want and isinstance(want[0], type):
        assert got[0] is want[0], got
        assert got[1].split(":")[0] in want[1] or want[1].splitlines()[-1] in got[1], (got, want)
    else:
        assert got == want


def test_memory_that_tensors_look_at_keeps_its_size():
    x = ramp(pullback)
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        x.untyped_storage().resize_(4)
    assert x.tolist() == ramp(torch).tolist() and not x.storage().resizable()


def test_a_resized_storage_is_not_taken_for_another():
    storage = pullback.UntypedStorage(4)
    for size in range(5, 200):  # the arrays it leaves behind die, and their places in memory are used again
        storage.resize_(size)
        assert pullback.zeros(size, dtype=pullback.uint8).untyped_storage() is not storage


def test_typed_storages_warn_once():
    from pullback import storage as raw_storage

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        raw_storage._has_warned = False
        for _ in range(2):
            pullback.ones(1).storage()
        pullback.ones(1).untyped_storage()
    assert [str(w.message)[:26] for w in caught] == ["TypedStorage is deprecated"]
    assert caught[0].filename == __file__


@pytest.mark.parametrize("zip_file", [True, False])
@pytest.mark.parametrize("weights_only", [True, False])
def test_storages_in_files(zip_file, weights_only):
    """What shares memory before saving shares it after loading; torch reads the file, and we read torch's."""
    for writer, reader in [(pullback, pullback), (pullback, torch), (torch, pullback)]:
        x, file = writer.arange(4.0), io.BytesIO()
        writer.save({"x": x, "storage": x.storage(), "part": x[2:]}, file, _use_new_zipfile_serialization=zip_file)
        file.seek(0)
        loaded = reader.load(file, weights_only=weights_only)
        loaded["storage"][2] = 9
        assert isinstance(loaded["storage"], reader.TypedStorage)
        assert loaded["x"].tolist() == [0, 1, 9, 3] and loaded["part"].tolist() == [9, 3]
        assert loaded["storage"].untyped().data_ptr() == loaded["x"].untyped_storage().data_ptr()


def test_one_memory_of_two_dtypes_is_refused():
    x = pullback.ones(2)
    with pytest.raises(RuntimeError, match="storages that view the same data as different types"):
        pullback.save([x, x.untyped_storage()], io.BytesIO())


def test_map_location_is_given_storages():
    seen, file = [], io.BytesIO()
    pullback.save(pullback.arange(3.0), file)

    def twice(storage, location):
        seen.append((type(storage), storage.nbytes(), location))
        return storage.clone()

    file.seek(0)
    assert pullback.load(file, map_location=twice).tolist() == [0, 1, 2]
    assert seen == [(pullback.UntypedStorage, 12, "cpu")]


def test_mapped_tensors_have_storages_of_their_own(tmp_path):
    pullback.save({"a": pullback.ones(5), "b": pullback.zeros(3)}, tmp_path / "file.pt")
    loaded = pullback.load(tmp_path / "file.pt", mmap=True)
    assert loaded["a"].untyped_storage().nbytes() == 20 and loaded["b"].storage_offset() == 0


def test_copies_of_parameters_have_no_gradient():
    """As in torch: a copy of a model starts without gradients, and without what a program attached."""
    for library in (pullback, torch):
        layer = library.nn.Linear(2, 1)
        layer(library.ones(1, 2)).sum().backward()
        layer.weight.tag = 5
        copied = copy.deepcopy(layer)
        assert copied.weight.grad is None and not hasattr(copied.weight, "tag")
        assert copied.weight.tolist() == layer.weight.tolist() and copied.weight.requires_grad
        leaf = library.ones(2, requires_grad=True)
        leaf.sum().backward()
        assert copy.deepcopy(leaf).grad.tolist() == [1, 1]


def test_copies_of_memory_that_is_seen_as_several_dtypes(tmp_path):
    """A loaded tensor looks at bytes; a copy has its dtype, and shares with what shared before."""
    for library in (pullback, torch):
        x = library.arange(4.0)
        copied = copy.deepcopy([x, x.view(library.int32), x.view(library.uint8)[4:8]])
        copied[0][1] = -1
        assert copied[1].tolist()[1] == copied[2].view(library.int32).item() == np.float32(-1).view(np.int32)
        values = {"a": library.arange(4.0), "part": library.arange(3.0)[1:], "half": library.ones(3).bfloat16()}
        library.save(values, tmp_path / "file.pt")
        for options in ({}, {"mmap": True}):
            loaded = copy.deepcopy(library.load(tmp_path / "file.pt", **options))
            assert [(str(v.dtype), v.tolist()) for v in loaded.values()] == [
                (str(v.dtype), v.tolist()) for v in values.values()
            ]


def test_a_copy_of_a_part_of_a_mapped_array_reads_that_part_only(tmp_path):
    large = np.memmap(tmp_path / "large", np.float32, "w+", shape=(1 << 20,))
    large[5] = 3
    copied = copy.deepcopy(pullback.from_numpy(large[4:8]))
    assert copied.tolist() == [0, 3, 0, 0] and copied.untyped_storage().nbytes() == 16


def test_the_names_of_storages_by_dtype():
    theirs = {str(kind): name for kind, name in torch.storage._dtype_to_storage_type_map().items()}
    for kind, name in raw_storage._dtype_to_storage_type_map().items():
        assert theirs[str(kind)] == name


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forked processes share memory")
def test_a_batch_is_put_together_in_memory_that_workers_share():
    """As the `collate` functions of loaders do it, in a worker."""
    rows = [pullback.ones(3), pullback.zeros(3)]
    storage = rows[0]._typed_storage()._new_shared(6, device=rows[0].device)
    batch = rows[0].new(storage).resize_(2, 3)
    assert batch.is_shared() and storage.is_shared() and not rows[0].is_shared()
    worker = os.fork()
    if not worker:
        pullback.stack(rows, 0, out=batch)
        os._exit(0)
    os.waitpid(worker, 0)
    assert batch.tolist() == [[1.0] * 3, [0.0] * 3] and storage.tolist() == [1.0] * 3 + [0.0] * 3
    made = pullback.LongStorage._new_shared(2)
    assert made.dtype is pullback.int64 and len(made) == 2 and made.is_shared()
    assert len(pullback.UntypedStorage._new_shared(8)) == 8 and len(pullback.UntypedStorage._new_shared(0)) == 0
    assert isinstance(made.untyped()._new_shared(3), pullback.UntypedStorage)
    with pytest.raises(NotImplementedError, match="CPU"):
        pullback.UntypedStorage._new_shared(8, device="meta")


OF_STORAGES = (
    """
t.tensor(u, dtype=t.float32); t.tensor(u, dtype=t.int16); t.tensor(u, dtype=t.float64); t.tensor(s); t.as_tensor(s)
t.as_tensor(u, dtype=t.float32); t.asarray(u, dtype=t.float32); t.tensor(s, dtype=t.float32); t.tensor(s, dtype=t.float64)
t.as_tensor(s, dtype=t.int32); t.FloatTensor(s); t.DoubleTensor(s); t.tensor([s, s]); t.tensor(u[4:], dtype=t.int32)
t.tensor(u, dtype=t.float32, requires_grad=True).sum()
""".replace("\n", "; ")
    .strip("; ")
    .split("; ")
)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("call", OF_STORAGES)
def test_tensors_of_storages_read_the_bytes(call):
    def answer(library):
        x = library.tensor([1.0, 2.0, 3.0])
        try:
            made = eval(call, {"t": library, "s": x.storage(), "u": x.untyped_storage()})
        except RuntimeError as error:
            return str(error)[:30]
        return str(made.dtype), made.tolist(), made.data_ptr() == x.data_ptr()

    assert answer(pullback) == answer(torch)
