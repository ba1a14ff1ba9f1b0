"""Scaled dot-product attention: softmax(q k^T scale + mask) v, forward and backward, blocked over heads and queries.

Forward keeps the output and one number a row, the logsumexp; backward rebuilds the probabilities block by block, so
that no array of queries by keys is ever stored. Where scores are few enough (`KEPT_SCORES`) keeping them is faster.
A row whose keys are all masked has output 0, as in torch. Grouped heads and broadcasting of leading axes are the
caller's; all leading axes here agree.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from .half import wide_type
from .threads import parallel_tasks, prepare_broadcast, threads_to_share
from .thresholds import CAUSAL_QUERIES, INLINE_SCORES, SCORE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable


def _heads(x: np.ndarray) -> np.ndarray:
    """`x` (..., length, width) as (heads, length, width), in the type it is computed in."""
    return np.ascontiguousarray(x, wide_type(x.dtype)).reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def _per_head(values: np.ndarray | None, dtype: np.dtype, scores_shape: tuple[int, ...]) -> np.ndarray | None:
    """A mask or dropout array as (heads or 1, queries, keys); a boolean mask becomes 0 and -inf."""
    if values is None:
        return None
    if values.dtype == bool:
        values = np.where(values, dtype.type(0), dtype.type(-np.inf))
    values = values.astype(dtype, copy=False)
    if math.prod(values.shape[:-2]) == 1:
        # One mask for all heads is kept once.
        return np.broadcast_to(values.reshape(1, *values.shape[-2:]), (1, *scores_shape[-2:]))
    heads = math.prod(scores_shape[:-2])
    return np.broadcast_to(values, scores_shape).reshape(heads, *scores_shape[-2:])


def _select(values: np.ndarray | None, first: int, last: int, start: int, stop: int) -> np.ndarray | None:
    """The part of a per-head array for heads first..last and queries start..stop."""
    if values is None:
        return None
    return values[:, start:stop] if len(values) == 1 else values[first:last, start:stop]


@functools.lru_cache(maxsize=16)
def _future(queries: int, keys: int) -> np.ndarray:
    """Where a key comes after the query."""
    return np.triu(np.ones((queries, keys), bool), 1)


class _Problem:
    """The arrays of one call as heads, and how scores of a block are computed from them."""

    def __init__(
        self, query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None, scale: float, causal: bool
    ) -> None:
        self.query, self.key, self.value = _heads(query), _heads(key), _heads(value)
        self.scale, self.causal = scale, causal
        self.heads, self.queries, _ = self.query.shape
        self.keys = self.key.shape[1]
        self.dtype = self.query.dtype
        self.scores_shape = (*query.shape[:-1], self.keys)
        self.mask = _per_head(mask, self.dtype, self.scores_shape)

    def pieces(self, whole_heads: bool) -> list[tuple[int, int, int, int]]:
        """Blocks (head range, query range) of about SCORE_BYTES; one block a head range where heads must be whole."""
        row = self.keys * self.dtype.itemsize
        head = max(self.queries * row, 1)
        step = max(SCORE_BYTES // head, 1)
        if self.heads * self.queries * self.keys >= INLINE_SCORES:
            step = min(step, -(-self.heads // threads_to_share()))
        rows = self.queries if step > 1 or whole_heads else min(max(SCORE_BYTES // max(row, 1), 32), self.queries)
        return [
            (first, min(first + step, self.heads), start, min(start + rows, self.queries))
            for first in range(0, self.heads, step)
            for start in range(0, self.queries, rows)
        ]

    def query_rows(self) -> int:
        """Queries of one head whose scores take about SCORE_BYTES."""
        return min(max(SCORE_BYTES // max(self.keys * self.dtype.itemsize, 1), 32), self.queries)

    def reach(self, stop: int) -> int:
        """How many keys the queries before `stop` may look at."""
        return min(stop, self.keys) if self.causal else self.keys

    def scores(self, first: int, last: int, start: int, stop: int) -> np.ndarray:
        """q k^T scale + mask for a block, for the keys within its reach."""
        scaled = np.multiply(self.query[first:last, start:stop], self.scale)
        reach = self.reach(stop)
        scores = np.matmul(scaled, self.key[first:last, :reach].swapaxes(1, 2))
        part = _select(self.mask, first, last, start, stop)
        if part is not None:
            np.add(scores, part[:, :, :reach], out=scores)
        if self.causal and start < reach:
            np.copyto(scores[:, :, start:], -np.inf, where=_future(stop - start, reach - start))
        return scores


def _exponentials(problem: _Problem, *block: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """exp(scores - shift), its sum over the keys with 1 for 0, and the logsumexp of the scores.

    Rows of moderate scores need no shift, which saves two passes; as in `softmax.py`, their sums tell.
    """
    scores = problem.scores(*block)
    ones = np.ones(scores.shape[2], problem.dtype)
    np.exp(scores, out=scores)
    total = np.vecdot(scores, ones)[:, :, None]
    if np.minimum.reduce(total, axis=None) > 1e-3 and np.maximum.reduce(total, axis=None) < 1e5:
        return scores, total, np.log(total)
    scores = problem.scores(*block)
    top = np.maximum.reduce(scores, axis=2, keepdims=True)
    top[np.isneginf(top)] = 0
    np.subtract(scores, top, out=scores)
    np.exp(scores, out=scores)
    total = np.vecdot(scores, ones)[:, :, None]
    level = np.log(total) + top
    total[total == 0] = 1
    return scores, total, level


def _run(piece: Callable[..., None], pieces: list[tuple], problem: _Problem) -> None:
    """Run pieces on all threads, or here where their scores are too few to pay for waking one."""
    if problem.heads * problem.queries * problem.keys < INLINE_SCORES:
        with np.errstate(all="ignore"):
            for item in pieces:
                piece(*item)
    else:
        parallel_tasks(piece, pieces, products=True)


def attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    mask: np.ndarray | None = None,
    dropout: np.ndarray | None = None,
    *,
    scale: float,
    causal: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """(output, logsumexp of the scores); `dropout` multiplies the probabilities and is already scaled."""
    problem = _Problem(query, key, value, mask, scale, causal)
    kept = _per_head(dropout, problem.dtype, problem.scores_shape)
    shape = (*query.shape[:-1], value.shape[-1])
    out = np.zeros((problem.heads, problem.queries, value.shape[-1]), problem.dtype)
    logsumexp = np.full((problem.heads, problem.queries, 1), -np.inf, problem.dtype)

    def piece(first: int, last: int, start: int, stop: int) -> None:
        prepare_broadcast(problem.keys)
        scores, total, level = _exponentials(problem, first, last, start, stop)
        logsumexp[first:last, start:stop] = level
        chosen = _select(kept, first, last, start, stop)
        reach = problem.reach(stop)
        if chosen is not None:
            np.multiply(scores, chosen[:, :, :reach], out=scores)
        result = out[first:last, start:stop]
        np.matmul(scores, problem.value[first:last, :reach], out=result)
        # Dividing the short output row instead of the probabilities.
        np.divide(result, total, out=result)

    if out.size and problem.keys:
        _run(piece, problem.pieces(whole_heads=False), problem)
    return out.reshape(shape).astype(query.dtype, copy=False), logsumexp.reshape(shape[:-1])


def attention_backward(
    gradient: np.ndarray,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    out: np.ndarray,
    logsumexp: np.ndarray,
    mask: np.ndarray | None = None,
    dropout: np.ndarray | None = None,
    *,
    scale: float,
    causal: bool = False,
    mask_wanted: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Cotangents of query, key and value, and of the scores (the mask's, before broadcasting) where wanted."""
    problem = _Problem(query, key, value, mask, scale, causal)
    kept = _per_head(dropout, problem.dtype, problem.scores_shape)
    upstream, outputs = _heads(gradient), _heads(out)
    levels = logsumexp.reshape(problem.heads, problem.queries, 1)
    levels = np.where(np.isneginf(levels), problem.dtype.type(0), levels)
    inner = np.vecdot(upstream, outputs)[:, :, None]
    grad_query, grad_key, grad_value = (np.zeros_like(a) for a in (problem.query, problem.key, problem.value))
    grad_scores = np.zeros((problem.heads, problem.queries, problem.keys), problem.dtype) if mask_wanted else None

    def block(first: int, last: int, start: int, stop: int) -> None:
        part = (slice(first, last), slice(start, stop))
        scores = problem.scores(first, last, start, stop)
        np.subtract(scores, levels[part], out=scores)
        np.exp(scores, out=scores)
        chosen = _select(kept, first, last, start, stop)
        seen = (slice(first, last), slice(problem.reach(stop)))
        dropped = scores
        if chosen is not None:
            chosen = chosen[:, :, seen[1]]
            dropped = scores * chosen
        grad_value[seen] += np.matmul(dropped.swapaxes(1, 2), upstream[part])
        slopes = np.matmul(upstream[part], problem.value[seen].swapaxes(1, 2))
        if chosen is not None:
            np.multiply(slopes, chosen, out=slopes)
        np.subtract(slopes, inner[part], out=slopes)
        np.multiply(slopes, scores, out=slopes)
        if grad_scores is not None:
            grad_scores[*part, seen[1]] = slopes
        np.matmul(slopes, problem.key[seen], out=grad_query[part])
        grad_key[seen] += np.matmul(slopes.swapaxes(1, 2), problem.query[part])

    def piece(first: int, last: int, start: int, stop: int) -> None:
        prepare_broadcast(problem.keys)
        rows = problem.query_rows() if last - first == 1 else stop - start
        for begin in range(start, stop, rows):
            block(first, last, begin, min(begin + rows, stop))
        grad_query[first:last] *= scale
        grad_key[first:last] *= scale

    if problem.query.size and problem.keys:
        _run(piece, problem.pieces(whole_heads=True), problem)
    return (
        grad_query.reshape(query.shape).astype(query.dtype, copy=False),
        grad_key.reshape(key.shape).astype(key.dtype, copy=False),
        grad_value.reshape(value.shape).astype(value.dtype, copy=False),
        None if grad_scores is None else grad_scores.reshape(problem.scores_shape).astype(query.dtype, copy=False),
    )


# --- probabilities kept between the passes ---


@functools.lru_cache(maxsize=16)
def _past(queries: int, keys: int, dtype: np.dtype) -> np.ndarray:
    """Bits to keep of probabilities under a causal mask: all, or none where the key comes after the query."""
    return np.where(_future(queries, keys), 0, -1).astype(dtype)


def _query_blocks(queries: int, keys: int, causal: bool) -> list[tuple[slice, slice]]:
    """Queries and the keys they look at: all at once, or in blocks that leave the future alone."""
    if not causal:
        return [(slice(0, queries), slice(0, keys))]
    return [
        (slice(start, min(start + CAUSAL_QUERIES, queries)), slice(0, min(start + CAUSAL_QUERIES, queries, keys)))
        for start in range(0, queries, CAUSAL_QUERIES)
    ]


def _parts(lead: tuple[int, ...], head_bytes: int) -> list[tuple[tuple, int]]:
    """Indices that cut the leading axes into parts of about SCORE_BYTES, enough for all threads, and the axis cut."""
    heads = math.prod(lead)
    threads = threads_to_share()
    axis = next((axis for axis, size in enumerate(lead) if size >= threads), None)
    if axis is None or heads * head_bytes < INLINE_SCORES * 4:
        return [((), 0)]
    count = max(-(-heads * head_bytes // SCORE_BYTES), threads)
    step = max(lead[axis] // (-(-count // threads) * threads), 1)
    before = (slice(None),) * axis
    return [((*before, slice(start, start + step)), axis) for start in range(0, lead[axis], step)]


def _share(mask: np.ndarray | None, part: tuple, axis: int, ndim: int) -> np.ndarray | None:
    """The part of a mask that belongs to a part of the scores; axes of size 1 are everybody's."""
    if mask is None or not part or axis < ndim - mask.ndim:
        return mask
    own = part[ndim - mask.ndim :]
    return mask if mask.shape[len(own) - 1] == 1 else mask[own]


def _each_part(work: Callable[..., None], lead: tuple[int, ...], head_bytes: int) -> None:
    parts = _parts(lead, head_bytes)
    if len(parts) == 1:
        with np.errstate(all="ignore"):
            work(*parts[0])
    else:
        parallel_tasks(work, parts, products=True)


def kept_attention(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None, scale: float, causal: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(output, probabilities), for scores few enough to be kept; the output's axes lie in memory as the query's do."""
    lead, queries, keys = query.shape[:-2], query.shape[-2], key.shape[-2]
    dtype = query.dtype
    out = np.empty_like(query, shape=(*query.shape[:-1], value.shape[-1]))
    chances = np.empty((*lead, queries, keys), dtype)
    if mask is not None and mask.dtype == bool:
        mask = np.where(mask, dtype.type(0), dtype.type(-np.inf))
    if mask is not None:
        mask = np.broadcast_to(mask, np.broadcast_shapes(mask.shape, (queries, keys)))
    bits = np.dtype(f"i{dtype.itemsize}")

    def scores(result: np.ndarray, part: tuple, axis: int, rows: slice, seen: slice) -> None:
        scaled = np.multiply(query[part][..., rows, :], scale)
        np.matmul(scaled, key[part][..., seen, :].swapaxes(-1, -2), out=result)
        own = _share(mask, part, axis, query.ndim)
        if own is not None:
            np.add(result, own[..., rows, seen], out=result)

    def block(part: tuple, axis: int, rows: slice, seen: slice) -> None:
        known = chances[part][..., rows, seen]
        chances[part][..., rows, seen.stop :] = 0
        scores(known, part, axis, rows, seen)
        np.exp(known, out=known)
        edge = known[..., rows.start :]
        if causal and edge.size:
            past = _past(*edge.shape[-2:], bits)
            np.bitwise_and(edge.view(bits), past, out=edge.view(bits))
        ones = np.ones(seen.stop, dtype)
        total = np.vecdot(known, ones)
        # As in `softmax.py`: sums tell whether rows needed their largest score taken away first.
        if not (np.minimum.reduce(total, axis=None) > 1e-3 and np.maximum.reduce(total, axis=None) < 1e30):
            scores(known, part, axis, rows, seen)
            if causal:
                np.copyto(edge, -np.inf, where=_future(*edge.shape[-2:]))
            top = np.maximum.reduce(known, axis=-1, keepdims=True)
            top[~np.isfinite(top)] = 0
            np.exp(np.subtract(known, top, out=known), out=known)
            total = np.vecdot(known, ones)
            total[total == 0] = 1  # a query that may look at nothing
        np.divide(known, total[..., None], out=known)
        np.matmul(known, value[part][..., seen, :], out=out[part][..., rows, :])

    def work(part: tuple, axis: int) -> None:
        prepare_broadcast(keys)
        for rows, seen in _query_blocks(queries, keys, causal):
            block(part, axis, rows, seen)

    _each_part(work, lead, queries * keys * dtype.itemsize)
    return out, chances


def _gather(total: np.ndarray, left: np.ndarray, right: np.ndarray, seen: slice, begins: bool) -> None:
    """Add `left @ right` to the rows `seen` of a total, or begin it."""
    if begins:
        np.matmul(left, right, out=total[..., seen, :])
        total[..., seen.stop :, :] = 0
    else:
        total[..., seen, :] += np.matmul(left, right)


def kept_attention_backward(
    gradient: np.ndarray,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    probabilities: np.ndarray,
    scale: float,
    causal: bool,
    wanted: tuple[bool, ...],
) -> tuple[np.ndarray | None, ...]:
    """Cotangents of query, key, value and scores (the mask's) from what `kept_attention` returned."""
    for_query, for_key, for_value = (
        np.empty_like(array) if wish else None for array, wish in zip((query, key, value), wanted)
    )
    for_scores = np.empty_like(probabilities) if wanted[3] else None

    queries, keys = probabilities.shape[-2:]

    def block(part: tuple, rows: slice, seen: slice, begins: bool) -> None:
        chances, upstream = probabilities[part][..., rows, seen], gradient[part][..., rows, :]
        if for_value is not None:
            _gather(for_value[part], chances.swapaxes(-1, -2), upstream, seen, begins)
        if for_query is None and for_key is None and for_scores is None:
            return
        # Scaling the gradient scales everything after it; the mask's is wanted without.
        scaled = upstream if wanted[3] else np.multiply(upstream, scale)
        slopes = np.matmul(scaled, value[part][..., seen, :].swapaxes(-1, -2))
        np.subtract(slopes, np.vecdot(slopes, chances)[..., None], out=slopes)
        np.multiply(slopes, chances, out=slopes)
        if for_scores is not None:
            for_scores[part][..., rows, seen] = slopes
            for_scores[part][..., rows, seen.stop :] = 0
            np.multiply(slopes, scale, out=slopes)
        if for_query is not None:
            np.matmul(slopes, key[part][..., seen, :], out=for_query[part][..., rows, :])
        if for_key is not None:
            _gather(for_key[part], slopes.swapaxes(-1, -2), query[part][..., rows, :], seen, begins)

    def work(part: tuple, _: int) -> None:
        prepare_broadcast(keys)
        # The last queries look furthest: what they send to the keys is written, the rest added.
        for number, (rows, seen) in enumerate(reversed(_query_blocks(queries, keys, causal))):
            block(part, rows, seen, number == 0)

    _each_part(work, probabilities.shape[:-2], queries * keys * probabilities.itemsize)
    return for_query, for_key, for_value, for_scores
