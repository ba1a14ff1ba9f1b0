"""An explanation as source for Graphviz and for Mermaid, with modules as clusters.

Names from the user's program are quoted so that they cannot end a label or start a directive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .records import Flow, Operation, shape_text
from .svg import flow_text

if TYPE_CHECKING:
    from .explanation import Explanation

_COLOURS = {"root": ("#fff4d9", "#d89a1d"), "operation": ("#f4f6fa", "#aeb9cc"), "leaf": ("#e3f5ea", "#3c9a66")}


def _links(explanation: Explanation) -> dict[tuple[str, str], list[Flow | None]]:
    links: dict[tuple[str, str], list[Flow | None]] = {
        (root.key, root.target): [root.flow] for root in explanation.roots
    }
    for operation in explanation.operations:
        for arrow in operation.arrows:
            links.setdefault((operation.key, arrow.target), []).append(arrow.flow)
    return links


def _labels(explanation: Explanation) -> dict[str, tuple[str, list[str]]]:
    """Kind and lines of text of every box."""
    labels: dict[str, tuple[str, list[str]]] = {}
    for root in explanation.roots:
        labels[root.key] = ("root", [root.name, f"seed {root.flow.short().replace('‖g‖', 'norm')}"])
    for operation in explanation.operations:
        result = f" → {operation.variable}" if operation.variable else ""
        labels[operation.key] = (
            "operation",
            [f"{operation.number} {operation.title}{result}", shape_text(operation.shape)],
        )
    for leaf in explanation.leaves:
        gradient = "no gradient" if leaf.flow is None else f"grad {leaf.flow.short().replace('‖g‖', 'norm')}"
        labels[leaf.key] = ("leaf", [leaf.name, gradient])
    return labels


def _modules(operations: list[Operation]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for operation in operations:
        if operation.module:
            found.setdefault(operation.module, []).append(operation.key)
    return {module: keys for module, keys in found.items() if len(keys) > 1}


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def _dot_text(lines: list[str]) -> str:
    return "\\n".join(_one_line(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)


def dot(explanation: Explanation) -> str:
    """Graphviz source."""
    lines = [
        "digraph backward {",
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11];',
        '  edge [fontname="Helvetica", fontsize=10, color="#7686a3"];',
    ]
    for key, (kind, texts) in _labels(explanation).items():
        fill, line = _COLOURS[kind]
        lines.append(f'  {key} [label="{_dot_text(texts)}", fillcolor="{fill}", color="{line}"];')
    for number, (module, keys) in enumerate(_modules(explanation.operations).items()):
        lines.append(
            f'  subgraph cluster_{number} {{ label="{_dot_text([module])}"; color="#5a82d2"; {"; ".join(keys)}; }}'
        )
    for (source, target), flows in _links(explanation).items():
        lines.append(f'  {source} -> {target} [label="{_dot_text([flow_text(flows)])}"];')
    return "\n".join([*lines, "}"]) + "\n"


def _mermaid_text(lines: list[str]) -> str:
    """Everything but letters, digits and a few safe signs becomes a numeric entity."""

    def shown(character: str) -> str:
        return character if character.isalnum() or character in " .,_=" else f"#{ord(character)};"

    return "<br>".join("".join(shown(c) for c in _one_line(line)) for line in lines)


def mermaid(explanation: Explanation) -> str:
    """Mermaid source."""
    lines = ["flowchart TD"]
    shapes = {"root": ('(["', '"])'), "operation": ('["', '"]'), "leaf": ('("', '")')}
    for key, (kind, texts) in _labels(explanation).items():
        before, after = shapes[kind]
        lines.append(f"  {key}{before}{_mermaid_text(texts)}{after}:::{kind}")
    for number, (module, keys) in enumerate(_modules(explanation.operations).items()):
        lines += [f'  subgraph module{number}["{_mermaid_text([module])}"]', *(f"    {key}" for key in keys), "  end"]
    for (source, target), flows in _links(explanation).items():
        lines.append(f'  {source} -->|"{_mermaid_text([flow_text(flows)])}"| {target}')
    lines += [f"  classDef {kind} fill:{fill},stroke:{line},color:#1c2430" for kind, (fill, line) in _COLOURS.items()]
    return "\n".join(lines) + "\n"
