"""`rearrange(x, "b (h r) w -> b w (r h)", r=2)`: a new order and grouping of axes, said by their names.

The names are those of einops. A pattern is read once and kept; then the axes are taken apart, put in their new order and
grouped again, so that gradients, tangents and batches follow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import prod

from ..core.tensor import Tensor
from ..functional.joining import stack

__all__ = ["rearrange"]

_REST = "…"  # all axes that have no name in the pattern


class DimensionBindError(Exception):
    """Sizes that do not fit the tensor."""


DimensionBindError.__module__ = "functorch.dim"


class _Side:
    """One side of a pattern: its axes, each a tuple of the names that it is composed of (of none: an axis of size 1)."""

    def __init__(self, text: str) -> None:
        self.text: str = text
        self.axes: list[tuple[str, ...]] = []
        self.rest_in_group: bool = False
        group: list[str] | None = None
        for token in _tokens(text):
            if token == "(":
                if group is not None:
                    raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
                group = []
            elif token == ")":
                if group is None:
                    raise ValueError("Brackets are not balanced")
                self.axes.append(tuple(group))
                group = None
            elif token == "1":
                if group is None:
                    self.axes.append(())
            else:
                if token == _REST and group is not None:
                    self.rest_in_group = True
                self._add(token, group)
        if group is not None:
            raise ValueError(f"Imbalanced parentheses in expression: {text!r}")
        self.names: list[str] = [name for axis in self.axes for name in axis]

    def _add(self, name: str, group: list[str] | None) -> None:
        if name in (group or ()) or any(name in axis for axis in self.axes):
            raise ValueError(f"Indexing expression contains duplicate dimension {name!r}")
        if group is None:
            self.axes.append((name,))
        else:
            group.append(name)


def _tokens(text: str) -> list[str]:
    """Names, brackets and ones; the ellipsis is one letter."""
    if text.count("...") > 1 or "." in text.replace("...", ""):
        many = text.count("...") > 1
        raise ValueError(
            "Expression may contain dots only inside ellipsis (...)"
            + ("; only one ellipsis for tensor" if many else "")
        )
    tokens = re.findall(rf"[()]|{_REST}|\w+|\S", text.replace("...", f" {_REST} "))
    for token in tokens:
        if token in ("(", ")", _REST):
            continue
        if not re.fullmatch(r"\w+", token):
            raise ValueError(f"Unknown character {token!r}")
        if token.isdecimal():
            if token != "1":
                raise ValueError("rearrange only supports unnamed axes of size 1")
        elif not token.isidentifier():
            raise ValueError(f"Invalid axis identifier: {token}\nnot a valid python identifier")
        elif token[0] == "_" or token[-1] == "_":
            raise ValueError(f"Invalid axis identifier: {token}\naxis name should not start or end with underscore")
    return tokens


@lru_cache(256)
def _read(pattern: str) -> tuple[_Side, _Side]:
    """Both sides of a pattern, which name the same axes."""
    if pattern.count("->") != 1:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = map(_Side, pattern.split("->"))
    if _REST in right.names and _REST not in left.names:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if left.rest_in_group:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    if difference := set(left.names) ^ set(right.names):
        raise ValueError(
            f"Identifiers only on one side of rearrange expression (should be on both): {sorted(difference)}"
        )
    return left, right


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """The elements with their axes in another order and grouping; a list of tensors has its number as first axis.

    `rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)` cuts images into patches.
    """
    x = tensor if isinstance(tensor, Tensor) else stack(tensor)
    left, right = _read(pattern)
    if unknown := set(axes_lengths) - set(left.names):
        raise ValueError(f"Identifiers not found in rearrange expression: {sorted(unknown)}")
    named = len(left.axes) - (_REST in left.names)
    if named > x.ndim or named < x.ndim and _REST not in left.names:
        relation = "less than or equal to" if _REST in left.names else "equal to"
        raise ValueError(
            f"Number of dimensions in pattern ({named}) must be {relation} the number of dimensions in the tensor ({x.ndim})"
        )
    sizes = _sizes(left, x.shape, axes_lengths)
    apart: list[int] = []  # the sizes of the axes by themselves
    places: dict[str, list[int]] = {}  # where among them each name is
    for name in left.names:
        places[name] = list(range(len(apart), len(apart) + len(sizes[name])))
        apart += sizes[name]
    together: list[int] = []
    for axis in right.axes:
        parts = [size for name in axis for size in sizes[name]]
        together += parts if axis == (_REST,) and not right.rest_in_group else [prod(parts)]
    split = x if list(x.shape) == apart else x.reshape(apart)
    moved = split.permute([place for name in right.names for place in places[name]])
    return moved if list(moved.shape) == together else moved.reshape(together)


def _sizes(left: _Side, shape: Sequence[int], known: dict[str, int]) -> dict[str, list[int]]:
    """The size of each name; that of the ellipsis is of several axes."""
    sizes: dict[str, list[int]] = {}
    remaining = list(shape)
    for position, axis in enumerate(left.axes):
        if axis == (_REST,):
            count = len(remaining) - (len(left.axes) - position - 1)
            sizes[_REST], remaining = remaining[:count], remaining[count:]
            continue
        size = remaining.pop(0)
        open_names = [name for name in axis if name not in known]
        if len(open_names) > 1:
            raise DimensionBindError(f"cannot infer the sizes of two dimensions at once: {' and '.join(open_names)}")
        given = prod(known[name] for name in axis if name in known)
        if open_names and (not given or size % given):
            raise DimensionBindError(f"inferred dimension does not evenly fit into larger dimension: {size} vs {given}")
        if not open_names and given != size:
            raise DimensionBindError(f"Dimension sizes do not match ({size} != {given}) for axis ({' '.join(axis)})")
        for name in axis:
            sizes[name] = [known[name] if name in known else size // given]
    return sizes
