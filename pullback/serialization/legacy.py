"""The file format of torch before 1.6: pickles and raw storages in a row. Here it is written; `reader` reads it.

Nothing in it tells a damaged file from a whole one, so it is for exchange with old programs only.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001


def write_legacy_checkpoint(
    value: Any, write: Callable[[Any], Any], pickle: Callable[[Any, Any], Any] | None = None
) -> None:
    """Write a number to know the format by, its version, facts about the machine, `value`, and all storages."""
    from .writer import Pickler, Storages

    storages = Storages(is_legacy=True)
    pickled = pickle(value, storages) if pickle else Pickler(storages).dump(value)
    machine = {
        "protocol_version": PROTOCOL,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for header in (MAGIC, PROTOCOL, machine):
        write(Pickler(storages).dump(header))
    write(pickled)
    write(Pickler(storages).dump([str(key) for key in range(len(storages.arrays))]))
    for array, count in zip(storages.arrays, storages.counts, strict=True):
        write(struct.pack("=q", count))
        write(array.data)
