"""The zip archives torch keeps checkpoints in: a strict reader and a deterministic writer.

Only stored (uncompressed) records are accepted, so memory never exceeds the file. Names are unique, records
do not overlap, and local headers agree with the central directory. What our writer puts around the records
follows from their names, sizes and CRC-32s alone; the reader lays it out again and compares, which together
with the CRC-32s covers every bit of a file of ours. Pickles and tensors are not known here.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .errors import CheckpointError, TruncatedCheckpointError
from .source import Source

ALIGNMENT: int = 64
MARKER: str = ".data/pullback"  # its presence promises the layout of `ArchiveWriter`, byte for byte
MARKER_CONTENT = b"1\n"

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_LOCAL_SIGNATURE, _CENTRAL_SIGNATURE = b"PK\x03\x04", b"PK\x01\x02"
_END_SIGNATURE, _END64_SIGNATURE, _LOCATOR_SIGNATURE = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
_UTF8_NAME, _SIZES_FOLLOW = 0x0800, 0x0008
_MIDNIGHT_1980 = 0x21  # the earliest date zip can express: files do not depend on the clock
_VERSION = 45


class Record:
    """One member of the archive."""

    __slots__ = ("name", "size", "crc", "header_offset", "data_offset")

    def __init__(self, name: bytes, size: int, crc: int, header_offset: int) -> None:
        self.name: bytes = name
        self.size: int = size
        self.crc: int = crc
        self.header_offset: int = header_offset
        self.data_offset: int = 0


class ArchiveWriter:
    """Writes records one after the other to a function that takes bytes."""

    def __init__(self, write: Callable[[Any], Any], prefix: str = "archive") -> None:
        self.write: Callable[[Any], Any] = write
        self.prefix: str = prefix
        self.position: int = 0
        self.records: list[Record] = []

    def add(self, name: str, data: bytes | bytearray | memoryview) -> None:
        """Append a record."""
        record = Record(f"{self.prefix}/{name}".encode(), len(data), zlib.crc32(data), self.position)
        header = _local_header(record)
        self.write(header)
        self.write(data)
        self.position += len(header) + len(data)
        self.records.append(record)

    def finish(self) -> None:
        """Append the marker record and the directory."""
        self.add(MARKER, MARKER_CONTENT)
        self.write(_directory(self.records, self.position))


class ArchiveReader:
    """The records of a zip archive; raises `CheckpointError` unless all of it is well formed."""

    def __init__(self, source: Source) -> None:
        self.source: Source = source
        start, size, count = _find_directory(source)
        self.records: dict[str, Record] = _read_directory(source.read(start, size), count)
        _locate_data(source, self.records, start)
        first = next(iter(self.records), "")
        self.prefix: str = first.split("/", 1)[0]
        # torch can be told to leave checksums out; it then writes zeros everywhere.
        self.has_checksums: bool = any(record.crc for record in self.records.values())
        self.is_ours: bool = f"{self.prefix}/{MARKER}" in self.records
        if self.is_ours:
            self._check_layout()

    def __contains__(self, name: str) -> bool:
        return f"{self.prefix}/{name}" in self.records

    def size_of(self, name: str) -> int:
        """Bytes in the record `name`."""
        return self._record(name).size

    def read(self, name: str) -> bytes:
        """The verified content of a small record."""
        record = self._record(name)
        data = self.source.read(record.data_offset, record.size)
        self._verify(record, data)
        return data

    def array(self, name: str, verify: bool = True) -> np.ndarray:
        """The content of a record as a writable uint8 array."""
        record = self._record(name)
        data = self.source.array(record.data_offset, record.size)
        if verify:
            self._verify(record, data.data)
        return data

    def unread(self, already: set[str]) -> Iterator[str]:
        """Names of the records that are not in `already`."""
        skip = len(self.prefix) + 1
        return (name[skip:] for name in self.records if name[skip:] not in already)

    def _record(self, name: str) -> Record:
        try:
            return self.records[f"{self.prefix}/{name}"]
        except KeyError:
            raise CheckpointError(
                f"PytorchStreamReader failed locating file {name[:100]}: file not found. "
                "The archive is damaged, or it is not a checkpoint."
            ) from None

    def _verify(self, record: Record, data: bytes | memoryview) -> None:
        if self.has_checksums and zlib.crc32(data) != record.crc:
            raise CheckpointError(
                f"The file is damaged: the content of record {record.name.decode()} does not match its CRC-32 "
                "checksum. Restore it from a copy."
            )

    def _check_layout(self) -> None:
        """Compare every byte outside the records with what the writer would have written there."""
        position = 0
        for record in self.records.values():
            header = _local_header(record)
            intact = record.header_offset == position and record.data_offset == position + len(header)
            if not intact or self.source.read(position, len(header)) != header:
                raise CheckpointError(f"The file is damaged near position {position}: a record header was changed.")
            position = record.data_offset + record.size
        directory = _directory(list(self.records.values()), position)
        if self.source.size != position + len(directory) or self.source.read(position, len(directory)) != directory:
            raise CheckpointError("The file is damaged: its directory of records was changed.")


def _local_header(record: Record) -> bytes:
    """Header in front of a record, padded so that the data begin at a multiple of ALIGNMENT."""
    large = record.size >= _FULL32
    extra = struct.pack("<2H2Q", 1, 16, record.size, record.size) if large else b""
    before = record.header_offset + _LOCAL.size + len(record.name) + len(extra) + 4
    padding = -before % ALIGNMENT
    extra += struct.pack("<2sH", b"FB", padding) + b"Z" * padding
    size = _FULL32 if large else record.size
    fixed = _LOCAL.pack(
        _LOCAL_SIGNATURE, _VERSION, _UTF8_NAME, 0, 0, _MIDNIGHT_1980, record.crc, size, size,
        len(record.name), len(extra),
    )  # fmt: skip
    return fixed + record.name + extra


def _directory(records: list[Record], start: int) -> bytes:
    """Central directory and the end records, for a directory that begins at `start`."""
    entries = bytearray()
    for record in records:
        large = record.size >= _FULL32 or record.header_offset >= _FULL32
        size, offset, extra = record.size, record.header_offset, b""
        if large:
            extra = struct.pack("<2H3Q", 1, 24, size, size, offset)
            size = offset = _FULL32
        entries += _CENTRAL.pack(
            _CENTRAL_SIGNATURE, _VERSION, _VERSION, _UTF8_NAME, 0, 0, _MIDNIGHT_1980, record.crc, size, size,
            len(record.name), len(extra), 0, 0, 0, 0, offset,
        )  # fmt: skip
        entries += record.name + extra
    count, length = len(records), len(entries)
    entries += _END64.pack(_END64_SIGNATURE, 44, _VERSION, _VERSION, 0, 0, count, count, length, start)
    entries += _LOCATOR.pack(_LOCATOR_SIGNATURE, 0, start + length, 1)
    short = min(count, _FULL16)
    entries += _END.pack(_END_SIGNATURE, 0, 0, short, short, min(length, _FULL32), min(start, _FULL32), 0)
    return bytes(entries)


def _find_directory(source: Source) -> tuple[int, int, int]:
    """Start, size and number of entries of the central directory."""
    tail_start = max(0, source.size - _END.size - _FULL16)
    tail = source.read(tail_start, source.size - tail_start)
    at = len(tail) - _END.size
    while True:
        at = tail.rfind(_END_SIGNATURE, 0, at + 4) if at >= 0 else -1
        if at < 0:
            raise TruncatedCheckpointError(
                "PytorchStreamReader failed reading zip archive: failed finding central directory. "
                "The file is truncated (was the program that saved it interrupted?) or damaged."
            )
        fields = _END.unpack_from(tail, at)
        if at + _END.size + fields[7] == len(tail):
            break
        at -= 1
    end = tail_start + at
    _, disk, start_disk, disk_count, count, size, start, _ = fields
    boundary = end
    if end >= _LOCATOR.size and source.read(end - _LOCATOR.size, 4) == _LOCATOR_SIGNATURE:
        boundary = end - _LOCATOR.size - _END64.size
        fields64 = _END64.unpack(source.read(boundary, _END64.size))
        _, disks_zero, located, disks = _LOCATOR.unpack(source.read(end - _LOCATOR.size, _LOCATOR.size))
        signature, _, _, _, disk64, start_disk64, disk_count64, count64, size64, start64 = fields64
        agrees = count in (count64, _FULL16) and size in (size64, _FULL32) and start in (start64, _FULL32)
        if signature != _END64_SIGNATURE or located != boundary or not agrees or disks_zero or disks > 1:
            raise _malformed("its end records contradict each other")
        disk, start_disk, disk_count, count, size, start = (
            disk64, start_disk64, disk_count64, count64, size64, start64,
        )  # fmt: skip
    if disk or start_disk or disk_count != count:
        raise _malformed("archives in several parts are not supported")
    if start + size != boundary or count * _CENTRAL.size > size:
        raise _malformed("its directory is not where the end record says")
    return start, size, count


def _read_directory(data: bytes, count: int) -> dict[str, Record]:
    records: dict[str, Record] = {}
    position = 0
    for _ in range(count):
        if position + _CENTRAL.size > len(data):
            raise _malformed("its directory ends too early")
        (
            signature, _, _, flags, method, _, _, crc, stored, size, name_length, extra_length, comment_length,
            disk, _, _, offset,
        ) = _CENTRAL.unpack_from(data, position)  # fmt: skip
        if signature != _CENTRAL_SIGNATURE or disk:
            raise _malformed("a directory entry is damaged")
        position += _CENTRAL.size
        name = data[position : position + name_length]
        extra = data[position + name_length : position + name_length + extra_length]
        position += name_length + extra_length + comment_length
        if position > len(data):
            raise _malformed("a directory entry is damaged")
        size, stored, offset = _wide_sizes(extra, size, stored, offset)
        if method or stored != size:
            raise CheckpointError(
                f"Record {name!r} of the archive is compressed, which no checkpoint of torch is. "
                "Unpack it and pack it again without compression (zip -0) if you trust it."
            )
        if flags & ~(_UTF8_NAME | _SIZES_FOLLOW):
            raise _malformed(f"record {name!r} is encrypted or has unknown flags")
        try:
            text = name.decode()
        except UnicodeDecodeError:
            raise _malformed(f"the record name {name!r} is not UTF-8") from None
        if text in records:
            raise _malformed(f"it has two records called {text}")
        records[text] = Record(name, size, crc, offset)
    if position != len(data):
        raise _malformed("its directory has more entries than it declares")
    return records


def _wide_sizes(extra: bytes, size: int, stored: int, offset: int) -> tuple[int, int, int]:
    """Replace saturated 32-bit fields by the 64-bit ones of the zip64 extra field."""
    position = 0
    while position + 4 <= len(extra):
        tag, length = struct.unpack_from("<2H", extra, position)
        position += 4
        if position + length > len(extra):
            raise _malformed("an extra field is too long")
        if tag == 1:
            values = iter(struct.unpack_from(f"<{length // 8}Q", extra, position))
            size = next(values, size) if size == _FULL32 else size
            stored = next(values, stored) if stored == _FULL32 else stored
            offset = next(values, offset) if offset == _FULL32 else offset
        position += length
    return size, stored, offset


def _locate_data(source: Source, records: dict[str, Record], limit: int) -> None:
    """Find where each record's data begin, checking local headers and that no two records overlap."""
    free = 0
    for record in sorted(records.values(), key=lambda record: record.header_offset):
        if record.header_offset < free or record.header_offset + _LOCAL.size > limit:
            raise _malformed(f"record {record.name!r} overlaps another part of the file")
        (
            signature, _, flags, method, _, _, crc, stored, size, name_length, extra_length,
        ) = _LOCAL.unpack(source.read(record.header_offset, _LOCAL.size))  # fmt: skip
        name_start = record.header_offset + _LOCAL.size
        record.data_offset = name_start + name_length + extra_length
        free = record.data_offset + record.size
        if free > limit:
            raise _malformed(f"record {record.name!r} overlaps another part of the file")
        header = source.read(name_start, name_length + extra_length)
        if signature != _LOCAL_SIGNATURE or method or header[:name_length] != record.name:
            raise _malformed(f"the header of record {record.name!r} contradicts the directory")
        size, stored, _ = _wide_sizes(header[name_length:], size, stored, 0)
        if not flags & _SIZES_FOLLOW and (size, stored, crc) != (record.size, record.size, record.crc):
            raise _malformed(f"the header of record {record.name!r} contradicts the directory")


def _malformed(reason: str) -> CheckpointError:
    return CheckpointError(f"PytorchStreamReader failed reading zip archive: {reason}. The file is damaged.")
