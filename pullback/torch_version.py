"""A version string that compares by its numbers, as `torch.__version__` does.

Programs write `torch.__version__ >= "2.4"`; as plain strings "2.13.0" would sort before "2.4". Only the release
numbers and whether the version is a pre-release take part in the comparison; local labels (`+cpu`) do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable


def _sort_key(version: object) -> tuple[tuple[int, ...], bool]:
    """(release numbers without trailing zeros, is a final release); ValueError for what is no version."""
    if isinstance(version, (tuple, list)):
        version = ".".join(str(part) for part in version)
    matched = re.match(r"\s*v?(\d+(?:\.\d+)*)([^+]*)", str(version))
    if matched is None:
        raise ValueError(f"{version!r} is not a version: expected numbers separated by dots, as in '2.13.0'.")
    release = [int(part) for part in matched.group(1).split(".")]
    while release and release[-1] == 0:
        release.pop()
    prerelease = re.match(r"[.\-_]?(a|b|c|rc|alpha|beta|pre|preview|dev)", matched.group(2)) is not None
    return tuple(release), not prerelease


class TorchVersion(str):
    """A `str` whose order is that of versions; the other side may be a string or a tuple of numbers."""

    __slots__ = ()
    __hash__: Callable[..., int] = str.__hash__

    def __eq__(self, other: object) -> bool:
        try:
            return _sort_key(self) == _sort_key(other)
        except ValueError:
            return str.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return _sort_key(self) < _sort_key(other)

    def __le__(self, other: object) -> bool:
        return _sort_key(self) <= _sort_key(other)

    def __gt__(self, other: object) -> bool:
        return _sort_key(self) > _sort_key(other)

    def __ge__(self, other: object) -> bool:
        return _sort_key(self) >= _sort_key(other)
