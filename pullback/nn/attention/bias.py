"""`torch.nn.attention.bias`: causal masks known by name, which attention need not look at element by element."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import pullback

from ...core.basics.notices import warn_user

__all__ = ["causal_upper_left", "causal_lower_right", "CausalVariant", "CausalBias"]


class CausalVariant(IntEnum):
    """Which corner the diagonal of a mask that is not square begins in, or ends in."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(pullback.Tensor):
    """A causal mask for `scaled_dot_product_attention`, True where a query sees a key."""

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        if variant is CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warn_user("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!")
        first = 0 if variant is CausalVariant.UPPER_LEFT else seq_len_kv - seq_len_q
        result = pullback.ones(seq_len_q, seq_len_kv, dtype=pullback.bool).tril(first).as_subclass(cls)
        result.variant, result.seq_len_q, result.seq_len_kv = variant, seq_len_q, seq_len_kv
        return result

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        pass  # everything is done in __new__

    def __repr__(self) -> str:
        return repr(self._materialize())

    def _materialize(self, device: Any = None) -> pullback.Tensor:
        """The mask as an ordinary tensor."""
        return self.as_subclass(pullback.Tensor)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func is pullback.nn.functional.scaled_dot_product_attention:
            return _attend(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)  # type: ignore[misc]


def _attend(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: CausalBias,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> pullback.Tensor:
    if is_causal:
        raise ValueError("CausalBias should not be used with causal=True")
    named = attn_mask.variant is CausalVariant.UPPER_LEFT or attn_mask.seq_len_q == attn_mask.seq_len_kv
    return pullback.nn.functional.scaled_dot_product_attention(
        query,
        key,
        value,
        None if named else attn_mask._materialize(),
        dropout_p,
        is_causal=named,
        scale=scale,
        enable_gqa=enable_gqa,
    )


def causal_upper_left(*size: int) -> CausalBias:
    """The mask of queries and keys that begin together: query i sees keys up to i."""
    return CausalBias(CausalVariant.UPPER_LEFT, *_two_sizes("causal_upper_left", size))


def causal_lower_right(*size: int) -> CausalBias:
    """The mask of queries and keys that end together: the last query sees all keys, the one before all but one."""
    return CausalBias(CausalVariant.LOWER_RIGHT, *_two_sizes("causal_lower_right", size))


def _two_sizes(function: str, size: tuple[int, ...]) -> tuple[int, int]:
    if len(size) != 2:
        raise AssertionError(f"{function} only supports 2D tensors: it takes the numbers of queries and of keys")
    return size  # type: ignore[return-value]
