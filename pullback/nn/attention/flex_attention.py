"""`torch.nn.attention.flex_attention`: attention whose scores and masks are functions of positions.

The functions see all positions at once, as index tensors that broadcast; scores are dense, whatever blocks a mask has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pullback

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention",
           "noop_mask", "or_masks"]  # fmt: skip

_DEFAULT_SPARSE_BLOCK_SIZE: int = 128  # the size of a mask's blocks, which are of no use here

Tensor = Any
Mask = Callable[..., Tensor]


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Every key is seen."""
    return pullback.ones(pullback.broadcast_tensors(batch, head, token_q, token_kv)[0].shape, dtype=pullback.bool)


def _positions(*sizes: int) -> list[Tensor]:
    """Index tensors for batch, head, query and key that broadcast to all of them."""
    return [
        pullback.arange(size).reshape([-1 if place == axis else 1 for place in range(4)])
        for axis, size in enumerate(sizes)
    ]


def create_mask(mod_fn: Mask, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = "cpu") -> Tensor:
    """The mask of a function, or its scores for a function of scores, for all positions."""
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    return pullback.broadcast_to(mod_fn(*_positions(*sizes)), sizes)


class BlockMask:
    """A mask by its function; `sparsity` and blocks are of no use here, where scores are dense."""

    def __init__(self, mask_mod: Mask, shape: tuple[int, ...], block_size: Any = _DEFAULT_SPARSE_BLOCK_SIZE) -> None:
        self.mask_mod: Mask = mask_mod
        self.shape: tuple[int, ...] = shape
        self.seq_lengths: tuple[int, int] = (shape[-2], shape[-1])
        self.BLOCK_SIZE: tuple[int, int] = (
            (block_size, block_size) if isinstance(block_size, int) else tuple(block_size)
        )

    def to_dense(self) -> Tensor:
        """Where keys are seen."""
        return create_mask(self.mask_mod, *self.shape)

    def to(self, device: Any) -> BlockMask:
        """The mask: it is everywhere."""
        return self

    def numel(self) -> int:
        """The number of elements of the mask written out."""
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape})"


def create_block_mask(
    mask_mod: Mask, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = "cpu",
    BLOCK_SIZE: Any = _DEFAULT_SPARSE_BLOCK_SIZE, _compile: bool = False,
) -> BlockMask:  # fmt: skip
    """A mask for so many batches, heads, queries and keys; None stands for all batches or heads alike."""
    return BlockMask(mask_mod, (B or 1, H or 1, Q_LEN, KV_LEN), BLOCK_SIZE)


def and_masks(*mask_mods: Mask) -> Mask:
    """A mask that is seen where all are."""

    def both(*positions: Tensor) -> Tensor:
        result = mask_mods[0](*positions)
        for mask in mask_mods[1:]:
            result = result & mask(*positions)
        return result

    return both


def or_masks(*mask_mods: Mask) -> Mask:
    """A mask that is seen where some is."""

    def either(*positions: Tensor) -> Tensor:
        result = mask_mods[0](*positions)
        for mask in mask_mods[1:]:
            result = result | mask(*positions)
        return result

    return either


class AuxRequest:
    """A request for more results of a call: `lse`, the logarithms of the sums of exponentials, and the largest scores."""

    def __init__(self, lse: bool = False, max_scores: bool = False) -> None:
        self.lse: bool = lse
        self.max_scores: bool = max_scores


class AuxOutput:
    """The further results that an `AuxRequest` asked for."""

    def __init__(self, lse: Tensor = None, max_scores: Tensor = None) -> None:
        self.lse: Tensor = lse
        self.max_scores: Tensor = max_scores


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Callable[..., Tensor] | None = None,
    block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False,
    kernel_options: Any = None, *, return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """Attention of (batch, heads, length, width) tensors, scores changed by `score_mod` and masked by `block_mask`."""
    if enable_gqa and key.shape[1] != query.shape[1]:
        groups = query.shape[1] // key.shape[1]
        key, value = (part.repeat_interleave(groups, 1) for part in (key, value))
    scores = query @ key.transpose(-1, -2) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    positions = _positions(*scores.shape)
    if score_mod is not None:
        scores = score_mod(scores, *positions)
    if block_mask is not None:
        scores = pullback.where(block_mask.mask_mod(*positions), scores, -math.inf)
    sums = scores.logsumexp(-1)
    # A query that sees no key gets zeros.
    weights = pullback.exp(scores - pullback.where(sums == -math.inf, 0.0, sums).unsqueeze(-1))
    output = weights.to(value.dtype) @ value
    if return_aux is not None:
        most = scores.amax(-1) if return_aux.max_scores else None
        return output, AuxOutput(sums if return_aux.lse else None, most)
    return (output, sums) if return_lse else output
