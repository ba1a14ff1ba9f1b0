"""Names for argument types that layers share: a number or one for each spatial dimension."""

from __future__ import annotations

from typing import Union

_size_1_t = Union[int, tuple[int]]
_size_2_t = Union[int, tuple[int, int]]
_size_3_t = Union[int, tuple[int, int, int]]
_size_4_t = Union[int, tuple[int, int, int, int]]
_size_6_t = Union[int, tuple[int, int, int, int, int, int]]
_size_any_t = Union[int, tuple[int, ...]]
