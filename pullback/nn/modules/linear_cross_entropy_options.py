"""`LinearCrossEntropyOptions`: torch's settings of the chunked linear cross entropy, accepted and kept."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["LinearCrossEntropyOptions"]


class LinearCrossEntropyOptions(NamedTuple):
    """How to divide the work; results do not depend on it."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None
