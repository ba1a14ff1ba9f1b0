"""Checkpoints: round trips, exchange with torch in both directions, and damage detected."""

import collections
import copy
import datetime
import io
import os
import pickle
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest
from serialization_stubs import Device, Dtype, Size, Tensor, install, tensor

from pullback import serialization
from pullback.serialization import CheckpointError, load, save

try:
    import torch
except ImportError:
    torch = None
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

needs_torch = pytest.mark.skipif(torch is None, reason="compares with torch")
DTYPES = (
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex128 complex64 uint16 uint32 uint64 "
    "float8_e4m3fn float8_e5m2"
).split()


@pytest.fixture(autouse=True)
def stub_tensor(monkeypatch):
    install(monkeypatch.setattr)


def to_bytes(value):
    buffer = io.BytesIO()
    save(value, buffer)
    return buffer.getvalue()


def round_trip(value):
    return load(io.BytesIO(to_bytes(value)))


def torch_bytes(value, **options):
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    return buffer.getvalue()


def from_torch(value, **options):
    return load(io.BytesIO(torch_bytes(value, **options)))


def into_torch(value, weights_only=True):
    return torch.load(io.BytesIO(to_bytes(value)), weights_only=weights_only)


def raw(value):
    """Bytes of a tensor's elements in order, of ours or of torch's."""
    if isinstance(value, Tensor):
        return np.ascontiguousarray(value.array).tobytes()
    return value.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""


def numpy_dtype(name):
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        if ml_dtypes is None:
            pytest.skip("needs ml_dtypes")
        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


PLAIN = [
    None, True, False, 0, 1, -1, 255, 256, 65535, 65536, 2**31, -(2**31), 2**63, -(2**70), 2**3000, 0.5, float("inf"),
    -0.0, 1 + 2j, "", "text", "ünï\ud800", "x" * 70000, b"", b"\x00\xff", b"b" * 300, bytearray(b"abc"), (), (1,),
    (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [1, [2, [3]]], {}, {"a": {"b": (1, "c")}, 1: 2, None: 3, (1, 2): 4, 1.5: b""},
    set(), {1, 2, 3}, frozenset("a"), {(1, ("a",))}, list(range(2500)), {i: i for i in range(2500)}, slice(1, None, 2),
    collections.OrderedDict(b=1, a=2), collections.Counter("abca"), ["same"] * 3,
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: f"{type(value).__name__}-{str(value)[:15]!r}")
def test_plain_data(value):
    result = round_trip(value)
    assert result == value and type(result) is type(value) and repr(result) == repr(value)
    assert pickle.loads(zipfile.ZipFile(io.BytesIO(to_bytes(value))).read("archive/data.pkl")) == value
    if torch is not None:
        if not isinstance(value, (frozenset, slice)) and value != 2**3000:  # not known to torch's safe reader
            assert into_torch(value) == value
        assert into_torch(value, weights_only=False) == value
        assert from_torch(value) == value
        assert repr(load(io.BytesIO(torch_bytes(value, pickle_protocol=4)))) == repr(value)


def test_identity_and_cycles():
    shared, cyclic = [1], []
    cyclic.append((cyclic, "x", shared, shared))
    cyclic.append((cyclic,))
    result = round_trip(cyclic)
    assert result[0][0] is result and result[1][0] is result and result[0][2] is result[0][3]
    buffer = bytearray(b"x")
    first, second = round_trip([buffer, buffer])
    assert first is second
    one = tensor([1.0])
    first, second = round_trip((one, one))
    assert first is second


def test_sizes_devices_dtypes():
    value = [Size((2, 3)), Device("cpu"), Device("cuda", 1), *map(Dtype, DTYPES)]
    assert round_trip(value) == value
    assert [type(item) for item in round_trip(value)][:2] == [Size, Device]
    if torch is not None:
        theirs = [torch.Size((2, 3)), torch.device("cpu"), torch.device("cuda", 1)]
        theirs += [getattr(torch, name) for name in DTYPES]
        assert into_torch(value) == theirs
        assert from_torch(theirs) == value
        assert from_torch(torch.strided) == "strided"


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3), (1, 1, 1, 2)])
def test_tensors(name, shape):
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    ours = tensor(values.astype(numpy_dtype(name)))
    again = round_trip(ours)
    assert raw(again) == raw(ours) and again.size == ours.size and again.stride == ours.stride
    assert again.base.dtype == numpy_dtype(name) and again.base.flags.writeable
    if torch is not None:
        read = into_torch({"x": ours})["x"]
        assert read.dtype == getattr(torch, name) and read.shape == shape and raw(read) == raw(ours)
        theirs = torch.as_tensor(values).to(getattr(torch, name))
        back = from_torch(theirs)
        assert back.base.dtype == numpy_dtype(name) and back.size == shape and raw(back) == raw(theirs)


def test_views_share_one_storage():
    base = np.arange(12.0)
    views = {
        "all": Tensor(base, 0, (3, 4), (4, 1)), "transposed": Tensor(base, 0, (4, 3), (1, 4)),
        "part": Tensor(base, 5, (2, 2), (4, 2)), "repeated": Tensor(base, 1, (5, 2), (0, 3)),
        "one": Tensor(base, 7, (), ()),
    }  # fmt: skip
    data = to_bytes(views)
    assert sum("/data/" in name for name in zipfile.ZipFile(io.BytesIO(data)).namelist()) == 1
    result = load(io.BytesIO(data))
    for name, view in views.items():
        assert np.array_equal(result[name].array, view.array) and result[name].stride == view.stride
    result["all"].array[...] = -1
    assert all((view.array == -1).all() for view in result.values())
    if torch is not None:
        theirs = torch.load(io.BytesIO(data), weights_only=True)
        assert all(np.array_equal(theirs[name].numpy(), view.array) for name, view in views.items())
        theirs["all"].fill_(-1)
        assert all((view == -1).all() for view in theirs.values())
        result = from_torch(theirs)
        result["transposed"].array[...] = 5
        assert all((view.array == 5).all() for view in result.values())


def test_views_of_another_dtype_share_too():
    base = np.arange(4, dtype=np.float32)
    ours = [Tensor(base), Tensor(base.view(np.int32))]
    result = round_trip(ours)
    assert np.shares_memory(result[0].base, result[1].base) and np.array_equal(result[1].array, ours[1].array)
    if torch is not None:
        first, second = into_torch(ours)
        assert first.data_ptr() == second.data_ptr() and torch.equal(first.view(torch.int32), second)


@needs_torch
def test_gradients_and_parameters():
    ours = [tensor([1.0], requires_grad=True), tensor([2.0], requires_grad=True, is_parameter=True),
            tensor([3], is_parameter=True), tensor([4.0])]  # fmt: skip
    for result in (round_trip(ours), from_torch(into_torch(ours))):
        assert [item.requires_grad for item in result] == [True, True, False, False]
        assert [item.is_parameter for item in result] == [False, True, True, False]
    theirs = into_torch(ours)
    assert [item.requires_grad for item in theirs] == [True, True, False, False]
    assert [isinstance(item, torch.nn.Parameter) for item in theirs] == [False, True, True, False]


@needs_torch
def test_state_dicts():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(torch.randn(8, 3)).square().sum().backward()
    optimizer.step()
    checkpoint = {
        "model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "rng": torch.get_rng_state(),
        "generator": torch.Generator().manual_seed(1).get_state(),
    }  # fmt: skip
    ours = from_torch(checkpoint)
    assert type(ours["model"]) is collections.OrderedDict
    assert ours["model"]._metadata == checkpoint["model"]._metadata
    back = torch.load(io.BytesIO(to_bytes(ours)), weights_only=True)
    assert back["model"]._metadata == checkpoint["model"]._metadata
    assert list(back["model"]) == list(checkpoint["model"])
    model.load_state_dict(back["model"])
    optimizer.load_state_dict(back["optimizer"])
    assert all(torch.equal(back["model"][name], value) for name, value in checkpoint["model"].items())
    for number, state in checkpoint["optimizer"]["state"].items():
        assert all(torch.equal(back["optimizer"]["state"][number][name], value) for name, value in state.items())
    assert torch.equal(back["rng"], checkpoint["rng"]) and torch.equal(back["generator"], checkpoint["generator"])


@needs_torch
def test_special_tensors_of_torch():
    lazy = torch.tensor([1 + 2j, 3 - 1j])
    assert np.array_equal(from_torch(lazy.conj()).array, lazy.conj().resolve_conj().numpy())
    assert np.array_equal(from_torch(lazy[1:].conj().imag).array, [1.0])  # a view with torch's negation flag
    assert np.array_equal(from_torch(lazy.conj(), _use_new_zipfile_serialization=False).array, [1 - 2j, 3 + 1j])
    views = from_torch([lazy[:1].conj(), lazy.conj(), lazy])
    assert np.shares_memory(views[0].array, views[1].array) and views[2].array[0] == 1 + 2j
    buffer = from_torch(torch.nn.Buffer(torch.ones(2)))
    assert np.array_equal(buffer.array, [1, 1])
    marked = torch.nn.Parameter(torch.ones(2))
    marked.note = "mine"
    assert from_torch(marked).is_parameter and from_torch(marked).note == "mine"


@needs_torch
def test_legacy_format_of_torch():
    base = torch.arange(6.0)
    value = {"a": base, "b": base[2:].view(2, 2).t(), "n": [1, "x"], "i": torch.tensor(3), "e": torch.ones(0)}
    data = torch_bytes(value, _use_new_zipfile_serialization=False)
    result = load(io.BytesIO(data))
    assert result["n"] == value["n"] and result["i"].array == 3
    assert np.array_equal(result["b"].array, value["b"].numpy())
    result["a"].array[...] = 9
    assert (result["b"].array == 9).all()
    assert np.array_equal(load(io.BytesIO(data), weights_only=False)["a"].array, base.numpy())
    for end in range(len(data)):
        with pytest.raises(CheckpointError):
            load(io.BytesIO(data[:end]))


def test_ancient_tar_format_is_named():
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:") as archive:
        archive.addfile(tarfile.TarInfo("sys_info"))
    buffer.seek(0)
    with pytest.raises(CheckpointError, match="tar archive"):
        load(buffer)


def rewrite(data, **changes):
    """The archive with records replaced (None removes one), written by the standard library."""
    result = io.BytesIO()
    old = zipfile.ZipFile(io.BytesIO(data))
    with zipfile.ZipFile(result, "w") as new:
        for name in old.namelist():
            short = name.split("/", 1)[1]
            content = changes.get(short, old.read(name))
            if content is not None and "pullback" not in short:
                new.writestr(name, content)
    return result.getvalue()


@pytest.mark.parametrize("name", [name for name in DTYPES if name != "bool"])
def test_big_endian_files(name):
    ours = tensor(np.arange(5).astype(numpy_dtype(name)))
    part = ours.base.itemsize // (2 if "complex" in name else 1)
    swapped = ours.base.view(f"u{part}").byteswap().tobytes()
    data = rewrite(to_bytes([ours, ours]), **{"data/0": swapped, "byteorder": b"big"})
    first, second = load(io.BytesIO(data))
    assert raw(first) == raw(ours) and first.base is second.base
    with pytest.raises(CheckpointError, match="endianness"):
        load(io.BytesIO(rewrite(data, byteorder=b"middle")))
    assert raw(load(io.BytesIO(rewrite(to_bytes(ours), byteorder=None)))) == raw(ours)


def test_archive_is_deterministic_aligned_and_standard():
    value = {"a": tensor(np.arange(10.0)), "b": tensor([1, 2, 3])}
    data = to_bytes(value)
    assert data == to_bytes(copy.copy(value))
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert archive.testzip() is None
    assert archive.read("archive/version") == b"3\n" and archive.read("archive/byteorder") == sys.byteorder.encode()
    assert len(archive.read("archive/.data/serialization_id")) == 40
    for info in archive.infolist():
        lengths = struct.unpack_from("<2H", data, info.header_offset + 26)
        start = info.header_offset + 30 + sum(lengths)
        assert start % 64 == 0 and info.compress_type == zipfile.ZIP_STORED
        assert zlib.crc32(data[start : start + info.file_size]) == info.CRC


def test_every_flipped_bit_is_detected():
    data = bytearray(to_bytes({"w": tensor(np.arange(6.0, dtype=np.float32)), "n": [1, "a"], "e": tensor(np.ones(0))}))
    load(io.BytesIO(data))
    for position in range(len(data)):
        for bit in range(8):
            data[position] ^= 1 << bit
            with pytest.raises(CheckpointError):
                load(io.BytesIO(data))
            data[position] ^= 1 << bit


@needs_torch
def test_checksums_of_torch_are_verified_when_present():
    value = torch.arange(100.0)
    data = bytearray(torch_bytes(value))
    position = data.find(value.numpy().tobytes())
    data[position + 50] ^= 1
    with pytest.raises(CheckpointError, match="CRC-32"):
        load(io.BytesIO(data))
    torch.load(io.BytesIO(data))
    torch.serialization.set_crc32_options(False)
    try:
        assert raw(from_torch(value)) == raw(value)
    finally:
        torch.serialization.set_crc32_options(True)


def test_paths_buffers_and_offsets(tmp_path):
    value = {"x": tensor(np.arange(100.0)), "y": 1}
    for path in (tmp_path / "a.pt", str(tmp_path / "b.pt")):
        save(value, path)
        assert load(path)["y"] == 1
        mapped = load(path, mmap=True)["x"]
        assert raw(mapped) == raw(value["x"])
        mapped.array[...] = 0
        assert raw(load(path)["x"]) == raw(value["x"])
    buffer = io.BytesIO(b"before")
    buffer.seek(6)
    save(value, buffer)
    buffer.seek(6)
    assert raw(load(buffer)["x"]) == raw(value["x"])
    with open(tmp_path / "c.pt", "wb") as file:
        save(value, file)
    with open(tmp_path / "c.pt", "rb", buffering=0) as file:
        assert raw(load(file)["x"]) == raw(value["x"])
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        load(buffer, mmap=True)


def load_tensor(map_location):
    return load(io.BytesIO(to_bytes(tensor([1.0]))), map_location)


UNNAMED = {"hook": lambda x: x}
ERRORS = [
    (lambda path: load(path / "missing.pt"), FileNotFoundError, "No such file"),
    (lambda path: load(path), IsADirectoryError, "Is a directory"),
    (lambda path: load(5), AttributeError, "'int' object has no attribute 'seek'. You can only torch.load from a file"),
    (lambda path: save(1, 5), AttributeError, "expected 'f' to be string, path, or a file-like object"),
    (lambda path: save(1, path), RuntimeError, "Is a directory"),
    (lambda path: save(1, path / "no" / "file"), RuntimeError, "Parent directory .* does not exist"),
    (lambda path: save(lambda x: x, path / "f"), AttributeError, "Can't pickle local object"),
    (lambda path: save(UNNAMED, path / "f"), pickle.PicklingError, "Can't pickle .* attribute lookup <lambda> on"),
    (lambda path: load(io.BytesIO(b"")), EOFError, "Ran out of input"),
    (lambda path: load(io.BytesIO(b"garbage")), pickle.UnpicklingError, "Weights only load failed"),
    (lambda path: load(io.BytesIO(b"PK\x03\x04" + b"x" * 99)), RuntimeError, "failed finding central directory"),
    (lambda path: load(io.BytesIO(), pickle_module=pickle, weights_only=True), RuntimeError, "Can not safely"),
    (lambda path: load_tensor("cuda"), RuntimeError, "Attempting to deserialize object on a"),
    (lambda path: load_tensor("foo"), RuntimeError, "don't know how to restore data loc"),
    (lambda path: load_tensor(5), TypeError, "not callable"),
    (lambda path: save(1, io.BytesIO(), pickle_module=io), ValueError, "has no Pickler"),
]  # fmt: skip


@pytest.mark.parametrize("action, kind, words", ERRORS, ids=[words for *_, words in ERRORS])
def test_errors(action, kind, words, tmp_path):
    with pytest.raises(kind, match=words):
        action(tmp_path)
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def test_map_location():
    moved = rewrite(to_bytes(tensor([1.0])))
    moved = rewrite(moved, **{"data.pkl": zipfile.ZipFile(io.BytesIO(moved)).read("archive/data.pkl").replace(
        b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:1")})  # fmt: skip
    seen = []

    def remember(storage, location):
        seen.append((storage.elements.base[0], location))
        return storage

    for location in ("cpu", b"cpu", Device("cpu"), {"cuda:1": "cpu"}, remember):
        if isinstance(location, Device):
            Device.__str__ = lambda device: device.type
        assert load(io.BytesIO(moved), map_location=location).array[0] == 1
    assert seen == [(1.0, "cuda:1")]
    for location in (None, {"cpu": "cpu"}, lambda storage, location: None):
        with pytest.raises(RuntimeError, match="map_location=torch.device\\('cpu'\\)"):
            load(io.BytesIO(moved), map_location=location)


class Config:
    def __init__(self, width):
        self.width = width

    class Inner:
        pass


class Slotted:
    __slots__ = ("a",)


def test_general_objects_need_trust():
    value = Config({"x": tensor([1.0])})
    others = [Config, Config.Inner, datetime.date(2020, 1, 2), collections.defaultdict(list, a=[1])]
    data = to_bytes([value, value, *others])
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global: GLOBAL .*Config was not an allowed global"):
        load(io.BytesIO(data))
    result = load(io.BytesIO(data), weights_only=False)
    assert result[0] is result[1] and result[0].width["x"].array[0] == 1
    assert result[2:] == others
    assert load(io.BytesIO(data), pickle_module=pickle)[2] is Config


def test_safe_globals():
    slotted = Slotted()
    slotted.a = 5
    data = to_bytes([Config(3), datetime.date(2020, 1, 2), slotted, np.float64(1.5), np.arange(3)])
    multiarray = np._core.multiarray
    allowed = [
        Config, datetime.date, Slotted, np.dtype, np.ndarray, type(np.dtype("f8")), type(np.dtype("i8")),
        (multiarray.scalar, f"{multiarray.scalar.__module__}.scalar"), multiarray._reconstruct,
    ]  # fmt: skip
    with serialization.safe_globals(allowed):
        assert set(serialization.get_safe_globals()) == set(allowed)
        config, date, slots, number, array = load(io.BytesIO(data))
    assert config.width == 3 and date == datetime.date(2020, 1, 2) and slots.a == 5 and number == 1.5
    assert array.tolist() == [0, 1, 2]
    assert serialization.get_safe_globals() == []
    with pytest.raises(CheckpointError):
        load(io.BytesIO(data))
    serialization.add_safe_globals([Config])
    assert load(io.BytesIO(to_bytes(Config(1)))).width == 1
    serialization.clear_safe_globals()
    with pytest.raises(CheckpointError):
        load(io.BytesIO(to_bytes(Config(1))))
    serialization.add_safe_globals([os.system])
    try:
        with pytest.raises(CheckpointError, match="is blocked"):
            load(io.BytesIO(to_bytes(os.system)))
    finally:
        serialization.clear_safe_globals()


def test_files_keep_their_mode_and_links(tmp_path):
    old = os.umask(0o027)
    try:
        save(1, tmp_path / "new")
    finally:
        os.umask(old)
    assert os.stat(tmp_path / "new").st_mode & 0o777 == 0o640
    os.chmod(tmp_path / "new", 0o604)
    os.symlink("new", tmp_path / "link")
    save(2, tmp_path / "link")
    assert os.path.islink(tmp_path / "link") and load(tmp_path / "new") == 2
    assert os.stat(tmp_path / "new").st_mode & 0o777 == 0o604
    save(3, os.devnull)
    assert sorted(os.listdir(tmp_path)) == ["link", "new"]


def test_failed_save_leaves_the_old_file(tmp_path):
    save("old", tmp_path / "f")
    for bad in (lambda: 0, [1, {"x": io.BytesIO}, open], (i for i in ())):
        with pytest.raises((AttributeError, TypeError)):
            save([tensor([1.0]), bad, lambda: 0], tmp_path / "f")
    assert load(tmp_path / "f") == "old" and os.listdir(tmp_path) == ["f"]


def test_importing_is_cheap():
    code = (
        "import sys, numpy; before = set(sys.modules); import pullback.serialization;"
        "print([name for name in set(sys.modules) - before if name.startswith('pullback.serialization.')])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
