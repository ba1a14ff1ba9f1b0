"""The swaps of a shuffle, one after another, without a loop in Python.

A permutation is drawn by swapping place i with a later place, for each i in turn. LAPACK does just that to the rows of
a matrix when it solves equations (``laswp``), and NumPy's own library has it; where it is not found, the swaps are
worked out for all places at once with NumPy. Drawing the places is in discrete.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np

from ..blas import library


def swap_in_turn(content: np.ndarray, offsets: np.ndarray) -> None:
    """Swap place i of ``content`` (int32) with place i + offsets[i] (uint32), for each i in turn."""
    (_lapack() or _swap_at_once)(content, offsets)


@cache
def _lapack() -> Callable[[np.ndarray, np.ndarray], None] | None:
    """``swap_in_turn`` by LAPACK's row interchanges, or None if the library of NumPy does not have them."""
    try:
        import ctypes

        interchange = library().scipy_slaswp_64_
    except (ImportError, AttributeError):
        return None
    integer, memory, byref = ctypes.c_int64, cast(Any, ctypes.c_char.from_buffer), cast(Any, ctypes.byref)
    one = integer(1)

    def swap(content: np.ndarray, offsets: np.ndarray) -> None:
        rows, steps = integer(content.size), integer(offsets.size)
        targets = np.arange(1, 1 + offsets.size, dtype=np.int64)
        np.add(targets, offsets, out=targets)
        # One column of float32 numbers: they are moved as they are, whatever their bits mean.
        arguments = (one, memory(content), rows, one, steps, memory(targets), one)
        interchange(*map(byref, arguments))

    probe, expected = np.arange(50, dtype=np.int32), np.arange(50, dtype=np.int32)
    offsets = (np.arange(40) ** 2 % np.arange(50, 10, -1)).astype(np.uint32)
    swap(probe, offsets)
    _swap_at_once(expected, offsets)
    return swap if np.array_equal(probe, expected) else None


def _swap_at_once(content: np.ndarray, offsets: np.ndarray) -> None:
    """Swap place i of ``content`` with place i + offsets[i], for each i in turn, without a loop over them.

    Write ``before[i]`` for where, at the start, that lay which is in place i just before step i. The last earlier
    step that targeted place i put it there, so it is that step's own ``before``; if there is none, it is i itself.
    Step i leaves in place i what the previous step with the same target put there, or what the target held at the
    start. Sorting by (target, step) brings each step next to the previous one with its target.
    """
    count = offsets.size
    keys = offsets.astype(np.uint64)
    np.left_shift(keys, np.uint64(32), out=keys)
    np.add(keys, np.arange(0, count * (2**32 + 1), 2**32 + 1, dtype=np.uint64), out=keys)
    keys.sort()
    step = (keys & np.uint64(0xFFFFFFFF)).view(np.int64)
    target = np.right_shift(keys, np.uint64(32), out=keys).view(np.int64)
    same_as_next = np.zeros(count, bool)
    np.equal(target[1:], target[:-1], out=same_as_next[:-1])
    last = np.flatnonzero(~same_as_next)  # of each run of steps with one target
    first = np.zeros_like(last)
    np.add(last[:-1], 1, out=first[1:])
    places, writers = target.take(last), step.take(last)
    stayed = np.flatnonzero(writers == places)  # a few steps that moved nothing: the one before, if any, counts
    writers[stayed] = np.where(first[stayed] < last[stayed], step[last[stayed] - 1], places[stayed])
    own = int(np.searchsorted(places, count))  # runs whose target has a step of its own in this call
    before = np.arange(count)
    before[places[:own]] = writers[:own]
    _follow_chains(before, places[:own], writers[:own])
    source = np.empty(count, np.int64)
    source[step.take(first)] = places
    again = np.flatnonzero(same_as_next)
    source[step.take(again + 1)] = before.take(step.take(again))
    new_content = content.take(source)
    content[places[own:]] = content.take(before.take(writers[own:]))
    content[:count] = new_content


def _follow_chains(before: np.ndarray, places: np.ndarray, parents: np.ndarray) -> None:
    """Replace before[places], which is ``parents``, by the ends of the chains before[before[...]]."""
    while places.size:
        following = before.take(parents)
        moving = np.flatnonzero(following != parents)
        places, parents = places.take(moving), following.take(moving)
        before[places] = parents
