"""The contents of a picture: every operation, or groups of them as one box each.

Operations are grouped by module; where modules are unknown, by repeated blocks (the steps of a loop). Groups are
stretches of consecutive operations, so the picture of groups has no cycles. A `View` is one picture: the overview, the
inside of a group, or everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .records import Flow, Operation

if TYPE_CHECKING:
    from .explanation import Explanation

SHARED: int = 4  # a leaf with more users than this is drawn beside each of them
FEW: int = 12  # operations that need no grouping
READABLE: int = 40  # boxes of operations an overview may have
ALL_LIMIT: int = 1500  # operations beyond which no picture of everything is drawn


Part = tuple[str, str, list[Operation], str | None]  # key, title, operations, and the view it opens if it is a group


@dataclass(slots=True)
class Box:
    """Something drawn: a root, an operation, a leaf, a group, or what lies outside a group."""

    key: str
    kind: str  # 'root', 'operation', 'leaf', 'group', 'outside', or 'again': a leaf that is used in many places
    title: str
    members: list[str] = field(default_factory=list)  # keys of operations
    view: str | None = None  # the view a group opens
    warned: bool = False


@dataclass(slots=True)
class Link:
    """A line between boxes, in the direction cotangents flow."""

    source: str
    target: str
    flows: list[Flow | None]


@dataclass(slots=True)
class View:
    """One picture."""

    name: str
    title: str
    boxes: list[Box]
    links: list[Link]


@dataclass(slots=True)
class Group:
    """A stretch of consecutive operations (positions start to stop in the order of the backward pass)."""

    name: str
    path: str
    start: int
    stop: int
    children: list[Group] = field(default_factory=list)

    @property
    def size(self) -> int:
        return self.stop - self.start


def views(explanation: Explanation) -> dict[str, View]:
    """All pictures of an explanation, by name; the first is the one to begin with."""
    operations = explanation.operations
    grouped: dict[str, View] = {}
    if len(operations) > FEW:
        tree = group_tree(operations)
        if tree.children:
            _open(explanation, tree, "", explanation.title, grouped)
    if len(operations) > ALL_LIMIT:
        return grouped
    parts: list[Part] = [(operation.key, operation.title, [operation], None) for operation in operations]
    whole = _view(explanation, "all", "every operation", parts)
    return {"all": whole, **grouped} if len(operations) <= READABLE else {**grouped, "all": whole}


def _open(explanation: Explanation, group: Group, name: str, title: str, made: dict[str, View]) -> None:
    """The picture of a group's inside, and of the groups in it."""
    operations = explanation.operations
    parts: list[Part] = []
    position = group.start
    opened: list[tuple[Group, str]] = []
    for child in _shown(group):
        parts += [(op.key, op.title, [op], None) for op in operations[position : child.start]]
        position = child.stop
        if child.size == 1:
            operation = operations[child.start]
            parts.append((operation.key, operation.title, [operation], None))
            continue
        key = f"group{child.start + 1}-{child.stop}"
        parts.append((key, child.name, operations[child.start : child.stop], key))
        opened.append((child, key))
    parts += [(op.key, op.title, [op], None) for op in operations[position : group.stop]]
    made[name or "overview"] = _view(explanation, name or "overview", title, parts)
    for child, key in opened:
        if key not in made:
            _open(explanation, child, key, child.path or child.name, made)


def _shown(group: Group) -> list[Group]:
    """The children of a group; one that is most of it is replaced by its own while the picture stays readable."""
    children = list(group.children)
    while True:
        large = next((child for child in children if child.children and 2 * child.size > group.size), None)
        if large is None:
            return children
        loose = group.size - sum(child.size for child in children)
        inside = large.size - sum(child.size for child in large.children) + len(large.children)
        if loose + len(children) - 1 + inside > READABLE:
            return children
        place = children.index(large)
        children[place : place + 1] = large.children


# --- grouping --------------------------------------------------------------------------------------------------------


def group_tree(operations: list[Operation]) -> Group:
    """The whole pass as a tree of groups."""
    root = Group("everything", "", 0, len(operations))
    modules = [operation.module for operation in operations]
    if any(modules):
        _by_module(root, modules, 0)
    _divide_large(root, operations)
    return root


def _by_module(group: Group, modules: list[str], depth: int) -> None:
    position = group.start
    while position < group.stop:
        parts = modules[position].split(".") if modules[position] else []
        if len(parts) <= depth:
            position += 1
            continue
        path = ".".join(parts[: depth + 1])
        stop = position
        while stop < group.stop and (modules[stop] == path or modules[stop].startswith(path + ".")):
            stop += 1
        if stop - position == group.size:  # the only child: no box of its own
            group.name, group.path = _short(parts, depth), path
            _by_module(group, modules, depth + 1)
            return
        child = Group(_short(parts, depth), path, position, stop)
        _by_module(child, modules, depth + 1)
        group.children.append(child)
        position = stop


def _short(parts: list[str], depth: int) -> str:
    """The last part of a path; a number alone says little."""
    return f"{parts[depth - 1]}.{parts[depth]}" if depth and parts[depth].isdigit() else parts[depth]


def _divide_large(group: Group, operations: list[Operation]) -> None:
    """Give stretches without modules that are too long groups of their own: repeated blocks, else equal parts."""
    if group.size <= READABLE:
        return
    children: list[Group] = []
    position = group.start
    for child in [*group.children, None]:
        stop = group.stop if child is None else child.start
        if stop - position > READABLE // 2:
            children += _blocks(operations, position, stop)
        if child is not None:
            children.append(child)
            position = child.stop
    if len(children) > READABLE:
        children = _bundle(children)
    group.children = children
    for child in children:
        _divide_large(child, operations)


def _bundle(children: list[Group]) -> list[Group]:
    """Many neighbours as fewer groups of groups."""
    step = max(2, round(len(children) ** 0.5))
    bundles = []
    for start in range(0, len(children), step):
        part = children[start : start + step]
        name = f"{part[0].name} … {part[-1].name}" if len(part) > 1 else part[0].name
        bundles.append(Group(name, "", part[0].start, part[-1].stop, part))
    return bundles


def _blocks(operations: list[Operation], start: int, stop: int) -> list[Group]:
    titles = [operation.title for operation in operations[start:stop]]
    begin, period, count = longest_repeat(titles)
    if count >= 3 and period * count >= len(titles) // 2:
        steps = [
            Group(f"step {count - i}", "", start + begin + i * period, start + begin + (i + 1) * period)
            for i in range(count)
        ]
        first = start + begin
        loop = Group(
            f"{count} × ({_summary(titles[begin : begin + period])})", "", first, first + period * count, steps
        )
        return [loop] if loop.size < stop - start else steps
    size = READABLE // 2
    return [
        Group(f"operations {a + 1} to {min(a + size, stop)}", "", a, min(a + size, stop))
        for a in range(start, stop, size)
    ]


def _summary(titles: list[str]) -> str:
    return ", ".join(titles[:4]) + ("…" if len(titles) > 4 else "")


def longest_repeat(titles: list[str]) -> tuple[int, int, int]:
    """(start, period, count) of the block whose immediate repetitions cover most of a sequence."""
    best = (0, 1, 1)
    for period in range(1, min(len(titles) // 3, 128) + 1):
        start = run = 0
        for i in range(len(titles) - period):
            if titles[i] == titles[i + period]:
                run += 1
                start = i - run + 1
                count = run // period + 1
                if count >= 3 and count * period > best[1] * best[2] * (1 if best[2] > 1 else 0):
                    best = (start, period, count)
            else:
                run = 0
    return best


# --- pictures --------------------------------------------------------------------------------------------------------


def _view(explanation: Explanation, name: str, title: str, parts: list[Part]) -> View:
    """Boxes and links for these parts; neighbours outside of them become small boxes at the border."""
    home: dict[str, str] = {}  # key of an operation -> key of its box
    boxes: list[Box] = []
    for key, label, members, opens in parts:
        kind = "group" if opens else "operation"
        warned = any(member.warnings for member in members)
        boxes.append(Box(key, kind, label, [member.key for member in members], opens, warned))
        home.update({member.key: key for member in members})
    links: dict[tuple[str, str], Link] = {}
    for root in explanation.roots:
        if root.target in home or not explanation.operations:
            boxes.append(Box(root.key, "root", root.name))
            _link(links, root.key, home.get(root.target, root.target), root.flow)
    leaves = {leaf.key: leaf for leaf in explanation.leaves}
    drawn_leaves = {root.target for root in explanation.roots if root.target in leaves}
    internal = _internal_leaves(explanation, parts)
    boxes += _connect(explanation, home, links, leaves, internal, drawn_leaves)
    users = Counter(target for _, target in links)
    for key, leaf in leaves.items():
        if key in drawn_leaves and users[key] <= SHARED:
            boxes.append(Box(key, "leaf", leaf.name, warned=bool(leaf.warnings)))
        elif key in drawn_leaves:
            boxes += _beside_users(links, key, leaf.name)
    return View(name, title, boxes, list(links.values()))


def _connect(
    explanation: Explanation, home: dict[str, str], links: dict[tuple[str, str], Link], leaves: Container[str],
    internal: dict[str, str], drawn_leaves: set[str],
) -> list[Box]:  # fmt: skip
    """Links along the arrows of operations, to boxes and leaves; returns boxes for what is outside of the picture."""
    outside: dict[str, Box] = {}
    for operation in explanation.operations:
        here = home.get(operation.key)
        for arrow in operation.arrows:
            if here is not None and (arrow.target in home):
                if home[arrow.target] != here:
                    _link(links, here, home[arrow.target], arrow.flow)
            elif here is not None and arrow.target in leaves:
                if internal.get(arrow.target) != here:
                    drawn_leaves.add(arrow.target)
                    _link(links, here, arrow.target, arrow.flow)
            elif here is not None:  # leaves this picture
                box = outside.setdefault(f"to {arrow.target}", _outside(explanation, arrow.target, "to"))
                _link(links, here, box.key, arrow.flow)
            elif arrow.target in home:  # comes into this picture
                box = outside.setdefault(f"from {operation.key}", _outside(explanation, operation.key, "from"))
                _link(links, box.key, home[arrow.target], arrow.flow)
    return list(outside.values())


def _beside_users(links: dict[tuple[str, str], Link], leaf: str, name: str) -> list[Box]:
    """A small box for a leaf beside each of its users, in place of long lines to a single one."""
    boxes = []
    for number, (source, target) in enumerate([key for key in links if key[1] == leaf]):
        link = links.pop((source, target))
        link.target = f"{leaf}-{number + 1}"
        links[source, link.target] = link
        boxes.append(Box(link.target, "again", name, [leaf]))
    return boxes


def _internal_leaves(explanation: Explanation, parts: list) -> dict[str, str]:
    """Leaves that a single group uses, by the group that hides them."""
    users: dict[str, set[str]] = {}
    find: Callable[[str], str | None] = {
        m.key: key if opens else None for key, _, members, opens in parts for m in members
    }.get
    for operation in explanation.operations:
        for arrow in operation.arrows:
            if arrow.target.startswith("leaf"):
                users.setdefault(arrow.target, set()).add(find(operation.key) or "")
    return {leaf: next(iter(groups)) for leaf, groups in users.items() if len(groups) == 1 and "" not in groups}


def _outside(explanation: Explanation, key: str, direction: str) -> Box:
    operation = explanation.operations[int(key.removeprefix("op")) - 1]
    title = operation.variable or operation.title
    return Box(f"{direction}-{key}", "outside", f"{direction} {title}", [key])


def _link(links: dict[tuple[str, str], Link], source: str, target: str, flow: Flow | None) -> None:
    links.setdefault((source, target), Link(source, target, [])).flows.append(flow)
