"""Memory layouts and memory formats: names that programs pass around.

Tensors are strided, but for the COO and CSR tensors of `sparse`; functions that make tensors make strided ones.
A memory format is the order in which the dims of a tensor lie in memory: `dims_of` says which.
"""

from __future__ import annotations

from typing import Any


class _Name:
    """A name in torch's namespace, which it prints and pickles as."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: str = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class layout(_Name):
    """How a tensor keeps its elements: `torch.strided`, or one of the sparse layouts."""

    __slots__ = ()


class memory_format(_Name):
    """The order of dims in memory that a program wishes for."""

    __slots__ = ()


strided: layout = layout("strided")
sparse_coo: layout = layout("sparse_coo")
sparse_csr: layout = layout("sparse_csr")
sparse_csc: layout = layout("sparse_csc")
sparse_bsr: layout = layout("sparse_bsr")
sparse_bsc: layout = layout("sparse_bsc")
_mkldnn: layout = layout("_mkldnn")
jagged: layout = layout("jagged")

preserve_format: memory_format = memory_format("preserve_format")
contiguous_format: memory_format = memory_format("contiguous_format")
legacy_contiguous_format = contiguous_format
channels_last: memory_format = memory_format("channels_last")
channels_last_3d: memory_format = memory_format("channels_last_3d")


def dims_of(wish: Any, ndim: int) -> tuple[int, ...] | None:
    """The dims, outermost first, in the order that a memory format asks for; None where that of a tensor is to be kept."""
    if wish is None or wish is preserve_format:
        return None
    if wish is contiguous_format:
        return tuple(range(ndim))
    rank = {channels_last: 4, channels_last_3d: 5}.get(wish)
    if rank is None:
        raise TypeError(f"argument 'memory_format' must be torch.memory_format, not {type(wish).__name__}")
    if ndim != rank:
        raise RuntimeError(
            f"required rank {rank} tensor to use {str(wish).removeprefix('torch.')} format: this one has {ndim} dims. "
            "torch.contiguous_format is for any number of them."
        )
    return (0, *range(2, ndim), 1)


def require_strided(value: Any) -> None:
    """Refuse to make a tensor of zeros, random numbers or the like in another layout."""
    if value is None or value is strided:
        return
    if not isinstance(value, layout):
        raise TypeError(f"argument 'layout' must be torch.layout, not {type(value).__name__}")
    raise RuntimeError(
        f"Pullback makes strided (dense) tensors here, not layout {value!r}. Leave layout out and call to_sparse(), or "
        "use torch.sparse_coo_tensor(indices, values, size)."
    )
