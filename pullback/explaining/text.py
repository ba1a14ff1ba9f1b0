"""An explanation as text: plain for any terminal, with colour and tables where rich is installed.

Control characters in names and code lines are replaced, so that nothing in them can steer the terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .records import Leaf, Operation, Root, number, number_list, plain, shape_text

if TYPE_CHECKING:
    from .explanation import Explanation

FULL_LISTING: int = 60  # operations listed one by one; longer passes show both ends
ROWS_LISTED: int = 12


def safe(text: Any) -> str:
    """Text without control characters."""
    return "".join(c if c.isprintable() else "\ufffd" for c in str(text))


def text(explanation: Explanation, width: int = 100) -> str:
    """Plain text."""
    lines = [safe(explanation.title), "=" * min(width, len(explanation.title)), ""]
    for root in explanation.roots:
        lines += _root(root)
    lines += _section("Operations, in the order of the backward pass")
    operations = explanation.operations
    if len(operations) > FULL_LISTING:
        half = FULL_LISTING // 2
        for operation in operations[:half]:
            lines += _operation(explanation, operation)
        lines.append(f"  … {len(operations) - 2 * half} more operations; to_html() shows all …")
        for operation in operations[-half:]:
            lines += _operation(explanation, operation)
    else:
        for operation in operations:
            lines += _operation(explanation, operation)
    lines += _section("Leaves, and where their gradients come from")
    for leaf in explanation.leaves:
        lines += _leaf(explanation, leaf)
    if explanation.elements.note:
        lines.append(f"  ({explanation.elements.note})")
    if explanation.warnings:
        lines += _section("Warnings")
        for warning in explanation.warnings:
            lines += _wrapped(f"{'!' if warning.severity == 'warning' else 'i'} {warning.text}", width)
    return "\n".join(line.rstrip() for line in lines)


def _section(title: str) -> list[str]:
    return ["", title, "-" * len(title)]


def _root(root: Root) -> list[str]:
    said = {
        "given": "weights given as gradient=",
        "implicit": "implicit weight of a loss with one element",
        "assumed": "ASSUMED weights: backward() would ask for gradient=",
    }[root.origin]
    return [
        f"{safe(root.name)} = {root.value}   ({shape_text(root.shape)})",
        f"  seed {root.flow.short().replace('‖g‖', 'norm')}   {said}",
    ]


def _operation(explanation: Explanation, operation: Operation) -> list[str]:
    head = f"{operation.number:>3}  {safe(operation.title)}"
    if operation.variable:
        head += f" → {safe(operation.variable)}"
    head += f"   ({shape_text(operation.shape)})"
    if operation.module:
        head += f"   in {safe(operation.module)}"
    if operation.warnings:
        head += "   !"
    lines = [head]
    if operation.line is not None:
        lines.append(f"     {safe(operation.line.place())}: {safe(operation.line.code)}")
    came_in = [flow for flow in operation.incoming if flow is not None]
    arrived = [f"{flow.short()}  {flow.long()}" if flow.values else flow.long() for flow in came_in]
    lines.append(f"     in   {'; '.join(arrived) or 'nothing'}")
    for arrow in operation.arrows:
        flow = "nothing" if arrow.flow is None else arrow.flow.short() if arrow.flow.values else arrow.flow.long()
        lines.append(
            f"     ∂/∂{safe(arrow.input)}: {safe(arrow.rule)}   → {_target(explanation, arrow.target)}: {flow}"
        )
    return lines


def _target(explanation: Explanation, key: str) -> str:
    if key.startswith("op"):
        operation = explanation.operations[int(key[2:]) - 1]
        return f"{operation.number} {safe(operation.title)}"
    return safe(next(leaf.name for leaf in explanation.leaves if leaf.key == key))


def _leaf(explanation: Explanation, leaf: Leaf) -> list[str]:
    gradient = "no gradient" if leaf.flow is None else leaf.flow.short() if leaf.flow.values else leaf.flow.long()
    lines = [f"  {safe(leaf.name)}   ({shape_text(leaf.shape)})   gradient {gradient}"]
    elements = explanation.elements
    if len(elements.labels) < 2 or not leaf.shares:
        return lines
    order = sorted(range(len(leaf.shares)), key=lambda k: -_sortable(leaf.shares[k]))[:ROWS_LISTED]
    for k in sorted(order):
        line = f"      {safe(elements.labels[k])}: "
        if leaf.rows is not None and leaf.flow is not None and leaf.flow.values is not None:
            row = plain(leaf.rows[k]).reshape(-1).tolist()
            weight = elements.weights[k]
            contribution = number_list([weight * value for value in row], leaf.shape)
            line += (
                contribution
                if elements.grouped
                else f"{number(weight)} × {number_list(row, leaf.shape)} = {contribution}"
            )
        else:
            line += f"norm {number(leaf.shares[k])}"
        lines.append(line)
    if len(leaf.shares) > ROWS_LISTED:
        lines.append(f"      … and {len(leaf.shares) - ROWS_LISTED} smaller ones")
    return lines


def _sortable(value: float) -> float:
    return float("inf") if value != value else value


def _wrapped(text_: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(safe(text_), width, subsequent_indent="  ")


# --- with rich -------------------------------------------------------------------------------------------------------


def show(explanation: Explanation) -> None:
    """Print with rich where it is installed, as plain text elsewhere."""
    try:
        from rich.console import Console
    except ImportError:
        print(text(explanation))
        return
    Console().print(explanation)


def rich_parts(explanation: Explanation) -> Iterator[Any]:
    """The same as tables in colour."""
    from rich.text import Text

    yield Text(safe(explanation.title), style="bold")
    for root in explanation.roots:
        for line in _root(root):
            yield Text(line, style="yellow")
    yield _operations_table(explanation)
    yield _leaves_table(explanation)
    for warning in explanation.warnings:
        yield Text(
            ("! " if warning.severity == "warning" else "i ") + safe(warning.text),
            style="red" if warning.severity == "warning" else "dim",
        )


def _operations_table(explanation: Explanation) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Operations, in the order of the backward pass", title_justify="left")
    for name in ("#", "operation", "shape", "norm in", "rule", "norm out"):
        table.add_column(name, justify="right" if name in ("#", "norm in", "norm out") else "left")
    for operation in explanation.operations[: 4 * FULL_LISTING]:
        came_in = [number(flow.norm) for flow in operation.incoming if flow is not None]
        label = operation.title + (f" → {operation.variable}" if operation.variable else "")
        if operation.line is not None:
            label += f"\n{operation.line.place()}"
        rules = "\n".join(f"∂/∂{a.input}: {a.rule} → {_target(explanation, a.target)}" for a in operation.arrows)
        sent = "\n".join("–" if a.flow is None else number(a.flow.norm) for a in operation.arrows)
        style = "red" if operation.warnings else ""
        cells = (str(operation.number), label, shape_text(operation.shape), ", ".join(came_in) or "–", rules, sent)
        table.add_row(*(Text("\n".join(safe(part) for part in cell.split("\n"))) for cell in cells), style=style)
    return table


def _leaves_table(explanation: Explanation) -> Any:
    from rich.table import Table
    from rich.text import Text

    leaves = Table(title="Leaves", title_justify="left")
    for name in ("leaf", "shape", "gradient"):
        leaves.add_column(name)
    for leaf in explanation.leaves:
        shown = "none" if leaf.flow is None else leaf.flow.short() if leaf.flow.values else leaf.flow.long()
        leaves.add_row(Text(safe(leaf.name)), shape_text(leaf.shape), Text(shown))
    return leaves
