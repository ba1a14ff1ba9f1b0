"""Attention: scaled dot-product attention, and the multi-head form that `nn.MultiheadAttention` calls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.basics.notices import warn_user
from ...core.tape import apply
from ...core.tensor import Tensor
from ...functional.matmul import bmm, linear
from ...functional.operands import common_shape
from ...functional.reductions import softmax
from ...functional.registry import FUNCTIONS
from ...kernels.random.discrete import dropout_mask
from ...ops.attention import attention
from ...transforms import autocast
from ...transforms.arrays.randomness import draw_batched
from ._common import constant, generator, layer_function
from .dropout import dropout
from .padding import pad


def _check_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float) -> None:
    if not query.dtype == key.dtype == value.dtype and not autocast.is_active():
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype.short_name} "
            f"key.dtype: {key.dtype.short_name} and value.dtype: {value.dtype.short_name} instead."
        )
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {query.ndim} "
            f"key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if mask is not None and mask._array.dtype not in (np.bool_, np.float32, query._array.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{mask.dtype.short_name} and  query.dtype: {query.dtype.short_name} instead."
        )
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if query._array.dtype.kind in "biu":
        raise RuntimeError(f"expected scalar type Float but found {query.dtype.type_name}")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        query @ key.transpose(-2, -1) @ value  # one of the products refuses, in torch's words


def _leading_shape(*tensors: Tensor) -> tuple[int, ...]:
    """The leading shape that all operands broadcast to."""
    return common_shape(*(tuple(tensor.shape[:-2]) for tensor in tensors))


def _expanded(x: Tensor, lead: tuple) -> Tensor:
    return x if tuple(x.shape[:-2]) == lead else x.expand((*lead, *x.shape[-2:]))


def _agree(query: Any, key: Any, value: Any) -> bool:
    """True if operands have one dtype and one leading shape, and nothing about them is left to check."""
    shape = key.shape
    return (
        query.ndim > 2
        and query.dtype == key.dtype == value.dtype
        and query.dtype.kind in "fcV"
        and query.shape[:-2] == shape[:-2] == value.shape[:-2]
        and query.shape[-1] == shape[-1] != 0
        and shape[-2] == value.shape[-2]
    )


@layer_function(compiled=True)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(query @ key^T * scale + mask) @ value; a boolean mask says where to look.

    Shapes are (..., length, features). `attn_mask` may also hold numbers, which are added to the scores; `is_causal`
    lets no position look at later ones. `scale` is 1 / sqrt(features) unless given. With `enable_gqa`, keys and
    values have fewer heads, each for several of the query's. Dropout of `dropout_p` is applied always: pass 0 for
    evaluation.
    """
    if attn_mask is None and not dropout_p and not enable_gqa and _agree(query._array, key._array, value._array):
        factor = 1 / math.sqrt(query._array.shape[-1]) if scale is None else float(scale)
        return apply(attention, (query, key, value, None, None), {"scale": factor, "causal": bool(is_causal)})[0]
    _check_attention(query, key, value, attn_mask, dropout_p)
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        key, value = _repeated_heads(query, key, value)
    lead = _leading_shape(query, key, value)
    query, key, value = (_expanded(x, lead) for x in (query, key, value))
    scores_shape = (*lead, query.shape[-2], key.shape[-2])
    if attn_mask is not None:
        if attn_mask._array.dtype.kind != "b" and attn_mask.dtype != query.dtype:
            attn_mask = attn_mask.to(query.dtype)
        if attn_mask.ndim < 2 or tuple(attn_mask.shape[-2:]) != scores_shape[-2:]:
            attn_mask = attn_mask.expand((*attn_mask.shape[:-2], *scores_shape[-2:]))
    kept = None
    if dropout_p > 0:
        kept = _dropout_of_scores(scores_shape, query, dropout_p)
    # Vectors of no numbers are all alike, however they are scaled.
    factor = 1 / math.sqrt(query.shape[-1] or 1) if scale is None else float(scale)
    return apply(attention, (query, key, value, attn_mask, kept), {"scale": factor, "causal": bool(is_causal)})[0]


def _dropout_of_scores(shape: tuple, query: Tensor, p: float) -> Tensor:
    kind = query._array.dtype
    if p == 1:
        return constant(np.zeros(shape, kind))
    return constant(draw_batched(lambda sizes: dropout_mask(generator(), sizes, kind, p), shape))


def _repeated_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Fewer key and value heads than query heads: each serves a group of them."""
    heads = query.shape[-3]
    if heads % key.shape[-3] or heads % value.shape[-3]:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in query")

    def grouped(x: Tensor) -> Tensor:
        times = heads // x.shape[-3]
        if times == 1:
            return x
        shape = tuple(x.shape)
        wide = x.unsqueeze(-3).expand((*shape[:-2], times, *shape[-2:]))
        return wide.reshape((*shape[:-3], heads, *shape[-2:]))

    return grouped(key), grouped(value)


# --- several heads with projections ---


def _check_ranks(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, heads: int
) -> bool:
    """True if the operands have a batch dim; AssertionError where their ranks do not fit together."""
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
        )
    rank = query.ndim
    kind = "batched" if rank == 3 else "unbatched"
    if key.ndim != rank or value.ndim != rank:
        raise AssertionError(
            f"For {kind} ({rank}-D) `query`, expected `key` and `value` to be {rank}-D but found {key.ndim}-D and "
            f"{value.ndim}-D tensors respectively"
        )
    if padding is not None and padding.ndim != rank - 1:
        raise AssertionError(
            f"For {kind} ({rank}-D) `query`, expected `key_padding_mask` to be `None` or {rank - 1}-D but found "
            f"{padding.ndim}-D tensor instead"
        )
    if mask is not None:
        if mask.ndim not in (2, 3):
            raise AssertionError(
                f"For {kind} ({rank}-D) `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
                f"{mask.ndim}-D tensor instead"
            )
        if rank == 2 and mask.ndim == 3:
            expected = (heads, query.shape[0], key.shape[0])
            if tuple(mask.shape) != expected:
                raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {tuple(mask.shape)}")
    return rank == 3


def additive_mask(mask: Tensor | None, name: str, other: Tensor | None, other_name: str, dtype: Any) -> Tensor | None:
    """A mask as numbers to add to scores: -inf where a boolean one is True."""
    if mask is None:
        return None
    is_bool = mask._array.dtype.kind == "b"
    if not is_bool and mask._array.dtype.kind not in "fV":
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and mask.dtype != other.dtype:
        warn_user(f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.")
    if not is_bool:
        return mask
    return constant(np.where(mask._array, -np.inf, 0.0).astype(dtype))


def _with_batch(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Operands of one example as a batch of one; what is the same tensor stays the same."""
    batched_query = query.unsqueeze(1)
    batched_key = batched_query if key is query else key.unsqueeze(1)
    return batched_query, batched_key, batched_key if value is key else value.unsqueeze(1)


def _project_packed(query: Tensor, key: Tensor, value: Tensor, weight: Tensor | None, bias: Tensor | None) -> tuple:
    """Query, key and value through one weight of three parts; equal operands share a product."""
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    width = query.shape[-1]
    if key is value and query is key:
        joint = linear(query, weight, bias)
        return joint[..., :width], joint[..., width : 2 * width], joint[..., 2 * width :]
    biases = (None,) * 3 if bias is None else (bias[:width], bias[width : 2 * width], bias[2 * width :])
    weights = (weight[:width], weight[width : 2 * width], weight[2 * width :])
    return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))


def _project_apart(operands: tuple, weights: tuple, bias: Tensor | None, width: int) -> tuple:
    for name, weight in zip(("q", "k", "v"), weights, strict=True):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
    biases = (None,) * 3 if bias is None else (bias[:width], bias[width : 2 * width], bias[2 * width :])
    return tuple(linear(x, w, b) for x, w, b in zip(operands, weights, biases, strict=True))


def _score_mask(mask: Tensor | None, length: int, source: int, batch: int, heads: int) -> Tensor | None:
    """An attention mask as (1 or batch * heads, length, source)."""
    if mask is None:
        return None
    wanted = (length, source) if mask.ndim == 2 else (batch * heads, length, source)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(f"The shape of the {mask.ndim}D attn_mask is {mask.size()}, but should be {wanted}.")
    return mask.unsqueeze(0) if mask.ndim == 2 else mask


def _with_bias(x: Tensor, bias: Tensor) -> Tensor:
    """Keys or values (length, batch, width) with one more that is the same for the whole batch."""
    return FUNCTIONS["cat"]([x, bias.expand((1, x.shape[1], bias.shape[-1]))])


def _with_one_more_key(mask: Tensor | None) -> Tensor | None:
    """A mask with room for one more key, which is visible."""
    return None if mask is None else pad(mask, (0, 1))


def _split_heads(x: Tensor, batch: int, heads: int, width: int, static: Tensor | None = None) -> Tensor:
    """(length, batch, heads * width) as (batch * heads, length, width), or what is given for it in that shape."""
    if static is None:
        return x.reshape((x.shape[0], batch * heads, width)).transpose(0, 1)
    if static.shape[0] != batch * heads or static.shape[2] != width:
        raise AssertionError(
            f"expecting static key or value of shape ({batch * heads}, *, {width}), but got {tuple(static.shape)}"
        )
    return static


@layer_function(passed="")
def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True,
    key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None,
    average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """(output, attention weights or None) of attention with several heads, for operands (length, batch, width)."""
    batched = _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = _with_batch(query, key, value)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    kind = query._array.dtype
    padding = additive_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", kind)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    is_causal = is_causal and key_padding_mask is None
    # Where the hint says all that the mask says, the mask is not looked at.
    attn_mask = None if is_causal and not need_weights else additive_mask(attn_mask, "attn_mask", None, "", kind)
    head_width = _check_widths(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if use_separate_proj_weight:
        weights_apart = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _project_apart((query, key, value), weights_apart, in_proj_bias, width)
    else:
        q, k, v = _project_packed(query, key, value, in_proj_weight, in_proj_bias)
    attn_mask = _score_mask(attn_mask, length, key.shape[0], batch, num_heads)
    if bias_k is not None or bias_v is not None:
        if bias_k is None or bias_v is None:
            raise AssertionError("bias_k and bias_v must be given together")
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value")
        k, v = _with_bias(k, bias_k), _with_bias(v, bias_v)
        attn_mask, padding = _with_one_more_key(attn_mask), _with_one_more_key(padding)
    q = _split_heads(q, batch, num_heads, head_width)
    k = _split_heads(k, batch, num_heads, head_width, static_k)
    v = _split_heads(v, batch, num_heads, head_width, static_v)
    if add_zero_attn:
        zeros = constant(np.zeros((batch * num_heads, 1, head_width), kind))
        k, v = FUNCTIONS["cat"]([k, zeros], 1), FUNCTIONS["cat"]([v, zeros], 1)
        attn_mask, padding = _with_one_more_key(attn_mask), _with_one_more_key(padding)
    attn_mask = _with_padding(attn_mask, padding, batch, num_heads, k.shape[1])
    out, weights = _attend(
        q, k, v, attn_mask, dropout_p if training else 0.0, need_weights, is_causal, batch, num_heads
    )
    out = linear(out, out_proj_weight, out_proj_bias).reshape((length, batch, out_proj_weight.shape[0]))
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    if not batched:
        out = out.squeeze(1)
        weights = None if weights is None else weights.squeeze(0)
    return out, weights


def _check_widths(query: Tensor, key: Tensor, value: Tensor, embed_dim: int, heads: int, separate: bool) -> int:
    width = query.shape[-1]
    if width != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {width}")
    if width % heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {heads}")
    if separate:
        if tuple(key.shape[:2]) != tuple(value.shape[:2]):
            raise AssertionError(
                f"key's sequence and batch dims {tuple(key.shape[:2])} do not match value's {tuple(value.shape[:2])}"
            )
    elif tuple(key.shape) != tuple(value.shape):
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    return width // heads


def _with_padding(mask: Tensor | None, padding: Tensor | None, batch: int, heads: int, source: int) -> Tensor | None:
    """The mask of padded keys added to the attention mask."""
    if padding is None:
        return mask
    for dim, size in enumerate((batch, source)):
        if padding.shape[dim] != size:
            raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {size}, but got {padding.shape[dim]}")
    by_head = padding.reshape((batch, 1, 1, source)).expand((batch, heads, 1, source))
    by_head = by_head.reshape((batch * heads, 1, source))
    return by_head if mask is None else mask + by_head


def _attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float, need_weights: bool, causal: bool, batch: int,
    heads: int,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """(rows of length * batch, weights by head) for operands (batch * heads, length, width)."""
    _, length, width = q.shape
    source = k.shape[1]
    if need_weights:
        if causal and mask is None:
            raise AssertionError("a causal hint needs attn_mask where weights are returned")
        scores = bmm(q * math.sqrt(1.0 / width), k.transpose(-2, -1))
        chances = softmax(scores if mask is None else scores + mask, -1)
        chances = dropout(chances, p) if p > 0 else chances
        out = bmm(chances, v).transpose(0, 1).reshape((length * batch, heads * width))
        return out, chances.reshape((batch, heads, length, source))
    if mask is not None:
        if mask.shape[0] == 1 and mask.ndim == 3:
            mask = mask.unsqueeze(0)
        else:
            mask = mask.reshape((batch, heads, mask.shape[-2], source))
    q, k, v = (x.reshape((batch, heads, x.shape[1], width)) for x in (q, k, v))
    out = scaled_dot_product_attention(q, k, v, mask, p, causal)
    return out.permute(2, 0, 1, 3).reshape((length * batch, heads * width)), None
