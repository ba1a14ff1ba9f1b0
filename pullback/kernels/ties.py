"""Which of several equal elements come first in `topk`: those that torch's partial sort and selection leave in front.

Both are the C++ library's: a heap of the best where few are wanted, else a quickselect and a sort of what it put in front.
Elements are known by their ranks (equal ones share a rank); `places` is a list of their numbers that is put in order.
"""

from __future__ import annotations

_FEW = 16  # the sort leaves runs of this length to insertion


def best_places(ranks: list[int], count: int) -> list[int]:
    """The numbers of the `count` elements with the lowest ranks, in order."""
    places = list(range(len(ranks)))
    if count * 64 <= len(ranks):
        _sort_by_heap(places, ranks, 0, count, len(ranks))
    else:
        _select(places, ranks, count - 1)
        _sort(places, ranks, 0, count - 1, _depth(count - 1))
        _insert(places, ranks, 0, count - 1)
    return places[:count]


def _depth(length: int) -> int:
    """How often a range may be cut before it counts as badly cut."""
    return 2 * (length.bit_length() - 1)


# --- cutting in two ---


def _cut(places: list[int], ranks: list[int], first: int, last: int) -> int:
    """Move elements around the median of three, which goes to `first`; where the second part begins."""
    low, middle, high = first + 1, first + (last - first) // 2, last - 1
    a, b, c = ranks[places[low]], ranks[places[middle]], ranks[places[high]]
    if a < b:
        chosen = middle if b < c else high if a < c else low
    else:
        chosen = low if a < c else high if b < c else middle
    places[first], places[chosen] = places[chosen], places[first]
    pivot = ranks[places[first]]
    while True:
        while ranks[places[low]] < pivot:
            low += 1
        while pivot < ranks[places[high]]:
            high -= 1
        if low >= high:
            return low
        places[low], places[high] = places[high], places[low]
        low, high = low + 1, high - 1


def _select(places: list[int], ranks: list[int], wanted: int) -> None:
    """Put the element that belongs at `wanted` there, and lower ones before it."""
    first, last = 0, len(places)
    depth = _depth(last)
    while last - first > 3:
        if not depth:
            _heap_of_best(places, ranks, first, wanted + 1, last)
            places[first], places[wanted] = places[wanted], places[first]
            return
        depth -= 1
        cut = _cut(places, ranks, first, last)
        first, last = (cut, last) if cut <= wanted else (first, cut)
    _insert(places, ranks, first, last)


def _sort(places: list[int], ranks: list[int], first: int, last: int, depth: int) -> None:
    """Cut into runs of at most `_FEW`, in order among each other."""
    while last - first > _FEW:
        if not depth:
            _sort_by_heap(places, ranks, first, last, last)
            return
        depth -= 1
        cut = _cut(places, ranks, first, last)
        _sort(places, ranks, cut, last, depth)
        last = cut


def _insert(places: list[int], ranks: list[int], first: int, last: int) -> None:
    for number in range(first + 1, last):
        place, hole = places[number], number
        while hole > first and ranks[place] < ranks[places[hole - 1]]:
            places[hole] = places[hole - 1]
            hole -= 1
        places[hole] = place


# --- heaps, with the highest rank on top, at places[first:] ---


def _sink(places: list[int], ranks: list[int], first: int, hole: int, length: int, place: int) -> None:
    """Move the hole to the bottom, then put `place` where it belongs above it."""
    top = child = hole
    while child < (length - 1) // 2:
        child = 2 * child + 2
        if ranks[places[first + child]] < ranks[places[first + child - 1]]:
            child -= 1
        places[first + hole] = places[first + child]
        hole = child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * child + 1
        places[first + hole] = places[first + child]
        hole = child
    while hole > top and ranks[places[first + (hole - 1) // 2]] < ranks[place]:
        places[first + hole] = places[first + (hole - 1) // 2]
        hole = (hole - 1) // 2
    places[first + hole] = place


def _heap_of_best(places: list[int], ranks: list[int], first: int, middle: int, last: int) -> None:
    """A heap of the lowest of places[first:last] at places[first:middle]."""
    length = middle - first
    for parent in range(length // 2 - 1, -1, -1):
        _sink(places, ranks, first, parent, length, places[first + parent])
    for number in range(middle, last):
        if ranks[places[number]] < ranks[places[first]]:
            place, places[number] = places[number], places[first]
            _sink(places, ranks, first, 0, length, place)


def _sort_by_heap(places: list[int], ranks: list[int], first: int, middle: int, last: int) -> None:
    _heap_of_best(places, ranks, first, middle, last)
    for end in range(middle - 1, first, -1):
        place, places[end] = places[end], places[first]
        _sink(places, ranks, first, 0, end - first, place)
