"""Settings of `load`: maps that write through, byte orders that files do not name; and what a file would ask for."""

import io
import mmap
import zipfile

import numpy as np
import pytest

import pullback
from pullback import serialization
from pullback.serialization import LoadEndianness, load, save

torch = pytest.importorskip("torch")


class Stranger:
    pass


def saved(library, value):
    library.save(value, buffer := io.BytesIO())
    return io.BytesIO(buffer.getvalue())


@pytest.mark.parametrize("library", [pullback, torch], ids=["ours", "torch's"])
def test_globals_that_would_be_refused_are_named(library):
    value = {"a": Stranger(), "b": library.ones(2), "c": [{1, 2}, library.float16]}
    for module in (serialization, torch.serialization):
        assert module.get_unsafe_globals_in_checkpoint(saved(library, value)) == [f"{__name__}.Stranger"]
        with module.safe_globals([Stranger]):
            assert module.get_unsafe_globals_in_checkpoint(saved(library, value)) == []
    assert (
        serialization.get_unsafe_globals_in_checkpoint(saved(library, {"b": library.nn.Linear(2, 2).state_dict()}))
        == []
    )


def test_questions_about_something_else():
    with pytest.raises(ValueError, match="Expected input to be a checkpoint returned by torch.save"):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"something else"))


def test_shared_maps_write_to_the_file(tmp_path):
    path = tmp_path / "weights.pt"
    save({"w": pullback.ones(5)}, path)
    load(path, mmap=True)["w"][0] = 7
    assert load(path)["w"].tolist() == [1.0] * 5
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        loaded = load(path, mmap=True)
        loaded["w"][0] = 7
    assert load(path, mmap=True)["w"].tolist() == [7.0, 1.0, 1.0, 1.0, 1.0]
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with pytest.raises(ValueError, match="expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got 3"):
        serialization.set_default_mmap_options(3)


def test_byte_order_of_files_that_do_not_name_it():
    torch.save(torch.arange(3, dtype=torch.int32), buffer := io.BytesIO())
    stripped = io.BytesIO()
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(stripped, "w") as new:
        for name in old.namelist():
            if not name.endswith("byteorder"):
                new.writestr(name, old.read(name))
    expected = {None: [0, 1, 2], LoadEndianness.LITTLE: [0, 1, 2], LoadEndianness.NATIVE: np.arange(3).tolist(),
                LoadEndianness.BIG: [0, 1 << 24, 2 << 24]}  # fmt: skip
    try:
        for order, numbers in expected.items():
            serialization.set_default_load_endianness(order)
            assert serialization.get_default_load_endianness() is order
            assert load(io.BytesIO(stripped.getvalue())).tolist() == numbers
            assert load(io.BytesIO(buffer.getvalue())).tolist() == [0, 1, 2]
    finally:
        serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="Invalid argument type in function set_default_load_endianness"):
        serialization.set_default_load_endianness("big")


def test_checksums_are_always_written():
    serialization.set_crc32_options(False)
    try:
        data = bytearray(saved(pullback, pullback.full((64,), 3.0)).getvalue())
        assert serialization.get_crc32_options() is False
    finally:
        serialization.set_crc32_options(True)
    data[data.index(np.full(64, 3.0, np.float32).tobytes()) + 5] ^= 1
    with pytest.raises(serialization.CheckpointError, match="damaged"):
        load(io.BytesIO(bytes(data)))
