"""Scaled dot-product attention as one operation.

Leading axes of all operands agree. `mask` is boolean (True: look) or added to the scores; `dropout` multiplies the
probabilities and is scaled already. A query that may look at nothing has result 0 and gradient 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.dtypes import kind_of
from ..core.kernel import kernel
from ..core.op import Op, fused
from ..kernels import attention as kernels
from ..kernels.like import brought
from ..kernels.thresholds import KEPT_SCORES
from .fusing import in_single, is_half
from .layouts import ATTENTION
from .matmul import matmul
from .reductions import softmax
from .samples import Draw, Sample
from .striding import in_order

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array


def _attention(
    query: Array, key: Array, value: Array, mask: Array | None, dropout: Array | None, scale: float, causal: bool
) -> tuple[Any, ...]:
    if not query.flags.c_contiguous and (
        query.ndim != 4 or 0 in query.strides or any(x.strides[-1] != x.itemsize for x in (query, key, value))
    ):
        query = in_order(query)  # else the result lies in memory as the query does
    few = 0 < math.prod(query.shape[:-1]) * key.shape[-2] <= KEPT_SCORES
    if few and dropout is None and not is_half(query.dtype) and (mask is None or mask.dtype in (bool, query.dtype)):
        return kernels.kept_attention(query, key, value, mask, scale, causal)
    return kernels.attention(query, key, value, mask, dropout, scale=scale, causal=causal)


def _probabilities(query: Array, key: Array, mask: Array | None, scale: float, causal: bool) -> Array:
    scores = matmul(query, np.swapaxes(key, -1, -2)) * scale
    if mask is not None:
        scores = np.where(mask, scores, -math.inf) if kind_of(mask) == "b" else scores + mask
    if causal:
        queries, keys = scores.shape[-2:]
        seen = brought(np.arange(keys) <= np.arange(queries)[:, None], scores)
        scores = np.where(seen, scores, -math.inf)
    blind = np.all(scores == -math.inf, axis=-1, keepdims=True)
    return np.where(blind, 0, softmax(np.where(blind, 0, scores), axis=len(scores.shape) - 1))


def _attention_formula(
    query: Array, key: Array, value: Array, mask: Array | None, dropout: Array | None, scale: float, causal: bool
) -> tuple[Any, Any]:
    chances = _probabilities(query, key, mask, scale, causal)
    return matmul(chances if dropout is None else chances * dropout, value), chances


def _attention_backward(
    g: Array,
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    dropout: Array | None,
    outs: tuple[Array, ...],
    needs: tuple[bool, ...],
    scale: float,
    causal: bool,
) -> Any:
    if is_half(query.dtype):
        return NotImplemented
    if outs[1].ndim == query.ndim:  # few scores: the probabilities were kept
        return kernels.kept_attention_backward(g, query, key, value, outs[1], scale, causal, needs)
    return kernels.attention_backward(
        g, query, key, value, outs[0], outs[1], mask, dropout, scale=scale, causal=causal, mask_wanted=needs[3]
    )


def _attention_pullback(
    g: Array,
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    dropout: Array | None,
    needs: tuple[bool, ...],
    scale: float,
    causal: bool,
) -> tuple[Array | None, ...]:
    chances = _probabilities(query, key, mask, scale, causal)
    slopes = matmul(g, np.swapaxes(value, -1, -2))
    kept = chances
    if dropout is not None:
        kept, slopes = chances * dropout, slopes * dropout
    slopes = chances * (slopes - np.sum(slopes * chances, axis=-1, keepdims=True))
    return (
        matmul(slopes, key) * scale,
        matmul(np.swapaxes(slopes, -1, -2), query) * scale,
        matmul(np.swapaxes(kept, -1, -2), g),
        slopes if needs[3] else None,
    )


def _samples(draw: Draw) -> Iterator[Sample]:
    """Heads of few queries and of many, with each mask, and probabilities that were dropped."""
    for lead, queries, keys, width in (((2,), 2, 3, 2), ((2, 2), 4, 3, 5), ((0, 2), 3, 3, 2), ((2, 4), 130, 150, 16)):
        scores = (*lead, queries, keys)
        hidden = draw.whole(scores, 4) > 0
        for mask, dropout, causal in (
            (None, None, False), (None, None, True), (hidden, None, False), (draw(*scores), None, True),
            (None, (draw.whole(scores, 3) > 0) * 1.5, False),
        ):  # fmt: skip
            dropped = None if dropout is None else dropout.astype(draw.dtype)
            given = draw(*lead, queries, width), draw(*lead, keys, width), draw(*lead, keys, width)
            yield (*given, mask, dropped), {"scale": 0.5, "causal": causal}


attention: Op = fused(
    "ScaledDotProductFlashAttentionForCpuBackward0",
    _attention_formula,
    joint=_attention_pullback,
    inputs=("query", "key", "value", "mask", "dropout"),
    kernel=kernel(in_single(_attention), joint=_attention_backward),
    batch=ATTENTION,
    autocast="short",
    copies_before_writes=True,
    aten="_scaled_dot_product_flash_attention_for_cpu",
    samples=_samples,
)
