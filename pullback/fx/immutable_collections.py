"""Lists and dictionaries that refuse to change: what the arguments of a node are made of.

A node keeps count of who uses it, so its arguments change only by being assigned anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from ..utils import _pytree as pytree

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the kwargs or args of "
        "a torch.fx.Node object,\ninstead create a new copy of it and assign the copy to the node:\n\n"
        "    new_args = ...  # copy and mutate args\n    node.args = new_args"
    )


class immutable_list(list):
    """A list that cannot be changed, and so has a hash."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_list, (tuple(self),)


class immutable_dict(dict):
    """A dictionary that cannot be changed, and so has a hash."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_dict, (tuple(self.items()),)


for _name in "append clear extend insert pop remove reverse sort __delitem__ __iadd__ __imul__ __setitem__".split():
    setattr(immutable_list, _name, _refuse)
for _name in "clear pop popitem setdefault update __delitem__ __ior__ __setitem__".split():
    setattr(immutable_dict, _name, _refuse)


def _values(table: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    return list(table.values()), list(table)


def _table(values: Iterable[Any], keys: Any) -> immutable_dict:
    return immutable_dict(zip(keys, values))


pytree.register_pytree_node(immutable_list, lambda items: (list(items), None), lambda items, _: immutable_list(items))
pytree.register_pytree_node(immutable_dict, _values, _table)
