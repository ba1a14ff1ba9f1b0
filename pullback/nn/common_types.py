"""Names for argument types that layers share: a number or one for each spatial dimension."""

from __future__ import annotations

_size_1_t = int | tuple[int]
_size_2_t = int | tuple[int, int]
_size_3_t = int | tuple[int, int, int]
_size_4_t = int | tuple[int, int, int, int]
_size_6_t = int | tuple[int, int, int, int, int, int]
_size_any_t = int | tuple[int, ...]
