"""Nested containers as one flat list: `tree_flatten`, `tree_unflatten`, `tree_map` and relatives, with torch's names.

Dicts, lists, tuples, sizes, named tuples, OrderedDicts, defaultdicts and deques are nodes, everything else (None too) is a
leaf; `register_pytree_node` adds further kinds of nodes. The transforms in `func` take and return such trees.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ..core.basics.on_demand import names_on_demand
from ..core.basics.size import Size

__all__ = [
    "LeafSpec", "PyTree", "TreeSpec", "register_pytree_node", "tree_all", "tree_any", "tree_flatten", "tree_is_leaf",
    "tree_iter",
    "tree_leaves", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_structure", "tree_unflatten",
    "treespec_pprint",
]  # fmt: skip

PyTree = Any
Context = Any


class NodeDef(NamedTuple):
    """How one kind of container is taken apart and put together."""

    flatten: Callable[[Any], tuple[list[Any], Context]]
    unflatten: Callable[[Iterable[Any], Context], Any]


def _of_mapping(mapping: Any) -> tuple[list, Context]:
    return list(mapping.values()), list(mapping)


SUPPORTED_NODES: dict[type[Any], NodeDef] = {
    dict: NodeDef(_of_mapping, lambda values, keys: dict(zip(keys, values, strict=True))),
    list: NodeDef(lambda values: (values, None), lambda values, _: list(values)),
    tuple: NodeDef(lambda values: (list(values), None), lambda values, _: tuple(values)),
    OrderedDict: NodeDef(_of_mapping, lambda values, keys: OrderedDict(zip(keys, values, strict=True))),
    defaultdict: NodeDef(
        lambda mapping: (list(mapping.values()), (mapping.default_factory, list(mapping))),
        lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
    ),
    deque: NodeDef(lambda values: (list(values), values.maxlen), lambda values, maxlen: deque(values, maxlen)),
    Size: NodeDef(lambda sizes: (list(sizes), None), lambda sizes, _: tuple(sizes)),  # no longer sizes, perhaps
}
_BUILT_IN = tuple(SUPPORTED_NODES)
_NAMED = NodeDef(lambda values: (list(values), type(values)), lambda values, kind: kind(*values))


def register_pytree_node(
    cls: type[Any],
    flatten_fn: Callable[[Any], tuple[list[Any], Context]],
    unflatten_fn: Callable[[Iterable[Any], Context], Any],
    *,
    flatten_with_keys_fn: Callable[[Any], tuple[list[Any], Context]] | None = None,
    **_: Any,
) -> None:
    """Make a class a kind of node: how it is flattened into (children, context) and made from them again."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(flatten_fn, unflatten_fn)
    if flatten_with_keys_fn is not None:
        from ._pytree_paths import KEYED_NODES

        KEYED_NODES[cls] = flatten_with_keys_fn


_register_pytree_node = register_pytree_node


def is_namedtuple_instance(obj: object) -> bool:
    return isinstance(obj, tuple) and hasattr(obj, "_fields") and hasattr(type(obj), "_make")


def is_structseq_instance(obj: object) -> bool:
    """True if this is one of Python's tuples with named fields, such as `time.localtime()`; results are named tuples here."""
    return isinstance(obj, tuple) and isinstance(getattr(type(obj), "n_sequence_fields", None), int)


def _get_node_type(tree: Any) -> Any:
    """The kind of node: its class, and for all named tuples `namedtuple`."""
    return namedtuple if is_namedtuple_instance(tree) else type(tree)


def _kind_of(tree: Any) -> tuple[Any, NodeDef | None]:
    kind = type(tree)
    node = SUPPORTED_NODES.get(kind)
    if node is None and isinstance(tree, tuple) and is_namedtuple_instance(tree):
        return "namedtuple", _NAMED
    return kind, node


class TreeSpec:
    """The shape of a tree: its kind of container, what is needed to rebuild it, and the specs of its children."""

    __slots__ = ("type", "context", "children_specs", "num_leaves", "num_nodes", "num_children")

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        self.type: Any = type
        self.context: Context = context
        self.children_specs: list[TreeSpec] = children_specs
        self.num_children: int = len(children_specs)
        leaves, nodes = int(type is None), 1
        for child in children_specs:
            leaves += child.num_leaves
            nodes += child.num_nodes
        self.num_leaves: int = leaves
        self.num_nodes: int = nodes

    def is_leaf(self) -> bool:
        return self.type is None

    def children(self) -> list[TreeSpec]:
        return self.children_specs

    def child(self, index: int) -> TreeSpec:
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree with these leaves."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: PyTree) -> list[Any]:
        """The subtrees of `tree` where this spec has leaves; ValueError where the two do not match."""
        if self.is_leaf():
            return [tree]
        kind, node = _kind_of(tree)
        if node is None or kind != self.type:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children, context = node.flatten(tree)
        if len(children) != self.num_children or context != self.context:
            raise ValueError(
                f"Node arity or context mismatch; expected {self.num_children} children, but got {len(children)}."
            )
        return [
            leaf
            for spec, child in zip(self.children_specs, children, strict=True)
            for leaf in spec.flatten_up_to(child)
        ]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TreeSpec) and self.type == other.type and self.context == other.context
            and self.children_specs == other.children_specs
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves, self.num_nodes))

    def __repr__(self) -> str:
        """Children after the first on lines of their own, moved to the right."""
        if self.is_leaf():
            return "*"
        name = self.type if isinstance(self.type, str) else self.type.__name__
        children = ",\n".join(map(repr, self.children_specs)).replace("\n", "\n  ")
        return f"TreeSpec({name}, {self.context}, [{children}])"


class LeafSpec(TreeSpec):
    """The spec of a single leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def tree_is_leaf(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> bool:
    """True if something is no container."""
    return is_leaf is not None and is_leaf(tree) or _kind_of(tree)[1] is None


def tree_flatten(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves in order, and the spec to put them back."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: PyTree, leaves: list, is_leaf: Callable[[PyTree], bool] | None) -> TreeSpec:
    kind, node = _kind_of(tree)
    if node is None or is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten(tree)
    specs: list[TreeSpec] = []
    for child in children:
        if is_leaf is None and type(child) not in SUPPORTED_NODES and not isinstance(child, tuple):
            leaves.append(child)
            specs.append(_LEAF)
        else:
            specs.append(_flatten(child, leaves, is_leaf))
    return TreeSpec(kind, context, specs)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """A tree of the given spec with the given leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    values = list(leaves)
    if len(values) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(values)} but the spec refers to a pytree "
            f"that holds {treespec.num_leaves} items ({treespec})."
        )
    return _unflatten(iter(values), treespec)


def _unflatten(leaves: Iterator[Any], spec: TreeSpec) -> PyTree:
    kind = spec.type
    if kind is None:
        return next(leaves)
    node = _NAMED if kind == "namedtuple" else SUPPORTED_NODES[kind]
    children = [next(leaves) if child.type is None else _unflatten(leaves, child) for child in spec.children_specs]
    return node.unflatten(children, spec.context)


def tree_iter(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> Iterator[Any]:
    """An iterator over the leaves."""
    return iter(tree_flatten(tree, is_leaf)[0])


def tree_leaves(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> list[Any]:
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> TreeSpec:
    """The spec."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> PyTree:
    """The tree with `func` called on its leaves (and on what the other trees have in these places)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten(map(func, leaves, *others))


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> PyTree:
    """Call `func` on the leaves for its effects; returns the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _matches(kinds: Any) -> Callable[[Any], bool]:
    return kinds if callable(kinds) and not isinstance(kinds, type) else lambda leaf: isinstance(leaf, kinds)


def tree_map_only(
    kind: Any, func: Callable[..., Any], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> PyTree:
    """`tree_map` on the leaves of a type (or types, or for which a test holds)."""
    matches = _matches(kind)
    return tree_map(lambda leaf: func(leaf) if matches(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(
    kind: Any, func: Callable[..., Any], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> PyTree:
    """`tree_map_only` for its effects."""
    tree_map_only(kind, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> bool:
    """True if a test holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> bool:
    """True if a test holds for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    kind: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> bool:
    """True if a test holds for all leaves of a type (or types)."""
    matches = _matches(kind)
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if matches(leaf))


def tree_any_only(
    kind: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> bool:
    """True if a test holds for some leaf of a type (or types)."""
    matches = _matches(kind)
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if matches(leaf))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of all arguments of a call."""
    return [leaf for tree in (*args, *kwargs.values()) for leaf in tree_leaves(tree)]


def broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec) -> list[Any] | None:
    """The leaves of `tree`, each repeated for the subtree of `treespec` it stands for; None if it does not fit."""
    kind, node = _kind_of(tree)
    if node is None:
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or kind != treespec.type:
        return None
    children, context = node.flatten(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    result: list[Any] = []
    for child, spec in zip(children, treespec.children_specs, strict=True):
        flat = broadcast_to_and_flatten(child, spec)
        if flat is None:
            return None
        result.extend(flat)
    return result


_broadcast_to_and_flatten = broadcast_to_and_flatten


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The spec as the tree with stars for leaves."""
    return repr(tree_unflatten([_Star()] * treespec.num_leaves, treespec))


def _other(name: str) -> Any:
    """Return a name about paths, or one of the functions that torch keeps for each kind of node; None if it is neither."""
    from . import _pytree_paths

    if name in vars(_pytree_paths):
        return getattr(_pytree_paths, name)
    kind, _, verb = name[1:].rpartition("_")  # such as `_dict_flatten`, with which programs register nodes of their own
    known = {each.__name__.lower(): SUPPORTED_NODES[each] for each in _BUILT_IN}
    node = _NAMED if kind == "namedtuple" else known.get(kind)
    return getattr(node, verb) if node is not None and verb in ("flatten", "unflatten") else None


names_on_demand(__name__, made=_other)
