"""Random access to the bytes of a checkpoint: an open file, a buffer, or a memory map.

Nothing larger than what is left of the file is ever allocated, whatever lengths the file claims.
"""

from __future__ import annotations

import os
import stat
from typing import IO, Any

import numpy as np

from .errors import TruncatedCheckpointError


def refuse_streams(path: str | os.PathLike[str]) -> None:
    """Raise OSError for a pipe or a device that has no end, before anybody waits for it."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return  # opening it says what is wrong
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        raise OSError(
            f"{os.fspath(path)!r} is a pipe or a device. You can only torch.load from a file that is seekable. "
            "Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
        )


class Source:
    """The bytes of a seekable binary file from its current position to its end."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file: IO[bytes] = file
        try:
            self.start: int = file.tell()
            self.size: int = file.seek(0, os.SEEK_END) - self.start
            file.seek(self.start)
        except (AttributeError, OSError) as error:
            raise type(error)(
                f"{error}. You can only torch.load from a file that is seekable. "
                "Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            ) from error

    def read(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`, as a copy."""
        self._check(offset, length)
        self.file.seek(self.start + offset)
        pieces = []
        while length:
            piece = self.file.read(length)
            if not piece:
                raise TruncatedCheckpointError("The file became shorter while it was read.")
            pieces.append(piece)
            length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def array(self, offset: int, length: int) -> np.ndarray:
        """`length` bytes from `offset` as a writable uint8 array that nothing else refers to."""
        self._check(offset, length)
        array = np.empty(length, np.uint8)
        readinto: Any = getattr(self.file, "readinto", None)
        if readinto is None:
            array[:] = np.frombuffer(self.read(offset, length), np.uint8)
            return array
        self.file.seek(self.start + offset)
        view, done = array.data, 0
        while done < length:
            count = readinto(view[done:])
            if not count:
                raise TruncatedCheckpointError("The file became shorter while it was read.")
            done += count
        return array

    def _check(self, offset: int, length: int) -> None:
        if offset < 0 or length < 0 or offset + length > self.size:
            raise TruncatedCheckpointError(
                f"The file is truncated: {length} bytes are expected at position {offset}, "
                f"but it has only {self.size} bytes."
            )


class MappedSource(Source):
    """A file mapped into memory: arrays are read from disk when first touched. Writes reach the file if it is shared."""

    def __init__(self, file: IO[bytes], is_shared: bool = False) -> None:
        import mmap

        super().__init__(file)
        if self.size == 0:
            raise TruncatedCheckpointError("The file is empty.")
        access = mmap.ACCESS_WRITE if is_shared else mmap.ACCESS_COPY
        self.mapping: mmap.mmap = mmap.mmap(file.fileno(), 0, access=access)

    def array(self, offset: int, length: int) -> np.ndarray:
        """A writable view of the map; what lies around it in the file is no part of its storage."""
        self._check(offset, length)
        return np.frombuffer(self.mapping, np.uint8, length, offset) if length else np.empty(0, np.uint8)
