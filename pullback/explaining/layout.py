"""A small layered layout: boxes in rows, lines from each row to lower ones, few crossings, straight where possible.

Four steps: rows by longest path; stand-ins where a line passes a row; order within rows by the mean position of
neighbours; horizontal positions by least squares with minimum distances, row by row. Made for graphs without cycles.
"""

from __future__ import annotations

from dataclasses import dataclass, field

GAP_X: float = 28.0  # between boxes of a row, in pixels
GAP_Y: float = 46.0  # between rows
ROUNDS: int = 12  # of putting each row in the order of its neighbours


@dataclass(slots=True)
class Placed:
    """A box or a stand-in with its size and the middle of its place."""

    key: str
    width: float
    height: float
    row: int = 0
    x: float = 0.0
    y: float = 0.0
    above: list[Placed] = field(default_factory=list)
    below: list[Placed] = field(default_factory=list)
    real: bool = True
    pull: float = 1.0  # how strongly it draws its neighbours towards itself


@dataclass(slots=True)
class Layout:
    """Where everything goes."""

    boxes: dict[str, Placed]
    paths: dict[tuple[str, str], list[tuple[float, float]]]  # for each line, the points it passes
    width: float
    height: float


def arrange(sizes: dict[str, tuple[float, float]], links: list[tuple[str, str]], light: set[str]) -> Layout:
    """Place boxes of the given sizes; links go from upper to lower ones. Light boxes give way to the others."""
    boxes = {key: Placed(key, *size, pull=0.02 if key in light else 1.0) for key, size in sizes.items()}
    _assign_rows(boxes, links)
    rows: list[list[Placed]] = [[] for _ in range(1 + max((box.row for box in boxes.values()), default=0))]
    # A pass takes what was computed last first. The other way round, operands stand in the order they are written in.
    heavy = [box for key, box in reversed(boxes.items()) if key not in light]
    for box in [*heavy, *(boxes[key] for key in sizes if key in light)]:
        rows[box.row].append(box)
    chains = _add_stand_ins(boxes, links, rows)
    _order(rows)
    _spread(rows)
    return _finish(boxes, rows, chains)


def _assign_rows(boxes: dict[str, Placed], links: list[tuple[str, str]]) -> None:
    incoming = dict.fromkeys(boxes, 0)
    targets: dict[str, list[str]] = {key: [] for key in boxes}
    for source, target in links:
        incoming[target] += 1
        targets[source].append(target)
    starts = [key for key, count in incoming.items() if count == 0]
    ready = list(starts)
    done = 0
    while done < len(ready):
        key = ready[done]
        done += 1
        for target in targets[key]:
            boxes[target].row = max(boxes[target].row, boxes[key].row + 1)
            incoming[target] -= 1
            if incoming[target] == 0:
                ready.append(target)
    # What nothing leads to (a branch that comes in from elsewhere) stands right above where it goes.
    for key in starts:
        if targets[key] and len(starts) > 1:
            boxes[key].row = max(0, min(boxes[target].row for target in targets[key]) - 1)


def _add_stand_ins(boxes: dict[str, Placed], links: list[tuple[str, str]], rows: list[list[Placed]]) -> dict:
    chains = {}
    for source, target in links:
        upper, lower = boxes[source], boxes[target]
        chain = [upper]
        for row in range(upper.row + 1, lower.row):
            stand_in = Placed("", 8.0, 0.0, row, real=False)
            rows[row].append(stand_in)
            chain.append(stand_in)
        chain.append(lower)
        for a, b in zip(chain, chain[1:], strict=False):
            a.below.append(b)
            b.above.append(a)
        chains[source, target] = chain
    return chains


def _order(rows: list[list[Placed]]) -> None:
    """Sort each row by the mean position of neighbours, down and up, and keep the order with fewest crossings."""
    for row in rows:
        _number(row)
    best = [list(row) for row in rows]
    fewest = _crossings(rows)
    for round_ in range(ROUNDS):
        if fewest == 0:
            break
        down = round_ % 2 == 0
        for row in rows if down else reversed(rows):
            for box in row:
                neighbours = box.above if down else box.below
                if neighbours:
                    box.y = sum(other.x for other in neighbours) / len(neighbours)
                else:
                    box.y = box.x
            row.sort(key=lambda box: box.y)
            _number(row)
        count = _crossings(rows)
        if count < fewest:
            fewest, best = count, [list(row) for row in rows]
    for row, order in zip(rows, best, strict=True):
        row[:] = order
        _number(row)


def _number(row: list[Placed]) -> None:
    for position, box in enumerate(row):
        box.x = float(position)


def _crossings(rows: list[list[Placed]]) -> int:
    """Crossings between neighbouring rows, counted by inversions."""
    total = 0
    for row in rows:
        ends: list[float] = []
        for box in row:
            ends += sorted(other.x for other in box.below)
        total += _inversions(ends)
    return total


def _inversions(values: list[float]) -> int:
    from bisect import bisect_right, insort

    seen: list[float] = []
    count = 0
    for value in values:
        count += len(seen) - bisect_right(seen, value)
        insort(seen, value)
    return count


def _spread(rows: list[list[Placed]]) -> None:
    """Horizontal positions: pull every box towards its neighbours, keeping order and distances."""
    for row in rows:
        x = 0.0
        for box in row:
            box.x = x + box.width / 2
            x += box.width + GAP_X
        for box in row:
            box.x -= (x - GAP_X) / 2
    for round_ in range(ROUNDS * 2):
        down = round_ % 2 == 0
        last = round_ >= ROUNDS * 2 - 2
        for row in rows if down else reversed(rows):
            wishes, weights = [], []
            for box in row:
                sides = (box.above + box.below) if last else (box.above if down else box.below)
                pulls = sum(other.pull for other in sides)
                wishes.append(sum(other.x * other.pull for other in sides) / pulls if sides else box.x)
                straight = not box.real and any(not other.real for other in sides)
                weights.append(8.0 if straight else box.pull * (1.0 + pulls) if sides else 0.02)
            _place(row, wishes, weights)


def _place(row: list[Placed], wishes: list[float], weights: list[float]) -> None:
    """The positions closest to the wishes that keep boxes apart (pooling adjacent violators)."""
    offsets = [0.0]
    for left, right in zip(row, row[1:], strict=False):
        offsets.append(offsets[-1] + (left.width + right.width) / 2 + GAP_X)
    pools: list[tuple[float, float, int]] = []  # mean wish, weight, number of boxes
    for wish, weight, offset in zip(wishes, weights, offsets, strict=True):
        mean, total, count = wish - offset, weight, 1
        while pools and pools[-1][0] > mean:
            before, before_weight, before_count = pools.pop()
            mean = (before * before_weight + mean * total) / (before_weight + total)
            total += before_weight
            count += before_count
        pools.append((mean, total, count))
    position = 0
    for mean, _, count in pools:
        for _ in range(count):
            row[position].x = mean + offsets[position]
            position += 1


def _finish(boxes: dict[str, Placed], rows: list[list[Placed]], chains: dict) -> Layout:
    y = 0.0
    for row in rows:
        height = max((box.height for box in row), default=0.0)
        for box in row:
            box.y = y + height / 2
            box.height = box.height if box.real else height  # a passing line stays vertical beside the boxes of its row
        y += height + GAP_Y
    everything = [box for row in rows for box in row]
    left = min((box.x - box.width / 2 for box in everything), default=0.0)
    right = max((box.x + box.width / 2 for box in everything), default=0.0)
    for box in everything:
        box.x -= left
    return Layout(boxes, _paths(chains), right - left, max(y - GAP_Y, 0.0))


def _paths(chains: dict) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """The points of each line; lines that share a box leave and enter it side by side."""
    leaving: dict[str, list] = {}
    entering: dict[str, list] = {}
    for key, chain in chains.items():
        leaving.setdefault(key[0], []).append((chain[1].x, key, chain[0]))
        entering.setdefault(key[1], []).append((chain[-2].x, key, chain[-1]))
    starts = {key: x for ends in leaving.values() for key, x in _ports(ends)}
    stops = {key: x for ends in entering.values() for key, x in _ports(ends)}
    paths = {}
    for key, chain in chains.items():
        first, last = chain[0], chain[-1]
        points = [(starts[key], first.y + first.height / 2)]
        for box in chain[1:-1]:
            points += [(box.x, box.y - box.height / 2), (box.x, box.y + box.height / 2)]
        points.append((stops[key], last.y - last.height / 2))
        paths[key] = points
    return paths


def _ports(ends: list) -> list[tuple[tuple[str, str], float]]:
    """Where along an edge of a box each line ends: as straight below or above its other end as there is room."""
    ends = sorted(ends, key=lambda end: end[0])
    box = ends[0][2]
    reach = 0.36 * box.width if len(ends) > 1 else 0.0
    apart = min(24.0, 2 * reach / max(len(ends) - 1, 1))
    slots = [Placed("", apart - GAP_X, 0.0) for _ in ends]
    _place(slots, [min(max(x, box.x - reach), box.x + reach) for x, _, _ in ends], [1.0] * len(ends))
    shift = max(0.0, box.x - reach - slots[0].x) - max(0.0, slots[-1].x - box.x - reach)
    return [(key, slot.x + shift) for (_, key, _), slot in zip(ends, slots, strict=True)]
