"""Memory layouts and memory formats: names programs pass around, of which one of each is real here.

Every tensor is strided. `channels_last` is accepted where torch accepts it as a hint (`to`, `contiguous`, `clone`) and
changes nothing a program can compute with.
"""

from __future__ import annotations

from typing import Any


class layout:
    """How a tensor keeps its elements: `torch.strided`, or one of the sparse layouts this library does not have."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: str = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class memory_format:
    """The order of dims in memory that a program wishes for."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: str = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


strided: layout = layout("strided")
sparse_coo: layout = layout("sparse_coo")
sparse_csr: layout = layout("sparse_csr")
sparse_csc: layout = layout("sparse_csc")
sparse_bsr: layout = layout("sparse_bsr")
sparse_bsc: layout = layout("sparse_bsc")
jagged: layout = layout("jagged")

preserve_format: memory_format = memory_format("preserve_format")
contiguous_format: memory_format = memory_format("contiguous_format")
legacy_contiguous_format = contiguous_format
channels_last: memory_format = memory_format("channels_last")
channels_last_3d: memory_format = memory_format("channels_last_3d")


def require_strided(value: Any) -> None:
    """Refuse to make a tensor in a layout that does not exist here."""
    if value is None or value is strided:
        return
    if not isinstance(value, layout):
        raise TypeError(f"argument 'layout' must be torch.layout, not {type(value).__name__}")
    raise RuntimeError(
        f"Pullback has strided (dense) tensors only, not layout {value!r}. Leave layout out, or keep the indices and "
        "values as two dense tensors."
    )
