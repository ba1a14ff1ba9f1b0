"""The safetensors format: `save_file`, `load_file`, `save`, `load` and `load_metadata`, strict in both directions.

A file is a JSON header and the elements of its tensors, nothing else. The reader accepts exactly the tensors
that tile the data without gaps or overlaps, rejects repeated keys, and never allocates more than the file holds.
Files written here carry checksums in their metadata: a CRC-32 for each tensor and one of the header itself.
Other readers ignore them; ours verifies them where present.
"""

from __future__ import annotations

import json
import math
import operator
import os
import struct
import sys
import zlib
from typing import Any

import numpy as np

from . import bridge
from .dtypes import numpy_dtype, to_native_order
from .errors import CheckpointError, TruncatedCheckpointError
from .source import Source, refuse_streams

__all__ = ["load", "load_file", "load_metadata", "save", "save_file"]

_DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
}  # fmt: skip
_NAMES = {name: code for code, name in _DTYPES.items()}
_MAX_HEADER = 100_000_000  # the limit of the reference implementation
_TENSOR_SUMS, _HEADER_SUM = "pullback.crc32", "pullback.header_crc32"
_NO_SUM = "0" * 8


def save_file(
    tensors: dict[str, Any], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Write named tensors (or arrays) to `filename`, replacing it in one step."""
    from .atomic import replace_file

    header, arrays = _prepare(tensors, metadata)

    def write(file: Any) -> None:
        file.write(header)
        for array in arrays:
            file.write(array)

    replace_file(filename, write)


def save(tensors: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes `save_file` would write."""
    header, arrays = _prepare(tensors, metadata)
    return b"".join((header, *arrays))


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Any]:
    """The tensors in `filename`, by name."""
    refuse_streams(filename)
    with open(filename, "rb") as file:
        return _load(Source(file), device)


def load(data: bytes, device: Any = "cpu") -> dict[str, Any]:
    """The tensors in the bytes of a file, by name."""
    import io

    return _load(Source(io.BytesIO(data)), device)


def load_metadata(filename: str | os.PathLike[str]) -> dict[str, str]:
    """The text that was saved along with the tensors."""
    refuse_streams(filename)
    with open(filename, "rb") as file:
        _, metadata, _ = _read_header(Source(file))
    return {key: value for key, value in metadata.items() if key not in (_TENSOR_SUMS, _HEADER_SUM)}


def _prepare(tensors: dict[str, Any], metadata: dict[str, str] | None) -> tuple[bytes, list[memoryview]]:
    """Header and data, in the order of the file: large elements first, which aligns all of them."""
    metadata = dict(metadata or {})
    for key, value in metadata.items():
        if type(key) is not str or type(value) is not str or _resembles_ours(key):
            raise TypeError(f"metadata must map text to text, but the entry {key!r} does not (or is reserved).")
    sources = {name: _elements(name, value) for name, value in tensors.items()}
    _refuse_shared(sources)
    named = sorted(sources.items(), key=lambda item: (-item[1].itemsize, item[0]))
    entries: dict[str, Any] = {}
    arrays, sums, position = [], {}, 0
    for name, array in named:
        flat = _packed(array)
        code = _NAMES[array.dtype.name]
        entries[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [position, position + flat.nbytes]}
        position += flat.nbytes
        sums[name] = f"{zlib.crc32(flat.data):08x}"
        arrays.append(flat.data)
    metadata[_TENSOR_SUMS] = json.dumps(sums, separators=(",", ":"))
    metadata[_HEADER_SUM] = _NO_SUM
    header = json.dumps({"__metadata__": metadata, **entries}, separators=(",", ":"), ensure_ascii=False).encode()
    header += b" " * (-len(header) % 8)
    if len(header) > _MAX_HEADER:
        raise ValueError(f"The names and metadata of these tensors exceed the format's limit of {_MAX_HEADER} bytes.")
    return struct.pack("<Q", len(header)) + _sealed(header, f"{zlib.crc32(header):08x}"), arrays


def _sealed(header: bytes, checksum: str, present: str = _NO_SUM) -> bytes:
    """The header with its own checksum put in place of `present`."""
    field = f'"{_HEADER_SUM}":"%s"'
    return header.replace((field % present).encode(), (field % checksum).encode(), 1)


def _elements(name: str, value: Any) -> np.ndarray:
    """The array behind a tensor (or the array itself), if the format can hold it."""
    if type(name) is not str or name == "__metadata__":
        raise TypeError(f"The names of tensors must be text other than '__metadata__', not {name!r}.")
    if not isinstance(value, np.ndarray):
        if not bridge.is_tensor(value):
            raise TypeError(f"Only tensors can be saved, but {name!r} is a {type(value).__name__}.")
        value = _array_of(bridge.parts_of_tensor(value))
    if value.dtype.name not in _NAMES:
        raise TypeError(f"The safetensors format has no elements of type {value.dtype.name}, which {name!r} has.")
    return value


def _packed(array: np.ndarray) -> np.ndarray:
    """The elements in order, little-endian, as bytes."""
    if sys.byteorder == "big" or not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("<"))
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _array_of(parts: bridge.TensorParts) -> np.ndarray:
    kind = numpy_dtype(parts.dtype)
    steps = tuple(step * kind.itemsize for step in parts.stride)
    return np.ndarray(parts.size, kind, parts.storage, parts.offset * kind.itemsize, steps)


def _refuse_shared(arrays: dict[str, np.ndarray]) -> None:
    """Tensors that overlap would be written twice and come back apart."""
    ranges = sorted((*np.lib.array_utils.byte_bounds(array), name) for name, array in arrays.items() if array.size)
    for (_, end, first), (begin, _, second) in zip(ranges, ranges[1:]):
        if begin < end:
            raise RuntimeError(
                "Some tensors share memory, this will lead to duplicate memory on disk and potential differences "
                f"when loading them again: [{{{first!r}, {second!r}}}]. Save one of them, or a clone()."
            )


def _load(source: Source, device: Any) -> dict[str, Any]:
    entries, metadata, start = _read_header(source)
    sums = _tensor_sums(metadata, entries)
    result = {}
    for name, (dtype, shape, begin, end) in entries.items():
        data = source.array(start + begin, end - begin)
        if sums is not None and f"{zlib.crc32(data.data):08x}" != sums[name]:
            raise CheckpointError(f"The file is damaged: tensor {name!r:.100} does not match its CRC-32 checksum.")
        if sys.byteorder == "big":
            array = to_native_order(data, dtype)
        else:
            array = data.view(dtype)
        storage = bridge.storage_from_array(array, str(device))
        result[name] = bridge.tensor_from_parts(storage, 0, shape, _contiguous_strides(shape), False)
    return result


def _contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


Entry = tuple[np.dtype, tuple[int, ...], int, int]


def _read_header(source: Source) -> tuple[dict[str, Entry], dict[str, str], int]:
    """Checked tensor entries, metadata, and where the data begin."""
    if source.size < 8:
        raise TruncatedCheckpointError("Not a safetensors file: header too small.")
    length = struct.unpack("<Q", source.read(0, 8))[0]
    if length > _MAX_HEADER:
        raise CheckpointError("Not a safetensors file: header too large.")
    raw = source.read(8, length)
    if not raw.startswith(b"{"):
        raise CheckpointError("Not a safetensors file: the header does not begin with '{'.")
    try:
        header = json.loads(raw.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except CheckpointError:
        raise
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"The header of the safetensors file is malformed: {error}") from error
    metadata = header.pop("__metadata__", {})
    if type(metadata) is not dict or any(type(value) is not str for value in metadata.values()):
        raise CheckpointError("The header of the safetensors file is malformed: its metadata are not text.")
    _check_header_sum(raw, metadata)
    entries = {name: _entry(name, value) for name, value in header.items()}
    position = 0
    for _, _, begin, end in sorted(entries.values(), key=lambda entry: entry[2:]):
        if begin != position:
            raise CheckpointError("The safetensors file is malformed: its tensors leave a gap or overlap.")
        position = end
    if 8 + length + position != source.size:
        raise TruncatedCheckpointError(
            f"The safetensors file is truncated or too long: its tensors need {8 + length + position} bytes, "
            f"it has {source.size}."
        )
    return entries, metadata, 8 + length


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise CheckpointError("The header of the safetensors file is malformed: it has the same key twice.")
    return result


def _no_constant(text: str) -> Any:
    raise CheckpointError(f"The header of the safetensors file is malformed: {text} is not JSON.")


def _entry(name: str, value: Any) -> Entry:
    if type(value) is not dict or set(value) != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(f"The safetensors file is malformed: tensor {name!r:.100} is not described correctly.")
    code, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if type(code) is not str or code not in _DTYPES:
        raise CheckpointError(f"Tensor {name!r:.100} has elements of type {code!r:.20}, which is not supported here.")
    if not _are_sizes(shape) or len(shape) > 64 or not _are_sizes(offsets) or len(offsets) != 2:
        raise CheckpointError(f"The safetensors file is malformed: bad shape or offsets of tensor {name!r:.100}.")
    dtype = numpy_dtype(_DTYPES[code])
    begin, end = offsets
    if math.prod(shape) * dtype.itemsize != end - begin:
        raise CheckpointError(f"The safetensors file is malformed: tensor {name!r:.100} has the wrong number of bytes.")
    if math.prod(max(length, 1) for length in shape) * dtype.itemsize >= 2**63:
        raise CheckpointError(f"The shape of tensor {name!r:.100} is too large for any memory.")
    return dtype, tuple(shape), begin, end


def _are_sizes(values: Any) -> bool:
    return type(values) is list and all(type(value) is int and 0 <= value < 2**63 for value in values)


def _check_header_sum(raw: bytes, metadata: dict[str, str]) -> None:
    # Each checksum vouches for the presence of the other, and a key that resembles one of ours was one of ours:
    # damage to keys cannot make the file look foreign.
    ours = [key for key in metadata if _resembles_ours(key)]
    if ours and sorted(ours) != [_TENSOR_SUMS, _HEADER_SUM]:
        raise CheckpointError("The file is damaged: one of its checksums is missing.")
    if _HEADER_SUM in metadata:
        present = metadata[_HEADER_SUM]
        if f"{zlib.crc32(_sealed(raw, _NO_SUM, present)):08x}" != present:
            raise CheckpointError("The file is damaged: its header does not match its CRC-32 checksum.")


def _resembles_ours(key: str) -> bool:
    """True if at most four characters tell a key of the metadata from one of ours."""
    return any(len(key) == len(name) and sum(map(operator.ne, key, name)) <= 4 for name in (_TENSOR_SUMS, _HEADER_SUM))


def _tensor_sums(metadata: dict[str, str], entries: dict[str, Entry]) -> dict[str, str] | None:
    if _TENSOR_SUMS not in metadata:
        return None
    try:
        sums = json.loads(metadata[_TENSOR_SUMS], object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise CheckpointError("The file is damaged: its checksums are not readable.") from error
    if type(sums) is not dict or set(sums) != set(entries):
        raise CheckpointError("The file is damaged: its checksums do not match its tensors.")
    return sums
