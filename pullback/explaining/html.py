"""An explanation as a page of its own: pictures, tables and weights one can change, in one file without any network.

What stands on the page is in `page.html` (and `page_weights.html`), its behaviour in `page.js`, its looks in `page.css`. Data
goes into one JSON block; names and code from the user's program are escaped there and in the few places where this file
writes them as markup.
"""

from __future__ import annotations

import json
import math
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from .grouping import View, views
from .records import Flow, Leaf, Operation, bytes_text, plain, shape_text
from .svg import STYLE, clean, draw

if TYPE_CHECKING:
    from .explanation import Explanation

ROW_NUMBERS: int = 16  # leaves with more elements show norms instead of numbers
PAGE_NUMBERS: int = 60_000  # of all rows together

_HERE = Path(__file__).parent


def page(explanation: Explanation) -> str:
    """The whole page."""
    pictures = views(explanation)
    return _filled(
        "page.html",
        title=clean(explanation.title),
        style=STYLE + _text("page.css"),
        summary=clean(summary(explanation)),
        warnings=_warnings(explanation),
        choice=_choice(pictures),
        pictures="".join(
            f'<div class="picture" data-view="{clean(name)}" hidden>{draw(explanation, view, interactive=True)}</div>'
            for name, view in pictures.items()
        ),
        weights=_weights(explanation),
        data=_json(_data(explanation)),
        script=_text("page.js"),
    )


def _text(name: str) -> str:
    return (_HERE / name).read_text("utf-8")


def _filled(name: str, **parts: str) -> str:
    """A file of this folder with its `$names` replaced."""
    return Template(_text(name)).substitute(parts)


def fragment(explanation: Explanation) -> str:
    """Return the HTML that a notebook shows: the picture and the leaves at once, the page on demand."""
    pictures = views(explanation)
    picture = next(iter(pictures.values()), None)
    drawing = "" if picture is None else draw(explanation, picture, style=True)
    rows = "".join(
        f"<tr><td>{clean(leaf.name)}</td><td>{clean(shape_text(leaf.shape))}</td>"
        f"<td>{clean('none' if leaf.flow is None else leaf.flow.short().replace('‖g‖', 'norm'))}</td></tr>"
        for leaf in explanation.leaves[:20]
    )
    warnings = "".join(f"<li>{clean(warning.text)}</li>" for warning in explanation.warnings)
    inner = escape(page(explanation), quote=True)
    return (
        f'<div class="pullback-explanation"><p><b>{clean(explanation.title)}</b>: {clean(summary(explanation))}</p>'
        f"{f'<ul>{warnings}</ul>' if warnings else ''}"
        f'<div style="overflow:auto;max-height:600px">{drawing}</div>'
        f"<table><thead><tr><th>leaf</th><th>shape</th><th>gradient</th></tr></thead><tbody>{rows}</tbody></table>"
        '<details><summary>Interactive page</summary><iframe sandbox="allow-scripts" '
        'style="width:100%;height:720px;border:0" '
        f'title="explanation" srcdoc="{inner}"></iframe></details></div>'
    )


def summary(explanation: Explanation) -> str:
    """One sentence of numbers."""
    count = sum(root.seed.size for root in explanation.roots)
    parts = [
        _count(len(explanation.operations), "operation"),
        _count(len(explanation.leaves), "leaf", "leaves"),
        f"a loss of {_count(count, 'element')}",
    ]
    warned = sum(warning.severity == "warning" for warning in explanation.warnings)
    if warned:
        parts.append(_count(warned, "warning"))
    return ", ".join(parts)


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


# --- parts of the page -----------------------------------------------------------------------------------------------


def _warnings(explanation: Explanation) -> str:
    items = []
    for warning in explanation.warnings:
        kind = ' class="note"' if warning.severity == "note" else ""
        button = f' <button data-warning="{clean(warning.key)}">show</button>' if warning.key else ""
        items.append(f"<li{kind}><b>{clean(warning.kind)}</b> · {clean(warning.text)}{button}</li>")
    return f'<ul class="warnings" aria-label="warnings">{"".join(items)}</ul>' if items else ""


def _choice(pictures: dict[str, View]) -> str:
    """Return the list to choose a picture from, where there are several."""
    if len(pictures) <= 1:
        return ""
    options = "".join(
        f'<option value="{clean(name)}">{clean(_view_title(view))}</option>' for name, view in pictures.items()
    )
    return f'<label>View <select id="view-choice">{options}</select></label><button id="back">Back</button>'


def _view_title(view: View) -> str:
    return {"overview": "overview", "all": "every operation"}.get(view.name, view.title)


def _weights(explanation: Explanation) -> str:
    elements = explanation.elements
    if not any(leaf.gram is not None for leaf in explanation.leaves):
        return ""
    factor, what = ("factor", "factor") if elements.grouped else ("weight", "weight (gradient)")
    note = f'<p class="soft">{clean(elements.note)}</p>' if elements.note else ""
    return _filled("page_weights.html", note=note, what=what, factor=factor)


# --- data ------------------------------------------------------------------------------------------------------------


def _json(data: Any) -> str:
    """JSON that can stand inside a script element: no character that could end it."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(explanation: Explanation) -> dict[str, Any]:
    elements = explanation.elements
    budget = PAGE_NUMBERS
    leaves = []
    for leaf in explanation.leaves:
        rows = None
        if leaf.rows is not None and leaf.rows.dtype.kind != "c":
            size = int(math.prod(leaf.shape))
            if size <= ROW_NUMBERS and leaf.rows.size <= budget:
                budget -= leaf.rows.size
                rows = [_numbers(row) for row in leaf.rows]
        leaves.append(_leaf(leaf, rows))
    roots = [
        {
            "key": root.key,
            "kind": "root",
            "name": root.name,
            "shapeText": shape_text(root.shape),
            "origin": root.origin,
            "flow": _flow(root.flow),
            "value": root.value,
            "warnings": [warning.text for warning in explanation.warnings if warning.key == root.key],
        }
        for root in explanation.roots
    ]
    return {
        "roots": roots,
        "operations": [_operation(operation) for operation in explanation.operations],
        "leaves": leaves,
        "elements": {
            "labels": elements.labels,
            "weights": [_finite(w) for w in elements.weights],
            "grouped": elements.grouped,
        },
    }


def _leaf(leaf: Leaf, rows: list | None) -> dict[str, Any]:
    gram = None
    if leaf.gram is not None:  # symmetric: half of it says everything
        gram = [[_finite(float(f"{value:.9g}")) for value in row[: k + 1]] for k, row in enumerate(leaf.gram)]
    return {
        "key": leaf.key,
        "kind": "leaf",
        "name": leaf.name,
        "shape": list(leaf.shape),
        "shapeText": shape_text(leaf.shape),
        "dtype": leaf.dtype,
        "flow": _flow(leaf.flow),
        "rows": rows,
        "gram": gram,
        "warnings": leaf.warnings,
    }


def _operation(operation: Operation) -> dict[str, Any]:
    line = operation.line
    return {
        "key": operation.key,
        "kind": "operation",
        "number": operation.number,
        "node": operation.node,
        "title": operation.title,
        "variable": operation.variable,
        "module": operation.module,
        "shapes": [shape_text(shape) for shape, _ in operation.outputs],
        "line": None
        if line is None
        else {"file": line.place().rpartition(":")[0], "number": line.number, "code": line.code},
        "incoming": [_flow(flow) for flow in operation.incoming],
        "arrows": [
            {"input": arrow.input, "target": arrow.target, "rule": arrow.rule, "flow": _flow(arrow.flow)}
            for arrow in operation.arrows
        ],
        "constants": operation.constants,
        "saved": [
            {"name": s.name, "shape": shape_text(s.shape), "bytes": bytes_text(s.bytes)} for s in operation.saved
        ],
        "warnings": operation.warnings,
    }


def _flow(flow: Flow | None) -> dict[str, Any] | None:
    if flow is None:
        return None
    values = flow.values
    if values is not None and any(isinstance(value, complex) for value in values):
        values = None
    return {
        "norm": _finite(flow.norm),
        "low": _finite(flow.low),
        "high": _finite(flow.high),
        "zeros": flow.zeros,
        "nans": flow.nans,
        "infinities": flow.infinities,
        "size": flow.size,
        "shape": list(flow.shape),
        "values": None if values is None else [_finite(value) for value in values],
    }


def _numbers(row: np.ndarray) -> list:
    row = plain(row).reshape(-1)
    if row.dtype == np.float32:
        return [_finite(float(str(value))) for value in row]
    return [_finite(float(value)) for value in row]


def _finite(value: Any) -> float | str:
    """A number for JSON, which knows no NaN and no infinity."""
    value = float(value)
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"
