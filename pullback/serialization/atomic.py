"""Replacing a file all at once.

A reader, a crash or a power cut sees either the whole old file or the whole new one: the content goes to a
temporary file in the same directory, reaches the disk, and then takes the final name in one step.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import IO


def replace_file(path: str | os.PathLike[str], write: Callable[[IO[bytes]], None]) -> None:
    """Call `write(file)` and put what it wrote at `path`; on any failure `path` stays as it was."""
    target = os.path.realpath(os.fspath(path))  # a symbolic link keeps pointing at the file it points at
    directory = os.path.dirname(target)
    if not os.path.isdir(directory):
        raise RuntimeError(f"Parent directory {directory} does not exist.")
    if os.path.isdir(target):
        raise RuntimeError(f"open file failed with strerror: Is a directory: {target}. Give the path of a file.")
    mode = _mode_of(target)
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as device:  # a pipe or /dev/null is written to, never replaced
            write(device)
        return
    temporary = os.path.join(directory, f".pullback-{os.urandom(8).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(descriptor, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_directory(directory)


def _mode_of(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _sync_directory(directory: str) -> None:
    if os.name == "nt":  # Windows neither needs nor allows it
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
