"""The commands of `pullback`: one file each, with a `main(arguments)` that returns the exit status."""

from __future__ import annotations

import errno
import os
from typing import IO

LARGEST_PROGRAM: int = 1 << 28  # bytes: more than any program has; /dev/zero has no end


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def read_program(file: IO[bytes]) -> bytes:
    """All of an open file; OSError for one that is too large for a program or a notebook."""
    content = file.read(LARGEST_PROGRAM + 1)
    if len(content) > LARGEST_PROGRAM:
        raise OSError(errno.EFBIG, f"{os.strerror(errno.EFBIG)} for a program")
    return content
