"""The safetensors reader and writer, against the reference implementation and against damaged files."""

import io
import json
import os
import struct

import numpy as np
import pytest
from serialization_stubs import Tensor, install, tensor

from pullback.serialization import CheckpointError, load, safetensors

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

DTYPES = "float64 float32 float16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool complex64".split()
EXTENDED = "bfloat16 float8_e4m3fn float8_e5m2".split()


@pytest.fixture(autouse=True)
def stub_tensor(monkeypatch):
    install(monkeypatch.setattr)


def dtype_of(name):
    if name in EXTENDED:
        if ml_dtypes is None:
            pytest.skip("needs ml_dtypes")
        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def build(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize("name", DTYPES + EXTENDED)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (2, 3)])
def test_exchange(name, shape, tmp_path):
    values = np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape).astype(dtype_of(name))
    for value in (values, tensor(values)):
        data = safetensors.save({"x": value, "other": np.zeros(3, np.int8)}, {"format": "pt"})
        result = safetensors.load(data)
        assert list(sorted(result)) == ["other", "x"]
        assert result["x"].array.tobytes() == values.tobytes() and result["x"].size == shape
        assert result["x"].base.dtype == values.dtype and result["x"].base.flags.writeable
    reference = pytest.importorskip("safetensors.torch")
    torch = pytest.importorskip("torch")
    theirs = reference.load(data)["x"]
    assert theirs.dtype == getattr(torch, name) and tuple(theirs.shape) == shape
    assert theirs.numel() == 0 or theirs.reshape(-1).view(torch.uint8).numpy().tobytes() == values.tobytes()
    back = safetensors.load(reference.save({"x": theirs}))["x"]
    assert back.array.tobytes() == values.tobytes() and back.size == shape and back.base.dtype == values.dtype


def test_files_and_metadata(tmp_path):
    path = tmp_path / "model.safetensors"
    safetensors.save_file({"ünï": np.arange(6.0).reshape(2, 3).T, "b": np.ones(1, ">i4")}, path, {"step": "3"})
    result = load(path)
    assert np.array_equal(result["ünï"].array, np.arange(6.0).reshape(2, 3).T) and result["b"].array[0] == 1
    assert safetensors.load_metadata(path) == {"step": "3"}
    assert safetensors.load_file(path)["b"].array[0] == 1
    assert safetensors.load(safetensors.save({})) == {}
    reference = pytest.importorskip("safetensors")
    with reference.safe_open(path, "np") as file:
        assert file.metadata()["step"] == "3" and "pullback.crc32" in file.metadata()
        assert file.get_tensor("b")[0] == 1
    start = struct.unpack("<Q", path.read_bytes()[:8])[0]
    assert start % 8 == 0


def test_every_flipped_bit_is_detected():
    data = bytearray(safetensors.save({"w": np.arange(3.0), "e": np.ones((0, 4), np.int8)}, {"k": "v"}))
    safetensors.load(bytes(data))
    for position in range(len(data)):
        for bit in range(8):
            data[position] ^= 1 << bit
            with pytest.raises(CheckpointError):
                safetensors.load(bytes(data))
            data[position] ^= 1 << bit
    for end in range(len(data)):
        with pytest.raises(CheckpointError):
            safetensors.load(bytes(data[:end]))


def test_damage_to_both_names_of_the_checksums_is_detected():
    data = safetensors.save({"w": np.arange(3.0)}, {"pullback.size1": "mine"})
    for first, second in ((b"pullback.crc#2", b"pullbcck.header_crC32"), (b"xxxxback.crc32", b"pullback.header_xxxx2")):
        with pytest.raises(CheckpointError, match="checksums is missing"):
            safetensors.load(data.replace(b"pullback.crc32", first).replace(b"pullback.header_crc32", second))
    with pytest.raises(TypeError, match="reserved"):
        safetensors.save({"w": np.arange(3.0)}, {"pullback.crc33": "mine"})


def entry(dtype="F32", shape=(2,), offsets=(0, 8), **more):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}


MALFORMED = {
    "empty": b"",
    "short": b"\x00" * 7,
    "header beyond the file": struct.pack("<Q", 100) + b"{}",
    "header of an exabyte": struct.pack("<Q", 2**60) + b"{}",
    "not an object": build(b"[]"),
    "space first": build(b" {}"),
    "not JSON": build(b"{nope}"),
    "not UTF-8": build(b'{"\xff":1}'),
    "NaN": build(b'{"a":NaN}'),
    "deep": build(b'{"a":' * 100_000),
    "deep lists": build(b'{"a":' + b"[" * 100_000),
    "number with many digits": build(b'{"a":' + b"1" * 10_000 + b"}"),
    "same key twice": build(b'{"a":%s,"a":%s}' % ((json.dumps(entry()).encode(),) * 2), b"0" * 8),
    "same field twice": build(b'{"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}', b"0" * 8),
    "entry is no object": build({"a": 1}),
    "field missing": build({"a": {"dtype": "F32", "shape": [2]}}, b"0" * 8),
    "field too many": build({"a": entry(more=1)}, b"0" * 8),
    "unknown dtype": build({"a": entry("F33")}, b"0" * 8),
    "dtype is a list": build({"a": entry([])}, b"0" * 8),
    "negative size": build({"a": entry(shape=[-2])}, b"0" * 8),
    "float size": build({"a": entry(shape=[2.0])}, b"0" * 8),
    "boolean size": build({"a": entry(shape=[True, 2])}, b"0" * 8),
    "huge and empty": build({"a": entry(shape=[2**62, 0], offsets=[0, 0])}),
    "product wraps": build({"a": entry(shape=[2**32, 2**32], offsets=[0, 0])}),
    "65 dimensions": build({"a": entry(shape=[1] * 64 + [2])}, b"0" * 8),
    "size does not match": build({"a": entry(shape=[3])}, b"0" * 8),
    "backwards": build({"a": entry(shape=[0], offsets=[8, 8])}, b"0" * 8),
    "three offsets": build({"a": entry(offsets=[0, 8, 8])}, b"0" * 8),
    "beyond the data": build({"a": entry()}, b"0" * 7),
    "data left over": build({"a": entry()}, b"0" * 9),
    "gap": build({"a": entry(), "b": entry(offsets=[12, 20])}, b"0" * 20),
    "overlap": build({"a": entry(), "b": entry(offsets=[4, 12])}, b"0" * 12),
    "twice the same data": build({"a": entry(), "b": entry()}, b"0" * 8),
    "metadata is no object": build({"__metadata__": []}),
    "metadata is no text": build({"__metadata__": {"a": 1}}),
    "checksum of the header missing": build({"__metadata__": {"pullback.crc32": "{}"}}),
    "checksums missing": build({"__metadata__": {"pullback.header_crc32": "0"}}),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files(name):
    with pytest.raises(CheckpointError):
        safetensors.load(MALFORMED[name])


def test_plain_files_of_others():
    assert safetensors.load(build({"a": entry()}, b"\x00" * 8))["a"].array.tolist() == [0, 0]
    assert safetensors.load(build(b'{"__metadata__":{"a":"b"}}   ')) == {}


BAD_SAVES = [
    ({"a": [1.0]}, {}, TypeError, "Only tensors"),
    ({1: np.ones(1)}, {}, TypeError, "names of tensors"),
    ({"__metadata__": np.ones(1)}, {}, TypeError, "names of tensors"),
    ({"a": np.ones(1, "U1")}, {}, TypeError, "no elements of type"),
    ({"a": np.ones(1)}, {"a": 1}, TypeError, "text to text"),
    ({"a": np.ones(1)}, {"pullback.crc32": "1"}, TypeError, "reserved"),
]


@pytest.mark.parametrize("tensors, metadata, kind, words", BAD_SAVES)
def test_what_cannot_be_saved(tensors, metadata, kind, words, tmp_path):
    with pytest.raises(kind, match=words):
        safetensors.save_file(tensors, tmp_path / "f", metadata)
    assert os.listdir(tmp_path) == []


def test_shared_memory_is_refused():
    base = np.arange(4.0)
    for pair in ({"a": base, "b": base}, {"a": Tensor(base), "b": Tensor(base, 0, (2,), (1,))}):
        with pytest.raises(RuntimeError, match="Some tensors share memory"):
            safetensors.save(pair)
    halves = safetensors.load(safetensors.save({"a": base[:2], "b": Tensor(base, 2, (2,), (1,)), "c": base[:0]}))
    assert halves["b"].array.tolist() == [2, 3]


def test_large_headers_stay_fast():
    import time

    data = safetensors.save({f"layer.{i}": np.ones(1, np.int8) for i in range(20_000)})
    start = time.process_time()
    assert len(safetensors.load(data)) == 20_000
    assert time.process_time() - start < 5


def test_load_by_suffix_only(tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(safetensors.save({"a": np.ones(1)}))
    assert load(str(path))["a"].array[0] == 1
    with pytest.raises(CheckpointError):
        load(io.BytesIO(path.read_bytes()))
