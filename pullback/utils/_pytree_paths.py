"""Where leaves are in a tree: `tree_flatten_with_path` and relatives, by torch's names. `_pytree` hands them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ._pytree import SUPPORTED_NODES, PyTree, TreeSpec, is_namedtuple_instance, tree_flatten, tree_unflatten

KEYED_NODES: dict[type[Any], Callable[[Any], tuple[list[Any], Any]]] = {}  # classes that name their children themselves


class SequenceKey(NamedTuple):
    """A place in a list or tuple."""

    idx: int

    def get(self, parent: Any) -> Any:
        return parent[self.idx]

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


class MappingKey(NamedTuple):
    """A key of a dictionary."""

    key: Any

    def get(self, parent: Any) -> Any:
        return parent[self.key]

    def __str__(self) -> str:
        return f"[{self.key!r}]"


class GetAttrKey(NamedTuple):
    """An attribute."""

    name: str

    def get(self, parent: Any) -> Any:
        return getattr(parent, self.name)

    def __str__(self) -> str:
        return f".{self.name}"


KeyPath = tuple[Any, ...]


def _dict_flatten_with_keys(d: Any) -> tuple[list[tuple[MappingKey, Any]], Any]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _list_flatten_with_keys(d: Any) -> tuple[list[tuple[SequenceKey, Any]], Any]:
    return [(SequenceKey(position), value) for position, value in enumerate(d)], None


def _children(tree: Any) -> list[tuple[Any, Any]] | None:
    """The children of a node with their keys; None for a leaf."""
    kind = type(tree)
    if kind in KEYED_NODES:
        return KEYED_NODES[kind](tree)[0]
    if is_namedtuple_instance(tree) and kind not in SUPPORTED_NODES:
        return [(GetAttrKey(name), getattr(tree, name)) for name in tree._fields]
    if kind not in SUPPORTED_NODES:
        return None
    if isinstance(tree, dict):
        return _dict_flatten_with_keys(tree)[0]
    return _list_flatten_with_keys(SUPPORTED_NODES[kind].flatten(tree)[0])[0]


def tree_leaves_with_path(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> list[tuple[KeyPath, Any]]:
    """The leaves, each with the keys that lead to it."""
    found: list[tuple[KeyPath, Any]] = []
    waiting: list[tuple[KeyPath, Any]] = [((), tree)]
    while waiting:
        path, subtree = waiting.pop()
        children = None if is_leaf is not None and is_leaf(subtree) else _children(subtree)
        if children is None:
            found.append((path, subtree))
        else:
            waiting += [((*path, key), child) for key, child in reversed(children)]
    return found


def tree_flatten_with_path(
    tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves with their paths, and the shape of the tree."""
    return tree_leaves_with_path(tree, is_leaf), tree_flatten(tree, is_leaf)[1]


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> PyTree:
    """The tree with `func(path, leaf, *leaves of the other trees there)` as leaves."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return tree_unflatten([func(path, leaf, *more) for (path, leaf), *more in zip(leaves, *others, strict=True)], spec)


def keystr(kp: KeyPath) -> str:
    """A path as one would write it in Python."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Return what lies at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj
