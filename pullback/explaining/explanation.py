"""`Explanation`: what a backward pass did, and the ways to show it.

Holds records only, no graph. How each form is made is in `text.py`, `svg.py`, `html.py` and `diagrams.py`.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .records import Elements, Leaf, Operation, Root, Warning_


class Explanation:
    """One backward pass: its seed, every operation in order, what each leaf got and from where, and warnings."""

    def __init__(
        self, roots: list[Root], operations: list[Operation], leaves: list[Leaf], elements: Elements,
        warnings: list[Warning_], title: str | None = None,
    ) -> None:  # fmt: skip
        self.roots: list[Root] = roots
        self.operations: list[Operation] = operations
        self.leaves: list[Leaf] = leaves
        self.elements: Elements = elements
        self.warnings: list[Warning_] = warnings
        self.title: str = title or f"Backward pass of {', '.join(root.name for root in roots)}"

    def leaf(self, name: str) -> Leaf:
        """The leaf of this name."""
        for leaf in self.leaves:
            if leaf.name == name:
                return leaf
        known = ", ".join(repr(leaf.name) for leaf in self.leaves) or "none"
        raise KeyError(f"no leaf is called {name!r}; there are: {known}")

    def contributions(self, name: str) -> dict[str, np.ndarray]:
        """Return the share of each element (or group) of the loss in a leaf's gradient; their sum is what `.grad` gets."""
        leaf = self.leaf(name)
        if leaf.rows is None:
            raise RuntimeError(
                f"the contributions to {name!r} were too large to keep ({len(self.elements.labels)} of shape "
                f"{leaf.shape}); their norms are in leaf.shares. Ask for fewer with explain(..., elements=...)."
            )
        return {
            label: np.asarray(weight, leaf.rows.dtype) * row
            for label, weight, row in zip(self.elements.labels, self.elements.weights, leaf.rows, strict=True)
        }

    # --- forms ---

    def to_text(self, width: int = 100) -> str:
        """Plain text for a terminal."""
        from .text import text

        return text(self, width)

    def to_svg(self, *, view: str | None = None, values: bool = True) -> str:
        """The graph as an SVG picture; large ones are summarised by module. `view="all"` draws every operation."""
        from .svg import svg

        return svg(self, view, values)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """A page of its own that needs no network; written to `path` if one is given."""
        from .html import page

        text = page(self)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    def to_dot(self) -> str:
        """Source for Graphviz."""
        from .diagrams import dot

        return dot(self)

    def to_mermaid(self) -> str:
        """Source for Mermaid."""
        from .diagrams import mermaid

        return mermaid(self)

    def show(self) -> None:
        """Print to the terminal, in colour where rich is installed."""
        from .text import show

        show(self)

    def _repr_html_(self) -> str:
        from .html import fragment

        return fragment(self)

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from .text import rich_parts

        yield from rich_parts(self)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return (
            f"<Explanation of {', '.join(root.name for root in self.roots)}: {len(self.operations)} operations, "
            f"{len(self.leaves)} leaves, {len(self.warnings)} warnings>"
        )
