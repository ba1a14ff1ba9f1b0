"""Replacing a file all at once.

A reader, a crash or a power cut sees either the whole old file or the whole new one: the content goes to a
temporary file in the same directory, reaches the disk, and then takes the final name in one step. A saver holds a lock
on its temporary file; one that nobody holds was left by a saver that was killed, and the next save in this directory
removes it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable
from typing import IO

try:
    import fcntl
except ImportError:  # Windows: what a killed saver leaves stays
    fcntl = None  # type: ignore[assignment]

_BEGINNING, _END = ".pullback-", ".tmp"
_QUIET_SECONDS = 600.0  # a file just written is left alone, as locks do not reach other machines on every file system


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
    _remove_what_is_left(directory)
    temporary = os.path.join(directory, f"{_BEGINNING}{os.urandom(8).hex()}{_END}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(descriptor, "wb") as file:
            if fcntl is not None:
                _lock(file.fileno())
            write(file)
            file.flush()
            os.fsync(file.fileno())
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            if fcntl is not None:
                os.replace(temporary, target)
        if fcntl is None:  # Windows renames only what is closed
            os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_directory(directory)


def _lock(descriptor: int) -> bool:
    """Take the lock of a file, if nobody has it and the file system knows locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_what_is_left(directory: str) -> None:
    """Remove temporary files of savers that were killed."""
    if fcntl is None:
        return
    names: list[str] = []
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(_BEGINNING) and entry.name.endswith(_END)]
    for name in names:
        path = os.path.join(directory, name)
        with contextlib.suppress(OSError):  # another saver may be doing the same
            if not stat.S_ISREG(os.lstat(path).st_mode) or time.time() - os.lstat(path).st_mtime < _QUIET_SECONDS:
                continue
            descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW)
            try:
                if _lock(descriptor):
                    os.unlink(path)
            finally:
                os.close(descriptor)


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
