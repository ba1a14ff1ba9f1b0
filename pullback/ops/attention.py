"""Scaled dot-product attention as one operation: a fused kernel on plain arrays, formulas everywhere else.

Leading axes of all operands agree. `mask` is boolean (True: look) or added to the scores; `dropout` multiplies the
probabilities and is scaled already. A query that may look at nothing has result 0 and gradient 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..autograd.op import Op, fused
from ..dtypes import kind_of
from ..kernels import attention as kernels
from ..kernels.thresholds import KEPT_SCORES
from .fusing import in_single, is_half, plain
from .layouts import ATTENTION
from .matmul import matmul
from .reductions import softmax
from .striding import in_order


def _attention(query: Any, key: Any, value: Any, mask: Any, dropout: Any, scale: float, causal: bool) -> tuple:
    if not query.flags.c_contiguous and (
        query.ndim != 4 or 0 in query.strides or any(x.strides[-1] != x.itemsize for x in (query, key, value))
    ):
        query = in_order(query)  # else the result lies in memory as the query does
    few = 0 < math.prod(query.shape[:-1]) * key.shape[-2] <= KEPT_SCORES
    if few and dropout is None and not is_half(query.dtype) and (mask is None or mask.dtype in (bool, query.dtype)):
        return kernels.kept_attention(query, key, value, mask, scale, causal)
    return kernels.attention(query, key, value, mask, dropout, scale=scale, causal=causal)


def _probabilities(query: Any, key: Any, mask: Any, scale: float, causal: bool) -> Any:
    scores = matmul(query, np.swapaxes(key, -1, -2)) * scale
    if mask is not None:
        scores = np.where(mask, scores, -math.inf) if kind_of(mask) == "b" else scores + mask
    if causal:
        queries, keys = scores.shape[-2:]
        scores = np.where(np.arange(keys) <= np.arange(queries)[:, None], scores, -math.inf)
    blind = np.all(scores == -math.inf, axis=-1, keepdims=True)
    return np.where(blind, 0, softmax(np.where(blind, 0, scores), axis=len(scores.shape) - 1))


def _attention_pullback(
    g: Any,
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    dropout: Any,
    outs: Any,
    needs: tuple,
    scale: float,
    causal: bool,
) -> tuple:
    wants_mask = needs[3]
    if plain(g, query, key, value, mask, dropout) and not is_half(query.dtype):
        if outs[1].ndim == query.ndim:  # few scores: the probabilities were kept
            return kernels.kept_attention_backward(g, query, key, value, outs[1], scale, causal, needs)
        return kernels.attention_backward(
            g, query, key, value, outs[0], outs[1], mask, dropout, scale=scale, causal=causal, mask_wanted=wants_mask
        )
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
        slopes if wants_mask else None,
    )


attention: Op = fused(
    "ScaledDotProductFlashAttentionForCpuBackward0",
    in_single(_attention),
    inputs=("query", "key", "value", "mask", "dropout"),
    batch=ATTENTION,
    joint=_attention_pullback,
    autocast="short",
    copies_before_writes=True,
    title="attention",
    aten="_scaled_dot_product_flash_attention_for_cpu",
)
